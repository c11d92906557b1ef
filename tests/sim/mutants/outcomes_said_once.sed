# file: lib/worker/worker.c
# No resend of unacknowledged outcomes.
s/^    uint32_t left = self->owed.count;$/    uint32_t left = 0 \& self->owed.count;/
