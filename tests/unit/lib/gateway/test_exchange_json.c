/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/exchange_json.h"
#include "gateway/mask.h"
#include "tests/support/gateway.h"
#include "wire/limits.h"

TestSuite(exchange_json, .timeout = 300);

#define API_KEY "sk_test_4eC39HqLyjWDarjtT1zdp7dc"
#define PAN "4111111111111111"

static pr_profile_t *profile;
static pr_channel_t *channel;
static pr_gateway_request_t request;
static pr_buffer_t out;

static void begin(void)
{
    static const char *const pairs[] = {
        "api_key",    API_KEY, "webhook_secret", "whsec_test_secret_of_sixteen", "version",
        "2024-06-20", NULL};
    profile = gateway_profile("stripe");
    channel = gateway_channel(profile, pairs);
    pr_gateway_request_init(&request);
    pr_buffer_init(&out, PR_EXCHANGE_JSON_MAX_BYTES);
}

static void end(void)
{
    pr_gateway_request_free(&request);
    pr_channel_destroy(&channel);
    pr_profile_destroy(&profile);
    pr_buffer_free(&out);
}

static void charge(void)
{
    pr_error_t error = {0};
    pr_payment_facts_t facts = gateway_facts();
    facts.currency = "USD";
    cr_assert_eq(pr_gateway_build(channel, PR_OPERATION_CHARGE, &facts, GATEWAY_NOW_US,
                                  GATEWAY_NONCE, &request, &error),
                 PR_OK, "%s", error.text);
}

static const char *write(const pr_gateway_answer_t *answer, size_t keep)
{
    pr_exchange_t exchange = {.channel = channel,
                              .token = "token-of-an-hour",
                              .url = "https://api.stripe.com/v1/payment_intents",
                              .request = &request,
                              .answer = answer,
                              .error = "",
                              .sent_at_us = 5,
                              .duration_ms = 7,
                              .keep = keep};
    pr_buffer_clear(&out);
    cr_assert_eq(pr_exchange_to_json(&exchange, &out), PR_OK);
    cr_assert(pr_utf8_valid(pr_buffer_bytes(&out)));
    return pr_buffer_text(&out);
}

static pr_gateway_answer_t answered(const char *body)
{
    return (pr_gateway_answer_t){
        .transport = PR_TRANSPORT_OK, .http_status = 200, .body = pr_bytes_text(body)};
}

#define HAS(text, part) cr_expect_not_null(strstr(text, part), "%s is not in %s", part, text)
#define HASNT(text, part) cr_expect_null(strstr(text, part), "%s is in %s", part, text)

Test(exchange_json, a_call_as_it_was_but_for_its_key, .init = begin, .fini = end)
{
    charge();
    pr_gateway_header_t headers[] = {{"Request-Id", "req_1"}, {"Set-Cookie", "who=me"}};
    pr_gateway_answer_t answer = answered("{\"id\":\"pi_1\",\n \"client_secret\":\"pi_1_secret\"}");
    answer.headers = headers;
    answer.header_count = 2;
    const char *text = write(&answer, 8192);
    HAS(text, "{\"request\":{\"method\":\"POST\",\"url\":\"https://api.stripe.com/v1/"
              "payment_intents\",\"headers\":[");
    HAS(text, "[\"Authorization\",\"Bearer ***\"]");
    HAS(text, "[\"Idempotency-Key\",\"");
    HAS(text, "\"body\":\"amount=");
    HAS(text, "\"response\":{\"status\":200,\"headers\":[[\"Request-Id\",\"req_1\"],[\"Set-"
              "Cookie\",\"***\"]],\"bytes\":45,\"body\":\"{\\\"id\\\":\\\"pi_1\\\",\\n "
              "\\\"client_secret\\\":\\\"***\\\"}\"},\"sent_at_us\":5,\"duration_ms\":7");
    HAS(text, "\"masked\":3}");
    HASNT(text, API_KEY);
    HASNT(text, "\"cut\"");
    char *sent = pr_asprintf("\"body\":\"%s\"", pr_buffer_text(&request.body));
    HAS(text, sent); /* a form has nothing that JSON would escape */
    pr_free(sent);
}

Test(exchange_json, no_answer, .init = begin, .fini = end)
{
    charge();
    pr_gateway_answer_t none = {.transport = PR_TRANSPORT_CONNECT};
    HASNT(write(&none, 8192), "response");
}

Test(exchange_json, what_is_long_is_cut, .init = begin, .fini = end)
{
    charge();
    char body[4001];
    memset(body, 'x', 4000);
    body[4000] = '\0';
    pr_gateway_answer_t answer = answered(body);
    const char *text = write(&answer, 1000);
    HAS(text, "\"bytes\":4000,\"body\":\"xxx");
    HAS(text, "xxx\",\"cut\":true}");
    cr_expect_lt(strlen(text), 3000);
    memcpy(body + 990, API_KEY, strlen(API_KEY)); /* across the cut */
    HASNT(write(&answer, 1000), "sk_test");
    body[990] = '\0';
    answer = answered(body);
    HASNT(write(&answer, 1000), "\"cut\":true}");
    HASNT(write(&answer, 0), "\"body\"");
}

Test(exchange_json, what_is_no_text_is_base64, .init = begin, .fini = end)
{
    charge();
    pr_gateway_answer_t answer = answered("\xb3\xc9\xb9\xa6"); /* GBK */
    HAS(write(&answer, 8192), "\"body\":{\"base64\":\"s8m5pg==\"}");
    answer.body = pr_bytes("a\0b", 3);
    HAS(write(&answer, 8192), "\"body\":{\"base64\":\"YQBi\"}");
}

Test(exchange_json, the_largest_fits, .init = begin, .fini = end)
{
    charge();
    size_t len = 200000;
    char *body = pr_calloc(1, len + 1);
    memset(body, '\x01', len);
    char *value = pr_calloc(1, 30001);
    memset(value, '\x7f', 30000);
    pr_gateway_header_t headers[] = {{"A", value}, {"B", "kept"}, {"C", value}};
    pr_gateway_answer_t answer = answered(body);
    answer.headers = headers;
    answer.header_count = 3;
    pr_buffer_free(&request.body);
    pr_buffer_init(&request.body, len);
    cr_assert_eq(pr_buffer_append(&request.body, body, len), PR_OK);
    const char *text = write(&answer, SIZE_MAX);
    HAS(text, "[[\"B\",\"kept\"]],\"headers_cut\":true");
    cr_expect_gt(strlen(text), 2 * PR_EXCHANGE_KEEP_MAX - 100);
    memset(body, '"', len); /* nothing is looked through again and again */
    (void)write(&answer, SIZE_MAX);
    memset(body, '\xff', len);
    (void)write(&answer, SIZE_MAX);
    pr_free(body);
    pr_free(value);
}

Test(exchange_json, no_room_leaves_nothing, .init = begin, .fini = end)
{
    charge();
    pr_gateway_answer_t answer = answered("{}");
    pr_exchange_t exchange = {.channel = channel,
                              .url = "https://x",
                              .request = &request,
                              .answer = &answer,
                              .keep = 100};
    pr_buffer_t small;
    pr_buffer_init(&small, 100);
    cr_assert_eq(pr_buffer_append_text(&small, "before"), PR_OK);
    cr_expect_eq(pr_exchange_to_json(&exchange, &small), PR_BAD);
    cr_expect_str_eq(pr_buffer_text(&small), "before");
    pr_buffer_free(&small);
}

Test(exchange_json, masks)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"nothing here", "nothing here"},
        {"", ""},
        {"key my-secret-value!", "key ***!"},
        {"my-secret-value", "***"},
        {"my-secret-valu", "my-secret-valu"},
        {"{\"sign\": \"abc\\\"def\", \"a\": 1}", "{\"sign\": \"***\", \"a\": 1}"},
        {"{\"a\":\"x\",\"pay_sign\":\"y\",\"b\":\"z\"}",
         "{\"a\":\"x\",\"pay_sign\":\"***\",\"b\":\"z\"}"},
        {"{\"cvc\": 123}", "{\"cvc\": ***}"},
        {"{\"design\":\"x\",\"signed\":\"y\"}", "{\"design\":\"x\",\"signed\":\"y\"}"},
        {"{\"secret\":{\"a\":\"b\"}}", "{\"secret\":{\"a\":\"b\"}}"},
        {"{\"secret\":\"unended", "{\"secret\":\"***"},
        {"{\"sign\":\"\"}", "{\"sign\":\"\"}"},
        {"app_id=1&sign=aGVsbG8%3D&b=2", "app_id=1&sign=***&b=2"},
        {"sign=x", "sign=***"},
        {"card[cvc]=123&card[number]=4111111111111111", "card[cvc]=***&card[number]=***"},
        {"https://h/p?access_token=abc#f", "https://h/p?access_token=***#f"},
        {"idempotency_key=abc", "idempotency_key=abc"},
        {"\"number\":\"" PAN "\"", "\"number\":\"411111***1111\""},
        {"\"number\":\"4111111111111112\"", "\"number\":\"4111111111111112\""},
        {"x" PAN, "x" PAN},
        {PAN "0", PAN "0"},
        {"2026120113450018", "2026120113450018"},
        {"number " PAN, "number 411111***1111"},
        {"\"", "\""},
        {"\"\\", "\"\\"},
        {"\"sign\"", "\"sign\""},
        {"\"sign\":", "\"sign\":"},
    };
    for (size_t i = 0; i < PR_COUNT(rows); i++) {
        pr_mask_t mask;
        pr_buffer_t text;
        pr_mask_init(&mask);
        pr_mask_add(&mask, pr_bytes_text("my-secret-value"));
        pr_mask_add(&mask, pr_bytes_text("not")); /* too short to be looked for */
        pr_buffer_init(&text, 4096);
        cr_assert_eq(pr_mask_text(&mask, pr_bytes_text(rows[i].in), &text), PR_OK);
        cr_expect_str_eq(pr_buffer_text(&text), rows[i].out, "row %zu: %s", i,
                         pr_buffer_text(&text));
        cr_expect_eq(mask.masked > 0, strcmp(rows[i].in, rows[i].out) != 0, "row %zu", i);
        pr_buffer_free(&text);
    }
}

Test(exchange_json, masks_headers)
{
    static const struct {
        const char *name, *in, *out;
    } rows[] = {
        {"Authorization", "Bearer abc", "Bearer ***"},
        {"authorization", "abc", "***"},
        {"Authorization", "WECHATPAY2-SHA256-RSA2048 mchid=\"1\",signature=\"x\"",
         "WECHATPAY2-SHA256-RSA2048 ***"},
        {"Wechatpay-Signature", "x y", "***"},
        {"Wechatpay-Serial", "5157F09EFDC096DE", "5157F09EFDC096DE"},
        {"X-API-Key", "abc", "***"},
        {"PAYPAL-TRANSMISSION-SIG", "abc", "***"},
        {"Idempotency-Key", "P2026", "P2026"},
        {"X-Note", "of my-secret-value", "of ***"},
    };
    for (size_t i = 0; i < PR_COUNT(rows); i++) {
        pr_mask_t mask;
        pr_buffer_t text;
        pr_mask_init(&mask);
        pr_mask_add(&mask, pr_bytes_text("my-secret-value"));
        pr_buffer_init(&text, 4096);
        cr_assert_eq(pr_mask_header(&mask, rows[i].name, pr_bytes_text(rows[i].in), &text), PR_OK);
        cr_expect_str_eq(pr_buffer_text(&text), rows[i].out, "row %zu: %s", i,
                         pr_buffer_text(&text));
        pr_buffer_free(&text);
    }
}
