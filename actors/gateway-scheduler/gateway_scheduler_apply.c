/* SPDX-License-Identifier: Apache-2.0
 *
 * Outcomes on the way to Postgres. They gather for a few milliseconds and leave as one statement, which is one transaction; a
 * worker is told that its outcome is safe only after the commit.
 *
 * What can go wrong: the connection is lost: the outcomes are forgotten, and the worker, which was not told, says them again;
 * tokens make a second time harmless. Postgres cannot for now: the same. Postgres refuses the data (class 22, 23): the batch is
 * halved until the bad one stands alone; it is written once more without its evidence, as unknown, so that a question follows;
 * if that is refused too a person hears of it, and the lease ends the call.
 */
#include "actors/gateway-scheduler/gateway_scheduler_io.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

#define BATCHES_MAX 2 /* on their way at once */
#define TEXT_MAX_BYTES ((size_t)64 << 20)

struct batch_t {
    io_t *io;
    uint32_t epoch;
    int count;
    pr_calls_action_t results[];
};

static const char refused_evidence[] =
    "{\"object\":\"payment\",\"status\":\"UNKNOWN\",\"action\":\"query_first\",\"final\":false,"
    "\"reason\":\"evidence_refused\"}";

static batch_t *batch_new(io_t *io, int room)
{
    batch_t *batch = pr_calloc(1, sizeof *batch + (size_t)room * sizeof batch->results[0]);
    batch->io = io;
    batch->epoch = io->epoch;
    return batch;
}

static void free_outcomes(batch_t *batch)
{
    for (int i = 0; i < batch->count; i++)
        pr_free(batch->results[i].outcome);
}

static void send_batch(io_t *io, batch_t *batch);

/* ---- the commit's answer ---- */

static void ack(io_t *io, const pr_calls_action_t *result)
{
    const outcome_t *outcome = result->outcome;
    Postrider__V1__Token token = POSTRIDER__V1__TOKEN__INIT;
    token.salt = result->token.salt;
    token.attempt = result->token.attempt;
    token.seq = result->token.id;
    if (outcome)
        pr_work_desk_ack(io->desk, outcome->link, outcome->worker_id, &token);
}

enum { ROW_CALL, ROW_VERDICT, ROW_NEXT, ROW_NEXT_IN_MS, ROW_CHANNEL };

/* What became of it, for the log; and a call that is due soon is looked for then. */
static void read_row(io_t *io, const pr_rows_t *rows, int n)
{
    const char *verdict = pr_rows_text(rows, n, ROW_VERDICT);
    if (strncmp(verdict, "stale token", 11) == 0)
        pr_log_limited(PR_LOG_INFO, "outcome.late", "", "call=%lld verdict=%s",
                       (long long)pr_rows_i64(rows, n, ROW_CALL), verdict);
    if (pr_rows_null(rows, n, ROW_NEXT_IN_MS))
        return;
    int64_t next_at_ms = io->now_ms + pr_rows_i64(rows, n, ROW_NEXT_IN_MS);
    if (next_at_ms < io->look_at_ms)
        io->look_at_ms = next_at_ms;
}

static void committed(io_t *io, const batch_t *batch, const pr_rows_t *rows)
{
    for (int n = 0; n < pr_rows_count(rows); n++)
        read_row(io, rows, n);
    for (int i = 0; i < batch->count; i++) {
        const pr_calls_action_t *result = &batch->results[i];
        ack(io, result);
        pr_calls_applied(io->calls, &result->token);
    }
    io->unwritten -= (uint32_t)batch->count;
    pr_actor_count(io->actor, (uint64_t)batch->count);
}

static void not_now(io_t *io, const batch_t *batch)
{
    for (int i = 0; i < batch->count; i++)
        pr_calls_not_applied(io->calls, &batch->results[i].token);
    io->unwritten -= (uint32_t)batch->count;
}

static void alone_refused(io_t *io, pr_calls_action_t *result, const pr_error_t *error)
{
    outcome_t *outcome = result->outcome;
    if (outcome && !outcome->bare) {
        pr_log_error(PR_LOG_ERROR, "outcome.evidence_refused", error);
        outcome_t *bare = pr_calloc(1, sizeof *bare + sizeof refused_evidence);
        *bare = *outcome;
        bare->bare = true;
        bare->len = sizeof refused_evidence - 1;
        bare->exchange_len = 0;
        memcpy(bare->evidence, refused_evidence, sizeof refused_evidence);
        pr_free(outcome);
        result->outcome = bare;
        batch_t *again = batch_new(io, 1);
        again->results[again->count++] = *result;
        result->outcome = NULL;
        send_batch(io, again);
        return;
    }
    char subject[32];
    (void)snprintf(subject, sizeof subject, "%lld", (long long)result->token.id);
    pr_log_error(PR_LOG_ERROR, "outcome.refused", error);
    io_alert(io, "outcome_refused", subject, "page",
             "Postgres refuses the outcome of a gateway call; it is asked again after its lease");
    ack(io, result);
    pr_calls_applied(io->calls, &result->token);
    io->unwritten--;
}

static void halve(io_t *io, batch_t *batch, const pr_error_t *error)
{
    if (batch->count == 1) {
        alone_refused(io, &batch->results[0], error);
        return;
    }
    int half = batch->count / 2;
    batch_t *first = batch_new(io, half), *rest = batch_new(io, batch->count - half);
    for (int i = 0; i < batch->count; i++) {
        batch_t *to = i < half ? first : rest;
        to->results[to->count++] = batch->results[i];
        batch->results[i].outcome = NULL;
    }
    send_batch(io, first);
    send_batch(io, rest);
}

static void on_applied(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    batch_t *batch = arg;
    io_t *io = batch->io;
    io->now_ms = pr_loop_now_ms(io->loop);
    if (batch->epoch == io->epoch) {
        io->batches--;
        bool refused = rc == PR_BAD && strcmp(error->code, "PR009") != 0;
        if (refused)
            halve(io, batch, error);
        else if (session_answered(io, batch->epoch, rc, "outcome.apply_failed", error))
            committed(io, batch, rows);
        else if (batch->epoch == io->epoch)
            not_now(io, batch);
    }
    free_outcomes(batch);
    pr_free(batch);
}

/* ---- the statement ---- */

static pr_rc_t write_result(pr_buffer_t *text, const pr_calls_action_t *result)
{
    const outcome_t *outcome = result->outcome;
    const pr_calls_subject_t *subject = &result->subject;
    if (pr_buffer_printf(
            text,
            "{\"call_id\":%lld,\"salt\":%lld,\"attempt\":%u,\"payment_id\":%lld,"
            "\"operation\":\"%s\",\"next_reason\":\"%s\",\"sooner\":%u,\"at_expiry\":%s,\"returned\":%s",
            (long long)result->token.id, (long long)(int64_t)result->token.salt,
            result->token.attempt, (long long)subject->payment_id,
            pr_operation_name(subject->operation), result->reason, result->sooner,
            result->at_expiry ? "true" : "false", result->returned ? "true" : "false") != PR_OK)
        return PR_BAD;
    if (subject->refund_id != 0 &&
        pr_buffer_printf(text, ",\"refund_id\":%lld", (long long)subject->refund_id) != PR_OK)
        return PR_BAD;
    if (result->delay_ms >= 0 &&
        pr_buffer_printf(text, ",\"next_ms\":%lld", (long long)result->delay_ms) != PR_OK)
        return PR_BAD;
    if (outcome && !result->returned &&
        (pr_buffer_append_text(text, ",\"evidence\":") != PR_OK ||
         pr_buffer_append(text, outcome->evidence, outcome->len) != PR_OK))
        return PR_BAD;
    return pr_buffer_append_text(text, "}");
}

/* Bytes, not text: whatever they are, they never refuse an outcome. */
static void add_exchanges(io_t *io, const batch_t *batch)
{
    pr_bytes_t *bytes = pr_calloc((size_t)batch->count, sizeof *bytes);
    bool *none = pr_calloc((size_t)batch->count, sizeof *none);
    for (int i = 0; i < batch->count; i++) {
        const outcome_t *outcome = batch->results[i].outcome;
        none[i] = !outcome || outcome->exchange_len == 0;
        if (!none[i])
            bytes[i] = pr_bytes(outcome->evidence + outcome->len + 1, outcome->exchange_len);
    }
    pr_params_add_bytes_array(io->params, bytes, none, batch->count);
    pr_free(bytes);
    pr_free(none);
}

static void send_batch(io_t *io, batch_t *batch)
{
    pr_buffer_t text;
    pr_buffer_init(&text, TEXT_MAX_BYTES);
    pr_rc_t rc = pr_buffer_append_text(&text, "[");
    for (int i = 0; rc == PR_OK && i < batch->count; i++) {
        rc = i > 0 ? pr_buffer_append_text(&text, ",") : PR_OK;
        if (rc == PR_OK)
            rc = write_result(&text, &batch->results[i]);
    }
    if (rc == PR_OK)
        rc = pr_buffer_append_text(&text, "]");
    pr_assert(rc == PR_OK); /* apply_batch and the wire's limits bound it far below */
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    pr_params_add_text(io->params, pr_buffer_text(&text));
    add_exchanges(io, batch);
    /* the fence is the session's row: any connection may stand behind it */
    bool beside = pr_db_ready(io->writer);
    if (pr_db_query(beside ? io->writer : io->db, beside ? 0 : PR_SQL_GATEWAY_SCHEDULER_APPLY,
                    io->params, on_applied, batch) == PR_OK) {
        io->batches++;
    } else {
        not_now(io, batch);
        free_outcomes(batch);
        pr_free(batch);
    }
    pr_buffer_free(&text);
}

/* ---- gathering ---- */

void apply_add(io_t *io, const pr_calls_action_t *action)
{
    if (!io->pending) {
        io->pending = batch_new(io, (int)io->batch_max);
        io->pending_since_ms = io->now_ms;
    }
    io->pending->results[io->pending->count++] = *action;
    io->unwritten++;
    if (io->pending->count == (int)io->batch_max)
        apply_flush(io, true);
}

void apply_flush(io_t *io, bool now)
{
    bool full = io->pending && io->pending->count == (int)io->batch_max;
    if (!io->pending || (io->batches >= BATCHES_MAX && !full))
        return;
    if (now || io->now_ms - io->pending_since_ms >= io->flush_ms)
        send_batch(io, PR_STEAL(io->pending));
}

int64_t apply_deadline_ms(const io_t *io)
{
    return io->pending && io->batches < BATCHES_MAX ? io->pending_since_ms + io->flush_ms
                                                    : INT64_MAX;
}

void apply_forget(io_t *io)
{
    if (io->pending) {
        free_outcomes(io->pending);
        pr_free(io->pending);
        io->pending = NULL;
    }
    io->batches = 0;
    io->unwritten = 0;
}
