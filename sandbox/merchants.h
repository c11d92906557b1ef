/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_merchants_t: the pretend merchants by name, made when first spoken to, never removed (records
 * point at them). A merchant's name is what stands in the path behind `/m/` (or `/t/TEMPER/`);
 * `m1/backup` is a target of its own that starts with the temper and secrets of `m1`.
 */
#ifndef PR_SANDBOX_MERCHANTS_H
#define PR_SANDBOX_MERCHANTS_H

#include "base/error.h"
#include "sandbox/temper.h"

#include <stddef.h>
#include <stdint.h>

#define PR_MERCHANT_NAME_MAX 128
#define PR_MERCHANT_SECRETS 4

typedef struct {
    uint64_t requests;  /* arrived whole */
    uint64_t accepted;  /* answered with success */
    uint64_t distinct;  /* ids seen */
    uint64_t repeated;  /* arrived although this id had been accepted before */
    uint64_t early;     /* arrived within a Retry-After (a short grace for what was on its way) */
    uint64_t changed;   /* body differs from the first of its id */
    uint64_t unnamed;   /* without an id, or header and body name different ids */
    uint64_t abandoned; /* the sender left before a delayed answer */
    uint64_t signature[4]; /* by pr_signature_t */
} pr_counts_t;

typedef struct {
    char *name;
    uint32_t number; /* from 1, in order of appearance */
    char *spec;      /* the temper as written */
    pr_temper_t temper;
    char *secrets[PR_MERCHANT_SECRETS]; /* NULL after the last; `whsec_...`, text, or `whpk_...` */
    pr_counts_t counts;
    uint32_t in_flight, max_in_flight; /* requests without an answer yet: now, at most */
    /* what tempers remember; all zero when a temper is set */
    int64_t since_ms;     /* monotonic time of the first request under this temper; 0 none */
    int64_t closed_at_ms; /* throttle: when Retry-After was last given first; 0 none */
    uint64_t served;      /* requests under this temper; throttle: since it opened */
} pr_merchant_t;

typedef struct pr_merchants_t pr_merchants_t;

/* max merchants at once (each under 2.5 kB); seed keys the table. */
pr_merchants_t *pr_merchants_new(size_t max, uint64_t seed);
void pr_merchants_destroy(pr_merchants_t **self);

/* The merchant of this name, made if new (temper: of the part before '/', else prompt). NULL: not
 * a name ([A-Za-z0-9._:/-], 1 to PR_MERCHANT_NAME_MAX) or the table is full. */
pr_merchant_t *pr_merchants_get(pr_merchants_t *self, const char *name, size_t len);
pr_merchant_t *pr_merchants_find(const pr_merchants_t *self, const char *name, size_t len);
pr_merchant_t *pr_merchants_at(const pr_merchants_t *self, uint32_t number); /* NULL: none */
size_t pr_merchants_count(const pr_merchants_t *self);
void pr_merchants_forget(pr_merchants_t *self); /* counts and memory of tempers back to zero */
pr_counts_t pr_merchants_total(const pr_merchants_t *self);

PR_CHECK pr_rc_t pr_merchant_set_temper(pr_merchant_t *self, const char *spec, size_t len,
                                        pr_error_t *error);
/* Replaces all secrets by count texts; PR_BAD over PR_MERCHANT_SECRETS. */
PR_CHECK pr_rc_t pr_merchant_set_secrets(pr_merchant_t *self, const char *const *secrets,
                                         size_t count, pr_error_t *error);

/* "m001=prompt,m002=slow:200ms,*=refuse": `*` is the temper of merchants not named. */
PR_CHECK pr_rc_t pr_merchants_load_spec(pr_merchants_t *self, const char *text, pr_error_t *error);
/* A JSON file: {"m001": "prompt", "m002": {"temper": "slow:1s", "secrets": ["whsec_.."]}}. */
PR_CHECK pr_rc_t pr_merchants_load_file(pr_merchants_t *self, const char *path, pr_error_t *error);

#endif
