/* SPDX-License-Identifier: Apache-2.0
 *
 * When the next call about a payment is due. What it will be (the query after an unknown charge, the charge again, the close at
 * expiry) is decided in SQL, from the evidence; here is only the delay, and why:
 *
 *   handed back         at once: nothing happened
 *   maintenance         5, 15, 30 min (R1)
 *   rate limit          the charges' backoff, by the failures in a row (R4)
 *   no answer, unknown  the same: a query must come first, soon (R2). The last of the queries is kept for expiry; past it a
 *                       question that got no answer as often as a charge is tried is the last one (P8: its age is exhausted)
 *   an answer           core/poll_plan.h
 *
 * A Retry-After is a floor for all of them.
 */
#include "actors/gateway-scheduler/gateway_scheduler.h"
#include "base/alloc.h"

#define MINUTE_MS ((int64_t)60000)

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool asks(pr_operation_t operation)
{
    return operation == PR_OPERATION_QUERY || operation == PR_OPERATION_FIND ||
           operation == PR_OPERATION_QUERY_REFUND;
}

static int64_t maintenance_ms(const pr_calls_channel_t *channel, uint32_t failures)
{
    static const int64_t steps[] = {5 * MINUTE_MS, 15 * MINUTE_MS, 30 * MINUTE_MS};
    int64_t step_ms = steps[failures < PR_COUNT(steps) ? failures : PR_COUNT(steps) - 1];
    return channel->time_scale > 0 ? (int64_t)((double)step_ms * channel->time_scale) : step_ms;
}

static bool is_unknown(const pr_calls_outcome_t *said)
{
    return said->failed || said->status == PR_STATUS_UNKNOWN ||
           said->action == PR_ACTION_QUERY_FIRST || said->action == PR_ACTION_RETRY;
}

/* What the poll plan says of the payment as it is after this call. */
static pr_calls_plan_t poll(const pr_calls_channel_t *channel, const pr_calls_facts_t *facts,
                            const pr_calls_outcome_t *said, uint64_t random)
{
    static const char *const words[] = {"exhausted", "still_pending", "still_pending: rarer",
                                        "still_pending: sooner", "still_pending: last"};
    pr_poll_channel_t how = channel->poll;
    how.schedule = &channel->polls;
    pr_poll_payment_t payment = facts->payment;
    if (asks(facts->subject.operation)) {
        payment.polls++; /* the one that came back now */
        payment.polled_at_expiry =
            payment.polled_at_expiry || (!is_unknown(said) && payment.age_ms >= payment.expires_ms);
    }
    if (said->retry_after_ms > 0)
        payment.retry_after_ms = payment.age_ms + said->retry_after_ms;
    pr_poll_plan_t plan = pr_poll_plan(&how, &payment, random);
    pr_calls_plan_t out = {.reason = words[plan.reason],
                           .at_expiry = payment.polled_at_expiry,
                           .last = plan.reason == PR_POLL_LAST,
                           .delay_ms = -1};
    if (plan.reason != PR_POLL_NONE)
        out.delay_ms = plan.at_ms - payment.age_ms;
    out.sooner = plan.reason == PR_POLL_SOONER ? payment.sooner + 1 : 0;
    return out;
}

static pr_calls_plan_t back_off(const pr_calls_channel_t *channel, const pr_calls_facts_t *facts,
                                const pr_calls_outcome_t *said, uint64_t random, const char *reason)
{
    pr_calls_plan_t plan = poll(channel, facts, said, random);
    int64_t delay_ms = pr_retry_delay_ms(&channel->charges, facts->failures + 1, random);
    if (asks(facts->subject.operation) && plan.delay_ms < 0)
        return plan; /* exhausted, at least as a question */
    bool over = !said->throttled && facts->payment.age_ms >= facts->payment.expires_ms;
    if (asks(facts->subject.operation) && facts->subject.refund_id == 0 && over &&
        pr_retry_exhausted(&channel->charges, facts->failures + 1)) {
        plan.delay_ms = -1;
        plan.reason = "exhausted";
        return plan;
    }
    if (asks(facts->subject.operation) && plan.last)
        delay_ms = larger(delay_ms, plan.delay_ms);
    plan.delay_ms = delay_ms;
    plan.reason = reason;
    plan.sooner = facts->payment.sooner;
    return plan;
}

static pr_calls_plan_t decide(const pr_calls_channel_t *channel, const pr_calls_facts_t *facts,
                              const pr_calls_outcome_t *said, uint64_t random)
{
    if (said->returned)
        return (pr_calls_plan_t){.reason = "returned", .sooner = facts->payment.sooner};
    if (said->action == PR_ACTION_LONGER_INTERVAL)
        return (pr_calls_plan_t){.reason = "maintenance",
                                 .delay_ms = maintenance_ms(channel, facts->failures)};
    if (said->throttled)
        return back_off(channel, facts, said, random, "rate_limited");
    if (is_unknown(said))
        return back_off(channel, facts, said, random,
                        said->failed ? "gateway_request_failed" : "unknown");
    return poll(channel, facts, said, random);
}

pr_calls_plan_t pr_calls_plan(const pr_calls_channel_t *channel, const pr_calls_facts_t *facts,
                              const pr_calls_outcome_t *said, uint64_t random)
{
    pr_calls_plan_t plan = decide(channel, facts, said, random);
    if (plan.delay_ms >= 0)
        plan.delay_ms = larger(plan.delay_ms, said->retry_after_ms);
    return plan;
}
