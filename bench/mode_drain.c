/* SPDX-License-Identifier: Apache-2.0
 *
 * drain: how fast, and at what cost, a backlog goes out. The relay is stopped while COUNT
 * notifications are committed; then a checkpoint (so that every run pays for its full-page images
 * alike), the meter, the relay's start; the clock stops when the last one is recorded as delivered.
 * With --bare each round ends with the bare parts of as many more (bare.h), and the ratio of all our CPU to theirs.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "bench/bare.h"
#include "bench/bench.h"
#include "bench/meter.h"
#include "sql/bench.h"

#include <stdio.h>

#define LOOK_MS 20
#define STUCK_MS 60000

/* Where each class stands: what is born from here on is this round's. */
static pr_rc_t read_cursors(pr_stage_t *stage, pr_params_t *out, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    if (stage->peer)
        return PR_OK; /* it is not asked with any */
    pr_rc_t rc =
        pr_db_sync_query(stage->admin, pr_sql_bench[PR_SQL_BENCH_CURSORS].sql, NULL, &rows, error);
    for (int i = 0; i < 3 && rc == PR_OK; i++)
        pr_params_add_i64(out, pr_rows_i64(rows, 0, i));
    return rc;
}

/* Until the receiver has answered `target` requests and no job of this round is left. */
static pr_rc_t await_recorded(pr_stage_t *stage, const pr_params_t *cursors, int64_t target,
                              pr_error_t *error)
{
    int recorded = stage->peer ? PR_SQL_BENCH_PEER_RECORDED : PR_SQL_BENCH_RECORDED;
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
            rc = pr_db_sync_query(stage->admin, pr_sql_bench[recorded].sql, cursors, &rows, error);
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
    PR_CLEANUP(pr_params) pr_params_t *cursors = pr_params_new();
    pr_rc_t rc = read_cursors(stage, cursors, error);
    rc = rc != PR_OK ? rc : pr_db_sync_query(stage->admin, "CHECKPOINT", NULL, NULL, error);
    rc = rc != PR_OK ? rc : pr_meter_read(stage, true, &a, error);
    rc = rc != PR_OK ? rc : pr_stage_let_go(stage, error);
    rc = rc != PR_OK ? rc : await_recorded(stage, cursors, target, error);
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

pr_rc_t pr_bench_drain_once(pr_stage_t *stage, int64_t count, int group, pr_tally_t *tally,
                            json_t *round, pr_error_t *error)
{
    pr_load_plan_t load = {.count = count, .group = group};
    pr_rc_t rc = pr_stage_hold(stage, error);
    rc = rc != PR_OK ? rc : pr_load_fill(stage, &load, tally, error);
    rc = rc != PR_OK ? rc : measure(stage, count, round, error);
    if (rc == PR_OK)
        (void)fprintf(stderr, "  %.0f/s, %.1f us of CPU each\n",
                      json_real_value(json_object_get(round, "rate_per_s")),
                      json_real_value(json_object_get(round, "cpu_us_per_notification")));
    return rc;
}

static pr_rc_t add_bare(pr_stage_t *stage, int64_t count, int group, pr_tally_t *tally,
                        json_t *round, pr_error_t *error)
{
    pr_load_plan_t load = {.count = count, .group = group};
    int64_t after = 0;
    pr_rc_t rc = pr_stage_stop_actors(stage, error);
    rc = rc != PR_OK ? rc : pr_bare_mark(stage, &after, error);
    rc = rc != PR_OK ? rc : pr_load_fill(stage, &load, tally, error);
    rc = rc != PR_OK ? rc : pr_bare_measure(stage, after, count, round, error);
    rc = rc != PR_OK ? rc : pr_stage_start_actors(stage, error);
    double bare_us = json_real_value(json_object_get(round, "bare_us"));
    double ours_us = json_real_value(json_object_get(round, "cpu_us_per_notification"));
    if (rc == PR_OK) {
        (void)json_object_set_new(round, "cpu_ratio_to_bare", json_real(ours_us / bare_us));
        (void)fprintf(stderr, "  bare parts %.1f us: ratio %.2f\n", bare_us, ours_us / bare_us);
    }
    return rc;
}

pr_rc_t pr_bench_drain(pr_stage_t *stage, const pr_bench_plan_t *plan, json_t *report,
                       pr_error_t *error)
{
    pr_tally_t tally;
    json_t *rounds = json_array();
    pr_rc_t rc = PR_OK;
    pr_tally_init(&tally, plan->count * plan->rounds * (plan->bare ? 2 : 1));
    for (int i = 0; i < plan->rounds && rc == PR_OK; i++) {
        json_t *round = json_object();
        (void)json_array_append_new(rounds, round);
        rc = pr_bench_drain_once(stage, plan->count, i, &tally, round, error);
        if (rc == PR_OK && plan->bare)
            rc = add_bare(stage, plan->count, i, &tally, round, error);
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
