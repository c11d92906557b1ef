/* SPDX-License-Identifier: Apache-2.0
 *
 * New jobs: first tries that the relay has put behind our cursor. They are read on a connection of their own, the reader:
 * behind a batch of results, which waits for the disk, they would wait too (ADR 0016). While there is none they
 * are read on the connection that writes.
 *
 * Two connections see each other's work in no fixed order: what a look has seen may be older than an answer that came
 * before its own. Nothing is lost or sent twice by that, because
 *   - a look sees only what stands behind the cursor, and nothing there was ever in memory: adoption reads up to the cursor
 *     and dated jobs are paged. So no batch, no date and no expiry can concern a job that a look brings.
 *   - what moves the cursor or the shards otherwise (adoption, reconnect, the session's end) makes the answers to come
 *     stale: they are not used, and the looks are made again.
 *   - a cancellation may concern one: each is looked at until no look can be older (scheduler_rows.c).
 *   - the reader is used only after it has seen our session's lock held on its own server by the connection that
 *     writes. It is dropped with that one, and then proven anew.
 *
 * One look of each class at a time. P0 is looked for alone, before the others, unless it is a flood; while a higher class has
 * traffic (and is no flood itself), lower ones are read in small pieces, since their rows stand between it and its turn.
 */
#include "actors/scheduler/scheduler_io.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"

#include <string.h>

#define ALL_CLASSES ((1u << PR_SCHED_CLASSES) - 1)
#define TRAFFIC_MS 250 /* a class has traffic for so long after its last new job */
#define PIECE 4        /* pieces of scheduler.page */

enum { LOAD_NEW, PROVE_READER, READER_STATEMENTS }; /* indexes of the reader's own table */

typedef struct {
    io_t *io;
    uint32_t classes; /* bit mask */
} look_t;

/* ---- the reader ---- */

static void on_proven(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    io_t *io = arg;
    io->reader_asked = false;
    if (rc != PR_OK) {
        if (rc != PR_AGAIN)
            pr_actor_fail(io->actor, PR_FATAL, error);
        return; /* lost: it comes back, or the next beat asks again */
    }
    io->reader_proven = pr_rows_bool(rows, 0, 0) && io->session_state == SESSION_LIVE;
    if (!io->reader_proven)
        pr_db_reset(io->reader); /* another server, or our session is being resumed */
}

void new_prove_reader(io_t *io)
{
    if (io->reader_proven || io->reader_asked || io->session_state != SESSION_LIVE ||
        !pr_db_ready(io->reader))
        return;
    pr_params_clear(io->params);
    pr_params_add_i64(io->params, io->lock_key);
    pr_params_add_i32(io->params, pr_db_backend_pid(io->db));
    io->reader_asked = pr_db_query(io->reader, PROVE_READER, io->params, on_proven, io) == PR_OK;
}

static void on_reader_ready(void *arg)
{
    new_prove_reader(arg);
}

static void on_reader_lost(void *arg)
{
    io_t *io = arg;
    io->reader_proven = false;
}

void new_on_db_lost(io_t *io)
{
    io->reader_proven = false;
    if (pr_db_ready(io->reader))
        pr_db_reset(io->reader);
}

void new_start(io_t *io, const pr_db_options_t *like)
{
    io->reader_statements[LOAD_NEW] = pr_sql_scheduler[PR_SQL_SCHEDULER_LOAD_NEW];
    io->reader_statements[PROVE_READER] = pr_sql_scheduler[PR_SQL_SCHEDULER_PROVE_READER];
    pr_db_options_t options = *like;
    options.application_name = "postrider scheduler reader";
    options.statements = io->reader_statements;
    options.nstatements = READER_STATEMENTS;
    options.on_ready = on_reader_ready;
    options.on_lost = on_reader_lost;
    io->reader = pr_db_new(&options);
    pr_loop_add_db(io->loop, io->reader);
}

void new_stop(io_t *io)
{
    if (!io->reader)
        return;
    pr_loop_remove_db(io->loop, io->reader);
    pr_db_destroy(&io->reader);
}

/* ---- a look's answer ---- */

/* What was read of the classes: jobs into memory, the cursor past them. False: it names an endpoint that is younger than our
 * last look at endpoints; the class stops before it. */
static bool take(io_t *io, const pr_rows_t *rows, uint32_t classes, uint32_t count[])
{
    uint32_t blocked = 0;
    for (int row = 0; row < pr_rows_count(rows); row++) {
        int c = pr_rows_i16(rows, row, COL_CLASS);
        pr_assert(c >= 0 && c < PR_SCHED_CLASSES);
        count[c]++;
        if (!(classes >> c & 1u))
            continue;
        bool mine = pr_rows_bool(rows, row, COL_MINE);
        const endpoint_row_t *endpoint =
            mine ? rows_endpoint(io, pr_rows_i64(rows, row, COL_ENDPOINT)) : NULL;
        if (mine && !endpoint)
            blocked |= 1u << c;
        if (blocked >> c & 1u)
            continue;
        int64_t seq = pr_rows_i64(rows, row, COL_SEQ);
        if (mine) /* our cursor may be behind the former owner's: it may have sent this */
            (void)rows_add(io, rows, row, false,
                           seq <= io->adopted_to[c] && rows_just_adopted(io, endpoint));
        if (seq > io->cursor[c])
            io->cursor[c] = seq;
        io->new_at_ms[c] = io->now_ms;
    }
    return blocked == 0;
}

static void on_new(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    look_t look = *(look_t *)arg;
    pr_free(arg);
    io_t *io = look.io;
    io->now_ms = pr_loop_now_ms(io->loop);
    uint32_t stale = look.classes & io->new_stale;
    io->looking &= ~look.classes;
    io->new_stale &= ~look.classes;
    if (stale)
        io->poll_at_ms = io->now_ms;
    if (!rows_answered(io, rc, error))
        return;
    uint32_t count[PR_SCHED_CLASSES] = {0};
    if (!take(io, rows, look.classes & ~stale, count)) {
        rows_load_endpoints(io);
        return; /* its answer polls again */
    }
    for (int c = 0; c < PR_SCHED_CLASSES; c++) {
        if (!((look.classes & ~stale) >> c & 1u))
            continue;
        bool full = count[c] > 0 && count[c] == io->asked_for[c];
        io->flood = full ? io->flood | 1u << c : io->flood & ~(1u << c);
        if (full)
            io->full |= 1u << c; /* there is more */
        else if (io->hinted[c] > io->cursor[c])
            io->hinted[c] = io->cursor[c]; /* a move that was announced and undone */
    }
}

/* ---- looking ---- */

static uint32_t most_of(const io_t *io, const pr_sched_stats_t *stats, int class_no)
{
    if (stats->class_jobs[class_no] >= io->class_jobs_max)
        return 0;
    for (int c = 0; c < class_no; c++)
        if (io->now_ms - io->new_at_ms[c] < TRAFFIC_MS && !(io->flood >> c & 1u))
            return io->load_max / PIECE > 0 ? io->load_max / PIECE : 1;
    return io->load_max;
}

static void look(io_t *io, uint32_t classes)
{
    pr_sched_stats_t stats;
    pr_sched_stats(io->sched, &stats);
    int32_t most[PR_SCHED_CLASSES] = {0};
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        if (classes >> c & 1u)
            most[c] = (int32_t)(io->asked_for[c] = most_of(io, &stats, c));
    uint8_t ours[32];
    for (size_t i = 0; i < sizeof ours; i++)
        ours[i] = (uint8_t)(io->owned[i] & ~io->leaving[i]);
    pr_params_clear(io->params);
    (void)add_shards(io->params, ours);
    pr_params_add_i64_array(io->params, io->cursor, NULL, PR_SCHED_CLASSES);
    pr_params_add_i32_array(io->params, most, PR_SCHED_CLASSES);
    look_t *look = PR_NEW(look_t);
    *look = (look_t){io, classes};
    pr_rc_t rc = io->reader_proven
                     ? pr_db_query(io->reader, LOAD_NEW, io->params, on_new, look)
                     : pr_db_query(io->db, PR_SQL_SCHEDULER_LOAD_NEW, io->params, on_new, look);
    if (rc != PR_OK) {
        pr_free(look);
        return;
    }
    io->looking |= classes;
    io->full &= ~classes;
    io->looks++;
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        if (classes >> c & 1u)
            io->look_no[c] = io->looks;
}

void new_hint(io_t *io, const int64_t *last_seq)
{
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        if (last_seq[c] > io->hinted[c])
            io->hinted[c] = last_seq[c];
}

int64_t new_deadline_ms(const io_t *io)
{
    if (!io->cursors_known || io->looking == ALL_CLASSES)
        return INT64_MAX;
    return io->full & ~io->looking ? io->now_ms : io->poll_at_ms;
}

void new_poll(io_t *io)
{
    if (!io->cursors_known || io->session_state != SESSION_LIVE || io->draining)
        return;
    uint32_t wanted = io->full;
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        wanted |= io->hinted[c] > io->cursor[c] ? 1u << c : 0;
    bool urgent = wanted & ~io->looking & ~io->flood & 1u;
    if (io->now_ms >= io->poll_at_ms) {
        wanted = ALL_CLASSES;
        io->poll_at_ms = io->now_ms + io->poll_ms;
    }
    wanted &= ~io->looking;
    if (urgent)
        look(io, 1u);
    if (urgent)
        wanted &= ~1u;
    if (wanted)
        look(io, wanted);
}
