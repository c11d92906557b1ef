/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/gateway.h"

TestSuite(generic_md5, .timeout = 300);

static pr_profile_t *profile;
static pr_channel_t *channel;

static void begin(void)
{
    static const char *const pairs[] = {"mch_no",        "M1", "app_id", "app1", "key",
                                        "a-signing-key", NULL};
    profile = gateway_profile("generic-md5");
    channel = gateway_channel(profile, pairs);
}

static void end(void)
{
    pr_channel_destroy(&channel);
    pr_profile_destroy(&profile);
}

Test(generic_md5, statuses_and_failures, .init = begin, .fini = end)
{
    static const gateway_answer_case_t cases[] = {
        {"made", PR_OPERATION_CHARGE, 200,
         "{\"code\":0,\"data\":{\"orderState\":1,\"codeUrl\":\"u\"}}", PR_STATUS_PENDING, 0, ""},
        {"paid", PR_OPERATION_QUERY, 200, "{\"code\":0,\"data\":{\"state\":2}}",
         PR_STATUS_SUCCEEDED, 0, ""},
        {"failed", PR_OPERATION_QUERY, 200, "{\"code\":0,\"data\":{\"state\":\"3\"}}",
         PR_STATUS_FAILED, 0, ""},
        {"refunded", PR_OPERATION_QUERY, 200, "{\"code\":0,\"data\":{\"state\":5}}",
         PR_STATUS_REFUNDED, 0, ""},
        {"closed", PR_OPERATION_QUERY, 200, "{\"code\":0,\"data\":{\"state\":6}}",
         PR_STATUS_CANCELLED, 0, ""},
        {"no data: nothing is said", PR_OPERATION_QUERY, 200, "{\"code\":1,\"msg\":\"x\"}",
         PR_STATUS_UNKNOWN, PR_ACTION_LONGER_INTERVAL, "no_status"},
        {"maintenance", PR_OPERATION_CHARGE, 503, "", PR_STATUS_UNKNOWN, PR_ACTION_LONGER_INTERVAL,
         "maintenance"},
        {"our sign is refused", PR_OPERATION_CHARGE, 200, "{\"code\":10,\"msg\":\"sign error\"}",
         PR_STATUS_UNKNOWN, PR_ACTION_STOP_CHANNEL, "credential_refused"},
    };
    gateway_judge_all(channel, cases, PR_COUNT(cases), NULL);
}

/* printf '%s' 'amount=...&key=a-signing-key' | openssl md5 | tr a-f A-F */
Test(generic_md5, requests_and_notifications_have_the_openssl_commands_signature, .init = begin,
     .fini = end)
{
    pr_gateway_request_t request = {0};
    pr_payment_facts_t facts = gateway_facts();
    gateway_build(channel, PR_OPERATION_QUERY, &facts, &request);
    cr_expect_str_eq(pr_buffer_text(&request.body),
                     "appId=app1&mchNo=M1&mchOrderNo=P20261130001&reqTime=1795000000000"
                     "&sign=7088FAFDF3A0DC880AE86D807D631B56&signType=MD5&version=1.0");
    pr_gateway_request_free(&request);

    pr_webhook_result_t result;
    static const char body[] = "payOrderId=T1&mchOrderNo=P20261130001&mchNo=M1&amount=5800&state=2"
                               "&empty=&sign=46672A2C5E4892BBFE98B8502067237A";
    pr_webhook_t webhook = {.method = "POST", .body = pr_bytes_text(body)};
    gateway_read_webhook(channel, &webhook, &result);
    cr_expect_eq(result.items[0].evidence.status, PR_STATUS_SUCCEEDED);
    cr_expect_eq(pr_evidence_compare(channel, &facts, &result.items[0].evidence), PR_COMPARE_SAME);
    pr_webhook_result_free(&result);
    pr_webhook_t by_get = {.method = "GET", .query = pr_bytes_text(body)};
    gateway_read_webhook(channel, &by_get, &result);
    cr_expect_eq(result.items[0].evidence.amount.minor, 5800);
    pr_webhook_result_free(&result);

    static const struct {
        const char *body, *reason;
    } refused[] = {
        {"payOrderId=T1&mchOrderNo=P20261130001&mchNo=M1&amount=1&state=2&sign=46672A2C5E4892BBFE98B8502067237A",
         "bad_signature"},
        {"payOrderId=T1&state=2", "signature_missing"},
        {"payOrderId=T1&state=2&sign=", "signature_missing"},
        {"state=2&state=3&sign=46672A2C5E4892BBFE98B8502067237A", "malformed_body"},
        {"state=%zz&sign=46672A2C5E4892BBFE98B8502067237A", "malformed_body"},
        {"", "malformed_body"},
    };
    for (size_t i = 0; i < PR_COUNT(refused); i++) {
        webhook.body = pr_bytes_text(refused[i].body);
        gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, refused[i].reason);
    }
}

/* The application charged: the payment has one number, the gateway's or what the gateway calls ours. */
Test(generic_md5, a_tracked_payment_is_asked_about_closed_and_refunded_by_its_number, .init = begin,
     .fini = end)
{
    static const pr_operation_t operations[] = {PR_OPERATION_QUERY, PR_OPERATION_CLOSE,
                                                PR_OPERATION_REFUND};
    for (size_t i = 0; i < PR_COUNT(operations); i++) {
        pr_payment_facts_t facts = gateway_facts();
        pr_gateway_request_t request;
        pr_gateway_request_init(&request);
        facts.refund_no = "F1";
        facts.refund_minor = 100;
        gateway_build(channel, operations[i], &facts, &request);
        cr_expect(strstr(pr_buffer_text(&request.body), "mchOrderNo=P20261130001&"));
        cr_expect_not(strstr(pr_buffer_text(&request.body), "payOrderId"));
        facts.request_no = NULL;
        facts.reference = "G1";
        gateway_build(channel, operations[i], &facts, &request);
        cr_expect(strstr(pr_buffer_text(&request.body), "payOrderId=G1&"));
        cr_expect_not(strstr(pr_buffer_text(&request.body), "mchOrderNo"));
        pr_gateway_request_free(&request);
    }
}

Test(generic_md5, an_order_that_is_not_there, .init = begin, .fini = end)
{
    pr_payment_facts_t facts = gateway_facts();
    static const char body[] = "{\"code\":9999,\"msg\":\"订单不存在\",\"data\":null}";
    pr_evidence_t e = gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200, body, NULL);
    cr_expect_eq(e.status, PR_STATUS_NOT_FOUND);
    e = gateway_judge(channel, PR_OPERATION_CHARGE, &facts, 200, body, NULL);
    cr_expect_eq(e.action, PR_ACTION_QUERY_FIRST, "a charge says nothing by it");
    e = gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200,
                      "{\"code\":9999,\"msg\":\"系统繁忙\"}", NULL);
    cr_expect_eq(e.status, PR_STATUS_UNKNOWN, "nor does any other fault of theirs");
}
