/* SPDX-License-Identifier: Apache-2.0 */
#include "core/priority.h"

#include <stddef.h>
#include <string.h>

enum { LARGE = 0, USUAL = 1, SMALL = 2 };

pr_tier_t pr_tier_parse(const char *text)
{
    if (strcmp(text, "vip") == 0)
        return PR_TIER_VIP;
    if (strcmp(text, "normal") == 0)
        return PR_TIER_NORMAL;
    if (strcmp(text, "small") == 0)
        return PR_TIER_SMALL;
    return PR_TIER_NONE;
}

int pr_priority_class(int asked, int64_t amount_minor, pr_tier_t tier,
                      const pr_priority_rule_t *rule)
{
    if (asked != -1)
        return asked >= 0 && asked < PR_CLASSES ? asked : USUAL;
    bool known = amount_minor >= 0 && rule;
    if (tier == PR_TIER_VIP)
        return LARGE;
    if (known && rule->large_minor >= 0 && amount_minor >= rule->large_minor)
        return LARGE;
    if (tier == PR_TIER_SMALL)
        return SMALL;
    if (known && rule->small_minor >= 0 && amount_minor < rule->small_minor)
        return SMALL;
    return USUAL;
}
