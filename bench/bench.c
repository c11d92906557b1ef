/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bench.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/topology.h"

#include <stdio.h>
#include <string.h>

#define MERCHANTS 200
#define MOST 10000000

static const pr_arg_t drain_options[] = {
    {"count", PR_ARG_INT, "N", "notifications committed beforehand (50000)", 1, MOST},
    {"rounds", PR_ARG_INT, "N", "times; medians are reported (1)", 1, 100},
    {"bare", PR_ARG_FLAG, NULL, "measure the bare parts beside it: libcurl, two statements", 0, 0},
    {"merchants", PR_ARG_INT, "N", "merchants (200)", 10, 10000},
    {"keep", PR_ARG_FLAG, NULL, "leave everything running", 0, 0},
    {0},
};
static const pr_arg_t steady_options[] = {
    {"rate", PR_ARG_INT, "R", "notifications a second (1000)", 1, 100000},
    {"seconds", PR_ARG_INT, "S", "for so long (30)", 1, 86400},
    {"rounds", PR_ARG_INT, "N", "times; medians are reported (1)", 1, 100},
    {"merchants", PR_ARG_INT, "N", "merchants (200)", 10, 10000},
    {"keep", PR_ARG_FLAG, NULL, "leave everything running", 0, 0},
    {0},
};
static const pr_arg_t enqueue_options[] = {
    {"seconds", PR_ARG_INT, "S", "of each run (5)", 1, 3600},
    {"rounds", PR_ARG_INT, "N", "pairs of runs, in turn (5)", 1, 100},
    {"merchants", PR_ARG_INT, "N", "merchants (200)", 10, 10000},
    {"keep", PR_ARG_FLAG, NULL, "leave everything running", 0, 0},
    {0},
};
static const pr_arg_t dead_options[] = {
    {"rate", PR_ARG_INT, "R", "of the steady part, a second (500)", 1, 100000},
    {"seconds", PR_ARG_INT, "S", "of the steady part (15)", 1, 86400},
    {"count", PR_ARG_INT, "N", "of the backlog (20000)", 1, MOST},
    {"rounds", PR_ARG_INT, "N", "with and without, in turn (3)", 1, 100},
    {"merchants", PR_ARG_INT, "N", "merchants, a tenth of them hangs (200)", 10, 10000},
    {"keep", PR_ARG_FLAG, NULL, "leave everything running", 0, 0},
    {0},
};
static const pr_arg_t crash_options[] = {
    {"actor", PR_ARG_TEXT, "A", "outbox-relay, scheduler, notifier, broker, .. or postgres", 0, 0},
    {"rate", PR_ARG_INT, "R", "notifications a second (500)", 1, 100000},
    {"seconds", PR_ARG_INT, "S", "for so long (30)", 1, 86400},
    {"rounds", PR_ARG_INT, "N", "kills in that time (3)", 1, 100},
    {"waiting", PR_ARG_INT, "N", "beside so many jobs that wait for later (0)", 0, MOST},
    {"merchants", PR_ARG_INT, "N", "merchants (200)", 10, 10000},
    {"keep", PR_ARG_FLAG, NULL, "leave everything running", 0, 0},
    {0},
};

static const pr_arg_t timers_options[] = {
    {"count", PR_ARG_INT, "N", "timers in the queue (10000000)", 1000, MOST},
    {"seconds", PR_ARG_INT, "S", "to measure lateness (10)", 1, 3600},
    {0},
};

static const pr_arg_t idle_options[] = {
    {"seconds", PR_ARG_INT, "S", "for so long (20)", 1, 86400},
    {"merchants", PR_ARG_INT, "N", "merchants (200)", 10, 10000},
    {"keep", PR_ARG_FLAG, NULL, "leave everything running", 0, 0},
    {0},
};
static const pr_arg_t backlog_options[] = {
    {"waiting", PR_ARG_INT, "N", "jobs that wait for later (10000000)", 1000, MOST},
    {"count", PR_ARG_INT, "N", "notifications of each drain (20000)", 1, MOST},
    {"rounds", PR_ARG_INT, "N", "plain, pinned and waiting, in turn (3)", 1, 100},
    {"seconds", PR_ARG_INT, "S", "of offer in which the scheduler is killed three times (20)", 4,
     3600},
    {"merchants", PR_ARG_INT, "N", "merchants (200)", 10, 10000},
    {"keep", PR_ARG_FLAG, NULL, "leave everything running", 0, 0},
    {0},
};

static const pr_arg_t peers_options[] = {
    {"measure", PR_ARG_REPEATED, "M", "drain, steady, enqueue or dead-merchant (all)", 0, 0},
    {"only", PR_ARG_REPEATED, "PEER", "graphile-worker-tuned, .. (all)", 0, 0},
    {"count", PR_ARG_INT, "N", "notifications of each drain (20000)", 1, MOST},
    {"rate", PR_ARG_INT, "R", "of the steady part, a second (1000)", 1, 100000},
    {"seconds", PR_ARG_INT, "S", "of the steady part (10)", 1, 86400},
    {"rounds", PR_ARG_INT, "N", "of all, in turn (3)", 1, 100},
    {"merchants", PR_ARG_INT, "N", "merchants (200)", 10, 10000},
    {"keep", PR_ARG_FLAG, NULL, "leave everything running", 0, 0},
    {0},
};

#define STAGE \
    "A private Postgres (fsync and synchronous_commit on), the topology with its defaults (--set\n" \
    "changes them), a fast counting receiver; bodies of about 400 bytes, signatures on."

static const pr_arg_spec_t drain_spec = {"bench drain [OPTION...]",
                                         "How fast, and at what cost, a backlog goes out.\n" STAGE,
                                         drain_options, 0, 0};
static const pr_arg_spec_t steady_spec = {
    "bench steady [OPTION...]",
    "Latency from the due commit to the receiver at an offered rate, open loop.\n" STAGE,
    steady_options, 0, 0};
static const pr_arg_spec_t enqueue_spec = {
    "bench enqueue [OPTION...]",
    "What a notification costs the application's transaction, beside two plain inserts.\n" STAGE,
    enqueue_options, 0, 0};
static const pr_arg_spec_t dead_spec = {
    "bench dead-merchant [OPTION...]",
    "What a tenth of the merchants, hanging for the full timeout, does to the others.\n" STAGE,
    dead_options, 0, 0};
static const pr_arg_spec_t crash_spec = {
    "bench crash --actor A [OPTION...]",
    "What a SIGKILL under load loses and repeats, and how long until the next delivery.\n" STAGE,
    crash_options, 0, 0};
static const pr_arg_spec_t idle_spec = {
    "bench idle [OPTION...]",
    "CPU, wake-ups and memory of the topology when nothing is to be done.\n" STAGE, idle_options, 0,
    0};
static const pr_arg_spec_t backlog_spec = {
    "bench backlog [OPTION...]",
    "The drain beside millions that wait for later, and with a transaction held open elsewhere,\n"
    "as ratios to the plain one; recovery of a killed scheduler beside them.\n" STAGE,
    backlog_options, 0, 0};
static const pr_arg_spec_t peers_spec = {
    "bench peers [OPTION...]",
    "Beside graphile-worker, pg-boss and a scan each second, in turn (docs/bench.md). Needs node, npm and,\n"
    "once, the npm registry.\n" STAGE,
    peers_options, 0, 0};
static const pr_arg_spec_t timers_spec = {
    "bench timers [OPTION...]",
    "The next-attempt queue alone: bytes a timer, arm+fire a second, loading, lateness.",
    timers_options, 0, 0};

static int64_t number(const pr_args_t *args, const char *name, int64_t fallback)
{
    return pr_args_given(args, name) ? pr_args_get(args, name)->integer : fallback;
}

/* notifications: how many there will be in all. */
static int play(const pr_args_t *args, const char *name, pr_bench_mode_fn *mode,
                const pr_bench_plan_t *plan, int64_t notifications, bool hanging)
{
    pr_error_t error = {.text = ""};
    pr_stage_t stage;
    pr_stage_options_t options = {.merchants = (int)number(args, "merchants", MERCHANTS),
                                  .rounds = (int)plan->rounds,
                                  .expected = notifications,
                                  .keep = pr_args_given(args, "keep"),
                                  .settings = pr_args_get(args, "set")->items};
    options.hanging = hanging ? options.merchants / 10 : 0;
    json_t *report = json_pack("{s:s}", "bench", name);
    pr_bench_watch_signals();
    pr_report_machine(report);
    pr_rc_t rc = pr_stage_up(&stage, &options, &error);
    rc = rc != PR_OK ? rc : mode(&stage, plan, report, &error);
    (void)json_object_set_new(report, "merchants", json_integer(options.merchants));
    int64_t lost = json_integer_value(json_object_get(report, "lost"));
    if (rc == PR_OK)
        pr_report_print(report, pr_args_given(args, "json"));
    else
        (void)fprintf(stderr, "postrider bench: %s\n", error.text);
    pr_stage_down(&stage);
    json_decref(report);
    return rc == PR_OK && lost == 0 ? PR_EXIT_OK : PR_EXIT_FAILED;
}

static int drain(const pr_args_t *args)
{
    pr_bench_plan_t plan = {.count = number(args, "count", 50000),
                            .rounds = number(args, "rounds", 1),
                            .bare = pr_args_given(args, "bare")};
    return play(args, "drain", pr_bench_drain, &plan, 2 * plan.count * plan.rounds, false);
}

static int steady(const pr_args_t *args)
{
    pr_bench_plan_t plan = {.rate_per_s = number(args, "rate", 1000),
                            .seconds = number(args, "seconds", 30),
                            .rounds = number(args, "rounds", 1)};
    return play(args, "steady", pr_bench_steady, &plan,
                plan.rate_per_s * plan.seconds * plan.rounds, false);
}

static int enqueue(const pr_args_t *args)
{
    pr_bench_plan_t plan = {.seconds = number(args, "seconds", 5),
                            .rounds = number(args, "rounds", 5)};
    return play(args, "enqueue", pr_bench_enqueue, &plan, 0, false);
}

static int dead_merchant(const pr_args_t *args)
{
    pr_bench_plan_t plan = {.rate_per_s = number(args, "rate", 500),
                            .seconds = number(args, "seconds", 15),
                            .count = number(args, "count", 20000),
                            .rounds = number(args, "rounds", 3)};
    return play(args, "dead-merchant", pr_bench_dead_merchant, &plan,
                2 * plan.rounds * (plan.count + plan.rate_per_s * plan.seconds), true);
}

static int crash(const pr_args_t *args)
{
    pr_bench_plan_t plan = {.rate_per_s = number(args, "rate", 500),
                            .seconds = number(args, "seconds", 30),
                            .rounds = number(args, "rounds", 3),
                            .waiting = number(args, "waiting", 0),
                            .actor = pr_args_text(args, "actor")};
    if (!plan.actor || (strcmp(plan.actor, "postgres") != 0 && !pr_topology_knows(plan.actor))) {
        (void)fputs("postrider bench crash: --actor takes outbox-relay, scheduler, notifier, "
                    "broker, circuit-breaker, dead-letter or postgres\n",
                    stderr);
        return PR_EXIT_USAGE;
    }
    return play(args, "crash", pr_bench_crash, &plan, plan.rate_per_s * plan.seconds, false);
}

static int idle(const pr_args_t *args)
{
    pr_bench_plan_t plan = {.seconds = number(args, "seconds", 20)};
    return play(args, "idle", pr_bench_idle, &plan, 1000, false);
}

static int backlog(const pr_args_t *args)
{
    pr_bench_plan_t plan = {.count = number(args, "count", 20000),
                            .rounds = number(args, "rounds", 3),
                            .seconds = number(args, "seconds", 20),
                            .waiting = number(args, "waiting", MOST)};
    return play(args, "backlog", pr_bench_backlog, &plan, 10 * plan.count * plan.rounds, false);
}

static int peers(const pr_args_t *args)
{
    pr_bench_plan_t plan = {.count = number(args, "count", 20000),
                            .rate_per_s = number(args, "rate", 1000),
                            .seconds = number(args, "seconds", 10),
                            .rounds = number(args, "rounds", 3),
                            .measures = pr_args_get(args, "measure")->items,
                            .only = pr_args_get(args, "only")->items};
    int64_t expected = 10 * plan.rounds * (3 * plan.count + 4 * plan.rate_per_s * plan.seconds);
    return play(args, "peers", pr_bench_peers, &plan, expected, true);
}

static int timers(const pr_args_t *args)
{
    pr_bench_plan_t plan = {.count = number(args, "count", MOST),
                            .seconds = number(args, "seconds", 10)};
    pr_error_t error = {.text = ""};
    json_t *report = json_pack("{s:s}", "bench", "timers");
    pr_bench_watch_signals();
    pr_report_machine(report);
    pr_rc_t rc = pr_bench_timers(&plan, report, &error);
    if (rc == PR_OK)
        pr_report_print(report, pr_args_given(args, "json"));
    else
        (void)fprintf(stderr, "postrider bench: %s\n", error.text);
    json_decref(report);
    return rc == PR_OK ? PR_EXIT_OK : PR_EXIT_FAILED;
}

int pr_bench_main(int argc, char **argv)
{
    static const pr_subcommand_t modes[] = {
        {"drain", &drain_spec, drain},       {"steady", &steady_spec, steady},
        {"enqueue", &enqueue_spec, enqueue}, {"dead-merchant", &dead_spec, dead_merchant},
        {"crash", &crash_spec, crash},       {"timers", &timers_spec, timers},
        {"idle", &idle_spec, idle},          {"backlog", &backlog_spec, backlog},
        {"peers", &peers_spec, peers},       {NULL, NULL, NULL},
    };
    return pr_args_group("bench", modes, argc, argv);
}
