/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/poll_plan.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

TestSuite(poll_plan, .timeout = 300);

#define MIN INT64_C(60000)
#define HOUR (60 * MIN)
#define DAY (24 * HOUR)

static pr_retry_policy_t schedule_of(const char *text)
{
    pr_retry_policy_t policy;
    pr_error_t error;
    cr_assert_eq(pr_retry_parse(text, &policy, &error), PR_OK, "%s: %s", text, error.text);
    return policy;
}

#define LIST "list:1m,5m,15m,30m,1h,3h;jitter=0%"
#define EXPONENTIAL "exponential:60s..6h*12;jitter=0%"

static const pr_webhook_delays_t none = {0}, few = {49, 1000, 10 * MIN, 20 * MIN},
                                 timely = {50, 990, 10 * MIN, 20 * MIN},
                                 lossy = {5000, 900, 10 * MIN, 20 * MIN};

Test(poll_plan, a_table_of_expected_times)
{
    static const struct {
        const char *sentence, *schedule;
        const pr_webhook_delays_t *delays;
        pr_poll_payment_t payment;
        pr_poll_reason_t reason;
        int64_t at_ms;
    } cases[] = {
        {"the first poll after a minute", LIST, &none, {.expires_ms = DAY}, PR_POLL_SCHEDULED, MIN},
        {"then the list",
         LIST,
         &none,
         {.age_ms = MIN, .expires_ms = DAY, .polls = 1},
         PR_POLL_SCHEDULED,
         6 * MIN},
        {"its last delay repeats",
         LIST,
         &none,
         {.age_ms = 5 * HOUR, .expires_ms = DAY, .polls = 9},
         PR_POLL_SCHEDULED,
         8 * HOUR},
        {"exponential",
         EXPONENTIAL,
         &none,
         {.age_ms = 15 * MIN, .expires_ms = DAY, .polls = 4},
         PR_POLL_SCHEDULED,
         31 * MIN},
        {"exponential, at its cap",
         EXPONENTIAL,
         &none,
         {.age_ms = 2 * DAY, .expires_ms = 9 * DAY, .polls = 11},
         PR_POLL_SCHEDULED,
         2 * DAY + 6 * HOUR},
        {"49 webhooks are too few", LIST, &few, {.expires_ms = DAY}, PR_POLL_SCHEDULED, MIN},
        {"webhooks are timely: wait for one, twice the delay at most",
         LIST,
         &timely,
         {.expires_ms = DAY},
         PR_POLL_RARER,
         2 * MIN},
        {"until it would be overdue",
         LIST,
         &timely,
         {.age_ms = 2 * MIN, .expires_ms = DAY, .polls = 1},
         PR_POLL_RARER,
         10 * MIN + 1},
        {"the schedule is slower than that: as scheduled",
         LIST,
         &timely,
         {.age_ms = 9 * MIN, .expires_ms = DAY, .polls = 2},
         PR_POLL_SCHEDULED,
         24 * MIN},
        {"webhooks get lost here: no waiting for them",
         LIST,
         &lossy,
         {.expires_ms = DAY},
         PR_POLL_SCHEDULED,
         MIN},
        {"overdue: half the delay",
         LIST,
         &timely,
         {.age_ms = 11 * MIN, .expires_ms = DAY, .polls = 2},
         PR_POLL_SOONER,
         11 * MIN + 15 * MIN / 2},
        {"overdue where webhooks get lost, too",
         LIST,
         &lossy,
         {.age_ms = 11 * MIN, .expires_ms = DAY, .polls = 2},
         PR_POLL_SOONER,
         11 * MIN + 15 * MIN / 2},
        {"long overdue: a quarter",
         LIST,
         &timely,
         {.age_ms = 21 * MIN, .expires_ms = DAY, .polls = 2},
         PR_POLL_SOONER,
         21 * MIN + 15 * MIN / 4},
        {"sooner, but not at once",
         "list:12s;jitter=0%",
         &timely,
         {.age_ms = 11 * MIN, .expires_ms = DAY, .polls = 2},
         PR_POLL_SOONER,
         11 * MIN + 10000},
        {"what is short already stays",
         "list:8s;jitter=0%",
         &timely,
         {.age_ms = 11 * MIN, .expires_ms = DAY, .polls = 2},
         PR_POLL_SCHEDULED,
         11 * MIN + 8000},
        {"three times in a row, then as scheduled",
         LIST,
         &timely,
         {.age_ms = 30 * MIN, .expires_ms = DAY, .polls = 5, .sooner = 3},
         PR_POLL_SCHEDULED,
         3 * HOUR + 30 * MIN},
        {"the rate budget holds",
         LIST,
         &none,
         {.expires_ms = DAY, .budget_ms = 3 * MIN},
         PR_POLL_SCHEDULED,
         3 * MIN},
        {"the rate budget holds for the sooner ones",
         LIST,
         &timely,
         {.age_ms = 21 * MIN, .expires_ms = DAY, .polls = 2, .budget_ms = 26 * MIN},
         PR_POLL_SOONER,
         26 * MIN},
        {"never earlier than asked",
         LIST,
         &none,
         {.expires_ms = DAY, .retry_after_ms = HOUR},
         PR_POLL_SCHEDULED,
         HOUR},
        {"a last one at expiry",
         LIST,
         &none,
         {.age_ms = 20 * MIN, .expires_ms = 30 * MIN, .polls = 3},
         PR_POLL_LAST,
         30 * MIN},
        {"waiting for a webhook does not pass expiry",
         LIST,
         &timely,
         {.age_ms = MIN, .expires_ms = 5 * MIN, .polls = 1},
         PR_POLL_LAST,
         5 * MIN},
        {"the budget may delay the last one",
         LIST,
         &none,
         {.age_ms = 20 * MIN, .expires_ms = 30 * MIN, .polls = 3, .budget_ms = 31 * MIN},
         PR_POLL_LAST,
         31 * MIN},
        {"expired while we were down: now",
         LIST,
         &none,
         {.age_ms = 3 * HOUR, .expires_ms = HOUR, .polls = 1},
         PR_POLL_LAST,
         3 * HOUR},
        {"the last of all tries is kept for expiry",
         LIST,
         &none,
         {.age_ms = HOUR, .expires_ms = DAY, .polls = 19},
         PR_POLL_LAST,
         DAY},
        {"polled at expiry: that was it",
         LIST,
         &none,
         {.age_ms = HOUR, .expires_ms = HOUR, .polls = 5, .polled_at_expiry = true},
         PR_POLL_NONE,
         HOUR},
        {"all tries made",
         LIST,
         &none,
         {.age_ms = HOUR, .expires_ms = DAY, .polls = 20},
         PR_POLL_NONE,
         HOUR},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_retry_policy_t schedule = schedule_of(cases[i].schedule);
        pr_poll_channel_t channel = {.schedule = &schedule,
                                     .max_polls = 20,
                                     .query_supported = true,
                                     .delays = *cases[i].delays};
        pr_poll_plan_t plan = pr_poll_plan(&channel, &cases[i].payment, 0);
        cr_expect_eq(plan.reason, cases[i].reason, "%s: %s", cases[i].sentence,
                     pr_poll_reason_name(plan.reason));
        cr_expect_eq(plan.at_ms, cases[i].at_ms, "%s: %lld ms", cases[i].sentence,
                     (long long)plan.at_ms);
        channel.query_supported = false;
        cr_expect_eq(pr_poll_plan(&channel, &cases[i].payment, 0).reason, PR_POLL_NONE,
                     "a channel that cannot be asked is not asked");
    }
}

/* Whatever was measured: in the future, within the cap, not before the budget, not past expiry. */
Test(poll_plan, holds_its_bounds_for_anything)
{
    pr_retry_policy_t schedules[] = {schedule_of("list:1m,5m,15m,30m,1h,3h;jitter=+-20%;cap=3h"),
                                     schedule_of("exponential:60s..6h*12;jitter=+-20%")};
    uint64_t prng = 5;
    for (int i = 0; i < 100000; i++) {
        const pr_retry_policy_t *schedule = &schedules[prng_next(&prng) % 2];
        pr_poll_channel_t channel = {
            .schedule = schedule, .max_polls = 30, .query_supported = true};
        channel.delays = (pr_webhook_delays_t){(uint32_t)(prng_next(&prng) % 100),
                                               (uint32_t)(prng_next(&prng) % 1001),
                                               (int64_t)(prng_next(&prng) % (uint64_t)DAY), 0};
        channel.delays.p99_ms = channel.delays.p95_ms * 2;
        pr_poll_payment_t payment = {.age_ms = (int64_t)(prng_next(&prng) % (uint64_t)(3 * DAY)),
                                     .expires_ms =
                                         (int64_t)(prng_next(&prng) % (uint64_t)(3 * DAY)),
                                     .budget_ms = (int64_t)(prng_next(&prng) % (uint64_t)(3 * DAY)),
                                     .polls = (uint32_t)(prng_next(&prng) % 35),
                                     .sooner = (uint32_t)(prng_next(&prng) % 5)};
        pr_poll_plan_t plan = pr_poll_plan(&channel, &payment, prng_next(&prng));
        if (payment.polls >= 30) {
            cr_assert_eq(plan.reason, PR_POLL_NONE);
            continue;
        }
        cr_assert(plan.at_ms >= payment.age_ms && plan.at_ms >= payment.budget_ms);
        if (plan.at_ms >= payment.expires_ms)
            cr_assert_eq(plan.reason, PR_POLL_LAST);
        if (plan.reason != PR_POLL_LAST && plan.at_ms > payment.budget_ms)
            cr_assert_leq(plan.at_ms - payment.age_ms, schedule->cap_ms);
    }
}
