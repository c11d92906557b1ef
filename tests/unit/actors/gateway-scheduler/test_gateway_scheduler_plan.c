/* SPDX-License-Identifier: Apache-2.0
 *
 * When the next call is due, as a table.
 */
#include "tests/unit/actors/gateway-scheduler/world.h"

TestSuite(gateway_scheduler_plan, .timeout = 300);

#define MIN INT64_C(60000)
#define HOUR (60 * MIN)

typedef struct {
    const char *what;
    pr_operation_t operation;
    pr_calls_outcome_t said;
    uint32_t failures;
    pr_poll_payment_t payment;
    int64_t delay_ms;
    const char *reason;
    bool at_expiry;
} row_t;

#define SAID(...) \
    { \
        .retry_after_ms = -1, __VA_ARGS__ \
    }
#define YOUNG \
    { \
        .age_ms = MIN, .expires_ms = 2 * HOUR \
    }

static const row_t rows[] = {
    {"a payment that is pending: the second of the list", PR_OPERATION_QUERY,
     SAID(.status = PR_STATUS_PENDING), 0, YOUNG, 5 * MIN, "still_pending", false},
    {"the list goes on",
     PR_OPERATION_QUERY,
     SAID(.status = PR_STATUS_PENDING),
     0,
     {.age_ms = 6 * MIN, .expires_ms = 2 * HOUR, .polls = 1},
     15 * MIN,
     "still_pending",
     false},
    {"not found is an answer, too", PR_OPERATION_QUERY, SAID(.status = PR_STATUS_NOT_FOUND), 0,
     YOUNG, 5 * MIN, "still_pending", false},
    {"the last one is at expiry",
     PR_OPERATION_QUERY,
     SAID(.status = PR_STATUS_PENDING),
     0,
     {.age_ms = 118 * MIN, .expires_ms = 2 * HOUR, .polls = 5},
     2 * MIN,
     "still_pending: last",
     false},
    {"asked at expiry: no further question",
     PR_OPERATION_QUERY,
     SAID(.status = PR_STATUS_PENDING),
     0,
     {.age_ms = 2 * HOUR, .expires_ms = 2 * HOUR, .polls = 6},
     -1,
     "exhausted",
     true},
    {"as many as there may be",
     PR_OPERATION_QUERY,
     SAID(.status = PR_STATUS_PENDING),
     0,
     {.age_ms = HOUR, .expires_ms = 2 * HOUR, .polls = 19},
     -1,
     "exhausted",
     false},
    {"a request that failed backs off", PR_OPERATION_QUERY,
     SAID(.status = PR_STATUS_UNKNOWN, .failed = true), 0, YOUNG, 1000, "gateway_request_failed",
     false},
    {"and again", PR_OPERATION_QUERY, SAID(.status = PR_STATUS_UNKNOWN, .failed = true), 3, YOUNG,
     8000, "gateway_request_failed", false},
    {"but its last one is kept for expiry",
     PR_OPERATION_QUERY,
     SAID(.status = PR_STATUS_UNKNOWN, .failed = true),
     2,
     {.age_ms = HOUR, .expires_ms = 2 * HOUR, .polls = 18},
     HOUR,
     "gateway_request_failed",
     false},
    {"silence at expiry is no answer at expiry",
     PR_OPERATION_QUERY,
     SAID(.status = PR_STATUS_UNKNOWN, .failed = true),
     1,
     {.age_ms = 2 * HOUR, .expires_ms = 2 * HOUR, .polls = 6},
     2000,
     "gateway_request_failed",
     false},
    {"nobody is asked for ever past expiry: silence as often as a charge is tried ends it",
     PR_OPERATION_QUERY,
     SAID(.status = PR_STATUS_UNKNOWN, .failed = true),
     5,
     {.age_ms = 2 * HOUR, .expires_ms = 2 * HOUR, .polls = 6},
     -1,
     "exhausted",
     false},
    {"but a 429 is our own haste",
     PR_OPERATION_QUERY,
     SAID(.status = PR_STATUS_UNKNOWN, .throttled = true, .failed = true),
     5,
     {.age_ms = 2 * HOUR, .expires_ms = 2 * HOUR, .polls = 6},
     16000,
     "rate_limited",
     false},
    {"silence for the last time",
     PR_OPERATION_QUERY,
     SAID(.status = PR_STATUS_UNKNOWN, .failed = true),
     1,
     {.age_ms = 2 * HOUR, .expires_ms = 2 * HOUR, .polls = 19},
     -1,
     "exhausted",
     false},
    {"a 429 backs off, never before Retry-After",
     PR_OPERATION_QUERY,
     {.status = PR_STATUS_UNKNOWN, .throttled = true, .failed = true, .retry_after_ms = 90000},
     1,
     YOUNG,
     90000,
     "rate_limited",
     false},
    {"Retry-After is a floor for polls, too",
     PR_OPERATION_QUERY,
     {.status = PR_STATUS_PENDING, .retry_after_ms = 20 * MIN},
     0,
     YOUNG,
     20 * MIN,
     "still_pending",
     false},
    {"a charge of unknown outcome is asked about soon", PR_OPERATION_CHARGE,
     SAID(.status = PR_STATUS_UNKNOWN, .action = PR_ACTION_QUERY_FIRST, .failed = true), 0, YOUNG,
     1000, "gateway_request_failed", false},
    {"answered, but not understood", PR_OPERATION_CHARGE,
     SAID(.status = PR_STATUS_UNKNOWN, .action = PR_ACTION_QUERY_FIRST), 1, YOUNG, 2000, "unknown",
     false},
    {"a charge that was taken in is polled by the schedule", PR_OPERATION_CHARGE,
     SAID(.status = PR_STATUS_PENDING), 0, YOUNG, MIN, "still_pending", false},
    {"a charge to be made again backs off by failures", PR_OPERATION_CHARGE,
     SAID(.status = PR_STATUS_PENDING, .action = PR_ACTION_RETRY), 2, YOUNG, 4000, "unknown",
     false},
    {"maintenance", PR_OPERATION_CHARGE,
     SAID(.status = PR_STATUS_UNKNOWN, .action = PR_ACTION_LONGER_INTERVAL), 0, YOUNG, 5 * MIN,
     "maintenance", false},
    {"longer", PR_OPERATION_QUERY,
     SAID(.status = PR_STATUS_UNKNOWN, .action = PR_ACTION_LONGER_INTERVAL), 1, YOUNG, 15 * MIN,
     "maintenance", false},
    {"and no longer than that", PR_OPERATION_QUERY,
     SAID(.status = PR_STATUS_UNKNOWN, .action = PR_ACTION_LONGER_INTERVAL), 9, YOUNG, 30 * MIN,
     "maintenance", false},
    {"handed back: at once", PR_OPERATION_CHARGE,
     SAID(.status = PR_STATUS_UNKNOWN, .failed = true, .returned = true), 4, YOUNG, 0, "returned",
     false},
};

Test(gateway_scheduler_plan, table)
{
    pr_calls_channel_t channel = a_channel(1, 0, 1, 1);
    for (size_t i = 0; i < PR_COUNT(rows); i++) {
        const row_t *row = &rows[i];
        pr_calls_facts_t facts = {.subject.operation = row->operation,
                                  .failures = row->failures,
                                  .payment = row->payment};
        pr_calls_plan_t plan = pr_calls_plan(&channel, &facts, &row->said, 0);
        cr_expect_eq(plan.delay_ms, row->delay_ms, "%s: %lld", row->what, (long long)plan.delay_ms);
        cr_expect_str_eq(plan.reason, row->reason, "%s: %s", row->what, plan.reason);
        cr_expect_eq(plan.at_expiry, row->at_expiry, "%s", row->what);
    }
}

Test(gateway_scheduler_plan, overdue_webhooks_make_it_sooner_and_that_is_counted)
{
    pr_calls_channel_t channel = a_channel(1, 0, 1, 1);
    channel.poll.delays = (pr_webhook_delays_t){
        .samples = 100, .first_permille = 990, .p95_ms = 30000, .p99_ms = 45000};
    pr_calls_facts_t facts = {.subject.operation = PR_OPERATION_QUERY, .payment = YOUNG};
    pr_calls_outcome_t said = SAID(.status = PR_STATUS_PENDING);
    pr_calls_plan_t plan = pr_calls_plan(&channel, &facts, &said, 0);
    cr_assert_str_eq(plan.reason, "still_pending: sooner");
    cr_assert_eq(plan.delay_ms, 75000, "a quarter of 5 min");
    cr_assert_eq(plan.sooner, 1);
    facts.payment.sooner = PR_POLL_SOONER_TIMES;
    plan = pr_calls_plan(&channel, &facts, &said, 0);
    cr_assert_eq(plan.sooner, 0, "the row of them is broken");
    said.failed = true;
    facts.payment.sooner = 2;
    plan = pr_calls_plan(&channel, &facts, &said, 0);
    cr_assert_eq(plan.sooner, 2, "a request that failed says nothing about webhooks");
}
