/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls to workers, and their words back.
 */
#include "actors/gateway-scheduler/gateway_scheduler_io.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "gateway/profile.h"

#include <jansson.h>

#include <stdio.h>
#include <string.h>

/* Half of what an envelope may hold: the last job, however large, fits into the other half. */
#define FRAME_BYTES (PR_WIRE_FRAME_MAX / 2)
_Static_assert(FRAME_BYTES + PR_WIRE_JOB_MAX < PR_WIRE_FRAME_MAX, "the last job fits");

/* ---- out ---- */

typedef struct {
    Postrider__V1__Job jobs[PR_WORK_JOBS];
    Postrider__V1__Job *ptrs[PR_WORK_JOBS];
    Postrider__V1__Token tokens[PR_WORK_JOBS];
    Postrider__V1__Call calls[PR_WORK_JOBS];
    Postrider__V1__ChannelSpec channels[PR_WORK_JOBS];
    pr_calls_sent_t sent[PR_WORK_JOBS];
} frame_t;

/* Strings of the row and the payload are lent to the message; protobuf-c only reads them. */
static void fill_channel(Postrider__V1__ChannelSpec *to, const channel_row_t *row)
{
    postrider__v1__channel_spec__init(to);
    to->id = row->id;
    to->version = (uint64_t)row->version;
    to->profile = row->profile;
    to->base_url = row->base_url;
    to->parameters = row->parameters;
    to->n_parameters = row->nparameters;
    to->exponents = row->exponents;
    to->n_exponents = row->nexponents;
    to->tls_ca = row->tls_ca;
}

static void fill_job(const io_t *io, frame_t *frame, size_t i)
{
    const pr_calls_sent_t *sent = &frame->sent[i];
    payload_t *payload = sent->payload;
    const channel_row_t *row = channels_find(io, sent->channel_no);
    pr_assert(row);
    Postrider__V1__Token *token = &frame->tokens[i];
    postrider__v1__token__init(token);
    token->salt = sent->token.salt;
    token->attempt = sent->token.attempt;
    token->seq = sent->token.id;
    fill_channel(&frame->channels[i], row);
    Postrider__V1__Call *call = &frame->calls[i];
    postrider__v1__call__init(call);
    call->operation = payload->subject.operation;
    call->subject = &payload->subject;
    call->channel = &frame->channels[i];
    call->facts = &payload->facts;
    if (payload->knows_digest)
        call->request = (ProtobufCBinaryData){sizeof payload->digest, payload->digest};
    Postrider__V1__Job *to = &frame->jobs[i];
    postrider__v1__job__init(to);
    to->token = token;
    to->kind = POSTRIDER__V1__JOB_KIND__JOB_KIND_CALL;
    to->shard = sent->shard;
    to->endpoint_id = sent->channel_no;
    to->class_ = sent->class_no;
    to->order_no = payload->facts.order_no;
    to->try_number = payload->try_number;
    to->timeout_ms = (uint32_t)io->timeout_ms;
    to->lease_ms = (uint32_t)(sent->lease_at_ms > io->now_ms ? sent->lease_at_ms - io->now_ms : 1);
    to->call = call;
    frame->ptrs[i] = to;
}

/* One frame of the class; false: there was nothing, or it could not leave. */
static bool send_frame(io_t *io, uint8_t class_no)
{
    frame_t frame;
    uint64_t room = pr_work_desk_room(io->desk, class_no);
    size_t count = 0, bytes = 0;
    while (count < PR_WORK_JOBS && count < room && bytes < FRAME_BYTES &&
           pr_calls_send(io->calls, class_no, &frame.sent[count], io->now_ms)) {
        fill_job(io, &frame, count);
        bytes += postrider__v1__job__get_packed_size(&frame.jobs[count]) + 8; /* its tag, length */
        count++;
    }
    size_t left = count > 0 ? pr_work_desk_send(io->desk, class_no, frame.ptrs, count) : 0;
    for (size_t i = 0; i < left; i++)
        pr_free(frame.sent[i].payload);
    for (size_t i = count; i-- > left;)
        pr_calls_unsent(io->calls, &frame.sent[i]);
    return left > 0;
}

void jobs_send(io_t *io)
{
    for (uint8_t class_no = 0; class_no < PR_CALLS_CLASSES; class_no++)
        while (session_may_dispatch(io) && send_frame(io, class_no)) {
        }
}

/* ---- back ---- */

static const char *word(const json_t *evidence, const char *key)
{
    const char *text = json_string_value(json_object_get(evidence, key));
    return text ? text : "";
}

/* As far as the step wants to know. Evidence that is none says nothing: a question must come first. */
static void read_evidence(const json_t *evidence, pr_calls_outcome_t *said)
{
    const json_t *retry_after = json_object_get(evidence, "retry_after_ms");
    int64_t http_status = json_integer_value(json_object_get(evidence, "http_status"));
    pr_status_t status = pr_status_find(word(evidence, "status"));
    said->status = status != PR_STATUS_NONE ? status : PR_STATUS_UNKNOWN;
    said->action = pr_action_find(word(evidence, "action"));
    if (json_is_integer(retry_after) && json_integer_value(retry_after) >= 0)
        said->retry_after_ms = json_integer_value(retry_after);
    /* BACK_OFF alone is about this call: an answer that came to nothing stops nobody else's. */
    said->throttled = http_status == 429 || strcmp(word(evidence, "reason"), "rate_limited") == 0;
    said->failed =
        said->throttled || strcmp(word(evidence, "transport"), "ok") != 0 || http_status >= 500;
}

static const char no_evidence[] =
    "{\"object\":\"payment\",\"status\":\"UNKNOWN\",\"action\":\"query_first\",\"final\":false,"
    "\"reason\":\"no_evidence\"}";

static outcome_t *outcome_new(int link, const Postrider__V1__Outcome *from, pr_bytes_t evidence)
{
    size_t exchange_len = from->exchange.len;
    outcome_t *outcome = pr_calloc(1, sizeof *outcome + evidence.len + 1 + exchange_len);
    outcome->link = link;
    (void)snprintf(outcome->worker_id, sizeof outcome->worker_id, "%s", from->worker_id);
    outcome->len = evidence.len;
    memcpy(outcome->evidence, evidence.data, evidence.len);
    outcome->exchange_len = exchange_len;
    if (exchange_len > 0)
        memcpy(outcome->evidence + evidence.len + 1, from->exchange.data, exchange_len);
    return outcome;
}

void jobs_on_outcome(void *arg, int link, const Postrider__V1__Outcome *from)
{
    io_t *io = arg;
    io->now_ms = pr_loop_now_ms(io->loop);
    if (!io->live || !from->token || !bit_get(io->owned, (int)(from->shard & 255)))
        return; /* not ours: its owner is asked again by the worker */
    if (pr_map_count(io->channels) == 0)
        return; /* not read yet: the worker says it again */
    json_t *json = json_loadb((const char *)from->evidence.data, from->evidence.len, 0, NULL);
    bool good = json_is_object(json);
    pr_calls_outcome_t said = {.channel_no = from->endpoint_id,
                               .status = PR_STATUS_UNKNOWN,
                               .action = PR_ACTION_QUERY_FIRST,
                               .retry_after_ms = -1,
                               .failed = true};
    if (from->subject)
        said.subject = (pr_calls_subject_t){
            .payment_id = from->subject->payment_id,
            .refund_id = from->subject->refund_id,
            .operation = (pr_operation_t)from->subject->operation,
        };
    if (good)
        read_evidence(json, &said);
    json_decref(json);
    said.returned = from->result == POSTRIDER__V1__OUTCOME__RESULT__RESULT_RETURNED;
    pr_calls_token_t token = {from->token->seq, from->token->salt, from->token->attempt};
    pr_bytes_t evidence =
        good ? pr_bytes(from->evidence.data, from->evidence.len) : pr_bytes_text(no_evidence);
    if (!good && !said.returned)
        pr_log_limited(PR_LOG_WARN, "outcome.no_evidence", from->worker_id,
                       "worker=%s call=%lld error=%s", from->worker_id, (long long)from->token->seq,
                       from->error);
    pr_calls_outcome(io->calls, &token, &said, pr_random_u64(), outcome_new(link, from, evidence),
                     io->now_ms);
}
