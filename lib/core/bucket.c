/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bucket.h"

#include "base/assert.h"

#define NS_PER_MS 1000000
#define NS_PER_S 1e9
#define RATE_MIN 0.0001
#define RATE_MAX 1e6
#define BURST_MAX 1000000u
/* A full bucket is at most this long: burst times interval stays far inside 64 bits. */
#define BURST_NS_MAX ((int64_t)1 << 60)

static int64_t to_ns(int64_t ms)
{
    pr_assert(ms >= 0 && ms < INT64_MAX / 4 / NS_PER_MS); /* 73 years of uptime */
    return ms * NS_PER_MS;
}

static void set_limit(pr_bucket_t *self, double rate_per_s, uint32_t burst)
{
    self->interval_ns = 0;
    self->burst_ns = 0;
    if (!(rate_per_s > 0))
        return;
    if (rate_per_s < RATE_MIN)
        rate_per_s = RATE_MIN;
    if (rate_per_s > RATE_MAX)
        rate_per_s = RATE_MAX;
    if (burst < 1)
        burst = 1;
    if (burst > BURST_MAX)
        burst = BURST_MAX;
    self->interval_ns = (int64_t)(NS_PER_S / rate_per_s);
    int64_t fitting = BURST_NS_MAX / self->interval_ns;
    self->burst_ns = (burst < fitting ? (int64_t)burst : fitting) * self->interval_ns;
}

void pr_bucket_init(pr_bucket_t *self, double rate_per_s, uint32_t burst, int64_t now_ms)
{
    set_limit(self, rate_per_s, burst);
    self->full_at_ns = to_ns(now_ms) + self->burst_ns;
}

void pr_bucket_change(pr_bucket_t *self, double rate_per_s, uint32_t burst, int64_t now_ms)
{
    int64_t now_ns = to_ns(now_ms);
    int64_t old_interval_ns = self->interval_ns;
    int64_t missing_ns = self->full_at_ns > now_ns ? self->full_at_ns - now_ns : 0;
    int64_t tokens = old_interval_ns > 0 ? (self->burst_ns - missing_ns) / old_interval_ns : 0;
    if (tokens < 0)
        tokens = 0;
    set_limit(self, rate_per_s, burst);
    if (self->interval_ns == 0)
        return;
    int64_t most = self->burst_ns / self->interval_ns;
    int64_t kept_ns = (tokens < most ? tokens : most) * self->interval_ns;
    self->full_at_ns = now_ns + self->burst_ns - kept_ns;
}

/* A token is there when, after taking it, the bucket would be full no later than burst_ns from now.
 */
static int64_t token_at_ns(const pr_bucket_t *self)
{
    return self->full_at_ns + self->interval_ns - self->burst_ns;
}

bool pr_bucket_take(pr_bucket_t *self, int64_t now_ms)
{
    if (self->interval_ns == 0)
        return true;
    int64_t now_ns = to_ns(now_ms);
    if (token_at_ns(self) > now_ns)
        return false;
    int64_t from = self->full_at_ns > now_ns ? self->full_at_ns : now_ns;
    self->full_at_ns = from + self->interval_ns;
    return true;
}

void pr_bucket_give_back(pr_bucket_t *self)
{
    self->full_at_ns -= self->interval_ns; /* a time in the past is a full bucket, no more */
}

int64_t pr_bucket_next_ms(const pr_bucket_t *self, int64_t now_ms)
{
    int64_t now_ns = to_ns(now_ms);
    int64_t at_ns = token_at_ns(self);
    if (self->interval_ns == 0 || at_ns <= now_ns)
        return now_ms;
    return (at_ns + NS_PER_MS - 1) / NS_PER_MS;
}

uint32_t pr_bucket_within(const pr_bucket_t *self, int64_t now_ms, int64_t within_ms)
{
    if (self->interval_ns == 0)
        return UINT32_MAX;
    int64_t now_ns = to_ns(now_ms);
    int64_t from_ns = self->full_at_ns > now_ns ? self->full_at_ns : now_ns;
    int64_t tokens = (now_ns + to_ns(within_ms) + self->burst_ns - from_ns) / self->interval_ns;
    if (tokens < 0)
        return 0;
    return tokens < UINT32_MAX ? (uint32_t)tokens : UINT32_MAX;
}
