/* SPDX-License-Identifier: Apache-2.0
 *
 * Start, turn, drain, stop; and the actions of gateway_scheduler.h carried out.
 */
#include "actors/gateway-scheduler/gateway_scheduler_io.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "sql/migrations.h"

#include <string.h>

#define STATEMENT_MS 8000
#define SECOND_MS 1000
#define CHANNELS_MAX 65536
#define AHEAD_MS 100
#define SEND_WITHIN_MS 2000
#define PAUSE_FIRST_MS 1000
#define PAUSE_MOST_MS 60000

void io_alert(io_t *io, const char *kind, const char *subject, const char *severity,
              const char *message)
{
    Postrider__V1__Alert alert = POSTRIDER__V1__ALERT__INIT;
    alert.kind = (char *)kind;
    alert.subject = (char *)subject;
    alert.severity = (char *)severity;
    alert.message = (char *)message;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_ALERT;
    envelope.alert = &alert;
    pr_actor_send_fact(io->actor, &envelope);
}

/* ---- actions ---- */

static const char *name_of(const io_t *io, int64_t no)
{
    const channel_row_t *row = channels_find(io, no);
    return row ? row->id : "?";
}

void io_actions(io_t *io)
{
    pr_calls_action_t action;
    while (pr_calls_action(io->calls, &action)) {
        switch (action.kind) {
        case PR_CALLS_RESULT:
            apply_add(io, &action);
            break;
        case PR_CALLS_PAUSED:
            pr_log_info("channel.paused", "channel=%s ms=%lld", name_of(io, action.channel_no),
                        (long long)action.delay_ms);
            due_keep_pause(io, action.channel_no, action.delay_ms);
            break;
        case PR_CALLS_STOPPED:
            pr_log(PR_LOG_ERROR, "channel.stopped", "channel=%s",
                   name_of(io, action.channel_no)); /* calls_apply() raises the alert */
            break;
        case PR_CALLS_LOST:
            pr_log_warn("call.lost", "channel=%s call=%lld", name_of(io, action.channel_no),
                        (long long)action.token.id);
            break;
        case PR_CALLS_FREE:
            pr_free(action.outcome);
            break;
        case PR_CALLS_NONE:
            break;
        }
    }
}

/* ---- the turn ---- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void arm(io_t *io)
{
    int64_t at_ms = smaller(due_deadline_ms(io), apply_deadline_ms(io));
    at_ms = smaller(at_ms, pr_work_desk_deadline_ms(io->desk));
    at_ms = smaller(at_ms, pr_calls_deadline_ms(io->calls, io->now_ms));
    if (at_ms <= io->now_ms)
        at_ms = io->now_ms + 1;
    pr_loop_timer_at(io->loop, io->turn_timer, at_ms);
}

static void on_turn_timer(void *arg, int64_t now_ms)
{
    (void)arg;
    (void)now_ms; /* it only ends the sleep: the turn does the work */
}

static void demand(io_t *io)
{
    uint32_t want[PR_CLASSES] = {0}, calls[PR_CALLS_CLASSES];
    pr_calls_want(io->calls, calls, io->now_ms);
    for (int c = 0; c < PR_CALLS_CLASSES && session_may_dispatch(io); c++)
        want[c] = calls[c];
    pr_work_desk_demand(io->desk, want);
}

static void turn(void *arg, int64_t now_ms)
{
    io_t *io = arg;
    io->now_ms = now_ms;
    pr_calls_tick(io->calls, now_ms);
    io_actions(io);
    due_look(io);
    turns_lend(io);
    due_dispatch(io);
    jobs_send(io);
    demand(io);
    io_actions(io);
    apply_flush(io, io->draining);
    pr_work_desk_flush_acks(io->desk);
    session_leave(io);
    arm(io);
}

/* ---- start ---- */

static void on_db_ready(void *arg)
{
    io_t *io = arg;
    io->now_ms = pr_loop_now_ms(io->loop);
    session_on_db_ready(io);
}

static void on_db_lost(void *arg)
{
    io_t *io = arg;
    io->now_ms = pr_loop_now_ms(io->loop);
    session_on_db_lost(io);
}

static void read_config(io_t *io, const pr_config_t *config)
{
    io->poll_ms = pr_config_duration_ms(config, "calls.poll");
    io->flush_ms = pr_config_duration_ms(config, "calls.flush");
    io->batch_max = (uint32_t)pr_config_int(config, "calls.batch");
    io->keep = (uint32_t)pr_config_int(config, "calls.keep");
    io->lease_ms = pr_config_duration_ms(config, "lease");
    io->timeout_ms = pr_config_duration_ms(config, "http.total_timeout");
    io->time_scale = pr_config_real(config, "time_scale");
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
    io->params = pr_params_new();
    io->channels = pr_map_new(CHANNELS_MAX, pr_random_u64());
    pr_calls_config_t calls = {
        .keep = io->keep,
        .ahead_ms = AHEAD_MS,
        .send_within_ms = SEND_WITHIN_MS,
        .pause_cap_ms = pr_config_duration_ms(config, "retry_after_cap"),
        .pause_first_ms = PAUSE_FIRST_MS,
        .pause_most_ms = PAUSE_MOST_MS,
    };
    io->calls = pr_calls_new(&calls, pr_random_u64());
    pr_work_desk_options_t desk = {
        .actor = actor, .socket = "calls", .on_outcome = jobs_on_outcome, .arg = io};
    pr_rc_t rc = pr_work_desk_new(&desk, &io->desk, error);
    if (rc != PR_OK)
        return rc;
    pr_db_options_t options = {
        .url = pr_config_text(config, "database.url"),
        .application_name = "postrider gateway-scheduler",
        .role = "postrider_gateway_scheduler",
        .index_plans = true,
        .statement_timeout_ms = STATEMENT_MS,
        .statements = pr_sql_gateway_scheduler,
        .nstatements = PR_SQL_GATEWAY_SCHEDULER_COUNT,
        .schema_version = pr_migrations_count,
        .on_ready = on_db_ready,
        .on_lost = on_db_lost,
        .arg = io,
    };
    io->db = pr_db_new(&options);
    pr_loop_add_db(io->loop, io->db);
    io->writer_statements[0] = pr_sql_gateway_scheduler[PR_SQL_GATEWAY_SCHEDULER_APPLY];
    options.application_name = "postrider gateway-scheduler outcomes";
    options.statements = io->writer_statements;
    options.nstatements = 1;
    options.on_ready = options.on_lost = NULL;
    io->writer = pr_db_new(&options);
    pr_loop_add_db(io->loop, io->writer);
    (void)pr_loop_add_timer(io->loop, io->now_ms + SECOND_MS, SECOND_MS, session_second, io);
    io->turn_timer = pr_loop_add_timer(io->loop, INT64_MAX, 0, on_turn_timer, io);
    pr_loop_add_turn(io->loop, turn, io);
    return PR_OK;
}

/* ---- stopping ---- */

static void drain(void *arg, int64_t now_ms)
{
    io_t *io = arg;
    io->now_ms = now_ms;
    io->draining = true;    /* nothing more is sent; what is under way may still come in */
    channels_leave(io, -1); /* what was committed and did not leave goes back */
}

static bool drained(void *arg)
{
    io_t *io = arg;
    pr_calls_stats_t stats;
    pr_calls_stats(io->calls, &stats);
    uint32_t open = stats.committing + stats.committed + stats.under_way + stats.applying;
    if (io->live && (open > 0 || io->unwritten > 0))
        return false;
    session_close(io);
    return io->closed;
}

static void free_any(void *what)
{
    pr_free(what);
}

static void stop(void **io_ptr)
{
    io_t *io = *io_ptr;
    if (!io)
        return;
    if (io->writer) {
        pr_loop_remove_db(io->loop, io->writer);
        pr_db_destroy(&io->writer); /* callbacks of queries under way run here */
    }
    if (io->db) {
        pr_loop_remove_db(io->loop, io->db);
        pr_db_destroy(&io->db);
    }
    apply_forget(io);
    pr_calls_destroy(&io->calls, free_any);
    channels_forget(io);
    pr_map_destroy(&io->channels);
    pr_work_desk_destroy(&io->desk);
    pr_params_destroy(&io->params);
    pr_free(io);
    *io_ptr = NULL;
}

const pr_actor_spec_t pr_gateway_scheduler_spec = {
    .name = "gateway-scheduler",
    .summary = "Owns the queue of gateway calls: which is made when, and what comes next.",
    .start = start,
    .drain = drain,
    .drained = drained,
    .stop = stop,
};
