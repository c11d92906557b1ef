/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole table is tests/contract/doors/cases.txt, which SQL has to agree to; here are the edges
 * that a command line cannot show.
 */
#include "base/alloc.h"
#include "core/egress.h"
#include "tests/support/egress_cases.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(egress, .timeout = 120);

Test(egress, takes_what_lib_http_can_be_given)
{
    cr_assert(pr_egress_ok(""), "as the machine routes");
    for (size_t i = 0; i < PR_COUNT(egress_cases); i++) {
        cr_assert(pr_egress_ok(egress_cases[i].text) == egress_cases[i].ok, "%s",
                  egress_cases[i].sentence);
    }
}

Test(egress, bounds_what_it_reads)
{
    char text[2048];
    memset(text, 'a', sizeof text);
    memcpy(text, "http://", 7);
    text[sizeof text - 1] = '\0';
    cr_assert_not(pr_egress_ok(text), "longer than the maximum");
    text[PR_EGRESS_MAX_BYTES] = '\0';
    cr_assert_not(pr_egress_ok(text), "as long as the maximum, and no host");
}
