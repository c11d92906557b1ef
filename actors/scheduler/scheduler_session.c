/* SPDX-License-Identifier: Apache-2.0
 *
 * The session (docs/protocol.md, section 3): opened on the one connection that also writes the results, alive while that
 * connection holds its advisory lock and its heartbeat counter moves. Here we beat, watch the others, end the dead ones,
 * and take shards that are free.
 *
 * Trust: we dispatch only while our last answered beat was sent, on CLOCK_BOOTTIME, less than two thirds of the time ago
 * after which others end us. A stopped or cut-off scheduler thus stops by itself, and what it still writes late is
 * refused by the fence.
 */
#include "actors/scheduler/scheduler_io.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"

#include <string.h>

#define ACQUIRE_MS 10000

int add_shards(pr_params_t *params, const uint8_t bits[32])
{
    int16_t shards[256];
    int count = 0;
    for (int n = 0; n < 256; n++)
        if (bit_get(bits, n))
            shards[count++] = (int16_t)n;
    pr_params_add_i16_array(params, shards, count);
    return count;
}

static void hex_id(const uint8_t id[16], char out[33])
{
    pr_hex(pr_bytes(id, 16), out);
}

/* Every answer passes here: what went wrong for now is met by the next beat or the reconnect; a bug ends the process. */
static bool answered(io_t *io, pr_rc_t rc, const pr_error_t *error)
{
    if (rc == PR_OK)
        return true;
    if (rc == PR_AGAIN)
        pr_log_error(PR_LOG_WARN, "session.statement_failed", error);
    else
        pr_actor_fail(io->actor, PR_FATAL, error);
    return false;
}

/* ---- shards ---- */

/* The low of a shard joins those of the adoption. */
static void adopt_from(io_t *io, const pr_rows_t *rows, int row)
{
    int64_t low[PR_SCHED_CLASSES] = {0};
    if (!pr_rows_null(rows, row, 1))
        (void)pr_rows_i64_array(rows, row, 1, low, PR_SCHED_CLASSES);
    for (int c = 0; c < PR_SCHED_CLASSES; c++) {
        int64_t from = low[c] > 0 ? low[c] - 1 : (int64_t)c << CLASS_SHIFT;
        if (from < io->adoption.lo[c])
            io->adoption.lo[c] = from;
        io->taken_behind[pr_rows_i16(rows, row, 0)][c] = from;
    }
}

static void adoption_begins(adoption_t *adoption)
{
    memset(adoption->shards, 0, sizeof adoption->shards);
    adoption->former = false;
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        adoption->lo[c] = INT64_MAX;
}

static void on_acquired(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    io_t *io = arg;
    io->acquiring = false;
    if (rc == PR_BAD) { /* PR009: the session has ended */
        session_lost(io);
        return;
    }
    if (!answered(io, rc, error))
        return;
    if (pr_rows_count(rows) == 0) {
        pr_actor_ready(io->actor); /* others have them all: we stand by */
        return;
    }
    adoption_t *adoption = &io->adoption;
    if (!adoption->active)
        adoption_begins(adoption);
    for (int row = 0; row < pr_rows_count(rows); row++) {
        bit_set(adoption->shards, pr_rows_i16(rows, row, 0));
        adoption->former = adoption->former || !pr_rows_null(rows, row, 1);
        adopt_from(io, rows, row);
    }
    pr_log_info("session.shards_taken", "shards=%d former_owner=%d", pr_rows_count(rows),
                adoption->former);
    rows_load_endpoints(io); /* what the former owner wrote last is known before anything goes */
    rows_adopt(io);
}

static void acquire(io_t *io)
{
    if (io->acquiring || io->adoption.active || io->owned_unknown || io->draining ||
        !io->endpoints_known)
        return;
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    if (pr_db_query(io->db, PR_SQL_SCHEDULER_ACQUIRE_SHARDS, io->params, on_acquired, io) == PR_OK)
        io->acquiring = true;
    io->acquire_at_ms = io->now_ms + ACQUIRE_MS;
}

void session_acquired_loaded(io_t *io)
{
    pr_actor_ready(io->actor); /* what is committed from here on leaves at once */
    acquire(io);               /* there may be more */
}

/* After a reconnect: an acquisition whose outcome is unknown may have given us shards that we never loaded. They join the
 * adoption that goes on. */
static void on_owned(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    io_t *io = arg;
    io->owned_asked = false;
    if (!answered(io, rc, error))
        return; /* asked again with the next beat */
    io->owned_unknown = false;
    adoption_t *adoption = &io->adoption;
    bool again = false;
    for (int row = 0; row < pr_rows_count(rows); row++) {
        int shard = pr_rows_i16(rows, row, 0);
        if (bit_get(io->owned, shard) || (adoption->active && bit_get(adoption->shards, shard)))
            continue;
        if (!adoption->active && !again)
            adoption_begins(adoption);
        bit_set(adoption->shards, shard);
        adopt_from(io, rows, row);
        adoption->former = true;
        again = true;
    }
    if (again)
        rows_adopt(io);
    else
        acquire(io);
}

static void ask_owned(io_t *io)
{
    if (!io->owned_unknown || io->owned_asked)
        return;
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    if (pr_db_query(io->db, PR_SQL_SCHEDULER_OWNED_SHARDS, io->params, on_owned, io) == PR_OK)
        io->owned_asked = true;
}

/* ---- opening ---- */

static void live(io_t *io)
{
    io->session_state = SESSION_LIVE;
    io->beat_ok_ms = io->now_ms;
    io->beating = false;
    io->acquiring = false;
    io->nobserved = 0;
    rows_load_endpoints(io); /* then shards are taken, on the next timer */
    new_prove_reader(io);
    batch_resend(io);
    bus_greet(io);
}

static void on_opened(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    io_t *io = arg;
    io->session_state = SESSION_NONE;
    if (!answered(io, rc, error) || pr_rows_count(rows) != 1)
        return;
    pr_assert(pr_rows_uuid(rows, 0, 0, io->session));
    io->lock_key = pr_rows_i64(rows, 0, 1);
    io->beats = 0; /* as its row has it */
    char id[33];
    hex_id(io->session, id);
    pr_log_info("session.opened", "session=%s", id);
    live(io);
}

static void open_new(io_t *io)
{
    pr_params_clear(io->params);
    pr_params_add_text(io->params, io->address);
    if (pr_db_query(io->db, PR_SQL_SCHEDULER_OPEN_SESSION, io->params, on_opened, io) == PR_OK)
        io->session_state = SESSION_OPENING;
}

static void on_resumed(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    io_t *io = arg;
    io->session_state = SESSION_NONE;
    if (!answered(io, rc, error))
        return;
    if (!pr_rows_bool(rows, 0, 0)) {
        session_lost(io);
        return;
    }
    if (!pr_rows_bool(rows, 0, 1))
        return; /* the timer asks again */
    pr_log_info("session.resumed", "kept_batches=%d", io->nkept);
    live(io);
    io->owned_unknown = true;
    ask_owned(io);
}

static void begin(io_t *io)
{
    static const uint8_t none[16] = {0};
    if (io->session_state != SESSION_NONE || !pr_db_ready(io->db) || io->closed)
        return;
    if (memcmp(io->session, none, sizeof none) == 0) {
        open_new(io);
        return;
    }
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    if (pr_db_query(io->db, PR_SQL_SCHEDULER_RESUME_SESSION, io->params, on_resumed, io) == PR_OK)
        io->session_state = SESSION_RESUMING;
}

void session_on_db_ready(io_t *io)
{
    begin(io);
}

void session_on_db_lost(io_t *io)
{
    io->session_state =
        SESSION_NONE; /* its lock went with the connection: others may end it at once */
    io->beating = io->acquiring = false;
}

void session_lost(io_t *io)
{
    char id[33];
    hex_id(io->session, id);
    pr_log_warn("session.lost", "session=%s", id);
    io->session_state = SESSION_NONE;
    io_actions(
        io); /* what was decided but not sent belongs to the old session: it is forgotten with the rest */
    memset(io->session, 0, sizeof io->session);
    memset(io->owned, 0, sizeof io->owned);
    memset(io->leaving, 0, sizeof io->leaving);
    io->nreplaced = 0;
    io->owned_unknown = false;
    io->adoption.active = false;
    batch_forget(io);
    rows_forget(io);
    begin(io);
}

/* ---- watching the others ---- */

static observed_t *observe(io_t *io, const uint8_t id[16])
{
    for (int i = 0; i < io->nobserved; i++)
        if (memcmp(io->observed[i].id, id, 16) == 0)
            return &io->observed[i];
    if (io->nobserved == OBSERVED_MAX)
        return NULL;
    observed_t *other = &io->observed[io->nobserved++];
    *other = (observed_t){.beat = -1, .since_ms = io->now_ms};
    memcpy(other->id, id, 16);
    return other;
}

typedef struct {
    io_t *io;
    uint8_t id[16];
} ending_t;

static void on_ended(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    ending_t *ending = arg;
    io_t *io = ending->io;
    observed_t *other = observe(io, ending->id);
    if (other)
        other->ending = false;
    if (answered(io, rc, error) && pr_rows_bool(rows, 0, 0)) {
        char id[33];
        hex_id(ending->id, id);
        pr_log_warn("session.ended_another", "session=%s", id);
    }
    if (rc == PR_OK) {
        if (io->nreplaced == REPLACED_MAX) { /* the oldest is long gone from every worker */
            memmove(io->replaced[0], io->replaced[1], (REPLACED_MAX - 1) * 16);
            io->nreplaced--;
        }
        memcpy(io->replaced[io->nreplaced++], ending->id, 16);
        io->acquire_at_ms = io->now_ms;
        acquire(io);
    }
    pr_free(ending);
}

static void end_other(io_t *io, observed_t *other)
{
    if (other->ending)
        return;
    ending_t *ending = PR_NEW(ending_t);
    ending->io = io;
    memcpy(ending->id, other->id, 16);
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, other->id);
    if (pr_db_query(io->db, PR_SQL_SCHEDULER_END_SESSION, io->params, on_ended, ending) == PR_OK)
        other->ending = true;
    else
        pr_free(ending);
}

static void watch_others(io_t *io, const pr_rows_t *rows)
{
    for (int i = 0; i < io->nobserved; i++)
        io->observed[i].seen = false;
    for (int row = 0; row < pr_rows_count(rows); row++) {
        uint8_t id[16];
        if (!pr_rows_uuid(rows, row, 3, id))
            continue;
        observed_t *other = observe(io, id);
        if (!other)
            continue;
        other->seen = true;
        int64_t beat = pr_rows_i64(rows, row, 4);
        if (beat != other->beat) {
            other->beat = beat;
            other->since_ms = io->now_ms;
        }
        if (!pr_rows_bool(rows, row, 6) || io->now_ms - other->since_ms >= io->silent_ms)
            end_other(io, other);
    }
    for (int i = io->nobserved; i-- > 0;)
        if (!io->observed[i].seen && !io->observed[i].ending)
            io->observed[i] = io->observed[--io->nobserved];
}

/* ---- beating ---- */

static void on_beat(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    io_t *io = arg;
    io->beating = false;
    if (!answered(io, rc, error))
        return;
    if (!pr_rows_bool(rows, 0, 0)) {
        session_lost(io);
        return;
    }
    /* The database stalled: everybody's counter stood still meanwhile, which proves nothing. */
    if (io->now_ms - io->beat_sent_ms > 2 * io->beat_ms)
        for (int i = 0; i < io->nobserved; i++)
            io->observed[i].since_ms = io->now_ms;
    io->beat_ok_ms = io->beat_sent_ms;
    io->beats = io->beat_no;
    memcpy(io->durable, io->beat_cursor, sizeof io->durable);
    int target = pr_rows_i32(rows, 0, 1), owned = pr_rows_i32(rows, 0, 2);
    watch_others(io, rows);
    if (owned < target && io->now_ms >= io->acquire_at_ms)
        acquire(io);
    else if (owned > target)
        session_give_up(io, owned - target);
}

/* Its number counts beats that were answered, not those that were sent: between an acquisition and its answer the counter grows by one
 * then at most, whatever Postgres refuses meanwhile, and end_session() does not trust a beat that did not know of it. */
static void beat(io_t *io)
{
    int64_t low[PR_SCHED_CLASSES];
    io->beat_no = io->beats + 1;
    io_actions(io); /* what found no room is on the list of dates then, which low covers */
    batch_low(io, low);
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    pr_params_add_i64(io->params, (int64_t)io->beat_no);
    pr_params_add_i64_array(io->params, low, NULL, PR_SCHED_CLASSES);
    if (pr_db_query(io->db, PR_SQL_SCHEDULER_BEAT, io->params, on_beat, io) == PR_OK) {
        io->beating = true;
        io->beat_sent_ms = io->now_ms;
        memcpy(io->beat_cursor, io->cursors_known ? io->cursor : io->durable,
               sizeof io->beat_cursor);
    }
}

void session_timer(void *arg, int64_t now_ms)
{
    io_t *io = arg;
    io->now_ms = now_ms;
    if (!pr_db_ready(io->db))
        return;
    if (io->session_state == SESSION_NONE)
        begin(io);
    if (io->session_state != SESSION_LIVE)
        return;
    if (!io->beating)
        beat(io);
    rows_load_endpoints(io);
    rows_load_cancelled(io);
    ask_owned(io);
    rows_adopt_again(io);
    new_prove_reader(io);
    bool nothing = true;
    for (size_t i = 0; i < sizeof io->owned; i++)
        nothing = nothing && io->owned[i] == 0;
    if (nothing)
        acquire(io);
}

bool session_may_dispatch(const io_t *io)
{
    return io->session_state == SESSION_LIVE && io->now_ms - io->beat_ok_ms < io->silent_ms * 2 / 3;
}

/* ---- ending our own ---- */

static void on_closed(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    io_t *io = arg;
    (void)rows;
    if (rc != PR_OK)
        pr_log_error(PR_LOG_WARN, "session.close_failed", error);
    io->closed =
        true; /* if it failed: our lock goes with the connection, the next owner does the rest */
}

void session_close(io_t *io)
{
    if (io->closed || io->closing)
        return;
    if (io->session_state != SESSION_LIVE || !pr_db_ready(io->db)) {
        io->closed = true;
        return;
    }
    beat(io); /* so that the next owner knows where to look */
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    if (pr_db_query(io->db, PR_SQL_SCHEDULER_END_SESSION, io->params, on_closed, io) == PR_OK)
        io->closing = true;
    else
        io->closed = true;
}
