/* SPDX-License-Identifier: Apache-2.0
 *
 * Stripe: PaymentIntents and refunds. A bearer key says who asks, nothing is signed on the way in;
 * Idempotency-Key gets the very answer again; webhooks carry Stripe-Signature.
 */
#include "base/assert.h"
#include "sandbox/gateway_protocol.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTENTS "/v1/payment_intents"
#define RUNS "/v1/reporting/report_runs"

static bool owns(pr_bytes_t path)
{
    return pr_gate_is(path, INTENTS) || pr_gate_starts(path, INTENTS "/") ||
           pr_gate_is(path, RUNS) || pr_gate_starts(path, RUNS "/") ||
           pr_gate_starts(path, "/v1/files/") || pr_gate_is(path, "/v1/refunds") ||
           pr_gate_starts(path, "/v1/refunds/");
}

static void complete(pr_gate_account_t *account)
{
    char digits[65], text[96];
    snprintf(text, sizeof(text), "sk_test_%s", pr_gate_account_digits(account, "key", 24, digits));
    pr_gate_default(account, "api_key", text);
    snprintf(text, sizeof(text), "whsec_%s", pr_gate_account_digits(account, "hook", 32, digits));
    pr_gate_default(account, "webhook_secret", text);
    pr_gate_default(account, "version", "2024-06-20");
}

static void take_currency(pr_gate_call_t *call)
{
    (void)pr_gate_take(call->document, "currency", call->currency, sizeof(call->currency));
    for (char *at = call->currency; *at; at++) {
        *at = (char)toupper((unsigned char)*at);
    }
}

/* A form's field; false: not there. Names may hold dots' enemies: metadata[request_no]. */
static bool field(const pr_gate_call_t *call, const char *name, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(call->document, name));
    return text && pr_gate_copy(out, size, pr_bytes_text(text));
}

static pr_gate_result_t read_charge(pr_gate_call_t *call)
{
    char confirm[8] = "";
    take_currency(call);
    (void)field(call, "metadata[request_no]", call->request_no, sizeof(call->request_no));
    (void)field(call, "confirm", confirm, sizeof(confirm));
    call->later = strcmp(confirm, "true") != 0;
    if (!field(call, "metadata[order_no]", call->label, sizeof(call->label))) {
        (void)field(call, "description", call->label, sizeof(call->label));
    }
    if (!call->request_no[0]) {
        memcpy(call->request_no, call->key, sizeof(call->request_no) - 1);
    }
    return pr_gate_take_amount(call, call->document, "amount") ? PR_GATE_OK : PR_GATE_BAD_REQUEST;
}

static pr_gate_result_t read_refund(pr_gate_call_t *call)
{
    const pr_gate_order_t *order;
    (void)field(call, "metadata[refund_no]", call->refund_no, sizeof(call->refund_no));
    if (!field(call, "payment_intent", call->reference, sizeof(call->reference))) {
        return PR_GATE_BAD_REQUEST;
    }
    order = pr_gate_order_by_reference(call->ledger, call->account, call->reference);
    (void)pr_gate_copy(call->currency, sizeof(call->currency),
                       pr_bytes_text(order ? order->currency : "USD"));
    return pr_gate_take_amount(call, call->document, "amount") ? PR_GATE_OK : PR_GATE_BAD_REQUEST;
}

/* metadata['request_no']:'NUMBER' */
static pr_gate_result_t read_search(pr_gate_call_t *call)
{
    static const char before[] = "metadata['request_no']:'";
    char query[300];
    size_t len = 0;
    call->search = true;
    if (pr_gate_query_text(call->query, "query", query, sizeof(query))) {
        len = strlen(query);
    }
    if (len < sizeof(before) + 1 || strncmp(query, before, sizeof(before) - 1) != 0 ||
        query[len - 1] != '\'') {
        return PR_GATE_BAD_REQUEST;
    }
    return pr_gate_copy(call->request_no, sizeof(call->request_no),
                        pr_bytes(query + sizeof(before) - 1, len - sizeof(before)))
               ? PR_GATE_OK
               : PR_GATE_BAD_REQUEST;
}

/* ---- reports: their ids say which interval ---- */

static bool read_interval(const char *from, const char *to, pr_gate_day_t *out)
{
    char *from_end, *to_end;
    int64_t from_s = strtoll(from, &from_end, 10), to_s = strtoll(to, &to_end, 10);
    bool good = from[0] && to[0] && !*from_end && !*to_end && from_s > 0 && to_s > from_s &&
                to_s < INT64_C(100000000000);
    *out = (pr_gate_day_t){.kind = "balance", .from_us = from_s * 1000000, .to_us = to_s * 1000000};
    return good;
}

static pr_gate_result_t read_report(pr_gate_call_t *call)
{
    char type[96] = "", from[24] = "", to[24] = "";
    (void)field(call, "report_type", type, sizeof(type));
    (void)field(call, "parameters[interval_start]", from, sizeof(from));
    (void)field(call, "parameters[interval_end]", to, sizeof(to));
    call->operation = PR_GATE_STATEMENT;
    return strncmp(type, "balance_change_from_activity.itemized.", 38) == 0 &&
                   read_interval(from, to, &call->day)
               ? PR_GATE_OK
               : PR_GATE_BAD_REQUEST;
}

/* "PREFIX_FROM_TO" */
static pr_gate_result_t read_report_id(pr_gate_call_t *call, pr_bytes_t id, const char *prefix)
{
    char text[96];
    call->repeated = true; /* it is made by now */
    if (!pr_gate_copy(text, sizeof(text), id) || strncmp(text, prefix, strlen(prefix)) != 0) {
        return PR_GATE_NOT_FOUND;
    }
    char *from = text + strlen(prefix), *to = strchr(from, '_');
    if (!to) {
        return PR_GATE_NOT_FOUND;
    }
    *to++ = '\0';
    return read_interval(from, to, &call->day) ? PR_GATE_OK : PR_GATE_NOT_FOUND;
}

static json_t *report_run(const pr_gate_call_t *call)
{
    char id[64], url[400], host[256] = "127.0.0.1";
    int64_t from_s = call->day.from_us / 1000000, to_s = call->day.to_us / 1000000;
    (void)pr_gate_copy(host, sizeof(host), pr_gate_header(call, "Host"));
    snprintf(id, sizeof(id), "frr_%" PRId64 "_%" PRId64, from_s, to_s);
    snprintf(url, sizeof(url), "http://%s/v1/files/file_%" PRId64 "_%" PRId64 "/contents", host,
             from_s, to_s);
    return call->repeated
               ? json_pack("{s:s,s:s,s:s,s:{s:s}}", "id", id, "object", "reporting.report_run",
                           "status", "succeeded", "result", "url", url)
               : json_pack("{s:s,s:s,s:s,s:n}", "id", id, "object", "reporting.report_run",
                           "status", "pending", "result");
}

static bool authenticate(pr_gate_call_t *call)
{
    static const char bearer[] = "Bearer ";
    pr_bytes_t text = pr_gate_header(call, "Authorization");
    if (!pr_gate_starts(text, bearer)) {
        return false;
    }
    text = pr_bytes(text.data + sizeof(bearer) - 1, text.len - sizeof(bearer) + 1);
    call->account = pr_gate_account_by(call, "api_key", text);
    return call->account != NULL;
}

static pr_gate_result_t read(pr_gate_call_t *call)
{
    pr_bytes_t id;
    bool get = pr_gate_is(call->method, "GET"), post = pr_gate_is(call->method, "POST");
    if (!authenticate(call)) {
        return PR_GATE_BAD_CREDENTIAL;
    }
    (void)pr_gate_copy(call->key, sizeof(call->key), pr_gate_header(call, "Idempotency-Key"));
    pr_gate_sha256_hex(call->body, call->fingerprint);
    if (post && !pr_gate_read_form(call)) {
        return PR_GATE_BAD_REQUEST;
    }
    if (post && pr_gate_is(call->path, INTENTS)) {
        call->operation = PR_GATE_CHARGE;
        return read_charge(call);
    }
    if (post && pr_gate_is(call->path, "/v1/refunds")) {
        call->operation = PR_GATE_REFUND;
        return read_refund(call);
    }
    if (post && pr_gate_is(call->path, RUNS)) {
        return read_report(call);
    }
    if (get && pr_gate_between(call->path, RUNS "/", "", &id)) {
        call->operation = PR_GATE_STATEMENT;
        return read_report_id(call, id, "frr_");
    }
    if (get && pr_gate_between(call->path, "/v1/files/", "/contents", &id)) {
        call->operation = PR_GATE_STATEMENT_FILE;
        return read_report_id(call, id, "file_");
    }
    call->operation = PR_GATE_QUERY;
    if (get && pr_gate_is(call->path, INTENTS "/search")) {
        return read_search(call);
    }
    char *out = call->reference;
    if (post && pr_gate_between(call->path, INTENTS "/", "/cancel", &id)) {
        call->operation = PR_GATE_CLOSE;
    } else if (get && pr_gate_between(call->path, "/v1/refunds/", "", &id)) {
        call->operation = PR_GATE_QUERY_REFUND;
        out = call->refund_reference;
    } else if (!get || !pr_gate_between(call->path, INTENTS "/", "", &id)) {
        return PR_GATE_NO_SUCH_PATH;
    }
    return pr_gate_unescape(id, out, sizeof(call->reference), false) ? PR_GATE_OK
                                                                     : PR_GATE_BAD_REQUEST;
}

/* ---- objects ---- */

static const char *lower(const char *currency, char out[8])
{
    size_t len = strnlen(currency, 7);
    for (size_t i = 0; i < len; i++) {
        out[i] = (char)tolower((unsigned char)currency[i]);
    }
    out[len] = '\0';
    return out;
}

/* Our two words as Stripe has them; others are decline codes already. */
static const char *decline_code(const char *word)
{
    return strcmp(word, "risk_refused") == 0 ? "fraudulent" : word;
}

static const char *status_of(const pr_gate_order_t *order)
{
    switch (order->state) {
    case PR_GATE_PAID:
        return "succeeded";
    case PR_GATE_CLOSED:
        return "canceled";
    case PR_GATE_FAILED:
        return "requires_payment_method";
    default:
        return order->plan->script.payment.end == PR_GATE_END_PENDING ? "processing"
                                                                      : "requires_action";
    }
}

static json_t *intent(const pr_gate_order_t *order)
{
    char currency[8], secret[96];
    const char *said = pr_gate_said_currency(order);
    snprintf(secret, sizeof(secret), "%s_secret_0", order->reference);
    json_t *out =
        json_pack("{s:s,s:s,s:s,s:o,s:o,s:s,s:I,s:b,s:s,s:{s:s,s:s}}", "id", order->reference,
                  "object", "payment_intent", "status", status_of(order), "amount",
                  pr_gate_money_json(&pr_gate_stripe, pr_gate_said_amount(order), said),
                  "amount_received", pr_gate_money_json(&pr_gate_stripe, order->captured, said),
                  "currency", lower(said, currency), "created",
                  (json_int_t)(order->created_us / 1000000), "livemode", 0, "client_secret", secret,
                  "metadata", "request_no", order->request_no, "order_no", order->label);
    if (order->state == PR_GATE_FAILED) {
        json_object_set_new(out, "last_payment_error",
                            json_pack("{s:s,s:s,s:s,s:s}", "type", "card_error", "code",
                                      "card_declined", "decline_code", decline_code(order->code),
                                      "message", "Your card was declined."));
    }
    return out;
}

static json_t *refund(const pr_gate_refund_t *refund)
{
    static const char *const states[] = {"pending", "succeeded", "failed", "failed"};
    const pr_gate_order_t *order = refund->order;
    bool failed = refund->state >= PR_GATE_REFUND_FAILED;
    char currency[8];
    json_t *out =
        json_pack("{s:s,s:s,s:s,s:o,s:s,s:s,s:s,s:{s:s,s:s}}", "id", refund->reference, "object",
                  "refund", "status", states[refund->state], "amount",
                  pr_gate_money_json(&pr_gate_stripe, refund->amount, order->currency), "currency",
                  lower(order->currency, currency), "payment_intent", order->reference,
                  "failure_reason", failed ? order->plan->script.refund.code : "", "metadata",
                  "request_no", order->request_no, "refund_no", refund->refund_no);
    return pr_gate_pruned(out);
}

/* The two newest of one number, as a search with limit=2 gives them. */
static json_t *found(const pr_gate_order_t *order)
{
    json_t *data = json_array();
    for (int i = 0; order && i < 2; i++, order = order->older) {
        json_array_append_new(data, intent(order));
    }
    return json_pack("{s:s,s:b,s:o}", "object", "search_result", "has_more", 0, "data", data);
}

/* ---- answers ---- */

static const struct {
    int status;
    const char *type, *code;
} errors[PR_GATE_RESULTS] = {
    [PR_GATE_NO_SUCH_PATH] = {404, "invalid_request_error", "url_invalid"},
    [PR_GATE_BAD_REQUEST] = {400, "invalid_request_error", "parameter_missing"},
    [PR_GATE_BAD_CREDENTIAL] = {401, "invalid_request_error", ""},
    [PR_GATE_NOT_FOUND] = {404, "invalid_request_error", "resource_missing"},
    [PR_GATE_NUMBER_USED] = {400, "idempotency_error", ""},
    [PR_GATE_ALREADY_PAID] = {400, "invalid_request_error", "payment_intent_unexpected_state"},
    [PR_GATE_WAS_CLOSED] = {400, "invalid_request_error", "payment_intent_unexpected_state"},
    [PR_GATE_DECLINED] = {402, "card_error", "card_declined"},
    [PR_GATE_TOO_MUCH] = {400, "invalid_request_error", "charge_already_refunded"},
    [PR_GATE_WRONG_STATE] = {400, "invalid_request_error", "payment_intent_unexpected_state"},
    [PR_GATE_THROTTLED] = {429, "invalid_request_error", "rate_limit"},
    [PR_GATE_SERVER_ERROR] = {500, "api_error", ""},
    [PR_GATE_MAINTENANCE] = {503, "api_error", ""},
};

static void write_error(pr_gate_call_t *call)
{
    bool declined = call->result == PR_GATE_DECLINED;
    json_t *error = json_pack("{s:s,s:s,s:s,s:s}", "type", errors[call->result].type, "code",
                              errors[call->result].code, "decline_code",
                              declined ? decline_code(call->code) : "", "message",
                              pr_gate_result_name(call->result));
    if (declined && call->order) {
        json_object_set_new(error, "payment_intent", intent(call->order));
    }
    pr_gate_reply(call, errors[call->result].status,
                  json_pack("{s:o}", "error", pr_gate_pruned(error)));
}

static void write_answer(pr_gate_call_t *call)
{
    bool closed_before = call->operation == PR_GATE_CLOSE && call->repeated;
    if (call->result == PR_GATE_OK && call->operation == PR_GATE_STATEMENT) {
        pr_gate_reply(call, 200, report_run(call));
        return;
    }
    if (call->result == PR_GATE_OK && call->operation == PR_GATE_STATEMENT_FILE) {
        pr_buffer_t file;
        pr_buffer_init(&file, PR_GATE_ANSWER_MAX);
        pr_gate_stripe_report(call, &file);
        pr_gate_reply_file(call, "text/csv", &file);
        pr_buffer_free(&file);
        return;
    }
    if (call->search && (call->result == PR_GATE_OK || call->result == PR_GATE_NOT_FOUND)) {
        pr_gate_reply(call, 200, found(call->order));
    } else if (call->result == PR_GATE_OK && !closed_before) {
        pr_gate_reply(call, 200, call->refund ? refund(call->refund) : intent(call->order));
    } else {
        call->result = closed_before ? PR_GATE_WAS_CLOSED : call->result;
        write_error(call);
    }
}

/* ---- webhooks ---- */

static bool event(const pr_gate_event_t *event, pr_gate_message_t *out)
{
    static const char *const types[PR_GATE_EVENTS] = {
        [PR_GATE_EVENT_PAID] = "payment_intent.succeeded",
        [PR_GATE_EVENT_FAILED] = "payment_intent.payment_failed",
        [PR_GATE_EVENT_CLOSED] = "payment_intent.canceled",
        [PR_GATE_EVENT_REFUND_DONE] = "refund.updated",
        [PR_GATE_EVENT_REFUND_FAILED] = "refund.failed",
        [PR_GATE_EVENT_REFUND_REVERSED] = "refund.failed",
    };
    char id[32];
    if (!types[event->kind]) {
        return false;
    }
    snprintf(id, sizeof(id), "evt_%s", event->id);
    json_t *object = event->refund ? refund(event->refund) : intent(event->order);
    pr_gate_message_json(out, json_pack("{s:s,s:s,s:s,s:s,s:I,s:b,s:{s:o}}", "id", id, "object",
                                        "event", "type", types[event->kind], "api_version",
                                        pr_gate_parameter(event->order->account, "version"),
                                        "created", (json_int_t)(event->now.wall_us / 1000000),
                                        "livemode", 0, "data", "object", object));
    return true;
}

static void seal(pr_gate_message_t *message, pr_now_t now)
{
    char signature[65], header[128];
    pr_buffer_t text;
    pr_buffer_init(&text, PR_GATE_BODY_MAX + 32);
    pr_rc_t rc = pr_buffer_printf(&text, "%" PRId64 ".", now.wall_us / 1000000);
    rc = rc == PR_OK ? pr_buffer_append(&text, message->body.data, message->body.len) : rc;
    pr_assert(rc == PR_OK);
    pr_gate_hmac_hex(pr_bytes_text(pr_gate_parameter(message->account, "webhook_secret")),
                     pr_buffer_bytes(&text), signature);
    pr_buffer_free(&text);
    pr_gate_spoil(message->forged, signature);
    snprintf(header, sizeof(header), "t=%" PRId64 ",v1=%s", now.wall_us / 1000000, signature);
    pr_gate_message_header(message, "Stripe-Signature", header);
}

static bool accepts(int status, pr_bytes_t body)
{
    (void)body;
    return status >= 200 && status < 300;
}

const pr_gate_protocol_t pr_gate_stripe = {
    .name = "stripe",
    .order_prefix = "pi_",
    .refund_prefix = "re_",
    .traits =
        PR_GATE_EMPTY_STATEMENT | PR_GATE_SYNC | PR_GATE_SAVES_ANSWERS | PR_GATE_FAILED_IS_OPEN,
    .unit = PR_MONEY_UNIT_MINOR,
    .exponents = {2, {{"ISK", 2}, {"UGX", 2}}},
    .owns = owns,
    .complete = complete,
    .read = read,
    .write = write_answer,
    .event = event,
    .seal = seal,
    .accepts = accepts,
};
