/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/url.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(url, .timeout = 300);

Test(url, reads_scheme_host_port_and_target)
{
    static const struct {
        const char *text;
        bool https;
        const char *host;
        uint16_t port;
        const char *target, *origin;
    } cases[] = {
        {"https://example.com/hook", true, "example.com", 443, "/hook", "https://example.com:443"},
        {"HTTP://Shop.Example.COM", false, "shop.example.com", 80, "/",
         "http://shop.example.com:80"},
        {"https://a.b:8443/x/y?z=1&w=%2F", true, "a.b", 8443, "/x/y?z=1&w=%2F", "https://a.b:8443"},
        {"https://a?x=1", true, "a", 443, "/?x=1", "https://a:443"},
        {"https://a/p#frag", true, "a", 443, "/p", "https://a:443"},
        {"https://a#frag", true, "a", 443, "/", "https://a:443"},
        {"https://a/p?q#f?g", true, "a", 443, "/p?q", "https://a:443"},
        {"https://a/@b", true, "a", 443, "/@b", "https://a:443"},
        {"http://127.0.0.1:9000/m1", false, "127.0.0.1", 9000, "/m1", "http://127.0.0.1:9000"},
        {"http://[::1]/", false, "::1", 80, "/", "http://[::1]:80"},
        {"https://[2001:DB8:0:0::1]:444", true, "2001:db8::1", 444, "/",
         "https://[2001:db8::1]:444"},
        {"https://xn--fiqs8s.example/", true, "xn--fiqs8s.example", 443, "/",
         "https://xn--fiqs8s.example:443"},
        {"http://merchant_1/", false, "merchant_1", 80, "/", "http://merchant_1:80"},
        {"http://1.example/", false, "1.example", 80, "/", "http://1.example:80"},
        {"http://a:65535/", false, "a", 65535, "/", "http://a:65535"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_url_t url;
        pr_error_t error = {0};
        cr_expect_eq(pr_url_parse(cases[i].text, &url, &error), PR_OK, "%s: %s", cases[i].text,
                     error.text);
        cr_expect_eq(url.https, cases[i].https, "%s", cases[i].text);
        cr_expect_str_eq(url.host, cases[i].host);
        cr_expect_eq(url.port, cases[i].port, "%s", cases[i].text);
        cr_expect_str_eq(url.target, cases[i].target);
        cr_expect_str_eq(url.origin, cases[i].origin);
    }
}

Test(url, refuses_what_two_readers_may_read_differently)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"", "nothing"},
        {"example.com", "no scheme"},
        {"//example.com", "no scheme"},
        {"ftp://a/", "another scheme"},
        {"file:///etc/passwd", "another scheme"},
        {"https:/a", "one slash"},
        {"https:a", "no slash"},
        {"https://", "no host"},
        {"https:///path", "no host"},
        {"https://:80/", "no host"},
        {"https://user@a/", "user information"},
        {"https://user:pass@a/", "user information"},
        {"https://a@b@c/", "user information twice"},
        {"https://a.b\\@c/", "a backslash"},
        {"https://a b/", "a space in the host"},
        {"https://a/b c", "a space in the path"},
        {" https://a/", "a space before"},
        {"https://a/ ", "a space after"},
        {"https://a/\r\nHost: b", "a line end: header injection"},
        {"https://a/\t", "a tab"},
        {"https://a/\x7f", "a control byte"},
        {"https://\xe4\xb8\xad.example/", "a name that is not in punycode"},
        {"https://a/\xc3\xa9", "a path that is not percent-encoded"},
        {"https://a/%", "a bare percent"},
        {"https://a/%4", "half an escape"},
        {"https://a/%zz", "no hex"},
        {"https://%61/", "an escaped host"},
        {"https://a/<script>", "angle brackets"},
        {"https://a/\"", "a quote"},
        {"https://a:/", "an empty port"},
        {"https://a:0/", "port 0"},
        {"https://a:080/", "a leading zero"},
        {"https://a:65536/", "a port too large"},
        {"https://a:99999999999999999999/", "a port far too large"},
        {"https://a:80:90/", "two ports"},
        {"https://a:+80/", "a signed port"},
        {"https://a:8o/", "a letter in the port"},
        {"https://a..b/", "an empty label"},
        {"https://.a/", "an empty label"},
        {"https://a./", "a trailing dot: another name for the same host"},
        {"https://-a/", "a hyphen first"},
        {"https://a-/", "a hyphen last"},
        {"https://a,b/", "a comma in the host"},
        {"http://127.1/", "a short form of an address"},
        {"http://2130706433/", "an address as one number"},
        {"http://0x7f000001/", "an address in hex"},
        {"http://0x7f.0.0.1/", "a part in hex"},
        {"http://0177.0.0.1/", "a part in octal"},
        {"http://127.0.0.1.5/", "five parts"},
        {"http://256.1.1.1/", "a part too large"},
        {"http://a.1/", "ends in a number"},
        {"http://a.0x/", "ends in an empty hex number"},
        {"http://[::1/", "no closing bracket"},
        {"http://::1/", "no brackets"},
        {"http://[::1]x/", "something after the bracket"},
        {"http://[fe80::1%25eth0]/", "a zone id"},
        {"http://[127.0.0.1]/", "IPv4 in brackets"},
        {"http://[]/", "nothing in the brackets"},
        {"http://[::1]:/", "an empty port"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_url_t url;
        pr_error_t error = {0};
        cr_expect_eq(pr_url_parse(cases[i].text, &url, &error), PR_BAD, "%s: %s", cases[i].sentence,
                     cases[i].text);
        cr_expect_neq(error.text[0], '\0', "%s: refused without a word", cases[i].text);
    }
}

Test(url, bounds_the_whole_the_host_and_its_labels)
{
    pr_url_t url;
    char text[1024] = "https://a/";
    memset(text + 10, 'x', 502);
    text[512] = '\0';
    cr_assert_eq(pr_url_parse(text, &url, NULL), PR_OK, "512 bytes");
    cr_assert_eq(strlen(url.target), 503);
    text[512] = 'x';
    text[513] = '\0';
    cr_assert_eq(pr_url_parse(text, &url, NULL), PR_BAD, "513 bytes");

    memcpy(text, "https://a?", 10); /* the target is one longer than what was given */
    text[512] = '\0';
    cr_assert_eq(pr_url_parse(text, &url, NULL), PR_OK);
    cr_assert_eq(strlen(url.target), 504);

    memcpy(text, "https://", 8);
    memset(text + 8, 'h', 64);
    memcpy(text + 8 + 63, "/", 2);
    cr_assert_eq(pr_url_parse(text, &url, NULL), PR_OK, "a label of 63");
    memcpy(text + 8 + 63, "h/", 3);
    cr_assert_eq(pr_url_parse(text, &url, NULL), PR_BAD, "a label of 64");

    for (int i = 0; i < 254; i++)
        text[8 + i] = i % 2 ? '.' : 'a';
    memcpy(text + 8 + 253, "/", 2);
    cr_assert_eq(pr_url_parse(text, &url, NULL), PR_OK, "a name of 253");
    cr_assert_eq(strlen(url.origin), strlen("https://:443") + 253);
    memcpy(text + 8 + 253, "aa/", 4);
    cr_assert_eq(pr_url_parse(text, &url, NULL), PR_BAD, "a name of 255");
}

Test(url, what_is_read_reads_back_as_itself)
{
    static const char *const texts[] = {"HTTPS://Ab.c:1/x?y", "http://[::FFFF:1.2.3.4]:80/",
                                        "https://10.0.0.1?x"};
    for (size_t i = 0; i < PR_COUNT(texts); i++) {
        pr_url_t url, again;
        cr_assert_eq(pr_url_parse(texts[i], &url, NULL), PR_OK);
        PR_CLEANUP_FREE char *whole = pr_asprintf("%s%s", url.origin, url.target);
        cr_assert_eq(pr_url_parse(whole, &again, NULL), PR_OK, "%s", whole);
        cr_assert_eq(memcmp(&url, &again, sizeof url), 0, "%s", whole);
    }
}
