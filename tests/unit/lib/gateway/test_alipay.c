/* SPDX-License-Identifier: Apache-2.0 */
#include "sign/base64.h"
#include "sign/form.h"
#include "sign/rsa.h"
#include "tests/support/gateway.h"
#include "tests/support/rsa_keys.h"

TestSuite(alipay, .timeout = 300);

static rsa_pem_t merchant, alipay;
static pr_profile_t *profile;
static pr_channel_t *channel;

static void begin(void)
{
    rsa_pem_make(&merchant, 2048);
    rsa_pem_make(&alipay, 2048);
    profile = gateway_profile("alipay");
    const char *pairs[] = {"app_id",     "2021000000000001", "private_key", merchant.private_key,
                           "alipay_key", alipay.private_key, NULL};
    channel = gateway_channel(profile, pairs);
}

static void end(void)
{
    pr_channel_destroy(&channel);
    pr_profile_destroy(&profile);
}

static char *rsa_signature(const char *pem, pr_bytes_t text)
{
    pr_rsa_key_t *key = NULL;
    uint8_t bytes[PR_RSA_SIGNATURE_MAX_BYTES];
    size_t len;
    cr_assert_eq(pr_rsa_key_parse(pr_bytes_text(pem), &key, NULL), PR_OK);
    cr_assert(pr_rsa_sha256_sign(key, text, bytes, &len));
    char *out = pr_calloc(PR_BASE64_LEN(len) + 1, 1);
    pr_base64_encode(pr_bytes(bytes, len), out);
    pr_rsa_key_destroy(&key);
    return out;
}

/* The answer's object, wrapped and signed over its very bytes. */
static char wrapped[8192];

static void wrap(const char *name, const char *object)
{
    PR_CLEANUP_FREE char *signature = rsa_signature(alipay.private_key, pr_bytes_text(object));
    snprintf(wrapped, sizeof wrapped, "{\"%s\":%s,\"sign\":\"%s\"}", name, object, signature);
}

static const char *name_of(pr_operation_t operation)
{
    switch (operation) {
    case PR_OPERATION_CHARGE:
        return "alipay_trade_precreate_response";
    case PR_OPERATION_REFUND:
        return "alipay_trade_refund_response";
    case PR_OPERATION_QUERY_REFUND:
        return "alipay_trade_fastpay_refund_query_response";
    case PR_OPERATION_CLOSE:
        return "alipay_trade_close_response";
    default:
        return "alipay_trade_query_response";
    }
}

#define TRADE(state, more) \
    "{ \"code\":\"10000\", \"msg\":\"Success\",\"trade_status\":\"" state \
    "\",\"out_trade_no\":\"P20261130001\",\"trade_no\":\"2026\\/1\",\"total_amount\":\"58.00\"" more \
    "}"
#define FAILURE(code, sub) \
    "{\"code\":\"" code "\",\"msg\":\"Business Failed\",\"sub_code\":\"" sub "\"}"

static void judge_cases(const gateway_answer_case_t *cases, size_t count, bool paid_before)
{
    pr_payment_facts_t facts = gateway_facts();
    facts.paid_before = paid_before;
    for (size_t i = 0; i < count; i++) {
        wrap(name_of(cases[i].operation), cases[i].body);
        pr_evidence_t e = gateway_judge(channel, cases[i].operation, &facts, 200, wrapped, NULL);
        cr_expect_eq(e.status, cases[i].status, "%s: %s, %s", cases[i].sentence,
                     pr_status_name(e.status), e.reason);
        cr_expect_eq(e.action, cases[i].action, "%s: %s", cases[i].sentence,
                     pr_action_name(e.action));
        cr_expect_str_eq(e.reason, cases[i].reason, "%s: %s", cases[i].sentence, e.reason);
    }
}

Test(alipay, statuses_and_failures, .init = begin, .fini = end)
{
    static const gateway_answer_case_t cases[] = {
        {"waiting", PR_OPERATION_QUERY, 200, TRADE("WAIT_BUYER_PAY", ""), PR_STATUS_PENDING, 0, ""},
        {"paid", PR_OPERATION_QUERY, 200, TRADE("TRADE_SUCCESS", ""), PR_STATUS_SUCCEEDED, 0, ""},
        {"finished", PR_OPERATION_QUERY, 200, TRADE("TRADE_FINISHED", ""), PR_STATUS_SUCCEEDED, 0,
         ""},
        {"closed, never paid", PR_OPERATION_QUERY, 200, TRADE("TRADE_CLOSED", ""),
         PR_STATUS_CANCELLED, 0, "closed"},
        {"closed after payment", PR_OPERATION_QUERY, 200,
         TRADE("TRADE_CLOSED", ",\"send_pay_date\":\"2026-11-18 19:00:00\""), PR_STATUS_REFUNDED, 0,
         "closed_after_payment"},
        {"not scanned yet", PR_OPERATION_QUERY, 200, FAILURE("40004", "ACQ.TRADE_NOT_EXIST"),
         PR_STATUS_NOT_FOUND, 0, "not_found"},
        {"their fault", PR_OPERATION_QUERY, 200, FAILURE("40004", "ACQ.SYSTEM_ERROR"),
         PR_STATUS_UNKNOWN, PR_ACTION_BACK_OFF, "server_error"},
        {"their fault in a charge", PR_OPERATION_CHARGE, 200, FAILURE("40004", "ACQ.SYSTEM_ERROR"),
         PR_STATUS_UNKNOWN, PR_ACTION_QUERY_FIRST, "server_error"},
        {"unavailable", PR_OPERATION_REFUND, 200, FAILURE("20000", "isp.unknow-error"),
         PR_STATUS_UNKNOWN, PR_ACTION_QUERY_FIRST, "server_error"},
        {"the payer types a password", PR_OPERATION_CHARGE, 200, FAILURE("10003", ""),
         PR_STATUS_PENDING, 0, "payer_is_asked"},
        {"too fast", PR_OPERATION_QUERY, 200, FAILURE("40004", "isv.app-call-limited"),
         PR_STATUS_UNKNOWN, PR_ACTION_BACK_OFF, "rate_limited"},
        {"no money", PR_OPERATION_CHARGE, 200, FAILURE("40004", "ACQ.BUYER_BALANCE_NOT_ENOUGH"),
         PR_STATUS_FAILED, PR_ACTION_FAIL_NOW, "insufficient_funds"},
        {"our key is refused", PR_OPERATION_QUERY, 200, FAILURE("40002", "isv.invalid-signature"),
         PR_STATUS_UNKNOWN, PR_ACTION_STOP_CHANNEL, "credential_refused"},
        {"a code to show", PR_OPERATION_CHARGE, 200,
         "{\"code\":\"10000\",\"qr_code\":\"https:\\/\\/qr.example\\/1\"}", PR_STATUS_PENDING, 0,
         ""},
        {"refunded", PR_OPERATION_REFUND, 200, "{\"code\":\"10000\",\"fund_change\":\"Y\"}",
         PR_STATUS_SUCCEEDED, 0, ""},
        {"refund repeated: nothing moved now", PR_OPERATION_REFUND, 200,
         "{\"code\":\"10000\",\"fund_change\":\"N\"}", PR_STATUS_UNKNOWN, PR_ACTION_QUERY_FIRST,
         "nothing_moved_now"},
        {"the refund is there", PR_OPERATION_QUERY_REFUND, 200,
         "{\"code\":\"10000\",\"refund_status\":\"REFUND_SUCCESS\",\"out_request_no\":\"R1\"}",
         PR_STATUS_SUCCEEDED, 0, ""},
        {"no such refund", PR_OPERATION_QUERY_REFUND, 200, "{\"code\":\"10000\"}",
         PR_STATUS_NOT_FOUND, 0, "not_found"},
        {"closed by us", PR_OPERATION_CLOSE, 200, "{\"code\":\"10000\"}", PR_STATUS_CANCELLED, 0,
         ""},
    };
    judge_cases(cases, PR_COUNT(cases), false);
}

Test(alipay, closed_means_refunded_where_it_was_seen_paid, .init = begin, .fini = end)
{
    static const gateway_answer_case_t cases[] = {
        {"closed, and we know that it was paid", PR_OPERATION_QUERY, 200, TRADE("TRADE_CLOSED", ""),
         PR_STATUS_REFUNDED, 0, "closed"},
    };
    judge_cases(cases, 1, true);
    pr_payment_facts_t facts = gateway_facts();
    pr_evidence_t e = gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200, wrapped, NULL);
    cr_expect(e.ambiguous && e.follow_up == PR_FOLLOW_UP_QUERY_REFUNDS);
}

Test(alipay, the_answer_is_verified_as_it_was_written, .init = begin, .fini = end)
{
    pr_payment_facts_t facts = gateway_facts();
    wrap("alipay_trade_query_response", TRADE("TRADE_SUCCESS", ""));
    pr_evidence_t e = gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200, wrapped, NULL);
    cr_expect_eq(e.status, PR_STATUS_SUCCEEDED, "with its spaces and its escaped slash");
    cr_expect_str_eq(e.reference, "2026/1");
    cr_expect(e.amount.state == PR_AMOUNT_KNOWN && e.amount.minor == 5800);
    cr_expect_eq(pr_evidence_compare(channel, &facts, &e), PR_COMPARE_SAME,
                 "the answer to our own question names no account");
    char *space = strstr(wrapped, "{ \"code");
    memmove(space + 1, space + 2, strlen(space + 2) + 1);
    e = gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200, wrapped, NULL);
    cr_expect(e.status == PR_STATUS_UNKNOWN && strcmp(e.reason, "bad_signature") == 0,
              "the same JSON, written otherwise: %s", e.reason);
}

Test(alipay, an_answer_in_gbk_is_verified_over_gbk, .init = begin, .fini = end)
{
    pr_payment_facts_t facts = gateway_facts();
    wrap("alipay_trade_query_response",
         "{\"code\":\"40004\",\"sub_code\":\"ACQ.TRADE_NOT_EXIST\",\"sub_msg\":"
         "\"\xbd\xbb\xd2\xd7\xb2\xbb\xb4\xe6\xd4\xda\"}");
    pr_evidence_t e = gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200, wrapped, NULL);
    cr_expect_eq(e.status, PR_STATUS_NOT_FOUND, "%s", e.reason);
    cr_expect_str_eq(e.failure_message, "交易不存在");
}

Test(alipay, requests_are_signed_over_sorted_fields, .init = begin, .fini = end)
{
    pr_form_t form;
    pr_gateway_request_t request = {0};
    pr_payment_facts_t facts = gateway_facts();
    gateway_build(channel, PR_OPERATION_QUERY, &facts, &request);
    pr_form_init(&form, 65536);
    cr_assert_eq(pr_form_read_urlencoded(&form, pr_buffer_bytes(&request.body)), PR_OK);
    PR_CLEANUP_FREE char *signature = rsa_signature(
        merchant.private_key,
        pr_bytes_text("app_id=2021000000000001&biz_content={\"out_trade_no\":\"P20261130001\"}"
                      "&charset=utf-8&method=alipay.trade.query&sign_type=RSA2"
                      "&timestamp=2026-11-18 19:06:40&version=1.0"));
    cr_expect(pr_bytes_equal(pr_form_get(&form, "sign"), pr_bytes_text(signature)));
    cr_expect_str_eq(gateway_header_of(&request, "Content-Type"),
                     "application/x-www-form-urlencoded");
    cr_expect_str_eq(pr_buffer_text(&request.target), "/gateway.do?charset=utf-8");
    pr_form_free(&form);
    pr_gateway_request_free(&request);
}

/* ---- notifications ---- */

static char form_text[8192];

/* fields: "name=value" in the order to be sent; values percent-encoded here. */
static pr_webhook_t notification(const char *const *fields, const char *to_sign)
{
    pr_form_t form;
    pr_buffer_t out;
    pr_form_init(&form, 65536);
    pr_buffer_init(&out, sizeof form_text - 1);
    for (; *fields; fields++) {
        PR_CLEANUP_FREE char *name = pr_strndup(*fields, strcspn(*fields, "="));
        cr_assert_eq(pr_form_set(&form, name, *fields + strlen(name) + 1), PR_OK);
    }
    PR_CLEANUP_FREE char *signature = rsa_signature(alipay.private_key, pr_bytes_text(to_sign));
    cr_assert_eq(pr_form_set(&form, "sign", signature), PR_OK);
    cr_assert_eq(pr_form_set(&form, "sign_type", "RSA2"), PR_OK);
    cr_assert_eq(pr_form_urlencode(&form, &out), PR_OK);
    snprintf(form_text, sizeof form_text, "%s", pr_buffer_text(&out));
    pr_form_free(&form);
    pr_buffer_free(&out);
    return (pr_webhook_t){.method = "POST", .body = pr_bytes_text(form_text)};
}

Test(alipay, a_notification_counts_every_field_known_or_not, .init = begin, .fini = end)
{
    static const char *const fields[] = {"notify_id=n1",
                                         "trade_status=TRADE_SUCCESS",
                                         "out_trade_no=P20261130001",
                                         "total_amount=58.00",
                                         "app_id=2021000000000001",
                                         "charset=utf-8",
                                         "subject=a&b=c%2B +",
                                         "a_new_field=1",
                                         NULL};
    static const char to_sign[] = "a_new_field=1&app_id=2021000000000001&charset=utf-8&notify_id=n1"
                                  "&out_trade_no=P20261130001&subject=a&b=c%2B +&total_amount=58.00"
                                  "&trade_status=TRADE_SUCCESS";
    pr_webhook_result_t result;
    pr_webhook_t webhook = notification(fields, to_sign);
    gateway_read_webhook(channel, &webhook, &result);
    const pr_webhook_item_t *item = &result.items[0];
    cr_expect_eq(item->evidence.status, PR_STATUS_SUCCEEDED);
    cr_expect_str_eq(item->dedupe[0], "n1");
    cr_expect_str_eq(item->dedupe[1], "P20261130001:TRADE_SUCCESS::");
    pr_payment_facts_t facts = gateway_facts();
    cr_expect_eq(pr_evidence_compare(channel, &facts, &item->evidence), PR_COMPARE_SAME);
    pr_webhook_result_free(&result);

    webhook = notification(fields, to_sign + strlen("a_new_field=1&"));
    gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, "bad_signature");
    pr_reply_t reply = pr_webhook_reply(channel, PR_REPLY_ACCEPTED);
    cr_expect(reply.http_status == 200 && strcmp(reply.body, "success") == 0 &&
                  strlen(reply.body) == 7,
              "these seven bytes");
}

Test(alipay, another_applications_notification_is_not_ours, .init = begin, .fini = end)
{
    static const char *const fields[] = {"app_id=2021000000000002", "out_trade_no=P20261130001",
                                         "total_amount=58.00", "trade_status=TRADE_SUCCESS", NULL};
    pr_webhook_result_t result;
    pr_webhook_t webhook = notification(fields, "app_id=2021000000000002&out_trade_no=P20261130001"
                                                "&total_amount=58.00&trade_status=TRADE_SUCCESS");
    pr_payment_facts_t facts = gateway_facts();
    gateway_read_webhook(channel, &webhook, &result);
    cr_expect_eq(pr_evidence_compare(channel, &facts, &result.items[0].evidence),
                 PR_COMPARE_ACCOUNT);
    pr_webhook_result_free(&result);
}

Test(alipay, gbk_is_verified_over_its_bytes_and_kept_as_utf8, .init = begin, .fini = end)
{
    static const char *const fields[] = {"app_id=2021000000000001",
                                         "charset=GBK",
                                         "out_trade_no=P20261130001",
                                         "total_amount=58.00",
                                         "trade_status=TRADE_SUCCESS",
                                         "sub_msg=\xb2\xe2\xca\xd4\xff",
                                         NULL};
    pr_webhook_result_t result;
    pr_webhook_t webhook = notification(
        fields, "app_id=2021000000000001&charset=GBK&out_trade_no=P20261130001"
                "&sub_msg=\xb2\xe2\xca\xd4\xff&total_amount=58.00&trade_status=TRADE_SUCCESS");
    gateway_read_webhook(channel, &webhook, &result);
    const pr_evidence_t *e = &result.items[0].evidence;
    cr_expect_eq(e->status, PR_STATUS_SUCCEEDED);
    cr_expect_str_eq(e->failure_message, "测试\xef\xbf\xbd");
    cr_expect(e->flawed_text, "one byte was no character");
    pr_webhook_result_free(&result);
}

Test(alipay, what_the_notification_says_of_refunds, .init = begin, .fini = end)
{
    static const char *const partial[] = {"out_trade_no=P20261130001", "refund_fee=8.00",
                                          "total_amount=58.00", "trade_status=TRADE_SUCCESS", NULL};
    static const char *const closed[] = {"gmt_payment=2026-11-18 19:00:00",
                                         "out_trade_no=P20261130001", "total_amount=58.00",
                                         "trade_status=TRADE_CLOSED", NULL};
    pr_webhook_result_t result;
    pr_webhook_t webhook = notification(partial, "out_trade_no=P20261130001&refund_fee=8.00"
                                                 "&total_amount=58.00&trade_status=TRADE_SUCCESS");
    gateway_read_webhook(channel, &webhook, &result);
    cr_expect_eq(result.items[0].evidence.status, PR_STATUS_PARTIALLY_REFUNDED);
    cr_expect_eq(result.items[0].evidence.refunded_total.minor, 800, "a total, not a delta");
    cr_expect_eq(result.items[0].evidence.refund_amount.state, PR_AMOUNT_ABSENT);
    pr_webhook_result_free(&result);
    webhook = notification(closed, "gmt_payment=2026-11-18 19:00:00&out_trade_no=P20261130001"
                                   "&total_amount=58.00&trade_status=TRADE_CLOSED");
    gateway_read_webhook(channel, &webhook, &result);
    cr_expect_eq(result.items[0].evidence.status, PR_STATUS_REFUNDED);
    pr_webhook_result_free(&result);
}

static char *content_of(pr_operation_t operation, const pr_payment_facts_t *facts, int64_t now_us,
                        pr_gateway_request_t *request)
{
    pr_error_t error = {0};
    cr_assert_eq(
        pr_gateway_build(channel, operation, facts, now_us, GATEWAY_NONCE, request, &error), PR_OK,
        "%s", error.text);
    pr_form_t form;
    pr_form_init(&form, PR_GATEWAY_BODY_MAX_BYTES);
    cr_assert_eq(pr_form_read_urlencoded(&form, pr_buffer_bytes(&request->body)), PR_OK);
    pr_bytes_t content = pr_form_get(&form, "biz_content");
    char *text = pr_strndup((const char *)content.data, content.len);
    pr_form_free(&form);
    return text;
}

Test(alipay, a_tracked_payment_is_named_by_its_one_number, .init = begin, .fini = end)
{
    static const struct {
        pr_operation_t operation;
        const char *ours, *theirs;
    } cases[] = {
        {PR_OPERATION_QUERY, "{\"out_trade_no\":\"P20261130001\"}", "{\"trade_no\":\"2026/1\"}"},
        {PR_OPERATION_CLOSE, "{\"out_trade_no\":\"P20261130001\"}", "{\"trade_no\":\"2026/1\"}"},
        {PR_OPERATION_REFUND,
         "{\"out_trade_no\":\"P20261130001\",\"out_request_no\":\"F1\",\"refund_amount\":\"1.00\"}",
         "{\"trade_no\":\"2026/1\",\"out_request_no\":\"F1\",\"refund_amount\":\"1.00\"}"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_payment_facts_t facts = gateway_facts();
        pr_gateway_request_t request;
        pr_gateway_request_init(&request);
        facts.refund_no = "F1";
        facts.refund_minor = 100;
        facts.reference = "2026/1";
        PR_CLEANUP_FREE char *ours =
            content_of(cases[i].operation, &facts, GATEWAY_NOW_US, &request);
        cr_expect_str_eq(ours, cases[i].ours, "by ours as long as it is known");
        facts.request_no = NULL;
        PR_CLEANUP_FREE char *theirs =
            content_of(cases[i].operation, &facts, GATEWAY_NOW_US, &request);
        cr_expect_str_eq(theirs, cases[i].theirs);
        pr_gateway_request_free(&request);
    }
}

Test(alipay, a_retry_is_the_same_to_the_byte, .init = begin, .fini = end)
{
    pr_payment_facts_t facts = gateway_facts();
    pr_gateway_request_t first, again;
    pr_gateway_request_init(&first);
    pr_gateway_request_init(&again);
    facts.built_at_us = GATEWAY_NOW_US;
    PR_CLEANUP_FREE char *one = content_of(PR_OPERATION_CHARGE, &facts, GATEWAY_NOW_US, &first);
    PR_CLEANUP_FREE char *two =
        content_of(PR_OPERATION_CHARGE, &facts, GATEWAY_NOW_US + 600 * INT64_C(1000000), &again);
    cr_expect_str_eq(one, two);
    cr_expect(pr_bytes_equal(pr_buffer_bytes(&first.body), pr_buffer_bytes(&again.body)),
              "time and signature, too");
    facts.built_at_us = -1;
    PR_CLEANUP_FREE char *three =
        content_of(PR_OPERATION_CHARGE, &facts, GATEWAY_NOW_US + 600 * INT64_C(1000000), &again);
    cr_expect_str_eq(one, three);
    cr_expect_not(pr_bytes_equal(pr_buffer_bytes(&first.body), pr_buffer_bytes(&again.body)));
    pr_gateway_request_free(&first);
    pr_gateway_request_free(&again);
}

Test(alipay, a_number_that_was_used_otherwise_is_a_persons, .init = begin, .fini = end)
{
    static const gateway_answer_case_t cases[] = {
        {"another amount under this number", PR_OPERATION_CHARGE, 200,
         FAILURE("40004", "ACQ.CONTEXT_INCONSISTENT"), PR_STATUS_UNKNOWN, PR_ACTION_PERSON,
         "number_used_with_other_parameters"},
        {"the time of the first try is too old by now", PR_OPERATION_CHARGE, 200,
         FAILURE("40002", "isv.invalid-timestamp"), PR_STATUS_UNKNOWN, PR_ACTION_PERSON,
         "timestamp_refused"},
    };
    judge_cases(cases, PR_COUNT(cases), false);
}
