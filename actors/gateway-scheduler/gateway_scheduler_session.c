/* SPDX-License-Identifier: Apache-2.0
 *
 * The session: opened on the one connection that also writes everything, alive while that connection holds its advisory
 * locks. Postgres ends a connection that is silent for IDLE_MS, so a process that was stopped owns nothing after that.
 *
 * Trust: we dispatch only while our last answered beat was sent, on CLOCK_BOOTTIME, less than TRUST_MS ago. A stopped or
 * cut-off scheduler thus stops by itself before another can own its channels, and what it still writes late is refused by the
 * fence.
 */
#include "actors/gateway-scheduler/gateway_scheduler_io.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"

#include <string.h>

#define IDLE_MS 6000
#define TRUST_MS 4000
#define UPKEEP_S 5
#define MEASURE_S 60

bool session_answered(io_t *io, uint32_t epoch, pr_rc_t rc, const char *event,
                      const pr_error_t *error)
{
    if (epoch != io->epoch)
        return false; /* asked in another life */
    if (rc == PR_OK)
        return true;
    if (rc == PR_BAD && strcmp(error->code, "PR009") == 0) {
        session_lost(io);
        return false;
    }
    if (rc == PR_FATAL)
        pr_actor_fail(io->actor, PR_FATAL, error);
    else
        pr_log_error(PR_LOG_WARN, event, error); /* asked again by the next timer */
    return false;
}

bool session_ask(io_t *io, int statement, pr_db_result_fn *fn)
{
    session_asked_t *asked = PR_NEW(session_asked_t);
    *asked = (session_asked_t){io, io->epoch};
    if (pr_db_query(io->db, statement, io->params, fn, asked) == PR_OK)
        return true;
    pr_free(asked);
    return false;
}

/* ---- beginning and end ---- */

static void forget(io_t *io)
{
    io->epoch++;
    io->live = io->opening = false;
    io->beating = io->taking = io->releasing = false;
    memset(io->session, 0, sizeof io->session);
    memset(io->owned, 0, sizeof io->owned);
    memset(io->leaving, 0, sizeof io->leaving);
    io_actions(io);
    apply_forget(io);
    pr_calls_drop_all(io->calls);
    io_actions(io);
    channels_forget(io);
    io->loading = io->looking = io->expiring = io->keeping_up = false;
    io->measuring = io->sweeping = io->turning = false;
    io->dispatching = io->wishes = 0;
    pr_work_desk_session(io->desk, NULL, NULL);
}

static void take(io_t *io, int most);

static void on_opened(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE session_asked_t *asked = arg;
    io_t *io = asked->io;
    if (asked->epoch == io->epoch)
        io->opening = false;
    if (!session_answered(io, asked->epoch, rc, "session.open_failed", error) ||
        pr_rows_count(rows) != 1 || !pr_rows_uuid(rows, 0, 0, io->session))
        return;
    char id[33];
    pr_hex(pr_bytes(io->session, sizeof io->session), id);
    pr_log_info("session.opened", "session=%s", id);
    io->live = true;
    io->seconds = 0;
    io->beat_ok_ms = io->beat_sent_ms;
    take(io, SHARDS);
    pr_actor_ready(io->actor);
}

static void on_limited(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE session_asked_t *asked = arg;
    (void)rows;
    (void)session_answered(asked->io, asked->epoch, rc, "session.limit_failed", error);
}

/* First the limit on silence, then the session: without the one the other is not safe to have. */
static void open_session(io_t *io)
{
    if (io->opening || io->live || io->closed || !pr_db_ready(io->db))
        return;
    pr_params_clear(io->params);
    pr_params_add_i32(io->params, IDLE_MS);
    if (!session_ask(io, PR_SQL_GATEWAY_SCHEDULER_LIMIT_SILENCE, on_limited))
        return;
    pr_params_clear(io->params);
    pr_params_add_text(io->params, "");
    io->opening = session_ask(io, PR_SQL_GATEWAY_SCHEDULER_OPEN_SESSION, on_opened);
    io->beat_sent_ms = io->now_ms;
}

void session_on_db_ready(io_t *io)
{
    open_session(io);
}

void session_on_db_lost(io_t *io)
{
    if (io->live)
        pr_log_warn("session.lost", "reason=connection");
    forget(io); /* our locks went with the connection */
}

void session_lost(io_t *io)
{
    pr_log_warn("session.lost", "reason=ended");
    forget(io);
    pr_db_reset(io->db); /* whatever it still holds goes with the connection */
}

bool session_may_dispatch(const io_t *io)
{
    return io->live && !io->draining && io->now_ms - io->beat_ok_ms < TRUST_MS;
}

/* ---- shards ---- */

static int count_bits(const uint8_t bits[SHARDS / 8])
{
    int count = 0;
    for (int n = 0; n < SHARDS; n++)
        count += bit_get(bits, n);
    return count;
}

static void on_taken(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE session_asked_t *asked = arg;
    io_t *io = asked->io;
    if (asked->epoch == io->epoch)
        io->taking = false;
    if (!session_answered(io, asked->epoch, rc, "shards.take_failed", error))
        return;
    for (int row = 0; row < pr_rows_count(rows); row++)
        bit_put(io->owned, pr_rows_i16(rows, row, 0) & 255, true);
    if (pr_rows_count(rows) == 0)
        return;
    pr_log_info("shards.taken", "taken=%d owned=%d", pr_rows_count(rows), count_bits(io->owned));
    pr_work_desk_session(io->desk, io->session, io->owned);
    /* in this order: of what a former owner had under way we first learn that it may still be made; then it waits again */
    channels_load(io);
    due_adopt(io);
    due_expire(io);
    channels_measure(io);
}

static void take(io_t *io, int most)
{
    if (io->taking || most <= 0 || io->draining)
        return;
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    pr_params_add_i32(io->params, most);
    io->taking = session_ask(io, PR_SQL_GATEWAY_SCHEDULER_TAKE_SHARDS, on_taken);
}

static void give_up(io_t *io, int count)
{
    count -= count_bits(io->leaving);
    for (int n = SHARDS; n-- > 0 && count > 0;)
        if (bit_get(io->owned, n) && !bit_get(io->leaving, n)) {
            bit_put(io->leaving, n, true);
            channels_leave(io, n);
            count--;
        }
}

static void on_released(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE session_asked_t *asked = arg;
    io_t *io = asked->io;
    (void)rows;
    if (asked->epoch == io->epoch)
        io->releasing = false;
    (void)session_answered(io, asked->epoch, rc, "shards.release_failed", error);
}

/* Empty: nothing of it is under way, so the next owner's count of calls at a time begins at 0 and is right. */
void session_leave(io_t *io)
{
    int16_t shards[SHARDS];
    int count = 0;
    for (int n = 0; n < SHARDS && !io->releasing; n++)
        if (bit_get(io->leaving, n) && pr_calls_shard_busy(io->calls, (uint8_t)n) == 0)
            shards[count++] = (int16_t)n;
    if (count == 0 || !io->live)
        return;
    for (int i = 0; i < count; i++) {
        bit_put(io->owned, shards[i], false);
        bit_put(io->leaving, shards[i], false);
        channels_drop(io, shards[i]);
    }
    pr_work_desk_session(io->desk, io->session, io->owned);
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    pr_params_add_i16_array(io->params, shards, count);
    io->releasing = session_ask(io, PR_SQL_GATEWAY_SCHEDULER_RELEASE_SHARDS, on_released);
    if (!io->releasing)
        pr_db_reset(io->db); /* the locks must go: then with the connection */
    pr_log_info("shards.given_up", "given=%d owned=%d", count, count_bits(io->owned));
}

/* ---- the second ---- */

static void on_beat(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE session_asked_t *asked = arg;
    io_t *io = asked->io;
    if (asked->epoch == io->epoch)
        io->beating = false;
    if (!session_answered(io, asked->epoch, rc, "session.beat_failed", error) ||
        pr_rows_count(rows) != 1)
        return;
    if (!pr_rows_bool(rows, 0, 0)) {
        session_lost(io);
        return;
    }
    io->beat_ok_ms = io->beat_sent_ms;
    int target = pr_rows_i32(rows, 0, 1), owned = count_bits(io->owned);
    if (owned > target)
        give_up(io, owned - target);
    else
        take(io, target - owned);
}

static void beat(io_t *io)
{
    if (io->beating)
        return;
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    io->beating = session_ask(io, PR_SQL_GATEWAY_SCHEDULER_BEAT, on_beat);
    io->beat_sent_ms = io->now_ms;
}

void session_second(void *arg, int64_t now_ms)
{
    io_t *io = arg;
    io->now_ms = now_ms;
    if (!pr_db_ready(io->db) || io->closing)
        return;
    if (!io->live) {
        open_session(io);
        return;
    }
    io->seconds++;
    beat(io);
    if (count_bits(io->owned) == 0)
        return;
    channels_load(io);
    turns_look(io);
    if (!io->taking) /* leases of what is just taken are ended when that is known */
        due_expire(io);
    if (io->seconds % UPKEEP_S == 0)
        due_upkeep(io);
    if (io->seconds % MEASURE_S == 0)
        channels_measure(io);
    due_sweep(io);
}

/* ---- ending our own ---- */

static void on_closed(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE session_asked_t *asked = arg;
    (void)rows;
    if (rc != PR_OK)
        pr_log_error(PR_LOG_WARN, "session.close_failed", error);
    asked->io->closed = true; /* if it failed: the locks go with the connection */
}

void session_close(io_t *io)
{
    if (io->closed || io->closing)
        return;
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    io->closing = io->live && session_ask(io, PR_SQL_GATEWAY_SCHEDULER_END_SESSION, on_closed);
    io->closed = !io->closing;
}
