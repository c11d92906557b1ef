/* SPDX-License-Identifier: Apache-2.0
 *
 * steady: latency at an offered rate, open loop (load.h).
 */
#include "bench/bench.h"
#include "bench/meter.h"

#include <stdio.h>

static pr_rc_t one_round(pr_stage_t *stage, const pr_bench_plan_t *plan, int round_no,
                         pr_tally_t *tally, json_t *round, pr_error_t *error)
{
    static pr_meter_t a, b;
    pr_load_plan_t load = {.count = plan->rate_per_s * plan->seconds,
                           .rate_per_s = plan->rate_per_s,
                           .group = round_no};
    pr_rc_t rc = pr_meter_read(stage, false, &a, error);
    rc = rc != PR_OK ? rc : pr_load_run(stage, &load, tally, error);
    rc = rc != PR_OK
             ? rc
             : pr_load_settle(stage, tally, round_no, PR_BENCH_LOOK_MS, PR_BENCH_SETTLE_MS, error);
    rc = rc != PR_OK ? rc : pr_meter_read(stage, false, &b, error);
    if (rc != PR_OK)
        return rc;
    pr_tally_sum_t sum = pr_tally_sum(tally, round_no);
    double seconds = (double)(sum.last_us - sum.first_us) / 1e6;
    (void)json_object_set_new(round, "rate_per_s",
                              json_real(seconds > 0 ? (double)sum.received / seconds : 0));
    pr_report_latencies(&sum, round);
    (void)fprintf(stderr, "  round %d: %.0f/s, p50 %.2f p99 %.2f max %.1f ms\n", round_no + 1,
                  (double)sum.received / seconds, sum.p50_ms, sum.p99_ms, sum.max_ms);
    return pr_meter_report(stage, &a, &b, load.count, round, error);
}

pr_rc_t pr_bench_steady(pr_stage_t *stage, const pr_bench_plan_t *plan, json_t *report,
                        pr_error_t *error)
{
    pr_tally_t tally;
    json_t *rounds = json_array();
    pr_rc_t rc = PR_OK;
    pr_tally_init(&tally, plan->rate_per_s * plan->seconds * plan->rounds);
    (void)json_object_set_new(report, "offered_per_s", json_integer(plan->rate_per_s));
    for (int i = 0; i < plan->rounds && rc == PR_OK; i++) {
        json_t *round = json_object();
        (void)json_array_append_new(rounds, round);
        rc = one_round(stage, plan, i, &tally, round, error);
    }
    pr_report_medians(rounds, report);
    if (plan->rounds > 1)
        (void)json_object_set(report, "rounds", rounds);
    pr_tally_sum_t sum = pr_tally_sum(&tally, -1);
    pr_report_losses(&sum, report);
    json_decref(rounds);
    pr_tally_free(&tally);
    return rc;
}
