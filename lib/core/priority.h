/* SPDX-License-Identifier: Apache-2.0
 *
 * The class of a notification (N6): 0 large amount or VIP merchant, 1 normal, 2 small. Large and
 * VIP win over small. What is not known is normal.
 */
#ifndef PR_CORE_PRIORITY_H
#define PR_CORE_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#define PR_CLASSES 3

typedef enum { PR_TIER_NONE = 0, PR_TIER_VIP, PR_TIER_NORMAL, PR_TIER_SMALL } pr_tier_t;

/* Thresholds of one currency, minor units; -1 = none. */
typedef struct {
    int64_t large_minor; /* amount >= large_minor: class 0 */
    int64_t small_minor; /* amount <  small_minor: class 2 */
} pr_priority_rule_t;

pr_tier_t pr_tier_parse(const char *text); /* vip | normal | small; PR_TIER_NONE when unknown */

/* asked: the caller's class, -1 = not given; another unknown number counts as 1. amount_minor -1 =
 * not given. rule NULL = no thresholds for this currency. Returns 0..2. */
int pr_priority_class(int asked, int64_t amount_minor, pr_tier_t tier,
                      const pr_priority_rule_t *rule);

#endif
