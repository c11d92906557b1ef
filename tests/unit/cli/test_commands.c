/* SPDX-License-Identifier: Apache-2.0
 *
 * How a command is found by its name, and what is suggested for a typing error.
 */
#include "cli/command.h"

#include <criterion/criterion.h>

#include <ctype.h>
#include <string.h>

Test(commands, are_found_by_their_whole_name)
{
    cr_assert_not_null(pr_command_find("status"));
    cr_assert_str_eq(pr_command_find("status")->name, "status");
    cr_assert_null(pr_command_find("stat"), "a prefix is not a name");
    cr_assert_null(pr_command_find(""));
}

Test(commands, rows_are_whole_and_unique)
{
    for (const pr_command_t *row = pr_commands; row->name != NULL; row++) {
        cr_assert(islower((unsigned char)row->name[0]));
        cr_assert_not_null(row->fn, "%s has a function", row->name);
        cr_assert(strlen(row->summary) > 0 && strlen(row->summary) < 80, "%s: one line", row->name);
        cr_assert_eq(pr_command_find(row->name), row, "%s is there twice", row->name);
    }
}

typedef struct {
    const char *typed;
    const char *hint; /* NULL: none */
    const char *why;
} hint_case_t;

Test(commands, nearest_forgives_two_edits)
{
    static const hint_case_t cases[] = {
        {"statsu", "status", "two letters swapped"},
        {"satus", "status", "one letter missing"},
        {"statuss", "status", "one letter too many"},
        {"dwon", "down", "swapped in the middle"},
        {"restrat", "restart", "swapped"},
        {"xyzzyx", NULL, "nothing is near"},
        {"", "up", "the empty word is two edits from the shortest"},
        {"a-name-that-is-much-longer-than-any-command-could-be", NULL, "too long to compare"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *hint = pr_command_nearest(cases[i].typed);
        if (cases[i].hint == NULL) {
            cr_expect_null(hint, "\"%s\": %s", cases[i].typed, cases[i].why);
        } else {
            cr_expect(hint != NULL && strcmp(hint, cases[i].hint) == 0, "\"%s\": %s, got %s",
                      cases[i].typed, cases[i].why, hint != NULL ? hint : "nothing");
        }
    }
}
