/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(buffer, .timeout = 300);

Test(buffer, is_empty_text_before_the_first_append)
{
    pr_buffer_t buffer;
    pr_buffer_init(&buffer, 10);
    cr_assert_str_eq(pr_buffer_text(&buffer), "");
    cr_assert_eq(pr_buffer_bytes(&buffer).len, 0);
    pr_buffer_free(&buffer);
}

Test(buffer, grows_up_to_its_maximum_and_then_refuses_without_a_change)
{
    pr_buffer_t buffer;
    pr_buffer_init(&buffer, 200);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(pr_buffer_append_text(&buffer, "0123456789"), PR_OK);
    cr_assert_eq(buffer.len, 200);
    cr_assert_eq(pr_buffer_append(&buffer, "x", 1), PR_BAD);
    cr_assert_eq(pr_buffer_printf(&buffer, "%d", 7), PR_BAD);
    cr_assert_eq(pr_buffer_append(&buffer, "", 0), PR_OK, "nothing always fits");
    cr_assert_eq(buffer.len, 200);
    cr_assert_eq(strlen(pr_buffer_text(&buffer)), 200, "the NUL follows the last byte");
    pr_buffer_free(&buffer);
}

Test(buffer, refuses_a_length_whose_sum_would_wrap)
{
    pr_buffer_t buffer;
    pr_buffer_init(&buffer, 100);
    cr_assert_eq(pr_buffer_append_text(&buffer, "abc"), PR_OK);
    cr_assert_eq(pr_buffer_append(&buffer, "x", SIZE_MAX), PR_BAD);
    cr_assert_str_eq(pr_buffer_text(&buffer), "abc");
    pr_buffer_free(&buffer);
}

Test(buffer, keeps_nul_bytes_and_ends_with_one_more)
{
    pr_buffer_t buffer;
    pr_buffer_init(&buffer, 100);
    cr_assert_eq(pr_buffer_append(&buffer, "a\0b", 3), PR_OK);
    cr_assert_eq(pr_buffer_printf(&buffer, "-%s", "c"), PR_OK);
    cr_assert(pr_bytes_equal(pr_buffer_bytes(&buffer), pr_bytes("a\0b-c", 5)));
    cr_assert_eq(buffer.data[5], 0);
    pr_buffer_clear(&buffer);
    cr_assert_str_eq(pr_buffer_text(&buffer), "");
    pr_buffer_free(&buffer);
}

Test(buffer, of_maximum_zero_takes_only_nothing)
{
    pr_buffer_t buffer;
    pr_buffer_init(&buffer, 0);
    cr_assert_eq(pr_buffer_append(&buffer, "", 0), PR_OK);
    cr_assert_eq(pr_buffer_append(&buffer, "x", 1), PR_BAD);
    pr_buffer_free(&buffer);
}

Test(buffer, hex_goes_there_and_back)
{
    uint8_t bytes[256], back[256];
    char text[513];
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    pr_hex(pr_bytes(bytes, 256), text);
    cr_assert_eq(strlen(text), 512);
    cr_assert_eq(strncmp(text + 0x0a * 2, "0a0b", 4), 0);
    cr_assert(pr_unhex(text, 512, back));
    cr_assert_arr_eq(bytes, back, 256);
    cr_assert(pr_unhex("AbCd", 4, back));
    cr_assert_eq(back[0], 0xab);
}

Test(buffer, hex_refuses_odd_lengths_and_other_digits)
{
    uint8_t back[8];
    cr_assert_not(pr_unhex("abc", 3, back));
    cr_assert_not(pr_unhex("0g", 2, back));
    cr_assert_not(pr_unhex(" 0", 2, back));
    cr_assert(pr_unhex("", 0, back));
}

Test(buffer, views_compare_by_length_and_content)
{
    cr_assert(pr_bytes_equal(pr_bytes_text(NULL), pr_bytes_text("")));
    cr_assert(pr_bytes_equal(pr_bytes_text("ab"), pr_bytes("abc", 2)));
    cr_assert_not(pr_bytes_equal(pr_bytes_text("ab"), pr_bytes_text("abc")));
    cr_assert_not(pr_bytes_equal(pr_bytes_text("ab"), pr_bytes_text("ac")));
}
