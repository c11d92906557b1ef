/* SPDX-License-Identifier: Apache-2.0 */
#include "sign/base64.h"
#include "sign/digest.h"
#include "sign/rsa.h"
#include "tests/support/gateway.h"
#include "tests/support/rsa_keys.h"

#include <inttypes.h>

TestSuite(paypal, .timeout = 300);

#define WEBHOOK_ID "1JE4291016473214C"
#define CERT_URL "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594"

static rsa_pem_t paypal;
static pr_profile_t *profile;
static pr_channel_t *channel;

static void begin(void)
{
    static const char *const pairs[] = {"client_id",        "client",      "client_secret",
                                        "secret-of-client", "merchant_id", "MERCHANT1",
                                        "webhook_id",       WEBHOOK_ID,    NULL};
    rsa_pem_make(&paypal, 2048);
    profile = gateway_profile("paypal");
    channel = gateway_channel(profile, pairs);
}

static void end(void)
{
    pr_channel_destroy(&channel);
    pr_profile_destroy(&profile);
}

#define ORDER(status, payments) \
    "{\"id\":\"5O19\",\"status\":\"" status "\",\"purchase_units\":[{\"reference_id\":" \
    "\"P20261130001\",\"payee\":{\"merchant_id\":\"MERCHANT1\"},\"amount\":{\"currency_code\":" \
    "\"USD\",\"value\":\"58.00\"}" payments "}],\"links\":[{\"rel\":\"self\",\"href\":\"s\"}," \
    "{\"rel\":\"payer-action\",\"href\":\"https://paypal.example/approve\"}]}"
#define CAPTURED(status) \
    ",\"payments\":{\"captures\":[{\"id\":\"3C67\",\"status\":\"" status \
    "\",\"amount\":{\"currency_code\":\"USD\",\"value\":\"58.00\"}}]}"

Test(paypal, statuses_and_failures, .init = begin, .fini = end)
{
    static const gateway_answer_case_t cases[] = {
        {"created", PR_OPERATION_CHARGE, 201, ORDER("CREATED", ""), PR_STATUS_PENDING, 0, ""},
        {"saved", PR_OPERATION_QUERY, 200, ORDER("SAVED", ""), PR_STATUS_PENDING, 0, ""},
        {"the payer must act", PR_OPERATION_QUERY, 200, ORDER("PAYER_ACTION_REQUIRED", ""),
         PR_STATUS_PENDING, 0, ""},
        {"approved: not paid, ours to capture", PR_OPERATION_QUERY, 200, ORDER("APPROVED", ""),
         PR_STATUS_PENDING, 0, "approved"},
        {"voided", PR_OPERATION_QUERY, 200, ORDER("VOIDED", ""), PR_STATUS_CANCELLED, 0, ""},
        {"captured", PR_OPERATION_QUERY, 200, ORDER("COMPLETED", CAPTURED("COMPLETED")),
         PR_STATUS_SUCCEEDED, 0, ""},
        {"completed, the capture is pending", PR_OPERATION_QUERY, 200,
         ORDER("COMPLETED", CAPTURED("PENDING")), PR_STATUS_PENDING, 0, ""},
        {"completed, the capture was declined", PR_OPERATION_QUERY, 200,
         ORDER("COMPLETED", CAPTURED("DECLINED")), PR_STATUS_FAILED, 0, ""},
        {"refunded in part", PR_OPERATION_QUERY, 200,
         ORDER("COMPLETED", CAPTURED("PARTIALLY_REFUNDED")), PR_STATUS_PARTIALLY_REFUNDED, 0, ""},
        {"refunded", PR_OPERATION_QUERY, 200, ORDER("COMPLETED", CAPTURED("REFUNDED")),
         PR_STATUS_REFUNDED, 0, ""},
        {"completed, but nothing captured", PR_OPERATION_QUERY, 200, ORDER("COMPLETED", ""),
         PR_STATUS_UNKNOWN, PR_ACTION_PERSON, "completed_without_capture"},
        {"two captures", PR_OPERATION_QUERY, 200,
         ORDER("COMPLETED", ",\"payments\":{\"captures\":[{\"status\":\"COMPLETED\"},{\"status\":"
                            "\"DECLINED\"}]}"),
         PR_STATUS_UNKNOWN, PR_ACTION_PERSON, "several_captures"},
        {"not there (or expired)", PR_OPERATION_QUERY, 404, "{\"name\":\"RESOURCE_NOT_FOUND\"}",
         PR_STATUS_NOT_FOUND, 0, "not_found"},
        {"too fast", PR_OPERATION_QUERY, 429, "{\"name\":\"RATE_LIMIT_REACHED\"}",
         PR_STATUS_UNKNOWN, PR_ACTION_BACK_OFF, "rate_limited"},
        {"capture too early", PR_OPERATION_CAPTURE, 422,
         "{\"name\":\"UNPROCESSABLE_ENTITY\",\"details\":[{\"issue\":\"ORDER_NOT_APPROVED\"}]}",
         PR_STATUS_PENDING, 0, "not_approved"},
        {"captured before", PR_OPERATION_CAPTURE, 422,
         "{\"details\":[{\"issue\":\"ORDER_ALREADY_CAPTURED\"}]}", PR_STATUS_UNKNOWN,
         PR_ACTION_QUERY_FIRST, "already_paid"},
        {"a refund", PR_OPERATION_REFUND, 201, "{\"status\":\"COMPLETED\"}", PR_STATUS_SUCCEEDED, 0,
         ""},
        {"our token ran out", PR_OPERATION_QUERY, 401, "{\"error\":\"invalid_token\"}",
         PR_STATUS_UNKNOWN, PR_ACTION_STOP_CHANNEL, "credential_refused"},
    };
    gateway_judge_all(channel, cases, PR_COUNT(cases), NULL);
}

Test(paypal, what_the_order_carries, .init = begin, .fini = end)
{
    pr_payment_facts_t facts = gateway_facts();
    facts.currency = "USD";
    pr_evidence_t e = gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200,
                                    ORDER("COMPLETED", CAPTURED("COMPLETED")), NULL);
    cr_expect_eq(pr_evidence_compare(channel, &facts, &e), PR_COMPARE_SAME);
    cr_expect_eq(e.amount.minor, 5800);
    e = gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200, ORDER("APPROVED", ""), NULL);
    cr_expect_eq(e.follow_up, PR_FOLLOW_UP_CAPTURE);
    cr_expect_str_eq(e.next_action_kind, "redirect");
    cr_expect_str_eq(e.next_action, "https://paypal.example/approve");
}

Test(paypal, a_token_comes_first, .init = begin, .fini = end)
{
    pr_error_t error = {0};
    pr_gateway_request_t request = {0};
    pr_payment_facts_t facts = gateway_facts();
    gateway_build(channel, PR_OPERATION_TOKEN, &facts, &request);
    cr_expect_str_eq(gateway_header_of(&request, "Authorization"),
                     "Basic Y2xpZW50OnNlY3JldC1vZi1jbGllbnQ=");
    cr_expect_str_eq(pr_buffer_text(&request.body), "grant_type=client_credentials");
    pr_evidence_t e = gateway_judge(channel, PR_OPERATION_TOKEN, &facts, 200,
                                    "{\"access_token\":\"A21\",\"expires_in\":32400}", NULL);
    cr_expect_str_eq(e.token, "A21");
    cr_expect_eq(e.token_expires_s, 32400);
    cr_expect_eq(e.object, PR_OBJECT_NONE);
    facts.reference = "5O19";
    cr_expect_eq(pr_gateway_build(channel, PR_OPERATION_QUERY, &facts, GATEWAY_NOW_US,
                                  GATEWAY_NONCE, &request, &error),
                 PR_BAD, "no token, no call");
    facts.token = "A21";
    gateway_build(channel, PR_OPERATION_CAPTURE, &facts, &request);
    cr_expect_str_eq(gateway_header_of(&request, "Authorization"), "Bearer A21");
    cr_expect_str_eq(gateway_header_of(&request, "PayPal-Request-Id"), "P20261130001-capture");
    cr_expect_str_eq(pr_buffer_text(&request.target), "/v2/checkout/orders/5O19/capture");
    pr_gateway_request_free(&request);
}

/* ---- webhooks ---- */

#define EVENT(type, resource) \
    "{\"id\":\"WH-1\",\"event_type\":\"" type "\",\"resource\":" resource "}"

static char signature_text[1024];

static void sign_headers(gateway_headers_t *headers, const char *body)
{
    pr_rsa_key_t *key = NULL;
    uint8_t bytes[PR_RSA_SIGNATURE_MAX_BYTES];
    size_t len;
    PR_CLEANUP_FREE char *text =
        pr_asprintf("b2384410-f8d2|2026-11-18T11:06:00Z|" WEBHOOK_ID "|%" PRIu32,
                    pr_crc32(pr_bytes_text(body)));
    cr_assert_eq(pr_rsa_key_parse(pr_bytes_text(paypal.private_key), &key, NULL), PR_OK);
    cr_assert(pr_rsa_sha256_sign(key, pr_bytes_text(text), bytes, &len));
    pr_base64_encode(pr_bytes(bytes, len), signature_text);
    pr_rsa_key_destroy(&key);
    gateway_header(headers, "PAYPAL-TRANSMISSION-ID", "b2384410-f8d2");
    gateway_header(headers, "PAYPAL-TRANSMISSION-TIME", "2026-11-18T11:06:00Z");
    gateway_header(headers, "PAYPAL-TRANSMISSION-SIG", signature_text);
    gateway_header(headers, "PAYPAL-CERT-URL", CERT_URL);
    gateway_header(headers, "PAYPAL-AUTH-ALGO", "SHA256withRSA");
}

Test(paypal, the_certificate_is_asked_for_and_its_host_is_pinned, .init = begin, .fini = end)
{
    static const char body[] = EVENT("PAYMENT.CAPTURE.COMPLETED", "{\"status\":\"COMPLETED\"}");
    pr_webhook_result_t result;
    gateway_headers_t headers = {0};
    sign_headers(&headers, body);
    pr_webhook_t webhook = {"POST", {0}, headers.items, headers.count, pr_bytes_text(body), {0}, 0};
    pr_webhook_result_init(&result);
    pr_webhook_read(channel, &webhook, GATEWAY_NOW_US, &result);
    cr_expect_eq(result.verdict, PR_WEBHOOK_WANTS_KEY);
    cr_expect_str_eq(result.key_url, CERT_URL);
    webhook.certificate = pr_bytes_text(paypal.certificate);
    gateway_read_webhook(channel, &webhook, &result);
    cr_expect_eq(result.items[0].evidence.status, PR_STATUS_SUCCEEDED);
    cr_expect_str_eq(result.items[0].dedupe[0], "WH-1");
    pr_webhook_result_free(&result);

    static const char *const urls[] = {
        "https://api.paypal.com.evil.example/cert", "http://api.paypal.com/cert",
        "https://api.paypal.com:8443/cert",         "https://api.paypal.com@evil.example/cert",
        "https://evil.example/api.paypal.com",      "https://xapi.paypal.com/cert"};
    for (size_t i = 0; i < PR_COUNT(urls); i++) {
        headers.items[3].value = urls[i];
        gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, "key_host_not_pinned");
    }
    headers.items[3].value = CERT_URL;
    headers.items[4].value = "SHA1withRSA";
    gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, "signature_missing");
    headers.items[4].value = "SHA256withRSA";
    webhook.body = pr_bytes_text(EVENT("PAYMENT.CAPTURE.COMPLETED", "{ }"));
    gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, "bad_signature");
    webhook.certificate = pr_bytes_text("no certificate");
    gateway_expect_refused(channel, &webhook, GATEWAY_NOW_US, "unknown_key");
}

Test(paypal, deltas_and_totals_of_refunds_are_told_apart, .init = begin, .fini = end)
{
    static const char body[] =
        EVENT("PAYMENT.CAPTURE.REFUNDED",
              "{\"id\":\"1JU0\",\"status\":\"COMPLETED\",\"amount\":{\"value\":\"8.00\","
              "\"currency_code\":\"USD\"},\"seller_payable_breakdown\":{\"total_refunded_amount\":"
              "{\"value\":\"18.00\",\"currency_code\":\"USD\"}}}");
    pr_webhook_result_t result;
    gateway_headers_t headers = {0};
    sign_headers(&headers, body);
    pr_webhook_t webhook = {.method = "POST",
                            .headers = headers.items,
                            .header_count = headers.count,
                            .body = pr_bytes_text(body),
                            .certificate = pr_bytes_text(paypal.certificate)};
    gateway_read_webhook(channel, &webhook, &result);
    const pr_evidence_t *e = &result.items[0].evidence;
    cr_expect_eq(e->object, PR_OBJECT_REFUND);
    cr_expect_eq(e->refund_amount.minor, 800);
    cr_expect_eq(e->refunded_total.minor, 1800);
    pr_webhook_result_free(&result);
}
