/* SPDX-License-Identifier: Apache-2.0
 *
 * The plainest gateway: JSON, HMAC-SHA256 over what is sent, order numbers as idempotency.
 * profiles/sandbox.yaml is its description for merchants.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "sandbox/gateway_protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKEW_S 300

static bool owns(pr_bytes_t path)
{
    return pr_gate_starts(path, "/gateway/v1/");
}

static void complete(pr_gate_account_t *account)
{
    json_object_set_new(account->parameters, "account", json_string(account->name));
    char secret[65];
    pr_gate_default(account, "secret", pr_gate_account_digits(account, "secret", 64, secret));
}

/* METHOD \n target \n timestamp \n nonce \n body, under the account's secret. */
static bool signature_holds(pr_gate_call_t *call, pr_bytes_t timestamp, pr_bytes_t nonce)
{
    const char *secret = pr_gate_parameter(call->account, "secret");
    pr_bytes_t signature = pr_gate_header(call, "X-Signature");
    char wanted[65];
    pr_buffer_t text;
    pr_buffer_init(&text, (size_t)1 << 20);
    pr_rc_t rc = pr_buffer_printf(&text, "%.*s\n%.*s\n%.*s\n%.*s\n", (int)call->method.len,
                                  call->method.data, (int)call->target.len, call->target.data,
                                  (int)timestamp.len, timestamp.data, (int)nonce.len, nonce.data);
    rc = rc == PR_OK ? pr_buffer_append(&text, call->body.data, call->body.len) : rc;
    pr_gate_hmac_hex(pr_bytes_text(secret), pr_buffer_bytes(&text), wanted);
    pr_buffer_free(&text);
    return rc == PR_OK && pr_gate_same(signature, wanted);
}

static bool authenticate(pr_gate_call_t *call)
{
    char name[130];
    pr_bytes_t timestamp = pr_gate_header(call, "X-Timestamp");
    pr_bytes_t nonce = pr_gate_header(call, "X-Nonce");
    if (!pr_gate_copy(name, sizeof(name), pr_gate_header(call, "X-Account"))) {
        return false;
    }
    call->account = pr_gate_account_find(call->ledger, call->protocol, name);
    if (!call->account || timestamp.len == 0 || timestamp.len > 11 || nonce.len == 0) {
        return false;
    }
    int64_t skew = strtoll((const char *)timestamp.data, NULL, 10) - call->now.wall_us / 1000000;
    return skew >= -SKEW_S && skew <= SKEW_S && signature_holds(call, timestamp, nonce);
}

static pr_gate_result_t read_new(pr_gate_call_t *call)
{
    bool charge = call->operation == PR_GATE_CHARGE;
    char *number = charge ? call->request_no : call->refund_no;
    if (!pr_gate_read_json(call) ||
        !pr_gate_take(call->document, "request_no", call->request_no, sizeof(call->request_no)) ||
        !pr_gate_take(call->document, "currency", call->currency, sizeof(call->currency)) ||
        !pr_gate_take_amount(call, call->document, "amount")) {
        return PR_GATE_BAD_REQUEST;
    }
    if (!charge &&
        !pr_gate_take(call->document, "refund_no", call->refund_no, sizeof(call->refund_no))) {
        return PR_GATE_BAD_REQUEST;
    }
    /* optional ones */
    (void)pr_gate_take(call->document, "notify_url", call->notify_url, sizeof(call->notify_url));
    (void)pr_gate_take(call->document, "scenario", call->label, sizeof(call->label));
    if (!pr_gate_is(pr_gate_header(call, "Idempotency-Key"), number)) {
        return PR_GATE_BAD_REQUEST;
    }
    pr_gate_sha256_hex(call->body, call->fingerprint);
    return PR_GATE_OK;
}

static pr_gate_result_t read(pr_gate_call_t *call)
{
    pr_bytes_t number;
    bool get = pr_gate_is(call->method, "GET"), post = pr_gate_is(call->method, "POST");
    char *out = call->request_no;
    if (!authenticate(call)) {
        return PR_GATE_BAD_CREDENTIAL;
    }
    if (post && pr_gate_is(call->path, "/gateway/v1/charges")) {
        call->operation = PR_GATE_CHARGE;
        return read_new(call);
    }
    if (post && pr_gate_is(call->path, "/gateway/v1/refunds")) {
        call->operation = PR_GATE_REFUND;
        return read_new(call);
    }
    if (get && pr_gate_is(call->path, "/gateway/v1/statements")) {
        char date[16] = "", format[16] = "";
        (void)pr_gate_query_text(call->query, "date", date, sizeof(date));
        (void)pr_gate_query_text(call->query, "format", format, sizeof(format));
        call->operation = PR_GATE_STATEMENT_FILE;
        return (strcmp(format, "csv") == 0 || strcmp(format, "camt053") == 0) &&
                       pr_gate_day_set(&call->day, format, date, 0)
                   ? PR_GATE_OK
                   : PR_GATE_BAD_REQUEST;
    }
    if (get && pr_gate_between(call->path, "/gateway/v1/charges/", "", &number)) {
        call->operation = PR_GATE_QUERY;
    } else if (post && pr_gate_between(call->path, "/gateway/v1/charges/", "/close", &number)) {
        call->operation = PR_GATE_CLOSE;
    } else if (get && pr_gate_between(call->path, "/gateway/v1/refunds/", "", &number)) {
        call->operation = PR_GATE_QUERY_REFUND;
        out = call->refund_no;
    } else {
        return PR_GATE_NO_SUCH_PATH;
    }
    if (!pr_gate_unescape(number, out, sizeof(call->request_no), false)) {
        return PR_GATE_BAD_REQUEST;
    }
    /* a merchant that has only our reference asks by that */
    if (out == call->request_no && pr_gate_starts(pr_bytes_text(out), "ch_") &&
        !pr_gate_order_by_number(call->ledger, call->account, out)) {
        memcpy(call->reference, call->request_no, sizeof(call->reference));
    }
    return PR_GATE_OK;
}

static json_t *payment(const pr_gate_order_t *order)
{
    char time[PR_MOMENT_TEXT_MAX] = "";
    const char *state = pr_gate_state_name(order->state);
    bool paid = order->state == PR_GATE_PAID;
    if (paid && order->refunded > 0) {
        state = order->refunded >= order->captured ? "refunded" : "partially_refunded";
    }
    if (order->paid_us > 0) {
        (void)pr_gate_time(order->paid_us, PR_MOMENT_RFC3339, 0, time);
    }
    json_t *out = json_pack(
        "{s:s,s:s,s:s,s:s,s:I,s:s,s:s,s:s}", "account", pr_gate_said_account(order), "request_no",
        order->request_no, "id", order->reference, "status", state, "amount",
        (json_int_t)pr_gate_said_amount(order), "currency", pr_gate_said_currency(order), "paid_at",
        time, "qr_code", order->state == PR_GATE_WAITING ? "https://pay.example/qr" : "");
    if (paid) {
        json_object_set_new(out, "captured", json_integer(order->captured));
        json_object_set_new(out, "refunded", json_integer(order->refunded));
    }
    if (order->state == PR_GATE_FAILED) {
        json_object_set_new(out, "failure",
                            json_pack("{s:s,s:s}", "code", order->code, "message", "refused"));
    }
    return pr_gate_pruned(out);
}

static json_t *refund(const pr_gate_refund_t *refund)
{
    char time[PR_MOMENT_TEXT_MAX] = "";
    const pr_gate_order_t *order = refund->order;
    if (refund->state == PR_GATE_REFUND_DONE) {
        (void)pr_gate_time(refund->ended_us, PR_MOMENT_RFC3339, 0, time);
    }
    json_t *out =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:s,s:s}", "account", pr_gate_said_account(order),
                  "request_no", order->request_no, "payment", order->reference, "refund_no",
                  refund->refund_no, "id", refund->reference, "status",
                  pr_gate_refund_state_name(refund->state), "amount", (json_int_t)refund->amount,
                  "currency", order->currency, "refunded_at", time);
    if (refund->state == PR_GATE_REFUND_FAILED) {
        const char *code = order->plan->script.refund.code;
        json_object_set_new(out, "failure",
                            json_pack("{s:s,s:s}", "code", code, "message", "refused"));
    }
    return pr_gate_pruned(out);
}

static const struct {
    int status;
    const char *code;
} errors[PR_GATE_RESULTS] = {
    [PR_GATE_NO_SUCH_PATH] = {404, "no_such_path"},
    [PR_GATE_BAD_REQUEST] = {400, "bad_request"},
    [PR_GATE_BAD_CREDENTIAL] = {401, "bad_credential"},
    [PR_GATE_NOT_FOUND] = {404, "not_found"},
    [PR_GATE_NUMBER_USED] = {409, "number_used"},
    [PR_GATE_ALREADY_PAID] = {409, "already_paid"},
    [PR_GATE_WAS_CLOSED] = {409, "closed"},
    [PR_GATE_DECLINED] = {402, ""},
    [PR_GATE_TOO_MUCH] = {400, "more_than_is_left"},
    [PR_GATE_WRONG_STATE] = {409, "wrong_state"},
    [PR_GATE_THROTTLED] = {429, "rate_limited"},
    [PR_GATE_SERVER_ERROR] = {500, "server_error"},
    [PR_GATE_MAINTENANCE] = {503, "maintenance"},
};

/* X-Timestamp and X-Signature over "timestamp.body", as headers of an answer or a webhook. */
static void sign(const pr_gate_account_t *account, pr_bytes_t body, int64_t wall_us,
                 char timestamp[24], char signature[65])
{
    pr_buffer_t text;
    pr_buffer_init(&text, PR_GATE_ANSWER_MAX + 32);
    snprintf(timestamp, 24, "%" PRId64, wall_us / 1000000);
    pr_rc_t rc = pr_buffer_printf(&text, "%s.", timestamp);
    rc = rc == PR_OK ? pr_buffer_append(&text, body.data, body.len) : rc;
    pr_assert(rc == PR_OK);
    pr_gate_hmac_hex(pr_bytes_text(pr_gate_parameter(account, "secret")), pr_buffer_bytes(&text),
                     signature);
    pr_buffer_free(&text);
}

static void write_statement(pr_gate_call_t *call)
{
    pr_buffer_t file;
    bool csv = strcmp(call->day.kind, "csv") == 0;
    pr_buffer_init(&file, PR_GATE_ANSWER_MAX);
    (csv ? pr_gate_sandbox_csv : pr_gate_sandbox_camt)(call, &file);
    pr_gate_reply_file(call, csv ? "text/csv" : "application/xml", &file);
    pr_buffer_free(&file);
}

static void write_answer(pr_gate_call_t *call)
{
    if (call->result == PR_GATE_OK && call->operation == PR_GATE_STATEMENT_FILE) {
        write_statement(call);
    } else if (call->result == PR_GATE_OK) {
        pr_gate_reply(call, 200, call->refund ? refund(call->refund) : payment(call->order));
    } else {
        const char *code = errors[call->result].code;
        code = code[0] ? code : call->code;
        json_t *body = json_pack("{s:{s:s,s:s}}", "error", "code", code, "message",
                                 pr_gate_result_name(call->result));
        pr_gate_reply(call, errors[call->result].status, body);
    }
    if (call->account) {
        char timestamp[24], signature[65];
        sign(call->account, pr_buffer_bytes(&call->answer), call->now.wall_us, timestamp,
             signature);
        pr_gate_reply_header(call, "X-Timestamp", timestamp);
        pr_gate_reply_header(call, "X-Signature", signature);
    }
}

static bool event(const pr_gate_event_t *event, pr_gate_message_t *out)
{
    static const char *const types[PR_GATE_EVENTS] = {
        [PR_GATE_EVENT_PAID] = "payment.succeeded",
        [PR_GATE_EVENT_FAILED] = "payment.failed",
        [PR_GATE_EVENT_CLOSED] = "payment.cancelled",
        [PR_GATE_EVENT_REFUND_DONE] = "refund.succeeded",
        [PR_GATE_EVENT_REFUND_FAILED] = "refund.failed",
        [PR_GATE_EVENT_REFUND_REVERSED] = "refund.reversed",
    };
    char id[32];
    if (!types[event->kind]) {
        return false;
    }
    snprintf(id, sizeof(id), "evt_%s", event->id);
    json_t *data = event->refund ? refund(event->refund) : payment(event->order);
    pr_gate_message_json(
        out, json_pack("{s:s,s:s,s:o}", "id", id, "type", types[event->kind], "data", data));
    return true;
}

static void seal(pr_gate_message_t *message, pr_now_t now)
{
    char timestamp[24], signature[80] = "probe";
    size_t prefix = message->probe ? strlen(signature) : 0;
    sign(message->account, pr_buffer_bytes(&message->body), now.wall_us, timestamp,
         signature + prefix);
    pr_gate_spoil(message->forged, signature);
    pr_gate_message_header(message, "X-Timestamp", timestamp);
    pr_gate_message_header(message, "X-Signature", signature);
}

static bool accepts(int status, pr_bytes_t body)
{
    (void)body;
    return status >= 200 && status < 300;
}

const pr_gate_protocol_t pr_gate_sandbox = {
    .name = "sandbox",
    .order_prefix = "ch_",
    .refund_prefix = "re_",
    .traits = PR_GATE_SYNC | PR_GATE_BY_NUMBER,
    .unit = PR_MONEY_UNIT_MINOR,
    .owns = owns,
    .complete = complete,
    .read = read,
    .write = write_answer,
    .event = event,
    .seal = seal,
    .accepts = accepts,
};
