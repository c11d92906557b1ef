# file: lib/core/breaker.c
# Everybody goes through half open.
s/^        return self->probe_id == 0 \? PR_BREAKER_PROBE : PR_BREAKER_HOLD;$/        return PR_BREAKER_ALLOW;/
