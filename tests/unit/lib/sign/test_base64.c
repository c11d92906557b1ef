/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "sign/base64.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(base64, .timeout = 300);

Test(base64, agrees_with_the_vectors_of_rfc_4648)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = {{"", ""},
                 {"f", "Zg=="},
                 {"fo", "Zm8="},
                 {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="},
                 {"fooba", "Zm9vYmE="},
                 {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        char text[16];
        uint8_t bytes[16];
        size_t len = 99;
        pr_base64_encode(pr_bytes_text(cases[i].bytes), text);
        cr_expect_str_eq(text, cases[i].text);
        cr_expect(pr_base64_decode(pr_bytes_text(cases[i].text), bytes, sizeof bytes, &len));
        cr_expect(pr_bytes_equal(pr_bytes(bytes, len), pr_bytes_text(cases[i].bytes)));
    }
}

Test(base64, reads_without_padding_and_refuses_what_is_not_canonical)
{
    static const struct {
        const char *text;
        bool ok;
        const char *sentence;
    } cases[] = {
        {"Zg", true, "no padding"},          {"Zm8", true, "no padding"},
        {"Zg=", false, "half a padding"},    {"Zg===", false, "too much of it"},
        {"=Zg=", false, "in front"},         {"Z", false, "six bits are no byte"},
        {"Zh==", false, "bits left over"},   {"Zm9=", false, "bits left over"},
        {"Zm 9v", false, "a space"},         {"Zm9v\n", false, "a line end"},
        {"Zm-_", false, "the URL alphabet"}, {"====", false, "only padding"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        uint8_t bytes[16];
        size_t len;
        cr_expect_eq(pr_base64_decode(pr_bytes_text(cases[i].text), bytes, sizeof bytes, &len),
                     cases[i].ok, "'%s': %s", cases[i].text, cases[i].sentence);
    }
}

Test(base64, goes_there_and_back_and_never_writes_past_the_room)
{
    uint64_t state = 1;
    for (int n = 0; n < 5000; n++) {
        uint8_t bytes[100], back[101];
        char text[PR_BASE64_LEN(100) + 1];
        size_t size = prng_below(&state, 101), len;
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)prng_next(&state);
        pr_base64_encode(pr_bytes(bytes, size), text);
        cr_assert_eq(strlen(text), PR_BASE64_LEN(size));
        cr_assert(pr_base64_decode(pr_bytes_text(text), back, size, &len));
        cr_assert(pr_bytes_equal(pr_bytes(back, len), pr_bytes(bytes, size)));
        back[size ? size - 1 : 0] = 0x5a;
        if (size > 0) {
            cr_assert_not(pr_base64_decode(pr_bytes_text(text), back, size - 1, &len));
            cr_assert_eq(back[size - 1], 0x5a, "one byte too few of room");
        }
    }
}
