/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/address.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

TestSuite(address, .timeout = 300);

static pr_ip_t ip(const char *text)
{
    pr_ip_t out;
    cr_assert(pr_ip_parse(text, strlen(text), &out), "%s", text);
    return out;
}

Test(address, forbids_what_is_not_public_and_says_what_it_is)
{
    static const struct {
        const char *address, *word; /* NULL: public */
    } cases[] = {
        {"8.8.8.8", NULL},
        {"1.1.1.1", NULL},
        {"223.255.255.255", NULL},
        {"0.0.0.0", "unspecified"},
        {"0.1.2.3", "unspecified"},
        {"9.255.255.255", NULL},
        {"10.0.0.0", "private"},
        {"10.255.255.255", "private"},
        {"11.0.0.0", NULL},
        {"100.63.255.255", NULL},
        {"100.64.0.0", "shared"},
        {"100.127.255.255", "shared"},
        {"100.128.0.0", NULL},
        {"100.100.100.200", "metadata"},
        {"126.255.255.255", NULL},
        {"127.0.0.1", "loopback"},
        {"127.255.255.255", "loopback"},
        {"128.0.0.0", NULL},
        {"168.63.129.16", "metadata"},
        {"168.63.129.17", NULL},
        {"169.254.0.1", "link_local"},
        {"169.254.169.254", "metadata"},
        {"169.255.0.0", NULL},
        {"172.15.255.255", NULL},
        {"172.16.0.0", "private"},
        {"172.31.255.255", "private"},
        {"172.32.0.0", NULL},
        {"192.0.0.1", "protocol"},
        {"192.0.0.192", "protocol"},
        {"192.0.1.0", NULL},
        {"192.0.2.1", "documentation"},
        {"192.88.99.1", "relay"},
        {"192.167.255.255", NULL},
        {"192.168.0.1", "private"},
        {"192.169.0.0", NULL},
        {"198.17.255.255", NULL},
        {"198.18.0.0", "benchmark"},
        {"198.19.255.255", "benchmark"},
        {"198.20.0.0", NULL},
        {"198.51.100.7", "documentation"},
        {"203.0.113.7", "documentation"},
        {"224.0.0.1", "multicast"},
        {"239.255.255.255", "multicast"},
        {"240.0.0.1", "reserved"},
        {"255.255.255.255", "broadcast"},

        {"2606:4700:4700::1111", NULL},
        {"2a00:1450:4001::1", NULL},
        {"::", "unspecified"},
        {"::1", "loopback"},
        {"::2", "ipv4_compatible"},
        {"::8.8.8.8", "ipv4_compatible"},
        {"::127.0.0.1", "ipv4_compatible"},
        {"::ffff:8.8.8.8", NULL},
        {"::ffff:127.0.0.1", "loopback"},
        {"::ffff:169.254.169.254", "metadata"},
        {"::ffff:0a00:0001", "private"},
        {"::ffff:0:8.8.8.8", NULL},
        {"::ffff:0:10.0.0.1", "private"},
        {"64:ff9b::8.8.8.8", NULL},
        {"64:ff9b::10.1.2.3", "private"},
        {"64:ff9b::a9fe:a9fe", "metadata"},
        {"64:ff9b:1::8.8.8.8", "local_nat64"},
        {"64:ff9b:1:ffff::1", "local_nat64"},
        {"64:ff9b:2::1", "not_global"},
        {"100::1", "discard"},
        {"2001::1", "teredo"},
        {"2001:0:4136:e378:8000:63bf:3fff:fdd2", "teredo"},
        {"2001:1::1", "protocol"},
        {"2001:2::1", "protocol"},
        {"2001:20::1", "protocol"},
        {"2001:1ff:ffff::", "protocol"},
        {"2001:200::1", NULL},
        {"2001:db8::1", "documentation"},
        {"2001:db9::1", NULL},
        {"2002:0808:0808::1", "6to4"},
        {"2002:7f00:1::", "6to4"},
        {"3fff::1", "documentation"},
        {"3fff:1000::1", NULL},
        {"2a00::5efe:10.0.0.1", "private"},
        {"2a00::200:5efe:127.0.0.1", "loopback"},
        {"2a00::5efe:8.8.8.8", NULL},
        {"4000::1", "not_global"},
        {"5f00::1", "not_global"},
        {"fc00::1", "private"},
        {"fd12:3456::1", "private"},
        {"fd00:ec2::254", "metadata"},
        {"fe80::1", "link_local"},
        {"febf::1", "link_local"},
        {"fec0::1", "site_local"},
        {"ff02::1", "multicast"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_ip_t address = ip(cases[i].address);
        const char *word = pr_ip_forbidden(&address);
        if (cases[i].word)
            cr_expect_str_eq(word ? word : "(public)", cases[i].word, "%s is %s, not %s",
                             cases[i].address, cases[i].word, word ? word : "public");
        else
            cr_expect_null(word, "%s is public, not %s", cases[i].address, word ? word : "");
    }
}

/* Whatever is forbidden in IPv4 is forbidden in every form of IPv6 that carries it; what is public
 * there is public here. */
Test(address, an_ipv4_address_is_judged_the_same_in_every_coat)
{
    static const char *const coats[] = {"::ffff:%u.%u.%u.%u", "::ffff:0:%u.%u.%u.%u",
                                        "64:ff9b::%u.%u.%u.%u", "2a00::5efe:%u.%u.%u.%u"};
    uint64_t state = 1;
    for (int n = 0; n < 20000; n++) {
        uint32_t bits = (uint32_t)prng_next(&state);
        char text[64];
        snprintf(text, sizeof text, "%u.%u.%u.%u", bits >> 24, bits >> 16 & 255, bits >> 8 & 255,
                 bits & 255);
        pr_ip_t bare = ip(text);
        const char *word = pr_ip_forbidden(&bare);
        for (size_t i = 0; i < PR_COUNT(coats); i++) {
            char coat[80];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(coat, sizeof coat, coats[i], bits >> 24, bits >> 16 & 255, bits >> 8 & 255,
                     bits & 255);
#pragma GCC diagnostic pop
            pr_ip_t dressed = ip(coat);
            cr_assert_eq(pr_ip_forbidden(&dressed), word, "%s in %s", text, coat);
        }
    }
}

Test(address, reads_addresses_strictly)
{
    static const char *const refused[] = {
        "",         "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.256", "0x1.2.3.4", " 1.2.3.4",
        "1.2.3.4 ", "[::1]", "::1%lo",    ":::",      "1:2:3:4:5", "localhost"};
    pr_ip_t out;
    for (size_t i = 0; i < PR_COUNT(refused); i++)
        cr_expect_not(pr_ip_parse(refused[i], strlen(refused[i]), &out), "'%s'", refused[i]);
    cr_expect_not(pr_ip_parse("1.2.3.4\0x", 9, &out), "nothing hides behind a NUL");
    cr_expect(pr_ip_parse("1.2.3.4xyz", 7, &out), "only len bytes are read");
}

Test(address, reads_socket_addresses)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(8080)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
    sa_family_t unix_family = AF_UNIX;
    pr_ip_t out;
    uint16_t port = 0;
    inet_pton(AF_INET, "10.1.2.3", &in.sin_addr);
    inet_pton(AF_INET6, "fe80::1", &in6.sin6_addr);
    cr_assert(pr_ip_from_sockaddr(&in, sizeof in, &out, &port));
    cr_assert_eq(port, 8080);
    cr_assert_str_eq(pr_ip_forbidden(&out), "private");
    cr_assert(pr_ip_from_sockaddr(&in6, sizeof in6, &out, &port));
    cr_assert_eq(port, 443);
    cr_assert_str_eq(pr_ip_forbidden(&out), "link_local");
    cr_assert_not(pr_ip_from_sockaddr(&in6, sizeof in6 - 1, &out, &port), "cut");
    cr_assert_not(pr_ip_from_sockaddr(&unix_family, sizeof unix_family, &out, &port));
}

static bool allows(const char *list, const char *address, uint16_t port)
{
    pr_allow_list_t allow;
    pr_error_t error = {0};
    cr_assert_eq(pr_allow_parse(list, &allow, &error), PR_OK, "%s: %s", list, error.text);
    pr_ip_t parsed = ip(address);
    return pr_address_refused(&allow, &parsed, port) == NULL;
}

Test(address, an_allow_list_opens_exactly_what_it_names)
{
    static const struct {
        const char *list, *address;
        uint16_t port;
        bool allowed;
        const char *sentence;
    } cases[] = {
        {"", "10.0.0.1", 80, false, "an empty list opens nothing"},
        {"  ", "10.0.0.1", 80, false, "nor does space"},
        {"", "8.8.8.8", 80, true, "public needs no list"},
        {"127.0.0.1:9000", "127.0.0.1", 9000, true, "an address and a port"},
        {"127.0.0.1:9000", "127.0.0.1", 9001, false, "another port"},
        {"127.0.0.1:9000", "127.0.0.2", 9000, false, "another address"},
        {"127.0.0.1", "127.0.0.1", 1, true, "all ports"},
        {"10.0.0.0/8", "10.200.1.1", 80, true, "a net"},
        {"10.0.0.0/8", "11.0.0.1", 80, true, "public anyway"},
        {"10.0.0.0/9", "10.200.1.1", 80, false, "beside the net"},
        {"10.0.0.0/8:81", "10.200.1.1", 80, false, "a net and another port"},
        {"192.168.1.0/24, 10.0.0.5:80 ,::1", "10.0.0.5", 80, true, "the second of three"},
        {"192.168.1.0/24, 10.0.0.5:80 ,::1", "::1", 80, true, "the third of three"},
        {"[::1]:9000", "::1", 9000, true, "IPv6 with a port"},
        {"[::1]:9000", "::1", 9001, false, "and no other"},
        {"fd00::/8", "fd12::1", 80, true, "an IPv6 net"},
        {"[fd00::]/8:443", "fd12::1", 443, true, "with a port"},
        {"[fd00::]/8", "fd12::1", 1, true, "brackets without a port"},
        {"127.0.0.1", "::ffff:127.0.0.1", 80, true, "mapped is the same address"},
        {"::/0", "127.0.0.1", 80, false, "all of IPv6 is not IPv4"},
        {"0.0.0.0/0", "127.0.0.1", 80, true, "everything, if somebody insists"},
        {"10.0.0.1", "64:ff9b::10.0.0.1", 80, false, "NAT64 is another road: named itself or not"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++)
        cr_expect_eq(allows(cases[i].list, cases[i].address, cases[i].port), cases[i].allowed,
                     "'%s' and %s:%u: %s", cases[i].list, cases[i].address, cases[i].port,
                     cases[i].sentence);
}

Test(address, refuses_malformed_allow_lists)
{
    static const char *const refused[] = {
        "localhost",   "10.0.0.0/33",   "10.0.0.0/",   "10.0.0.1/8",   "::1/129", "fd00::1/8",
        "1.2.3.4:0",   "1.2.3.4:65536", "1.2.3.4:",    "[1.2.3.4]:80", "[::1",    "[::1]x",
        ",",           "1.2.3.4,,::1",  "1.2.3.4 ::1", "10.0.0.0/8/8", "/8",      ":80",
        "10.0.0.0/-1", "::1:99999",
    };
    for (size_t i = 0; i < PR_COUNT(refused); i++) {
        pr_allow_list_t allow = {.count = 3};
        pr_error_t error = {0};
        cr_expect_eq(pr_allow_parse(refused[i], &allow, &error), PR_BAD, "'%s'", refused[i]);
        cr_expect_eq(allow.count, 3, "a refusal changes nothing");
        cr_expect_neq(error.text[0], '\0');
    }
}

Test(address, an_allow_list_is_bounded)
{
    pr_allow_list_t allow = {0};
    for (int i = 0; i < PR_ALLOW_MAX; i++)
        cr_assert_eq(pr_allow_add(&allow, "10.0.0.1", 8, NULL), PR_OK);
    cr_assert_eq(pr_allow_add(&allow, "10.0.0.1", 8, NULL), PR_BAD);
    cr_assert_eq(allow.count, PR_ALLOW_MAX);
}
