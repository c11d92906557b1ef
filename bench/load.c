/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/load.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "sql/bench.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define CONNECTIONS 8
#define FILL_AT_ONCE 1000
#define IN_PIPELINE_MAX 16
#define READY_MS 10000
#define PROGRESS_US 5000000
#define TURN_NS 1000000 /* no turn waits longer: the tick wants to run */

/* ---- beforehand ---- */

static pr_rc_t fill_some(pr_stage_t *stage, const pr_load_plan_t *plan, int64_t from, int64_t count,
                         pr_tally_t *tally, pr_error_t *error)
{
    int fill = stage->peer ? PR_SQL_BENCH_PEER_FILL : PR_SQL_BENCH_FILL;
    PR_CLEANUP_FREE char *tag = pr_asprintf("B%d", plan->group);
    PR_CLEANUP_FREE char *prefix = pr_asprintf("h%d-", plan->hanging_round);
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(params, tag);
    pr_params_add_i32(params, stage->options.merchants);
    pr_params_add_i32(params, plan->hanging_round > 0 ? stage->options.hanging : 0);
    pr_params_add_text(params, prefix);
    pr_params_add_i64(params, from);
    pr_params_add_i64(params, count);
    pr_rc_t rc = pr_db_sync_query(stage->app, pr_sql_bench[fill].sql, params, &rows, error);
    for (int row = 0; rc == PR_OK && row < pr_rows_count(rows); row++) {
        uint8_t id[16];
        pr_assert(pr_rows_uuid(rows, row, 0, id));
        pr_tally_add(tally, id, 0, plan->group, pr_rows_bool(rows, row, 2));
    }
    return rc;
}

pr_rc_t pr_load_fill(pr_stage_t *stage, const pr_load_plan_t *plan, pr_tally_t *tally,
                     pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    for (int64_t at = 0; rc == PR_OK && at < plan->count; at += FILL_AT_ONCE) {
        int64_t count = plan->count - at < FILL_AT_ONCE ? plan->count - at : FILL_AT_ONCE;
        rc = fill_some(stage, plan, at, count, tally, error);
        rc = rc != PR_OK ? rc : pr_bench_wait_ms(0, error);
    }
    if (rc == PR_OK)
        (void)fprintf(stderr, "  %lld committed\n", (long long)plan->count);
    return rc;
}

/* ---- the open loop ---- */

typedef struct run run_t;

typedef struct {
    run_t *run;
    int64_t due_us;
    bool hangs;
} sent_t;

struct run {
    pr_stage_t *stage;
    const pr_load_plan_t *plan;
    pr_tally_t *tally;
    pr_db_t *connections[CONNECTIONS];
    pr_params_t *params;
    sent_t *sent;
    int64_t next, start_us, shown_us;
    pr_rc_t rc; /* of an enqueue that was refused: a bug, ours or theirs */
    pr_error_t error;
};

static void on_enqueued(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    sent_t *sent = arg;
    run_t *run = sent->run;
    uint8_t id[16];
    if (rc == PR_OK && pr_rows_uuid(rows, 0, 0, id)) {
        pr_tally_add(run->tally, id, sent->due_us, run->plan->group, sent->hangs);
        pr_tally_acked(run->tally, pr_clock_wall_us());
    } else if (rc == PR_AGAIN) {
        run->tally->unknown++; /* the database was away: committed or not, nobody counts on it */
    } else if (run->rc == PR_OK) {
        run->rc = rc == PR_OK ? PR_BAD : rc;
        run->error = *error;
    }
}

static pr_db_t *least_busy(run_t *run)
{
    pr_db_t *best = NULL;
    for (int i = 0; i < CONNECTIONS; i++) {
        pr_db_t *db = run->connections[i];
        if (pr_db_ready(db) && pr_db_pending(db) < IN_PIPELINE_MAX &&
            (!best || pr_db_pending(db) < pr_db_pending(best)))
            best = db;
    }
    return best;
}

static int64_t due_at_us(const run_t *run, int64_t number)
{
    return run->start_us + number * 1000000 / run->plan->rate_per_s;
}

/* Everything that is due and finds a place; what finds none stays due. */
static pr_rc_t offer(run_t *run, int64_t now_us, pr_error_t *error)
{
    const pr_stage_options_t *options = &run->stage->options;
    while (run->next < run->plan->count && due_at_us(run, run->next) <= now_us) {
        pr_db_t *db = least_busy(run);
        if (!db)
            return PR_OK;
        int64_t number = run->next++;
        int merchant = (int)(number % options->merchants);
        sent_t *sent = &run->sent[number];
        *sent = (sent_t){.run = run, .due_us = due_at_us(run, number)};
        sent->hangs = run->plan->hanging_round > 0 && merchant < options->hanging;
        PR_CLEANUP_FREE char *id = sent->hangs
                                       ? pr_asprintf("h%d-%d", run->plan->hanging_round, merchant)
                                       : pr_asprintf("m%d", merchant);
        PR_CLEANUP_FREE char *order = pr_asprintf("S%d-%lld", run->plan->group, (long long)number);
        pr_params_clear(run->params);
        pr_params_add_text(run->params, id);
        pr_params_add_text(run->params, order);
        pr_params_add_i64(run->params, 5800 + number);
        pr_params_add_null(run->params);
        pr_rc_t rc = pr_db_query(db, 0, run->params, on_enqueued, sent);
        if (rc != PR_OK)
            return pr_error_set(error, rc, "bench", "", "enqueue was refused");
    }
    return PR_OK;
}

/* Waits for answers, or until the next one is due. */
static pr_rc_t turn(run_t *run, pr_error_t *error)
{
    struct pollfd items[CONNECTIONS];
    int64_t wait_ns = TURN_NS;
    if (run->next < run->plan->count) {
        int64_t until_ns = (due_at_us(run, run->next) - pr_clock_wall_us()) * 1000;
        wait_ns = until_ns < 0 ? 0 : until_ns < TURN_NS ? until_ns : TURN_NS;
        if (wait_ns == 0 && !least_busy(run))
            wait_ns = TURN_NS; /* due, but no room: only an answer helps */
    }
    for (int i = 0; i < CONNECTIONS; i++)
        items[i] = (struct pollfd){.fd = pr_db_fd(run->connections[i]),
                                   .events = pr_db_events(run->connections[i])};
    struct timespec patience = {.tv_nsec = wait_ns};
    (void)ppoll(items, CONNECTIONS, &patience, NULL); /* an interruption is a turn, too */
    pr_rc_t rc = PR_OK;
    for (int i = 0; i < CONNECTIONS && rc == PR_OK; i++)
        if (items[i].revents || pr_db_deadline_ms(run->connections[i]) <= pr_clock_mono_ms())
            rc = pr_db_io(run->connections[i], pr_clock_mono_ms(), error);
    if (rc == PR_OK && run->rc != PR_OK) {
        *error = run->error;
        return run->rc;
    }
    if (rc == PR_OK && pr_bench_interrupted())
        return pr_error_set(error, PR_AGAIN, "bench", "", "interrupted");
    return rc;
}

static int pending(const run_t *run)
{
    int sum = 0;
    for (int i = 0; i < CONNECTIONS; i++)
        sum += pr_db_pending(run->connections[i]);
    return sum;
}

static pr_rc_t await_ready(run_t *run, pr_error_t *error)
{
    int64_t until_ms = pr_clock_mono_ms() + READY_MS;
    run->start_us = INT64_MAX / 4; /* nothing is due yet */
    for (;;) {
        int ready = 0;
        for (int i = 0; i < CONNECTIONS; i++)
            ready += pr_db_ready(run->connections[i]);
        if (ready == CONNECTIONS)
            return PR_OK;
        if (pr_clock_mono_ms() > until_ms)
            return pr_error_set(error, PR_FATAL, "bench", "", "no connections to enqueue on");
        pr_rc_t rc = turn(run, error);
        if (rc != PR_OK)
            return rc;
    }
}

static void show(run_t *run, int64_t now_us)
{
    if (now_us - run->shown_us < PROGRESS_US)
        return;
    run->shown_us = now_us;
    (void)fprintf(stderr, "  %4lld s: %lld committed\n",
                  (long long)(now_us - run->start_us) / 1000000, (long long)run->tally->count);
}

static pr_rc_t offer_all(run_t *run, pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    run->start_us = run->shown_us = pr_clock_wall_us();
    while (rc == PR_OK && (run->next < run->plan->count || pending(run) > 0)) {
        int64_t now_us = pr_clock_wall_us();
        rc = offer(run, now_us, error);
        rc = rc != PR_OK ? rc : turn(run, error);
        if (rc == PR_OK && run->plan->tick)
            rc = run->plan->tick(run->plan->arg, now_us, error);
        show(run, now_us);
    }
    return rc;
}

pr_rc_t pr_load_run(pr_stage_t *stage, const pr_load_plan_t *plan, pr_tally_t *tally,
                    pr_error_t *error)
{
    int enqueue = stage->peer ? PR_SQL_BENCH_PEER_ENQUEUE : PR_SQL_BENCH_ENQUEUE;
    pr_db_options_t options = {.url = stage->app_url,
                               .application_name = "bench application",
                               .role = "postrider_app",
                               .statements = &pr_sql_bench[enqueue],
                               .nstatements = 1};
    run_t run = {.stage = stage, .plan = plan, .tally = tally};
    run.sent = pr_calloc((size_t)plan->count, sizeof *run.sent);
    run.params = pr_params_new();
    for (int i = 0; i < CONNECTIONS; i++)
        run.connections[i] = pr_db_new(&options);
    pr_rc_t rc = await_ready(&run, error);
    rc = rc != PR_OK ? rc : offer_all(&run, error);
    for (int i = 0; i < CONNECTIONS; i++)
        pr_db_destroy(&run.connections[i]);
    pr_params_destroy(&run.params);
    pr_free(run.sent);
    return rc;
}

/* ---- afterwards ---- */

pr_rc_t pr_load_settle(pr_stage_t *stage, pr_tally_t *tally, int group, int look_ms,
                       int64_t most_ms, pr_error_t *error)
{
    int64_t best = -1, until_ms = 0;
    for (;;) {
        pr_rc_t rc = pr_stage_dump(stage, error);
        rc = rc != PR_OK ? rc : pr_tally_read(tally, stage->receiver_dump, error);
        if (rc != PR_OK)
            return rc;
        pr_tally_sum_t sum = pr_tally_sum(tally, group);
        if (sum.received > best)
            until_ms = pr_clock_mono_ms() + most_ms;
        best = sum.received;
        if (sum.received == sum.committed || pr_clock_mono_ms() > until_ms)
            return PR_OK;
        rc = pr_bench_wait_ms(look_ms, error);
        if (rc != PR_OK)
            return rc;
    }
}
