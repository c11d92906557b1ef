/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(error, .timeout = 300);

Test(error, returns_the_code_with_and_without_a_place_for_details)
{
    pr_error_t error;
    cr_assert_eq(pr_error_set(NULL, PR_LOST, "db", "", "x"), PR_LOST);
    cr_assert_eq(pr_error_set(&error, PR_FATAL, "db", "08006", "lost %d", 3), PR_FATAL);
    cr_assert_str_eq(error.source, "db");
    cr_assert_str_eq(error.code, "08006");
    cr_assert_str_eq(error.text, "lost 3");
}

Test(error, is_one_line_and_cut_to_fit)
{
    pr_error_t error;
    char longer[1000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    pr_error_set(&error, PR_BAD, "a source that is too long", "c\x01", "two\nlines\t%s", longer);
    cr_assert_eq(strlen(error.source), sizeof error.source - 1);
    cr_assert_str_eq(error.code, "c?");
    cr_assert_eq(strlen(error.text), PR_ERROR_TEXT_MAX - 1);
    cr_assert_eq(strncmp(error.text, "two?lines?aaa", 13), 0);
}

Test(error, may_be_built_from_itself)
{
    pr_error_t error;
    pr_error_set(&error, PR_BAD, "a", "1", "inner");
    pr_error_set(&error, PR_BAD, error.source, error.code, "outer: %s", error.text);
    cr_assert_str_eq(error.text, "outer: inner");
    cr_assert_str_eq(error.source, "a");
}

Test(error, names_of_codes)
{
    static const char *const names[] = {"ok", "again", "lost", "bad", "fatal"};
    for (int rc = PR_OK; rc <= PR_FATAL; rc++)
        cr_assert_str_eq(pr_rc_name((pr_rc_t)rc), names[rc]);
}
