/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "httpd/forwarded.h"

#include <criterion/criterion.h>

#include <string.h>

static const struct {
    const char *what, *peer, *first, *second, *client; /* two fields X-Forwarded-For; NULL: none */
} cases[] = {
    {"no proxy", "203.0.113.1", NULL, NULL, "203.0.113.1"},
    {"whoever is not trusted is not believed", "203.0.113.1", "198.51.100.1", NULL, "203.0.113.1"},
    {"a trusted proxy is", "10.0.0.1", "198.51.100.1", NULL, "198.51.100.1"},
    {"what the client wrote itself is left of it", "10.0.0.1", "1.1.1.1, 198.51.100.1", NULL,
     "198.51.100.1"},
    {"two trusted proxies", "10.0.0.1", "1.1.1.1, 198.51.100.1, 10.0.0.2", NULL, "198.51.100.1"},
    {"two fields are one list", "10.0.0.1", "1.1.1.1, 198.51.100.1", "10.0.0.2", "198.51.100.1"},
    {"only proxies", "10.0.0.1", "10.0.0.3,10.0.0.2", NULL, "10.0.0.3"},
    {"a trusted proxy without the field", "10.0.0.1", NULL, NULL, "10.0.0.1"},
    {"an empty field", "10.0.0.1", "", NULL, "10.0.0.1"},
    {"no address ends the walk", "10.0.0.1", "198.51.100.1, unknown", NULL, "10.0.0.1"},
    {"an empty entry ends it", "10.0.0.1", "198.51.100.1, ", NULL, "10.0.0.1"},
    {"a port", "10.0.0.1", "198.51.100.1:4711", NULL, "198.51.100.1"},
    {"IPv6 with brackets", "10.0.0.1", "[2001:db8::1]:4711", NULL, "2001:db8::1"},
    {"IPv6 bare", "10.0.0.1", "\t2001:db8::1 ", NULL, "2001:db8::1"},
};

Test(forwarded, walks_from_the_right)
{
    pr_allow_list_t trusted;
    pr_error_t error = {0};
    cr_assert_eq(pr_allow_parse("10.0.0.0/8", &trusted, &error), PR_OK);
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_ip_t peer, wanted;
        pr_header_t headers[2];
        size_t count = 0;
        cr_assert(pr_ip_parse(cases[i].peer, strlen(cases[i].peer), &peer));
        cr_assert(pr_ip_parse(cases[i].client, strlen(cases[i].client), &wanted));
        if (cases[i].first)
            headers[count++] = (pr_header_t){"x-forwarded-for", cases[i].first};
        if (cases[i].second)
            headers[count++] = (pr_header_t){"X-Forwarded-For", cases[i].second};
        pr_ip_t client = pr_forwarded_client(&peer, &trusted, headers, count);
        cr_expect(client.is_ipv6 == wanted.is_ipv6 &&
                      memcmp(client.bytes, wanted.bytes, wanted.is_ipv6 ? 16 : 4) == 0,
                  "%s", cases[i].what);
    }
}
