/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/demo_payments.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(demo_payments, .timeout = 300);

#define SCAN_US (INT64_C(1000) * PR_DEMO_SCAN_MS)
#define BASE (INT64_C(3000000) * SCAN_US) /* a tick */

static int of_first(int count, const char *script)
{
    int found = 0;
    for (int number = 0; number < count; number++)
        found += strcmp(pr_demo_script(number), script) == 0;
    return found;
}

Test(demo_payments, scripts_have_their_share)
{
    cr_assert_eq(of_first(4000, "~unpaid"), 200);
    cr_assert_eq(of_first(4000, "~pending"), 50);
    cr_assert_eq(of_first(4000, "~pay:300ms"), 850);
    cr_assert_gt(of_first(80, "~pending"), 0); /* a small demo has them, too */
    cr_assert_gt(of_first(80, "~pay:300ms~amount:1"), 0);
}

Test(demo_payments, each_merchant_meets_every_script)
{
    for (int merchant = 0; merchant < PR_DEMO_MERCHANTS; merchant++) {
        int pending = 0;
        for (int number = merchant; number < 4000; number += PR_DEMO_MERCHANTS)
            pending += strcmp(pr_demo_script(number), "~pending") == 0;
        cr_assert_eq(pending, 1, "merchant %d: %d", merchant, pending);
    }
}

Test(demo_payments, the_scan_asks_while_an_end_is_not_known)
{
    /* known by a webhook before the scan comes by */
    cr_assert_eq(pr_demo_scan_queries(BASE + 1, BASE + 2, BASE + 3), 0);
    /* the scan finds the end itself, and asks no more, whenever we knew it */
    cr_assert_eq(pr_demo_scan_queries(BASE + 1, BASE + 2, BASE + 9 * SCAN_US), 1);
    cr_assert_eq(pr_demo_scan_queries(BASE + 1, BASE + 3 * SCAN_US + 1, BASE + 9 * SCAN_US), 4);
    /* asked three times, then a webhook was faster */
    cr_assert_eq(pr_demo_scan_queries(BASE + 1, BASE + 3 * SCAN_US + 1, BASE + 3 * SCAN_US + 2), 3);
    /* never ends there: until a person has it */
    cr_assert_eq(pr_demo_scan_queries(BASE + 1, 0, BASE + 5 * SCAN_US), 5);
    cr_assert_eq(pr_demo_scan_queries(BASE + 1, 0, 0), 0);
    /* clocks of two processes */
    cr_assert_eq(pr_demo_scan_queries(BASE + 5, BASE - SCAN_US, BASE - SCAN_US), 0);
}
