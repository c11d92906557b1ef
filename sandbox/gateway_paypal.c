/* SPDX-License-Identifier: Apache-2.0
 *
 * PayPal, Orders v2: an access token first, an order that the payer approves and the merchant captures,
 * PayPal-Request-Id that gives the latest state again, webhooks signed over a CRC of the body.
 */
#include "base/assert.h"
#include "sandbox/gateway_protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ORDERS "/v2/checkout/orders"
#define CERTIFICATE "https://api.paypal.com/v1/notifications/certs/CERT-sandbox"

static bool owns(pr_bytes_t path)
{
    return pr_gate_starts(path, "/v2/") || pr_gate_is(path, "/v1/oauth2/token");
}

static void complete(pr_gate_account_t *account)
{
    char digits[65];
    pr_gate_default(account, "merchant_id", account->name);
    pr_gate_default(account, "client_id", pr_gate_account_digits(account, "client", 40, digits));
    pr_gate_default(account, "client_secret", pr_gate_account_digits(account, "key", 40, digits));
    pr_gate_default(account, "webhook_id", pr_gate_account_digits(account, "hook", 17, digits));
}

/* One token for each account, good as long as its secret. */
static void token_of(const pr_gate_account_t *account, char out[80])
{
    char digits[65];
    pr_gate_hmac_hex(pr_bytes_text(pr_gate_parameter(account, "client_secret")),
                     pr_bytes_text("token"), digits);
    snprintf(out, 80, "A21AA%s", digits);
}

/* ---- requests ---- */

/* Every account is tried: the header itself says which one it is. */
static bool authenticate(pr_gate_call_t *call, bool basic)
{
    pr_gate_account_t *account;
    pr_bytes_t header = pr_gate_header(call, "Authorization");
    char text[256], wanted[400];
    for (size_t i = 0; (account = pr_gate_account_at(call->ledger, i)); i++) {
        if (account->protocol != call->protocol) {
            continue;
        }
        if (basic) {
            int len = snprintf(text, sizeof(text), "%s:%s", pr_gate_parameter(account, "client_id"),
                               pr_gate_parameter(account, "client_secret"));
            memcpy(wanted, "Basic ", 6);
            EVP_EncodeBlock((uint8_t *)wanted + 6, (const uint8_t *)text,
                            len < (int)sizeof(text) ? len : 0);
        } else {
            token_of(account, text);
            snprintf(wanted, sizeof(wanted), "Bearer %s", text);
        }
        if (pr_gate_same(header, wanted)) {
            call->account = account;
            return true;
        }
    }
    return false;
}

static pr_gate_result_t read_charge(pr_gate_call_t *call)
{
    const json_t *document = call->document;
    call->operation = PR_GATE_CHARGE;
    (void)pr_gate_take(document, "purchase_units.0.description", call->label, sizeof(call->label));
    return strcmp(pr_gate_text(document, "intent"), "CAPTURE") == 0 &&
                   pr_gate_take(document, "purchase_units.0.invoice_id", call->request_no,
                                sizeof(call->request_no)) &&
                   pr_gate_take(document, "purchase_units.0.amount.currency_code", call->currency,
                                sizeof(call->currency)) &&
                   pr_gate_take_amount(call, document, "purchase_units.0.amount.value")
               ? PR_GATE_OK
               : PR_GATE_BAD_REQUEST;
}

/* A capture is C and the order's reference. */
static pr_gate_result_t read_refund(pr_gate_call_t *call, pr_bytes_t capture)
{
    call->operation = PR_GATE_REFUND;
    if (capture.data[0] != 'C' || !pr_gate_copy(call->reference, sizeof(call->reference),
                                                pr_bytes(capture.data + 1, capture.len - 1))) {
        return PR_GATE_OK; /* no order has this reference: not found */
    }
    return pr_gate_take(call->document, "invoice_id", call->refund_no, sizeof(call->refund_no)) &&
                   pr_gate_take(call->document, "amount.currency_code", call->currency,
                                sizeof(call->currency)) &&
                   pr_gate_take_amount(call, call->document, "amount.value")
               ? PR_GATE_OK
               : PR_GATE_BAD_REQUEST;
}

static pr_gate_result_t read_get(pr_gate_call_t *call)
{
    pr_bytes_t id;
    char *out = call->reference;
    call->operation = PR_GATE_QUERY;
    if (pr_gate_between(call->path, "/v2/payments/refunds/", "", &id)) {
        call->operation = PR_GATE_QUERY_REFUND;
        out = call->refund_reference;
    } else if (!pr_gate_between(call->path, ORDERS "/", "", &id)) {
        return PR_GATE_NO_SUCH_PATH;
    }
    return pr_gate_unescape(id, out, sizeof(call->reference), false) ? PR_GATE_OK
                                                                     : PR_GATE_BAD_REQUEST;
}

static pr_gate_result_t read(pr_gate_call_t *call)
{
    pr_bytes_t id;
    bool token = pr_gate_is(call->path, "/v1/oauth2/token");
    if (!authenticate(call, token)) {
        return PR_GATE_BAD_CREDENTIAL;
    }
    if (token) {
        call->operation = PR_GATE_TOKEN;
        return PR_GATE_OK;
    }
    if (pr_gate_is(call->method, "GET")) {
        return read_get(call);
    }
    (void)pr_gate_copy(call->key, 109, pr_gate_header(call, "PayPal-Request-Id"));
    pr_gate_sha256_hex(call->body, call->fingerprint);
    if (!pr_gate_is(call->method, "POST") || !pr_gate_read_json(call)) {
        return PR_GATE_BAD_REQUEST;
    }
    if (pr_gate_is(call->path, ORDERS)) {
        return read_charge(call);
    }
    if (pr_gate_between(call->path, "/v2/payments/captures/", "/refund", &id)) {
        return read_refund(call, id);
    }
    call->operation = PR_GATE_CAPTURE;
    if (!pr_gate_between(call->path, ORDERS "/", "/capture", &id)) {
        return PR_GATE_NO_SUCH_PATH;
    }
    return pr_gate_unescape(id, call->reference, sizeof(call->reference), false)
               ? PR_GATE_OK
               : PR_GATE_BAD_REQUEST;
}

/* ---- objects ---- */

static json_t *money(int64_t minor, const char *currency)
{
    char text[PR_MONEY_TEXT_MAX];
    return json_pack("{s:s,s:s}", "currency_code", currency, "value",
                     pr_gate_money(&pr_gate_paypal, minor, currency, text));
}

static const char *moment(int64_t us, char out[PR_MOMENT_TEXT_MAX])
{
    return pr_gate_time(us, PR_MOMENT_RFC3339, 0, out);
}

static json_t *capture(const pr_gate_order_t *order)
{
    char id[80], time[PR_MOMENT_TEXT_MAX];
    const char *status = order->state == PR_GATE_FAILED       ? "DECLINED"
                         : order->refunded == 0               ? "COMPLETED"
                         : order->refunded >= order->captured ? "REFUNDED"
                                                              : "PARTIALLY_REFUNDED";
    snprintf(id, sizeof(id), "C%s", order->reference);
    return json_pack("{s:s,s:s,s:o,s:s,s:s,s:{s:s},s:{s:{s:s}}}", "id", id, "status", status,
                     "amount", money(pr_gate_said_amount(order), pr_gate_said_currency(order)),
                     "invoice_id", order->request_no, "create_time", moment(order->ended_us, time),
                     "payee", "merchant_id", pr_gate_said_account(order), "supplementary_data",
                     "related_ids", "order_id", order->reference);
}

static json_t *order_of(const pr_gate_order_t *order)
{
    static const char *const states[] = {[PR_GATE_WAITING] = "PAYER_ACTION_REQUIRED",
                                         [PR_GATE_APPROVED] = "APPROVED",
                                         [PR_GATE_PAID] = "COMPLETED",
                                         [PR_GATE_FAILED] = "COMPLETED",
                                         [PR_GATE_CLOSED] = "VOIDED"};
    char url[128];
    snprintf(url, sizeof(url), "https://www.paypal.example/checkoutnow?token=%s", order->reference);
    json_t *unit = json_pack("{s:s,s:s,s:o,s:{s:s}}", "reference_id", order->request_no,
                             "invoice_id", order->request_no, "amount",
                             money(pr_gate_said_amount(order), pr_gate_said_currency(order)),
                             "payee", "merchant_id", pr_gate_said_account(order));
    if (order->state == PR_GATE_PAID || order->state == PR_GATE_FAILED) {
        json_object_set_new(unit, "payments", json_pack("{s:[o]}", "captures", capture(order)));
    }
    return json_pack("{s:s,s:s,s:s,s:[o],s:[{s:s,s:s,s:s}]}", "id", order->reference, "intent",
                     "CAPTURE", "status", states[order->state], "purchase_units", unit, "links",
                     "href", url, "rel", "payer-action", "method", "GET");
}

static json_t *refund(const pr_gate_refund_t *refund)
{
    static const char *const states[] = {"PENDING", "COMPLETED", "FAILED", "CANCELLED"};
    const pr_gate_order_t *order = refund->order;
    char time[PR_MOMENT_TEXT_MAX];
    return json_pack("{s:s,s:s,s:o,s:s,s:s,s:{s:o},s:{s:s}}", "id", refund->reference, "status",
                     states[refund->state], "amount", money(refund->amount, order->currency),
                     "invoice_id", refund->refund_no, "create_time",
                     moment(refund->created_us, time), "seller_payable_breakdown",
                     "total_refunded_amount", money(order->refunded, order->currency), "payer",
                     "merchant_id", pr_gate_said_account(order));
}

/* ---- answers ---- */

static const struct {
    int status;
    const char *name, *issue;
} errors[PR_GATE_RESULTS] = {
    [PR_GATE_NO_SUCH_PATH] = {404, "RESOURCE_NOT_FOUND", "INVALID_RESOURCE_ID"},
    [PR_GATE_BAD_REQUEST] = {400, "INVALID_REQUEST", "MISSING_REQUIRED_PARAMETER"},
    [PR_GATE_BAD_CREDENTIAL] = {401, "AUTHENTICATION_FAILURE", ""},
    [PR_GATE_NOT_FOUND] = {404, "RESOURCE_NOT_FOUND", "INVALID_RESOURCE_ID"},
    [PR_GATE_NUMBER_USED] = {422, "UNPROCESSABLE_ENTITY", "DUPLICATE_INVOICE_ID"},
    [PR_GATE_ALREADY_PAID] = {422, "UNPROCESSABLE_ENTITY", "ORDER_ALREADY_CAPTURED"},
    [PR_GATE_DECLINED] = {422, "UNPROCESSABLE_ENTITY", "INSTRUMENT_DECLINED"},
    [PR_GATE_TOO_MUCH] = {422, "UNPROCESSABLE_ENTITY", "REFUND_AMOUNT_EXCEEDED"},
    [PR_GATE_WRONG_STATE] = {422, "UNPROCESSABLE_ENTITY", "ORDER_NOT_APPROVED"},
    [PR_GATE_THROTTLED] = {429, "RATE_LIMIT_REACHED", ""},
    [PR_GATE_SERVER_ERROR] = {500, "INTERNAL_SERVER_ERROR", ""},
    [PR_GATE_MAINTENANCE] = {503, "SERVICE_UNAVAILABLE", ""},
};

static const char *issue_of(const pr_gate_call_t *call)
{
    if (call->result == PR_GATE_NUMBER_USED && call->operation != PR_GATE_CAPTURE) {
        return "PAYPAL_REQUEST_ID_PREVIOUSLY_USED";
    }
    if (call->result != PR_GATE_DECLINED || strcmp(call->code, "insufficient_funds") == 0) {
        return errors[call->result].issue;
    }
    return strcmp(call->code, "risk_refused") == 0 ? "TRANSACTION_REFUSED" : call->code;
}

static void write_answer(pr_gate_call_t *call)
{
    char token[80];
    if (call->result != PR_GATE_OK) {
        const char *issue = issue_of(call);
        json_t *body = json_pack("{s:s,s:s}", "name", errors[call->result].name, "message",
                                 pr_gate_result_name(call->result));
        if (issue[0]) {
            json_object_set_new(body, "details",
                                json_pack("[{s:s,s:s}]", "issue", issue, "description", issue));
        }
        pr_gate_reply(call, errors[call->result].status, body);
    } else if (call->operation == PR_GATE_TOKEN) {
        token_of(call->account, token);
        pr_gate_reply(call, 200,
                      json_pack("{s:s,s:s,s:i}", "access_token", token, "token_type", "Bearer",
                                "expires_in", 32400));
    } else if (call->refund) {
        pr_gate_reply(call, call->operation == PR_GATE_REFUND ? 201 : 200, refund(call->refund));
    } else {
        bool made = call->operation != PR_GATE_QUERY && !call->repeated;
        pr_gate_reply(call, made ? 201 : 200, order_of(call->order));
    }
}

/* ---- webhooks ---- */

static bool event(const pr_gate_event_t *event, pr_gate_message_t *out)
{
    static const char *const types[PR_GATE_EVENTS] = {
        [PR_GATE_EVENT_APPROVED] = "CHECKOUT.ORDER.APPROVED",
        [PR_GATE_EVENT_PAID] = "PAYMENT.CAPTURE.COMPLETED",
        [PR_GATE_EVENT_FAILED] = "PAYMENT.CAPTURE.DENIED",
        [PR_GATE_EVENT_CLOSED] = "CHECKOUT.ORDER.VOIDED",
        [PR_GATE_EVENT_REFUND_DONE] = "PAYMENT.CAPTURE.REFUNDED",
        [PR_GATE_EVENT_REFUND_FAILED] = "PAYMENT.REFUND.FAILED",
        [PR_GATE_EVENT_REFUND_REVERSED] = "PAYMENT.REFUND.FAILED",
    };
    char id[32], time[PR_MOMENT_TEXT_MAX];
    bool of_order = event->kind == PR_GATE_EVENT_APPROVED || event->kind == PR_GATE_EVENT_CLOSED;
    snprintf(id, sizeof(id), "WH-%s", event->id);
    json_t *resource = event->refund ? refund(event->refund)
                       : of_order    ? order_of(event->order)
                                     : capture(event->order);
    pr_gate_message_json(out, json_pack("{s:s,s:s,s:s,s:s,s:o}", "id", id, "event_type",
                                        types[event->kind], "create_time",
                                        moment(event->now.wall_us, time), "resource_type",
                                        event->refund ? "refund"
                                        : of_order    ? "checkout-order"
                                                      : "capture",
                                        "resource", resource));
    return true;
}

/* id|time|webhook id|crc32 of the body; the time is that of the first try. */
static void seal(pr_gate_message_t *message, pr_now_t now)
{
    char time[PR_MOMENT_TEXT_MAX], text[256], signature[PR_GATE_SIGNATURE_MAX];
    (void)now;
    int len =
        snprintf(text, sizeof(text), "%s|%s|%s|%" PRIu32, message->id,
                 moment(message->born_us, time), pr_gate_parameter(message->account, "webhook_id"),
                 pr_gate_crc32(pr_buffer_bytes(&message->body)));
    if (len >= (int)sizeof(text) ||
        !pr_gate_rsa_sign(message->account->gateway, pr_bytes(text, (size_t)len), signature)) {
        return;
    }
    pr_gate_spoil(message->forged, signature);
    pr_gate_message_header(message, "PAYPAL-TRANSMISSION-ID", message->id);
    pr_gate_message_header(message, "PAYPAL-TRANSMISSION-TIME", time);
    pr_gate_message_header(message, "PAYPAL-TRANSMISSION-SIG", signature);
    pr_gate_message_header(message, "PAYPAL-CERT-URL", CERTIFICATE);
    pr_gate_message_header(message, "PAYPAL-AUTH-ALGO", "SHA256withRSA");
}

static bool accepts(int status, pr_bytes_t body)
{
    (void)body;
    return status >= 200 && status < 300;
}

const pr_gate_protocol_t pr_gate_paypal = {
    .name = "paypal",
    .order_prefix = "PP",
    .refund_prefix = "RF",
    .traits = PR_GATE_TWO_STEPS,
    .unit = PR_MONEY_UNIT_MAJOR,
    .exponents = {2, {{"HUF", 0}, {"TWD", 0}}},
    .keys = {NULL, "certificate"},
    .owns = owns,
    .complete = complete,
    .read = read,
    .write = write_answer,
    .event = event,
    .seal = seal,
    .accepts = accepts,
};
