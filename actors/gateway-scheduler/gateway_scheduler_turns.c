/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns: whoever calls a gateway beside the queue (reconciler, for statements) asks for one in Postgres (channel_turn). Its token
 * comes from the channel's bucket here, and until it ends it holds one of the channel's places. So the promise to the gateway
 * holds whoever calls. Rare: looked for once a second, and at the queue's pace while there are any; one a channel a look.
 */
#include "actors/gateway-scheduler/gateway_scheduler_io.h"
#include "base/alloc.h"
#include "base/log.h"

#define GIVE_MAX 64    /* channels in one statement */
#define LINGER_MS 3000 /* whoever had a turn may want another one soon: a statement is two calls */

/* ---- looking ---- */

static void note(io_t *io, channel_row_t *row, int waiting, int held, int64_t paused_ms)
{
    row->lends = waiting > 0 || held > 0;
    row->wished = waiting > 0;
    io->wishes += row->wished;
    pr_calls_lent(io->calls, row->no, (uint32_t)held, row->wished);
    if (paused_ms > 0)
        pr_calls_pause(io->calls, row->no, paused_ms, io->now_ms);
}

/* What is not said of a channel any more is over. */
static void on_turns(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE session_asked_t *asked = arg;
    io_t *io = asked->io;
    io->now_ms = pr_loop_now_ms(io->loop);
    if (asked->epoch == io->epoch)
        io->turning = false;
    if (!session_answered(io, asked->epoch, rc, "turns.look_failed", error))
        return;
    size_t cursor = 0;
    channel_row_t *row;
    io->wishes = 0;
    if (pr_rows_count(rows) > 0)
        io->turns_until_ms = io->now_ms + LINGER_MS;
    while ((row = pr_map_next(io->channels, &cursor, NULL)))
        if (row->lends)
            note(io, row, 0, 0, 0);
    for (int n = 0; n < pr_rows_count(rows); n++) {
        row = pr_map_get(io->channels, (uint64_t)channel_no(pr_rows_text(rows, n, 0)));
        if (row)
            note(io, row, pr_rows_i32(rows, n, 1), pr_rows_i32(rows, n, 2),
                 pr_rows_i64(rows, n, 3));
    }
}

void turns_look(io_t *io)
{
    if (io->turning)
        return;
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    io->turning = session_ask(io, PR_SQL_GATEWAY_SCHEDULER_TURNS, on_turns);
    io->turns_looked_ms = io->now_ms;
}

/* ---- lending ---- */

static void on_given(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE session_asked_t *asked = arg;
    (void)rows;
    (void)session_answered(asked->io, asked->epoch, rc, "turns.give_failed", error);
}

void turns_lend(io_t *io)
{
    const char *ids[GIVE_MAX];
    int count = 0;
    size_t cursor = 0;
    channel_row_t *row;
    if (io->live && io->now_ms < io->turns_until_ms &&
        io->now_ms - io->turns_looked_ms >= io->poll_ms)
        turns_look(io);
    /* while a look is under way, what it saw may be older than what would be given */
    if (io->wishes == 0 || io->turning || !session_may_dispatch(io))
        return;
    while (count < GIVE_MAX && (row = pr_map_next(io->channels, &cursor, NULL)))
        if (row->wished && pr_calls_lend(io->calls, row->no, io->now_ms)) {
            row->wished = false;
            io->wishes--;
            ids[count++] = row->id;
        }
    if (count == 0)
        return;
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    pr_params_add_text_array(io->params, ids, count);
    if (!session_ask(io, PR_SQL_GATEWAY_SCHEDULER_GIVE_TURNS, on_given))
        pr_log_limited(PR_LOG_WARN, "turns.give_failed", "", "channels=%d", count);
}
