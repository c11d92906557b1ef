/* SPDX-License-Identifier: Apache-2.0
 *
 * Adyen Checkout: nothing can be asked. Payments answer with a result code, refunds and cancellations
 * only with "received"; how they end, signed batches of notifications say.
 */
#include "base/assert.h"
#include "sandbox/gateway_protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAYMENTS "/v71/payments"

static bool owns(pr_bytes_t path)
{
    return pr_gate_starts(path, "/v71/");
}

static void complete(pr_gate_account_t *account)
{
    char digits[65];
    pr_gate_default(account, "merchant_account", account->name);
    pr_gate_default(account, "api_key", pr_gate_account_digits(account, "key", 48, digits));
    pr_gate_default(account, "hmac_key", pr_gate_account_digits(account, "hook", 64, digits));
}

/* ---- requests ---- */

static pr_gate_result_t read_numbers(pr_gate_call_t *call)
{
    pr_bytes_t psp;
    const json_t *document = call->document;
    if (pr_gate_is(call->path, PAYMENTS)) {
        call->operation = PR_GATE_CHARGE;
        (void)pr_gate_take(document, "paymentMethod.script", call->label, sizeof(call->label));
        return pr_gate_take(document, "reference", call->request_no, sizeof(call->request_no)) &&
                       pr_gate_take_amount(call, document, "amount.value")
                   ? PR_GATE_OK
                   : PR_GATE_BAD_REQUEST;
    }
    if (pr_gate_is(call->path, "/v71/cancels")) {
        call->operation = PR_GATE_CLOSE;
        return pr_gate_take(document, "paymentReference", call->request_no,
                            sizeof(call->request_no))
                   ? PR_GATE_OK
                   : PR_GATE_BAD_REQUEST;
    }
    if (!pr_gate_between(call->path, PAYMENTS "/", "/refunds", &psp)) {
        return PR_GATE_NO_SUCH_PATH;
    }
    call->operation = PR_GATE_REFUND;
    return pr_gate_unescape(psp, call->reference, sizeof(call->reference), false) &&
                   pr_gate_take(document, "reference", call->refund_no, sizeof(call->refund_no)) &&
                   pr_gate_take_amount(call, document, "amount.value")
               ? PR_GATE_OK
               : PR_GATE_BAD_REQUEST;
}

static pr_gate_result_t read(pr_gate_call_t *call)
{
    call->account = pr_gate_account_by(call, "api_key", pr_gate_header(call, "X-API-Key"));
    if (!call->account) {
        return PR_GATE_BAD_CREDENTIAL;
    }
    if (!pr_gate_is(call->method, "POST")) {
        return PR_GATE_NO_SUCH_PATH;
    }
    if (!pr_gate_read_json(call) ||
        strcmp(pr_gate_text(call->document, "merchantAccount"),
               pr_gate_parameter(call->account, "merchant_account")) != 0) {
        return PR_GATE_BAD_REQUEST;
    }
    (void)pr_gate_copy(call->key, 65, pr_gate_header(call, "Idempotency-Key"));
    (void)pr_gate_take(call->document, "amount.currency", call->currency, sizeof(call->currency));
    pr_gate_sha256_hex(call->body, call->fingerprint);
    return read_numbers(call);
}

/* ---- answers ---- */

static json_t *money(int64_t minor, const char *currency)
{
    return json_pack("{s:o,s:s}", "value", pr_gate_money_json(&pr_gate_adyen, minor, currency),
                     "currency", currency);
}

/* Our words as its refusal reasons; others are told as they are. */
static const char *reason_code(const char *word, const char **reason)
{
    static const struct {
        const char *word, *code, *reason;
    } reasons[] = {{"insufficient_funds", "12", "Not enough balance"},
                   {"risk_refused", "20", "FRAUD"},
                   {"refused", "2", "Refused"}};
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (strcmp(word, reasons[i].word) == 0) {
            *reason = reasons[i].reason;
            return reasons[i].code;
        }
    }
    *reason = word;
    return word;
}

static json_t *payment(const pr_gate_order_t *order)
{
    const char *result =
        order->plan->script.payment.end == PR_GATE_END_UNPAID ? "RedirectShopper" : "Pending";
    const char *reason = "", *code = "";
    if (order->state == PR_GATE_PAID) {
        result = "Authorised";
    } else if (order->state == PR_GATE_CLOSED) {
        result = "Cancelled";
    } else if (order->state == PR_GATE_FAILED) {
        result = "Refused";
        code = reason_code(order->code, &reason);
    }
    json_t *out = json_pack("{s:s,s:s,s:s,s:o,s:s,s:s}", "pspReference", order->reference,
                            "resultCode", result, "merchantReference", order->request_no, "amount",
                            money(pr_gate_said_amount(order), pr_gate_said_currency(order)),
                            "refusalReason", reason, "refusalReasonCode", code);
    if (strcmp(result, "RedirectShopper") == 0) {
        json_object_set_new(
            out, "action",
            json_pack("{s:s,s:s}", "type", "redirect", "url", "https://checkout.example/pay"));
    }
    return pr_gate_pruned(out);
}

static json_t *refund_received(const pr_gate_refund_t *refund)
{
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:o}", "merchantAccount", refund->order->account->name,
                     "paymentPspReference", refund->order->reference, "pspReference",
                     refund->reference, "reference", refund->refund_no, "status", "received",
                     "amount", money(refund->amount, refund->order->currency));
}

static json_t *cancel_received(pr_gate_call_t *call)
{
    char psp[17];
    pr_gate_random_text(call->gate, psp, 16);
    return json_pack("{s:s,s:s,s:s,s:s,s:s}", "merchantAccount", call->account->name,
                     "paymentReference", call->request_no, "pspReference", psp, "reference",
                     call->request_no, "status", "received");
}

static const struct {
    int status;
    const char *code, *message;
} errors[PR_GATE_RESULTS] = {
    [PR_GATE_NO_SUCH_PATH] = {404, "000", "not found"},
    [PR_GATE_BAD_REQUEST] = {422, "130", "a required field is missing"},
    [PR_GATE_BAD_CREDENTIAL] = {401, "000", "HTTP Status Response - Unauthorized"},
    [PR_GATE_NOT_FOUND] = {422, "167", "Original pspReference required for this operation"},
    [PR_GATE_NUMBER_USED] = {422, "702", "the key was used with other parameters"},
    [PR_GATE_TOO_MUCH] = {422, "137", "Invalid amount specified"},
    [PR_GATE_WRONG_STATE] = {422, "167", "the state does not allow it"},
    [PR_GATE_THROTTLED] = {429, "000", "too many requests"},
    [PR_GATE_SERVER_ERROR] = {500, "905", "Payment details are not supported"},
    [PR_GATE_MAINTENANCE] = {503, "000", "maintenance"},
};

static void write_answer(pr_gate_call_t *call)
{
    bool good = call->result == PR_GATE_OK || call->result == PR_GATE_DECLINED;
    if (call->operation == PR_GATE_CLOSE &&
        (good || call->result == PR_GATE_ALREADY_PAID || call->result == PR_GATE_WRONG_STATE)) {
        pr_gate_reply(call, 201, cancel_received(call)); /* whether it works, a webhook says */
    } else if (good && call->operation == PR_GATE_REFUND) {
        pr_gate_reply(call, 201, refund_received(call->refund));
    } else if (good) {
        pr_gate_reply(call, 200, payment(call->order));
    } else {
        int status = errors[call->result].status;
        pr_gate_reply(call, status,
                      json_pack("{s:i,s:s,s:s}", "status", status, "errorCode",
                                errors[call->result].code, "message",
                                errors[call->result].message));
    }
}

/* ---- notifications ---- */

static const struct {
    const char *code;
    bool success;
} codes[PR_GATE_EVENTS] = {
    [PR_GATE_EVENT_PAID] = {"AUTHORISATION", true},
    [PR_GATE_EVENT_FAILED] = {"AUTHORISATION", false},
    [PR_GATE_EVENT_CLOSED] = {"CANCELLATION", true},
    [PR_GATE_EVENT_REFUND_DONE] = {"REFUND", true},
    [PR_GATE_EVENT_REFUND_FAILED] = {"REFUND", false},
    [PR_GATE_EVENT_REFUND_REVERSED] = {"REFUNDED_REVERSED", true},
};

/* pspReference:originalReference:merchantAccountCode:merchantReference:value:currency:eventCode:success */
static void sign(const pr_gate_account_t *account, const json_t *item, char out[45])
{
    static const char *const parts[] = {"pspReference", "originalReference", "merchantAccountCode",
                                        "merchantReference"};
    const char *hex = pr_gate_parameter(account, "hmac_key");
    const json_t *value = json_object_get(json_object_get(item, "amount"), "value");
    uint8_t key[128];
    size_t len = strlen(hex) / 2;
    pr_buffer_t text;
    pr_buffer_init(&text, 4096);
    pr_rc_t rc = PR_OK;
    for (size_t i = 0; rc == PR_OK && i < sizeof(parts) / sizeof(parts[0]); i++) {
        rc = pr_buffer_printf(&text, "%s:", pr_gate_text(item, parts[i]));
    }
    if (rc == PR_OK) {
        rc = pr_buffer_printf(&text, "%" JSON_INTEGER_FORMAT ":%s:%s:%s", json_integer_value(value),
                              pr_gate_text(item, "amount.currency"),
                              pr_gate_text(item, "eventCode"), pr_gate_text(item, "success"));
    }
    pr_assert(rc == PR_OK);
    if (len > sizeof(key) || !pr_unhex(hex, 2 * len, key)) {
        len = 0; /* a key that is none signs with nothing, and nothing verifies */
    }
    pr_gate_hmac_base64(pr_bytes(key, len), pr_buffer_bytes(&text), out);
    pr_buffer_free(&text);
}

static json_t *item_of(const pr_gate_event_t *event)
{
    char time[PR_MOMENT_TEXT_MAX];
    const pr_gate_order_t *order = event->order;
    const char *psp = order->reference, *original = "", *reason = "";
    int64_t amount = pr_gate_said_amount(order);
    if (event->refund) {
        psp = event->refund->reference;
        original = order->reference;
        amount = event->refund->amount;
    } else if (event->kind == PR_GATE_EVENT_CLOSED) {
        psp = event->id;
        original = order->reference;
    }
    if (!codes[event->kind].success) {
        (void)reason_code(event->refund ? order->plan->script.refund.code : order->code, &reason);
    }
    return json_pack(
        "{s:s,s:s,s:s,s:s,s:o,s:s,s:s,s:s,s:s}", "pspReference", psp, "originalReference", original,
        "merchantAccountCode", pr_gate_said_account(order), "merchantReference", order->request_no,
        "amount", money(amount, pr_gate_said_currency(order)), "eventCode", codes[event->kind].code,
        "success", codes[event->kind].success ? "true" : "false", "eventDate",
        pr_gate_time(event->now.wall_us, PR_MOMENT_RFC3339, 0, time), "reason", reason);
}

static bool event(const pr_gate_event_t *event, pr_gate_message_t *out)
{
    char signature[45];
    if (!codes[event->kind].code) {
        return false;
    }
    json_t *item = item_of(event);
    sign(event->order->account, item, signature);
    pr_gate_spoil(event->forged, signature);
    json_t *more = json_pack("{s:s,s:s}", "hmacSignature", signature, "reference",
                             event->refund ? event->refund->refund_no : "");
    json_object_set_new(item, "additionalData", pr_gate_pruned(more));
    pr_gate_message_json(out, json_pack("{s:s,s:[{s:o}]}", "live", "false", "notificationItems",
                                        "NotificationRequestItem", item));
    return true;
}

static bool accepts(int status, pr_bytes_t body)
{
    (void)body;
    return status >= 200 && status < 300;
}

const pr_gate_protocol_t pr_gate_adyen = {
    .name = "adyen",
    .order_prefix = "PSP",
    .refund_prefix = "RSP",
    .traits = PR_GATE_SYNC | PR_GATE_SAVES_ANSWERS | PR_GATE_REFUND_LATER,
    .unit = PR_MONEY_UNIT_MINOR,
    .exponents = {4, {{"CLP", 2}, {"CVE", 0}, {"IDR", 0}, {"ISK", 2}}},
    .owns = owns,
    .complete = complete,
    .read = read,
    .write = write_answer,
    .event = event,
    .accepts = accepts,
};
