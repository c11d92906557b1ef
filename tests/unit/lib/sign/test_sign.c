/* SPDX-License-Identifier: Apache-2.0
 *
 * The first v1 signature is the published vector of Standard Webhooks (docs: field notes, section
 * 8); the others were made with Python's hmac, hashlib and cryptography.
 */
#include "base/alloc.h"
#include "sign/form.h"
#include "sign/sign.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

TestSuite(sign, .timeout = 300);

#define ID "msg_p5jXN8AQM9LWM0D4loKWxJek"
#define TIMESTAMP 1614265330
#define TIMESTAMP_TEXT "1614265330"
#define BODY "{\"test\": 2432232314}"
#define WHSEC "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define TEXT_SECRET "0123456789abcdef"
#define WHSK "whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

static pr_secret_t secret(const char *text)
{
    pr_secret_t out;
    cr_assert_eq(pr_secret_parse(pr_bytes_text(text), &out, NULL), PR_OK, "%s", text);
    return out;
}

static pr_sign_request_t request(pr_scheme_t scheme, const pr_secret_t *current,
                                 const pr_secret_t *next)
{
    return (pr_sign_request_t){.scheme = scheme,
                               .notify_id = ID,
                               .timestamp_s = TIMESTAMP,
                               .body = pr_bytes_text(BODY),
                               .secret = current,
                               .next = next};
}

static const char *header(const pr_signed_t *signed_, const char *name)
{
    for (uint32_t i = 0; i < signed_->count; i++)
        if (strcmp(signed_->headers[i].name, name) == 0)
            return signed_->headers[i].value;
    return "(none)";
}

static pr_signed_t sign(const pr_sign_request_t *what)
{
    pr_signed_t out;
    pr_error_t error = {0};
    pr_signed_init(&out);
    cr_assert_eq(pr_sign(what, &out, &error), PR_OK, "%s", error.text);
    return out;
}

Test(sign, postrider_carries_its_own_and_the_standard_headers)
{
    pr_secret_t current = secret(WHSEC);
    pr_sign_request_t what = request(PR_SCHEME_POSTRIDER, &current, NULL);
    pr_signed_t out = sign(&what);
    cr_assert_eq(out.count, 6);
    cr_assert_str_eq(header(&out, "X-Notify-ID"), ID);
    cr_assert_str_eq(header(&out, "X-Timestamp"), TIMESTAMP_TEXT);
    cr_assert_str_eq(header(&out, "X-Signature"),
                     "08a23b26433e366ed85c4994539da3ff8b8fe402dc92589a41a1b3e82fd833a6");
    cr_assert_str_eq(header(&out, "webhook-id"), ID);
    cr_assert_str_eq(header(&out, "webhook-timestamp"), TIMESTAMP_TEXT);
    cr_assert_str_eq(header(&out, "webhook-signature"),
                     "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    cr_assert_str_eq(out.content_type, "application/json");
    cr_assert_not(out.body_replaced);
    pr_signed_free(&out);
}

Test(sign, a_rotation_keeps_the_old_signature_and_adds_the_new_one)
{
    pr_secret_t current = secret(WHSEC), next = secret(TEXT_SECRET);
    pr_sign_request_t what = request(PR_SCHEME_POSTRIDER, &current, &next);
    pr_signed_t out = sign(&what);
    cr_assert_eq(out.count, 7);
    cr_assert_str_eq(header(&out, "X-Signature"),
                     "08a23b26433e366ed85c4994539da3ff8b8fe402dc92589a41a1b3e82fd833a6");
    cr_assert_str_eq(header(&out, "X-Signature-Next"),
                     "a1a2afcd2b33a8eb6ca4106cc4402785a816b4b609cdc43be0b2cdf3fcf2629e");
    cr_assert_str_eq(header(&out, "webhook-signature"),
                     "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= "
                     "v1,r94XOxQw8v+vLaVrXIUkFWnEmqNekP5mdIZf2e/Me5o=");
    pr_signed_free(&out);
}

Test(sign, ed25519_signs_the_same_bytes_with_v1a)
{
    pr_secret_t current = secret(WHSK);
    pr_secret_t public_key = secret("whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=");
    pr_sign_request_t what = request(PR_SCHEME_ED25519, &current, &current);
    pr_signed_t out = sign(&what);
    const char *signature = header(&out, "webhook-signature");
    cr_assert_str_eq(signature,
                     "v1a,yoUrgEkc12aGqm0n4Sydmdz55xJfTz4AsAgieHFjmkR7LJtqVCZOQYzvvHjI5kAey+"
                     "r4iaBGxTFRrl2iBQxtDQ== "
                     "v1a,yoUrgEkc12aGqm0n4Sydmdz55xJfTz4AsAgieHFjmkR7LJtqVCZOQYzvvHjI5kAey+"
                     "r4iaBGxTFRrl2iBQxtDQ==");
    cr_assert_str_eq(header(&out, "X-Notify-ID"), ID);
    cr_assert_str_eq(header(&out, "X-Timestamp"), TIMESTAMP_TEXT);
    cr_assert_str_eq(header(&out, "X-Signature"), "(none)");
    cr_assert(pr_verify_standard(&public_key, ID, TIMESTAMP_TEXT, what.body, signature));
    cr_assert(pr_verify_standard(&current, ID, TIMESTAMP_TEXT, what.body, signature));
    cr_assert_not(pr_verify_standard(&public_key, ID, "1614265331", what.body, signature));
    pr_signed_free(&out);
}

#define FORM_BODY \
    "{\"event\":\"payment.succeeded\", \"amount\":100, \"name\":\"\xe4\xb8\xad \xe6\x96\x87&=\"," \
    " \"livemode\":true, \"none\":null, \"empty\":\"\", \"extra\": { \"a\" : [1, 2] }," \
    " \"Zed\":\"z\", \"notify_id\":\"another\", \"sign\":\"forged\", \"sign_type\":\"NONE\"}"

Test(sign, a_form_has_the_sorted_top_level_fields_and_an_upper_case_sign)
{
    pr_secret_t current = secret(TEXT_SECRET), next = secret(WHSEC);
    pr_sign_request_t what = request(PR_SCHEME_FORM_MD5, &current, &next);
    what.notify_id = "n-1";
    what.body = pr_bytes_text(FORM_BODY);
    pr_signed_t out = sign(&what);
    cr_assert(out.body_replaced);
    cr_assert_str_eq(out.content_type, "application/x-www-form-urlencoded");
    cr_assert_str_eq(pr_buffer_text(&out.body),
                     "Zed=z&amount=100&event=payment.succeeded&extra=%7B%22a%22%3A%5B1%2C2%5D%7D&"
                     "livemode=true&name=%E4%B8%AD%20%E6%96%87%26%3D&notify_id=n-1&"
                     "sign=B3C6D82A657453F695E2156C4724CDE4&sign_type=MD5&timestamp=1614265330");
    cr_assert(pr_verify_form(PR_SCHEME_FORM_MD5, &current, pr_buffer_bytes(&out.body)));
    cr_assert_not(pr_verify_form(PR_SCHEME_FORM_MD5, &next, pr_buffer_bytes(&out.body)));
    cr_assert_not(pr_verify_form(PR_SCHEME_FORM_HMAC, &current, pr_buffer_bytes(&out.body)));
    cr_assert_eq(strlen(header(&out, "X-Sign-Next")), 32);
    pr_signed_free(&out);
    what.scheme = PR_SCHEME_FORM_HMAC;
    what.next = NULL;
    out = sign(&what);
    cr_assert_not_null(
        strstr(pr_buffer_text(&out.body),
               "&sign=8217EB18CC6FEACCCBBBEBA7305B92E4F0BB1DC482C25FA153D55820821C5ED5"
               "&sign_type=HMAC-SHA256&"));
    cr_assert(pr_verify_form(PR_SCHEME_FORM_HMAC, &current, pr_buffer_bytes(&out.body)));
    pr_signed_free(&out);
}

Test(sign, a_changed_form_does_not_verify)
{
    pr_secret_t current = secret(TEXT_SECRET);
    pr_sign_request_t what = request(PR_SCHEME_FORM_HMAC, &current, NULL);
    what.body = pr_bytes_text(FORM_BODY);
    pr_signed_t out = sign(&what);
    static const struct {
        const char *from, *to, *sentence;
    } changes[] = {
        {"amount=100", "amount=101", "a value"},
        {"Zed=z", "Zee=z", "a name"},
        {"timestamp=1614265330", "timestamp=1614265331", "the time"},
        {"&sign=", "&sigh=", "no sign"},
        {"sign=", "sign=0", "a longer sign"},
        {"Zed=z", "Zed=z&Zed=z", "a field twice"},
        {"Zed=z", "Zed=%zz", "a bad escape"},
        {"Zed=z&", "Zed=z&more=1&", "a field added"},
        {"Zed=z&", "", "a field taken away"},
    };
    for (size_t i = 0; i < PR_COUNT(changes); i++) {
        const char *text = pr_buffer_text(&out.body), *at = strstr(text, changes[i].from);
        PR_CLEANUP_FREE char *changed = pr_asprintf("%.*s%s%s", (int)(at - text), text,
                                                    changes[i].to, at + strlen(changes[i].from));
        cr_expect_not(pr_verify_form(PR_SCHEME_FORM_HMAC, &current, pr_bytes_text(changed)), "%s",
                      changes[i].sentence);
    }
    PR_CLEANUP_FREE char *same = pr_asprintf("empty=&%s&sign_type=&", pr_buffer_text(&out.body));
    char *second_type = strstr(same, "sign_type=HMAC-SHA256&");
    memmove(second_type, second_type + 22, strlen(second_type + 22) + 1);
    same[strlen(same) - 1] = '\0';
    cr_expect(pr_verify_form(PR_SCHEME_FORM_HMAC, &current, pr_bytes_text(same)),
              "empty fields and sign_type are not signed: %s", same);
    pr_signed_free(&out);
}

Test(sign, refuses_what_it_cannot_sign)
{
    pr_secret_t text = secret(TEXT_SECRET), pair = secret(WHSK);
    pr_secret_t public_key = secret("whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=");
    static const char sixty_five[] =
        "12345678901234567890123456789012345678901234567890123456789012345";
    const struct {
        pr_scheme_t scheme;
        const char *id;
        int64_t timestamp;
        const char *body;
        const pr_secret_t *secret, *next;
        const char *sentence;
    } cases[] = {
        {PR_SCHEME_POSTRIDER, "", 1, "{}", &text, NULL, "an empty id"},
        {PR_SCHEME_POSTRIDER, "a b", 1, "{}", &text, NULL, "a space in the id"},
        {PR_SCHEME_POSTRIDER, "a\r\nX: y", 1, "{}", &text, NULL, "a header in the id"},
        {PR_SCHEME_POSTRIDER, sixty_five, 1, "{}", &text, NULL, "a long id"},
        {PR_SCHEME_POSTRIDER, "a", -1, "{}", &text, NULL, "a time before 1970"},
        {PR_SCHEME_POSTRIDER, "a", 1, "{}", &pair, NULL, "a key pair for HMAC"},
        {PR_SCHEME_POSTRIDER, "a", 1, "{}", &text, &pair, "a key pair for HMAC as next"},
        {PR_SCHEME_ED25519, "a", 1, "{}", &text, NULL, "text for ed25519"},
        {PR_SCHEME_ED25519, "a", 1, "{}", &public_key, NULL, "only the public half"},
        {PR_SCHEME_NONE, "a", 1, "{}", &text, NULL, "no scheme"},
        {PR_SCHEME_FORM_MD5, "a", 1, "[]", &text, NULL, "no object"},
        {PR_SCHEME_FORM_MD5, "a", 1, "{", &text, NULL, "no JSON"},
        {PR_SCHEME_FORM_MD5, "a", 1, "", &text, NULL, "nothing"},
        {PR_SCHEME_FORM_MD5, "a", 1, "{\"a\":1,\"a\":2}", &text, NULL, "a name twice"},
        {PR_SCHEME_FORM_MD5, "a", 1, "{\"a\":1,\"a\":\"\"}", &text, NULL, "twice, once empty"},
        {PR_SCHEME_FORM_MD5, "a", 1, "{\"\":1}", &text, NULL, "an empty name"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_sign_request_t what = {.scheme = cases[i].scheme,
                                  .notify_id = cases[i].id,
                                  .timestamp_s = cases[i].timestamp,
                                  .body = pr_bytes_text(cases[i].body),
                                  .secret = cases[i].secret,
                                  .next = cases[i].next};
        pr_signed_t out;
        pr_error_t error = {0};
        pr_signed_init(&out);
        cr_expect_eq(pr_sign(&what, &out, &error), PR_BAD, "%s", cases[i].sentence);
        cr_expect_eq(out.count, 0, "%s: nothing is left to send", cases[i].sentence);
        cr_expect_neq(error.text[0], '\0', "%s", cases[i].sentence);
        pr_signed_free(&out);
    }
}

Test(sign, a_form_is_bounded_in_fields_and_bytes)
{
    pr_secret_t text = secret(TEXT_SECRET);
    pr_sign_request_t what = request(PR_SCHEME_FORM_MD5, &text, NULL);
    for (int fields = PR_SIGN_FORM_FIELDS_MAX; fields <= PR_SIGN_FORM_FIELDS_MAX + 1; fields++) {
        pr_buffer_t body;
        pr_signed_t out;
        pr_buffer_init(&body, 100000);
        for (int i = 0; i < fields; i++)
            cr_assert_eq(pr_buffer_printf(&body, "%s\"f%d\":%d", i ? "," : "{", i, i), PR_OK);
        cr_assert_eq(pr_buffer_append_text(&body, "}"), PR_OK);
        what.body = pr_buffer_bytes(&body);
        pr_signed_init(&out);
        cr_expect_eq(pr_sign(&what, &out, NULL), fields <= PR_SIGN_FORM_FIELDS_MAX ? PR_OK : PR_BAD,
                     "%d", fields);
        pr_signed_free(&out);
        pr_buffer_free(&body);
    }
    pr_buffer_t body;
    pr_signed_t out;
    pr_buffer_init(&body, 400000);
    cr_assert_eq(pr_buffer_append_text(&body, "{\"a\":\""), PR_OK);
    for (int i = 0; i < 100000; i++)
        cr_assert_eq(pr_buffer_append_text(&body, "="), PR_OK); /* three bytes each when escaped */
    cr_assert_eq(pr_buffer_append_text(&body, "\"}"), PR_OK);
    what.body = pr_buffer_bytes(&body);
    pr_signed_init(&out);
    cr_expect_eq(pr_sign(&what, &out, NULL), PR_BAD, "300,000 bytes of form");
    cr_expect_eq(out.body.len, 0);
    pr_signed_free(&out);
    pr_buffer_free(&body);
}

Test(sign, verifying_wants_exactly_what_was_signed)
{
    pr_secret_t current = secret(WHSEC), next = secret(TEXT_SECRET),
                other = secret("another secret..");
    pr_sign_request_t what = request(PR_SCHEME_POSTRIDER, &current, &next);
    pr_signed_t out = sign(&what);
    const char *x = header(&out, "X-Signature"), *list = header(&out, "webhook-signature");
    const pr_bytes_t body = what.body, changed = pr_bytes_text("{\"test\": 2432232315}");
    cr_expect(pr_verify_signature(&current, body, TIMESTAMP_TEXT, x));
    cr_expect_not(pr_verify_signature(&next, body, TIMESTAMP_TEXT, x), "another secret");
    cr_expect_not(pr_verify_signature(&current, changed, TIMESTAMP_TEXT, x), "another body");
    cr_expect_not(pr_verify_signature(&current, body, "1614265331", x), "another time");
    cr_expect_not(pr_verify_signature(&current, body, TIMESTAMP_TEXT, ""), "nothing");
    cr_expect_not(
        pr_verify_signature(&current, body, TIMESTAMP_TEXT,
                            "08A23B26433E366ED85C4994539DA3FF8B8FE402DC92589A41A1B3E82FD833A6"),
        "upper case is another text");
    cr_expect(pr_verify_standard(&current, ID, TIMESTAMP_TEXT, body, list), "the first listed");
    cr_expect(pr_verify_standard(&next, ID, TIMESTAMP_TEXT, body, list), "the second listed");
    cr_expect_not(pr_verify_standard(&other, ID, TIMESTAMP_TEXT, body, list), "not listed");
    cr_expect_not(pr_verify_standard(&current, "msg_1", TIMESTAMP_TEXT, body, list), "another id");
    cr_expect_not(pr_verify_standard(&current, ID, TIMESTAMP_TEXT, changed, list));
    cr_expect_not(pr_verify_standard(&current, ID, TIMESTAMP_TEXT, body, "v2,abc v1 ,"), "garbage");
    cr_expect_not(pr_verify_standard(&current, "", TIMESTAMP_TEXT, body, list), "no id");
    pr_signed_free(&out);
}

/* Moving a byte from the body into the timestamp must not keep a signature valid without being
 * noticed: the timestamp is checked by its receiver as a number in a window, and Standard Webhooks
 * puts dots between. */
Test(sign, every_scheme_verifies_its_own_over_random_bodies)
{
    pr_secret_t text = secret(TEXT_SECRET), pair = secret(WHSK);
    uint64_t state = 11;
    for (int n = 0; n < 300; n++) {
        uint8_t body[512];
        size_t len = prng_below(&state, sizeof body);
        char timestamp[24];
        for (size_t i = 0; i < len; i++)
            body[i] = (uint8_t)prng_next(&state);
        pr_sign_request_t what = request(PR_SCHEME_POSTRIDER, &text, NULL);
        what.body = pr_bytes(body, len);
        what.timestamp_s = (int64_t)prng_below(&state, INT64_MAX);
        snprintf(timestamp, sizeof timestamp, "%lld", (long long)what.timestamp_s);
        pr_signed_t out = sign(&what);
        cr_assert(pr_verify_signature(&text, what.body, timestamp, header(&out, "X-Signature")));
        cr_assert(
            pr_verify_standard(&text, ID, timestamp, what.body, header(&out, "webhook-signature")));
        if (len > 0) {
            body[prng_below(&state, len)] ^= (uint8_t)(1 << prng_below(&state, 8));
            cr_assert_not(
                pr_verify_signature(&text, what.body, timestamp, header(&out, "X-Signature")));
        }
        pr_signed_free(&out);
        what.scheme = PR_SCHEME_ED25519;
        what.secret = &pair;
        out = sign(&what);
        cr_assert(
            pr_verify_standard(&pair, ID, timestamp, what.body, header(&out, "webhook-signature")));
        pr_signed_free(&out);
    }
}

Test(sign, a_result_may_be_used_again)
{
    pr_secret_t text = secret(TEXT_SECRET);
    pr_sign_request_t what = request(PR_SCHEME_FORM_MD5, &text, NULL);
    pr_signed_t out = sign(&what);
    cr_assert(out.body_replaced);
    what.scheme = PR_SCHEME_POSTRIDER;
    cr_assert_eq(pr_sign(&what, &out, NULL), PR_OK);
    cr_assert_not(out.body_replaced);
    cr_assert_eq(out.body.len, 0);
    cr_assert_eq(out.count, 6);
    cr_assert_str_eq(out.content_type, "application/json");
    pr_signed_free(&out);
}

Test(sign, scheme_names_go_there_and_back)
{
    static const char *const names[] = {"postrider", "ed25519", "form-md5", "form-hmac"};
    for (size_t i = 0; i < PR_COUNT(names); i++)
        cr_assert_str_eq(pr_scheme_name(pr_scheme_parse(names[i])), names[i]);
    cr_assert_eq(pr_scheme_parse("Postrider"), PR_SCHEME_NONE);
    cr_assert_str_eq(pr_scheme_name(PR_SCHEME_NONE), "?");
}
