/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's profile, and with it what all profiles share: transports, limits, comparing.
 */
#include "sign/digest.h"
#include "tests/support/gateway.h"

TestSuite(gateway_sandbox, .timeout = 300);

#define SECRET "a secret of the sandbox"

static pr_profile_t *profile;
static pr_channel_t *channel;

static void begin(void)
{
    static const char *const pairs[] = {"account", "acct-1", "secret", SECRET, NULL};
    profile = gateway_profile("sandbox");
    channel = gateway_channel(profile, pairs);
}

static void end(void)
{
    pr_channel_destroy(&channel);
    pr_profile_destroy(&profile);
}

static char hex[2 * PR_SHA256_BYTES + 1];

static const char *hmac_of(const char *text)
{
    uint8_t mac[PR_SHA256_BYTES];
    pr_bytes_t bytes = pr_bytes_text(text);
    cr_assert(pr_hmac_sha256(pr_bytes_text(SECRET), &bytes, 1, mac));
    pr_hex(pr_bytes(mac, sizeof mac), hex);
    return hex;
}

static void sign_answer(const pr_channel_t *self, pr_gateway_answer_t *answer,
                        gateway_headers_t *headers)
{
    (void)self;
    PR_CLEANUP_FREE char *text =
        pr_asprintf("%lld.%s", (long long)GATEWAY_NOW_S, (const char *)answer->body.data);
    gateway_header(headers, "X-Timestamp", "1795000000");
    gateway_header(headers, "X-Signature", hmac_of(text));
}

#define PAYMENT(status, more) \
    "{\"id\":\"ch_1\",\"account\":\"acct-1\",\"request_no\":\"P20261130001\",\"amount\":5800," \
    "\"currency\":\"CNY\",\"status\":\"" status "\"" more "}"

Test(gateway_sandbox, statuses_and_failures, .init = begin, .fini = end)
{
    static const gateway_answer_case_t cases[] = {
        {"pending", PR_OPERATION_CHARGE, 201, PAYMENT("pending", ""), PR_STATUS_PENDING, 0, ""},
        {"paid", PR_OPERATION_QUERY, 200, PAYMENT("succeeded", ""), PR_STATUS_SUCCEEDED, 0, ""},
        {"closed", PR_OPERATION_CLOSE, 200, PAYMENT("cancelled", ""), PR_STATUS_CANCELLED, 0, ""},
        {"not there", PR_OPERATION_QUERY, 404, "{\"error\":{\"code\":\"not_found\"}}",
         PR_STATUS_NOT_FOUND, 0, "not_found"},
        {"a 404 of something else", PR_OPERATION_QUERY, 404, "<html>", PR_STATUS_UNKNOWN,
         PR_ACTION_BACK_OFF, "unexpected_answer"},
        {"a 404 to a charge", PR_OPERATION_CHARGE, 404, "{}", PR_STATUS_UNKNOWN,
         PR_ACTION_QUERY_FIRST, "unexpected_answer"},
        {"maintenance", PR_OPERATION_CHARGE, 503, "{\"error\":{\"code\":\"maintenance\"}}",
         PR_STATUS_UNKNOWN, PR_ACTION_LONGER_INTERVAL, "maintenance"},
        {"no money", PR_OPERATION_CHARGE, 402, "{\"error\":{\"code\":\"insufficient_funds\"}}",
         PR_STATUS_FAILED, PR_ACTION_FAIL_NOW, "insufficient_funds"},
        {"a redirect", PR_OPERATION_QUERY, 302, "", PR_STATUS_UNKNOWN, PR_ACTION_BACK_OFF,
         "unexpected_answer"},
        {"paid meanwhile", PR_OPERATION_CLOSE, 409, "{\"error\":{\"code\":\"already_paid\"}}",
         PR_STATUS_UNKNOWN, PR_ACTION_QUERY_FIRST, "already_paid"},
        {"a status that stands there twice", PR_OPERATION_QUERY, 200,
         PAYMENT("succeeded", ",\"status\":\"failed\""), PR_STATUS_UNKNOWN,
         PR_ACTION_LONGER_INTERVAL, "no_status"},
    };
    gateway_judge_all(channel, cases, PR_COUNT(cases), sign_answer);
}

Test(gateway_sandbox, no_answer_is_never_a_failure, .init = begin, .fini = end)
{
    static const struct {
        pr_transport_t transport;
        pr_action_t charge, query;
        const char *reason;
    } cases[] = {
        {PR_TRANSPORT_DNS, PR_ACTION_RETRY, PR_ACTION_BACK_OFF, "not_reached"},
        {PR_TRANSPORT_CONNECT, PR_ACTION_RETRY, PR_ACTION_BACK_OFF, "not_reached"},
        {PR_TRANSPORT_CONNECT_TIMEOUT, PR_ACTION_QUERY_FIRST, PR_ACTION_BACK_OFF, "timeout"},
        {PR_TRANSPORT_FIRST_BYTE_TIMEOUT, PR_ACTION_QUERY_FIRST, PR_ACTION_BACK_OFF, "timeout"},
        {PR_TRANSPORT_TOTAL_TIMEOUT, PR_ACTION_QUERY_FIRST, PR_ACTION_BACK_OFF, "timeout"},
        {PR_TRANSPORT_RESET, PR_ACTION_QUERY_FIRST, PR_ACTION_BACK_OFF, "no_answer"},
        {PR_TRANSPORT_PROTOCOL, PR_ACTION_QUERY_FIRST, PR_ACTION_BACK_OFF, "no_answer"},
        {PR_TRANSPORT_TOO_LARGE, PR_ACTION_QUERY_FIRST, PR_ACTION_BACK_OFF, "no_answer"},
        {PR_TRANSPORT_BAD_CONFIG, PR_ACTION_STOP_CHANNEL, PR_ACTION_STOP_CHANNEL, "configuration"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_evidence_t e;
        pr_gateway_answer_t answer = {.transport = cases[i].transport};
        pr_gateway_judge(channel, PR_OPERATION_CHARGE, NULL, &answer, GATEWAY_NOW_US, &e);
        cr_expect(e.status == PR_STATUS_UNKNOWN && e.action == cases[i].charge, "charge %zu", i);
        cr_expect_str_eq(e.reason, cases[i].reason);
        pr_gateway_judge(channel, PR_OPERATION_QUERY, NULL, &answer, GATEWAY_NOW_US, &e);
        cr_expect(e.status == PR_STATUS_UNKNOWN && e.action == cases[i].query, "query %zu", i);
    }
}

Test(gateway_sandbox, evidence_that_does_not_say_enough_moves_no_money, .init = begin, .fini = end)
{
    static const struct {
        const char *body;
        pr_compare_t result;
    } cases[] = {
        {"{\"status\":\"succeeded\",\"request_no\":\"P20261130001\",\"currency\":\"CNY\"}",
         PR_COMPARE_AMOUNT},
        {"{\"status\":\"succeeded\",\"request_no\":\"P20261130001\",\"amount\":5800}",
         PR_COMPARE_FLAWED},
        {"{\"status\":\"succeeded\",\"amount\":5800,\"currency\":\"CNY\"}", PR_COMPARE_NUMBER},
        {"{\"status\":\"pending\"}", PR_COMPARE_SAME},
        {"{\"status\":\"cancelled\",\"request_no\":\"P20261130001\"}", PR_COMPARE_SAME},
        {"{\"status\":\"cancelled\",\"request_no\":\"P2\"}", PR_COMPARE_NUMBER},
        {"{\"status\":\"pending\",\"account\":\"acct-2\"}", PR_COMPARE_ACCOUNT},
        {"{\"status\":\"pending\",\"amount\":\"1e3\",\"currency\":\"CNY\"}", PR_COMPARE_FLAWED},
    };
    pr_payment_facts_t facts = gateway_facts();
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_evidence_t e =
            gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200, cases[i].body, sign_answer);
        pr_compare_t result = pr_evidence_compare(channel, &facts, &e);
        cr_expect_eq(result, cases[i].result, "%s: %s", cases[i].body, pr_compare_name(result));
    }
}

Test(gateway_sandbox, long_texts_are_cut_or_are_a_flaw, .init = begin, .fini = end)
{
    char message[600], body[1200];
    memset(message, 'x', sizeof message);
    memcpy(message + 254, "\xe4\xb8\xad", 3); /* a character across the end of the field */
    message[sizeof message - 1] = '\0';
    snprintf(body, sizeof body, PAYMENT("failed", ",\"failure\":{\"message\":\"%s\"}"), message);
    pr_payment_facts_t facts = gateway_facts();
    pr_evidence_t e = gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200, body, sign_answer);
    cr_expect_eq(strlen(e.failure_message), 254, "cut before the character");
    cr_expect_null(e.flaw);
    snprintf(body, sizeof body, "{\"status\":\"pending\",\"request_no\":\"%s\"}", message);
    e = gateway_judge(channel, PR_OPERATION_QUERY, &facts, 200, body, sign_answer);
    cr_expect_str_eq(e.flaw, "request_no", "a number is not cut: it would be another one");
}

Test(gateway_sandbox, requests_are_signed, .init = begin, .fini = end)
{
    pr_gateway_request_t request = {0};
    pr_payment_facts_t facts = gateway_facts();
    gateway_build(channel, PR_OPERATION_CLOSE, &facts, &request);
    cr_expect_str_eq(gateway_header_of(&request, "X-Signature"),
                     hmac_of("POST\n/gateway/v1/charges/P20261130001/close\n1795000000\n"
                             "593bec0c930bf1afeb40b4a08c8fb242\n{}"));
    facts.request_no = "a/b?c d";
    gateway_build(channel, PR_OPERATION_QUERY, &facts, &request);
    cr_expect_str_eq(pr_buffer_text(&request.target), "/gateway/v1/charges/a%2Fb%3Fc%20d");
    facts.request_no = NULL;
    facts.reference = "ch_1";
    gateway_build(channel, PR_OPERATION_QUERY, &facts, &request);
    cr_expect_str_eq(pr_buffer_text(&request.target), "/gateway/v1/charges/ch_1");
    facts = gateway_facts();
    facts.order_no = "x\r\nX-Evil: 1";
    gateway_build(channel, PR_OPERATION_CHARGE, &facts, &request);
    cr_expect_not(strchr(pr_buffer_text(&request.body), '\n'), "escaped in JSON");
    facts.request_no = "x\r\nX-Evil: 1";
    cr_expect_eq(pr_gateway_build(channel, PR_OPERATION_CHARGE, &facts, GATEWAY_NOW_US,
                                  GATEWAY_NONCE, &request, NULL),
                 PR_BAD, "refused in a header");
    pr_gateway_request_free(&request);
}

Test(gateway_sandbox, webhooks_of_payments_and_refunds, .init = begin, .fini = end)
{
    static const char body[] =
        "{\"id\":\"ev_1\",\"type\":\"refund.succeeded\",\"data\":{\"id\":\"re_1\",\"account\":"
        "\"acct-1\",\"payment\":\"ch_1\",\"refund_no\":\"R1\",\"amount\":0,\"currency\":\"CNY\","
        "\"status\":\"succeeded\"}}";
    pr_webhook_result_t result;
    gateway_headers_t headers = {0};
    PR_CLEANUP_FREE char *text = pr_asprintf("1795000000.%s", body);
    gateway_header(&headers, "x-timestamp", "1795000000");
    gateway_header(&headers, "x-signature", hmac_of(text));
    pr_webhook_t webhook = {"POST", {0}, headers.items, headers.count, pr_bytes_text(body), {0}, 0};
    gateway_read_webhook(channel, &webhook, &result);
    pr_payment_facts_t facts = gateway_facts();
    facts.reference = "ch_1";
    facts.refund_no = "R1";
    facts.refund_minor = 0;
    cr_expect_eq(result.items[0].evidence.object, PR_OBJECT_REFUND);
    cr_expect_eq(pr_evidence_compare(channel, &facts, &result.items[0].evidence), PR_COMPARE_AMOUNT,
                 "a refund of nothing is no refund");
    cr_expect_str_eq(result.items[0].dedupe[1], "refund.succeeded:re_1:succeeded:");
    pr_webhook_result_free(&result);
}

Test(gateway_sandbox, an_event_without_a_key_is_known_by_its_bytes, .init = begin, .fini = end)
{
    static const char body[] = "{\"type\":\"ping\",\"data\":{}}";
    pr_webhook_result_t first, second;
    gateway_headers_t headers = {0};
    PR_CLEANUP_FREE char *text = pr_asprintf("1795000000.%s", body);
    gateway_header(&headers, "X-Timestamp", "1795000000");
    gateway_header(&headers, "X-Signature", hmac_of(text));
    pr_webhook_t webhook = {"POST", {0}, headers.items, headers.count, pr_bytes_text(body), {0}, 0};
    gateway_read_webhook(channel, &webhook, &first);
    gateway_read_webhook(channel, &webhook, &second);
    cr_expect_eq(strncmp(first.items[0].dedupe[0], "bytes:", 6), 0);
    cr_expect_str_eq(first.items[0].dedupe[0], second.items[0].dedupe[0]);
    cr_expect_eq(first.items[0].evidence.object, PR_OBJECT_NONE);
    pr_webhook_result_free(&first);
    pr_webhook_result_free(&second);
}
