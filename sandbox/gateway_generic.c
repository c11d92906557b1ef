/* SPDX-License-Identifier: Apache-2.0
 *
 * An aggregator of the usual kind: forms signed with MD5 over sorted parameters and &key=, JSON back,
 * HTTP 200 whatever happened. A number that was used is refused, with the same parameters too.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "sandbox/gateway_protocol.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *path;
    pr_gate_operation_t operation;
} paths[] = {
    {"/api/pay/unifiedOrder", PR_GATE_CHARGE},   {"/api/pay/query", PR_GATE_QUERY},
    {"/api/pay/close", PR_GATE_CLOSE},           {"/api/refund/refundOrder", PR_GATE_REFUND},
    {"/api/refund/query", PR_GATE_QUERY_REFUND},
};

static bool owns(pr_bytes_t path)
{
    return pr_gate_starts(path, "/api/pay/") || pr_gate_starts(path, "/api/refund/");
}

static void complete(pr_gate_account_t *account)
{
    char digits[65];
    pr_gate_default(account, "mch_no", account->name);
    pr_gate_default(account, "app_id", pr_gate_account_digits(account, "app", 24, digits));
    pr_gate_default(account, "key", pr_gate_account_digits(account, "key", 64, digits));
}

static void sign(const pr_gate_account_t *account, const json_t *form, char out[33])
{
    static const char *const left_out[] = {"sign", NULL};
    pr_buffer_t text;
    pr_buffer_init(&text, (size_t)1 << 20);
    pr_gate_sorted_form(form, left_out, &text);
    pr_rc_t rc = pr_buffer_printf(&text, "&key=%s", pr_gate_parameter(account, "key"));
    pr_assert(rc == PR_OK);
    pr_gate_md5_upper(pr_buffer_bytes(&text), out);
    pr_buffer_free(&text);
}

static bool authenticate(pr_gate_call_t *call)
{
    char signature[33];
    const char *number = pr_gate_text(call->document, "mchNo");
    call->account = pr_gate_account_by(call, "mch_no", pr_bytes_text(number));
    if (!call->account) {
        return false;
    }
    sign(call->account, call->document, signature);
    return pr_gate_same(pr_bytes_text(pr_gate_text(call->document, "sign")), signature) &&
           strcmp(pr_gate_text(call->document, "appId"),
                  pr_gate_parameter(call->account, "app_id")) == 0;
}

static pr_gate_result_t read_fields(pr_gate_call_t *call)
{
    bool charge = call->operation == PR_GATE_CHARGE, refund = call->operation == PR_GATE_REFUND;
    const json_t *form = call->document;
    (void)pr_gate_take(form, "mchOrderNo", call->request_no, 65);
    (void)pr_gate_take(form, "mchRefundNo", call->refund_no, 65);
    (void)pr_gate_take(form, "notifyUrl", call->notify_url, sizeof(call->notify_url));
    (void)pr_gate_take(form, "subject", call->label, sizeof(call->label));
    (void)pr_gate_take(form, "currency", call->currency, sizeof(call->currency));
    for (char *at = call->currency; *at; at++) {
        *at = (char)toupper((unsigned char)*at);
    }
    snprintf(call->fingerprint, sizeof(call->fingerprint), "%s %s", pr_gate_text(form, "amount"),
             call->currency);
    bool number =
        call->operation == PR_GATE_QUERY_REFUND ? call->refund_no[0] : call->request_no[0];
    if (!number || (refund && !call->refund_no[0]) ||
        (charge && !pr_gate_take_amount(call, form, "amount")) ||
        (refund && !pr_gate_take_amount(call, form, "refundAmount"))) {
        return PR_GATE_BAD_REQUEST;
    }
    return PR_GATE_OK;
}

static pr_gate_result_t read(pr_gate_call_t *call)
{
    if (!pr_gate_is(call->method, "POST") || !pr_gate_read_form(call)) {
        return PR_GATE_BAD_REQUEST;
    }
    if (!authenticate(call)) {
        return PR_GATE_BAD_CREDENTIAL;
    }
    for (size_t i = 0; i < PR_COUNT(paths); i++) {
        if (pr_gate_is(call->path, paths[i].path)) {
            call->operation = paths[i].operation;
            return read_fields(call);
        }
    }
    return PR_GATE_NO_SUCH_PATH;
}

/* ---- objects: texts, for a notification is a form ---- */

static const char *order_state(const pr_gate_order_t *order)
{
    switch (order->state) {
    case PR_GATE_PAID:
        return order->refunded > 0 && order->refunded >= order->captured ? "5" : "2";
    case PR_GATE_FAILED:
        return "3";
    case PR_GATE_CLOSED:
        return "6";
    default:
        return "1";
    }
}

static const char *digits(int64_t value, char out[24])
{
    snprintf(out, 24, "%" PRId64, value);
    return out;
}

static const char *lower(const char *currency, char out[8])
{
    size_t len = strnlen(currency, 7);
    for (size_t i = 0; i < len; i++) {
        out[i] = (char)tolower((unsigned char)currency[i]);
    }
    out[len] = '\0';
    return out;
}

static json_t *payment(const pr_gate_order_t *order)
{
    char amount[24], refunded[24] = "", time[24] = "", currency[8], url[96];
    if (order->refunded > 0) {
        (void)digits(order->refunded, refunded);
    }
    if (order->paid_us > 0) {
        (void)digits(order->paid_us / 1000, time);
    }
    snprintf(url, sizeof(url), "https://qr.example/%s", order->reference);
    return pr_gate_pruned(json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "payOrderId", order->reference, "mchNo",
        pr_gate_said_account(order), "appId", pr_gate_parameter(order->account, "app_id"),
        "mchOrderNo", order->request_no, "state", order_state(order), "amount",
        digits(pr_gate_said_amount(order), amount), "currency",
        lower(pr_gate_said_currency(order), currency), "successTime", time, "refundAmount",
        refunded, "errCode", order->code, "codeUrl", order->state == PR_GATE_WAITING ? url : ""));
}

static json_t *refund(const pr_gate_refund_t *refund)
{
    static const char *const states[] = {"1", "2", "3", "3"};
    const pr_gate_order_t *order = refund->order;
    bool failed = refund->state >= PR_GATE_REFUND_FAILED;
    char amount[24], part[24], currency[8];
    return pr_gate_pruned(json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "refundOrderId", refund->reference,
        "payOrderId", order->reference, "mchNo", pr_gate_said_account(order), "appId",
        pr_gate_parameter(order->account, "app_id"), "mchRefundNo", refund->refund_no, "payAmount",
        digits(order->amount, amount), "refundAmount", digits(refund->amount, part), "currency",
        lower(order->currency, currency), "state", states[refund->state], "errCode",
        failed ? order->plan->script.refund.code : ""));
}

/* ---- answers ---- */

static const struct {
    int status, code;
    const char *text;
} errors[PR_GATE_RESULTS] = {
    [PR_GATE_NO_SUCH_PATH] = {404, 404, "no such interface"},
    [PR_GATE_BAD_REQUEST] = {200, 11, "参数有误"},
    [PR_GATE_BAD_CREDENTIAL] = {200, 5005, "sign verification failed"},
    [PR_GATE_NOT_FOUND] = {200, 9999, "订单不存在"},
    [PR_GATE_NUMBER_USED] = {200, 9999, "商户订单已存在"},
    [PR_GATE_ALREADY_PAID] = {200, 9999, "订单已支付"},
    [PR_GATE_WAS_CLOSED] = {200, 9999, "订单已关闭"},
    [PR_GATE_TOO_MUCH] = {200, 9999, "申请金额超出订单可退款余额"},
    [PR_GATE_WRONG_STATE] = {200, 9999, "订单状态不正确"},
    [PR_GATE_THROTTLED] = {429, 429, "too many requests"},
    [PR_GATE_SERVER_ERROR] = {200, 9999, "系统异常"},
    [PR_GATE_MAINTENANCE] = {503, 503, "maintenance"},
};

static void write_answer(pr_gate_call_t *call)
{
    char signature[33];
    bool failed = call->result == PR_GATE_DECLINED && call->order; /* an order that failed */
    if (call->operation == PR_GATE_CHARGE && call->repeated) {
        call->result = PR_GATE_NUMBER_USED;
    } else if (call->result == PR_GATE_OK || failed) {
        json_t *data = call->refund ? refund(call->refund) : payment(call->order);
        sign(call->account, data, signature);
        pr_gate_reply(call, 200,
                      json_pack("{s:i,s:s,s:o,s:s}", "code", 0, "msg", "SUCCESS", "data", data,
                                "sign", signature));
        return;
    }
    pr_gate_reply(call, errors[call->result].status,
                  json_pack("{s:i,s:s}", "code", errors[call->result].code, "msg",
                            errors[call->result].text));
}

static bool event(const pr_gate_event_t *event, pr_gate_message_t *out)
{
    char signature[33], time[24];
    if (event->kind == PR_GATE_EVENT_APPROVED || event->kind == PR_GATE_EVENT_CLOSED ||
        event->kind == PR_GATE_EVENT_REFUND_REVERSED) {
        return false;
    }
    json_t *form = event->refund ? refund(event->refund) : payment(event->order);
    json_object_set_new(form, "reqTime", json_string(digits(event->now.wall_us / 1000, time)));
    sign(event->order->account, form, signature);
    pr_gate_spoil(event->forged, signature);
    json_object_set_new(form, "sign", json_string(signature));
    pr_gate_message_form(out, form, false);
    json_decref(form);
    return true;
}

static bool accepts(int status, pr_bytes_t body)
{
    (void)status;
    return pr_gate_is(body, "success") || pr_gate_is(body, "SUCCESS");
}

const pr_gate_protocol_t pr_gate_generic = {
    .name = "generic-md5",
    .order_prefix = "P",
    .refund_prefix = "R",
    .traits = PR_GATE_BY_NUMBER,
    .unit = PR_MONEY_UNIT_MINOR,
    .owns = owns,
    .complete = complete,
    .read = read,
    .write = write_answer,
    .event = event,
    .accepts = accepts,
};
