/* SPDX-License-Identifier: Apache-2.0 */
#include "core/poll_plan.h"

#include "base/alloc.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool is_overdue(const pr_webhook_delays_t *delays, int64_t age_ms)
{
    return age_ms > delays->p95_ms;
}

/* Half or a quarter of the scheduled delay; never longer than it. */
static int64_t shortened(const pr_webhook_delays_t *delays, int64_t age_ms, int64_t delay_ms)
{
    int64_t part = age_ms > delays->p99_ms ? delay_ms / 4 : delay_ms / 2;
    return smaller(larger(part, PR_POLL_SOONER_MIN_MS), delay_ms);
}

/* Until the webhook would be overdue, within twice the scheduled delay; never shorter than it. */
static int64_t stretched(const pr_webhook_delays_t *delays, int64_t age_ms, int64_t delay_ms)
{
    int64_t until_overdue = delays->p95_ms - age_ms + 1;
    return larger(smaller(until_overdue, 2 * delay_ms), delay_ms);
}

static pr_poll_reason_t correct(const pr_webhook_delays_t *delays, const pr_poll_payment_t *payment,
                                int64_t *delay_ms)
{
    int64_t before = *delay_ms;
    if (delays->samples < PR_POLL_SAMPLES_MIN)
        return PR_POLL_SCHEDULED;
    if (is_overdue(delays, payment->age_ms)) {
        if (payment->sooner >= PR_POLL_SOONER_TIMES)
            return PR_POLL_SCHEDULED;
        *delay_ms = shortened(delays, payment->age_ms, before);
        return *delay_ms < before ? PR_POLL_SOONER : PR_POLL_SCHEDULED;
    }
    if (delays->first_permille < PR_POLL_TRUST_PERMILLE)
        return PR_POLL_SCHEDULED;
    *delay_ms = stretched(delays, payment->age_ms, before);
    return *delay_ms > before ? PR_POLL_RARER : PR_POLL_SCHEDULED;
}

pr_poll_plan_t pr_poll_plan(const pr_poll_channel_t *channel, const pr_poll_payment_t *payment,
                            uint64_t random)
{
    pr_poll_plan_t plan = {.reason = PR_POLL_NONE, .at_ms = payment->age_ms};
    if (!channel->query_supported || payment->polled_at_expiry ||
        payment->polls >= channel->max_polls)
        return plan;
    int64_t delay_ms = pr_retry_delay_ms(channel->schedule, payment->polls + 1, random);
    plan.reason = correct(&channel->delays, payment, &delay_ms);
    plan.at_ms = payment->age_ms + smaller(delay_ms, channel->schedule->cap_ms);
    /* the last of the tries is kept for expiry: before it nothing can be concluded */
    if (plan.at_ms >= payment->expires_ms || payment->polls + 1 == channel->max_polls) {
        plan.reason = PR_POLL_LAST;
        plan.at_ms = larger(payment->expires_ms, payment->age_ms);
    }
    plan.at_ms = larger(plan.at_ms, larger(payment->budget_ms, payment->retry_after_ms));
    if (plan.at_ms >= payment->expires_ms)
        plan.reason = PR_POLL_LAST;
    return plan;
}

const char *pr_poll_reason_name(pr_poll_reason_t reason)
{
    static const char *const names[] = {"none", "scheduled", "rarer", "sooner", "last"};
    return (size_t)reason < PR_COUNT(names) ? names[reason] : "?";
}
