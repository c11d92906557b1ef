/* SPDX-License-Identifier: Apache-2.0
 *
 * dead-merchant: what a tenth of the merchants, that read and never answer, do to the others. Each
 * round is played twice, in turn: with them answering, and with them hanging (as doubles under
 * other names, fresh in each round, so that no breaker is open yet). Played is a steady offer, for
 * the healthy ones' p99, then a backlog, for their time to drain. When the round is over the
 * hanging ones are switched off, so that their retries do not reach into the next.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "bench/bench.h"
#include "sql/bench.h"

#include <stdio.h>

#define BEYOND_A_TIMEOUT_MS 30000
#define LOOK_MS 100

/* Until every request to a hanging merchant has timed out and is on record. */
static pr_rc_t await_timeouts(pr_stage_t *stage, pr_error_t *error)
{
    int64_t until_ms = pr_clock_mono_ms() + BEYOND_A_TIMEOUT_MS, ended = 0;
    for (;;) {
        int64_t hung = pr_stage_hung(stage, error);
        PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
        pr_rc_t rc = pr_db_sync_query(stage->admin, pr_sql_bench[PR_SQL_BENCH_HANGING_ATTEMPTS].sql,
                                      NULL, &rows, error);
        if (rc != PR_OK || hung < 0)
            return rc != PR_OK ? rc : PR_FATAL;
        ended = pr_rows_i64(rows, 0, 0);
        if (ended >= hung)
            return PR_OK;
        if (pr_clock_mono_ms() > until_ms)
            return pr_error_set(error, PR_AGAIN, "bench", "", "of %lld hanging requests %lld ended",
                                (long long)hung, (long long)ended);
        rc = pr_bench_wait_ms(LOOK_MS, error);
        if (rc != PR_OK)
            return rc;
    }
}

static pr_rc_t offer(pr_stage_t *stage, const pr_bench_plan_t *plan, int group, int hanging_round,
                     pr_tally_t *tally, double *p99_ms, pr_error_t *error)
{
    pr_load_plan_t load = {.count = plan->rate_per_s * plan->seconds,
                           .rate_per_s = plan->rate_per_s,
                           .group = group,
                           .hanging_round = hanging_round};
    pr_rc_t rc = pr_load_run(stage, &load, tally, error);
    rc = rc != PR_OK
             ? rc
             : pr_load_settle(stage, tally, group, PR_BENCH_LOOK_MS, PR_BENCH_SETTLE_MS, error);
    *p99_ms = pr_tally_sum(tally, group).due.p99_ms;
    return rc;
}

static pr_rc_t drain(pr_stage_t *stage, const pr_bench_plan_t *plan, int group, int hanging_round,
                     pr_tally_t *tally, double *seconds, pr_error_t *error)
{
    pr_load_plan_t load = {.count = plan->count, .group = group, .hanging_round = hanging_round};
    pr_rc_t rc = pr_stage_hold(stage, error);
    rc = rc != PR_OK ? rc : pr_load_fill(stage, &load, tally, error);
    int64_t start_us = pr_clock_wall_us();
    rc = rc != PR_OK ? rc : pr_stage_let_go(stage, error);
    rc = rc != PR_OK
             ? rc
             : pr_load_settle(stage, tally, group, PR_BENCH_LOOK_MS, PR_BENCH_SETTLE_MS, error);
    *seconds = (double)(pr_tally_sum(tally, group).last_us - start_us) / 1e6;
    return rc;
}

pr_rc_t pr_bench_dead_once(pr_stage_t *stage, const pr_bench_plan_t *plan, int group,
                           int hanging_round, pr_tally_t *tally, json_t *round, pr_error_t *error)
{
    double p99_ms = 0, seconds = 0;
    bool hangs = hanging_round > 0;
    pr_rc_t rc = offer(stage, plan, group, hanging_round, tally, &p99_ms, error);
    rc = rc != PR_OK ? rc : drain(stage, plan, group + 1, hanging_round, tally, &seconds, error);
    if (rc == PR_OK && hangs && !stage->peer) {
        rc = pr_stage_release(stage, hanging_round - 1, error);
        rc = rc != PR_OK ? rc : await_timeouts(stage, error);
    }
    (void)fprintf(stderr, "  %s: healthy p99 %.2f ms, drained in %.2f s\n",
                  hangs ? "a tenth hangs" : "all answer   ", p99_ms, seconds);
    (void)json_object_set_new(round, hangs ? "healthy_p99_ms" : "healthy_p99_ms_without",
                              json_real(p99_ms));
    (void)json_object_set_new(round, hangs ? "healthy_drain_s" : "healthy_drain_s_without",
                              json_real(seconds));
    return rc;
}

pr_rc_t pr_bench_dead_merchant(pr_stage_t *stage, const pr_bench_plan_t *plan, json_t *report,
                               pr_error_t *error)
{
    pr_tally_t tally;
    json_t *rounds = json_array();
    pr_rc_t rc = PR_OK;
    pr_tally_init(&tally, plan->rounds * 2 * (plan->count + plan->rate_per_s * plan->seconds));
    for (int i = 0; i < plan->rounds && rc == PR_OK; i++) {
        json_t *round = json_object();
        (void)json_array_append_new(rounds, round);
        rc = pr_bench_dead_once(stage, plan, 4 * i, 0, &tally, round, error);
        rc = rc != PR_OK ? rc
                         : pr_bench_dead_once(stage, plan, 4 * i + 2, i + 1, &tally, round, error);
    }
    pr_report_medians(rounds, report);
    pr_tally_sum_t sum = pr_tally_sum(&tally, -1);
    pr_report_losses(&sum, report);
    (void)json_object_set_new(report, "sent_to_hanging", json_integer(sum.hanging));
    (void)json_object_set_new(report, "rounds", rounds);
    pr_tally_free(&tally);
    return rc;
}
