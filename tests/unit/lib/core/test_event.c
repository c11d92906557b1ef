/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/event.h"

#include <criterion/criterion.h>

#include <stddef.h>
#include <string.h>

TestSuite(event, .timeout = 300);

Test(event, names_are_words_joined_by_dots)
{
    static const char *const names[] = {"a", "payment.succeeded", "x_1.y.z", "0", "_"};
    static const char *const refused[] = {"",    ".",   "a.",        ".a", "a..b",       "A",
                                          "a b", "a-b", "payment.*", "*",  "a.\xc3\xa9", "a\n"};
    for (size_t i = 0; i < PR_COUNT(names); i++)
        cr_expect(pr_event_is_name(names[i]), "'%s'", names[i]);
    for (size_t i = 0; i < PR_COUNT(refused); i++)
        cr_expect_not(pr_event_is_name(refused[i]), "'%s'", refused[i]);
    char text[66];
    memset(text, 'a', 65);
    text[64] = '\0';
    cr_expect(pr_event_is_name(text), "64 bytes");
    text[64] = 'a';
    text[65] = '\0';
    cr_expect_not(pr_event_is_name(text), "65 bytes");
}

Test(event, patterns_match_a_name_a_subtree_or_everything)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
        const char *sentence;
    } cases[] = {
        {"payment.succeeded", "payment.succeeded", true, "itself"},
        {"payment.succeeded", "payment.succeeded2", false, "no prefix"},
        {"payment.*", "payment.succeeded", true, "below"},
        {"payment.*", "payment.a.b", true, "far below"},
        {"payment.*", "payment", false, "not the stem itself"},
        {"payment.*", "payments.x", false, "the dot counts"},
        {"a.b.*", "a.b.c", true, "a longer stem"},
        {"a.b.*", "a.c", false, "another branch"},
        {"*", "anything.at_all", true, "everything"},
        {"*", "Not A Name", false, "but only names"},
        {"*.x", "a.x", false, "a star stands last only"},
        {"pay*", "payment", false, "and for whole words only"},
        {".*", "a", false, "with a stem"},
        {"", "a", false, "an empty pattern is none"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++)
        cr_expect_eq(pr_event_matches(cases[i].pattern, cases[i].name), cases[i].matches,
                     "'%s' and '%s': %s", cases[i].pattern, cases[i].name, cases[i].sentence);
}

Test(event, the_last_word_is_the_status)
{
    cr_assert_str_eq(pr_event_last_word("payment.late.success"), "success");
    cr_assert_str_eq(pr_event_last_word("paid"), "paid");
}
