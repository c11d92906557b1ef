/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "sign/base64.h"
#include "sign/secret.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

TestSuite(secret, .timeout = 300);

static pr_rc_t parse(const char *text, pr_secret_t *out)
{
    pr_error_t error = {0};
    pr_rc_t rc = pr_secret_parse(pr_bytes_text(text), out, &error);
    cr_assert_eq(rc == PR_BAD, error.text[0] != '\0', "'%s' is refused without a word", text);
    if (rc == PR_BAD && strlen(text) > 8)
        cr_assert_null(strstr(error.text, text), "an error never shows the secret");
    return rc;
}

/* PREFIX and base64 of len bytes 0, 1, 2 ... */
static const char *encoded(const char *prefix, size_t len)
{
    static char text[200];
    uint8_t bytes[120];
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)i;
    snprintf(text, sizeof text, "%s", prefix);
    pr_base64_encode(pr_bytes(bytes, len), text + strlen(prefix));
    return text;
}

Test(secret, a_whsec_secret_has_24_to_64_bytes)
{
    for (size_t len = 0; len <= 80; len++) {
        pr_secret_t secret;
        bool wanted = len >= 24 && len <= 64;
        cr_expect_eq(parse(encoded("whsec_", len), &secret), wanted ? PR_OK : PR_BAD, "%zu", len);
        if (wanted) {
            cr_expect_eq(secret.key_len, len);
            cr_expect_eq(secret.key[len - 1], len - 1, "the key is the decoded bytes");
            cr_expect_str_eq(secret.text, encoded("whsec_", len));
        }
    }
}

Test(secret, anything_else_is_text_of_16_to_128_printable_bytes)
{
    char text[140];
    for (size_t len = 0; len <= 130; len++) {
        pr_secret_t secret;
        memset(text, 'k', sizeof text);
        text[len] = '\0';
        bool wanted = len >= 16 && len <= 128;
        cr_expect_eq(parse(text, &secret), wanted ? PR_OK : PR_BAD, "%zu", len);
        if (wanted) {
            cr_expect_eq(secret.key_len, len);
            cr_expect_str_eq(secret.text, text);
        }
    }
}

Test(secret, refuses_what_is_nearly_one)
{
    static const char *const refused[] = {
        "whsec_not base64 at all, sorry",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS*",
        "whsec_",
        "whsk_AAAA",
        "whpk_AAAA",
        "a secret with \x01 control bytes",
        "a secret with \xc3\xa9 umlauts",
        "line end at the end\n",
    };
    for (size_t i = 0; i < PR_COUNT(refused); i++) {
        pr_secret_t secret;
        memset(&secret, 0x5a, sizeof secret);
        cr_expect_eq(parse(refused[i], &secret), PR_BAD, "'%s'", refused[i]);
        cr_expect_eq(secret.kind, PR_SECRET_NONE);
        for (size_t b = 0; b < sizeof secret.key; b++)
            cr_assert_eq(secret.key[b], 0, "nothing of it stays in memory");
    }
}

Test(secret, an_ed25519_key_is_a_seed_with_or_without_its_public_half)
{
    pr_secret_t seed_only, both, public_half, wrong;
    char text[PR_SECRET_TEXT_MAX], whpk[PR_SECRET_TEXT_MAX];
    cr_assert_eq(parse(encoded("whsk_", 32), &seed_only), PR_OK);
    cr_assert_eq(seed_only.key_len, 64);
    memcpy(text, "whsk_", 5);
    pr_base64_encode(pr_bytes(seed_only.key, 64), text + 5);
    cr_assert_eq(parse(text, &both), PR_OK);
    cr_assert_arr_eq(both.key, seed_only.key, 64);
    seed_only.key[40] ^= 1;
    pr_base64_encode(pr_bytes(seed_only.key, 64), text + 5);
    cr_assert_eq(parse(text, &wrong), PR_BAD, "halves that do not belong together");
    pr_secret_public_text(&both, whpk);
    cr_assert_eq(parse(whpk, &public_half), PR_OK);
    cr_assert_eq(public_half.kind, PR_SECRET_ED25519_PUBLIC);
    cr_assert_arr_eq(public_half.key, both.key + 32, 32);
    cr_assert_eq(parse(encoded("whsk_", 33), &wrong), PR_BAD);
}

Test(secret, made_secrets_read_back)
{
    uint8_t random[32];
    pr_secret_t made, back;
    for (int i = 0; i < 32; i++)
        random[i] = (uint8_t)(i * 7);
    pr_secret_make_symmetric(random, &made);
    cr_assert_eq(strncmp(made.text, "whsec_", 6), 0);
    cr_assert_eq(parse(made.text, &back), PR_OK);
    cr_assert_eq(memcmp(&made, &back, sizeof made), 0);
    pr_secret_make_ed25519(random, &made);
    cr_assert_eq(strncmp(made.text, "whsk_", 5), 0);
    cr_assert_eq(parse(made.text, &back), PR_OK);
    cr_assert_eq(memcmp(&made, &back, sizeof made), 0);
}

Test(secret, wiping_leaves_nothing)
{
    pr_secret_t secret;
    static const pr_secret_t empty;
    cr_assert_eq(parse("0123456789abcdef", &secret), PR_OK);
    pr_secret_wipe(&secret);
    cr_assert_eq(memcmp(&secret, &empty, sizeof secret), 0);
}
