/* SPDX-License-Identifier: Apache-2.0
 *
 * When to ask a gateway about one payment the next time (P6, P8, P9). A pure function: the age of
 * the payment, what the channel's webhooks were like, and a random number come in, a time comes
 * out.
 *
 *   1. The channel's schedule (core/retry.h, jitter included) says when.
 *   2. With PR_POLL_SAMPLES_MIN webhooks measured, their delays (from the payment's birth) correct
 *      that. Webhooks are trusted when 95 % of the ended payments were first known by one.
 *        - the payment is younger than their 95th percentile and webhooks are trusted: RARER. The
 *          poll waits until that percentile has passed, at most for twice the scheduled delay: the
 *          webhook will most likely be here before.
 *        - it is older than the 95th percentile: the webhook is overdue, SOONER. Half of the
 *          scheduled delay, a quarter past the 99th, at least PR_POLL_SOONER_MIN_MS, at most
 *          PR_POLL_SOONER_TIMES times in a row (a buyer who never pays is no lost webhook).
 *      Under that number the schedule alone decides.
 *   3. The cap holds after jitter and correction.
 *   4. Never before the rate budget and a Retry-After allow it.
 *   5. Never after expiry: the last poll is at expiry (later only when 4 says so). What then is no
 *      answer is not this function's business.
 *
 * Times are milliseconds since the payment's birth.
 */
#ifndef PR_CORE_POLL_PLAN_H
#define PR_CORE_POLL_PLAN_H

#include "core/retry.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_POLL_SAMPLES_MIN 50
#define PR_POLL_TRUST_PERMILLE 950
#define PR_POLL_SOONER_MIN_MS 10000
#define PR_POLL_SOONER_TIMES 3

/* What was measured of one channel's webhooks. */
typedef struct {
    uint32_t samples;
    uint32_t first_permille; /* of the ended payments: first known by a webhook */
    int64_t p95_ms, p99_ms;  /* birth of the payment to the webhook's arrival */
} pr_webhook_delays_t;

typedef struct {
    const pr_retry_policy_t *schedule;
    uint32_t max_polls;   /* polls in all, 1 or more; the last at expiry counts */
    bool query_supported; /* false: never (Adyen) */
    pr_webhook_delays_t delays;
} pr_poll_channel_t;

typedef struct {
    int64_t age_ms;         /* now */
    int64_t expires_ms;     /* when the payment expires */
    int64_t budget_ms;      /* the earliest time that the rate budget allows; 0: now */
    int64_t retry_after_ms; /* the earliest that the gateway asked for; 0: did not ask */
    uint32_t polls;         /* made so far */
    uint32_t sooner;        /* of them in a row, up to the last, planned as SOONER */
    bool polled_at_expiry;  /* one was made at or after expiry */
} pr_poll_payment_t;

typedef enum {
    PR_POLL_NONE = 0, /* no further poll: exhausted, or the channel cannot be asked */
    PR_POLL_SCHEDULED,
    PR_POLL_RARER,
    PR_POLL_SOONER,
    PR_POLL_LAST, /* the one at expiry */
} pr_poll_reason_t;

typedef struct {
    pr_poll_reason_t reason;
    int64_t at_ms; /* >= age_ms; meaningless for NONE */
} pr_poll_plan_t;

/* random: 64 uniform bits. */
pr_poll_plan_t pr_poll_plan(const pr_poll_channel_t *channel, const pr_poll_payment_t *payment,
                            uint64_t random);
const char *pr_poll_reason_name(pr_poll_reason_t reason); /* "none", "scheduled" ... */

#endif
