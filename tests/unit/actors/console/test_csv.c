/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/console/csv.h"
#include "base/alloc.h"

#include <criterion/criterion.h>

#define BOM "\xef\xbb\xbf"

Test(csv, a_spreadsheet_shows_each_text_as_it_is)
{
    static const struct {
        const char *text, *cell;
    } cases[] = {
        {"plain", "\"plain\""},
        {"", "\"\""},
        {"say \"hello\"", "\"say \"\"hello\"\"\""},
        {"a,b", "\"a,b\""},
        {"two\nlines", "\"two\nlines\""},
        {"=1+1", "\"'=1+1\""},
        {"+1", "\"'+1\""},
        {"-1+cmd|' /C calc'!A0", "\"'-1+cmd|' /C calc'!A0\""},
        {"@SUM(A1)", "\"'@SUM(A1)\""},
        {"\t=1", "\"'\t=1\""},
        {"\r=1", "\"'\r=1\""},
        {"  =1", "\"'  =1\""},
        {"\xef\xbc\x9d"
         "1",
         "\"'\xef\xbc\x9d"
         "1\""}, /* full-width = */
        {"=HYPERLINK(\"http://x\")", "\"'=HYPERLINK(\"\"http://x\"\")\""},
        {"a=1", "\"a=1\""},
        {"42", "\"42\""},
        {"123456789012345", "\"123456789012345\""},
        {"1234567890123456", "\"'1234567890123456\""}, /* a double has 15 digits */
        {"0042", "\"'0042\""},
        {"0", "\"0\""},
        {"1e5", "\"'1e5\""},
        {"2026-11-30", "\"2026-11-30\""},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_buffer_t out;
        pr_buffer_init(&out, 256);
        cr_expect_eq(pr_csv_write_text(&out, cases[i].text), PR_OK);
        cr_expect_str_eq(pr_buffer_text(&out), cases[i].cell, "%s", cases[i].text);
        pr_buffer_free(&out);
    }
}

Test(csv, the_first_item_says_the_columns)
{
    json_error_t flaw;
    pr_csv_columns_t columns = {0};
    pr_buffer_t out;
    json_t *first =
        json_loads("[{\"=a\": 1, \"b\": null, \"c\": {\"x\": [true]}, \"d\": -5}]", 0, &flaw);
    json_t *second =
        json_loads("[{\"d\": 9007199254740991, \"c\": false, \"=a\": \"=x\", \"e\": 1}]", 0, &flaw);
    pr_buffer_init(&out, 1024);
    cr_assert_eq(pr_csv_write(first, &columns, &out), PR_OK);
    cr_assert_eq(pr_csv_write(second, &columns, &out), PR_OK);
    cr_expect_str_eq(pr_buffer_text(&out), BOM "\"'=a\",\"b\",\"c\",\"d\"\r\n"
                                               "1,,\"{\"\"x\"\":[true]}\",-5\r\n"
                                               "\"'=x\",,false,\"'9007199254740991\"\r\n");
    json_decref(first);
    json_decref(second);
    pr_csv_columns_free(&columns);
    pr_buffer_free(&out);
}

Test(csv, what_does_not_fit_is_told)
{
    json_error_t flaw;
    pr_csv_columns_t columns = {0};
    pr_buffer_t out;
    json_t *items = json_loads("[{\"a\": \"0123456789\"}, {\"a\": \"0123456789\"}]", 0, &flaw);
    pr_buffer_init(&out, 16);
    cr_expect_eq(pr_csv_write(items, &columns, &out), PR_BAD);
    json_decref(items);
    pr_csv_columns_free(&columns);
    pr_buffer_free(&out);
}
