/* SPDX-License-Identifier: Apache-2.0
 *
 * How often somebody may be wrong: a token bucket for each (address, what it tried), full at first.
 * Whoever forges takes a token with each refusal; with none left it is turned away before anything
 * is read, verified or written. Pure; times are monotonic milliseconds.
 *
 * Bounded: past max_keys the one that was wrong longest ago is forgotten, so somebody with that many
 * addresses has its tokens back; what each refusal costs then is bounded by whom it is told to.
 * An IPv6 address counts with its whole /64.
 */
#ifndef PR_HTTPD_LIMITER_H
#define PR_HTTPD_LIMITER_H

#include "core/address.h"

#include <stddef.h>

typedef struct pr_limiter_t pr_limiter_t;

pr_limiter_t *pr_limiter_new(double rate_per_s, uint32_t burst, size_t max_keys, uint64_t seed);
void pr_limiter_destroy(pr_limiter_t **self);

/* ip NULL: one bucket for all addresses. what: a channel's id, "key" ... */
/* 0: may go on. Else after so many ms it may. Takes nothing. */
int64_t pr_limiter_wait_ms(const pr_limiter_t *self, const pr_ip_t *ip, const char *what,
                           int64_t now_ms);
/* One token; false: there was none. */
bool pr_limiter_take(pr_limiter_t *self, const pr_ip_t *ip, const char *what, int64_t now_ms);
size_t pr_limiter_count(const pr_limiter_t *self);

#endif
