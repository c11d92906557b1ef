/* SPDX-License-Identifier: Apache-2.0
 *
 * What is due, and the dispatch rows. A row is committed before a worker hears of the call (docs/protocol.md, section 6): so a
 * final payment is not asked about, and what was under way when everything stopped is known.
 */
#include "actors/gateway-scheduler/gateway_scheduler_io.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "gateway/profile.h"

#include <string.h>

#define HUNGRY_MS 20     /* between two looks while there is more than memory holds */
#define STATEMENTS_MAX 2 /* of dispatch, under way */
#define UNWRITTEN_BATCHES \
    8 /* of outcomes: a database that does not keep up stops dispatch, not memory, and what is asked again after a takeover is bounded */
#define EXPIRE_MAX 500
#define UPKEEP_MAX 100
#define SWEEP_MAX 10000
#define SWEEP_MS ((int64_t)24 * 3600 * 1000)
#define SWEEP_FIRST_MS 60000
#define START_MS 2000 /* a call may wait for so long in a worker, or on its way there */

typedef struct {
    io_t *io;
    uint32_t epoch;
    int most; /* look */
    int count;
    int64_t ids[]; /* dispatch */
} asked_t;

static asked_t *asked_new(io_t *io, int count)
{
    asked_t *asked = pr_calloc(1, sizeof *asked + (size_t)count * sizeof asked->ids[0]);
    asked->io = io;
    asked->epoch = io->epoch;
    return asked;
}

static bool ask(io_t *io, int statement, pr_db_result_fn *fn, asked_t *asked)
{
    if (pr_db_query(io->db, statement, io->params, fn, asked) == PR_OK)
        return true;
    pr_free(asked);
    return false;
}

static void session_param(io_t *io)
{
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
}

/* ---- looking ---- */

enum { DUE_CALL, DUE_CHANNEL, DUE_CLASS, DUE_OPERATION, DUE_IN_MS, DUE_PRIORITY };

/* Rows of one channel, class and priority stand together; `most` of them mean that there are more. */
static void take_due(io_t *io, const pr_rows_t *rows, int most)
{
    int64_t next_ms = INT64_MAX, last_no = 0;
    int same = 0, last_class = -1, last_priority = -1;
    for (int n = 0; n < pr_rows_count(rows); n++) {
        int64_t no = channel_no(pr_rows_text(rows, n, DUE_CHANNEL));
        int class_no = pr_rows_i32(rows, n, DUE_CLASS);
        int priority = pr_rows_i32(rows, n, DUE_PRIORITY);
        int64_t in_ms = pr_rows_i64(rows, n, DUE_IN_MS);
        bool goes_on = no == last_no && class_no == last_class && priority == last_priority;
        same = goes_on ? same + 1 : 1;
        last_no = no;
        last_class = class_no;
        last_priority = priority;
        if (in_ms > 0) {
            if (in_ms < next_ms)
                next_ms = in_ms;
            continue;
        }
        pr_calls_row_t row = {.id = pr_rows_i64(rows, n, DUE_CALL),
                              .channel_no = no,
                              .class_no =
                                  class_no == PR_CALLS_MONEY ? PR_CALLS_MONEY : PR_CALLS_QUERY,
                              .operation = pr_operation_find(pr_rows_text(rows, n, DUE_OPERATION)),
                              .backlog = priority > 0};
        (void)pr_calls_add(io->calls, &row);
        if (same == most)
            pr_calls_more(io->calls, no);
    }
    int64_t wait_ms = next_ms < io->poll_ms ? next_ms : io->poll_ms;
    io->look_at_ms = io->now_ms + wait_ms;
}

static void on_looked(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE asked_t *asked = arg;
    io_t *io = asked->io;
    io->now_ms = pr_loop_now_ms(io->loop);
    if (asked->epoch == io->epoch)
        io->looking = false;
    if (!session_answered(io, asked->epoch, rc, "due.look_failed", error))
        return;
    pr_calls_looking(io->calls);
    take_due(io, rows, asked->most);
}

int64_t due_deadline_ms(const io_t *io)
{
    if (!session_may_dispatch(io) || io->looking || pr_map_count(io->channels) == 0)
        return INT64_MAX;
    int64_t hungry_ms = io->looked_ms + HUNGRY_MS;
    return pr_calls_hungry(io->calls) && hungry_ms < io->look_at_ms ? hungry_ms : io->look_at_ms;
}

void due_look(io_t *io)
{
    if (io->now_ms < due_deadline_ms(io))
        return;
    int16_t shards[SHARDS];
    int count = 0;
    for (int n = 0; n < SHARDS; n++)
        if (bit_get(io->owned, n) && !bit_get(io->leaving, n))
            shards[count++] = (int16_t)n;
    session_param(io);
    pr_params_add_i16_array(io->params, shards, count);
    pr_params_add_i32(io->params, (int32_t)io->keep);
    asked_t *asked = asked_new(io, 0);
    asked->most = (int)io->keep;
    io->looking = ask(io, PR_SQL_GATEWAY_SCHEDULER_DUE, on_looked, asked);
    io->looked_ms = io->now_ms;
    io->look_at_ms = io->now_ms + io->poll_ms;
}

/* ---- dispatch rows ---- */

enum {
    OUT_CALL,
    OUT_DROPPED,
    OUT_SALT,
    OUT_ATTEMPT,
    OUT_CHANNEL,
    OUT_CLASS,
    OUT_OPERATION,
    OUT_PAYMENT,
    OUT_REFUND,
    OUT_REQUEST_NO,
    OUT_REFERENCE,
    OUT_REFUND_NO,
    OUT_REFUND_REFERENCE,
    OUT_ORDER_NO,
    OUT_CURRENCY,
    OUT_DESCRIPTION,
    OUT_REASON,
    OUT_NOTIFY_URL,
    OUT_RETURN_URL,
    OUT_AMOUNT_MINOR,
    OUT_REFUND_MINOR,
    OUT_EXPIRES_AT_US,
    OUT_REQUEST,
    OUT_PAID_BEFORE,
    OUT_AGE_MS,
    OUT_EXPIRES_MS,
    OUT_POLLS,
    OUT_SOONER,
    OUT_POLLED_AT_EXPIRY,
    OUT_TRIES,
    OUT_FAILURES,
    OUT_BUILT_AT_US,
    OUT_REQUEST_SHA256,
};

static const int texts[] = {OUT_REQUEST_NO, OUT_REFERENCE, OUT_REFUND_NO,   OUT_REFUND_REFERENCE,
                            OUT_ORDER_NO,   OUT_CURRENCY,  OUT_DESCRIPTION, OUT_REASON,
                            OUT_NOTIFY_URL, OUT_RETURN_URL};

static payload_t *payload_new(const pr_rows_t *rows, int n)
{
    size_t len = pr_rows_bytes(rows, n, OUT_REQUEST).len;
    for (size_t i = 0; i < PR_COUNT(texts); i++)
        len += strlen(pr_rows_text(rows, n, texts[i])) + 1;
    payload_t *payload = pr_calloc(1, sizeof *payload + len);
    Postrider__V1__PaymentFacts *facts = &payload->facts;
    postrider__v1__payment_facts__init(facts);
    char **const to[] = {&facts->request_no,       &facts->reference, &facts->refund_no,
                         &facts->refund_reference, &facts->order_no,  &facts->currency,
                         &facts->description,      &facts->reason,    &facts->notify_url,
                         &facts->return_url};
    _Static_assert(PR_COUNT(to) == PR_COUNT(texts), "one each");
    char *at = payload->text;
    for (size_t i = 0; i < PR_COUNT(texts); i++) {
        const char *text = pr_rows_text(rows, n, texts[i]);
        size_t bytes = strlen(text) + 1;
        memcpy(at, text, bytes);
        *to[i] = at;
        at += bytes;
    }
    pr_bytes_t request = pr_rows_bytes(rows, n, OUT_REQUEST);
    if (request.len > 0)
        memcpy(at, request.data, request.len);
    facts->request = (ProtobufCBinaryData){request.len, (uint8_t *)at};
    facts->amount_minor = pr_rows_i64(rows, n, OUT_AMOUNT_MINOR);
    facts->refund_minor = pr_rows_i64(rows, n, OUT_REFUND_MINOR);
    facts->expires_at_us = pr_rows_i64(rows, n, OUT_EXPIRES_AT_US);
    facts->paid_before = pr_rows_bool(rows, n, OUT_PAID_BEFORE);
    facts->built_at_us = pr_rows_i64(rows, n, OUT_BUILT_AT_US);
    const char *digest = pr_rows_text(rows, n, OUT_REQUEST_SHA256);
    payload->knows_digest = strlen(digest) == 2 * sizeof payload->digest &&
                            pr_unhex(digest, 2 * sizeof payload->digest, payload->digest);
    postrider__v1__call_subject__init(&payload->subject);
    payload->subject.payment_id = pr_rows_i64(rows, n, OUT_PAYMENT);
    payload->subject.refund_id = pr_rows_i64(rows, n, OUT_REFUND);
    payload->subject.operation = pr_operation_find(pr_rows_text(rows, n, OUT_OPERATION));
    payload->channel_no = channel_no(pr_rows_text(rows, n, OUT_CHANNEL));
    payload->try_number = (uint32_t)pr_rows_i32(rows, n, OUT_ATTEMPT);
    return payload;
}

static pr_calls_facts_t facts_of(const io_t *io, const pr_rows_t *rows, int n)
{
    return (pr_calls_facts_t){
        .token = {.id = pr_rows_i64(rows, n, OUT_CALL),
                  .salt = (uint64_t)pr_rows_i64(rows, n, OUT_SALT),
                  .attempt = (uint32_t)pr_rows_i32(rows, n, OUT_ATTEMPT)},
        .subject = {.payment_id = pr_rows_i64(rows, n, OUT_PAYMENT),
                    .refund_id = pr_rows_i64(rows, n, OUT_REFUND),
                    .operation = pr_operation_find(pr_rows_text(rows, n, OUT_OPERATION))},
        .lease_ms = io->lease_ms,
        .failures = (uint32_t)pr_rows_i32(rows, n, OUT_FAILURES),
        .payment = {.age_ms = pr_rows_i64(rows, n, OUT_AGE_MS),
                    .expires_ms = pr_rows_i64(rows, n, OUT_EXPIRES_MS),
                    .polls = (uint32_t)pr_rows_i32(rows, n, OUT_POLLS),
                    .sooner = (uint32_t)pr_rows_i32(rows, n, OUT_SOONER),
                    .polled_at_expiry = pr_rows_bool(rows, n, OUT_POLLED_AT_EXPIRY)},
    };
}

static void take_dispatched(io_t *io, const pr_rows_t *rows, int n)
{
    int64_t id = pr_rows_i64(rows, n, OUT_CALL);
    if (!pr_rows_null(rows, n, OUT_DROPPED)) {
        pr_log_limited(PR_LOG_INFO, "call.dropped", pr_rows_text(rows, n, OUT_DROPPED),
                       "call=%lld reason=%s", (long long)id, pr_rows_text(rows, n, OUT_DROPPED));
        pr_calls_refused(io->calls, id);
        return;
    }
    pr_calls_facts_t facts = facts_of(io, rows, n);
    payload_t *payload = payload_new(rows, n);
    if (!pr_calls_committed(io->calls, &facts, payload, io->now_ms))
        pr_free(payload);
}

static void on_dispatched(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE asked_t *asked = arg;
    io_t *io = asked->io;
    io->now_ms = pr_loop_now_ms(io->loop);
    if (asked->epoch != io->epoch)
        return;
    io->dispatching--;
    bool good = session_answered(io, asked->epoch, rc, "call.dispatch_failed", error);
    if (asked->epoch != io->epoch)
        return; /* the answer ended the session */
    for (int n = 0; good && n < pr_rows_count(rows); n++)
        take_dispatched(io, rows, n);
    for (int i = 0; i < asked->count; i++) /* those that had no row: somebody else has them */
        pr_calls_refused(io->calls, asked->ids[i]);
}

static bool dispatch(io_t *io)
{
    uint64_t credit[PR_CALLS_CLASSES];
    for (uint32_t c = 0; c < PR_CALLS_CLASSES; c++)
        credit[c] = pr_work_desk_room(io->desk, c);
    asked_t *asked = asked_new(io, DISPATCH_MAX);
    asked->count = pr_calls_pick(io->calls, credit, asked->ids, DISPATCH_MAX, io->now_ms);
    if (asked->count == 0) {
        pr_free(asked);
        return false;
    }
    int32_t leases[DISPATCH_MAX];
    int64_t ids[DISPATCH_MAX];
    int count = asked->count;
    memcpy(ids, asked->ids, sizeof ids);
    for (int i = 0; i < count; i++)
        leases[i] = (int32_t)io->lease_ms;
    session_param(io);
    pr_params_add_i64_array(io->params, ids, NULL, count);
    pr_params_add_i32_array(io->params, leases, count);
    if (ask(io, PR_SQL_GATEWAY_SCHEDULER_DISPATCH, on_dispatched, asked)) {
        io->dispatching++;
        return true;
    }
    for (int i = 0; i < count; i++)
        pr_calls_refused(io->calls, ids[i]);
    return false;
}

void due_dispatch(io_t *io)
{
    while (session_may_dispatch(io) && io->dispatching < STATEMENTS_MAX &&
           io->unwritten < UNWRITTEN_BATCHES * io->batch_max && dispatch(io)) {
    }
}

/* ---- what a former owner had under way ---- */

enum {
    ORPHAN_CALL,
    ORPHAN_CHANNEL,
    ORPHAN_CLASS,
    ORPHAN_SALT,
    ORPHAN_ATTEMPT,
    ORPHAN_OPERATION,
    ORPHAN_PAYMENT,
    ORPHAN_REFUND,
    ORPHAN_AGE_MS,
};

/* Their workers may still be making them: they hold their places until they are told, or too old for that. */
static void on_orphaned(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE asked_t *asked = arg;
    io_t *io = asked->io;
    if (!session_answered(io, asked->epoch, rc, "call.adopt_failed", error))
        return;
    for (int n = 0; n < pr_rows_count(rows); n++) {
        pr_calls_facts_t facts = {
            .token = {.id = pr_rows_i64(rows, n, ORPHAN_CALL),
                      .salt = (uint64_t)pr_rows_i64(rows, n, ORPHAN_SALT),
                      .attempt = (uint32_t)pr_rows_i32(rows, n, ORPHAN_ATTEMPT)},
            .subject = {.payment_id = pr_rows_i64(rows, n, ORPHAN_PAYMENT),
                        .refund_id = pr_rows_i64(rows, n, ORPHAN_REFUND),
                        .operation = pr_operation_find(pr_rows_text(rows, n, ORPHAN_OPERATION))},
            .lease_ms = io->timeout_ms + START_MS - pr_rows_i64(rows, n, ORPHAN_AGE_MS),
            .payment = {.expires_ms = INT64_MAX / 4},
        };
        pr_calls_adopt(io->calls, channel_no(pr_rows_text(rows, n, ORPHAN_CHANNEL)),
                       (uint8_t)pr_rows_i32(rows, n, ORPHAN_CLASS), &facts, io->now_ms);
    }
    if (pr_rows_count(rows) > 0)
        pr_log_info("call.adopted", "calls=%d", pr_rows_count(rows));
}

void due_adopt(io_t *io)
{
    session_param(io);
    (void)ask(io, PR_SQL_GATEWAY_SCHEDULER_ORPHANED, on_orphaned, asked_new(io, 0));
}

/* ---- pauses, for whoever owns the channel next ---- */

static void on_pause_kept(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE asked_t *asked = arg;
    (void)rows;
    (void)session_answered(asked->io, asked->epoch, rc, "pause.keep_failed", error);
}

void due_keep_pause(io_t *io, int64_t no, int64_t ms)
{
    const channel_row_t *row = channels_find(io, no);
    if (!row || !io->live)
        return;
    session_param(io);
    pr_params_add_text(io->params, row->id);
    pr_params_add_i64(io->params, ms);
    (void)ask(io, PR_SQL_GATEWAY_SCHEDULER_KEEP_PAUSE, on_pause_kept, asked_new(io, 0));
}

/* ---- leases, upkeep, the daily sweep ---- */

static void on_expired(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE asked_t *asked = arg;
    io_t *io = asked->io;
    if (asked->epoch == io->epoch)
        io->expiring = false;
    if (!session_answered(io, asked->epoch, rc, "lease.expire_failed", error))
        return;
    int expired = pr_rows_i32(rows, 0, 0);
    if (expired == 0)
        return;
    pr_log_info("lease.expired", "calls=%d", expired);
    io->look_at_ms = 0;
    if (expired >= EXPIRE_MAX)
        due_expire(io);
}

void due_expire(io_t *io)
{
    if (io->expiring)
        return;
    session_param(io);
    pr_params_add_i32(io->params, EXPIRE_MAX);
    io->expiring = ask(io, PR_SQL_GATEWAY_SCHEDULER_EXPIRE_LEASES, on_expired, asked_new(io, 0));
}

static void on_upkept(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE asked_t *asked = arg;
    io_t *io = asked->io;
    if (asked->epoch == io->epoch)
        io->keeping_up = false;
    if (!session_answered(io, asked->epoch, rc, "upkeep.failed", error))
        return;
    int done = pr_rows_i32(rows, 0, 0);
    if (done > 0)
        pr_log_info("upkeep.done", "webhooks=%d", done);
}

void due_upkeep(io_t *io)
{
    if (io->keeping_up)
        return;
    session_param(io);
    pr_params_add_i32(io->params, UPKEEP_MAX);
    io->keeping_up = ask(io, PR_SQL_GATEWAY_SCHEDULER_UPKEEP, on_upkept, asked_new(io, 0));
}

static void on_swept(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    PR_CLEANUP_FREE asked_t *asked = arg;
    io_t *io = asked->io;
    if (asked->epoch == io->epoch)
        io->sweeping = false;
    if (!session_answered(io, asked->epoch, rc, "sweep.failed", error))
        return;
    for (int n = 0; n < pr_rows_count(rows); n++) {
        if (pr_rows_i64(rows, n, 1) == 0)
            continue;
        const char *what = pr_rows_text(rows, n, 0);
        pr_log_warn("sweep.found", "what=%s found=%lld repaired=%lld tasks=%lld", what,
                    (long long)pr_rows_i64(rows, n, 1), (long long)pr_rows_i64(rows, n, 2),
                    (long long)pr_rows_i64(rows, n, 3));
        io_alert(io, "sweep_found", what, "warn", "the daily sweep found what slipped through");
    }
}

void due_sweep(io_t *io)
{
    if (io->sweep_at_ms == 0) /* spread, so that two schedulers do not sweep at once */
        io->sweep_at_ms = io->now_ms + SWEEP_FIRST_MS + (int64_t)(pr_random_u64() % SWEEP_FIRST_MS);
    if (io->sweeping || io->now_ms < io->sweep_at_ms)
        return;
    pr_params_clear(io->params);
    pr_params_add_i32(io->params, SWEEP_MAX);
    io->sweeping = ask(io, PR_SQL_GATEWAY_SCHEDULER_SWEEP, on_swept, asked_new(io, 0));
    if (io->sweeping)
        io->sweep_at_ms = io->now_ms + SWEEP_MS;
}
