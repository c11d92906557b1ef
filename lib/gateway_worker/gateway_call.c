/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway_worker/gateway_call.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "gateway_http/exchange.h"

#include <openssl/sha.h>

#include <stdio.h>
#include <string.h>

#define URL_MAX_BYTES 4096
#define TOKEN_MARGIN_MS 30000 /* a token is not used when it is about to expire */

static void send_call(pr_gateway_call_t *self, int64_t now_ms);

static bool moves_money(pr_operation_t operation)
{
    return operation == PR_OPERATION_CHARGE || operation == PR_OPERATION_CAPTURE ||
           operation == PR_OPERATION_REFUND || operation == PR_OPERATION_CLOSE;
}

/* ---- life ---- */

static void take_subject(pr_gateway_call_t *self, const Postrider__V1__CallSubject *subject)
{
    postrider__v1__call_subject__init(&self->subject);
    self->has_subject = subject != NULL;
    if (subject == NULL)
        return;
    self->subject.payment_id = subject->payment_id;
    self->subject.refund_id = subject->refund_id;
    self->subject.operation = subject->operation;
}

pr_gateway_call_t *pr_gateway_call_new(pr_gateway_shared_t *shared, pr_job_batch_t *batch,
                                       const Postrider__V1__Job *job)
{
    pr_gateway_call_t *self = PR_NEW(pr_gateway_call_t);
    self->shared = shared;
    self->batch = batch;
    batch->users++;
    self->job = job;
    pr_gateway_request_init(&self->request);
    pr_buffer_init(&self->evidence, PR_EVIDENCE_JSON_MAX_BYTES);
    pr_buffer_init(&self->exchange, PR_EXCHANGE_JSON_MAX_BYTES);
    postrider__v1__token__init(&self->token);
    self->token.salt = job->token->salt;
    self->token.attempt = job->token->attempt;
    self->token.seq = job->token->seq;
    self->shard = job->shard;
    self->endpoint_id = job->endpoint_id;
    self->operation = job->call != NULL ? (pr_operation_t)job->call->operation : PR_OPERATION_NONE;
    take_subject(self, job->call != NULL ? job->call->subject : NULL);
    return self;
}

/* The outcome is made: nobody needs the job's bytes, the request or the keys any more. */
static void let_go(pr_gateway_call_t *self)
{
    self->job = NULL;
    pr_job_batch_release(&self->batch);
    pr_gateway_request_free(&self->request);
    pr_opened_channel_release(&self->channel);
}

static void leave_waiting(pr_gateway_call_t *self)
{
    for (pr_gateway_call_t **at = &self->shared->waiting; *at != NULL; at = &(*at)->next_waiting) {
        if (*at == self) {
            *at = self->next_waiting;
            return;
        }
    }
}

void pr_gateway_call_destroy(pr_gateway_call_t **self)
{
    pr_gateway_call_t *call = PR_STEAL(*self);
    if (call == NULL)
        return;
    leave_waiting(call);
    let_go(call);
    pr_buffer_free(&call->evidence);
    pr_buffer_free(&call->exchange);
    pr_free(call->excerpt);
    pr_free(call);
}

/* ---- outcomes ---- */

static void write_evidence(pr_gateway_call_t *self, const pr_evidence_t *evidence,
                           pr_transport_t transport)
{
    pr_evidence_call_t call = {.transport = transport,
                               .http_status = self->http_code,
                               .error = self->error,
                               .duration_ms = self->duration_ms,
                               .started_at_us = self->started_us,
                               .request_sha256 = self->request_sha256};
    pr_buffer_clear(&self->evidence);
    pr_assert(pr_evidence_to_json(evidence, &call, &self->evidence) == PR_OK);
}

static void conclude(pr_gateway_call_t *self, pr_outcome_t result, const char *error)
{
    self->result = result;
    snprintf(self->error, sizeof(self->error), "%s", error);
}

void pr_gateway_call_return(pr_gateway_call_t *self)
{
    self->started_us = pr_clock_wall_us();
    conclude(self, PR_OUTCOME_RETURNED, "");
    let_go(self);
}

/* What is known without a call: status UNKNOWN, what to do about it, and why. */
static void say_unknown(pr_gateway_call_t *self, pr_outcome_t result, pr_action_t action,
                        const char *reason, const char *message)
{
    pr_evidence_t evidence;
    pr_evidence_init(&evidence);
    evidence.status = PR_STATUS_UNKNOWN;
    evidence.action = action;
    snprintf(evidence.reason, sizeof(evidence.reason), "%s", reason);
    snprintf(evidence.failure_message, sizeof(evidence.failure_message), "%s", message);
    conclude(self, result, reason);
    write_evidence(self, &evidence,
                   result == PR_OUTCOME_OWN_FAULT ? PR_TRANSPORT_BAD_CONFIG : PR_TRANSPORT_NONE);
    let_go(self);
}

/* The first copy went out, what it brought was acknowledged and forgotten: whoever lost that asks
 * the gateway how it ended. */
void pr_gateway_call_repeat(pr_gateway_call_t *self)
{
    self->started_us = pr_clock_wall_us();
    pr_action_t action = moves_money(self->operation) ? PR_ACTION_QUERY_FIRST : PR_ACTION_BACK_OFF;
    say_unknown(self, PR_OUTCOME_REFUSED, action, "made_before", "");
}

/* Our own fault: nothing was sent. */
static bool cannot(pr_gateway_call_t *self, pr_action_t action, const char *reason,
                   const pr_error_t *why)
{
    const Postrider__V1__Call *call = self->job->call;
    const char *channel = call != NULL && call->channel != NULL ? call->channel->id : "";
    pr_log_limited(PR_LOG_ERROR, "call.impossible", channel,
                   "channel=%s operation=%s error=%s why=%s", channel,
                   pr_operation_name(self->operation), reason, why->text);
    say_unknown(self, PR_OUTCOME_OWN_FAULT, action, reason, why->text);
    return false;
}

void pr_gateway_call_outcome(pr_gateway_call_t *self, char *worker_id, Postrider__V1__Outcome *out)
{
    postrider__v1__outcome__init(out);
    out->token = &self->token;
    out->shard = self->shard;
    out->endpoint_id = self->endpoint_id;
    out->kind = POSTRIDER__V1__JOB_KIND__JOB_KIND_CALL;
    out->result = (Postrider__V1__Outcome__Result)self->result;
    out->http_code = self->http_code;
    out->error = self->error;
    out->duration_ms = self->duration_ms;
    out->started_at_us = self->started_us;
    out->excerpt.data = self->excerpt;
    out->excerpt.len = self->excerpt_len;
    out->retry_after_ms = self->retry_after_ms;
    out->worker_id = worker_id;
    out->subject = self->has_subject ? &self->subject : NULL;
    out->evidence.data = self->evidence.data;
    out->evidence.len = self->evidence.len;
    out->exchange.data = self->exchange.data;
    out->exchange.len = self->exchange.len;
}

/* ---- channel and facts ---- */

static pr_rc_t open_channel(pr_gateway_call_t *self, pr_error_t *error)
{
    const Postrider__V1__ChannelSpec *spec = self->job->call->channel;
    pr_sealed_parameter_t parameters[PR_WIRE_PARAMETERS_MAX];
    pr_money_overrides_t overrides = {.count = spec->n_exponents};
    _Static_assert(PR_WIRE_EXPONENTS_MAX <= PR_MONEY_OVERRIDES_MAX, "the wire's fit");
    _Static_assert(PR_WIRE_CHANNEL_ID_MAX == PR_CHANNEL_ID_MAX, "one bound");
    for (size_t i = 0; i < spec->n_parameters; i++) {
        const Postrider__V1__ChannelParameter *it = spec->parameters[i];
        parameters[i] =
            (pr_sealed_parameter_t){it->name, pr_bytes(it->sealed.data, it->sealed.len)};
    }
    for (size_t i = 0; i < spec->n_exponents; i++) {
        memcpy(overrides.entries[i].currency, spec->exponents[i]->currency, 4);
        overrides.entries[i].exponent = (uint8_t)spec->exponents[i]->exponent;
    }
    pr_channel_row_t row = {.id = spec->id,
                            .version = spec->version,
                            .profile = spec->profile,
                            .parameters = parameters,
                            .parameter_count = spec->n_parameters,
                            .overrides = &overrides};
    return pr_channel_store_get(self->shared->channels, &row, &self->channel, error);
}

static const char *known(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static int64_t known_number(int64_t value)
{
    return value > 0 ? value : -1;
}

static void take_facts(pr_gateway_call_t *self)
{
    const Postrider__V1__PaymentFacts *in = self->job->call->facts;
    self->facts = (pr_payment_facts_t){
        .request_no = known(in->request_no),
        .reference = known(in->reference),
        .refund_no = known(in->refund_no),
        .refund_reference = known(in->refund_reference),
        .order_no = known(in->order_no),
        .currency = known(in->currency),
        .description = known(in->description),
        .reason = known(in->reason),
        .notify_url = known(in->notify_url),
        .return_url = known(in->return_url),
        .amount_minor = known_number(in->amount_minor),
        .refund_minor = known_number(in->refund_minor),
        .expires_at_us = known_number(in->expires_at_us),
        .built_at_us = known_number(in->built_at_us),
        .request = pr_bytes(in->request.data, in->request.len),
        .paid_before = in->paid_before,
    };
}

/* ---- requests ---- */

static pr_rc_t build(pr_gateway_call_t *self, pr_operation_t operation, pr_error_t *error)
{
    return pr_exchange_build(self->channel->channel, operation, &self->facts, &self->request,
                             error);
}

static int64_t timeout_of(const pr_gateway_call_t *self)
{
    int64_t wished_ms = self->job->timeout_ms, most_ms = self->shared->total_ms;
    return wished_ms > 0 && wished_ms < most_ms ? wished_ms : most_ms;
}

static pr_rc_t post(pr_gateway_call_t *self, pr_http_done_fn *done, int64_t now_ms,
                    pr_error_t *error)
{
    pr_gateway_shared_t *shared = self->shared;
    const char *lines[PR_GATEWAY_HEADERS_MAX];
    pr_rc_t rc = pr_exchange_lines(&self->request, &shared->lines, lines, error);
    if (rc != PR_OK)
        return rc;
    PR_CLEANUP_FREE char *url = pr_exchange_url(self->job->call->channel->base_url, &self->request);
    pr_http_request_t request = {
        .url = url,
        .method = self->request.method,
        .headers = lines,
        .header_count = (int)self->request.header_count,
        .body = pr_buffer_bytes(&self->request.body),
        .total_ms = timeout_of(self),
        .ca_pem = self->job->call->channel->tls_ca,
        .fresh = moves_money(self->request.operation),
        .keep_headers = true,
        .done = done,
        .arg = self,
    };
    rc = pr_http_start(shared->http, &request, now_ms, error);
    if (shared->lines.data != NULL)
        explicit_bzero(shared->lines.data, shared->lines.len); /* credentials stood there */
    return rc;
}

/* ---- answers ---- */

static void judge(pr_gateway_call_t *self, const pr_http_response_t *response, pr_evidence_t *out)
{
    pr_exchange_judge(self->channel->channel, self->request.operation, &self->facts, response,
                      pr_clock_wall_us(), out);
}

static pr_outcome_t result_of(pr_transport_t transport, int http_status,
                              const pr_evidence_t *evidence)
{
    switch (transport) {
    case PR_TRANSPORT_OK:
        break;
    case PR_TRANSPORT_PROXY:
    case PR_TRANSPORT_FORBIDDEN_ADDRESS:
    case PR_TRANSPORT_BAD_CONFIG:
        return PR_OUTCOME_OWN_FAULT;
    default:
        return PR_OUTCOME_UNREACHABLE;
    }
    if (evidence->status != PR_STATUS_UNKNOWN && evidence->status != PR_STATUS_NONE)
        return PR_OUTCOME_DELIVERED;
    bool later = http_status == 429 || evidence->retry_after_ms >= 0;
    return later && evidence->action == PR_ACTION_BACK_OFF ? PR_OUTCOME_THROTTLED
                                                           : PR_OUTCOME_REFUSED;
}

/* What was sent and what came back, for people who ask later (C8). */
static void write_exchange(pr_gateway_call_t *self, const pr_http_response_t *response)
{
    _Static_assert(PR_EXCHANGE_JSON_MAX_BYTES <= PR_WIRE_EXCHANGE_MAX, "it fits its field");
    pr_gateway_header_t headers[PR_EXCHANGE_HEADERS_MAX];
    pr_gateway_answer_t answer;
    PR_CLEANUP_FREE char *url = pr_exchange_url(self->job->call->channel->base_url, &self->request);
    pr_exchange_answer(response, headers, &answer);
    pr_exchange_t exchange = {.channel = self->channel->channel,
                              .token = self->channel->token,
                              .url = url,
                              .request = &self->request,
                              .answer = &answer,
                              .error = pr_http_error_name(response->error),
                              .sent_at_us = self->sent_us,
                              .duration_ms = response->duration_ms,
                              .keep = self->shared->keep_exchange};
    pr_assert(pr_exchange_to_json(&exchange, &self->exchange) == PR_OK);
}

/* The outcome of an answer, be it to the call or to the request for a token before it. */
static void tell(pr_gateway_call_t *self, const pr_http_response_t *response,
                 const pr_evidence_t *evidence, int64_t now_ms)
{
    pr_transport_t transport = pr_http_transport(response);
    pr_outcome_t result = result_of(transport, response->code, evidence);
    const char *error = response->error != PR_HTTP_OK    ? pr_http_error_name(response->error)
                        : result == PR_OUTCOME_DELIVERED ? ""
                        : response->truncated            ? "body_too_large"
                                                         : evidence->reason;
    self->http_code = (uint32_t)response->code;
    self->duration_ms = response->duration_ms;
    self->retry_after_ms = evidence->retry_after_ms > 0 ? (uint64_t)evidence->retry_after_ms : 0;
    if (self->sent) { /* a token's answer holds a secret */
        size_t keep = self->shared->keep_bytes;
        self->excerpt_len = response->body.len < keep ? response->body.len : keep;
        if (self->excerpt_len > 0)
            self->excerpt = pr_memdup(response->body.data, self->excerpt_len);
        if (self->shared->keep_exchange > 0)
            write_exchange(self, response);
    }
    conclude(self, result, error);
    write_evidence(self, evidence, transport);
    let_go(self);
    self->shared->done(self->shared->arg, self, now_ms);
}

/* A token of an earlier call that the gateway no longer takes is no refused credential. */
static void forgive_old_token(pr_gateway_call_t *self, uint32_t http_status,
                              pr_evidence_t *evidence)
{
    if (evidence->action != PR_ACTION_STOP_CHANNEL || !self->old_token || http_status != 401)
        return;
    explicit_bzero(self->channel->token, sizeof(self->channel->token));
    evidence->action = moves_money(self->request.operation) ? PR_ACTION_RETRY : PR_ACTION_BACK_OFF;
    snprintf(evidence->reason, sizeof(evidence->reason), "token_refused");
}

static void on_answer(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    pr_gateway_call_t *self = arg;
    pr_evidence_t evidence;
    judge(self, response, &evidence);
    forgive_old_token(self, (uint32_t)response->code, &evidence);
    tell(self, response, &evidence, now_ms);
    explicit_bzero(evidence.token, sizeof(evidence.token));
}

/* ---- access tokens ---- */

static bool wants_token(const pr_gateway_call_t *self)
{
    uint64_t operations = pr_profile_facts(self->channel->profile)->operations;
    return (operations & UINT64_C(1) << PR_OPERATION_TOKEN) != 0;
}

static bool has_token(const pr_gateway_call_t *self, int64_t now_ms)
{
    return self->channel->token[0] != '\0' && now_ms < self->channel->token_until_ms;
}

static void keep_token(pr_opened_channel_t *channel, const pr_evidence_t *evidence, int64_t now_ms)
{
    _Static_assert(sizeof(channel->token) == sizeof(evidence->token), "one bound");
    memcpy(channel->token, evidence->token, sizeof(channel->token));
    channel->token_until_ms = evidence->token_expires_s > 0
                                  ? now_ms + evidence->token_expires_s * 1000 - TOKEN_MARGIN_MS
                                  : now_ms; /* not said: for those that wait now */
}

/* The next call that waits for this channel's token; NULL: none. */
static pr_gateway_call_t *take_waiting(pr_gateway_shared_t *shared,
                                       const pr_opened_channel_t *channel)
{
    for (pr_gateway_call_t **at = &shared->waiting; *at != NULL; at = &(*at)->next_waiting) {
        pr_gateway_call_t *call = *at;
        if (call->channel == channel) {
            *at = call->next_waiting;
            return call;
        }
    }
    return NULL;
}

/* Every call that waited goes on, or ends as this one did. */
static void on_token(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    pr_gateway_call_t *self = arg;
    pr_opened_channel_t *channel = self->channel;
    pr_gateway_shared_t *shared = self->shared;
    pr_evidence_t evidence;
    channel->users++; /* calls that end give their use back */
    judge(self, response, &evidence);
    bool got = response->error == PR_HTTP_OK && response->code >= 200 && response->code <= 299 &&
               evidence.token[0] != '\0';
    if (got)
        keep_token(channel, &evidence, now_ms);
    else if (evidence.status == PR_STATUS_NONE) { /* an answer without a token says nothing */
        evidence.status = PR_STATUS_UNKNOWN;
        evidence.action = PR_ACTION_BACK_OFF;
        snprintf(evidence.reason, sizeof(evidence.reason), "no_token");
    }
    if (evidence.action == PR_ACTION_QUERY_FIRST) /* the call itself was not sent */
        evidence.action = PR_ACTION_BACK_OFF;
    channel->fetching = false;
    explicit_bzero(evidence.token, sizeof(evidence.token));
    for (pr_gateway_call_t *it = self; it != NULL; it = take_waiting(shared, channel)) {
        if (got)
            send_call(it, now_ms);
        else
            tell(it, response, &evidence, now_ms);
    }
    pr_opened_channel_release(&channel);
}

static bool fetch_token(pr_gateway_call_t *self, int64_t now_ms)
{
    pr_error_t error = {0};
    if (self->channel->fetching) {
        self->next_waiting = self->shared->waiting;
        self->shared->waiting = self;
        return true;
    }
    if (build(self, PR_OPERATION_TOKEN, &error) != PR_OK)
        return cannot(self, PR_ACTION_STOP_CHANNEL, "cannot_build", &error);
    pr_rc_t rc = post(self, on_token, now_ms, &error);
    if (rc == PR_AGAIN) { /* more than lib/http's bound: somebody else may have room */
        pr_gateway_call_return(self);
        return false;
    }
    if (rc != PR_OK)
        return cannot(self, PR_ACTION_STOP_CHANNEL, "bad_config", &error);
    self->channel->fetching = true;
    return true;
}

/* ---- the call ---- */

/* What moves money is the same each time that it is sent (R6). False: it would not be. */
static bool is_as_before(pr_gateway_call_t *self)
{
    const Postrider__V1__Call *call = self->job->call;
    uint8_t digest[SHA256_DIGEST_LENGTH];
    pr_buffer_t text;
    if (!moves_money(self->request.operation))
        return true;
    pr_buffer_init(&text, PR_GATEWAY_BODY_MAX_BYTES + URL_MAX_BYTES);
    pr_assert(pr_buffer_printf(&text, "%s %s\n", self->request.method,
                               pr_buffer_text(&self->request.target)) == PR_OK);
    pr_assert(pr_buffer_append(&text, self->request.body.data, self->request.body.len) == PR_OK);
    SHA256(text.data, text.len, digest);
    pr_buffer_free(&text);
    pr_hex(pr_bytes(digest, sizeof(digest)), self->request_sha256);
    return call->request.len == 0 || (call->request.len == sizeof(digest) &&
                                      memcmp(call->request.data, digest, sizeof(digest)) == 0);
}

/* By the sender's clock: past its lease somebody else may have asked what became of it, and believed
 * the answer (R2). */
static bool is_late(const pr_gateway_call_t *self)
{
    const Postrider__V1__Job *job = self->job;
    int64_t sent_us = self->batch->envelope->sent_at_us;
    if (!moves_money(self->operation) || job->lease_ms == 0 || sent_us == 0)
        return false;
    int64_t left_ms = (sent_us - self->started_us) / 1000 + job->lease_ms;
    return left_ms < timeout_of(self);
}

/* Builds and sends; false: the outcome is made. */
static bool begin(pr_gateway_call_t *self, int64_t now_ms)
{
    pr_error_t error = {0};
    self->facts.token = known(self->channel->token);
    if (build(self, self->operation, &error) != PR_OK)
        return cannot(self, PR_ACTION_PERSON, "cannot_build", &error);
    if (!is_as_before(self)) {
        (void)pr_error_set(&error, PR_BAD, "gateway", "", "not what was sent before");
        self->request_sha256[0] = '\0';
        return cannot(self, PR_ACTION_PERSON, "request_changed", &error);
    }
    self->sent_us = pr_clock_wall_us();
    switch (post(self, on_answer, now_ms, &error)) {
    case PR_OK:
        self->sent = true;
        return true;
    case PR_AGAIN:
        pr_gateway_call_return(self);
        return false;
    default:
        return cannot(self, PR_ACTION_STOP_CHANNEL, "bad_config", &error);
    }
}

/* As begin, for a call that waited for its token. */
static void send_call(pr_gateway_call_t *self, int64_t now_ms)
{
    if (!begin(self, now_ms))
        self->shared->done(self->shared->arg, self, now_ms);
}

bool pr_gateway_call_start(pr_gateway_call_t *self, int64_t now_ms)
{
    pr_error_t error = {0};
    const Postrider__V1__Call *call = self->job->call;
    self->started_us = pr_clock_wall_us();
    uint32_t known_operations = (UINT32_C(1) << PR_OPERATIONS) - 1;
    bool ours =
        self->job->kind == POSTRIDER__V1__JOB_KIND__JOB_KIND_CALL && call != NULL &&
        self->operation < PR_OPERATIONS &&
        (self->shared->operations & known_operations & PR_OPERATION_BIT(self->operation)) != 0;
    if (!ours) {
        pr_log_limited(PR_LOG_ERROR, "call.misrouted", "", "operation=%s kind=%d",
                       pr_operation_name(self->operation), (int)self->job->kind);
        (void)pr_error_set(&error, PR_BAD, "gateway", "", "not an operation of this worker");
        return cannot(self, PR_ACTION_PERSON, "wrong_worker", &error);
    }
    if (is_late(self)) {
        pr_log_limited(PR_LOG_WARN, "call.past_its_lease", "", "operation=%s",
                       pr_operation_name(self->operation));
        pr_gateway_call_return(self);
        return false;
    }
    if (pr_exchange_check_url(call->channel->base_url, &self->shared->allow,
                              self->shared->allow_plain, &error) != PR_OK)
        return cannot(self, PR_ACTION_STOP_CHANNEL, "bad_url", &error);
    if (open_channel(self, &error) != PR_OK)
        return cannot(self, PR_ACTION_STOP_CHANNEL, "bad_channel", &error);
    take_facts(self);
    if (!wants_token(self))
        return begin(self, now_ms);
    self->old_token = has_token(self, now_ms);
    return self->old_token ? begin(self, now_ms) : fetch_token(self, now_ms);
}
