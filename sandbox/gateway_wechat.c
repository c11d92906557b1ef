/* SPDX-License-Identifier: Apache-2.0
 *
 * WeChat Pay, API v3: native orders and refunds. RSA both ways, webhooks whose resource is sealed with
 * AES-256-GCM, signature probes. The order numbers are the idempotency.
 */
#include "base/assert.h"
#include "sandbox/gateway_protocol.h"

#include <openssl/evp.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKEW_S 300
#define LINK_MAX_AGE_S 300
#define ZONE_MIN (8 * 60)
#define BY_NUMBER "/v3/pay/transactions/out-trade-no/"
#define REFUNDS "/v3/refund/domestic/refunds"

static bool owns(pr_bytes_t path)
{
    return pr_gate_starts(path, "/v3/");
}

static void complete(pr_gate_account_t *account)
{
    char digits[65], text[96];
    pr_gate_default(account, "mchid", account->name);
    pr_gate_default(account, "appid", "wx0123456789abcdef");
    pr_gate_default(account, "serial_no", pr_gate_account_digits(account, "serial", 40, digits));
    pr_gate_default(account, "api_v3_key", pr_gate_account_digits(account, "v3", 32, digits));
    snprintf(text, sizeof(text), "PUB_KEY_ID_0%s",
             pr_gate_account_digits(account, "gateway", 30, digits));
    pr_gate_default(account, "wechat_key_id", text);
}

/* ---- requests ---- */

/* name="value" of the Authorization header; empty: not there. */
static pr_bytes_t credential(pr_bytes_t header, const char *name)
{
    char wanted[32];
    int len = snprintf(wanted, sizeof(wanted), "%s=\"", name);
    const uint8_t *at = header.len ? memmem(header.data, header.len, wanted, (size_t)len) : NULL;
    if (!at) {
        return pr_bytes(NULL, 0);
    }
    at += len;
    const uint8_t *end = memchr(at, '"', (size_t)(header.data + header.len - at));
    return end ? pr_bytes(at, (size_t)(end - at)) : pr_bytes(NULL, 0);
}

static bool signature_holds(const pr_gate_call_t *call, pr_bytes_t timestamp, pr_bytes_t nonce,
                            pr_bytes_t signature)
{
    pr_buffer_t text;
    pr_buffer_init(&text, (size_t)1 << 20);
    pr_rc_t rc = pr_buffer_printf(&text, "%.*s\n%.*s\n%.*s\n%.*s\n", (int)call->method.len,
                                  call->method.data, (int)call->target.len, call->target.data,
                                  (int)timestamp.len, timestamp.data, (int)nonce.len, nonce.data);
    rc = rc == PR_OK ? pr_buffer_append(&text, call->body.data, call->body.len) : rc;
    rc = rc == PR_OK ? pr_buffer_append_text(&text, "\n") : rc;
    bool good = rc == PR_OK &&
                pr_gate_rsa_verify(call->account->merchant, pr_buffer_bytes(&text), signature);
    pr_buffer_free(&text);
    return good;
}

static bool authenticate(pr_gate_call_t *call)
{
    pr_bytes_t header = pr_gate_header(call, "Authorization");
    pr_bytes_t timestamp = credential(header, "timestamp"), nonce = credential(header, "nonce_str");
    call->account = pr_gate_account_by(call, "mchid", credential(header, "mchid"));
    if (!pr_gate_starts(header, "WECHATPAY2-SHA256-RSA2048 ") || !call->account ||
        !pr_gate_is(credential(header, "serial_no"),
                    pr_gate_parameter(call->account, "serial_no")) ||
        timestamp.len == 0 || timestamp.len > 11) {
        return false;
    }
    int64_t skew = strtoll((const char *)timestamp.data, NULL, 10) - call->now.wall_us / 1000000;
    return skew >= -SKEW_S && skew <= SKEW_S &&
           signature_holds(call, timestamp, nonce, credential(header, "signature"));
}

static pr_gate_result_t read_charge(pr_gate_call_t *call)
{
    call->operation = PR_GATE_CHARGE;
    if (!pr_gate_read_json(call) ||
        strcmp(pr_gate_text(call->document, "mchid"), pr_gate_parameter(call->account, "mchid")) !=
            0 ||
        !pr_gate_take(call->document, "out_trade_no", call->request_no, 33) ||
        !pr_gate_take(call->document, "description", call->label, sizeof(call->label)) ||
        !pr_gate_take(call->document, "notify_url", call->notify_url, sizeof(call->notify_url)) ||
        !pr_gate_take(call->document, "amount.currency", call->currency, sizeof(call->currency)) ||
        !pr_gate_take_amount(call, call->document, "amount.total")) {
        return PR_GATE_BAD_REQUEST;
    }
    pr_gate_sha256_hex(call->body, call->fingerprint);
    return PR_GATE_OK;
}

static pr_gate_result_t read_refund(pr_gate_call_t *call)
{
    call->operation = PR_GATE_REFUND;
    if (!pr_gate_read_json(call) ||
        !pr_gate_take(call->document, "out_trade_no", call->request_no, 33) ||
        !pr_gate_take(call->document, "out_refund_no", call->refund_no, 65) ||
        !pr_gate_take(call->document, "amount.currency", call->currency, sizeof(call->currency)) ||
        !pr_gate_take_amount(call, call->document, "amount.refund")) {
        return PR_GATE_BAD_REQUEST;
    }
    (void)pr_gate_take(call->document, "notify_url", call->notify_url, sizeof(call->notify_url));
    return PR_GATE_OK;
}

/* kind: "trade" or "funds", with "-gz" where a gzip is wanted. */
static pr_gate_result_t read_bill(pr_gate_call_t *call, const char *kind, const char *parameter,
                                  const char *wanted)
{
    char date[16] = "", type[16] = "", tar[8] = "", name[32];
    (void)pr_gate_query_text(call->query, "bill_date", date, sizeof(date));
    (void)pr_gate_query_text(call->query, "tar_type", tar, sizeof(tar));
    bool typed = pr_gate_query_text(call->query, parameter, type, sizeof(type));
    snprintf(name, sizeof(name), "%s%s", kind, strcmp(tar, "GZIP") == 0 ? "-gz" : "");
    call->operation = PR_GATE_STATEMENT;
    return (!typed || strcmp(type, wanted) == 0) &&
                   pr_gate_day_set(&call->day, name, date, ZONE_MIN)
               ? PR_GATE_OK
               : PR_GATE_BAD_REQUEST;
}

static pr_gate_result_t read(pr_gate_call_t *call)
{
    pr_bytes_t number;
    char mchid[64] = "", *out = call->request_no;
    bool get = pr_gate_is(call->method, "GET"), post = pr_gate_is(call->method, "POST");
    if (!authenticate(call)) {
        return PR_GATE_BAD_CREDENTIAL;
    }
    if (post && pr_gate_is(call->path, "/v3/pay/transactions/native")) {
        return read_charge(call);
    }
    if (post && pr_gate_is(call->path, REFUNDS)) {
        return read_refund(call);
    }
    if (get && pr_gate_is(call->path, "/v3/bill/tradebill")) {
        return read_bill(call, "trade", "bill_type", "ALL");
    }
    if (get && pr_gate_is(call->path, "/v3/bill/fundflowbill")) {
        return read_bill(call, "funds", "account_type", "BASIC");
    }
    if (get && pr_gate_is(call->path, "/v3/billdownload/file")) {
        return pr_gate_link_open(call, ZONE_MIN, LINK_MAX_AGE_S) ? PR_GATE_OK : PR_GATE_BAD_REQUEST;
    }
    call->operation = PR_GATE_QUERY;
    if (post && pr_gate_between(call->path, BY_NUMBER, "/close", &number)) {
        call->operation = PR_GATE_CLOSE;
        if (!pr_gate_read_json(call) || !pr_gate_take(call->document, "mchid", mchid, 64)) {
            return PR_GATE_BAD_REQUEST;
        }
    } else if (get && pr_gate_between(call->path, REFUNDS "/", "", &number)) {
        call->operation = PR_GATE_QUERY_REFUND;
        out = call->refund_no;
    } else {
        if (get && pr_gate_between(call->path, "/v3/pay/transactions/id/", "", &number)) {
            out = call->reference;
        } else if (!get || !pr_gate_between(call->path, BY_NUMBER, "", &number)) {
            return PR_GATE_NO_SUCH_PATH;
        }
        (void)pr_gate_query_text(call->query, "mchid", mchid, sizeof(mchid));
    }
    bool own = call->operation == PR_GATE_QUERY_REFUND ||
               strcmp(mchid, pr_gate_parameter(call->account, "mchid")) == 0;
    return own && pr_gate_unescape(number, out, sizeof(call->request_no), false)
               ? PR_GATE_OK
               : PR_GATE_BAD_REQUEST;
}

/* ---- objects ---- */

static const char *trade_state(const pr_gate_order_t *order)
{
    switch (order->state) {
    case PR_GATE_PAID:
        return order->refunded > 0 ? "REFUND" : "SUCCESS";
    case PR_GATE_CLOSED:
        return "CLOSED";
    case PR_GATE_FAILED:
        return "PAYERROR";
    default:
        return order->plan->script.payment.end == PR_GATE_END_PENDING ? "USERPAYING" : "NOTPAY";
    }
}

static json_t *transaction(const pr_gate_order_t *order)
{
    char time[PR_MOMENT_TEXT_MAX] = "";
    const char *currency = pr_gate_said_currency(order);
    bool paid = order->state == PR_GATE_PAID;
    json_t *out =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:{s:I,s:s}}", "appid",
                  pr_gate_parameter(order->account, "appid"), "mchid", pr_gate_said_account(order),
                  "out_trade_no", order->request_no, "trade_state", trade_state(order),
                  "trade_state_desc", paid ? "支付成功" : order->code, "trade_type", "NATIVE",
                  "amount", "total", (json_int_t)pr_gate_said_amount(order), "currency", currency);
    if (paid) {
        json_object_set_new(out, "transaction_id", json_string(order->reference));
        json_object_set_new(
            out, "success_time",
            json_string(pr_gate_time(order->paid_us, PR_MOMENT_RFC3339, ZONE_MIN, time)));
        json_object_set_new(out, "payer", json_pack("{s:s}", "openid", "o0000000000000000000"));
    }
    return pr_gate_pruned(out);
}

static const char *refund_status(const pr_gate_refund_t *refund)
{
    switch (refund->state) {
    case PR_GATE_REFUND_PENDING:
        return "PROCESSING";
    case PR_GATE_REFUND_DONE:
        return "SUCCESS";
    default:
        return strcmp(refund->order->plan->script.refund.code, "ABNORMAL") == 0 ? "ABNORMAL"
                                                                                : "CLOSED";
    }
}

/* name: the status' own, "status" in answers and "refund_status" in webhooks. */
static json_t *refund(const pr_gate_refund_t *refund, const char *name)
{
    char time[PR_MOMENT_TEXT_MAX] = "";
    const pr_gate_order_t *order = refund->order;
    if (refund->state == PR_GATE_REFUND_DONE) {
        (void)pr_gate_time(refund->ended_us, PR_MOMENT_RFC3339, ZONE_MIN, time);
    }
    return pr_gate_pruned(json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:{s:I,s:I,s:s}}", "refund_id",
                                    refund->reference, "out_refund_no", refund->refund_no,
                                    "transaction_id", order->reference, "out_trade_no",
                                    order->request_no, name, refund_status(refund), "success_time",
                                    time, "amount", "total", (json_int_t)order->amount, "refund",
                                    (json_int_t)refund->amount, "currency", order->currency));
}

/* ---- answers ---- */

static const struct {
    int status;
    const char *code;
} errors[PR_GATE_RESULTS] = {
    [PR_GATE_NO_SUCH_PATH] = {404, "RESOURCE_NOT_EXISTS"},
    [PR_GATE_BAD_REQUEST] = {400, "PARAM_ERROR"},
    [PR_GATE_BAD_CREDENTIAL] = {401, "SIGN_ERROR"},
    [PR_GATE_NOT_FOUND] = {404, "ORDER_NOT_EXIST"},
    [PR_GATE_NUMBER_USED] = {403, "OUT_TRADE_NO_USED"},
    [PR_GATE_ALREADY_PAID] = {400, "ORDERPAID"},
    [PR_GATE_WAS_CLOSED] = {400, "ORDER_CLOSED"},
    [PR_GATE_TOO_MUCH] = {400, "INVALID_REQUEST"},
    [PR_GATE_WRONG_STATE] = {400, "INVALID_REQUEST"},
    [PR_GATE_THROTTLED] = {429, "FREQUENCY_LIMITED"},
    [PR_GATE_SERVER_ERROR] = {500, "SYSTEM_ERROR"},
    [PR_GATE_MAINTENANCE] = {503, "SYSTEM_ERROR"},
};

static void write_error(pr_gate_call_t *call)
{
    const char *code = errors[call->result].code;
    int status = errors[call->result].status;
    if (call->result == PR_GATE_DECLINED) {
        status = 403;
        code = strcmp(call->code, "insufficient_funds") == 0 ? "NOTENOUGH"
               : strcmp(call->code, "risk_refused") == 0     ? "RULE_LIMIT"
                                                             : call->code;
    }
    if (call->result == PR_GATE_NOT_FOUND &&
        (call->operation == PR_GATE_STATEMENT || call->operation == PR_GATE_STATEMENT_FILE)) {
        status = 400;
        code = "NO_STATEMENT_EXIST";
    }
    pr_gate_reply(
        call, status,
        json_pack("{s:s,s:s}", "code", code, "message", pr_gate_result_name(call->result)));
}

/* timestamp \n nonce \n body \n, signed with the gateway's key. */
static bool sign(const pr_gate_account_t *account, const char *timestamp, const char *nonce,
                 pr_bytes_t body, char signature[PR_GATE_SIGNATURE_MAX])
{
    pr_buffer_t text;
    pr_buffer_init(&text, PR_GATE_BODY_MAX + 128);
    pr_rc_t rc = pr_buffer_printf(&text, "%s\n%s\n", timestamp, nonce);
    rc = rc == PR_OK ? pr_buffer_append(&text, body.data, body.len) : rc;
    rc = rc == PR_OK ? pr_buffer_append_text(&text, "\n") : rc;
    pr_assert(rc == PR_OK);
    bool done = pr_gate_rsa_sign(account->gateway, pr_buffer_bytes(&text), signature);
    pr_buffer_free(&text);
    return done;
}

/* {hash_type, hash_value of the unpacked file, download_url} */
static json_t *bill(const pr_gate_call_t *call)
{
    char url[512], hash[2 * EVP_MAX_MD_SIZE + 1];
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    pr_buffer_t file;
    pr_buffer_init(&file, PR_GATE_ANSWER_MAX);
    pr_gate_wechat_bill(call, &file);
    int done = EVP_Digest(file.data, file.len, digest, &len, EVP_sha1(), NULL);
    pr_assert(done == 1);
    digest[0] ^= pr_gate_file_planted(call->account, "hash");
    pr_hex(pr_bytes(digest, len), hash);
    pr_buffer_free(&file);
    pr_gate_link(call, "/v3/billdownload/file?token=", url, sizeof(url));
    return json_pack("{s:s,s:s,s:s}", "hash_type", "SHA1", "hash_value", hash, "download_url", url);
}

static void write_file(pr_gate_call_t *call)
{
    pr_buffer_t file;
    pr_buffer_init(&file, PR_GATE_ANSWER_MAX);
    pr_gate_wechat_bill(call, &file);
    if (strstr(call->day.kind, "-gz")) {
        pr_gate_reply_gzip(call, &file);
    } else {
        pr_gate_reply_file(call, "text/plain", &file);
    }
    pr_buffer_free(&file);
}

static void write_answer(pr_gate_call_t *call)
{
    if (call->result == PR_GATE_OK && call->operation == PR_GATE_STATEMENT_FILE) {
        write_file(call); /* not signed, there neither */
        return;
    }
    char timestamp[24], nonce[33], signature[PR_GATE_SIGNATURE_MAX], url[128];
    if (call->result != PR_GATE_OK) {
        write_error(call);
    } else if (call->operation == PR_GATE_STATEMENT) {
        pr_gate_reply(call, 200, bill(call));
    } else if (call->operation == PR_GATE_CHARGE) {
        snprintf(url, sizeof(url), "weixin://wxpay/bizpayurl?pr=%s", call->order->reference);
        pr_gate_reply(call, 200, json_pack("{s:s}", "code_url", url));
    } else if (call->operation == PR_GATE_CLOSE) {
        pr_gate_reply(call, 204, NULL);
    } else {
        pr_gate_reply(call, 200,
                      call->refund ? refund(call->refund, "status") : transaction(call->order));
    }
    if (!call->account || !call->account->gateway) {
        return;
    }
    snprintf(timestamp, sizeof(timestamp), "%" PRId64, call->now.wall_us / 1000000);
    pr_gate_random_text(call->gate, nonce, 32);
    if (sign(call->account, timestamp, nonce, pr_buffer_bytes(&call->answer), signature)) {
        pr_gate_reply_header(call, "Wechatpay-Timestamp", timestamp);
        pr_gate_reply_header(call, "Wechatpay-Nonce", nonce);
        pr_gate_reply_header(call, "Wechatpay-Signature", signature);
        pr_gate_reply_header(call, "Wechatpay-Serial",
                             pr_gate_parameter(call->account, "wechat_key_id"));
    }
}

/* ---- webhooks ---- */

static const char *type_of(const pr_gate_event_t *event)
{
    switch (event->kind) {
    case PR_GATE_EVENT_PAID:
        return "TRANSACTION.SUCCESS";
    case PR_GATE_EVENT_REFUND_DONE:
        return "REFUND.SUCCESS";
    case PR_GATE_EVENT_REFUND_FAILED:
        return strcmp(refund_status(event->refund), "ABNORMAL") == 0 ? "REFUND.ABNORMAL"
                                                                     : "REFUND.CLOSED";
    default:
        return NULL; /* the rest is asked for */
    }
}

static bool event(const pr_gate_event_t *event, pr_gate_message_t *out)
{
    const char *type = type_of(event), *name = event->refund ? "refund" : "transaction";
    char id[32], nonce[13];
    if (!type) {
        return false;
    }
    json_t *plain =
        event->refund ? refund(event->refund, "refund_status") : transaction(event->order);
    if (event->refund) {
        json_object_set_new(plain, "mchid", json_string(pr_gate_said_account(event->order)));
    }
    size_t len = json_dumpb(plain, NULL, 0, JSON_COMPACT);
    char text[4096];
    pr_assert(len < sizeof(text)); /* texts of a call are bounded */
    (void)json_dumpb(plain, text, len, JSON_COMPACT);
    json_decref(plain);
    snprintf(nonce, sizeof(nonce), "%.12s", event->id); /* an event's id comes once */
    pr_buffer_t sealed;
    pr_buffer_init(&sealed, PR_GATE_BODY_MAX);
    bool done = pr_gate_gcm_seal(pr_gate_parameter(event->order->account, "api_v3_key"), nonce,
                                 name, pr_bytes(text, len), &sealed);
    snprintf(id, sizeof(id), "EV-%s", event->id);
    if (done) {
        pr_gate_message_json(
            out, json_pack("{s:s,s:s,s:s,s:s,s:{s:s,s:s,s:s,s:s,s:s}}", "id", id, "event_type",
                           type, "resource_type", "encrypt-resource", "summary", name, "resource",
                           "algorithm", "AEAD_AES_256_GCM", "original_type", name, "ciphertext",
                           pr_buffer_text(&sealed), "associated_data", name, "nonce", nonce));
    }
    pr_buffer_free(&sealed);
    return done;
}

static void seal(pr_gate_message_t *message, pr_now_t now)
{
    static const char mark[] = "WECHATPAY/SIGNTEST/";
    char timestamp[24], signature[sizeof(mark) + PR_GATE_SIGNATURE_MAX] = "";
    size_t prefix = message->probe ? sizeof(mark) - 1 : 0;
    memcpy(signature, mark, prefix);
    snprintf(timestamp, sizeof(timestamp), "%" PRId64, now.wall_us / 1000000);
    if (!sign(message->account, timestamp, message->id, pr_buffer_bytes(&message->body),
              signature + prefix)) {
        return;
    }
    pr_gate_spoil(message->forged, signature);
    pr_gate_message_header(message, "Wechatpay-Timestamp", timestamp);
    pr_gate_message_header(message, "Wechatpay-Nonce", message->id);
    pr_gate_message_header(message, "Wechatpay-Signature", signature);
    pr_gate_message_header(message, "Wechatpay-Serial",
                           pr_gate_parameter(message->account, "wechat_key_id"));
}

static bool accepts(int status, pr_bytes_t body)
{
    (void)body;
    return status == 200 || status == 204;
}

const pr_gate_protocol_t pr_gate_wechat = {
    .name = "wechat-v3",
    .order_prefix = "4200",
    .refund_prefix = "5030",
    .traits = PR_GATE_BY_NUMBER | PR_GATE_REFUSES | PR_GATE_TELLS_PAID | PR_GATE_REFUND_LATER,
    .unit = PR_MONEY_UNIT_MINOR,
    .keys = {"private_key", "wechat_key"},
    .owns = owns,
    .complete = complete,
    .read = read,
    .write = write_answer,
    .event = event,
    .seal = seal,
    .accepts = accepts,
};
