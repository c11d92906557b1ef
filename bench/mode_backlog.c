/* SPDX-License-Identifier: Apache-2.0
 *
 * backlog: does the drain care about what else is there? Three databases of one cluster, used in turn
 * in each round by the same topology: plain; pinned, where a REPEATABLE READ transaction is open
 * from before the first round to after the last; waiting, with WAITING jobs for later beside it
 * (waiting.h). The ratios are of one round. Then, beside the waiting ones, the scheduler is killed
 * under a steady offer (mode_crash.c).
 *
 * After each change of database the actors start anew; a small drain that is not measured comes
 * first, so that connections and plans exist, as they do in `drain`.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "bench/bench.h"
#include "bench/footprint.h"
#include "bench/waiting.h"

#include <stdio.h>

#define WARM_UP 1000
#define CRASH_RATE 500
#define CRASH_KILLS 3

enum { PLAIN, PINNED, WAITING, KINDS };
static const struct {
    const char *database, *key;
} kinds[KINDS] = {
    {"postrider", "plain"}, {"postrider_pinned", "pinned"}, {"postrider_waiting", "waiting"}};

typedef struct {
    pr_stage_t *stage;
    const pr_bench_plan_t *plan;
    pr_tally_t tally;
    json_t *rounds, *full[KINDS]; /* what each drain gave, for the medians of each kind */
    pr_db_sync_t *pin;
} backlog_t;

static pr_rc_t prepare(backlog_t *self, json_t *report, pr_error_t *error)
{
    pr_stage_t *stage = self->stage;
    pr_rc_t rc = pr_stage_stop_actors(stage, error);
    rc = rc != PR_OK ? rc : pr_stage_copy_database(stage, kinds[PINNED].database, error);
    rc = rc != PR_OK ? rc : pr_stage_copy_database(stage, kinds[WAITING].database, error);
    rc = rc != PR_OK ? rc : pr_stage_use_database(stage, kinds[WAITING].database, error);
    int64_t start_ms = pr_clock_mono_ms();
    rc = rc != PR_OK ? rc : pr_waiting_fill(stage, self->plan->waiting, error);
    (void)json_object_set_new(report, "fill_s",
                              json_real((double)(pr_clock_mono_ms() - start_ms) / 1000));
    rc = rc != PR_OK ? rc : pr_stage_use_database(stage, kinds[PINNED].database, error);
    rc = rc != PR_OK ? rc : pr_db_sync_connect(stage->app_url, "postrider_app", &self->pin, error);
    rc = rc != PR_OK ? rc
                     : pr_db_sync_query(self->pin, "BEGIN ISOLATION LEVEL REPEATABLE READ", NULL,
                                        NULL, error);
    return rc != PR_OK ? rc
                       : pr_db_sync_query(self->pin, "SELECT count(*) FROM bench.payment", NULL,
                                          NULL, error);
}

/* The stage goes to the database of a kind, and is warm. */
static pr_rc_t enter(backlog_t *self, int kind, pr_error_t *error)
{
    pr_stage_t *stage = self->stage;
    pr_load_plan_t warm_up = {.count = WARM_UP, .group = 0};
    pr_rc_t rc = pr_stage_stop_actors(stage, error);
    rc = rc != PR_OK ? rc : pr_stage_use_database(stage, kinds[kind].database, error);
    rc = rc != PR_OK ? rc : pr_stage_start_actors(stage, error);
    rc = rc != PR_OK ? rc : pr_load_fill(stage, &warm_up, &self->tally, error);
    return rc != PR_OK ? rc
                       : pr_load_settle(stage, &self->tally, 0, PR_BENCH_LOOK_MS,
                                        PR_BENCH_SETTLE_MS, error);
}

static pr_rc_t one(backlog_t *self, int kind, int group, json_t *round, pr_error_t *error)
{
    json_t *drain = json_object();
    (void)json_array_append_new(self->full[kind], drain);
    (void)fprintf(stderr, "  %s:\n", kinds[kind].key);
    pr_rc_t rc = enter(self, kind, error);
    rc = rc != PR_OK ? rc
                     : pr_bench_drain_once(self->stage, self->plan->count, group, &self->tally,
                                           drain, error);
    PR_CLEANUP_FREE char *key = pr_asprintf("%s_per_s", kinds[kind].key);
    (void)json_object_set(round, key, json_object_get(drain, "rate_per_s"));
    return rc;
}

static void set_ratio(json_t *round, int kind)
{
    PR_CLEANUP_FREE char *from = pr_asprintf("%s_per_s", kinds[kind].key);
    PR_CLEANUP_FREE char *to = pr_asprintf("%s_ratio", kinds[kind].key);
    double plain = json_real_value(json_object_get(round, "plain_per_s"));
    double other = json_real_value(json_object_get(round, from));
    (void)json_object_set_new(round, to, json_real(plain > 0 ? other / plain : 0));
}

/* In another order each time: whoever comes first in a round has no advantage. */
static pr_rc_t play_round(backlog_t *self, int no, pr_error_t *error)
{
    json_t *round = json_object();
    pr_rc_t rc = PR_OK;
    (void)json_array_append_new(self->rounds, round);
    for (int i = 0; i < KINDS && rc == PR_OK; i++)
        rc = one(self, (i + no) % KINDS, 1 + no * KINDS + i, round, error);
    set_ratio(round, PINNED);
    set_ratio(round, WAITING);
    return rc;
}

static pr_rc_t kill_scheduler(backlog_t *self, json_t *report, pr_error_t *error)
{
    pr_bench_plan_t plan = {.actor = "scheduler",
                            .rate_per_s = CRASH_RATE,
                            .seconds = self->plan->seconds,
                            .rounds = CRASH_KILLS};
    json_t *inner = json_object();
    pr_rc_t rc = enter(self, WAITING, error);
    rc = rc != PR_OK ? rc : pr_bench_crash(self->stage, &plan, inner, error);
    (void)json_object_set(report, "recovery_s", json_object_get(inner, "recovery_s"));
    (void)json_object_set_new(report, "crash", inner);
    static pr_footprint_t footprint;
    pr_footprint_read(self->stage, &footprint);
    (void)json_object_set_new(report, "pss_mb_with_waiting",
                              json_real(pr_footprint_mb(&footprint, true)));
    return rc;
}

static void report_kinds(const backlog_t *self, json_t *report)
{
    pr_report_medians(self->rounds, report);
    pr_report_spread(self->rounds, "pinned_ratio", report);
    pr_report_spread(self->rounds, "waiting_ratio", report);
    for (int kind = 0; kind < KINDS; kind++) {
        json_t *medians = json_object();
        pr_report_medians(self->full[kind], medians);
        (void)json_object_set_new(report, kinds[kind].key, medians);
    }
    (void)json_object_set(report, "rounds", self->rounds);
}

static pr_rc_t play(backlog_t *self, json_t *report, pr_error_t *error)
{
    pr_rc_t rc = prepare(self, report, error);
    for (int i = 0; i < self->plan->rounds && rc == PR_OK; i++)
        rc = play_round(self, i, error);
    rc = rc != PR_OK ? rc
                     : pr_load_settle(self->stage, &self->tally, -1, PR_BENCH_LOOK_MS,
                                      PR_BENCH_SETTLE_MS, error);
    pr_tally_sum_t sum = pr_tally_sum(&self->tally, -1);
    report_kinds(self, report);
    pr_report_losses(&sum, report);
    return rc != PR_OK ? rc : kill_scheduler(self, report, error);
}

pr_rc_t pr_bench_backlog(pr_stage_t *stage, const pr_bench_plan_t *plan, json_t *report,
                         pr_error_t *error)
{
    backlog_t self = {.stage = stage, .plan = plan, .rounds = json_array()};
    for (int kind = 0; kind < KINDS; kind++)
        self.full[kind] = json_array();
    pr_tally_init(&self.tally, KINDS * plan->rounds * (plan->count + WARM_UP) + WARM_UP);
    (void)json_object_set_new(report, "waiting_jobs", json_integer(plan->waiting));
    pr_rc_t rc = play(&self, report, error);
    pr_db_sync_destroy(&self.pin);
    if (!stage->options.keep) { /* some gigabytes that nobody wants */
        pr_error_t ignored = {.text = ""};
        (void)!(pr_stage_stop_actors(stage, &ignored) == PR_OK &&
                pr_stage_drop_database(stage, kinds[WAITING].database, &ignored) == PR_OK);
    }
    for (int kind = 0; kind < KINDS; kind++)
        json_decref(self.full[kind]);
    json_decref(self.rounds);
    pr_tally_free(&self.tally);
    return rc;
}
