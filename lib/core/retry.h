/* SPDX-License-Identifier: Apache-2.0
 *
 * When to try again. A policy is a plain value that says how many retries follow the first try and
 * how long to wait before each. It does not count tries, sleep or know the clock (N8, P6, R4).
 *
 *   list:5s,30s,5m                     delays in turn; as many retries as entries (1 to 64)
 *   fixed:5s*5                         5 retries, each after 5 s
 *   linear:5s*3                        5, 10, 15 s
 *   exponential:1s..6h*10              1, 2, 4 ... s, at most 6 h; 10 retries
 *   exponential-jitter:1s..6h*10       the same with jitter=500ms (what charges use)
 *
 * Options follow after `;` in any order, each once:
 *   jitter=10%      adds 0 to 10 % (0 to 100); the default of all kinds but exponential-jitter
 *   jitter=500ms    adds 0 to 500 ms
 *   jitter=+-20%    anything from 20 % less to 20 % more (polls)
 *   cap=6h          no delay is longer, jitter included (exponential kinds name it as base..cap)
 * Spaces around separators are allowed. Durations: base/duration.h, 1 ms (a list also 0) to 30 d.
 * Jitter on every kind, lists too, spreads the herd (the AWS architecture blog, "Exponential
 * backoff and jitter", 2015); it only ever adds to a notification's delay, so that none is early.
 */
#ifndef PR_CORE_RETRY_H
#define PR_CORE_RETRY_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_RETRY_LIST_MAX 64
#define PR_RETRY_TRIES_MAX 1000
#define PR_RETRY_DELAY_MAX_MS ((int64_t)30 * 86400 * 1000)
#define PR_RETRY_TEXT_MAX 1024 /* holds every policy's text */

/* N8: 9 tries over 33 h 36 min. */
#define PR_RETRY_NOTIFICATION_TEXT "list:5s,30s,5m,30m,1h,2h,6h,24h"
/* P6 polls, R4 charges, C4 tasks. */
#define PR_RETRY_POLL_TEXT "list:1m,5m,15m,30m,1h,3h;jitter=+-20%"
#define PR_RETRY_CHARGE_TEXT "exponential-jitter:1s..6h*5"

typedef enum {
    PR_RETRY_NONE = 0,
    PR_RETRY_LIST,
    PR_RETRY_FIXED,
    PR_RETRY_LINEAR,
    PR_RETRY_EXPONENTIAL,
    PR_RETRY_EXPONENTIAL_JITTER,
} pr_retry_kind_t;

typedef struct {
    pr_retry_kind_t kind;
    uint32_t retries; /* tries after the first: 1..PR_RETRY_TRIES_MAX; list: entries in list_ms */
    uint32_t jitter_percent; /* 0..100 of the delay; excludes jitter_ms */
    bool jitter_both_ways;   /* the percentage is taken off as well as added */
    int64_t jitter_ms;       /* 0 or more */
    int64_t base_ms;         /* all but list */
    int64_t cap_ms;          /* bounds what pr_retry_delay_ms returns, always > 0 */
    int64_t list_ms[PR_RETRY_LIST_MAX];
} pr_retry_policy_t;

/* PR_BAD: error->text says what is wrong and where; *out is then unchanged. text: NUL-terminated.
 */
PR_CHECK pr_rc_t pr_retry_parse(const char *text, pr_retry_policy_t *out, pr_error_t *error);
/* The policy of PR_RETRY_NOTIFICATION_TEXT. */
pr_retry_policy_t pr_retry_notification(void);

/* Milliseconds to wait after try number `attempt` (from 1) failed. random: 64 uniform bits.
 * Saturates; 0 <= result <= cap_ms. Past the last retry: the last one's delay. */
int64_t pr_retry_delay_ms(const pr_retry_policy_t *self, uint32_t attempt, uint64_t random);
/* True once `attempts` tries were made and none is left (attempts > retries). */
bool pr_retry_exhausted(const pr_retry_policy_t *self, uint32_t attempts);
/* Multiplies every duration by time_scale (0 < time_scale <= 1); what was > 0 stays >= 1 ms. For
 * tests and demos. */
void pr_retry_scale(pr_retry_policy_t *self, double time_scale);
/* The canonical text: parses back to the same policy. */
void pr_retry_format(const pr_retry_policy_t *self, char out[PR_RETRY_TEXT_MAX]);

#endif
