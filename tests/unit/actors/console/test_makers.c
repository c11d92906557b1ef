/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/console/makers.h"
#include "base/alloc.h"
#include "password/password.h"
#include "sign/digest.h"

#include <criterion/criterion.h>

#include <string.h>

static const uint8_t random_bytes[32] = {1, 2, 3};
static const pr_master_key_t master = {.id = 0, .bytes = {7}};

static json_t *arguments(const char *text)
{
    json_error_t flaw;
    json_t *root = json_loads(text, 0, &flaw);
    cr_assert(root != NULL, "%s", text);
    return root;
}

static const char *text_of(json_t *root, const char *name)
{
    const char *text = json_string_value(json_object_get(root, name));
    return text ? text : "";
}

/* What is behind a sealed value that was written as hex. */
static void open_sealed(const char *hex, const char *name, char out[256])
{
    uint8_t sealed[512];
    pr_buffer_t plain;
    size_t len = strlen(hex) / 2;
    cr_assert_leq(len, sizeof sealed);
    cr_assert(pr_unhex(hex, len * 2, sealed));
    pr_buffer_init(&plain, 255);
    cr_assert_eq(pr_unseal(&master, name, pr_bytes(sealed, len), &plain, NULL), PR_OK);
    snprintf(out, 256, "%s", pr_buffer_text(&plain));
    pr_buffer_free(&plain);
}

Test(makers, a_password_becomes_its_hash)
{
    pr_made_t made;
    json_t *a = arguments("{\"name\": \"al\", \"password\": \"correct horse battery\"}");
    cr_assert_eq(pr_make(PR_MAKE_PASSWORD, a, NULL, random_bytes, &made), PR_OK);
    cr_expect_null(json_object_get(a, "password"));
    cr_expect(pr_password_verify(text_of(a, "password_hash"), "correct horse battery"));
    cr_expect_null(made.shown_as);
    json_decref(a);
}

Test(makers, a_bad_password_is_told_why)
{
    pr_made_t made;
    json_t *a = arguments("{\"name\": \"al\", \"password\": \"short\"}");
    cr_assert_eq(pr_make(PR_MAKE_PASSWORD, a, NULL, random_bytes, &made), PR_BAD);
    cr_expect(strstr(made.flaw, "fewer than 12") != NULL, "%s", made.flaw);
    json_decref(a);
}

Test(makers, the_database_gets_a_tokens_hash)
{
    static const struct {
        pr_console_make_t what;
        const char *text, *prefix;
    } cases[] = {{PR_MAKE_TOKEN, "{}", "pr_op_"},
                 {PR_MAKE_KEY, "{\"livemode\": true}", "pr_live_"},
                 {PR_MAKE_KEY, "{\"livemode\": false}", "pr_test_"},
                 {PR_MAKE_KEY, "{}", "pr_test_"}};
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_made_t made;
        uint8_t hash[PR_SHA256_BYTES];
        char digits[65];
        json_t *a = arguments(cases[i].text);
        cr_assert_eq(pr_make(cases[i].what, a, NULL, random_bytes, &made), PR_OK);
        cr_expect_eq(strncmp(made.shown, cases[i].prefix, strlen(cases[i].prefix)), 0);
        cr_expect_str_eq(made.shown_as, "token");
        cr_assert(pr_sha256(pr_bytes_text(made.shown), hash));
        pr_hex(pr_bytes(hash, sizeof hash), digits);
        cr_expect_str_eq(text_of(a, "hash"), digits);
        json_decref(a);
    }
}

Test(makers, a_secret_is_sealed_for_its_merchant)
{
    pr_made_t made;
    char plain[256];
    json_t *a = arguments("{\"merchant_id\": \"m1\"}");
    cr_assert_eq(pr_make(PR_MAKE_SECRET, a, &master, random_bytes, &made), PR_OK);
    open_sealed(text_of(a, "secret"), "m1", plain);
    cr_expect_str_eq(plain, made.shown);
    cr_expect_eq(strncmp(plain, "whsec_", 6), 0);
    json_decref(a);

    a = arguments("{\"merchant_id\": \"m1\", \"scheme\": \"ed25519\"}");
    cr_assert_eq(pr_make(PR_MAKE_SECRET, a, &master, random_bytes, &made), PR_OK);
    open_sealed(text_of(a, "secret"), "m1", plain);
    cr_expect_eq(strncmp(plain, "whsk_", 5), 0);
    cr_expect_eq(strncmp(made.shown, "whpk_", 5), 0, "only the public half is shown");
    cr_expect_null(json_object_get(a, "scheme"));
    json_decref(a);

    a = arguments("{\"merchant_id\": \"m1\", \"secret\": \"one of their own, long\"}");
    cr_assert_eq(pr_make(PR_MAKE_SECRET, a, &master, random_bytes, &made), PR_OK);
    open_sealed(text_of(a, "secret"), "m1", plain);
    cr_expect_str_eq(plain, "one of their own, long");
    cr_expect_null(made.shown_as, "who gave it knows it");
    json_decref(a);
}

Test(makers, what_cannot_be_sealed_is_refused)
{
    static const char *const cases[] = {"{}", "{\"merchant_id\": \"\"}", "{\"merchant_id\": 5}",
                                        "{\"merchant_id\": \"m1\", \"secret\": \"short\"}"};
    pr_made_t made;
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        json_t *a = arguments(cases[i]);
        cr_expect_eq(pr_make(PR_MAKE_SECRET, a, &master, random_bytes, &made), PR_BAD, "%s",
                     cases[i]);
        json_decref(a);
    }
    json_t *a = arguments("{\"merchant_id\": \"m1\"}");
    cr_expect_eq(pr_make(PR_MAKE_SECRET, a, NULL, random_bytes, &made), PR_BAD, "no master key");
    json_decref(a);
}

Test(makers, each_parameter_has_a_nonce_of_its_own)
{
    pr_made_t made;
    char plain[256];
    json_t *a =
        arguments("{\"channel\": \"c1\", \"parameters\": [{\"name\": \"a\", \"value\": \"x\"},"
                  " {\"name\": \"b\", \"value\": \"x\"}]}");
    cr_assert_eq(pr_make(PR_MAKE_SEALED, a, &master, random_bytes, &made), PR_OK);
    json_t *list = json_object_get(a, "parameters");
    const char *first = text_of(json_array_get(list, 0), "sealed");
    const char *second = text_of(json_array_get(list, 1), "sealed");
    open_sealed(first, "channel/c1", plain);
    cr_expect_str_eq(plain, "x");
    cr_expect_str_neq(first, second);
    cr_expect_null(json_object_get(json_array_get(list, 0), "value"));
    json_decref(a);
}
