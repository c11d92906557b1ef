# file: lib/core/breaker.c
# A probe that succeeds does not close the breaker.
s/S\(PROBE_SUCCESS\), S\(CLOSED\), "the probe succeeded"/S(PROBE_SUCCESS), S(OPEN), "the probe succeeded"/
