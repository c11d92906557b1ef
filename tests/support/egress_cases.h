/* SPDX-License-Identifier: Apache-2.0
 *
 * One table for all that take an egress in C: lib/core, lib/http, the configuration's lanes.*.egress.
 * No host has a name, so nobody looks one up. tests/contract/doors/cases.txt is the longer one,
 * which SQL has to agree to.
 */
#ifndef PR_TESTS_EGRESS_CASES_H
#define PR_TESTS_EGRESS_CASES_H

#include <stdbool.h>

static const struct {
    const char *text;
    bool ok;
    const char *sentence;
} egress_cases[] = {
    {"http://192.0.2.7:3128", true, "a proxy"},
    {"http://192.0.2.7:3128/", true, "one slash at the end means nothing"},
    {"https://192.0.2.7", true, "a proxy spoken to in TLS"},
    {"socks5://192.0.2.7:1080", true, "SOCKS, names looked up here"},
    {"socks5h://user:word@192.0.2.7:1080", true, "SOCKS, names looked up there, and who we are"},
    {"address:127.0.0.1", true, "an address of the machine"},
    {"address:2001:db8::9", true, "of the other family"},
    {"interface:eth0", true, "an interface"},
    {"127.0.0.1", false, "an address without the word"},
    {"2001:db8::9", false, "of the other family"},
    {"http://", false, "no host"},
    {"http://192.0.2.7/path", false, "a path means nothing to a proxy"},
    {"http://192.0.2.7:0", false, "no port"},
    {"http://@192.0.2.7", false, "nobody before the @"},
    {"HTTP://192.0.2.7", false, "libcurl would take it, SQL would not"},
    {"gopher://192.0.2.7", false, "no proxy of a kind that libcurl's HTTP goes through"},
    {"address:", false, "no address"},
    {"address:localhost", false, "no name: which address would it be"},
    {"address:127.0.0.1/8", false, "no network"},
    {"interface:", false, "no interface"},
    {"interface:sixteen-bytes-it", false, "longer than the kernel's names"},
    {"nonsense", false, "a word"},
};

#endif
