/* SPDX-License-Identifier: Apache-2.0 */
#include "sign/base64.h"
#include "sign/gcm.h"
#include "sign/rsa.h"
#include "tests/support/gateway.h"
#include "tests/support/rsa_keys.h"

TestSuite(wechat_v3, .timeout = 300);

#define KEY_ID "PUB_KEY_ID_0114232134912410000000000000"
#define API_KEY "0123456789abcdef0123456789ABCDEF"

static rsa_pem_t merchant, wechat;
static pr_profile_t *profile;
static pr_channel_t *channel;

static void begin(void)
{
    rsa_pem_make(&merchant, 2048);
    rsa_pem_make(&wechat, 2048);
    profile = gateway_profile("wechat-v3");
    const char *pairs[] = {"mchid", "1900000109", "appid", "wxd678efh567hg6787", "serial_no",
                           "5157F09EFDC096DE15EBE81A47057A7232F1B8E1", "private_key",
                           merchant.private_key, "wechat_key_id", KEY_ID,
                           /* the private half: it verifies, and signs as WeChat would */
                           "wechat_key", wechat.private_key, "api_v3_key", API_KEY, NULL};
    channel = gateway_channel(profile, pairs);
}

static void end(void)
{
    pr_channel_destroy(&channel);
    pr_profile_destroy(&profile);
}

/* RSA-SHA256 of text by a PEM key, base64; the caller's. */
static char *rsa_signature(const char *pem, const char *text)
{
    pr_rsa_key_t *key = NULL;
    uint8_t bytes[PR_RSA_SIGNATURE_MAX_BYTES];
    size_t len;
    cr_assert_eq(pr_rsa_key_parse(pr_bytes_text(pem), &key, NULL), PR_OK);
    cr_assert(pr_rsa_sha256_sign(key, pr_bytes_text(text), bytes, &len));
    char *out = pr_calloc(PR_BASE64_LEN(len) + 1, 1);
    pr_base64_encode(pr_bytes(bytes, len), out);
    pr_rsa_key_destroy(&key);
    return out;
}

static char last_signature[1024];

static void sign_headers(gateway_headers_t *headers, const char *body, int64_t at_s)
{
    static char timestamp[24];
    snprintf(timestamp, sizeof timestamp, "%lld", (long long)at_s);
    PR_CLEANUP_FREE char *text = pr_asprintf("%s\nnonce\n%s\n", timestamp, body);
    PR_CLEANUP_FREE char *signature = rsa_signature(wechat.private_key, text);
    snprintf(last_signature, sizeof last_signature, "%s", signature);
    gateway_header(headers, "Wechatpay-Timestamp", timestamp);
    gateway_header(headers, "wechatpay-nonce", "nonce");
    gateway_header(headers, "Wechatpay-Serial", KEY_ID);
    gateway_header(headers, "Wechatpay-Signature", last_signature);
}

static void sign_answer(const pr_channel_t *self, pr_gateway_answer_t *answer,
                        gateway_headers_t *headers)
{
    (void)self;
    sign_headers(headers, (const char *)answer->body.data, GATEWAY_NOW_S - 2);
}

#define TRADE(state) \
    "{\"mchid\":\"1900000109\",\"out_trade_no\":\"P20261130001\",\"transaction_id\":\"4200001\"," \
    "\"trade_state\":\"" state "\",\"amount\":{\"total\":5800,\"currency\":\"CNY\"}," \
    "\"success_time\":\"2026-11-18T19:06:40+08:00\"}"

Test(wechat_v3, statuses_and_failures, .init = begin, .fini = end)
{
    static const gateway_answer_case_t cases[] = {
        {"not paid", PR_OPERATION_QUERY, 200, TRADE("NOTPAY"), PR_STATUS_PENDING, 0, ""},
        {"paying", PR_OPERATION_QUERY, 200, TRADE("USERPAYING"), PR_STATUS_PENDING, 0, ""},
        {"paid", PR_OPERATION_QUERY, 200, TRADE("SUCCESS"), PR_STATUS_SUCCEEDED, 0, ""},
        {"paid, a refund entered", PR_OPERATION_QUERY, 200, TRADE("REFUND"), PR_STATUS_SUCCEEDED, 0,
         "refund_entered"},
        {"closed", PR_OPERATION_QUERY, 200, TRADE("CLOSED"), PR_STATUS_CANCELLED, 0, ""},
        {"revoked", PR_OPERATION_QUERY, 200, TRADE("REVOKED"), PR_STATUS_CANCELLED, 0, ""},
        {"failed", PR_OPERATION_QUERY, 200, TRADE("PAYERROR"), PR_STATUS_FAILED, 0, ""},
        {"a new state of theirs", PR_OPERATION_QUERY, 200, TRADE("SUCCESS2"), PR_STATUS_UNKNOWN,
         PR_ACTION_LONGER_INTERVAL, "unmapped_status"},
        {"no such order (yet)", PR_OPERATION_QUERY, 404, "{\"code\":\"ORDER_NOT_EXIST\"}",
         PR_STATUS_NOT_FOUND, 0, "not_found"},
        {"the same by its old code", PR_OPERATION_QUERY, 404, "{\"code\":268512771}",
         PR_STATUS_NOT_FOUND, 0, "not_found"},
        {"too fast", PR_OPERATION_QUERY, 429, "{\"code\":\"FREQUENCY_LIMITED\"}", PR_STATUS_UNKNOWN,
         PR_ACTION_BACK_OFF, "rate_limited"},
        {"too fast, no body", PR_OPERATION_QUERY, 429, "", PR_STATUS_UNKNOWN, PR_ACTION_BACK_OFF,
         "rate_limited"},
        {"a new order", PR_OPERATION_CHARGE, 200, "{\"code_url\":\"weixin://wxpay/x\"}",
         PR_STATUS_PENDING, 0, ""},
        {"their fault: ask first", PR_OPERATION_CHARGE, 500, "{\"code\":\"SYSTEM_ERROR\"}",
         PR_STATUS_UNKNOWN, PR_ACTION_QUERY_FIRST, "server_error"},
        {"no money", PR_OPERATION_CHARGE, 403, "{\"code\":\"NOTENOUGH\"}", PR_STATUS_FAILED,
         PR_ACTION_FAIL_NOW, "insufficient_funds"},
        {"another order with this number", PR_OPERATION_CHARGE, 403,
         "{\"code\":\"OUT_TRADE_NO_USED\"}", PR_STATUS_UNKNOWN, PR_ACTION_PERSON,
         "number_used_with_other_parameters"},
        {"our key is refused", PR_OPERATION_QUERY, 401, "{\"code\":\"SIGN_ERROR\"}",
         PR_STATUS_UNKNOWN, PR_ACTION_STOP_CHANNEL, "credential_refused"},
        {"a page of a proxy", PR_OPERATION_CHARGE, 502, "<html>", PR_STATUS_UNKNOWN,
         PR_ACTION_QUERY_FIRST, "server_error"},
        {"half a body", PR_OPERATION_QUERY, 200, "{\"trade_state\":\"SUC", PR_STATUS_UNKNOWN,
         PR_ACTION_BACK_OFF, "malformed_answer"},
        {"closed by us: no body at all", PR_OPERATION_CLOSE, 204, "", PR_STATUS_CANCELLED, 0, ""},
        {"no body where there must be one", PR_OPERATION_CHARGE, 200, "", PR_STATUS_UNKNOWN,
         PR_ACTION_QUERY_FIRST, "no_status"},
        {"a refund in a state that is new", PR_OPERATION_REFUND, 200, "{\"status\":\"X\"}",
         PR_STATUS_UNKNOWN, PR_ACTION_QUERY_FIRST, "unmapped_status"},
        {"nothing to close", PR_OPERATION_CLOSE, 404, "{\"code\":\"ORDER_NOT_EXIST\"}",
         PR_STATUS_NOT_FOUND, 0, "not_found"},
        {"refund under way", PR_OPERATION_QUERY_REFUND, 200, "{\"status\":\"PROCESSING\"}",
         PR_STATUS_PENDING, 0, ""},
        {"refunded", PR_OPERATION_QUERY_REFUND, 200, "{\"status\":\"SUCCESS\"}",
         PR_STATUS_SUCCEEDED, 0, ""},
        {"refund to a closed card", PR_OPERATION_QUERY_REFUND, 200, "{\"status\":\"ABNORMAL\"}",
         PR_STATUS_UNKNOWN, PR_ACTION_PERSON, "refund_abnormal"},
        {"refund closed", PR_OPERATION_QUERY_REFUND, 200, "{\"status\":\"CLOSED\"}",
         PR_STATUS_FAILED, 0, ""},
    };
    gateway_judge_all(channel, cases, PR_COUNT(cases), sign_answer);
}

Test(wechat_v3, an_answer_carries_all_that_is_compared, .init = begin, .fini = end)
{
    pr_payment_facts_t facts = gateway_facts();
    pr_evidence_t e =
        gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200, TRADE("SUCCESS"), sign_answer);
    cr_expect_str_eq(e.account, "1900000109");
    cr_expect_str_eq(e.request_no, "P20261130001");
    cr_expect_str_eq(e.reference, "4200001");
    cr_expect_str_eq(e.currency, "CNY");
    cr_expect(e.amount.state == PR_AMOUNT_KNOWN && e.amount.minor == 5800);
    cr_expect_eq(e.paid_at_us, GATEWAY_NOW_US);
    cr_expect_eq(pr_evidence_compare(channel, &facts, &e), PR_COMPARE_SAME);
    facts.amount_minor = 5801;
    cr_expect_eq(pr_evidence_compare(channel, &facts, &e), PR_COMPARE_AMOUNT);
    facts = gateway_facts();
    facts.request_no = "P2";
    cr_expect_eq(pr_evidence_compare(channel, &facts, &e), PR_COMPARE_NUMBER);
    facts = gateway_facts();
    facts.currency = "USD";
    cr_expect_eq(pr_evidence_compare(channel, &facts, &e), PR_COMPARE_CURRENCY);
    facts = gateway_facts();
    snprintf(e.account, sizeof e.account, "1900000110");
    cr_expect_eq(pr_evidence_compare(channel, &facts, &e), PR_COMPARE_ACCOUNT);
}

static void forge_answer(const pr_channel_t *self, pr_gateway_answer_t *answer,
                         gateway_headers_t *headers)
{
    (void)self;
    (void)answer;
    sign_headers(headers, "another body", GATEWAY_NOW_S);
}

static void stale_answer(const pr_channel_t *self, pr_gateway_answer_t *answer,
                         gateway_headers_t *headers)
{
    (void)self;
    sign_headers(headers, (const char *)answer->body.data, GATEWAY_NOW_S - 300);
}

Test(wechat_v3, an_answer_that_is_not_signed_says_nothing, .init = begin, .fini = end)
{
    pr_payment_facts_t facts = gateway_facts();
    static const struct {
        gateway_sign_answer_fn *sign;
        const char *reason;
    } cases[] = {
        {NULL, "signature_missing"}, {forge_answer, "bad_signature"}, {stale_answer, "stale"}};
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_evidence_t e = gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200, TRADE("SUCCESS"),
                                        cases[i].sign);
        cr_expect_eq(e.status, PR_STATUS_UNKNOWN, "%s", cases[i].reason);
        cr_expect_eq(e.action, PR_ACTION_BACK_OFF);
        cr_expect_str_eq(e.reason, cases[i].reason);
        cr_expect_eq(e.amount.state, PR_AMOUNT_ABSENT, "nothing of it is kept");
    }
}

Test(wechat_v3, requests_are_signed_as_documented, .init = begin, .fini = end)
{
    pr_gateway_request_t request = {0};
    pr_payment_facts_t facts = gateway_facts();
    gateway_build(channel, PR_OPERATION_QUERY, &facts, &request);
    cr_expect_str_eq(request.method, "GET");
    cr_expect_str_eq(pr_buffer_text(&request.target),
                     "/v3/pay/transactions/out-trade-no/P20261130001?mchid=1900000109");
    PR_CLEANUP_FREE char *text = pr_asprintf(
        "GET\n/v3/pay/transactions/out-trade-no/P20261130001?mchid=1900000109\n%lld\n%s\n\n",
        (long long)GATEWAY_NOW_S, GATEWAY_NONCE);
    PR_CLEANUP_FREE char *signature = rsa_signature(merchant.private_key, text);
    PR_CLEANUP_FREE char *wanted = pr_asprintf(
        "WECHATPAY2-SHA256-RSA2048 mchid=\"1900000109\",nonce_str=\"%s\",timestamp=\"%lld\","
        "serial_no=\"5157F09EFDC096DE15EBE81A47057A7232F1B8E1\",signature=\"%s\"",
        GATEWAY_NONCE, (long long)GATEWAY_NOW_S, signature);
    cr_expect_str_eq(gateway_header_of(&request, "Authorization"), wanted);
    cr_expect_eq(request.body.len, 0);
    pr_gateway_request_free(&request);

    gateway_build(channel, PR_OPERATION_CHARGE, &facts, &request);
    cr_expect_str_eq(
        pr_buffer_text(&request.body),
        "{\"appid\":\"wxd678efh567hg6787\",\"mchid\":\"1900000109\",\"description\":"
        "\"a \\\"quoted\\\" thing\",\"out_trade_no\":\"P20261130001\",\"time_expire\":"
        "\"2026-11-18T21:06:40+08:00\",\"notify_url\":\"https://pay.example/v1/webhooks/c1\","
        "\"amount\":{\"total\":5800,\"currency\":\"CNY\"}}");
    cr_expect_str_eq(gateway_header_of(&request, "Content-Type"),
                     "application/json; charset=utf-8");
    pr_gateway_request_free(&request);

    pr_error_t error = {0};
    facts.request_no = "a-number-that-is-longer-than-32-characters";
    cr_expect_eq(pr_gateway_build(channel, PR_OPERATION_QUERY, &facts, GATEWAY_NOW_US,
                                  GATEWAY_NONCE, &request, &error),
                 PR_BAD);
    cr_expect(strstr(error.text, "32"), "%s", error.text);
}

/* ---- webhooks ---- */

/* The envelope of a sealed resource; the caller's. */
static char *envelope(const char *type, const char *resource)
{
    pr_buffer_t sealed;
    pr_buffer_init(&sealed, 65536);
    cr_assert(pr_gcm_seal((const uint8_t *)API_KEY, (const uint8_t *)"fdasflkja484",
                          pr_bytes_text("transaction"), pr_bytes_text(resource), &sealed));
    PR_CLEANUP_FREE char *text = pr_calloc(PR_BASE64_LEN(sealed.len) + 1, 1);
    pr_base64_encode(pr_buffer_bytes(&sealed), text);
    pr_buffer_free(&sealed);
    return pr_asprintf("{\"id\":\"EV-1\",\"event_type\":\"%s\",\"resource\":{\"algorithm\":"
                       "\"AEAD_AES_256_GCM\",\"ciphertext\":\"%s\",\"associated_data\":"
                       "\"transaction\",\"nonce\":\"fdasflkja484\"}}",
                       type, text);
}

Test(wechat_v3, a_webhook_is_verified_opened_and_read, .init = begin, .fini = end)
{
    pr_webhook_result_t result;
    gateway_headers_t headers = {0};
    PR_CLEANUP_FREE char *body = envelope("TRANSACTION.SUCCESS", TRADE("SUCCESS"));
    sign_headers(&headers, body, GATEWAY_NOW_S);
    pr_webhook_t webhook = {"POST", {0}, headers.items, headers.count, pr_bytes_text(body), {0}, 0};
    gateway_read_webhook(channel, &webhook, &result);
    const pr_webhook_item_t *item = &result.items[0];
    cr_expect_eq(result.count, 1);
    cr_expect_str_eq(item->event_id, "EV-1");
    cr_expect_str_eq(item->event_type, "TRANSACTION.SUCCESS");
    cr_expect_str_eq(item->dedupe[0], "EV-1");
    cr_expect_str_eq(item->dedupe[1], "P20261130001::SUCCESS");
    cr_expect_eq(item->evidence.object, PR_OBJECT_PAYMENT);
    cr_expect_eq(item->evidence.status, PR_STATUS_SUCCEEDED);
    pr_payment_facts_t facts = gateway_facts();
    cr_expect_eq(pr_evidence_compare(channel, &facts, &item->evidence), PR_COMPARE_SAME);
    pr_webhook_result_free(&result);

    PR_CLEANUP_FREE char *signature = gateway_signature(channel, &webhook);
    cr_expect_str_eq(signature, last_signature, "the sandbox signs as WeChat does");

    gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US + INT64_C(300000000), "stale");
    gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US - INT64_C(300000000), "stale");
    body[2] = 'I';
    gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, "bad_signature");
    webhook.method = "GET";
    gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, "method_not_allowed");
}

Test(wechat_v3, refund_events_are_of_the_refund, .init = begin, .fini = end)
{
    pr_webhook_result_t result;
    gateway_headers_t headers = {0};
    PR_CLEANUP_FREE char *body =
        envelope("REFUND.SUCCESS", "{\"mchid\":\"1900000109\",\"out_trade_no\":\"P20261130001\","
                                   "\"out_refund_no\":\"R1\",\"refund_status\":\"SUCCESS\","
                                   "\"amount\":{\"total\":5800,\"refund\":100}}");
    sign_headers(&headers, body, GATEWAY_NOW_S);
    pr_webhook_t webhook = {"POST", {0}, headers.items, headers.count, pr_bytes_text(body), {0}, 0};
    gateway_read_webhook(channel, &webhook, &result);
    const pr_evidence_t *e = &result.items[0].evidence;
    cr_expect(e->object == PR_OBJECT_REFUND && e->status == PR_STATUS_SUCCEEDED);
    cr_expect_str_eq(e->refund_no, "R1");
    cr_expect_eq(e->refund_amount.minor, 100);
    pr_payment_facts_t facts = gateway_facts();
    facts.refund_no = "R1";
    facts.refund_minor = 100;
    cr_expect_eq(pr_evidence_compare(channel, &facts, e), PR_COMPARE_SAME);
    facts.refund_minor = 5800;
    cr_expect_eq(pr_evidence_compare(channel, &facts, e), PR_COMPARE_AMOUNT);
    pr_webhook_result_free(&result);
}

Test(wechat_v3, forgeries_and_probes_are_refused, .init = begin, .fini = end)
{
    pr_webhook_result_t result;
    gateway_headers_t headers = {0};
    PR_CLEANUP_FREE char *body = envelope("TRANSACTION.SUCCESS", TRADE("SUCCESS"));
    sign_headers(&headers, body, GATEWAY_NOW_S);
    pr_webhook_t webhook = {"POST", {0}, headers.items, headers.count, pr_bytes_text(body), {0}, 0};
    static const char *const probes[] = {"WECHATPAY/SIGNTEST/abc", "x WECHATPAY/SIGNTEST/"};
    for (size_t i = 0; i < PR_COUNT(probes); i++) {
        headers.items[3].value = probes[i];
        pr_webhook_result_init(&result);
        pr_webhook_read(channel, &webhook, GATEWAY_NOW_US, &result);
        cr_expect_eq(result.verdict, PR_WEBHOOK_PROBE);
        cr_expect_eq(result.count, 0);
    }
    cr_expect_eq(pr_webhook_reply(channel, PR_REPLY_REFUSED).http_status, 401);
    headers.items[3].value = "";
    gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, "signature_missing");
    headers.items[3].value = "not base64!";
    gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, "bad_signature");
    headers.items[3].value = last_signature;
    headers.items[2].value = "PUB_KEY_ID_OF_SOMEBODY";
    gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, "unknown_key");
    headers.items[2].value = KEY_ID;
    gateway_header(&headers, "WECHATPAY-SIGNATURE", last_signature);
    webhook.header_count = headers.count;
    gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, "signature_missing");
    headers.count = 0;
    sign_headers(&headers, "{\"id\":\"EV-1\",\"resource\":{}}", GATEWAY_NOW_S);
    webhook.header_count = headers.count;
    webhook.body = pr_bytes_text("{\"id\":\"EV-1\",\"resource\":{}}");
    gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, "not_decrypted");
    pr_reply_t reply = pr_webhook_reply(channel, PR_REPLY_ACCEPTED);
    cr_expect(reply.http_status == 204 && reply.body[0] == '\0');
}

/* The application charged: by its own number (option number: ours), or by WeChat's. */
Test(wechat_v3, a_tracked_payment_is_named_by_its_one_number, .init = begin, .fini = end)
{
    pr_payment_facts_t facts = gateway_facts();
    pr_gateway_request_t request;
    pr_error_t error = {0};
    pr_gateway_request_init(&request);
    facts.refund_no = "F1";
    facts.refund_minor = 100;
    gateway_build(channel, PR_OPERATION_QUERY, &facts, &request);
    cr_expect_str_eq(pr_buffer_text(&request.target),
                     "/v3/pay/transactions/out-trade-no/P20261130001?mchid=1900000109");
    facts.request_no = NULL;
    facts.reference = "4200000001";
    gateway_build(channel, PR_OPERATION_QUERY, &facts, &request);
    cr_expect_str_eq(pr_buffer_text(&request.target),
                     "/v3/pay/transactions/id/4200000001?mchid=1900000109");
    gateway_build(channel, PR_OPERATION_REFUND, &facts, &request);
    static const char begins[] = "{\"transaction_id\":\"4200000001\",\"out_refund_no\":\"F1\",";
    cr_expect_eq(strncmp(pr_buffer_text(&request.body), begins, sizeof begins - 1), 0, "%s",
                 pr_buffer_text(&request.body));
    cr_expect_eq(pr_gateway_build(channel, PR_OPERATION_CLOSE, &facts, GATEWAY_NOW_US,
                                  GATEWAY_NONCE, &request, &error),
                 PR_BAD, "WeChat closes by our number alone");
    cr_expect_str_eq(error.text, "request_no is wanted and not known");
    facts.reference = NULL;
    cr_expect_eq(pr_gateway_build(channel, PR_OPERATION_REFUND, &facts, GATEWAY_NOW_US,
                                  GATEWAY_NONCE, &request, &error),
                 PR_BAD, "without any number nothing is built");
    pr_gateway_request_free(&request);
}

Test(wechat_v3, a_retry_has_the_same_body_and_a_signature_of_now, .init = begin, .fini = end)
{
    pr_payment_facts_t facts = gateway_facts();
    pr_gateway_request_t first, again;
    pr_error_t error = {0};
    pr_gateway_request_init(&first);
    pr_gateway_request_init(&again);
    facts.built_at_us = GATEWAY_NOW_US;
    gateway_build(channel, PR_OPERATION_CHARGE, &facts, &first);
    cr_assert_eq(pr_gateway_build(channel, PR_OPERATION_CHARGE, &facts,
                                  GATEWAY_NOW_US + 600 * INT64_C(1000000), GATEWAY_NONCE, &again,
                                  &error),
                 PR_OK);
    cr_expect(pr_bytes_equal(pr_buffer_bytes(&first.body), pr_buffer_bytes(&again.body)));
    cr_expect(strstr(gateway_header_of(&first, "Authorization"), "timestamp=\"1795000000\""));
    cr_expect(strstr(gateway_header_of(&again, "Authorization"), "timestamp=\"1795000600\""));
    pr_gateway_request_free(&first);
    pr_gateway_request_free(&again);
}
