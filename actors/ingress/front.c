/* SPDX-License-Identifier: Apache-2.0
 *
 * Each request twice: when its head is there (is there such a thing, may this one ask), and when it
 * is whole. What is turned away at its head costs no memory and no look at the database.
 */
#include "actors/ingress/ingress_private.h"
#include "base/alloc.h"
#include "base/log.h"

#include <string.h>

#define API_BODY_MAX_BYTES ((size_t)64 * 1024)
#define ARGUMENTS_MAX_BYTES ((size_t)128 * 1024)
#define ANSWER_MAX_BYTES ((size_t)4 * 1024 * 1024)
#define RESEND_EVERY_S 2 /* as resend_take() gives them */

int64_t ingress_now_ms(const ingress_t *self)
{
    return pr_loop_now_ms(pr_actor_loop(self->actor));
}

static const pr_endpoint_t *find(const pr_httpd_request_t *request, pr_route_match_t *match)
{
    pr_route_find(pr_endpoints, pr_endpoints_count, sizeof pr_endpoints[0],
                  pr_httpd_method(request), pr_httpd_path(request), match);
    return match->result == PR_ROUTE_MATCHED ? &pr_endpoints[match->index] : NULL;
}

/* ---- the head ---- */

/* What the head of an API request must say; false: answered. */
static bool api_head(ingress_t *self, pr_httpd_request_t *request, const pr_endpoint_t *endpoint)
{
    uint8_t hash[INGRESS_HASH_BYTES];
    if (!ingress_key_hash(self, request, hash))
        return false;
    if (endpoint->kind == PR_ENDPOINT_WRITE && pr_front_has_body(request) &&
        !pr_front_is_json(pr_httpd_header(request, "Content-Type"))) {
        pr_httpd_reply_problem(request, 415, "not_json", "Send application/json.", 0);
        return false;
    }
    pr_httpd_limit_body(request, API_BODY_MAX_BYTES);
    return true;
}

void ingress_on_head(void *arg, pr_httpd_request_t *request)
{
    ingress_t *self = arg;
    pr_route_match_t match;
    const pr_endpoint_t *endpoint = find(request, &match);
    if (!endpoint)
        pr_front_reply_no_route(request, &match);
    else if (endpoint->kind == PR_ENDPOINT_WEBHOOK)
        (void)ingress_webhook_head(self, request, match.parameters[0]);
    else if (endpoint->kind == PR_ENDPOINT_WRITE || endpoint->kind == PR_ENDPOINT_READ)
        (void)api_head(self, request, endpoint);
}

/* ---- the whole ---- */

static ingress_call_t *new_call(ingress_t *self, pr_httpd_request_t *request,
                                const pr_endpoint_t *endpoint, const pr_route_match_t *match)
{
    ingress_call_t *call = PR_NEW(ingress_call_t);
    call->ingress = self;
    call->http = request;
    call->endpoint = endpoint;
    call->match = *match;
    pr_buffer_init(&call->arguments_text, ARGUMENTS_MAX_BYTES);
    pr_buffer_init(&call->answer, ANSWER_MAX_BYTES);
    return call;
}

static void reply_health(ingress_call_t *call)
{
    ingress_t *self = call->ingress;
    if (call->endpoint->kind == PR_ENDPOINT_HEALTH ||
        (pr_pool_ready(self->pool) && self->channels_loaded))
        ingress_reply_json(call, 200, pr_bytes_text("{\"status\":\"ok\"}"));
    else
        ingress_reply_problem(call, 503, "not_ready", "The database cannot be asked now.", 1);
}

void ingress_on_whole(void *arg, pr_httpd_request_t *request)
{
    ingress_t *self = arg;
    pr_route_match_t match;
    uint8_t hash[INGRESS_HASH_BYTES];
    const pr_endpoint_t *endpoint = find(request, &match);
    ingress_call_t *call = new_call(self, request, endpoint, &match);
    switch (endpoint->kind) {
    case PR_ENDPOINT_HEALTH:
    case PR_ENDPOINT_READY:
        reply_health(call);
        break;
    case PR_ENDPOINT_WEBHOOK:
        ingress_webhook(call);
        break;
    case PR_ENDPOINT_WRITE:
    case PR_ENDPOINT_READ:
        if (ingress_key_hash(self, request, hash))
            ingress_key_check(call, hash);
        else
            pr_free(call); /* it cannot be: the head was good */
        break;
    }
}

/* ---- replies ---- */

static void free_call(ingress_call_t *call)
{
    pr_opened_channel_release(&call->channel);
    pr_buffer_free(&call->arguments_text);
    pr_buffer_free(&call->answer);
    explicit_bzero(&call->key, sizeof call->key);
    pr_free(call);
}

/* The description in docs/openapi.yaml is wrong then; tests look for the line. */
static void check_status(const ingress_call_t *call, uint32_t status)
{
    if (!pr_endpoint_says(call->endpoint, status))
        pr_log_limited(PR_LOG_ERROR, "ingress.undeclared_status", call->endpoint->route.pattern,
                       "route=%s status=%u", call->endpoint->route.pattern, status);
}

void ingress_reply(ingress_call_t *call, const pr_httpd_reply_t *reply)
{
    check_status(call, reply->status);
    pr_actor_count(call->ingress->actor, 1);
    pr_httpd_reply(call->http, reply);
    free_call(call);
}

void ingress_reply_json(ingress_call_t *call, uint32_t status, pr_bytes_t body)
{
    ingress_reply(call, &(pr_httpd_reply_t){
                            .status = status, .content_type = "application/json", .body = body});
}

void ingress_reply_problem(ingress_call_t *call, uint32_t status, const char *code,
                           const char *detail, int64_t retry_after_s)
{
    check_status(call, status);
    pr_actor_count(call->ingress->actor, 1);
    pr_httpd_reply_problem(call->http, status, code, detail, retry_after_s);
    free_call(call);
}

void ingress_reply_error(ingress_call_t *call, pr_rc_t rc, const pr_error_t *error)
{
    static const char later[] = "Send the request again, with its Idempotency-Key.";
    pr_door_error_t seen = pr_door_error(error ? error->code : "");
    if (seen.status == 500)
        pr_log_error(PR_LOG_ERROR, "ingress.door_failed", error);
    else if (seen.status == 503)
        pr_log_limited(PR_LOG_WARN, "ingress.unavailable", error ? error->code : "",
                       "rc=%s code=%s", pr_rc_name(rc), error ? error->code : "");
    const char *detail = seen.told ? error->text : seen.status == 503 ? later : "";
    int64_t retry_s = seen.status == 503 || strcmp(seen.code, "in_progress") == 0 ? 1 : 0;
    if (seen.status == 429)
        retry_s = RESEND_EVERY_S;
    ingress_reply_problem(call, seen.status, seen.code, detail, retry_s);
}
