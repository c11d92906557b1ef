/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole table is tests/contract/doors/cases.txt, which SQL has to agree to; here are the edges
 * that a command line cannot show.
 */
#include "base/alloc.h"
#include "core/egress.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(egress, .timeout = 120);

Test(egress, takes_what_lib_http_can_be_given)
{
    static const struct {
        const char *text;
        bool ok;
        const char *sentence;
    } cases[] = {
        {"", true, "as the machine routes"},
        {"socks5h://user:word@proxy.example:1080", true, "a proxy that wants to know who"},
        {"http://proxy.example:3128/", true, "one slash at the end means nothing"},
        {"http://proxy.example/path", false, "a path would"},
        {"http://@proxy.example", false, "nobody before the @"},
        {"address:2001:db8::9", true, "an address of the machine"},
        {"address:proxy.example", false, "no name: which address would it be"},
        {"interface:eth0", true, "an interface"},
        {"interface:sixteen-bytes-it", false, "longer than the kernel's names"},
        {"ftp://proxy.example", false, "no proxy of a kind that libcurl's HTTP goes through"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        cr_assert(pr_egress_ok(cases[i].text) == cases[i].ok, "%s", cases[i].sentence);
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
