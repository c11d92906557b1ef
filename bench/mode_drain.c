/* SPDX-License-Identifier: Apache-2.0
 *
 * drain: how fast, and at what cost, a backlog goes out. The relay is stopped while COUNT
 * notifications are committed; then a checkpoint (so that every run pays for its full-page images
 * alike), the meter, the relay's start; the clock stops when the last one is recorded as delivered.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "bench/bench.h"
#include "bench/meter.h"
#include "sql/bench.h"

#include <stdio.h>

#define LOOK_MS 20
#define STUCK_MS 60000

/* Until the receiver has answered `target` requests and no job is left. */
static pr_rc_t await_recorded(pr_stage_t *stage, int64_t target, pr_error_t *error)
{
    int64_t best = -1, until_ms = 0;
    for (;;) {
        int64_t answered = pr_stage_answered(stage, error);
        if (answered < 0)
            return PR_FATAL;
        if (answered != best)
            until_ms = pr_clock_mono_ms() + STUCK_MS;
        best = answered;
        PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
        pr_rc_t rc = PR_OK;
        if (answered >= target)
            rc = pr_db_sync_query(stage->admin, pr_sql_bench[PR_SQL_BENCH_RECORDED].sql, NULL,
                                  &rows, error);
        if (rc != PR_OK || (rows && pr_rows_bool(rows, 0, 0)))
            return rc;
        if (pr_clock_mono_ms() > until_ms)
            return pr_error_set(error, PR_AGAIN, "bench", "", "%lld of %lld, and nothing moves",
                                (long long)answered, (long long)target);
        rc = pr_bench_wait_ms(answered >= target ? LOOK_MS / 4 : LOOK_MS, error);
        if (rc != PR_OK)
            return rc;
    }
}

static pr_rc_t measure(pr_stage_t *stage, int64_t count, json_t *round, pr_error_t *error)
{
    static pr_meter_t a, b;
    int64_t target = pr_stage_answered(stage, error);
    if (target < 0)
        return PR_FATAL;
    target += count;
    pr_rc_t rc = pr_db_sync_query(stage->admin, "CHECKPOINT", NULL, NULL, error);
    rc = rc != PR_OK ? rc : pr_meter_read(stage, true, &a, error);
    rc = rc != PR_OK ? rc : pr_stage_start(stage, "outbox-relay", error);
    rc = rc != PR_OK ? rc : await_recorded(stage, target, error);
    int64_t end_us = pr_clock_mono_us();
    rc = rc != PR_OK ? rc : pr_meter_read(stage, true, &b, error);
    if (rc != PR_OK)
        return rc;
    double seconds = (double)(end_us - a.at_us) / 1e6;
    (void)json_object_set_new(round, "rate_per_s", json_real((double)count / seconds));
    (void)json_object_set_new(round, "seconds", json_real(seconds));
    return pr_meter_report(stage, &a, &b, count, round, error);
}

/* Their record beside ours, and how long the bodies were. */
static pr_rc_t report_outcomes(pr_stage_t *stage, json_t *report, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_rc_t rc =
        pr_db_sync_query(stage->admin, pr_sql_bench[PR_SQL_BENCH_OUTCOMES].sql, NULL, &rows, error);
    if (rc == PR_OK) {
        (void)json_object_set_new(report, "recorded_delivered",
                                  json_integer(pr_rows_i64(rows, 0, 0)));
        (void)json_object_set_new(report, "body_bytes", json_integer(pr_rows_i64(rows, 0, 2)));
    }
    return rc;
}

static pr_rc_t one_round(pr_stage_t *stage, const pr_bench_plan_t *plan, int round_no,
                         pr_tally_t *tally, json_t *round, pr_error_t *error)
{
    pr_load_plan_t load = {.count = plan->count, .group = round_no};
    pr_rc_t rc = pr_stage_stop(stage, "outbox-relay", error);
    rc = rc != PR_OK ? rc : pr_load_fill(stage, &load, tally, error);
    rc = rc != PR_OK ? rc : measure(stage, plan->count, round, error);
    if (rc == PR_OK)
        (void)fprintf(stderr, "  round %d: %.0f/s, %.1f us of CPU each\n", round_no + 1,
                      json_real_value(json_object_get(round, "rate_per_s")),
                      json_real_value(json_object_get(round, "cpu_us_per_notification")));
    return rc;
}

pr_rc_t pr_bench_drain(pr_stage_t *stage, const pr_bench_plan_t *plan, json_t *report,
                       pr_error_t *error)
{
    pr_tally_t tally;
    json_t *rounds = json_array();
    pr_rc_t rc = PR_OK;
    pr_tally_init(&tally, plan->count * plan->rounds);
    for (int i = 0; i < plan->rounds && rc == PR_OK; i++) {
        json_t *round = json_object();
        (void)json_array_append_new(rounds, round);
        rc = one_round(stage, plan, i, &tally, round, error);
    }
    rc = rc != PR_OK
             ? rc
             : pr_load_settle(stage, &tally, -1, PR_BENCH_LOOK_MS, PR_BENCH_SETTLE_MS, error);
    pr_report_medians(rounds, report);
    if (plan->rounds > 1)
        (void)json_object_set(report, "rounds", rounds);
    pr_tally_sum_t sum = pr_tally_sum(&tally, -1);
    pr_report_losses(&sum, report);
    rc = rc != PR_OK ? rc : report_outcomes(stage, report, error);
    json_decref(rounds);
    pr_tally_free(&tally);
    return rc;
}
