/* SPDX-License-Identifier: Apache-2.0 */
#include "core/allowance.h"

#include <criterion/criterion.h>

TestSuite(allowance, .timeout = 300);

static const uint64_t TEN[PR_CLASSES] = {10, 10, 10};

Test(allowance, grants_before_the_answer_count_for_nothing)
{
    pr_allowance_t it = {0};
    uint32_t number = pr_allowance_greet(&it);
    pr_allowance_granted(&it, TEN, false, 0);
    cr_assert_eq(pr_allowance_room(&it, 0), 0);
    cr_assert_not(pr_allowance_answered(&it, number - 1));
    cr_assert(pr_allowance_answered(&it, number));
    cr_assert_not(pr_allowance_answered(&it, number), "once");
    cr_assert_eq(pr_allowance_room(&it, 0), 0);
    pr_allowance_granted(&it, TEN, false, 0);
    pr_allowance_send(&it, 0, 4, 1);
    cr_assert_eq(pr_allowance_room(&it, 0), 6);
    pr_allowance_granted(&it, TEN, false, 2);
    cr_assert_eq(pr_allowance_room(&it, 0), 6, "totals: said again, nothing gained");
    pr_allowance_greet(&it);
    cr_assert_eq(pr_allowance_room(&it, 0), 0);
}

Test(allowance, unused_grants_return_after_50_ms_under_contention_only)
{
    pr_allowance_t it = {0};
    (void)pr_allowance_answered(&it, pr_allowance_greet(&it));
    pr_allowance_granted(&it, TEN, false, 1000);
    cr_assert_eq(pr_allowance_due_ms(&it), INT64_MAX);
    cr_assert_not(pr_allowance_give_back(&it, 5000));
    pr_allowance_send(&it, 1, 3, 5000);
    pr_allowance_granted(&it, TEN, true, 5001);
    cr_assert_eq(pr_allowance_due_ms(&it), 1050, "P0 and P2 are idle since 1000");
    cr_assert(pr_allowance_give_back(&it, 5002));
    cr_assert_eq(it.returned[0], 10);
    cr_assert_eq(it.returned[1], 0, "P1 was used two ms ago");
    cr_assert_eq(pr_allowance_due_ms(&it), 5050);
    cr_assert_not(pr_allowance_give_back(&it, 5049));
    cr_assert(pr_allowance_give_back(&it, 5050));
    cr_assert_eq(it.returned[1], 7);
    cr_assert_eq(pr_allowance_room(&it, 1), 0);
}
