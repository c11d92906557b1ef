/* SPDX-License-Identifier: Apache-2.0
 *
 * Start, turn, drain, stop; and the actions of scheduler.h carried out.
 */
#include "actors/scheduler/scheduler_io.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "sql/migrations.h"

#include <string.h>

#define HELLO_EVERY_MS 1000
#define STATEMENT_MS 8000 /* with PR_DB_SILENCE_MS: a silent Postgres is left within 13 s */
#define ENDPOINTS_MAX (1u << 20)
#define WORKERS_MAX 65536

/* ---- actions ---- */

static void on_stale(io_t *io, const pr_sched_action_t *action)
{
    outcome_t *outcome = action->outcome;
    token_t token = {action->salt, action->attempt, action->seq};
    pr_log_limited(PR_LOG_INFO, "outcome.stale", "", "seq=%lld try=%u worker=%s",
                   (long long)action->seq, action->attempt, outcome->worker_id);
    /* Whose session may have ended knows nothing of the token: the worker keeps the outcome for the owner. */
    if (session_may_dispatch(io))
        bus_ack(io, outcome, &token);
    pr_free(outcome);
}

void io_actions(io_t *io)
{
    enum { PAGES = 64 };
    pr_sched_action_t pages[PAGES], action;
    int npages = 0;
    while (pr_sched_action(io->sched, &action)) {
        switch (action.kind) {
        case PR_SCHED_RESULT:
            batch_add(io, &action);
            break;
        case PR_SCHED_DATE:
            batch_date(io, &action);
            break;
        case PR_SCHED_PAGE:
            pages[npages++] = action;
            break;
        case PR_SCHED_EXPIRE:
            rows_expire(io, action.endpoint_id);
            break;
        case PR_SCHED_STALE:
            on_stale(io, &action);
            break;
        case PR_SCHED_BREAKER:
            pr_log_info("breaker.moved", "endpoint=%lld from=%s to=%s failures=%u held=%u",
                        (long long)action.endpoint_id, pr_breaker_state_name(action.from),
                        pr_breaker_state_name(action.to), action.failures, action.held);
            bus_fact_breaker(io, &action);
            break;
        case PR_SCHED_PAUSE:
            endpoints_pause(io, action.endpoint_id, action.delay_ms);
            break;
        case PR_SCHED_GONE:
            bus_fact_gone(io, action.endpoint_id);
            break;
        case PR_SCHED_FREE:
            pr_free(action.outcome);
            break;
        case PR_SCHED_NONE:
            break;
        }
        if (npages == PAGES) {
            rows_page(io, pages, npages);
            npages = 0;
        }
    }
    if (npages > 0)
        rows_page(io, pages, npages);
}

/* ---- the turn ---- */

static void arm(io_t *io)
{
    int64_t at_ms = pr_sched_deadline_ms(io->sched);
    int64_t batch_ms = batch_deadline_ms(io);
    if (batch_ms < at_ms)
        at_ms = batch_ms;
    int64_t new_ms = new_deadline_ms(io);
    if (new_ms < at_ms)
        at_ms = new_ms;
    if (at_ms <= io->now_ms)
        at_ms = io->now_ms + 1;
    pr_loop_timer_at(io->loop, io->turn_timer, at_ms);
}

static void on_turn_timer(void *arg, int64_t now_ms)
{
    (void)arg;
    (void)now_ms; /* it only ends the sleep: the turn does the work */
}

/* Before silence is held against a worker: could we hear it at all? Not while every broker is away, nor while we stood still
 * (a stopped process, a machine without time). */
static void listen(io_t *io)
{
    enum { STOOD_STILL_MS = 500, SAY_MS = 100 };
    bool stood_still = io->turned_ms > 0 && io->now_ms - io->turned_ms >= STOOD_STILL_MS;
    io->turned_ms = io->now_ms;
    if (!stood_still && (!bus_deaf(io) || io->now_ms - io->deaf_ms < SAY_MS))
        return;
    io->deaf_ms = io->now_ms;
    pr_sched_deaf(io->sched, io->now_ms);
}

static void turn(void *arg, int64_t now_ms)
{
    io_t *io = arg;
    io->now_ms = now_ms;
    listen(io);
    pr_sched_tick(io->sched, now_ms);
    if (io->heard_wanted_ms != INT64_MAX && bus_all_heard(io, io->heard_wanted_ms)) {
        io->heard_wanted_ms = INT64_MAX;
        pr_sched_all_heard(io->sched, now_ms);
    }
    io_actions(io);
    new_poll(io);
    bus_dispatch(io);
    io_actions(io);
    bus_demand(io);
    batch_flush(io, io->draining);
    batch_resend_due(io);
    batch_flush_dates(io);
    bus_flush_acks(io);
    handover_timer(io);
    arm(io);
}

/* ---- the database's coming and going ---- */

static void on_db_ready(void *arg)
{
    io_t *io = arg;
    io->now_ms = pr_loop_now_ms(io->loop);
    rows_reconnect(io);
    session_on_db_ready(io);
}

static void on_db_lost(void *arg)
{
    io_t *io = arg;
    session_on_db_lost(io);
    new_on_db_lost(io);
}

/* ---- configuration ---- */

static void read_config(io_t *io, const pr_config_t *config)
{
    io->flush_ms = pr_config_duration_ms(config, "scheduler.flush");
    io->batch_max = (uint32_t)pr_config_int(config, "scheduler.batch");
    io->load_max = (uint32_t)pr_config_int(config, "scheduler.page");
    io->poll_ms = pr_config_duration_ms(config, "scheduler.poll");
    io->beat_ms = pr_config_duration_ms(config, "scheduler.heartbeat");
    io->silent_ms = pr_config_duration_ms(config, "scheduler.session_timeout");
    io->batches_max = (int)pr_config_int(config, "scheduler.batches");
    io->class_jobs_max =
        (uint32_t)pr_config_int(config, "scheduler.horizon_jobs") / PR_SCHED_CLASSES;
    io->concurrency = (uint32_t)pr_config_int(config, "endpoint.concurrency");
    io->time_scale = pr_config_real(config, "time_scale");
    io->max_age_ms = pr_config_scaled_ms(config, "max_age");
    io->total_timeout_ms = pr_config_duration_ms(config, "http.total_timeout");
    io->sched_config = (pr_sched_config_t){
        .heard_ms = 2000,
        .retry_after_cap_ms = pr_config_duration_ms(config, "retry_after_cap"),
        .breaker_open_ms = pr_config_scaled_ms(config, "breaker.open"),
        .breaker_threshold = (uint32_t)pr_config_int(config, "breaker.threshold"),
        .probe_deadline_ms = io->total_timeout_ms + 5000,
        .own_fault_delay_ms = pr_config_scaled_ms(config, "breaker.open"),
        .recovery_rate_per_s = pr_config_real(config, "breaker.recovery_rate"),
        .recovery_ms = pr_config_scaled_ms(config, "breaker.recovery"),
        .keep_jobs = (uint32_t)pr_config_int(config, "scheduler.keep_jobs"),
        .keep_jobs_held = 16,
        .class_jobs = io->class_jobs_max,
        .horizon_ms = pr_config_duration_ms(config, "scheduler.horizon"),
    };
    io->sched_config.keep_retry_ms = io->sched_config.horizon_ms;
}

static pr_rc_t start(pr_actor_t *actor, void **io_out, pr_error_t *error)
{
    const pr_config_t *config = pr_actor_config(actor);
    io_t *io = PR_NEW(io_t);
    *io_out = io;
    io->actor = actor;
    io->loop = pr_actor_loop(actor);
    io->now_ms = pr_loop_now_ms(io->loop);
    read_config(io, config);
    if (pr_retry_parse(pr_config_text(config, "retry.notification"), &io->retry, error) != PR_OK)
        return PR_BAD;
    pr_retry_scale(&io->retry, io->time_scale);
    io->params = pr_params_new();
    io->sched = pr_sched_new(&io->sched_config, pr_random_u64());
    io->endpoints = pr_map_new(ENDPOINTS_MAX, pr_random_u64());
    io->heard = pr_map_new(WORKERS_MAX, pr_random_u64());
    io->heard_wanted_ms = INT64_MAX;
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        io->durable[c] = (int64_t)c << CLASS_SHIFT;
    pr_rc_t rc = bus_start(io, error);
    if (rc != PR_OK)
        return rc;
    pr_db_options_t options = {
        .url = pr_config_text(config, "database.url"),
        .application_name = "postrider scheduler",
        .role = "postrider_scheduler",
        .index_plans = true,
        .statement_timeout_ms = STATEMENT_MS,
        .statements = pr_sql_scheduler,
        .nstatements = PR_SQL_SCHEDULER_COUNT,
        .schema_version = pr_migrations_count,
        .on_ready = on_db_ready,
        .on_lost = on_db_lost,
        .arg = io,
    };
    io->db = pr_db_new(&options);
    pr_loop_add_db(io->loop, io->db);
    new_start(io, &options);
    (void)pr_loop_add_timer(io->loop, io->now_ms + io->beat_ms, io->beat_ms, session_timer, io);
    (void)pr_loop_add_timer(io->loop, io->now_ms + HELLO_EVERY_MS, HELLO_EVERY_MS, bus_timer, io);
    io->turn_timer = pr_loop_add_timer(io->loop, INT64_MAX, 0, on_turn_timer, io);
    pr_loop_add_turn(io->loop, turn, io);
    return PR_OK;
}

/* ---- stopping ---- */

static void drain(void *arg, int64_t now_ms)
{
    io_t *io = arg;
    (void)now_ms;
    io->draining = true; /* nothing more is sent; what is under way may still come in */
}

static bool drained(void *arg)
{
    io_t *io = arg;
    pr_sched_stats_t stats;
    pr_sched_stats(io->sched, &stats);
    if (stats.inflight > 0 || io->unwritten > 0)
        return false;
    session_close(io);
    return io->closed;
}

static void free_payload(void *payload)
{
    pr_free(payload);
}

static void stop(void **io_ptr)
{
    io_t *io = *io_ptr;
    if (!io)
        return;
    new_stop(io);
    if (io->db) {
        pr_loop_remove_db(io->loop, io->db);
        pr_db_destroy(&io->db); /* callbacks of queries under way run here */
    }
    batch_forget(io);
    pr_sched_destroy(&io->sched, free_payload);
    size_t cursor = 0;
    endpoint_row_t *row;
    while (io->endpoints && (row = pr_map_next(io->endpoints, &cursor, NULL)))
        endpoint_row_destroy(&row);
    pr_map_destroy(&io->endpoints);
    pr_map_destroy(&io->heard);
    bus_stop(io);
    pr_params_destroy(&io->params);
    pr_free(io->dates);
    pr_free(io->pauses);
    pr_free(io->kept);
    pr_free(io);
    *io_ptr = NULL;
}

const pr_actor_spec_t pr_scheduler_spec = {
    .name = "scheduler",
    .summary = "Owns the next-attempt queue: what is tried when, and what came of it.",
    .start = start,
    .drain = drain,
    .drained = drained,
    .stop = stop,
};
