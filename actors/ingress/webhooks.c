/* SPDX-License-Identifier: Apache-2.0
 *
 * A webhook: verified over its raw bytes, journaled and applied in one transaction, acknowledged
 * after its commit and never before. What is refused is journaled too, as often as a channel may.
 *
 * Who was refused too often is a suspect: an address at a channel. Behind a proxy or a shared egress that
 * may be everybody, so a suspect is still heard, at a cost that is bounded: a body of at most SUSPECT_BODY_MAX_BYTES is
 * read and its signature verified, nothing else. A good one goes its usual way; any other is told
 * 429, and nothing is fetched, parsed further or written for it.
 */
#include "actors/ingress/ingress_private.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "gateway/evidence_json.h"
#include "sql/ingress.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEADERS_MAX_BYTES ((size_t)256 * 1024)
/* Real webhooks have a few KiB; hashing so much takes as long as reading the head. */
#define SUSPECT_BODY_MAX_BYTES ((size_t)64 * 1024)
#define ITEMS_MAX_BYTES (PR_GATEWAY_ITEMS_MAX * (PR_EVIDENCE_JSON_MAX_BYTES + 4096))

/* ---- the head ---- */

/* How long until this address is no suspect any more. */
static int64_t suspect_ms(const ingress_t *self, const pr_httpd_request_t *request,
                          const char *channel)
{
    return pr_limiter_wait_ms(self->wrongs, pr_httpd_client(request), channel,
                              ingress_now_ms(self));
}

static void turn_away(pr_httpd_request_t *request, int64_t wait_ms)
{
    pr_httpd_reply_problem(request, 429, "too_many_refused",
                           "Too many webhooks from here were refused.", wait_ms / 1000 + 1);
}

static bool is_long(const pr_httpd_request_t *request)
{
    const char *length = pr_httpd_header(request, "Content-Length");
    return length && strtoull(length, NULL, 10) > SUSPECT_BODY_MAX_BYTES;
}

static bool suspect_head(pr_httpd_request_t *request, int64_t wait_ms)
{
    if (is_long(request)) {
        turn_away(request, wait_ms);
        return false;
    }
    pr_httpd_limit_body(request, SUSPECT_BODY_MAX_BYTES);
    return true;
}

bool ingress_webhook_head(ingress_t *self, pr_httpd_request_t *request, const char *channel)
{
    const ingress_channel_t *known = ingress_channel_find(self, channel);
    int64_t wait_ms = suspect_ms(self, request, known ? known->id : "none");
    if (known)
        return wait_ms == 0 || suspect_head(request, wait_ms);
    if (wait_ms > 0) {
        turn_away(request, wait_ms);
    } else if (self->channels_loaded) {
        (void)pr_limiter_take(self->wrongs, pr_httpd_client(request), "none", ingress_now_ms(self));
        pr_httpd_reply_problem(request, 404, "unknown_channel", "", 0);
    } else {
        pr_httpd_reply_problem(request, 503, "not_ready", "", 1);
    }
    return false;
}

/* ---- what the database gets ---- */

/* Fields as an object; one that came several times is their values with commas between. */
static pr_rc_t write_headers(const pr_header_t *headers, size_t count, pr_buffer_t *out)
{
    pr_rc_t rc = pr_buffer_append(out, "{", 1);
    for (size_t i = 0; rc == PR_OK && i < count; i++) {
        if (pr_headers_find(headers, i, headers[i].name))
            continue; /* it stands with the first of its name */
        pr_buffer_t value;
        pr_buffer_init(&value, HEADERS_MAX_BYTES);
        for (size_t j = i; rc == PR_OK && j < count; j++)
            if (strcasecmp(headers[j].name, headers[i].name) == 0)
                rc = pr_buffer_printf(&value, "%s%s", j > i ? ", " : "", headers[j].value);
        rc = rc != PR_OK
                 ? rc
                 : pr_buffer_printf(out, "%s\"%s\":", out->len > 1 ? "," : "", headers[i].name);
        rc = rc != PR_OK ? rc : pr_members_write_text(out, pr_buffer_bytes(&value));
        pr_buffer_free(&value);
    }
    return rc != PR_OK ? rc : pr_buffer_append(out, "}", 1);
}

static pr_rc_t write_named(pr_buffer_t *out, const char *name, const char *text)
{
    pr_rc_t rc = pr_buffer_append_text(out, name);
    return rc != PR_OK ? rc : pr_members_write_text(out, pr_bytes_text(text));
}

static pr_rc_t write_item(const pr_webhook_item_t *item, pr_buffer_t *out)
{
    pr_rc_t rc = write_named(out, "{\"event_id\":", item->event_id);
    rc = rc != PR_OK ? rc : write_named(out, ",\"event_type\":", item->event_type);
    rc = rc != PR_OK ? rc : write_named(out, ",\"dedupe\":[", item->dedupe[0]);
    if (rc == PR_OK && item->dedupe[1][0] != '\0')
        rc = write_named(out, ",", item->dedupe[1]);
    rc = rc != PR_OK ? rc : pr_buffer_append_text(out, "],\"evidence\":");
    rc = rc != PR_OK ? rc : pr_evidence_to_json(&item->evidence, NULL, out);
    return rc != PR_OK ? rc : pr_buffer_append(out, "}", 1);
}

static pr_rc_t write_items(const pr_webhook_result_t *result, pr_buffer_t *out)
{
    pr_rc_t rc = pr_buffer_append(out, "[", 1);
    for (size_t i = 0; rc == PR_OK && i < result->count; i++) {
        rc = i > 0 ? pr_buffer_append(out, ",", 1) : PR_OK;
        rc = rc != PR_OK ? rc : write_item(&result->items[i], out);
    }
    return rc != PR_OK ? rc : pr_buffer_append(out, "]", 1);
}

/* ---- answers ---- */

static void reply(ingress_call_t *call, pr_reply_kind_t kind)
{
    pr_reply_t said = pr_webhook_reply(call->channel->channel, kind);
    ingress_reply(call, &(pr_httpd_reply_t){.status = said.http_status,
                                            .content_type = said.content_type,
                                            .body = pr_bytes_text(said.body)});
}

static pr_reply_kind_t kind_of(const char *word)
{
    return strcmp(word, "accepted") == 0  ? PR_REPLY_ACCEPTED
           : strcmp(word, "refused") == 0 ? PR_REPLY_REFUSED
           : strcmp(word, "orphan") == 0  ? PR_REPLY_ORPHAN
                                          : PR_REPLY_LATER;
}

/* reply, webhook_id, result */
static void on_received(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    ingress_call_t *call = arg;
    if (rc != PR_OK) { /* whether it was committed is not known: the gateway's repeat is harmless */
        pr_log_limited(rc == PR_AGAIN ? PR_LOG_WARN : PR_LOG_ERROR, "webhook.not_written",
                       call->channel->id, "channel=%s code=%s text=%s", call->channel->id,
                       error->code, error->text);
        reply(call, PR_REPLY_LATER);
        return;
    }
    pr_log_debug("webhook.received", "channel=%s webhook=%lld reply=%s result=%s",
                 call->channel->id, (long long)pr_rows_i64(rows, 0, 1), pr_rows_text(rows, 0, 0),
                 pr_rows_text(rows, 0, 2));
    reply(call, kind_of(pr_rows_text(rows, 0, 0)));
}

/* Its answer does not depend on the journal. */
static void on_refused(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    (void)rows;
    ingress_call_t *call = arg;
    if (rc != PR_OK)
        pr_log_limited(PR_LOG_WARN, "webhook.refusal_not_written", call->channel->id,
                       "channel=%s code=%s", call->channel->id, error->code);
    reply(call, call->refusal);
}

static void add_params(ingress_call_t *call, const char *verdict, const char *reason,
                       const pr_buffer_t *headers, const pr_buffer_t *items)
{
    pr_params_t *params = pr_pool_params(call->ingress->pool);
    PR_CLEANUP_FREE char *query =
        pr_strndup((const char *)pr_httpd_query(call->http).data, pr_httpd_query(call->http).len);
    pr_params_add_text(params, call->channel->id);
    pr_params_add_i64(params, call->received_us);
    pr_params_add_text(params, pr_httpd_method(call->http));
    pr_params_add_text(params, query);
    pr_params_add_text(params, pr_buffer_text(headers));
    pr_params_add_bytes(params, pr_httpd_body(call->http));
    pr_params_add_text(params, verdict);
    pr_params_add_text(params, reason);
    pr_params_add_text(params, pr_buffer_text(items));
}

static void receive(ingress_call_t *call, const char *verdict, const pr_webhook_result_t *result,
                    pr_db_result_fn *fn)
{
    size_t count = 0;
    const pr_header_t *fields = pr_httpd_headers(call->http, &count);
    pr_buffer_t headers, items;
    pr_buffer_init(&headers, HEADERS_MAX_BYTES);
    pr_buffer_init(&items, ITEMS_MAX_BYTES);
    pr_error_t error = {0};
    pr_rc_t rc = write_headers(fields, count, &headers);
    rc = rc != PR_OK ? rc : write_items(result, &items);
    if (rc != PR_OK) {
        rc = pr_error_set(&error, PR_BAD, "ingress", "", "the webhook does not fit");
    } else {
        add_params(call, verdict, result->reason, &headers, &items);
        rc = pr_pool_query(call->ingress->pool, PR_SQL_INGRESS_WEBHOOK_RECEIVE, fn, call);
        if (rc != PR_OK)
            (void)pr_error_set(&error, rc, "ingress", "", "no connection is free");
    }
    pr_buffer_free(&headers);
    pr_buffer_free(&items);
    if (rc != PR_OK)
        fn(call, rc, NULL, &error);
}

/* ---- verdicts ---- */

static void refuse(ingress_call_t *call, const pr_webhook_result_t *result)
{
    ingress_t *self = call->ingress;
    bool probe = result->verdict == PR_WEBHOOK_PROBE;
    const char *id = call->channel->id;
    int64_t now_ms = ingress_now_ms(self);
    if (!pr_limiter_take(self->wrongs, pr_httpd_client(call->http), id, now_ms)) {
        ingress_reply_problem(call, 429, "too_many_refused",
                              "Too many webhooks from here were refused.",
                              suspect_ms(self, call->http, id) / 1000 + 1);
        return;
    }
    pr_log_limited(PR_LOG_WARN, probe ? "webhook.probe" : "webhook.refused", id,
                   "channel=%s reason=%s", id, result->reason);
    call->refusal = PR_REPLY_REFUSED;
    if (pr_limiter_take(self->written, NULL, id, now_ms))
        receive(call, probe ? "probe" : "refused", result, on_refused);
    else
        reply(call, PR_REPLY_REFUSED);
}

static void judge(ingress_call_t *call, const char *certificate, pr_webhook_result_t *result)
{
    size_t count = 0;
    const pr_header_t *headers = pr_httpd_headers(call->http, &count);
    pr_gateway_header_t same[PR_HTTPD_HEADERS_MAX];
    for (size_t i = 0; i < count; i++)
        same[i] = (pr_gateway_header_t){headers[i].name, headers[i].value};
    pr_webhook_t webhook = {.method = pr_httpd_method(call->http),
                            .query = pr_httpd_query(call->http),
                            .headers = same,
                            .header_count = count,
                            .body = pr_httpd_body(call->http),
                            .certificate = pr_bytes_text(certificate)};
    pr_webhook_read(call->channel->channel, &webhook, call->received_us, result);
}

static void act(ingress_call_t *call, const pr_webhook_result_t *result)
{
    if (result->verdict == PR_WEBHOOK_VERIFIED)
        receive(call, "verified", result, on_received);
    else if (result->verdict == PR_WEBHOOK_WANTS_KEY)
        reply(call, PR_REPLY_LATER); /* it cannot be had now: not the gateway's fault */
    else if (strcmp(result->reason, "method_not_allowed") == 0)
        ingress_reply_problem(call, 405, "method_not_allowed", "", 0);
    else
        refuse(call, result);
}

void ingress_webhook_go_on(ingress_call_t *call)
{
    pr_webhook_result_t result;
    const char *certificate = NULL;
    pr_rc_t rc = PR_OK;
    pr_webhook_result_init(&result);
    judge(call, NULL, &result);
    if (result.verdict == PR_WEBHOOK_WANTS_KEY)
        rc = ingress_certificate_get(call->ingress, result.key_url, call, &certificate);
    if (rc == PR_OK && certificate)
        judge(call, certificate, &result);
    if (rc == PR_OK)
        act(call, &result);
    pr_webhook_result_free(&result);
}

void ingress_webhook(ingress_call_t *call)
{
    const ingress_channel_t *known = ingress_channel_find(call->ingress, call->match.parameters[0]);
    call->received_us = pr_clock_wall_us();
    if (!known || !known->opened) {
        ingress_reply_problem(call, 503, "not_ready", "This channel cannot be served now.", 60);
        return;
    }
    call->channel = known->opened;
    call->channel->users++;
    call->suspect = suspect_ms(call->ingress, call->http, known->id) > 0;
    ingress_webhook_go_on(call);
}
