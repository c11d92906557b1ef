/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/limiter.h"

#include <criterion/criterion.h>

#include <string.h>

static pr_ip_t ip(const char *text)
{
    pr_ip_t out;
    cr_assert(pr_ip_parse(text, strlen(text), &out));
    return out;
}

/* Ten a second, three at once. */
static pr_limiter_t *new_limiter(size_t max_keys)
{
    return pr_limiter_new(10, 3, max_keys, 7);
}

Test(limiter, who_was_never_wrong_has_all_its_tokens)
{
    pr_limiter_t *self = new_limiter(16);
    pr_ip_t one = ip("203.0.113.1");
    cr_expect_eq(pr_limiter_wait_ms(self, &one, "c1", 1000), 0);
    for (int i = 0; i < 3; i++)
        cr_expect(pr_limiter_take(self, &one, "c1", 1000));
    cr_expect(!pr_limiter_take(self, &one, "c1", 1000));
    cr_expect_eq(pr_limiter_wait_ms(self, &one, "c1", 1000), 100);
    cr_expect_eq(pr_limiter_wait_ms(self, &one, "c1", 1100), 0, "a token has come back");
    pr_limiter_destroy(&self);
}

Test(limiter, each_address_and_thing_has_its_own)
{
    pr_limiter_t *self = new_limiter(16);
    pr_ip_t one = ip("203.0.113.1"), two = ip("203.0.113.2");
    for (int i = 0; i < 3; i++)
        (void)pr_limiter_take(self, &one, "c1", 0);
    cr_expect_gt(pr_limiter_wait_ms(self, &one, "c1", 0), 0);
    cr_expect_eq(pr_limiter_wait_ms(self, &one, "c2", 0), 0);
    cr_expect_eq(pr_limiter_wait_ms(self, &two, "c1", 0), 0);
    cr_expect_eq(pr_limiter_wait_ms(self, NULL, "c1", 0), 0);
    pr_limiter_destroy(&self);
}

Test(limiter, a_customer_of_ipv6_is_its_whole_network)
{
    pr_limiter_t *self = new_limiter(16);
    pr_ip_t one = ip("2001:db8:0:1::1"), same = ip("2001:db8:0:1:ffff::2"),
            other = ip("2001:db8:0:2::1");
    for (int i = 0; i < 3; i++)
        (void)pr_limiter_take(self, &one, "c1", 0);
    cr_expect_gt(pr_limiter_wait_ms(self, &same, "c1", 0), 0);
    cr_expect_eq(pr_limiter_wait_ms(self, &other, "c1", 0), 0);
    pr_limiter_destroy(&self);
}

Test(limiter, is_bounded_and_forgets_who_was_wrong_longest_ago)
{
    pr_limiter_t *self = new_limiter(2);
    pr_ip_t a = ip("203.0.113.1"), b = ip("203.0.113.2"), c = ip("203.0.113.3");
    for (int i = 0; i < 3; i++) {
        (void)pr_limiter_take(self, &b, "c1", 0);
        (void)pr_limiter_take(self, &a, "c1", 0);
    }
    (void)pr_limiter_take(self, &c, "c1", 0);
    cr_expect_eq(pr_limiter_count(self), 2);
    cr_expect_eq(pr_limiter_wait_ms(self, &b, "c1", 0), 0, "forgotten");
    cr_expect_gt(pr_limiter_wait_ms(self, &a, "c1", 0), 0);
    pr_limiter_destroy(&self);
}
