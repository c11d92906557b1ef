/* SPDX-License-Identifier: Apache-2.0
 *
 * idle: what the topology does when nothing is to be done: CPU of all its processes together, and
 * wake-ups (voluntary context switches of all threads) of each. Some notifications first, so that
 * every connection exists; then it is left alone for a while before the count begins.
 */
#include "base/alloc.h"
#include "bench/bench.h"
#include "bench/footprint.h"

#include <stdio.h>
#include <string.h>

#define CALM_MS 5000
#define WARM_UP 200

static const pr_footprint_process_t *find(const pr_footprint_t *footprint, pid_t pid)
{
    for (int i = 0; i < footprint->count; i++)
        if (footprint->processes[i].pid == pid)
            return &footprint->processes[i];
    return NULL;
}

/* {"cpu_percent", "wakeups_per_s"} of one process, added to what stands under its name. */
static void add_process(json_t *each, const char *name, double cpu_percent, double wakeups_per_s)
{
    json_t *so_far = json_object_get(each, name);
    cpu_percent += json_real_value(json_object_get(so_far, "cpu_percent"));
    wakeups_per_s += json_real_value(json_object_get(so_far, "wakeups_per_s"));
    (void)json_object_set_new(
        each, name,
        json_pack("{s:f, s:f}", "cpu_percent", cpu_percent, "wakeups_per_s", wakeups_per_s));
}

static void report_idle(const pr_footprint_t *a, const pr_footprint_t *b, json_t *report)
{
    double seconds = (double)(b->at_us - a->at_us) / 1e6, cpu = 0, most = 0;
    json_t *each = json_object();
    for (int i = 0; i < b->count; i++) {
        const pr_footprint_process_t *now = &b->processes[i], *then = find(a, now->pid);
        if (!then)
            continue;
        double percent = (double)(now->cpu_ns - then->cpu_ns) / 1e7 / seconds;
        double wakeups = (double)(now->wakeups - then->wakeups) / seconds;
        cpu += percent;
        most = wakeups > most ? wakeups : most;
        add_process(each, now->name, percent, wakeups);
    }
    (void)json_object_set_new(report, "seconds", json_real(seconds));
    (void)json_object_set_new(report, "cpu_percent_of_a_core", json_real(cpu));
    (void)json_object_set_new(report, "most_wakeups_per_s", json_real(most));
    (void)json_object_set_new(report, "by_process", each);
    (void)json_object_set_new(report, "pss_mb", json_real(pr_footprint_mb(b, true)));
    (void)json_object_set_new(report, "rss_mb", json_real(pr_footprint_mb(b, false)));
    (void)json_object_set_new(report, "pss_mb_by_process", pr_footprint_by_process(b));
}

pr_rc_t pr_bench_idle(pr_stage_t *stage, const pr_bench_plan_t *plan, json_t *report,
                      pr_error_t *error)
{
    static pr_footprint_t a, b;
    pr_tally_t tally;
    pr_tally_init(&tally, WARM_UP);
    pr_load_plan_t load = {.count = WARM_UP};
    pr_rc_t rc = pr_load_fill(stage, &load, &tally, error);
    rc = rc != PR_OK
             ? rc
             : pr_load_settle(stage, &tally, -1, PR_BENCH_LOOK_MS, PR_BENCH_SETTLE_MS, error);
    pr_tally_free(&tally);
    rc = rc != PR_OK ? rc : pr_bench_wait_ms(CALM_MS, error);
    pr_footprint_read(stage, &a);
    for (int64_t i = 0; i < plan->seconds && rc == PR_OK; i++)
        rc = pr_bench_wait_ms(1000, error);
    pr_footprint_read(stage, &b);
    if (rc == PR_OK)
        report_idle(&a, &b, report);
    return rc;
}
