/* SPDX-License-Identifier: Apache-2.0
 *
 * steady: latency at an offered rate, open loop (load.h); and what the topology takes of memory
 * meanwhile, looked at every five seconds: at the start (the first look), at the end, at most.
 */
#include "bench/bench.h"
#include "bench/footprint.h"
#include "bench/meter.h"

#include <stdio.h>

#define LOOK_US 5000000

typedef struct {
    pr_stage_t *stage;
    int64_t next_us;
    double start_mb, end_mb, max_mb, start_rss_mb, end_rss_mb;
    json_t *by_process; /* at the last look */
} memory_t;

/* A look costs a few ms of this process, which makes the offer late by as much. */
static pr_rc_t tick(void *arg, int64_t wall_us, pr_error_t *error)
{
    static pr_footprint_t footprint;
    memory_t *memory = arg;
    (void)error;
    if (memory->next_us == 0)
        memory->next_us = wall_us + LOOK_US / 2;
    if (wall_us < memory->next_us)
        return PR_OK;
    memory->next_us += LOOK_US;
    if (memory->stage->peer)
        return PR_OK; /* the topology is down */
    pr_footprint_read(memory->stage, &footprint);
    memory->end_mb = pr_footprint_mb(&footprint, true);
    memory->end_rss_mb = pr_footprint_mb(&footprint, false);
    if (memory->start_mb == 0) {
        memory->start_mb = memory->end_mb;
        memory->start_rss_mb = memory->end_rss_mb;
    }
    memory->max_mb = memory->end_mb > memory->max_mb ? memory->end_mb : memory->max_mb;
    json_decref(memory->by_process);
    memory->by_process = pr_footprint_by_process(&footprint);
    return PR_OK;
}

static void report_memory(const memory_t *memory, json_t *round)
{
    (void)json_object_set_new(round, "pss_mb_start", json_real(memory->start_mb));
    (void)json_object_set_new(round, "pss_mb_end", json_real(memory->end_mb));
    (void)json_object_set_new(round, "pss_mb_max", json_real(memory->max_mb));
    (void)json_object_set_new(round, "rss_mb_start", json_real(memory->start_rss_mb));
    (void)json_object_set_new(round, "rss_mb_end", json_real(memory->end_rss_mb));
    if (memory->by_process)
        (void)json_object_set(round, "pss_mb_by_process", memory->by_process);
}

pr_rc_t pr_bench_steady_once(pr_stage_t *stage, const pr_bench_plan_t *plan, int round_no,
                             pr_tally_t *tally, json_t *round, pr_error_t *error)
{
    static pr_meter_t a, b;
    memory_t memory = {.stage = stage};
    pr_load_plan_t load = {.count = plan->rate_per_s * plan->seconds,
                           .rate_per_s = plan->rate_per_s,
                           .group = round_no,
                           .tick = tick,
                           .arg = &memory};
    pr_rc_t rc = pr_meter_read(stage, false, &a, error);
    rc = rc != PR_OK ? rc : pr_load_run(stage, &load, tally, error);
    rc = rc != PR_OK
             ? rc
             : pr_load_settle(stage, tally, round_no, PR_BENCH_LOOK_MS, PR_BENCH_SETTLE_MS, error);
    rc = rc != PR_OK ? rc : pr_meter_read(stage, false, &b, error);
    if (rc == PR_OK && !stage->peer)
        report_memory(&memory, round);
    json_decref(memory.by_process);
    if (rc != PR_OK)
        return rc;
    pr_tally_sum_t sum = pr_tally_sum(tally, round_no);
    double seconds = (double)(sum.last_us - sum.first_us) / 1e6;
    (void)json_object_set_new(round, "rate_per_s",
                              json_real(seconds > 0 ? (double)sum.received / seconds : 0));
    pr_report_latencies(&sum.due, round);
    json_t *acked = json_object(), *commit = json_object();
    pr_report_latencies(&sum.acked, acked);
    pr_report_latencies(&sum.commit, commit);
    (void)json_object_set_new(round, "from_commit", acked);
    (void)json_object_set_new(round, "commit", commit);
    (void)fprintf(stderr,
                  "  round %d: %.0f/s, p50 %.2f p99 %.2f max %.1f ms; from the commit p50 %.2f "
                  "p99 %.2f max %.1f ms\n",
                  round_no + 1, (double)sum.received / seconds, sum.due.p50_ms, sum.due.p99_ms,
                  sum.due.max_ms, sum.acked.p50_ms, sum.acked.p99_ms, sum.acked.max_ms);
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
        rc = pr_bench_steady_once(stage, plan, i, &tally, round, error);
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
