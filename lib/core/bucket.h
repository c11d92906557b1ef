/* SPDX-License-Identifier: Apache-2.0
 *
 * A token bucket: at most rate_per_s a second in the long run and `burst` at once. Kept as one
 * time, the "theoretical arrival time" of GCRA (ITU-T I.371), so nothing needs to be refilled. A
 * new owner starts with an empty bucket (docs/protocol.md section 2): whatever its predecessor has
 * sent, the limit holds over both. Plain value; times are monotonic milliseconds, given, and may
 * stand still; if they go back nothing is gained.
 */
#ifndef PR_CORE_BUCKET_H
#define PR_CORE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t interval_ns; /* between two tokens; 0 = unlimited */
    int64_t burst_ns;    /* burst * interval_ns */
    int64_t full_at_ns;  /* when the bucket will be full */
} pr_bucket_t;

/* rate_per_s <= 0 or NaN: unlimited. Else clamped to 0.0001 .. 10^6. burst 1..10^6 (0 counts as 1).
 * Starts empty. */
void pr_bucket_init(pr_bucket_t *self, double rate_per_s, uint32_t burst, int64_t now_ms);
/* A new limit; what is in the bucket is kept, up to the new burst. */
void pr_bucket_change(pr_bucket_t *self, double rate_per_s, uint32_t burst, int64_t now_ms);
bool pr_bucket_take(pr_bucket_t *self, int64_t now_ms); /* false: no token now; nothing changed */
void pr_bucket_give_back(pr_bucket_t *self);            /* one token that was taken and not used */
/* When a token will be there; now_ms when one is. */
int64_t pr_bucket_next_ms(const pr_bucket_t *self, int64_t now_ms);
/* How many tokens could be taken from now on within so much time, each as soon as it is there. */
uint32_t pr_bucket_within(const pr_bucket_t *self, int64_t now_ms, int64_t within_ms);

#endif
