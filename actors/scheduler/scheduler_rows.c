/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows in: what former owners left, pages of dated jobs, cancellations. New jobs are read in scheduler_new.c.
 * One query of each kind at a time; all of them again from their start after a reconnect.
 */
#include "actors/scheduler/scheduler_io.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/fnv.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

#define PAGES_MAX 64 /* (endpoint, class) pairs in one page_due */
#define ADOPT_AGAIN_MS 500
#define PASSED_OVER 50   /* jobs that wait, for each first try that a page may have */
#define EXPIRE_MOST 1000 /* of each class, in one statement */

bool rows_answered(io_t *io, pr_rc_t rc, const pr_error_t *error)
{
    if (rc == PR_OK)
        return true;
    if (rc == PR_AGAIN)
        pr_log_error(PR_LOG_WARN, "rows.statement_failed", error);
    else
        pr_actor_fail(io->actor, PR_FATAL, error);
    return false;
}

/* ---- payloads ---- */

static void uuid_text(const uint8_t id[16], char out[37])
{
    char hex[33];
    pr_hex(pr_bytes(id, 16), hex);
    static const int groups[] = {8, 4, 4, 4, 12};
    const char *from = hex;
    for (size_t g = 0; g < PR_COUNT(groups); g++) {
        memcpy(out, from, (size_t)groups[g]);
        from += groups[g];
        out += groups[g];
        *out++ = g + 1 < PR_COUNT(groups) ? '-' : '\0';
    }
}

static char *put_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

static payload_t *payload_new(const pr_rows_t *rows, int row)
{
    const char *order_no = pr_rows_text(rows, row, COL_ORDER_NO),
               *event = pr_rows_text(rows, row, COL_EVENT);
    bool has_url = !pr_rows_null(rows, row, COL_NOTIFY_URL);
    const char *url = has_url ? pr_rows_text(rows, row, COL_NOTIFY_URL) : "";
    pr_bytes_t body = pr_rows_bytes(rows, row, COL_BODY);
    size_t size = strlen(order_no) + strlen(event) + strlen(url) + 3 + body.len;
    payload_t *payload = pr_calloc(1, sizeof *payload + size);
    uint8_t id[16] = {0};
    (void)pr_rows_uuid(rows, row, COL_NOTIFY_ID, id);
    uuid_text(id, payload->notify_id);
    payload->version = pr_rows_i64(rows, row, COL_VERSION);
    char *at = payload->text;
    payload->order_no = put_text(&at, order_no);
    payload->event = put_text(&at, event);
    payload->notify_url = put_text(&at, url);
    if (!has_url)
        payload->notify_url = NULL;
    if (body.len > 0)
        memcpy(at, body.data, body.len);
    payload->body = pr_bytes(at, body.len);
    return payload;
}

pr_sched_added_t rows_add(io_t *io, const pr_rows_t *rows, int row, bool dated, bool adopted)
{
    pr_sched_row_t job = {
        .seq = pr_rows_i64(rows, row, COL_SEQ),
        .salt = (uint64_t)pr_rows_i64(rows, row, COL_SALT),
        .attempt = (uint32_t)pr_rows_i32(rows, row, COL_TRY),
        .tried_before = (uint32_t)pr_rows_i32(rows, row, COL_TRIED_BEFORE),
        .endpoint_id = pr_rows_i64(rows, row, COL_ENDPOINT),
        .outbox_id = pr_rows_i64(rows, row, COL_OUTBOX_ID),
        .class_no = (uint8_t)pr_rows_i16(rows, row, COL_CLASS),
        .version = pr_rows_i64(rows, row, COL_VERSION),
        .age_ms = pr_rows_i64(rows, row, COL_AGE_MS),
        .due_in_ms = pr_rows_i64(rows, row, COL_DUE_IN_MS),
        .dated = dated,
        .adopted = adopted,
    };
    payload_t *payload = payload_new(rows, row);
    job.order_hash =
        pr_fnv_text((uint64_t)job.endpoint_id * 0x9E3779B97F4A7C15u, payload->order_no);
    pr_sched_added_t added = pr_sched_add(io->sched, &job, payload, io->now_ms);
    if (added != PR_SCHED_KEPT)
        pr_free(payload);
    return added;
}

/* ---- adoption ---- */

static void adopt_page(io_t *io);

/* An answer of the chain: false when another chain has begun since. */
static bool chain_answered(io_t *io)
{
    io->now_ms = pr_loop_now_ms(io->loop);
    adoption_t *adoption = &io->adoption;
    if (adoption->stale > 0) {
        adoption->stale--;
        return false;
    }
    adoption->asked = false;
    adoption->again_ms = io->now_ms + ADOPT_AGAIN_MS; /* should this answer be an error */
    return adoption->active;
}

static void chain_ask(io_t *io, int statement, const pr_params_t *params, pr_db_result_fn *fn)
{
    if (pr_db_query(io->db, statement, params, fn, io) == PR_OK)
        io->adoption.asked = true;
    else
        io->adoption.again_ms = io->now_ms + ADOPT_AGAIN_MS;
}

static void adopted_all(io_t *io)
{
    adoption_t *adoption = &io->adoption;
    adoption->active = false;
    io->heard_wanted_ms = io->now_ms;
    pr_sched_stats_t stats;
    pr_sched_stats(io->sched, &stats);
    pr_log_info("session.adopted", "jobs=%u perhaps_under_way=%u", stats.jobs, stats.adopted);
    bus_greet(io);
    session_acquired_loaded(io);
}

static void adopt_dated(io_t *io);

static void on_pairs(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    io_t *io = arg;
    if (!chain_answered(io) || !rows_answered(io, rc, error))
        return;
    for (int row = 0; row < pr_rows_count(rows); row++)
        if (!rows_endpoint(io, pr_rows_i64(rows, row, 0))) { /* younger than our last look */
            rows_load_endpoints(io);
            adopt_dated(io);
            return;
        }
    for (int row = 0; row < pr_rows_count(rows); row++)
        pr_sched_dated(io->sched, pr_rows_i64(rows, row, 0), (uint8_t)pr_rows_i16(rows, row, 1),
                       pr_rows_i64(rows, row, 2), io->now_ms);
    adopted_all(io);
}

static void adopt_dated(io_t *io)
{
    pr_params_clear(io->params);
    (void)add_shards(io->params, io->adoption.shards);
    chain_ask(io, PR_SQL_SCHEDULER_DATED_PAIRS, io->params, on_pairs);
}

static bool unknown_endpoint(const io_t *io, const pr_rows_t *rows)
{
    for (int row = 0; row < pr_rows_count(rows); row++)
        if (pr_rows_bool(rows, row, COL_MINE) &&
            !rows_endpoint(io, pr_rows_i64(rows, row, COL_ENDPOINT)))
            return true;
    return false;
}

static void on_first_tries(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    io_t *io = arg;
    adoption_t *adoption = &io->adoption;
    if (!chain_answered(io) || !rows_answered(io, rc, error))
        return;
    if (unknown_endpoint(
            io, rows)) { /* younger than our last look at endpoints: look, and read again */
        rows_load_endpoints(io);
        adopt_page(io);
        return;
    }
    bool more = false;
    for (int row = 0; row < pr_rows_count(rows); row++) {
        int c = pr_rows_i16(rows, row, COL_CLASS);
        pr_assert(c >= 0 && c < PR_SCHED_CLASSES);
        if (pr_rows_bool(rows, row, COL_MINE)) {
            (void)rows_add(io, rows, row, false, adoption->former);
            continue;
        }
        int64_t read_to = pr_rows_i64(rows, row, COL_SEQ);
        if (read_to > adoption->lo[c]) /* our cursor may lie before the lows of what we took */
            adoption->lo[c] = read_to;
        more = more || adoption->lo[c] < adoption->hi[c];
    }
    if (more)
        adopt_page(io);
    else
        adopt_dated(io);
}

static void adopt_page(io_t *io)
{
    pr_params_clear(io->params);
    (void)add_shards(io->params, io->adoption.shards);
    pr_params_add_i64_array(io->params, io->adoption.lo, NULL, PR_SCHED_CLASSES);
    pr_params_add_i64_array(io->params, io->adoption.hi, NULL, PR_SCHED_CLASSES);
    pr_params_add_i32(io->params, (int32_t)io->load_max);
    pr_params_add_i32(io->params, (int32_t)io->load_max * PASSED_OVER);
    chain_ask(io, PR_SQL_SCHEDULER_LOAD_FIRST_TRIES, io->params, on_first_tries);
}

static void on_cursors(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    io_t *io = arg;
    adoption_t *adoption = &io->adoption;
    if (!chain_answered(io) || !rows_answered(io, rc, error))
        return;
    for (int row = 0; row < pr_rows_count(rows); row++) {
        int c = pr_rows_i16(rows, row, 0);
        pr_assert(c >= 0 && c < PR_SCHED_CLASSES);
        if (!io->cursors_known)
            io->cursor[c] = pr_rows_i64(rows, row, 1);
        io->adopted_to[c] = pr_rows_i64(rows, row, 1);
        adoption->hi[c] = io->cursor[c]; /* behind it new jobs are looked for: each is read once */
    }
    io->cursors_known = true;
    io->new_stale |= io->looking; /* asked for without these shards, from another cursor */
    for (int shard = 0; shard < 256; shard++) {
        if (!bit_get(adoption->shards, shard) || bit_get(io->owned, shard))
            continue;
        bit_set(io->owned, shard);
        io->adopted_at_ms[shard] = adoption->former ? io->now_ms : INT64_MIN;
        rows_claim_shard(io, shard);
    }
    bus_greet(io); /* workers say at once what they hold */
    adopt_page(io);
}

void rows_adopt(io_t *io)
{
    adoption_t *adoption = &io->adoption;
    adoption->active = true;
    /* Who was heard since an earlier adoption may not have said yet what it holds of this one. */
    io->heard_wanted_ms = INT64_MAX;
    adoption->stale += adoption->asked;
    adoption->asked = false;
    chain_ask(io, PR_SQL_SCHEDULER_CURSORS, NULL, on_cursors);
}

void rows_adopt_again(io_t *io)
{
    if (io->adoption.active && !io->adoption.asked && io->now_ms >= io->adoption.again_ms)
        rows_adopt(io);
}

/* ---- pages of dated jobs ---- */

typedef struct {
    io_t *io;
    int count;
    int64_t endpoint[PAGES_MAX];
    int16_t class_no[PAGES_MAX];
    int32_t most[PAGES_MAX];
    int32_t got[PAGES_MAX];
} pages_t;

static int page_of(const pages_t *pages, int64_t endpoint, int class_no)
{
    for (int i = 0; i < pages->count; i++)
        if (pages->endpoint[i] == endpoint && pages->class_no[i] == class_no)
            return i;
    return -1;
}

bool rows_just_adopted(const io_t *io, const endpoint_row_t *endpoint)
{
    int64_t since_ms = io->adopted_at_ms[endpoint->spec.shard];
    return since_ms != INT64_MIN && io->now_ms - since_ms < io->sched_config.heard_ms;
}

static void on_page(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    pages_t *pages = arg;
    io_t *io = pages->io;
    io->now_ms = pr_loop_now_ms(io->loop);
    bool ok = rows_answered(io, rc, error);
    for (int row = 0; ok && row < pr_rows_count(rows); row++) {
        int64_t endpoint = pr_rows_i64(rows, row, COL_ENDPOINT);
        if (!pr_rows_bool(rows, row, COL_MINE)) { /* what comes after the page */
            pr_sched_dated(io->sched, endpoint, (uint8_t)pr_rows_i16(rows, row, COL_CLASS),
                           pr_rows_i64(rows, row, COL_DUE_IN_MS), io->now_ms);
            continue;
        }
        const endpoint_row_t *known = rows_endpoint(io, endpoint);
        int page = page_of(pages, endpoint, pr_rows_i16(rows, row, COL_CLASS));
        if (page < 0 || !known)
            continue;
        pages->got[page]++;
        (void)rows_add(io, rows, row, true, rows_just_adopted(io, known));
    }
    for (int i = 0; i < pages->count; i++)
        pr_sched_paged(io->sched, pages->endpoint[i], (uint8_t)pages->class_no[i],
                       !ok || pages->got[i] >= pages->most[i], io->now_ms);
    pr_free(pages);
}

void rows_page(io_t *io, const pr_sched_action_t *actions, int count)
{
    while (count > 0) {
        pages_t *pages = PR_NEW(pages_t);
        pages->io = io;
        for (; count > 0 && pages->count < PAGES_MAX; actions++, count--) {
            pages->endpoint[pages->count] = actions->endpoint_id;
            pages->class_no[pages->count] = actions->class_no;
            pages->most[pages->count++] = (int32_t)(actions->count + actions->known);
        }
        pr_params_clear(io->params);
        pr_params_add_i64_array(io->params, pages->endpoint, NULL, pages->count);
        pr_params_add_i16_array(io->params, pages->class_no, pages->count);
        pr_params_add_i64(io->params, io->sched_config.horizon_ms);
        pr_params_add_i32_array(io->params, pages->most, pages->count);
        if (pr_db_query(io->db, PR_SQL_SCHEDULER_PAGE_DUE, io->params, on_page, pages) == PR_OK)
            continue;
        for (int i = 0; i < pages->count; i++) /* not now: the session timer asks for them again */
            pr_sched_page_failed(io->sched, pages->endpoint[i], (uint8_t)pages->class_no[i],
                                 io->now_ms);
        pr_free(pages);
    }
}

/* ---- held jobs past max_age ---- */

typedef struct {
    io_t *io;
    int64_t endpoint_id;
} expiry_t;

static void on_expired(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    expiry_t *expiry = arg;
    if (rows_answered(expiry->io, rc, error))
        for (int row = 0; row < pr_rows_count(rows); row++)
            bus_fact_dead(expiry->io, expiry->endpoint_id, pr_rows_i64(rows, row, 0),
                          (uint32_t)pr_rows_i32(rows, row, 1), "expired", NULL);
    if (rc == PR_OK && pr_rows_count(rows) >= EXPIRE_MOST)
        rows_expire(expiry->io, expiry->endpoint_id); /* there may be more */
    pr_free(expiry);
}

typedef struct {
    int64_t *seqs;
    int count, room;
} seqs_t;

static void collect(void *arg, int64_t seq)
{
    seqs_t *seqs = arg;
    if (seqs->count == seqs->room) {
        seqs->room = seqs->room ? seqs->room * 2 : 64;
        seqs->seqs = pr_realloc(seqs->seqs, (size_t)seqs->room, sizeof *seqs->seqs);
    }
    seqs->seqs[seqs->count++] = seq;
}

void rows_expire(io_t *io, int64_t endpoint_id)
{
    const endpoint_row_t *endpoint = rows_endpoint(io, endpoint_id);
    if (!endpoint || io->session_state != SESSION_LIVE)
        return;
    seqs_t seqs = {0};
    pr_sched_each_seq(io->sched, endpoint_id, collect, &seqs);
    expiry_t *expiry = PR_NEW(expiry_t);
    *expiry = (expiry_t){io, endpoint_id};
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    pr_params_add_i64(io->params, endpoint_id);
    pr_params_add_i64(io->params, endpoint->spec.max_age_ms);
    pr_params_add_i64_array(io->params, seqs.seqs, NULL, seqs.count);
    pr_params_add_i32(io->params, EXPIRE_MOST);
    if (pr_db_query(io->db, PR_SQL_SCHEDULER_EXPIRE_HELD, io->params, on_expired, expiry) != PR_OK)
        pr_free(expiry);
    pr_free(seqs.seqs);
}

/* ---- cancellations ---- */

/* A look at new jobs may have seen one that was cancelled since, and be answered after this: then nothing was there to
 * cancel. So a cancellation is read until every look that may be older than it has been answered; mostly twice. */
static void move_horizon(io_t *io, const char *horizon)
{
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        if ((io->looking >> c & 1u) && io->look_no[c] <= io->cancel_look)
            return;
    if (io->next_horizon[0] != '\0')
        memcpy(io->cancel_horizon, io->next_horizon, sizeof io->cancel_horizon);
    (void)snprintf(io->next_horizon, sizeof io->next_horizon, "%s", horizon);
    io->cancel_look = io->looks;
}

static void on_cancelled(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    io_t *io = arg;
    io->loading_cancelled = false;
    if (!rows_answered(io, rc, error))
        return;
    for (int row = 0; row < pr_rows_count(rows); row++) {
        if (pr_rows_null(rows, row, 1))
            move_horizon(io, pr_rows_text(rows, row, 0));
        else
            pr_sched_cancel(io->sched, pr_rows_i64(rows, row, 1), pr_rows_i64(rows, row, 2),
                            io->now_ms);
    }
}

void rows_load_cancelled(io_t *io)
{
    if (io->loading_cancelled || io->horizon[0] == '\0')
        return;
    if (io->cancel_horizon[0] ==
        '\0') /* before this we held nothing that could have been cancelled */
        memcpy(io->cancel_horizon, io->horizon, sizeof io->cancel_horizon);
    pr_params_clear(io->params);
    pr_params_add_text(io->params, io->cancel_horizon);
    if (pr_db_query(io->db, PR_SQL_SCHEDULER_LOAD_CANCELLED, io->params, on_cancelled, io) == PR_OK)
        io->loading_cancelled = true;
}

/* ---- forgetting ---- */

/* None of the shards that are adopted has a first try up to there. */
static int64_t nothing_up_to(const io_t *io, int class_no)
{
    int64_t least = INT64_MAX;
    for (int shard = 0; shard < 256; shard++)
        if (bit_get(io->adoption.shards, shard) && io->taken_behind[shard][class_no] < least)
            least = io->taken_behind[shard][class_no];
    return least == INT64_MAX ? (int64_t)class_no << CLASS_SHIFT : least;
}

void rows_adopt_less(io_t *io)
{
    for (int c = 0; c < PR_SCHED_CLASSES; c++) {
        int64_t least = nothing_up_to(io, c);
        if (io->adoption.lo[c] < least)
            io->adoption.lo[c] = least;
    }
}

/* Moves commit without waiting for the disk (docs/protocol.md, section 1): a crash of Postgres may undo some that we
 * have read already, and the relay makes them anew, perhaps with other numbers. What lies behind our last answered beat is
 * safe, because a beat does wait for the disk; all first tries after it are read again. */
void rows_reconnect(io_t *io)
{
    adoption_t *adoption = &io->adoption;
    io->loading_endpoints = io->loading_cancelled = false;
    io->new_stale |= io->looking;
    io->full = 0;
    /* another server may have taken over, whose transaction ids are lower */
    io->endpoints_known = false;
    if (!io->cursors_known && !adoption->active)
        return; /* nothing else was read yet */
    int64_t low[PR_SCHED_CLASSES];
    batch_known_low(io, low);
    adoption->former = adoption->former && adoption->active;
    for (size_t i = 0; i < sizeof adoption->shards; i++)
        adoption->shards[i] =
            (uint8_t)(io->owned[i] | (adoption->active ? adoption->shards[i] : 0));
    for (int c = 0; c < PR_SCHED_CLASSES; c++) {
        int64_t from = low[c] - 1 < io->durable[c] ? low[c] - 1 : io->durable[c];
        int64_t least = nothing_up_to(io, c);
        adoption->lo[c] = from > least ? from : least;
        io->hinted[c] = 0;
    }
    pr_sched_unproven(io->sched, io->durable, io->now_ms);
    io->cursors_known = false;
    rows_adopt(io);
}

void rows_read_again(io_t *io, int class_no, int64_t seq)
{
    adoption_t *adoption = &io->adoption;
    if (!io->cursors_known && !adoption->active)
        return; /* everything will be read */
    if (!adoption->active) {
        memset(adoption->shards, 0, sizeof adoption->shards);
        for (int c = 0; c < PR_SCHED_CLASSES; c++)
            adoption->lo[c] = io->cursor[c];
        adoption->former = false;
    }
    for (size_t i = 0; i < sizeof adoption->shards; i++)
        adoption->shards[i] |= io->owned[i];
    if (seq - 1 < adoption->lo[class_no])
        adoption->lo[class_no] = seq - 1;
    rows_adopt(io);
}

void rows_forget(io_t *io)
{
    for (int shard = 0; shard < 256; shard++)
        pr_sched_drop_shard(io->sched, (uint8_t)shard);
    io_actions(io);
    io->cursors_known = false;
    io->loading_cancelled = false;
    io->new_stale |= io->looking;
    io->full = 0;
    io->heard_wanted_ms = INT64_MAX;
    io->cancel_horizon[0] = io->next_horizon[0] = '\0';
    memset(io->hinted, 0, sizeof io->hinted);
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        io->durable[c] = (int64_t)c << CLASS_SHIFT;
}
