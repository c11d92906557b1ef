/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole table is tests/contract/doors/cases.txt, which SQL has to agree to.
 */
#include "base/alloc.h"
#include "core/email.h"

#include <criterion/criterion.h>

TestSuite(email, .timeout = 120);

Test(email, takes_what_can_be_written_to)
{
    static const struct {
        const char *text;
        bool ok;
        const char *sentence;
    } cases[] = {
        {"", true, "nobody"},
        {"a@m1.example", true, "somebody"},
        {"\"a@b\"@m1.example", true, "the last @ counts"},
        {"nobody", false, "no host"},
        {"@m1.example", false, "no name"},
        {"a@", false, "nothing after the @"},
        {"a@b.example\nBcc: c@d.example", false, "it would add a line to the mail"},
        {"a b@m1.example", false, "a space"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        cr_assert(pr_email_ok(cases[i].text) == cases[i].ok, "%s", cases[i].sentence);
    }
}
