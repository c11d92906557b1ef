/* SPDX-License-Identifier: Apache-2.0
 *
 * Alipay OpenAPI: one address, the method is a field of a form. RSA2 both ways; answers are signed over
 * the very bytes of the response object; money in yuan; and bytes that are GBK now and then.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "sandbox/gateway_protocol.h"

#include <stdio.h>
#include <string.h>

#define ZONE_MIN (8 * 60)
#define LINK_MAX_AGE_S 30

static const struct {
    const char *method, *response;
    pr_gate_operation_t operation;
} methods[] = {
    {"alipay.trade.precreate", "alipay_trade_precreate_response", PR_GATE_CHARGE},
    {"alipay.trade.query", "alipay_trade_query_response", PR_GATE_QUERY},
    {"alipay.trade.close", "alipay_trade_close_response", PR_GATE_CLOSE},
    {"alipay.trade.refund", "alipay_trade_refund_response", PR_GATE_REFUND},
    {"alipay.trade.fastpay.refund.query", "alipay_trade_fastpay_refund_query_response",
     PR_GATE_QUERY_REFUND},
    {"alipay.data.dataservice.bill.downloadurl.query",
     "alipay_data_dataservice_bill_downloadurl_query_response", PR_GATE_STATEMENT},
};

static bool owns(pr_bytes_t path)
{
    return pr_gate_is(path, "/gateway.do") || pr_gate_is(path, "/alipay/bill");
}

static void complete(pr_gate_account_t *account)
{
    pr_gate_default(account, "app_id", account->name);
}

/* ---- requests ---- */

static bool authenticate(pr_gate_call_t *call)
{
    static const char *const left_out[] = {"sign", NULL};
    const char *app_id = pr_gate_text(call->document, "app_id");
    call->account = pr_gate_account_by(call, "app_id", pr_bytes_text(app_id));
    if (!call->account || strcmp(pr_gate_text(call->document, "sign_type"), "RSA2") != 0) {
        return false;
    }
    pr_buffer_t text;
    pr_buffer_init(&text, (size_t)1 << 20);
    pr_gate_sorted_form(call->document, left_out, &text);
    bool good = pr_gate_rsa_verify(call->account->merchant, pr_buffer_bytes(&text),
                                   pr_bytes_text(pr_gate_text(call->document, "sign")));
    pr_buffer_free(&text);
    return good;
}

static pr_gate_result_t read_bill(pr_gate_call_t *call, const json_t *business)
{
    const char *type = pr_gate_text(business, "bill_type");
    return (strcmp(type, "trade") == 0 || strcmp(type, "signcustomer") == 0) &&
                   pr_gate_day_set(&call->day, type, pr_gate_text(business, "bill_date"), ZONE_MIN)
               ? PR_GATE_OK
               : PR_GATE_BAD_REQUEST;
}

static pr_gate_result_t read_business(pr_gate_call_t *call, const json_t *business)
{
    const char *number = pr_gate_text(business, "out_trade_no");
    memcpy(call->currency, "CNY", 4);
    if (call->operation == PR_GATE_STATEMENT) {
        return read_bill(call, business);
    }
    if (!pr_gate_copy(call->request_no, 65, pr_bytes_text(number))) {
        return PR_GATE_BAD_REQUEST;
    }
    switch (call->operation) {
    case PR_GATE_CHARGE:
        (void)pr_gate_take(call->document, "notify_url", call->notify_url,
                           sizeof(call->notify_url));
        pr_gate_sha256_hex(pr_bytes_text(pr_gate_text(call->document, "biz_content")),
                           call->fingerprint);
        return pr_gate_take(business, "subject", call->label, sizeof(call->label)) &&
                       pr_gate_take_amount(call, business, "total_amount")
                   ? PR_GATE_OK
                   : PR_GATE_BAD_REQUEST;
    case PR_GATE_REFUND:
        return pr_gate_take(business, "out_request_no", call->refund_no, 65) &&
                       pr_gate_take_amount(call, business, "refund_amount")
                   ? PR_GATE_OK
                   : PR_GATE_BAD_REQUEST;
    case PR_GATE_QUERY_REFUND:
        return pr_gate_take(business, "out_request_no", call->refund_no, 65) ? PR_GATE_OK
                                                                             : PR_GATE_BAD_REQUEST;
    default:
        return PR_GATE_OK;
    }
}

static pr_gate_result_t read(pr_gate_call_t *call)
{
    json_error_t why;
    if (pr_gate_is(call->method, "GET") && pr_gate_is(call->path, "/alipay/bill")) {
        return pr_gate_link_open(call, ZONE_MIN, LINK_MAX_AGE_S)
                   ? PR_GATE_OK
                   : PR_GATE_BAD_CREDENTIAL; /* the link is the credential */
    }
    if (!pr_gate_is(call->method, "POST") || !pr_gate_read_form(call)) {
        return PR_GATE_BAD_REQUEST;
    }
    if (!authenticate(call)) {
        return PR_GATE_BAD_CREDENTIAL;
    }
    for (size_t i = 0; i < PR_COUNT(methods); i++) {
        if (strcmp(methods[i].method, pr_gate_text(call->document, "method")) == 0) {
            call->operation = methods[i].operation;
            json_t *business = json_loads(pr_gate_text(call->document, "biz_content"), 0, &why);
            pr_gate_result_t result = read_business(call, business);
            json_decref(business);
            return result;
        }
    }
    return PR_GATE_NO_SUCH_PATH;
}

/* ---- objects ---- */

static const char *trade_status(const pr_gate_order_t *order)
{
    bool all_back = order->captured > 0 && order->refunded >= order->captured;
    switch (order->state) {
    case PR_GATE_PAID:
        return all_back ? "TRADE_CLOSED" : "TRADE_SUCCESS";
    case PR_GATE_CLOSED:
    case PR_GATE_FAILED:
        return "TRADE_CLOSED";
    default:
        return "WAIT_BUYER_PAY";
    }
}

static const char *yuan(int64_t minor, char out[PR_MONEY_TEXT_MAX])
{
    return pr_gate_money(&pr_gate_alipay, minor, "CNY", out);
}

static const char *local_time(int64_t us, char out[PR_MOMENT_TEXT_MAX])
{
    out[0] = '\0';
    return us > 0 ? pr_gate_time(us, PR_MOMENT_LOCAL, ZONE_MIN, out) : out;
}

static json_t *trade(const pr_gate_order_t *order)
{
    char amount[PR_MONEY_TEXT_MAX], time[PR_MOMENT_TEXT_MAX];
    return pr_gate_pruned(json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "code", "10000", "msg",
                                    "Success", "out_trade_no", order->request_no, "trade_no",
                                    order->reference, "trade_status", trade_status(order),
                                    "total_amount", yuan(pr_gate_said_amount(order), amount),
                                    "send_pay_date", local_time(order->paid_us, time)));
}

static json_t *refunded(const pr_gate_call_t *call)
{
    char sum[PR_MONEY_TEXT_MAX], part[PR_MONEY_TEXT_MAX], time[PR_MOMENT_TEXT_MAX];
    const pr_gate_refund_t *refund = call->refund;
    const pr_gate_order_t *order = refund->order;
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "code", "10000", "msg", "Success",
                     "out_trade_no", order->request_no, "trade_no", order->reference, "fund_change",
                     call->moved > 0 ? "Y" : "N", "refund_fee", yuan(order->refunded, sum),
                     "send_back_fee", yuan(call->moved, part), "gmt_refund_pay",
                     local_time(refund->created_us, time));
}

static json_t *refund_state(const pr_gate_refund_t *refund)
{
    char all[PR_MONEY_TEXT_MAX], part[PR_MONEY_TEXT_MAX], time[PR_MOMENT_TEXT_MAX];
    bool done = refund->state == PR_GATE_REFUND_DONE;
    return pr_gate_pruned(json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "code", "10000", "msg", "Success", "out_trade_no",
        refund->order->request_no, "trade_no", refund->order->reference, "out_request_no",
        refund->refund_no, "total_amount", yuan(refund->order->amount, all), "refund_amount",
        yuan(refund->amount, part), "refund_status", done ? "REFUND_SUCCESS" : "", "gmt_refund_pay",
        local_time(done ? refund->ended_us : 0, time)));
}

static json_t *outcome(const pr_gate_call_t *call)
{
    char url[512];
    switch (call->operation) {
    case PR_GATE_STATEMENT:
        pr_gate_link(call, "/alipay/bill?token=", url, sizeof(url));
        return json_pack("{s:s,s:s,s:s}", "code", "10000", "msg", "Success", "bill_download_url",
                         url);
    case PR_GATE_CHARGE:
        snprintf(url, sizeof(url), "https://qr.alipay.example/%s", call->order->reference);
        return json_pack("{s:s,s:s,s:s,s:s}", "code", "10000", "msg", "Success", "out_trade_no",
                         call->order->request_no, "qr_code", url);
    case PR_GATE_REFUND:
        return refunded(call);
    case PR_GATE_QUERY_REFUND:
        return refund_state(call->refund);
    case PR_GATE_CLOSE:
        return json_pack("{s:s,s:s,s:s,s:s}", "code", "10000", "msg", "Success", "out_trade_no",
                         call->order->request_no, "trade_no", call->order->reference);
    default:
        return trade(call->order);
    }
}

/* ---- answers ---- */

static const struct {
    const char *code, *sub_code, *text;
} errors[PR_GATE_RESULTS] = {
    [PR_GATE_NO_SUCH_PATH] = {"40002", "isv.invalid-method", "不存在的方法名"},
    [PR_GATE_BAD_REQUEST] = {"40004", "ACQ.INVALID_PARAMETER", "参数无效"},
    [PR_GATE_BAD_CREDENTIAL] = {"40002", "isv.invalid-signature", "无效签名"},
    [PR_GATE_NOT_FOUND] = {"40004", "ACQ.TRADE_NOT_EXIST", "交易不存在"},
    [PR_GATE_NUMBER_USED] = {"40004", "ACQ.CONTEXT_INCONSISTENT", "交易信息被篡改"},
    [PR_GATE_ALREADY_PAID] = {"40004", "ACQ.TRADE_HAS_SUCCESS", "交易已被支付"},
    [PR_GATE_WAS_CLOSED] = {"40004", "ACQ.TRADE_HAS_CLOSE", "交易已经关闭"},
    [PR_GATE_TOO_MUCH] = {"40004", "ACQ.REFUND_AMT_NOT_EQUAL_TOTAL", "退款金额超限"},
    [PR_GATE_WRONG_STATE] = {"40004", "ACQ.TRADE_STATUS_ERROR", "交易状态不合法"},
    [PR_GATE_THROTTLED] = {"40004", "isp.call-limited", "调用频率超限"},
    [PR_GATE_SERVER_ERROR] = {"20000", "isp.unknow-error", "系统繁忙"},
    [PR_GATE_MAINTENANCE] = {"20000", "aop.unknow-error", "系统维护"},
};

static json_t *failure(const pr_gate_call_t *call)
{
    const char *code = errors[call->result].code, *sub_code = errors[call->result].sub_code;
    const char *text = errors[call->result].text;
    if (call->result == PR_GATE_NOT_FOUND && call->operation == PR_GATE_STATEMENT) {
        sub_code = "isp.bill_not_exist";
    }
    if (call->result == PR_GATE_ALREADY_PAID && call->operation == PR_GATE_CLOSE) {
        sub_code = "ACQ.REASON_TRADE_STATUS_INVALID";
    } else if (call->result == PR_GATE_DECLINED) {
        code = "40004";
        text = "付款失败";
        sub_code = strcmp(call->code, "insufficient_funds") == 0 ? "ACQ.BUYER_BALANCE_NOT_ENOUGH"
                   : strcmp(call->code, "risk_refused") == 0     ? "ACQ.BUYER_RISK"
                                                                 : call->code;
    }
    return json_pack("{s:s,s:s,s:s,s:s}", "code", code, "msg", "Business Failed", "sub_code",
                     sub_code, "sub_msg", text);
}

static const char *response_name(const pr_gate_call_t *call)
{
    for (size_t i = 0; i < PR_COUNT(methods); i++) {
        if (methods[i].operation == call->operation && call->result != PR_GATE_BAD_CREDENTIAL) {
            return methods[i].response;
        }
    }
    return "error_response";
}

/* A zip of details and summary, with names in GBK, as the real ones. */
static void write_file(pr_gate_call_t *call)
{
    char texts[2][96];
    const char *names[2];
    pr_buffer_t gbk_names[2], files[2];
    bool trade = strcmp(call->day.kind, "trade") == 0;
    snprintf(texts[0], sizeof(texts[0]), "%s_%s_%s.csv", pr_gate_parameter(call->account, "app_id"),
             call->day.date, trade ? "业务明细" : "账务明细");
    snprintf(texts[1], sizeof(texts[1]), "%s_%s_业务明细(汇总).csv",
             pr_gate_parameter(call->account, "app_id"), call->day.date);
    for (size_t i = 0; i < PR_COUNT(files); i++) {
        pr_buffer_init(&files[i], PR_GATE_ANSWER_MAX);
        pr_buffer_init(&gbk_names[i], 256);
        pr_gate_to_gbk(pr_bytes_text(texts[i]), &gbk_names[i]);
        names[i] = pr_buffer_text(&gbk_names[i]);
    }
    pr_gate_alipay_bill(call, &files[0], &files[1]);
    pr_gate_reply_zip(call, names, files, trade ? 2 : 1);
    for (size_t i = 0; i < PR_COUNT(files); i++) {
        pr_buffer_free(&files[i]);
        pr_buffer_free(&gbk_names[i]);
    }
}

static void write_answer(pr_gate_call_t *call)
{
    if (call->operation == PR_GATE_STATEMENT_FILE) {
        if (call->result == PR_GATE_OK) {
            write_file(call);
        } else {
            pr_gate_reply(call, 403, json_pack("{s:s}", "error", "link"));
        }
        return;
    }
    char signature[PR_GATE_SIGNATURE_MAX] = "";
    bool gbk = call->result != PR_GATE_OK && call->order && call->order->plan->script.hook_gbk;
    bool failed =
        call->result != PR_GATE_OK || (call->operation == PR_GATE_CLOSE && call->repeated);
    call->result = failed && call->result == PR_GATE_OK ? PR_GATE_WAS_CLOSED : call->result;
    pr_buffer_t raw;
    pr_buffer_init(&raw, PR_GATE_BODY_MAX);
    pr_gate_reply(call, 200, failed ? failure(call) : outcome(call));
    call->content_type = "text/html;charset=utf-8"; /* as the real one */
    if (gbk) {
        pr_gate_to_gbk(pr_buffer_bytes(&call->answer), &raw);
    } else {
        pr_rc_t rc = pr_buffer_append(&raw, call->answer.data, call->answer.len);
        pr_assert(rc == PR_OK);
    }
    if (call->account) {
        (void)pr_gate_rsa_sign(call->account->gateway, pr_buffer_bytes(&raw), signature);
    }
    pr_buffer_clear(&call->answer);
    pr_rc_t rc = pr_buffer_printf(&call->answer, "{\"%s\":", response_name(call));
    rc = rc == PR_OK ? pr_buffer_append(&call->answer, raw.data, raw.len) : rc;
    rc = rc == PR_OK ? pr_buffer_printf(&call->answer, ",\"sign\":\"%s\"}", signature) : rc;
    pr_assert(rc == PR_OK);
    pr_buffer_free(&raw);
}

/* ---- notifications ---- */

static json_t *form_of(const pr_gate_event_t *event)
{
    char amount[PR_MONEY_TEXT_MAX], back[PR_MONEY_TEXT_MAX] = "";
    char now[PR_MOMENT_TEXT_MAX], made[PR_MOMENT_TEXT_MAX], paid[PR_MOMENT_TEXT_MAX];
    const pr_gate_order_t *order = event->order;
    bool gbk = order->plan->script.hook_gbk;
    if (event->refund) {
        (void)yuan(order->refunded, back); /* all that went back so far */
    }
    return pr_gate_pruned(json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "notify_id", event->id,
        "notify_type", "trade_status_sync", "notify_time", local_time(event->now.wall_us, now),
        "charset", gbk ? "gbk" : "utf-8", "version", "1.0", "app_id", pr_gate_said_account(order),
        "trade_no", order->reference, "out_trade_no", order->request_no, "trade_status",
        trade_status(order), "total_amount", yuan(pr_gate_said_amount(order), amount), "subject",
        "订单", "gmt_create", local_time(order->created_us, made), "gmt_payment",
        local_time(order->paid_us, paid), "refund_fee", back, "out_biz_no",
        event->refund ? event->refund->refund_no : ""));
}

static bool event(const pr_gate_event_t *event, pr_gate_message_t *out)
{
    static const char *const left_out[] = {"sign", "sign_type", NULL};
    char signature[PR_GATE_SIGNATURE_MAX];
    bool gbk = event->order->plan->script.hook_gbk;
    if (event->kind != PR_GATE_EVENT_PAID && event->kind != PR_GATE_EVENT_CLOSED &&
        event->kind != PR_GATE_EVENT_REFUND_DONE) {
        return false;
    }
    json_t *form = form_of(event);
    pr_buffer_t text, bytes;
    pr_buffer_init(&text, PR_GATE_BODY_MAX);
    pr_buffer_init(&bytes, PR_GATE_BODY_MAX);
    pr_gate_sorted_form(form, left_out, &text);
    if (gbk) {
        pr_gate_to_gbk(pr_buffer_bytes(&text), &bytes);
    }
    bool done = pr_gate_rsa_sign(event->order->account->gateway,
                                 pr_buffer_bytes(gbk ? &bytes : &text), signature);
    if (done) {
        pr_gate_spoil(event->forged, signature);
        json_object_set_new(form, "sign_type", json_string("RSA2"));
        json_object_set_new(form, "sign", json_string(signature));
        pr_gate_message_form(out, form, gbk);
    }
    json_decref(form);
    pr_buffer_free(&text);
    pr_buffer_free(&bytes);
    return done;
}

static bool accepts(int status, pr_bytes_t body)
{
    return status == 200 && pr_gate_is(body, "success");
}

const pr_gate_protocol_t pr_gate_alipay = {
    .name = "alipay",
    .order_prefix = "2026",
    .refund_prefix = "2126",
    .traits = PR_GATE_BY_NUMBER | PR_GATE_REFUSES | PR_GATE_TELLS_PAID,
    .unit = PR_MONEY_UNIT_MAJOR,
    .keys = {"private_key", "alipay_key"},
    .owns = owns,
    .complete = complete,
    .read = read,
    .write = write_answer,
    .event = event,
    .accepts = accepts,
};
