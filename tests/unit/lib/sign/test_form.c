/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "sign/form.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

TestSuite(form, .timeout = 300);

static const char *encoded(const pr_form_t *form)
{
    static char text[4096];
    pr_buffer_t out;
    pr_buffer_init(&out, sizeof text - 1);
    cr_assert_eq(pr_form_urlencode(form, &out), PR_OK);
    memcpy(text, pr_buffer_text(&out), out.len + 1);
    pr_buffer_free(&out);
    return text;
}

Test(form, sorts_by_byte_and_drops_empty_values)
{
    pr_form_t form;
    pr_form_init(&form, 1000);
    cr_assert_eq(
        pr_form_read_json(&form,
                          pr_bytes_text("{\"b\":\"2\",\"a\":1,\"B\":3,\"c\":\"\",\"d\":null,"
                                        "\"aa\":false,\"\xc3\xa9\":-1.50}"),
                          100, NULL),
        PR_OK);
    cr_assert_str_eq(encoded(&form), "B=3&a=1&aa=false&b=2&%C3%A9=-1.50");
    pr_form_free(&form);
}

Test(form, set_replaces_and_an_empty_value_removes)
{
    pr_form_t form;
    pr_form_init(&form, 1000);
    cr_assert_eq(pr_form_set(&form, "b", "1"), PR_OK);
    cr_assert_eq(pr_form_set(&form, "a", "2"), PR_OK);
    cr_assert_eq(pr_form_set(&form, "b", "3"), PR_OK);
    cr_assert_str_eq(encoded(&form), "a=2&b=3");
    cr_assert_eq(pr_form_set(&form, "a", ""), PR_OK);
    cr_assert_str_eq(encoded(&form), "b=3");
    cr_assert_eq(pr_form_get(&form, "a").len, 0);
    cr_assert(pr_bytes_equal(pr_form_get(&form, "b"), pr_bytes_text("3")));
    pr_form_free(&form);
}

Test(form, the_string_to_sign_has_raw_values_and_the_key_last)
{
    pr_form_t form;
    pr_buffer_t out;
    pr_form_init(&form, 1000);
    pr_buffer_init(&out, 1000);
    cr_assert_eq(pr_form_read_urlencoded(&form, pr_bytes_text("b=%26+x&a=1&sign=S&sign_type=T&e=")),
                 PR_OK);
    cr_assert_eq(pr_form_to_sign(&form, "KEY", &out), PR_OK);
    cr_assert_str_eq(pr_buffer_text(&out), "a=1&b=& x&key=KEY");
    pr_buffer_free(&out);
    pr_form_free(&form);
}

Test(form, refuses_bodies_that_are_no_form)
{
    static const char *const refused[] = {"a=1&a=2", "a=1&a=", "=1",   "a=%",
                                          "a=%2",    "a=%zz",  "&a=1", "a=1&&b=2"};
    for (size_t i = 0; i < PR_COUNT(refused); i++) {
        pr_form_t form;
        pr_form_init(&form, 1000);
        cr_expect_eq(pr_form_read_urlencoded(&form, pr_bytes_text(refused[i])), PR_BAD, "%s",
                     refused[i]);
        pr_form_free(&form);
    }
}

Test(form, what_is_encoded_reads_back)
{
    uint64_t state = 7;
    for (int n = 0; n < 500; n++) {
        pr_form_t form, back;
        pr_form_init(&form, 10000);
        pr_form_init(&back, 10000);
        for (size_t field = prng_below(&state, 20); field > 0; field--) {
            char name[8] = {0}, value[16] = {0};
            for (int i = 0; i < 6; i++)
                name[i] = (char)(1 + prng_below(&state, 255));
            for (int i = 0; i < 14; i++)
                value[i] = (char)(1 + prng_below(&state, 255));
            cr_assert_eq(pr_form_set(&form, name, value), PR_OK);
        }
        PR_CLEANUP_FREE char *once = pr_strdup(encoded(&form));
        cr_assert_eq(pr_form_read_urlencoded(&back, pr_bytes_text(once)), PR_OK, "%s", once);
        cr_assert_eq(back.count, form.count);
        cr_assert_str_eq(encoded(&back), once);
        pr_form_free(&form);
        pr_form_free(&back);
    }
}

Test(form, is_bounded)
{
    pr_form_t form;
    char name[16];
    pr_form_init(&form, 100000);
    for (int i = 0; i < PR_FORM_FIELDS_MAX; i++) {
        snprintf(name, sizeof name, "f%d", i);
        cr_assert_eq(pr_form_set(&form, name, "v"), PR_OK);
    }
    cr_assert_eq(pr_form_set(&form, "one_more", "v"), PR_BAD);
    cr_assert_eq(form.count, PR_FORM_FIELDS_MAX);
    pr_form_free(&form);
    pr_form_init(&form, 5);
    cr_assert_eq(pr_form_set(&form, "abc", "def"), PR_BAD, "six bytes in five");
    pr_form_free(&form);
}
