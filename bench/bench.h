/* SPDX-License-Identifier: Apache-2.0
 *
 * `postrider bench MODE`: the measurements of docs/bench.md. Each mode is one file; it fills one
 * JSON object, the report (contracts.md, "Reports").
 *
 *   main.c, bench.c   arguments, one stage around one mode
 *   mode_*.c          one mode each
 *   stage.c           Postgres, topology, receiver, merchants       receipts.c  what it received
 *   load.c            the application that enqueues                 tally.c     committed x received
 *   meter.c           CPU, WAL, statements                          report.c    medians, printing
 */
#ifndef PR_BENCH_BENCH_H
#define PR_BENCH_BENCH_H

#include "base/error.h"
#include "bench/load.h"
#include "bench/stage.h"
#include "cli/args.h"

#include <jansson.h>

typedef struct {
    int64_t count, rate_per_s, seconds, rounds;
    int64_t waiting;                           /* jobs that wait for later beside it */
    const char *actor;                         /* to kill */
    bool bare;                                 /* the bare parts, too (bare.h) */
    const char *const *measures, *const *only; /* of peers; end with NULL, empty: all */
} pr_bench_plan_t;

/* Fills the report; what is missing on failure is missing. */
typedef pr_rc_t pr_bench_mode_fn(pr_stage_t *stage, const pr_bench_plan_t *plan, json_t *report,
                                 pr_error_t *error);
/* The same without a stage. */
pr_rc_t pr_bench_timers(const pr_bench_plan_t *plan, json_t *report, pr_error_t *error);
pr_bench_mode_fn pr_bench_drain, pr_bench_steady, pr_bench_enqueue, pr_bench_dead_merchant,
    pr_bench_crash, pr_bench_idle, pr_bench_backlog, pr_bench_peers;

/* One drain: fills with the relay stopped, starts it, measures; what it gave goes to round. */
PR_CHECK pr_rc_t pr_bench_drain_once(pr_stage_t *stage, int64_t count, int group, pr_tally_t *tally,
                                     json_t *round, pr_error_t *error);
/* The same of the other modes: one round, into round. hanging_round 0: nobody hangs. */
PR_CHECK pr_rc_t pr_bench_steady_once(pr_stage_t *stage, const pr_bench_plan_t *plan, int round_no,
                                      pr_tally_t *tally, json_t *round, pr_error_t *error);
PR_CHECK pr_rc_t pr_bench_dead_once(pr_stage_t *stage, const pr_bench_plan_t *plan, int group,
                                    int hanging_round, pr_tally_t *tally, json_t *round,
                                    pr_error_t *error);
/* Transactions a second of pgbench with an enqueue in each; nothing that delivers may run. */
PR_CHECK pr_rc_t pr_bench_enqueue_once(pr_stage_t *stage, int clients, int64_t seconds,
                                       double *per_s, pr_error_t *error);

int pr_bench_main(int argc, char **argv);

/* Everything committed and not hanging has arrived: the settle that ends a mode. */
#define PR_BENCH_LOOK_MS 200
#define PR_BENCH_SETTLE_MS 60000

/* ---- report.c ---- */
/* Each number of the rounds' objects, its median, into report (objects inside them too). */
void pr_report_medians(const json_t *rounds, json_t *report);
/* KEY_min and KEY_max over the rounds beside their median. */
void pr_report_spread(const json_t *rounds, const char *key, json_t *report);
/* The keys of a tally: latencies in ms (of those that had a due time), lost, repeated. */
void pr_report_latencies(const pr_latencies_t *of, json_t *report);
void pr_report_losses(const pr_tally_sum_t *sum, json_t *report);
void pr_report_machine(json_t *report); /* load average and processors */
void pr_report_print(const json_t *report, bool json);

#endif
