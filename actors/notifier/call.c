/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/headers.h"
#include "core/retry_after.h"
#include "core/url.h"
#include "wire/envelope.h"

#include <string.h>

pr_call_t *pr_call_new(pr_call_shared_t *shared, pr_job_batch_t *batch,
                       const Postrider__V1__Job *job)
{
    pr_call_t *self = PR_NEW(pr_call_t);
    self->shared = shared;
    self->batch = batch;
    batch->users++;
    self->job = job;
    pr_buffer_init(&self->form, PR_SIGN_FORM_MAX_BYTES);
    postrider__v1__token__init(&self->token);
    self->token.salt = job->token->salt;
    self->token.attempt = job->token->attempt;
    self->token.seq = job->token->seq;
    self->shard = job->shard;
    self->endpoint_id = job->endpoint_id;
    self->kind = job->kind;
    self->error = "";
    return self;
}

void pr_call_destroy(pr_call_t **self)
{
    pr_call_t *call = PR_STEAL(*self);
    if (call == NULL)
        return;
    pr_job_batch_release(&call->batch);
    pr_buffer_free(&call->form);
    pr_free(call->excerpt);
    pr_free(call);
}

/* The outcome is made: nobody needs the job's bytes any more. */
static void conclude(pr_call_t *self, pr_outcome_t result, const char *error)
{
    self->result = result;
    self->error = error;
    self->job = NULL;
    pr_job_batch_release(&self->batch);
    pr_buffer_free(&self->form);
}

void pr_call_return(pr_call_t *self)
{
    self->started_us = pr_clock_wall_us();
    conclude(self, PR_OUTCOME_RETURNED, "");
}

void pr_call_repeat(pr_call_t *self)
{
    self->started_us = pr_clock_wall_us();
    self->http_code = 200;
    conclude(self, PR_OUTCOME_DELIVERED, "");
}

/* Our own fault: no try at the receiver. */
static bool cannot(pr_call_t *self, const char *error, const pr_error_t *why)
{
    pr_log_limited(PR_LOG_WARN, "call.impossible", self->job->merchant_id,
                   "merchant=%s endpoint=%lld error=%s why=%s", self->job->merchant_id,
                   (long long)self->endpoint_id, error, why->text);
    conclude(self, PR_OUTCOME_OWN_FAULT, error);
    return false;
}

static pr_bytes_t bytes_of(ProtobufCBinaryData data)
{
    return pr_bytes(data.data, data.len);
}

static const char *check_url(pr_call_t *self, pr_error_t *error)
{
    pr_url_t url;
    if (pr_url_parse(self->job->url, &url, error) != PR_OK)
        return "bad_url";
    if (url.https || self->shared->allow_plain)
        return NULL;
    /* An address on the allow-list (the sandbox) is an exception from this rule too. */
    pr_ip_t ip;
    if ((url.host_is_ipv4 || url.host_is_ipv6) && pr_ip_parse(url.host, strlen(url.host), &ip) &&
        pr_allow_has(&self->shared->allow, &ip, url.port))
        return NULL;
    (void)pr_error_set(error, PR_BAD, "http", "", "http:// is refused: set http.allow_plain");
    return "plain_http_refused";
}

static const char *sign(pr_call_t *self, pr_error_t *error)
{
    const Postrider__V1__Job *job = self->job;
    const Postrider__V1__EndpointConfig *endpoint = job->endpoint;
    pr_sign_request_t request = {
        .scheme = pr_scheme_parse(endpoint->scheme),
        .notify_id = job->notify_id,
        .timestamp_s = self->started_us / 1000000,
        .body = bytes_of(job->body),
    };
    if (request.scheme == PR_SCHEME_NONE) {
        (void)pr_error_set(error, PR_BAD, "sign", "", "unknown signature scheme");
        return "bad_config";
    }
    pr_rc_t rc = pr_secrets_open(self->shared->secrets, job->merchant_id,
                                 bytes_of(endpoint->secret), &request.secret, error);
    if (rc == PR_OK && endpoint->secret_next.len > 0)
        rc = pr_secrets_open(self->shared->secrets, job->merchant_id,
                             bytes_of(endpoint->secret_next), &request.next, error);
    if (rc != PR_OK)
        return "bad_secret";
    return pr_sign(&request, &self->shared->signature, error) == PR_OK ? NULL : "bad_secret";
}

typedef struct {
    size_t offset[PR_HTTP_HEADERS_MAX];
    int count;
    bool full;
} header_lines_t;

static void add_line(pr_buffer_t *lines, header_lines_t *index, const char *name, const char *value)
{
    size_t before = lines->len;
    if (index->count >= PR_HTTP_HEADERS_MAX ||
        pr_buffer_append(lines, name, strlen(name)) != PR_OK ||
        pr_buffer_append(lines, ": ", 2) != PR_OK ||
        pr_buffer_append(lines, value, strlen(value) + 1) != PR_OK) {
        lines->len = before;
        index->full = true;
        return;
    }
    index->offset[index->count++] = before;
}

static void drop_header(const pr_call_t *self, const char *name)
{
    pr_log_limited(PR_LOG_WARN, "header.dropped", self->job->merchant_id,
                   "merchant=%s endpoint=%lld name=%.64s", self->job->merchant_id,
                   (long long)self->endpoint_id, name);
}

static void write_headers(pr_call_t *self, header_lines_t *index)
{
    pr_buffer_t *lines = &self->shared->lines;
    const pr_signed_t *signature = &self->shared->signature;
    pr_buffer_clear(lines);
    add_line(lines, index, "Content-Type", signature->content_type);
    for (uint32_t i = 0; i < signature->count; i++)
        add_line(lines, index, signature->headers[i].name, signature->headers[i].value);
    const Postrider__V1__EndpointConfig *endpoint = self->job->endpoint;
    for (size_t i = 0; i < endpoint->n_headers; i++) {
        const Postrider__V1__Header *header = endpoint->headers[i];
        if (pr_header_allowed(header->name, header->value))
            add_line(lines, index, header->name, header->value);
        else
            drop_header(self, header->name);
    }
}

static void keep_excerpt(pr_call_t *self, pr_bytes_t body)
{
    size_t keep = self->shared->keep_bytes;
    self->excerpt_len = body.len < keep ? body.len : keep;
    if (self->excerpt_len > 0)
        self->excerpt = pr_memdup(body.data, self->excerpt_len);
}

static void on_response(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    pr_call_t *self = arg;
    int64_t wait_ms = 0;
    bool asked = pr_retry_after_parse(pr_bytes_text(response->retry_after), pr_clock_wall_s(),
                                      PR_RETRY_AFTER_CAP_MS, &wait_ms);
    self->http_code = (uint32_t)response->code;
    self->duration_ms = response->duration_ms;
    pr_verdict_t verdict =
        pr_judge(&self->rule, pr_http_transport(response), self->http_code, asked, response->body);
    if (asked && verdict.outcome == PR_OUTCOME_THROTTLED)
        self->retry_after_ms = (uint64_t)wait_ms;
    keep_excerpt(self, response->body);
    /* lib/http's word is finer than the judge's: tls_expired, short_body ... */
    const char *error =
        response->error != PR_HTTP_OK ? pr_http_error_name(response->error) : verdict.error;
    conclude(self, verdict.outcome, error);
    self->done(self->arg, self, now_ms);
}

static pr_rc_t post(pr_call_t *self, int64_t now_ms, pr_error_t *error)
{
    const Postrider__V1__Job *job = self->job;
    header_lines_t index = {0};
    write_headers(self, &index);
    const char *headers[PR_HTTP_HEADERS_MAX];
    for (int i = 0; i < index.count; i++)
        headers[i] = (const char *)self->shared->lines.data + index.offset[i];
    pr_signed_t *signature = &self->shared->signature;
    if (signature->body_replaced &&
        pr_buffer_append(&self->form, signature->body.data, signature->body.len) != PR_OK)
        return pr_error_set(error, PR_BAD, "http", "", "the form is too large");
    const char *egress = job->endpoint->egress;
    if (egress[0] == '\0')
        egress = self->shared->lane_egress[job->class_ < 3 ? job->class_ : 2];
    pr_http_request_t request = {
        .url = job->url,
        .headers = headers,
        .header_count = index.count,
        .body = signature->body_replaced ? pr_buffer_bytes(&self->form) : bytes_of(job->body),
        .total_ms = job->timeout_ms,
        .ca_pem = job->endpoint->tls_ca,
        .egress = egress,
        .http2 = job->endpoint->http2,
        .done = on_response,
        .arg = self,
    };
    if (index.full)
        return pr_error_set(error, PR_BAD, "http", "", "the endpoint's headers are too many");
    return pr_http_start(self->shared->http, &request, now_ms, error);
}

bool pr_call_start(pr_call_t *self, pr_call_done_fn *done, void *arg, int64_t now_ms)
{
    pr_error_t error = {0};
    self->done = done;
    self->arg = arg;
    self->started_us = pr_clock_wall_us();
    if (self->job->kind != POSTRIDER__V1__JOB_KIND__JOB_KIND_NOTIFY || self->job->endpoint == NULL)
        return cannot(self, "bad_config", &error);
    const char *why = check_url(self, &error);
    if (why == NULL &&
        pr_rule_parse(self->job->endpoint->success_rule, &self->rule, &error) != PR_OK)
        why = "bad_config";
    if (why == NULL)
        why = sign(self, &error);
    if (why != NULL)
        return cannot(self, why, &error);
    switch (post(self, now_ms, &error)) {
    case PR_OK:
        return true;
    case PR_AGAIN: /* more than lib/http's bound: somebody else may have room */
        pr_call_return(self);
        return false;
    default:
        return cannot(self, "bad_config", &error);
    }
}

void pr_call_outcome(pr_call_t *self, char *worker_id, Postrider__V1__Outcome *out)
{
    postrider__v1__outcome__init(out);
    out->token = &self->token;
    out->shard = self->shard;
    out->endpoint_id = self->endpoint_id;
    out->kind = self->kind;
    out->result = (Postrider__V1__Outcome__Result)self->result;
    out->http_code = self->http_code;
    out->error = (char *)(uintptr_t)self->error;
    out->duration_ms = self->duration_ms;
    out->started_at_us = self->started_us;
    out->excerpt.data = self->excerpt;
    out->excerpt.len = self->excerpt_len;
    out->retry_after_ms = self->retry_after_ms;
    out->worker_id = worker_id;
}
