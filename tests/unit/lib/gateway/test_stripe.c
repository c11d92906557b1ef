/* SPDX-License-Identifier: Apache-2.0 */
#include "sign/digest.h"
#include "tests/support/gateway.h"

TestSuite(stripe, .timeout = 300);

#define SECRET "whsec_test_secret_of_sixteen"
#define OLD "whsec_the_one_before_it_was_rolled"

static pr_profile_t *profile;
static pr_channel_t *channel;

static void begin(void)
{
    static const char *const pairs[] = {"api_key",
                                        "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
                                        "webhook_secret",
                                        SECRET,
                                        "webhook_secret",
                                        OLD,
                                        "version",
                                        "2024-06-20",
                                        NULL};
    profile = gateway_profile("stripe");
    channel = gateway_channel(profile, pairs);
}

static void end(void)
{
    pr_channel_destroy(&channel);
    pr_profile_destroy(&profile);
}

static pr_payment_facts_t usd(void)
{
    pr_payment_facts_t facts = gateway_facts();
    facts.currency = "USD";
    facts.reference = "pi_1";
    return facts;
}

#define INTENT(status, more) \
    "{\"id\":\"pi_1\",\"object\":\"payment_intent\",\"amount\":5800,\"currency\":\"usd\"," \
    "\"status\":\"" status "\",\"metadata\":{\"request_no\":\"P20261130001\"}" more "}"

Test(stripe, statuses_and_failures, .init = begin, .fini = end)
{
    static const gateway_answer_case_t cases[] = {
        {"nothing tried", PR_OPERATION_QUERY, 200, INTENT("requires_payment_method", ""),
         PR_STATUS_PENDING, 0, ""},
        {"the last try failed, the intent is open", PR_OPERATION_QUERY, 200,
         INTENT("requires_payment_method", ",\"last_payment_error\":{\"code\":\"card_declined\"}"),
         PR_STATUS_FAILED, 0, "attempt_failed"},
        {"3-D Secure", PR_OPERATION_QUERY, 200, INTENT("requires_action", ""), PR_STATUS_PENDING, 0,
         ""},
        {"processing", PR_OPERATION_QUERY, 200, INTENT("processing", ""), PR_STATUS_PENDING, 0, ""},
        {"authorised", PR_OPERATION_QUERY, 200, INTENT("requires_capture", ""), PR_STATUS_PENDING,
         0, ""},
        {"paid", PR_OPERATION_QUERY, 200, INTENT("succeeded", ""), PR_STATUS_SUCCEEDED, 0, ""},
        {"canceled", PR_OPERATION_QUERY, 200, INTENT("canceled", ""), PR_STATUS_CANCELLED, 0, ""},
        {"found by our number", PR_OPERATION_FIND, 200,
         "{\"object\":\"search_result\",\"data\":[" INTENT("succeeded", "") "]}",
         PR_STATUS_SUCCEEDED, 0, ""},
        {"not found by our number", PR_OPERATION_FIND, 200,
         "{\"object\":\"search_result\",\"data\":[]}", PR_STATUS_NOT_FOUND, 0, "not_found"},
        {"two of our number", PR_OPERATION_FIND, 200,
         "{\"object\":\"search_result\",\"data\":[" INTENT("succeeded", "") "," INTENT("canceled",
                                                                                       "") "]}",
         PR_STATUS_UNKNOWN, PR_ACTION_PERSON, "two_intents_with_one_number"},
        {"missing, or another mode", PR_OPERATION_QUERY, 404,
         "{\"error\":{\"code\":\"resource_missing\"}}", PR_STATUS_NOT_FOUND, 0, "not_found"},
        {"too fast", PR_OPERATION_CHARGE, 429, "{\"error\":{\"code\":\"rate_limit\"}}",
         PR_STATUS_UNKNOWN, PR_ACTION_BACK_OFF, "rate_limited"},
        {"the first one still runs", PR_OPERATION_CHARGE, 409,
         "{\"error\":{\"code\":\"idempotency_key_in_use\"}}", PR_STATUS_UNKNOWN,
         PR_ACTION_QUERY_FIRST, "first_request_under_way"},
        {"same key, other parameters", PR_OPERATION_CHARGE, 400,
         "{\"error\":{\"type\":\"idempotency_error\"}}", PR_STATUS_UNKNOWN, PR_ACTION_PERSON,
         "number_used_with_other_parameters"},
        {"no money", PR_OPERATION_CHARGE, 402,
         "{\"error\":{\"code\":\"card_declined\",\"decline_code\":\"insufficient_funds\"}}",
         PR_STATUS_FAILED, PR_ACTION_FAIL_NOW, "insufficient_funds"},
        {"a stolen card", PR_OPERATION_CHARGE, 402,
         "{\"error\":{\"code\":\"card_declined\",\"decline_code\":\"stolen_card\"}}",
         PR_STATUS_FAILED, PR_ACTION_FAIL_NOW, "risk_refused"},
        {"a wrong key", PR_OPERATION_QUERY, 401, "{\"error\":{}}", PR_STATUS_UNKNOWN,
         PR_ACTION_STOP_CHANNEL, "credential_refused"},
        {"a saved 500 that is replayed", PR_OPERATION_CHARGE, 500, "{\"error\":{}}",
         PR_STATUS_UNKNOWN, PR_ACTION_QUERY_FIRST, "server_error"},
        {"a failed refund", PR_OPERATION_QUERY_REFUND, 200,
         "{\"id\":\"re_1\",\"status\":\"failed\"}", PR_STATUS_FAILED, 0, ""},
    };
    gateway_judge_all(channel, cases, PR_COUNT(cases), NULL);
    pr_payment_facts_t facts = usd();
    pr_evidence_t e = gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200, cases[1].body, NULL);
    cr_expect_not(e.final, "the payer may try another card");
    cr_expect_str_eq(e.failure_code, "card_declined");
}

Test(stripe, evidence_is_compared_whatever_the_case_of_its_currency, .init = begin, .fini = end)
{
    pr_payment_facts_t facts = usd();
    pr_evidence_t e = gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200,
                                    INTENT("succeeded", ",\"amount_received\":5000"), NULL);
    cr_expect_str_eq(e.currency, "USD");
    cr_expect_eq(e.captured_total.minor, 5000, "a partial capture is seen");
    cr_expect_eq(pr_evidence_compare(channel, &facts, &e), PR_COMPARE_SAME);
    facts.reference = "pi_2";
    cr_expect_eq(pr_evidence_compare(channel, &facts, &e), PR_COMPARE_NUMBER);
}

Test(stripe, zero_and_three_decimal_currencies, .init = begin, .fini = end)
{
    static const struct {
        const char *body;
        int64_t minor;
        const char *flaw;
    } cases[] = {
        {"{\"status\":\"succeeded\",\"amount\":5800,\"currency\":\"jpy\"}", 5800, NULL},
        {"{\"status\":\"succeeded\",\"amount\":5120,\"currency\":\"kwd\"}", 5120, NULL},
        {"{\"status\":\"succeeded\",\"amount\":580000,\"currency\":\"isk\"}", 5800, NULL},
        {"{\"status\":\"succeeded\",\"amount\":580050,\"currency\":\"ugx\"}", 0, "amount"},
        {"{\"status\":\"succeeded\",\"amount\":5800,\"currency\":\"zzz\"}", 0, "unknown_currency"},
        {"{\"status\":\"succeeded\",\"amount\":5.8e3,\"currency\":\"usd\"}", 0, "amount"},
        {"{\"status\":\"succeeded\",\"amount\":-1,\"currency\":\"usd\"}", 0, "amount"},
        {"{\"status\":\"succeeded\",\"amount\":5800,\"currency\":\"us\"}", 0, "currency"},
    };
    pr_payment_facts_t facts = usd();
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_evidence_t e =
            gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200, cases[i].body, NULL);
        cr_expect_str_eq(e.flaw ? e.flaw : "", cases[i].flaw ? cases[i].flaw : "", "%s",
                         cases[i].body);
        cr_expect_eq(e.amount.minor, cases[i].minor, "%s", cases[i].body);
        if (cases[i].flaw)
            cr_expect_eq(pr_evidence_compare(channel, &facts, &e), PR_COMPARE_FLAWED);
    }
}

Test(stripe, the_gateways_own_word_on_retrying_is_stronger, .init = begin, .fini = end)
{
    pr_evidence_t e;
    const pr_gateway_header_t headers[] = {{"stripe-should-retry", "false"}, {"Retry-After", "7"}};
    pr_gateway_answer_t answer = {PR_TRANSPORT_OK, 500, headers, 2, pr_bytes_text("{}")};
    pr_gateway_judge(channel, PR_OPERATION_CHARGE, NULL, &answer, GATEWAY_NOW_US, &e);
    cr_expect_eq(e.action, PR_ACTION_PERSON);
    cr_expect_eq(e.retry_after_ms, 7000);
}

Test(stripe, requests, .init = begin, .fini = end)
{
    pr_gateway_request_t request = {0};
    pr_payment_facts_t facts = usd();
    facts.request = pr_bytes_text("{\"payment_method\":\"pm_1\",\"confirm\":true}");
    gateway_build(channel, PR_OPERATION_CHARGE, &facts, &request);
    cr_expect_str_eq(gateway_header_of(&request, "Idempotency-Key"), "P20261130001");
    cr_expect_str_eq(gateway_header_of(&request, "Authorization"),
                     "Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc");
    cr_expect_str_eq(pr_buffer_text(&request.body),
                     "amount=5800&confirm=true&currency=usd&description=a%20%22quoted%22%20thing"
                     "&metadata%5Border_no%5D=order-1&metadata%5Brequest_no%5D=P20261130001"
                     "&payment_method=pm_1&return_url=https%3A%2F%2Fshop.example%2Fback");
    gateway_build(channel, PR_OPERATION_QUERY, &facts, &request);
    cr_expect_str_eq(pr_buffer_text(&request.target), "/v1/payment_intents/pi_1");
    facts.reference = NULL;
    gateway_build(channel, PR_OPERATION_QUERY, &facts, &request);
    cr_expect_eq(request.operation, PR_OPERATION_FIND, "without their reference: by our number");
    cr_expect(strstr(pr_buffer_text(&request.target), "P20261130001"));
    pr_error_t error = {0};
    facts.reference = "pi_1";
    facts.refund_no = "R1";
    facts.refund_minor = 100;
    gateway_build(channel, PR_OPERATION_REFUND, &facts, &request);
    facts.refund_minor = 0;
    cr_expect_eq(pr_gateway_build(channel, PR_OPERATION_REFUND, &facts, GATEWAY_NOW_US,
                                  GATEWAY_NONCE, &request, &error),
                 PR_BAD);
    cr_expect_str_eq(error.text, "a refund of nothing is refused");
    facts.refund_minor = -1;
    cr_expect_eq(pr_gateway_build(channel, PR_OPERATION_REFUND, &facts, GATEWAY_NOW_US,
                                  GATEWAY_NONCE, &request, &error),
                 PR_BAD);
    cr_expect_str_eq(error.text, "refund_amount is wanted and not known");
    pr_gateway_request_free(&request);
}

/* ---- webhooks ---- */

static char *header_of(const char *secret, const char *body, int64_t at_s)
{
    uint8_t mac[PR_SHA256_BYTES];
    char hex[2 * PR_SHA256_BYTES + 1];
    PR_CLEANUP_FREE char *text = pr_asprintf("%lld.%s", (long long)at_s, body);
    pr_bytes_t bytes = pr_bytes_text(text);
    cr_assert(pr_hmac_sha256(pr_bytes_text(secret), &bytes, 1, mac));
    pr_hex(pr_bytes(mac, sizeof mac), hex);
    return pr_asprintf("t=%lld,v1=%s,v0=6ffbb59b2300aae63f272406069a9788598b792a", (long long)at_s,
                       hex);
}

#define EVENT(type, object) \
    "{\"id\":\"evt_1\",\"type\":\"" type "\",\"data\":{\"object\":" object "}}"

Test(stripe, webhooks_verify_under_both_secrets_in_a_window, .init = begin, .fini = end)
{
    static const char body[] = EVENT("payment_intent.succeeded", "{\"id\":\"pi_1\",\"status\":"
                                                                 "\"succeeded\"}");
    const char *const secrets[] = {SECRET, OLD};
    for (size_t i = 0; i < PR_COUNT(secrets); i++) {
        pr_webhook_result_t result;
        PR_CLEANUP_FREE char *signature = header_of(secrets[i], body, GATEWAY_NOW_S);
        pr_gateway_header_t header = {"Stripe-Signature", signature};
        pr_webhook_t webhook = {"POST", {0}, &header, 1, pr_bytes_text(body), {0}, 0};
        gateway_read_webhook(channel, &webhook, &result);
        cr_expect_str_eq(result.items[0].dedupe[0], "evt_1");
        cr_expect_eq(result.items[0].evidence.status, PR_STATUS_SUCCEEDED);
        pr_webhook_result_free(&result);
        gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US + INT64_C(300000000), "stale");
        gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US - INT64_C(300000000), "stale");
    }
}

Test(stripe, malformed_signature_headers_are_refused, .init = begin, .fini = end)
{
    static const char body[] = EVENT("payment_intent.succeeded", "{}");
    PR_CLEANUP_FREE char *good = header_of(SECRET, body, GATEWAY_NOW_S);
    PR_CLEANUP_FREE char *others = header_of("another_secret_of_theirs", body, GATEWAY_NOW_S);
    PR_CLEANUP_FREE char *twice = pr_asprintf("t=1,%s", good);
    PR_CLEANUP_FREE char *without = pr_asprintf("v1=%s", strstr(good, "v1=") + 3);
    const struct {
        const char *value, *reason;
    } cases[] = {{others, "bad_signature"},
                 {twice, "signature_missing"},
                 {without, "signature_missing"},
                 {"", "signature_missing"},
                 {"t=1795000000", "signature_missing"},
                 {"t=abc,v1=00", "signature_missing"},
                 {"t=1795000000,v1=zz", "bad_signature"},
                 {"t=1795000000,v1=", "signature_missing"}};
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_gateway_header_t header = {"Stripe-Signature", cases[i].value};
        pr_webhook_t webhook = {"POST", {0}, &header, 1, pr_bytes_text(body), {0}, 0};
        gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, cases[i].reason);
    }
    pr_webhook_t bare = {"POST", {0}, NULL, 0, pr_bytes_text(body), {0}, 0};
    gateway_expect_refused(channel, &bare, GATEWAY_NOW_US, "signature_missing");
}

Test(stripe, events, .init = begin, .fini = end)
{
    static const struct {
        const char *body;
        pr_object_t object;
        pr_status_t status;
        int64_t refunded, delta;
    } cases[] = {
        {EVENT("payment_intent.payment_failed",
               "{\"status\":\"requires_payment_method\",\"last_payment_error\":{\"code\":\"x\"}}"),
         PR_OBJECT_PAYMENT, PR_STATUS_FAILED, 0, 0},
        {EVENT("charge.refunded", "{\"amount\":5800,\"amount_refunded\":800,\"refunded\":false,"
                                  "\"currency\":\"usd\",\"status\":\"succeeded\"}"),
         PR_OBJECT_PAYMENT, PR_STATUS_PARTIALLY_REFUNDED, 800, 0},
        {EVENT("charge.refunded", "{\"amount\":5800,\"amount_refunded\":5800,\"refunded\":true,"
                                  "\"currency\":\"usd\",\"status\":\"succeeded\"}"),
         PR_OBJECT_PAYMENT, PR_STATUS_REFUNDED, 5800, 0},
        {EVENT("charge.succeeded", "{\"amount\":5800,\"amount_refunded\":0,\"refunded\":false,"
                                   "\"currency\":\"usd\",\"status\":\"succeeded\"}"),
         PR_OBJECT_PAYMENT, PR_STATUS_SUCCEEDED, 0, 0},
        {EVENT("refund.updated", "{\"amount\":800,\"currency\":\"usd\",\"status\":\"succeeded\"}"),
         PR_OBJECT_REFUND, PR_STATUS_SUCCEEDED, 0, 800},
        {EVENT("charge.dispute.created", "{\"status\":\"needs_response\"}"), PR_OBJECT_DISPUTE,
         PR_STATUS_PENDING, 0, 0},
        {EVENT("customer.created", "{\"id\":\"cus_1\"}"), PR_OBJECT_NONE, PR_STATUS_NONE, 0, 0},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_webhook_result_t result;
        PR_CLEANUP_FREE char *signature = header_of(SECRET, cases[i].body, GATEWAY_NOW_S);
        pr_gateway_header_t header = {"Stripe-Signature", signature};
        pr_webhook_t webhook = {"POST", {0}, &header, 1, pr_bytes_text(cases[i].body), {0}, 0};
        gateway_read_webhook(channel, &webhook, &result);
        const pr_evidence_t *e = &result.items[0].evidence;
        cr_expect_eq(e->object, cases[i].object, "%s", cases[i].body);
        cr_expect_eq(e->status, cases[i].status, "%s: %s", cases[i].body,
                     pr_status_name(e->status));
        cr_expect_eq(e->refunded_total.minor, cases[i].refunded, "%s", cases[i].body);
        cr_expect_eq(e->refund_amount.minor, cases[i].delta, "%s", cases[i].body);
        pr_webhook_result_free(&result);
    }
}
