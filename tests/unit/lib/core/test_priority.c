/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/priority.h"

#include <criterion/criterion.h>

TestSuite(priority, .timeout = 300);

Test(priority, follows_from_what_was_asked_the_amount_and_the_tier)
{
    static const pr_priority_rule_t cny = {.large_minor = 1000000, .small_minor = 1000};
    static const pr_priority_rule_t none = {.large_minor = -1, .small_minor = -1};
    static const struct {
        int asked;
        int64_t amount;
        pr_tier_t tier;
        const pr_priority_rule_t *rule;
        int class;
        const char *sentence;
    } cases[] = {
        {-1, 50000, PR_TIER_NORMAL, &cny, 1, "an ordinary amount"},
        {-1, 1000000, PR_TIER_NORMAL, &cny, 0, "large begins at the threshold"},
        {-1, 999999, PR_TIER_NORMAL, &cny, 1, "not below"},
        {-1, 1000, PR_TIER_NORMAL, &cny, 1, "small ends at the threshold"},
        {-1, 999, PR_TIER_NORMAL, &cny, 2, "below it is small"},
        {-1, 0, PR_TIER_NORMAL, &cny, 2, "nothing is small"},
        {-1, 1, PR_TIER_VIP, &cny, 0, "a VIP is never small"},
        {-1, 2000000, PR_TIER_SMALL, &cny, 0, "a large amount of a small merchant is large"},
        {-1, 50000, PR_TIER_SMALL, &cny, 2, "else a small merchant is small"},
        {-1, -1, PR_TIER_NORMAL, &cny, 1, "no amount is normal"},
        {-1, -1, PR_TIER_SMALL, NULL, 2, "the tier needs no currency"},
        {-1, 5, PR_TIER_NORMAL, NULL, 1, "an unknown currency is normal"},
        {-1, 5, PR_TIER_NORMAL, &none, 1, "so is one without thresholds"},
        {-1, INT64_MAX, PR_TIER_NONE, &none, 1, "and an unknown tier"},
        {0, 5, PR_TIER_SMALL, &cny, 0, "the caller decides"},
        {2, 5000000, PR_TIER_VIP, &cny, 2, "even downwards"},
        {3, 5000000, PR_TIER_VIP, &cny, 1, "an unknown class counts as normal"},
        {-2, 5000000, PR_TIER_VIP, &cny, 1, "an unknown class counts as normal"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++)
        cr_expect_eq(
            pr_priority_class(cases[i].asked, cases[i].amount, cases[i].tier, cases[i].rule),
            cases[i].class, "%s", cases[i].sentence);
}

Test(priority, reads_tiers)
{
    cr_assert_eq(pr_tier_parse("vip"), PR_TIER_VIP);
    cr_assert_eq(pr_tier_parse("normal"), PR_TIER_NORMAL);
    cr_assert_eq(pr_tier_parse("small"), PR_TIER_SMALL);
    cr_assert_eq(pr_tier_parse("VIP"), PR_TIER_NONE);
}
