/* SPDX-License-Identifier: Apache-2.0
 *
 * Every shipped profile's webhook verifier and parser, and its reading of answers. The first byte
 * chooses the profile and whether the webhook is signed as the gateway would: unsigned ones are
 * never verified, signed ones get deep. Run in the root of the checkout.
 *
 * The RSA profiles verify with a key that is made here; the seeds of the corpus are in
 * tests/fuzz/corpus/gateway.
 */
#include "base/json_scan.h"
#include "gateway/evidence_json.h"
#include "gateway/gateway.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/rsa_keys.h"

#include <stdio.h>
#include <string.h>

#define NOW_US (INT64_C(1795000000) * 1000000)
#define PROFILES 7

static const char *const names[PROFILES] = {"sandbox", "wechat-v3", "alipay",     "stripe",
                                            "adyen",   "paypal",    "generic-md5"};
static pr_profile_t *profiles[PROFILES];
static pr_channel_t *channels[PROFILES];

static pr_profile_t *load(const char *name)
{
    static char text[262144];
    char path[256];
    pr_profile_t *profile = NULL;
    const char *cut = strstr(__FILE__, "tests/fuzz/");
    snprintf(path, sizeof path, "%.*sprofiles/%s.yaml", cut ? (int)(cut - __FILE__) : 0, __FILE__,
             name);
    FILE *file = fopen(path, "r");
    FUZZ_CHECK(file);
    size_t len = fread(text, 1, sizeof text, file);
    fclose(file);
    FUZZ_CHECK(pr_profile_parse(name, pr_bytes(text, len), &profile, NULL) == PR_OK);
    return profile;
}

/* A value for each parameter, by its kind. */
static pr_channel_t *bind(const pr_profile_t *profile, const rsa_pem_t *pem)
{
    pr_parameter_t parameters[16];
    pr_profile_parameter_t wanted;
    pr_channel_t *channel = NULL;
    size_t count = 0;
    for (; pr_profile_parameter(profile, count, &wanted); count++) {
        const char *value = "value";
        if (strncmp(wanted.kind, "rsa", 3) == 0)
            value = pem->private_key;
        else if (strcmp(wanted.kind, "aes_key") == 0)
            value = "0123456789abcdef0123456789abcdef";
        else if (strcmp(wanted.kind, "hex_key") == 0)
            value = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";
        parameters[count] = (pr_parameter_t){wanted.name, pr_bytes_text(value)};
    }
    FUZZ_CHECK(pr_channel_new(profile, parameters, count, NULL, &channel, NULL) == PR_OK);
    return channel;
}

static void start(void)
{
    static rsa_pem_t pem;
    if (channels[0])
        return;
    rsa_pem_make(&pem, 2048);
    for (size_t i = 0; i < PROFILES; i++) {
        profiles[i] = load(names[i]);
        channels[i] = bind(profiles[i], &pem);
    }
}

/* Whatever was read, as JSON it is an object that fits where it goes. */
static void check_json(const pr_evidence_t *e)
{
    pr_buffer_t text;
    pr_json_t root = {0};
    pr_buffer_init(&text, PR_EVIDENCE_JSON_MAX_BYTES);
    FUZZ_CHECK(pr_evidence_to_json(e, NULL, &text) == PR_OK);
    FUZZ_CHECK(pr_json_check(pr_buffer_bytes(&text), &root) == PR_OK);
    FUZZ_CHECK(root.type == PR_JSON_OBJECT && strstr(pr_buffer_text(&text), "\\u0000") == NULL);
    pr_buffer_free(&text);
}

static void check_evidence(const pr_evidence_t *e)
{
    check_json(e);
    const pr_amount_t *amounts[] = {&e->amount, &e->captured_total, &e->refunded_total,
                                    &e->refund_amount};
    for (size_t i = 0; i < PR_COUNT(amounts); i++)
        FUZZ_CHECK(amounts[i]->state != PR_AMOUNT_KNOWN ||
                   (amounts[i]->minor >= 0 && amounts[i]->minor <= PR_MONEY_MINOR_MAX));
    FUZZ_CHECK(e->status < PR_STATUSES && e->action < PR_ACTIONS && e->object < PR_OBJECTS);
    FUZZ_CHECK(strnlen(e->request_no, sizeof e->request_no) < sizeof e->request_no);
    FUZZ_CHECK(strnlen(e->failure_message, sizeof e->failure_message) < sizeof e->failure_message);
}

static void check_answer(const pr_channel_t *channel, pr_bytes_t body, uint32_t http_status)
{
    pr_evidence_t e;
    pr_payment_facts_t facts;
    pr_payment_facts_init(&facts);
    facts.currency = "CNY";
    for (pr_operation_t operation = PR_OPERATION_TOKEN; operation < PR_OPERATIONS; operation++) {
        pr_gateway_answer_t answer = {
            .transport = PR_TRANSPORT_OK, .http_status = http_status, .body = body};
        pr_gateway_judge(channel, operation, &facts, &answer, NOW_US, &e);
        check_evidence(&e);
        (void)pr_evidence_compare(channel, &facts, &e);
    }
}

/* The headers that the schemes look at; `signature` stands where each looks for it. */
static size_t headers_of(pr_gateway_header_t *out, const char *signature, const char *stripe)
{
    const pr_gateway_header_t all[] = {{"X-Timestamp", "1795000000"},
                                       {"X-Signature", signature},
                                       {"Wechatpay-Timestamp", "1795000000"},
                                       {"Wechatpay-Nonce", "nonce"},
                                       {"Wechatpay-Serial", "value"},
                                       {"Wechatpay-Signature", signature},
                                       {"Stripe-Signature", stripe},
                                       {"PAYPAL-TRANSMISSION-ID", "id"},
                                       {"PAYPAL-TRANSMISSION-TIME", "2026-11-18T11:06:40Z"},
                                       {"PAYPAL-TRANSMISSION-SIG", signature},
                                       {"PAYPAL-AUTH-ALGO", "SHA256withRSA"},
                                       {"PAYPAL-CERT-URL", "https://api.paypal.com/cert"}};
    memcpy(out, all, sizeof all);
    return PR_COUNT(all);
}

static void check_webhook(const pr_channel_t *channel, pr_bytes_t body, bool sign)
{
    pr_gateway_header_t headers[16];
    pr_webhook_result_t result;
    pr_buffer_t signature, stripe;
    pr_buffer_init(&signature, 65536);
    pr_buffer_init(&stripe, 65536);
    size_t count = headers_of(headers, "AAAA", "t=1795000000,v1=00");
    pr_webhook_t webhook = {
        .method = "POST", .headers = headers, .header_count = count, .body = body};
    if (sign && pr_webhook_sign(channel, &webhook, &signature, NULL) == PR_OK &&
        pr_buffer_printf(&stripe, "t=1795000000,v1=%s", pr_buffer_text(&signature)) == PR_OK)
        (void)headers_of(headers, pr_buffer_text(&signature), pr_buffer_text(&stripe));
    pr_webhook_result_init(&result);
    pr_webhook_read(channel, &webhook, NOW_US, &result);
    FUZZ_CHECK(sign || result.verdict != PR_WEBHOOK_VERIFIED);
    FUZZ_CHECK((result.verdict == PR_WEBHOOK_VERIFIED) == (result.count > 0));
    FUZZ_CHECK((result.verdict == PR_WEBHOOK_VERIFIED) == (result.reason[0] == '\0'));
    for (size_t i = 0; i < result.count; i++) {
        FUZZ_CHECK(result.items[i].dedupe[0][0]);
        check_evidence(&result.items[i].evidence);
    }
    pr_webhook_result_free(&result);
    pr_buffer_free(&signature);
    pr_buffer_free(&stripe);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t statuses[] = {200, 404, 429, 500};
    start();
    if (size < 1)
        return 0;
    const pr_channel_t *channel = channels[data[0] % PROFILES];
    /* the copy has the exact size: ASan sees a read behind its end */
    uint8_t *copy = pr_memdup(data + 1, size - 1);
    pr_bytes_t body = pr_bytes(copy, size - 1);
    check_webhook(channel, body, data[0] / PROFILES % 2 == 1);
    check_answer(channel, body, statuses[data[0] / (2 * PROFILES) % PR_COUNT(statuses)]);
    pr_free(copy);
    return 0;
}
