/* SPDX-License-Identifier: Apache-2.0
 *
 * Results on the way to Postgres (docs/protocol.md, section 4). Outcomes gather for a few milliseconds or a few
 * hundred, and leave as one statement, which is one transaction; several batches may be under way in the pipeline.
 * A worker is told that its outcome is safe only after the commit.
 *
 * What can go wrong: the COMMIT's answer is lost: the batch is kept and sent again when the session has resumed; tokens make a
 * second time a no-op. Postgres refuses the data (class 22, 23): the batch is halved until the bad result stands alone; it is
 * written once more without its excerpt and error text, then without its row in the log of tries (unrecorded), and if that
 * is refused too a person gets it.
 * Postgres cannot for now (a deadlock, a full disk): the batch is kept and sent again.
 */
#include "actors/scheduler/scheduler_io.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

#define RESEND_MS 250

static batch_t *batch_new(io_t *io, int room)
{
    batch_t *batch = pr_calloc(1, sizeof *batch + (size_t)room * sizeof batch->results[0]);
    batch->io = io;
    return batch;
}

static void result_free(io_t *io, result_t *result)
{
    pr_free(result->action.outcome);
    result->action.outcome = NULL;
    io->unwritten--;
}

static void send_batch(io_t *io, batch_t *batch);

/* ---- the commit's answer ---- */

static void on_late_attempt(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    (void)arg;
    (void)rows; /* none when the job went another way, with the session for example */
    if (rc != PR_OK)
        pr_log_error(PR_LOG_WARN, "attempt.not_recorded", error);
}

/* Its job is gone while it was under way: if that was a cancellation, the try is recorded all the same. */
static void late_attempt(io_t *io, const result_t *result)
{
    const pr_sched_job_t *job = pr_sched_job(io->sched, result->action.seq);
    const outcome_t *outcome = result->action.outcome;
    if (!outcome || !result->action.tried || !job || job->salt != result->action.salt)
        return;
    pr_params_t *p = io->params;
    pr_params_clear(p);
    pr_params_add_uuid(p, io->session);
    pr_params_add_i64(p, job->outbox_id);
    pr_params_add_i64(p, job->endpoint_id);
    pr_params_add_i32(p, (int32_t)(job->tried_before + result->action.attempt + 1));
    pr_params_add_i16(p, (int16_t)outcome->result);
    pr_params_add_i16(p, (int16_t)outcome->http_code);
    pr_params_add_text(p, outcome->error[0] ? outcome->error : NULL);
    pr_params_add_i32(p, (int32_t)outcome->duration_ms);
    pr_params_add_i64(p, outcome->started_at_us);
    pr_params_add_text(p, outcome->worker_id);
    pr_params_add_bytes(p, pr_bytes(outcome->excerpt, outcome->excerpt_len));
    if (pr_db_query(io->db, PR_SQL_SCHEDULER_LATE_ATTEMPT, p, on_late_attempt, NULL) != PR_OK)
        pr_log_limited(PR_LOG_WARN, "attempt.not_recorded", "busy", "seq=%lld",
                       (long long)job->seq);
}

static void applied(io_t *io, result_t *result, bool in_rows)
{
    const pr_sched_action_t *action = &result->action;
    outcome_t *outcome = action->outcome;
    token_t token = {action->salt, action->attempt, action->seq};
    if (in_rows)
        bus_facts(io, result);
    else if (!result->resent)
        pr_log_limited(PR_LOG_INFO, "result.stale", "", "seq=%lld try=%u", (long long)action->seq,
                       action->attempt);
    if (!in_rows)
        late_attempt(io, result);
    if (outcome)
        bus_ack(io, outcome, &token);
    if (action->stray && in_rows) {
        pr_sched_stray_written(io->sched, action->seq, action->salt, action->attempt, io->now_ms);
    } else if (in_rows) {
        pr_sched_written(io->sched, action->seq, action->salt, io->now_ms);
    } else if (!action->stray) {
        /* Cancelled, or applied before: Postgres knows whether the job still lives, and when it is due. */
        if (pr_sched_forget(io->sched, action->seq, action->salt, io->now_ms))
            rows_read_again(io, action->class_no, action->seq);
        pr_sched_dated(io->sched, action->endpoint_id, action->class_no, 0, io->now_ms);
    }
    result_free(io, result);
}

static void committed(io_t *io, batch_t *batch, const pr_rows_t *rows)
{
    /* rows and results are both few hundred and sorted by seq only in part: mark by a map */
    pr_map_t *done = pr_map_new((size_t)batch->count + 1, 0);
    for (int row = 0; row < pr_rows_count(rows); row++)
        if (!pr_rows_null(rows, row, 1))
            (void)!pr_map_put(done, (uint64_t)pr_rows_i64(rows, row, 1), batch, NULL);
    for (int i = 0; i < batch->count; i++) {
        uint64_t seq = (uint64_t)batch->results[i].action.seq;
        applied(io, &batch->results[i], pr_map_get(done, seq) != NULL);
    }
    pr_map_destroy(&done);
    pr_actor_count(io->actor, (uint64_t)batch->count);
    pr_free(batch);
}

/* The row of the try is refused. A retry goes on without it; a delivery has no other record: better a dead letter that
 * a person looks at than a job that is sent again and again, or forgotten. */
static void unrecorded(io_t *io, result_t *result, const char *subject, const pr_error_t *error)
{
    pr_log_error(PR_LOG_ERROR, "attempt.refused", error);
    bus_alert(io, "attempt_refused", subject, "page",
              "Postgres refuses the record of a try; if it delivered, it is a dead letter now");
    result->action.tried = false;
    if (result->action.end != PR_END_DELIVERED)
        return;
    result->action.end = PR_END_DEAD;
    result->action.reason = "rejected";
}

static void poisoned(io_t *io, result_t *result, const pr_error_t *error)
{
    char subject[32];
    (void)snprintf(subject, sizeof subject, "%lld", (long long)result->action.seq);
    if (!result->bare || result->action.tried) {
        if (result->bare)
            unrecorded(io, result, subject, error);
        result->bare = true;
        batch_t *alone = batch_new(io, 1);
        alone->results[alone->count++] = *result;
        send_batch(io, alone);
        return;
    }
    pr_log_error(PR_LOG_ERROR, "result.refused", error);
    bus_alert(io, "result_refused", subject, "page",
              "Postgres refuses the result of a delivery; its job stays undone");
    outcome_t *outcome = result->action.outcome;
    token_t token = {result->action.salt, result->action.attempt, result->action.seq};
    if (outcome)
        bus_ack(io, outcome, &token);
    if (!result->action.stray)
        (void)pr_sched_forget(io->sched, result->action.seq, result->action.salt, io->now_ms);
    result_free(io, result);
}

static void refused(io_t *io, batch_t *batch, const pr_error_t *error)
{
    if (batch->count == 1) {
        poisoned(io, &batch->results[0], error);
    } else {
        int half = batch->count / 2;
        batch_t *first = batch_new(io, half), *rest = batch_new(io, batch->count - half);
        for (int i = 0; i < batch->count; i++) {
            batch_t *to = i < half ? first : rest;
            to->results[to->count++] = batch->results[i];
        }
        send_batch(io, first);
        send_batch(io, rest);
    }
    pr_free(batch);
}

/* It cannot be sent now, was refused for now (a deadlock, a full disk), or its COMMIT's answer was lost (sent): it goes a
 * moment later, once the session lives. UNWRITTEN_MAX stops dispatch long before this list is large. */
static void keep(io_t *io, batch_t *batch, bool sent)
{
    for (int i = 0; sent && i < batch->count; i++)
        batch->results[i].resent = true;
    if (io->nkept == io->kept_room) {
        io->kept_room = io->kept_room ? io->kept_room * 2 : 16;
        io->kept = pr_realloc(io->kept, (size_t)io->kept_room, sizeof(batch_t *));
    }
    io->kept[io->nkept++] = batch;
    io->resend_at_ms = io->now_ms + RESEND_MS;
}

static void drop_batch(io_t *io, batch_t *batch)
{
    for (int i = 0; i < batch->count; i++)
        result_free(io, &batch->results[i]);
    pr_free(batch);
}

static void on_results(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    batch_t *batch = arg;
    io_t *io = batch->io;
    io->now_ms = pr_loop_now_ms(io->loop); /* a retry's delay counts from here: never early */
    io->batches--;
    if (memcmp(batch->session, io->session, sizeof batch->session) != 0) {
        drop_batch(
            io, batch); /* of a session that was lost meanwhile: its workers tell the new owner */
    } else if (rc == PR_OK && !pr_rows_bool(rows, 0, 0)) { /* the fence: this session has ended */
        drop_batch(io, batch);
        session_lost(io);
    } else if (rc == PR_OK) {
        committed(io, batch, rows);
    } else if (rc == PR_BAD) {
        refused(io, batch, error);
    } else if (rc == PR_AGAIN) {
        pr_log_error(PR_LOG_WARN, "result.commit_unknown", error);
        keep(io, batch, true);
    } else {
        drop_batch(io, batch);
        pr_actor_fail(io->actor, PR_FATAL, error);
    }
}

/* ---- the statement ---- */

typedef struct {
    int64_t *seq, *salt, *delay_ms, *new_salt, *started_us;
    int32_t *attempt, *ms;
    int16_t *end, *result, *code;
    bool *no_new_salt, *no_response;
    const char **error, **worker, **reason;
    pr_bytes_t *response;
} columns_t;

static void *column(int count, size_t size)
{
    return pr_calloc((size_t)count, size);
}

static columns_t columns_new(int n)
{
    return (columns_t){
        .seq = column(n, 8),
        .salt = column(n, 8),
        .delay_ms = column(n, 8),
        .new_salt = column(n, 8),
        .started_us = column(n, 8),
        .attempt = column(n, 4),
        .ms = column(n, 4),
        .end = column(n, 2),
        .result = column(n, 2),
        .code = column(n, 2),
        .no_new_salt = column(n, sizeof(bool)),
        .no_response = column(n, sizeof(bool)),
        .error = column(n, sizeof(char *)),
        .worker = column(n, sizeof(char *)),
        .reason = column(n, sizeof(char *)),
        .response = column(n, sizeof(pr_bytes_t)),
    };
}

static void columns_free(columns_t *c)
{
    void *all[] = {c->seq,   c->salt,   c->delay_ms, c->new_salt, c->started_us,  c->attempt,
                   c->ms,    c->end,    c->result,   c->code,     c->no_new_salt, c->no_response,
                   c->error, c->worker, c->reason,   c->response};
    for (size_t i = 0; i < PR_COUNT(all); i++)
        pr_free(all[i]);
}

static void fill(columns_t *c, int i, const result_t *result)
{
    const pr_sched_action_t *action = &result->action;
    const outcome_t *outcome = action->outcome;
    c->seq[i] = action->seq;
    c->salt[i] = (int64_t)action->salt;
    c->attempt[i] = (int32_t)action->attempt;
    c->end[i] = (int16_t)action->end;
    c->delay_ms[i] = action->delay_ms;
    c->new_salt[i] = (int64_t)action->new_salt;
    c->no_new_salt[i] = !action->uncharged;
    c->reason[i] = action->reason;
    c->worker[i] = outcome ? outcome->worker_id : "";
    c->no_response[i] = true;
    if (!outcome || !action->tried)
        return;
    c->result[i] = (int16_t)outcome->result;
    c->code[i] = (int16_t)outcome->http_code;
    c->ms[i] = (int32_t)outcome->duration_ms;
    c->started_us[i] = outcome->started_at_us;
    if (result->bare)
        return;
    c->error[i] = outcome->error[0] ? outcome->error : NULL;
    c->response[i] = pr_bytes(outcome->excerpt, outcome->excerpt_len);
    c->no_response[i] = outcome->excerpt_len == 0;
}

static void send_batch(io_t *io, batch_t *batch)
{
    endpoints_flush_pauses(io);
    int n = batch->count;
    memcpy(batch->session, io->session, sizeof batch->session);
    columns_t c = columns_new(n);
    for (int i = 0; i < n; i++)
        fill(&c, i, &batch->results[i]);
    pr_params_t *p = io->params;
    pr_params_clear(p);
    pr_params_add_uuid(p, io->session);
    pr_params_add_i64_array(p, c.seq, NULL, n);
    pr_params_add_i64_array(p, c.salt, NULL, n);
    pr_params_add_i32_array(p, c.attempt, n);
    pr_params_add_i16_array(p, c.end, n);
    pr_params_add_i64_array(p, c.delay_ms, NULL, n);
    pr_params_add_i64_array(p, c.new_salt, c.no_new_salt, n);
    pr_params_add_i16_array(p, c.result, n);
    pr_params_add_i16_array(p, c.code, n);
    pr_params_add_text_array(p, c.error, n);
    pr_params_add_i32_array(p, c.ms, n);
    pr_params_add_i64_array(p, c.started_us, NULL, n);
    pr_params_add_text_array(p, c.worker, n);
    pr_params_add_bytes_array(p, c.response, c.no_response, n);
    pr_params_add_text_array(p, c.reason, n);
    if (pr_db_query(io->db, PR_SQL_SCHEDULER_APPLY_RESULTS, p, on_results, batch) == PR_OK)
        io->batches++;
    else
        keep(io, batch, false);
    columns_free(&c);
}

/* ---- gathering ---- */

/* The statement takes one result a seq. A stray outcome (of a job that we never had in memory) may have the seq of another
 * job: one that a fail-over undid, whose number was given out again. */
static bool has_seq(const batch_t *batch, int64_t seq)
{
    for (int i = 0; i < batch->count; i++)
        if (batch->results[i].action.seq == seq)
            return true;
    return false;
}

void batch_add(io_t *io, const pr_sched_action_t *action)
{
    if (io->pending && (action->stray || io->pending->strays) &&
        has_seq(io->pending, action->seq)) {
        batch_t *first = PR_STEAL(io->pending);
        if (io->session_state == SESSION_LIVE)
            send_batch(io, first);
        else
            keep(io, first, false);
    }
    if (!io->pending) {
        io->pending = batch_new(io, (int)io->batch_max);
        io->pending_since_ms = io->now_ms;
    }
    io->pending->results[io->pending->count++] = (result_t){.action = *action};
    io->pending->strays = io->pending->strays || action->stray;
    io->unwritten++;
    if (io->pending->count == (int)io->batch_max)
        batch_flush(io, true);
}

void batch_flush(io_t *io, bool now)
{
    bool full = io->pending && io->pending->count == (int)io->batch_max;
    if (full && io->session_state != SESSION_LIVE)
        keep(io, PR_STEAL(io->pending), false);
    if (!io->pending || io->session_state != SESSION_LIVE ||
        (io->batches >= io->batches_max && !full))
        return;
    if (!now && io->now_ms - io->pending_since_ms < io->flush_ms)
        return;
    send_batch(io, PR_STEAL(io->pending));
}

int64_t batch_deadline_ms(const io_t *io)
{
    if (!io->pending || io->session_state != SESSION_LIVE || io->batches >= io->batches_max)
        return INT64_MAX;
    return io->pending_since_ms + io->flush_ms;
}

void batch_resend_due(io_t *io)
{
    if (io->nkept > 0 && io->session_state == SESSION_LIVE && io->now_ms >= io->resend_at_ms)
        batch_resend(io);
}

void batch_resend(io_t *io)
{
    batch_t **again = PR_STEAL(io->kept);
    int count = io->nkept;
    io->nkept = io->kept_room = 0;
    for (int i = 0; i < count; i++)
        send_batch(io, again[i]);
    pr_free(again);
}

/* The session is over: whatever is not written belongs to others. Workers keep the outcomes and tell the new owner. */
void batch_forget(io_t *io)
{
    for (int i = 0; i < io->nkept; i++)
        drop_batch(io, io->kept[i]);
    io->nkept = 0;
    if (io->pending)
        drop_batch(io, PR_STEAL(io->pending));
    io->ndates = io->dates_written = 0;
}

/* ---- due times for first tries that cannot stay in memory ---- */

#define DATES_AT_ONCE 1000

void batch_date(io_t *io, const pr_sched_action_t *action)
{
    if (io->ndates == io->dates_room) {
        io->dates_room = io->dates_room ? io->dates_room * 2 : 256;
        io->dates = pr_realloc(io->dates, (size_t)io->dates_room, sizeof *io->dates);
    }
    io->dates[io->ndates++] =
        (date_t){action->seq, (int64_t)action->salt, action->endpoint_id, action->class_no};
}

static void on_dated(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    io_t *io = arg;
    (void)rows;
    int count = io->dates_written;
    io->dates_written = 0;
    if (rc != PR_OK) {
        if (rc == PR_AGAIN)
            pr_log_error(PR_LOG_WARN, "rows.statement_failed", error);
        else
            pr_actor_fail(io->actor, PR_FATAL, error);
        return; /* they stay in the list and are dated again: a second time changes nothing */
    }
    if (count > io->ndates)
        return; /* the session was lost meanwhile */
    for (int i = 0; i < count; i++)
        pr_sched_date_written(io->sched, io->dates[i].seq, (uint64_t)io->dates[i].salt,
                              io->dates[i].endpoint_id, io->dates[i].class_no, io->now_ms);
    io->ndates -= count;
    memmove(io->dates, io->dates + count, (size_t)io->ndates * sizeof *io->dates);
}

void batch_flush_dates(io_t *io)
{
    if (io->ndates == 0 || io->dates_written > 0 || io->session_state != SESSION_LIVE)
        return;
    int count = io->ndates < DATES_AT_ONCE ? io->ndates : DATES_AT_ONCE;
    int64_t seqs[DATES_AT_ONCE], salts[DATES_AT_ONCE];
    for (int i = 0; i < count; i++) {
        seqs[i] = io->dates[i].seq;
        salts[i] = io->dates[i].salt;
    }
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    pr_params_add_i64_array(io->params, seqs, NULL, count);
    pr_params_add_i64_array(io->params, salts, NULL, count);
    if (pr_db_query(io->db, PR_SQL_SCHEDULER_DATE_FIRST_TRIES, io->params, on_dated, io) == PR_OK)
        io->dates_written = count;
}

void batch_known_low(const io_t *io, int64_t low[PR_SCHED_CLASSES])
{
    static const uint8_t none[32] = {0};
    bool leaving = memcmp(io->leaving, none, sizeof none) != 0;
    pr_sched_low(io->sched, low);
    for (int i = 0; i < io->ndates; i++)
        if (io->dates[i].seq < low[io->dates[i].class_no])
            low[io->dates[i].class_no] = io->dates[i].seq;
    for (int c = 0; c < PR_SCHED_CLASSES; c++) {
        int64_t next = io->cursors_known ? io->cursor[c] + 1 : INT64_MAX;
        if (io->adoption.active && io->adoption.lo[c] + 1 < next)
            next = io->adoption.lo[c] + 1; /* not read yet */
        if (next == INT64_MAX)
            next = (int64_t)c << CLASS_SHIFT;
        if (leaving && io->leave_low[c] < next)
            next = io->leave_low[c]; /* born since in shards that we give up: nobody read it */
        if (next < low[c])
            low[c] = next;
    }
}

/* Where a new owner must begin to look for first tries, were we to die now: or before, where the low of the shard that it takes
 * says that there is nothing. The beginning of each class therefore means that we do not know. */
void batch_low(const io_t *io, int64_t low[PR_SCHED_CLASSES])
{
    /* A second beat since an acquisition that is not answered (session_close sends one): end_session() may trust it. */
    bool beside = io->acquiring && io->beating;
    batch_known_low(io, low);
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        if (beside || io->owned_unknown) /* shards may be ours whose low we never saw */
            low[c] = (int64_t)c << CLASS_SHIFT;
}
