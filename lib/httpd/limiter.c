/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/limiter.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fnv.h"
#include "base/map.h"
#include "core/bucket.h"

#define NS_PER_MS 1000000

/* Buckets in the order in which they were last taken from. */
typedef struct bucket_t {
    struct bucket_t *before, *after;
    uint64_t key;
    pr_bucket_t tokens;
} bucket_t;

struct pr_limiter_t {
    double rate_per_s;
    uint32_t burst;
    size_t max_keys;
    uint64_t seed; /* nobody outside knows which keys collide */
    pr_map_t *buckets;
    bucket_t *first, *last;
};

pr_limiter_t *pr_limiter_new(double rate_per_s, uint32_t burst, size_t max_keys, uint64_t seed)
{
    pr_limiter_t *self = PR_NEW(pr_limiter_t);
    self->rate_per_s = rate_per_s;
    self->burst = burst;
    self->max_keys = max_keys;
    self->seed = seed;
    self->buckets = pr_map_new(max_keys, seed);
    return self;
}

static void unlink_one(pr_limiter_t *self, bucket_t *one)
{
    *(one->before ? &one->before->after : &self->first) = one->after;
    *(one->after ? &one->after->before : &self->last) = one->before;
}

static void link_last(pr_limiter_t *self, bucket_t *one)
{
    one->before = self->last;
    one->after = NULL;
    *(self->last ? &self->last->after : &self->first) = one;
    self->last = one;
}

static void forget(pr_limiter_t *self, bucket_t *one)
{
    unlink_one(self, one);
    pr_map_remove(self->buckets, one->key);
    pr_free(one);
}

void pr_limiter_destroy(pr_limiter_t **self)
{
    pr_limiter_t *limiter = *self;
    *self = NULL;
    if (!limiter)
        return;
    while (limiter->first)
        forget(limiter, limiter->first);
    pr_map_destroy(&limiter->buckets);
    pr_free(limiter);
}

static uint64_t key_of(const pr_limiter_t *self, const pr_ip_t *ip, const char *what)
{
    uint64_t key = pr_fnv_text(PR_FNV_START ^ self->seed, what);
    return ip ? pr_fnv_bytes(key, ip->bytes, ip->is_ipv6 ? 8 : 4) : key;
}

int64_t pr_limiter_wait_ms(const pr_limiter_t *self, const pr_ip_t *ip, const char *what,
                           int64_t now_ms)
{
    const bucket_t *one = pr_map_get(self->buckets, key_of(self, ip, what));
    int64_t at_ms = one ? pr_bucket_next_ms(&one->tokens, now_ms) : now_ms;
    return at_ms > now_ms ? at_ms - now_ms : 0;
}

static bucket_t *new_bucket(pr_limiter_t *self, uint64_t key, int64_t now_ms)
{
    if (pr_map_count(self->buckets) == self->max_keys)
        forget(self, self->first);
    bucket_t *one = PR_NEW(bucket_t);
    one->key = key;
    pr_bucket_init(&one->tokens, self->rate_per_s, self->burst, now_ms);
    one->tokens.full_at_ns = now_ms * NS_PER_MS; /* full: nobody has been wrong before */
    pr_rc_t rc = pr_map_put(self->buckets, key, one, NULL);
    pr_assert(rc == PR_OK); /* there is room, see above */
    link_last(self, one);
    return one;
}

bool pr_limiter_take(pr_limiter_t *self, const pr_ip_t *ip, const char *what, int64_t now_ms)
{
    uint64_t key = key_of(self, ip, what);
    bucket_t *one = pr_map_get(self->buckets, key);
    if (!one)
        one = new_bucket(self, key, now_ms);
    unlink_one(self, one);
    link_last(self, one);
    return pr_bucket_take(&one->tokens, now_ms);
}

size_t pr_limiter_count(const pr_limiter_t *self)
{
    return pr_map_count(self->buckets);
}
