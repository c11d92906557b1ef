/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/gateway.h"

TestSuite(adyen, .timeout = 300);

/* The key and the signature that Adyen's own library tests with (adyen-python, test/UtilTest.py). */
#define KEY "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
#define PUBLISHED "coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0="

static pr_profile_t *profile;
static pr_channel_t *channel;

static void begin(void)
{
    static const char *const pairs[] = {
        "merchant_account", "TestMerchant", "api_key", "an-api-key", "hmac_key", KEY, NULL};
    profile = gateway_profile("adyen");
    channel = gateway_channel(profile, pairs);
}

static void end(void)
{
    pr_channel_destroy(&channel);
    pr_profile_destroy(&profile);
}

static pr_payment_facts_t eur(void)
{
    pr_payment_facts_t facts = gateway_facts();
    facts.currency = "EUR";
    facts.amount_minor = 1130;
    facts.request_no = "TestPayment-1407325143704";
    return facts;
}

#define ITEM(code, original, success, signature) \
    "{\"NotificationRequestItem\":{\"additionalData\":{\"hmacSignature\":\"" signature "\"}," \
    "\"amount\":{\"currency\":\"EUR\",\"value\":1130},\"eventCode\":\"" code \
    "\",\"eventDate\":\"2026-11-18T12:00:00+01:00\",\"merchantAccountCode\":\"TestMerchant\"," \
    "\"merchantReference\":\"TestPayment-1407325143704\",\"originalReference\":\"" original \
    "\",\"pspReference\":\"7914073381342284\",\"reason\":\"\",\"success\":\"" success "\"}}"
#define BATCH(items) "{\"live\":\"false\",\"notificationItems\":[" items "]}"

static pr_webhook_t webhook_of(const char *body)
{
    return (pr_webhook_t){.method = "POST", .body = pr_bytes_text(body)};
}

/* The body with SIGNATURE replaced by what the channel signs; the caller's. */
static char *signed_body(const char *body)
{
    pr_webhook_t webhook = webhook_of(body);
    PR_CLEANUP_FREE char *signature = gateway_signature(channel, &webhook);
    const char *at = strstr(body, "SIGNATURE");
    return pr_asprintf("%.*s%s%s", (int)(at - body), body, signature, at + strlen("SIGNATURE"));
}

Test(adyen, the_published_signature_verifies, .init = begin, .fini = end)
{
    pr_webhook_result_t result;
    pr_payment_facts_t facts = eur();
    pr_webhook_t webhook = webhook_of(BATCH(ITEM("AUTHORISATION", "", "true", PUBLISHED)));
    gateway_read_webhook(channel, &webhook, &result);
    const pr_webhook_item_t *item = &result.items[0];
    cr_expect_eq(item->evidence.status, PR_STATUS_SUCCEEDED);
    cr_expect_str_eq(item->dedupe[0], "AUTHORISATION:7914073381342284:true");
    cr_expect_eq(pr_evidence_compare(channel, &facts, &item->evidence), PR_COMPARE_SAME);
    pr_webhook_result_free(&result);
    cr_expect_str_eq(pr_webhook_reply(channel, PR_REPLY_ACCEPTED).body, "[accepted]");
}

Test(adyen, success_is_a_text_and_false_may_turn_true, .init = begin, .fini = end)
{
    pr_webhook_result_t result;
    PR_CLEANUP_FREE char *body =
        signed_body(BATCH(ITEM("AUTHORISATION", "", "false", "SIGNATURE")));
    pr_webhook_t webhook = webhook_of(body);
    gateway_read_webhook(channel, &webhook, &result);
    const pr_webhook_item_t *item = &result.items[0];
    cr_expect_eq(item->evidence.status, PR_STATUS_FAILED, "with an empty reason, too");
    cr_expect_not(item->evidence.final);
    cr_expect_str_eq(item->dedupe[0], "AUTHORISATION:7914073381342284:false",
                     "the later \"true\" is another event");
    cr_expect_not(pr_profile_facts(profile)->failure_final);
    pr_webhook_result_free(&result);
}

Test(adyen, any_changed_field_any_bad_item_refuses_the_batch, .init = begin, .fini = end)
{
    static const char *const refused[] = {
        BATCH(ITEM("AUTHORISATION", "", "false", PUBLISHED)),
        BATCH(ITEM("CAPTURE", "", "true", PUBLISHED)),
        BATCH(ITEM("AUTHORISATION", "x", "true", PUBLISHED)),
        BATCH(
            ITEM("AUTHORISATION", "", "true", PUBLISHED) "," ITEM("REFUND", "", "true", PUBLISHED)),
    };
    for (size_t i = 0; i < PR_COUNT(refused); i++) {
        pr_webhook_t webhook = webhook_of(refused[i]);
        gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, "bad_signature");
    }
    static const struct {
        const char *body, *reason;
    } malformed[] = {{BATCH(ITEM("AUTHORISATION", "", "true", "")), "signature_missing"},
                     {"{\"notificationItems\":[]}", "malformed_body"},
                     {"{\"notificationItems\":{}}", "malformed_body"},
                     {"{\"notificationItems\":[{}]}", "malformed_body"},
                     {"[]", "malformed_body"},
                     {"", "malformed_body"}};
    for (size_t i = 0; i < PR_COUNT(malformed); i++) {
        pr_webhook_t webhook = webhook_of(malformed[i].body);
        gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, malformed[i].reason);
    }
}

Test(adyen, a_batch_gives_its_items_in_order, .init = begin, .fini = end)
{
    pr_webhook_result_t result;
    pr_webhook_t webhook = webhook_of(BATCH(ITEM("AUTHORISATION", "", "true", PUBLISHED) "," ITEM(
        "AUTHORISATION", "", "true", PUBLISHED)));
    gateway_read_webhook(channel, &webhook, &result);
    cr_expect_eq(result.count, 2);
    cr_expect_str_eq(result.items[0].dedupe[0], result.items[1].dedupe[0]);
    pr_webhook_result_free(&result);
    char *body = pr_calloc(PR_GATEWAY_BODY_MAX_BYTES, 1);
    size_t len = (size_t)snprintf(body, PR_GATEWAY_BODY_MAX_BYTES, "{\"notificationItems\":[");
    for (int i = 0; i <= PR_GATEWAY_ITEMS_MAX; i++)
        len += (size_t)snprintf(body + len, PR_GATEWAY_BODY_MAX_BYTES - len, "%s%s", i ? "," : "",
                                ITEM("AUTHORISATION", "", "true", PUBLISHED));
    snprintf(body + len, PR_GATEWAY_BODY_MAX_BYTES - len, "]}");
    webhook = webhook_of(body);
    gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, "malformed_body");
    pr_free(body);
}

Test(adyen, events, .init = begin, .fini = end)
{
    static const struct {
        const char *body;
        pr_object_t object;
        pr_status_t status;
        const char *reference;
    } cases[] = {
        {BATCH(ITEM("CAPTURE", "PSP1", "true", "SIGNATURE")), PR_OBJECT_PAYMENT,
         PR_STATUS_SUCCEEDED, "PSP1"},
        {BATCH(ITEM("CAPTURE_FAILED", "PSP1", "true", "SIGNATURE")), PR_OBJECT_PAYMENT,
         PR_STATUS_UNKNOWN, "PSP1"},
        {BATCH(ITEM("CANCELLATION", "PSP1", "true", "SIGNATURE")), PR_OBJECT_PAYMENT,
         PR_STATUS_CANCELLED, "PSP1"},
        {BATCH(ITEM("REFUND", "PSP1", "true", "SIGNATURE")), PR_OBJECT_REFUND, PR_STATUS_SUCCEEDED,
         "PSP1"},
        {BATCH(ITEM("REFUND", "PSP1", "false", "SIGNATURE")), PR_OBJECT_REFUND, PR_STATUS_FAILED,
         "PSP1"},
        {BATCH(ITEM("REFUND_FAILED", "PSP1", "true", "SIGNATURE")), PR_OBJECT_REFUND,
         PR_STATUS_FAILED, "PSP1"},
        {BATCH(ITEM("CHARGEBACK", "PSP1", "true", "SIGNATURE")), PR_OBJECT_DISPUTE,
         PR_STATUS_SUCCEEDED, "PSP1"},
        {BATCH(ITEM("REPORT_AVAILABLE", "", "true", "SIGNATURE")), PR_OBJECT_NONE, PR_STATUS_NONE,
         ""},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_webhook_result_t result;
        PR_CLEANUP_FREE char *body = signed_body(cases[i].body);
        pr_webhook_t webhook = webhook_of(body);
        gateway_read_webhook(channel, &webhook, &result);
        const pr_evidence_t *e = &result.items[0].evidence;
        cr_expect_eq(e->object, cases[i].object, "%s", result.items[0].event_type);
        cr_expect_eq(e->status, cases[i].status, "%s", result.items[0].event_type);
        cr_expect_str_eq(e->reference, cases[i].reference, "%s", result.items[0].event_type);
        pr_webhook_result_free(&result);
    }
}

Test(adyen, results_and_failures, .init = begin, .fini = end)
{
    static const gateway_answer_case_t cases[] = {
        {"authorised", PR_OPERATION_CHARGE, 200, "{\"resultCode\":\"Authorised\"}",
         PR_STATUS_SUCCEEDED, 0, ""},
        {"refused", PR_OPERATION_CHARGE, 200, "{\"resultCode\":\"Refused\"}", PR_STATUS_FAILED,
         PR_ACTION_FAIL_NOW, "refused"},
        {"no money", PR_OPERATION_CHARGE, 200,
         "{\"resultCode\":\"Refused\",\"refusalReasonCode\":\"12\"}", PR_STATUS_FAILED,
         PR_ACTION_FAIL_NOW, "insufficient_funds"},
        {"cancelled", PR_OPERATION_CHARGE, 200, "{\"resultCode\":\"Cancelled\"}",
         PR_STATUS_CANCELLED, 0, ""},
        {"an error that says nothing", PR_OPERATION_CHARGE, 200, "{\"resultCode\":\"Error\"}",
         PR_STATUS_UNKNOWN, PR_ACTION_PERSON, "gateway_error"},
        {"pending", PR_OPERATION_CHARGE, 200, "{\"resultCode\":\"Received\"}", PR_STATUS_PENDING, 0,
         ""},
        {"redirect", PR_OPERATION_CHARGE, 200, "{\"resultCode\":\"RedirectShopper\"}",
         PR_STATUS_PENDING, 0, ""},
        {"the first one still runs", PR_OPERATION_CHARGE, 422, "{\"errorCode\":\"704\"}",
         PR_STATUS_UNKNOWN, PR_ACTION_QUERY_FIRST, "first_request_under_way"},
        {"bad parameters", PR_OPERATION_CHARGE, 422, "{\"errorCode\":\"100\"}", PR_STATUS_FAILED,
         PR_ACTION_FAIL_NOW, "bad_parameters"},
        {"too fast", PR_OPERATION_CHARGE, 429, "", PR_STATUS_UNKNOWN, PR_ACTION_BACK_OFF,
         "rate_limited"},
        {"a refund is taken, not done", PR_OPERATION_REFUND, 201, "{\"status\":\"received\"}",
         PR_STATUS_PENDING, 0, ""},
        {"their fault", PR_OPERATION_REFUND, 500, "{}", PR_STATUS_UNKNOWN, PR_ACTION_QUERY_FIRST,
         "server_error"},
    };
    gateway_judge_all(channel, cases, PR_COUNT(cases), NULL);
    pr_evidence_t e;
    const pr_gateway_header_t header = {"Transient-Error", "true"};
    pr_gateway_answer_t answer = {PR_TRANSPORT_OK, 500, &header, 1, pr_bytes_text("")};
    pr_gateway_judge(channel, PR_OPERATION_CHARGE, NULL, &answer, GATEWAY_NOW_US, &e);
    cr_expect_eq(e.action, PR_ACTION_RETRY);
}

Test(adyen, it_cannot_be_asked, .init = begin, .fini = end)
{
    pr_error_t error = {0};
    pr_gateway_request_t request = {0};
    pr_payment_facts_t facts = eur();
    pr_gateway_request_init(&request);
    cr_expect_not(pr_profile_facts(profile)->query_supported);
    cr_expect_eq(pr_gateway_build(channel, PR_OPERATION_QUERY, &facts, GATEWAY_NOW_US,
                                  GATEWAY_NONCE, &request, &error),
                 PR_BAD);
    cr_expect_str_eq(error.text, "profile adyen has no operation query");
    cr_expect_eq(pr_gateway_build(channel, PR_OPERATION_CHARGE, &facts, GATEWAY_NOW_US,
                                  GATEWAY_NONCE, &request, &error),
                 PR_BAD);
    cr_expect_str_eq(error.text, "request.paymentMethod is wanted and not known");
    facts.request = pr_bytes_text("{\"paymentMethod\": {\"type\":\"scheme\", \"n\":1.50}}");
    facts.currency = "CLP";
    gateway_build(channel, PR_OPERATION_CHARGE, &facts, &request);
    cr_expect_str_eq(pr_buffer_text(&request.body),
                     "{\"merchantAccount\":\"TestMerchant\",\"reference\":"
                     "\"TestPayment-1407325143704\",\"amount\":{\"value\":113000,\"currency\":"
                     "\"CLP\"},\"paymentMethod\":{\"type\":\"scheme\",\"n\":1.50},\"returnUrl\":"
                     "\"https://shop.example/back\"}");
    pr_gateway_request_free(&request);
}
