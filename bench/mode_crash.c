/* SPDX-License-Identifier: Apache-2.0
 *
 * crash: SIGKILL under a steady offer. `--actor postgres` ends the database in mode
 * immediate and starts it again. recovery_s is strict: from the kill until something that was due after the
 * kill has arrived (what was in flight arrives anyway). Median of the kills. With --waiting, beside as
 * many jobs that wait for later.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "bench/bench.h"
#include "bench/waiting.h"
#include "cli/home.h"
#include "cli/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KILLS_MAX 100

typedef struct {
    pr_stage_t *stage;
    const char *actor;
    int64_t every_us, next_us;
    int64_t at_us[KILLS_MAX];
    int killed, wanted;
    pid_t restart; /* pg.sh at work, 0 none */
} killer_t;

/* SIGQUIT is its immediate shutdown: a crash. Then pg.sh waits for the end and starts it again. */
static pr_rc_t restart_postgres(killer_t *killer, pr_error_t *error)
{
    PR_CLEANUP_FREE char *pid_path =
        pr_asprintf("%s/postgres/data/postmaster.pid", killer->stage->state_dir);
    PR_CLEANUP_FREE char *pid = pr_home_read(pid_path);
    if (!pid || kill((pid_t)strtol(pid, NULL, 10), SIGQUIT) != 0)
        return pr_error_set(error, PR_FATAL, "bench", "", "Postgres is down already");
    PR_CLEANUP_FREE char *script = pr_home_script("pg.sh");
    PR_CLEANUP_FREE char *dir = pr_asprintf("%s/postgres", killer->stage->state_dir);
    PR_CLEANUP_FREE char *log = pr_asprintf("%s/log/restarts.log", killer->stage->state_dir);
    const char *const argv[] = {script, "restart", dir, "immediate", NULL};
    pr_spawn_t spawn = {.argv = argv, .output = log, .new_session = true};
    return pr_process_spawn(&spawn, &killer->restart, error);
}

static pr_rc_t kill_it(killer_t *killer, int64_t wall_us, pr_error_t *error)
{
    if (strcmp(killer->actor, "postgres") == 0) {
        if (killer->restart)
            (void)pr_process_wait(killer->restart);
        pr_rc_t rc = restart_postgres(killer, error);
        if (rc != PR_OK)
            return rc;
    } else {
        pid_t pid = pr_stage_pid(killer->stage, killer->actor);
        if (pid == 0 || kill(pid, SIGKILL) != 0)
            return PR_OK; /* it is down from the last time: try on the next turn */
    }
    killer->at_us[killer->killed++] = wall_us;
    (void)fprintf(stderr, "  killed %s\n", killer->actor);
    return PR_OK;
}

static pr_rc_t tick(void *arg, int64_t wall_us, pr_error_t *error)
{
    killer_t *killer = arg;
    if (killer->next_us == 0)
        killer->next_us = wall_us + killer->every_us;
    if (wall_us < killer->next_us || killer->killed == killer->wanted)
        return PR_OK;
    pr_rc_t rc = kill_it(killer, pr_clock_wall_us(), error);
    killer->next_us += killer->every_us;
    return rc;
}

static void report_recovery(const killer_t *killer, const pr_tally_t *tally, json_t *report)
{
    json_t *rounds = json_array();
    for (int i = 0; i < killer->killed; i++) {
        int64_t first_us = pr_tally_first_due_after(tally, killer->at_us[i]);
        double seconds = first_us ? (double)(first_us - killer->at_us[i]) / 1e6 : -1;
        (void)json_array_append_new(rounds, json_pack("{s:f}", "recovery_s", seconds));
    }
    (void)json_object_set_new(report, "recovery_s", json_real(-1)); /* nobody was killed */
    if (killer->killed > 0)
        pr_report_medians(rounds, report);
    (void)json_object_set_new(report, "rounds", rounds);
}

static pr_rc_t add_waiting(pr_stage_t *stage, int64_t count, pr_error_t *error)
{
    pr_rc_t rc = pr_stage_stop_actors(stage, error);
    rc = rc != PR_OK ? rc : pr_waiting_fill(stage, count, error);
    return rc != PR_OK ? rc : pr_stage_start_actors(stage, error);
}

pr_rc_t pr_bench_crash(pr_stage_t *stage, const pr_bench_plan_t *plan, json_t *report,
                       pr_error_t *error)
{
    killer_t killer = {.stage = stage,
                       .actor = plan->actor,
                       .wanted = (int)(plan->rounds < KILLS_MAX ? plan->rounds : KILLS_MAX),
                       .every_us = plan->seconds * 1000000 / (plan->rounds + 1)};
    pr_load_plan_t load = {.count = plan->rate_per_s * plan->seconds,
                           .rate_per_s = plan->rate_per_s,
                           .tick = tick,
                           .arg = &killer};
    pr_tally_t tally;
    pr_tally_init(&tally, load.count);
    pr_rc_t rc = plan->waiting > 0 ? add_waiting(stage, plan->waiting, error) : PR_OK;
    rc = rc != PR_OK ? rc : pr_load_run(stage, &load, &tally, error);
    if (killer.restart)
        (void)pr_process_wait(killer.restart);
    rc = rc != PR_OK
             ? rc
             : pr_load_settle(stage, &tally, -1, PR_BENCH_LOOK_MS, PR_BENCH_SETTLE_MS, error);
    pr_tally_sum_t sum = pr_tally_sum(&tally, -1);
    (void)json_object_set_new(report, "actor", json_string(plan->actor));
    (void)json_object_set_new(report, "killed", json_integer(killer.killed));
    pr_report_losses(&sum, report);
    (void)json_object_set_new(report, "unknown_commits", json_integer(tally.unknown));
    report_recovery(&killer, &tally, report);
    pr_report_latencies(&sum.due, report);
    pr_tally_free(&tally);
    return rc;
}
