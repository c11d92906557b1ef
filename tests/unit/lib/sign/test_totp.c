/* SPDX-License-Identifier: Apache-2.0
 *
 * Published vectors: RFC 6238, appendix B (SHA-1); RFC 4648, section 10 (base32).
 */
#include "base/alloc.h"
#include "sign/totp.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(totp, .timeout = 300);

static const uint8_t *rfc_key(void)
{
    return (const uint8_t *)"12345678901234567890";
}

Test(totp, agrees_with_rfc_6238)
{
    static const struct {
        int64_t at_s;
        const char *code;
    } rows[] = {{59, "94287082"},         {1111111109, "07081804"}, {1111111111, "14050471"},
                {1234567890, "89005924"}, {2000000000, "69279037"}, {20000000000, "65353130"}};
    for (size_t i = 0; i < PR_COUNT(rows); i++) {
        char code[PR_TOTP_DIGITS_MAX + 1];
        uint64_t step = (uint64_t)rows[i].at_s / PR_TOTP_STEP_S;
        cr_assert(pr_totp_code(rfc_key(), step, 8, code));
        cr_expect_str_eq(code, rows[i].code);
        cr_assert(pr_totp_code(rfc_key(), step, 6, code));
        cr_expect_str_eq(code, rows[i].code + 2, "six digits are the last six of eight");
        cr_expect_eq(pr_totp_step_of(rfc_key(), code, rows[i].at_s, -1), (int64_t)step);
    }
}

Test(totp, half_a_minute_either_way_and_once)
{
    char code[PR_TOTP_DIGITS_MAX + 1];
    const int64_t step = 40000000, at_s = step * PR_TOTP_STEP_S;
    cr_assert(pr_totp_code(rfc_key(), (uint64_t)step, 6, code));
    static const struct {
        int64_t off_s;
        bool good;
    } rows[] = {{0, true},  {29, true},  {59, true},  {60, false},
                {-1, true}, {-30, true}, {-31, false}};
    for (size_t i = 0; i < PR_COUNT(rows); i++)
        cr_expect_eq(pr_totp_step_of(rfc_key(), code, at_s + rows[i].off_s, -1),
                     rows[i].good ? step : -1, "%lld s", (long long)rows[i].off_s);
    cr_expect_eq(pr_totp_step_of(rfc_key(), code, at_s, step - 1), step);
    cr_expect_eq(pr_totp_step_of(rfc_key(), code, at_s, step), -1, "taken before");
    cr_expect_eq(pr_totp_step_of(rfc_key(), code, at_s, step + 1), -1, "older than one taken");
    cr_expect_eq(pr_totp_step_of(rfc_key(), "", at_s, -1), -1);
    code[5] = code[5] == '0' ? '1' : '0';
    cr_expect_eq(pr_totp_step_of(rfc_key(), code, at_s, -1), -1);
    cr_expect_eq(pr_totp_step_of(rfc_key(), code, 0, -1), -1, "no step before the first");
}

Test(totp, keys_as_text)
{
    char text[PR_TOTP_KEY_TEXT_BYTES];
    pr_totp_key_text(rfc_key(), text);
    cr_expect_str_eq(text, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
    pr_totp_key_text((const uint8_t *)"foobafoobafoobafooba", text);
    cr_expect_str_eq(text, "MZXW6YTBMZXW6YTBMZXW6YTBMZXW6YTB");
    uint8_t ones[PR_TOTP_KEY_BYTES];
    memset(ones, 0xff, sizeof ones);
    pr_totp_key_text(ones, text);
    cr_expect_str_eq(text, "77777777777777777777777777777777");
}

Test(totp, sealed_under_the_operators_name)
{
    char one[65], other[65];
    cr_assert(pr_totp_seal_name("alice", one) && pr_totp_seal_name("bob", other));
    cr_expect_eq(strlen(one), 64);
    cr_expect_str_neq(one, other);
}
