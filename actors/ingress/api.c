/* SPDX-License-Identifier: Apache-2.0
 *
 * The payment API and merchants' questions: one door in SQL for each, whose answer is the body. A
 * caller may wait for the end of a payment; then its request sleeps here and the payment is looked
 * at now and then.
 */
#include "actors/ingress/ingress_private.h"
#include "base/alloc.h"
#include "base/json_scan.h"
#include "sign/digest.h"
#include "sql/ingress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_MS 250
#define IDEMPOTENCY_KEY_MAX 255

/* ---- arguments ---- */

static bool read_arguments(ingress_call_t *call)
{
    char names[PR_ROUTE_PARAMETERS_MAX][PR_ROUTE_NAME_BYTES], detail[128];
    pr_bytes_t body =
        call->endpoint->kind == PR_ENDPOINT_WRITE ? pr_httpd_body(call->http) : pr_bytes_text("");
    pr_door_arguments_request_t request = {.operation = call->endpoint->operation, .body = body};
    size_t count = pr_route_names(call->endpoint->route.pattern, names);
    for (size_t i = 0; i < count; i++) {
        request.names[i] = names[i];
        request.values[i] = call->match.parameters[i];
    }
    if (pr_door_arguments_read(&request, &call->arguments_text, &call->arguments) == PR_OK)
        return true;
    snprintf(detail, sizeof detail, "%s%s", call->arguments.member[0] ? "At member " : "",
             call->arguments.member);
    ingress_reply_problem(call, 400, call->arguments.code, detail, 0);
    return false;
}

/* A payment's id is a number: what is none is the id of no payment. */
static bool path_ok(ingress_call_t *call)
{
    const char *id = call->match.parameters[0];
    size_t digits = strspn(id, "0123456789");
    if (!strstr(call->endpoint->route.pattern, "{payment_id}") ||
        (digits > 0 && digits <= 18 && id[digits] == '\0'))
        return true;
    ingress_reply_problem(call, 404, "not_found", "", 0);
    return false;
}

/* ---- answers ---- */

static bool has_text(pr_json_t object, const char *name, const char *text)
{
    pr_json_t value;
    return pr_json_find(object, name, strlen(name), &value) == PR_OK &&
           pr_json_is_text(value, text, strlen(text));
}

/* Whether there is something new to tell whoever waits: an end, or something for the payer to do. */
static bool is_news(pr_bytes_t body)
{
    pr_json_t root, next;
    if (pr_json_check(body, &root) != PR_OK)
        return false;
    return has_text(root, "state", "succeeded") || has_text(root, "state", "failed") ||
           has_text(root, "state", "cancelled") ||
           (pr_json_find(root, "next_action", strlen("next_action"), &next) == PR_OK &&
            next.type != PR_JSON_NULL);
}

static bool find_payment_id(pr_bytes_t body, char out[24])
{
    pr_json_t root, id;
    if (pr_json_check(body, &root) != PR_OK ||
        pr_json_find(root, "payment_id", strlen("payment_id"), &id) != PR_OK ||
        id.type != PR_JSON_NUMBER || id.text.len >= 24)
        return false;
    memcpy(out, id.text.data, id.text.len);
    out[id.text.len] = '\0';
    return true;
}

static void keep_answer(ingress_call_t *call, const char *text)
{
    pr_buffer_clear(&call->answer);
    if (pr_buffer_append_text(&call->answer, text) != PR_OK)
        pr_buffer_clear(&call->answer); /* larger than any payment's: left out */
}

static void reply_payment(ingress_call_t *call)
{
    pr_bytes_t body = pr_buffer_bytes(&call->answer);
    ingress_reply_json(call, is_news(body) ? 201 : 202, body);
}

/* ---- waiting ---- */

static void rearm(ingress_t *self)
{
    int64_t next_ms = INT64_MAX;
    for (const ingress_call_t *one = self->waiting; one; one = one->next)
        next_ms = one->ask_at_ms < next_ms ? one->ask_at_ms : next_ms;
    pr_loop_timer_at(pr_actor_loop(self->actor), self->wait_timer, next_ms);
}

static void wait_on(ingress_call_t *call)
{
    ingress_t *self = call->ingress;
    int64_t ask_ms = ingress_now_ms(self) + ASK_MS;
    call->ask_at_ms = ask_ms < call->wait_until_ms ? ask_ms : call->wait_until_ms;
    call->next = self->waiting;
    self->waiting = call;
    self->waiting_count++;
    rearm(self);
}

/* A body, or NULL: there is no such payment any more, which cannot be. */
static void on_looked(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    (void)error; /* what is known already is the answer then */
    ingress_call_t *call = arg;
    if (rc == PR_OK && pr_rows_count(rows) > 0 && !pr_rows_null(rows, 0, 0))
        keep_answer(call, pr_rows_text(rows, 0, 0));
    if (call->ingress->stopping || is_news(pr_buffer_bytes(&call->answer)) ||
        ingress_now_ms(call->ingress) >= call->wait_until_ms)
        reply_payment(call);
    else
        wait_on(call);
}

static void ask(ingress_call_t *call)
{
    ingress_t *self = call->ingress;
    PR_CLEANUP_FREE char *arguments = pr_asprintf("{\"payment_id\":%s}", call->payment_id);
    pr_params_t *params = pr_pool_params(self->pool);
    pr_params_add_i64(params, call->key.key_id);
    pr_params_add_text(params, "payment");
    pr_params_add_text(params, arguments);
    if (pr_pool_query(self->pool, PR_SQL_INGRESS_READ, on_looked, call) != PR_OK)
        on_looked(call, PR_AGAIN, NULL, NULL);
}

/* Takes those off the list for which it is time, all of them when all is said. */
static ingress_call_t *take_due(ingress_t *self, bool all, int64_t now_ms)
{
    ingress_call_t *due = NULL;
    for (ingress_call_t **at = &self->waiting; *at;) {
        ingress_call_t *one = *at;
        if (!all && one->ask_at_ms > now_ms) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        one->next = due;
        due = one;
        self->waiting_count--;
    }
    return due;
}

void ingress_api_ask_waiting(void *arg, int64_t now_ms)
{
    ingress_t *self = arg;
    for (ingress_call_t *one = take_due(self, false, now_ms), *next; one; one = next) {
        next = one->next;
        ask(one);
    }
    rearm(self);
}

void ingress_api_give_up(ingress_t *self)
{
    for (ingress_call_t *one = take_due(self, true, 0), *next; one; one = next) {
        next = one->next;
        reply_payment(one);
    }
}

/* ---- the doors ---- */

static bool should_wait(ingress_call_t *call)
{
    ingress_t *self = call->ingress;
    return call->arguments.wait_s > 0 && self->waiting_count < self->waiting_max &&
           !pr_actor_draining(self->actor) && !is_news(pr_buffer_bytes(&call->answer)) &&
           find_payment_id(pr_buffer_bytes(&call->answer), call->payment_id);
}

/* status, body, replayed */
static void on_written(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    ingress_call_t *call = arg;
    if (rc != PR_OK) {
        ingress_reply_error(call, rc, error);
        return;
    }
    if (strcmp(call->endpoint->operation, "payment.submit") != 0) {
        ingress_reply_json(call, (uint32_t)pr_rows_i32(rows, 0, 0),
                           pr_bytes_text(pr_rows_text(rows, 0, 1)));
        return;
    }
    keep_answer(call, pr_rows_text(rows, 0, 1));
    if (should_wait(call)) {
        call->wait_until_ms = ingress_now_ms(call->ingress) + call->arguments.wait_s * 1000;
        wait_on(call);
    } else {
        reply_payment(call);
    }
}

static void on_read(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    ingress_call_t *call = arg;
    if (rc != PR_OK)
        ingress_reply_error(call, rc, error);
    else if (pr_rows_count(rows) == 0 || pr_rows_null(rows, 0, 0))
        ingress_reply_problem(call, 404, "not_found", "", 0);
    else
        ingress_reply_json(call, 200, pr_bytes_text(pr_rows_text(rows, 0, 0)));
}

/* What makes two requests the same: method, path and query, body. Neither of the first two can hold
 * a line break. */
static bool hash_request(const ingress_call_t *call, uint8_t out[PR_SHA256_BYTES])
{
    pr_bytes_t body = pr_httpd_body(call->http);
    const pr_bytes_t parts[] = {pr_bytes_text(pr_httpd_method(call->http)), pr_bytes_text("\n"),
                                pr_bytes_text(pr_httpd_target(call->http)), pr_bytes_text("\n"),
                                body};
    return pr_hmac_sha256(pr_bytes_text("request"), parts, PR_COUNT(parts), out);
}

static bool idempotency_key_ok(const char *key)
{
    size_t len = strlen(key);
    if (len == 0 || len > IDEMPOTENCY_KEY_MAX)
        return false;
    for (size_t i = 0; i < len; i++)
        if (key[i] < 0x21 || key[i] > 0x7e)
            return false;
    return true;
}

static void write_door(ingress_call_t *call)
{
    ingress_t *self = call->ingress;
    uint8_t hash[PR_SHA256_BYTES] = {0};
    const char *key = pr_httpd_header(call->http, "Idempotency-Key");
    if (key && !idempotency_key_ok(key)) {
        ingress_reply_problem(call, 400, "bad_idempotency_key",
                              "1 to 255 visible ASCII characters.", 0);
        return;
    }
    if (!hash_request(call, hash)) {
        ingress_reply_problem(call, 500, "internal", "", 0);
        return;
    }
    pr_params_t *params = pr_pool_params(self->pool);
    pr_params_add_i64(params, call->key.key_id);
    pr_params_add_text(params, key);
    pr_params_add_bytes(params, pr_bytes(hash, sizeof hash));
    pr_params_add_text(params, call->arguments.operation);
    pr_params_add_text(params, pr_buffer_text(&call->arguments_text));
    if (pr_pool_query(self->pool, PR_SQL_INGRESS_WRITE, on_written, call) != PR_OK)
        ingress_reply_error(call, PR_AGAIN, NULL);
}

static void read_door(ingress_call_t *call)
{
    ingress_t *self = call->ingress;
    pr_params_t *params = pr_pool_params(self->pool);
    pr_params_add_i64(params, call->key.key_id);
    pr_params_add_text(params, call->endpoint->operation);
    pr_params_add_text(params, pr_buffer_text(&call->arguments_text));
    if (pr_pool_query(self->pool, PR_SQL_INGRESS_READ, on_read, call) != PR_OK)
        ingress_reply_error(call, PR_AGAIN, NULL);
}

void ingress_api_keyed(ingress_call_t *call)
{
    if (!path_ok(call) || !read_arguments(call))
        return;
    if (call->endpoint->kind == PR_ENDPOINT_WRITE)
        write_door(call);
    else
        read_door(call);
}
