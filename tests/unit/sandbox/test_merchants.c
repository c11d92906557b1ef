/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "sandbox/merchants.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(merchants, .timeout = 300);

static const char *temper_of(pr_merchants_t *merchants, const char *name)
{
    pr_merchant_t *merchant = pr_merchants_get(merchants, name, strlen(name));
    return merchant ? merchant->spec : "(none)";
}

Test(merchants, a_list_names_tempers_and_the_usual_one)
{
    pr_merchants_t *merchants = pr_merchants_new(10, 1);
    pr_error_t error = {0};
    cr_assert_eq(pr_merchants_load_spec(merchants, "a=prompt,b=slow:1s,*=refuse:503", &error),
                 PR_OK, "%s", error.text);
    cr_expect_str_eq(temper_of(merchants, "a"), "prompt");
    cr_expect_str_eq(temper_of(merchants, "b"), "slow:1s");
    cr_expect_str_eq(temper_of(merchants, "b/other"), "slow:1s", "a target of b's");
    cr_expect_str_eq(temper_of(merchants, "c"), "refuse:503");
    cr_expect_eq(pr_merchants_load_spec(merchants, "a", &error), PR_BAD);
    cr_expect_eq(pr_merchants_load_spec(merchants, "a=angry", &error), PR_BAD);
    cr_expect_eq(pr_merchants_load_spec(merchants, "a b=prompt", &error), PR_BAD);
    cr_expect_eq(pr_merchants_load_spec(merchants, "*=angry", &error), PR_BAD);
    cr_expect_str_eq(temper_of(merchants, "a"), "prompt", "a refused temper changes nothing");
    pr_merchants_destroy(&merchants);
}

Test(merchants, are_bounded_and_numbered)
{
    pr_merchants_t *merchants = pr_merchants_new(2, 1);
    pr_merchant_t *a = pr_merchants_get(merchants, "a", 1);
    pr_merchant_t *b = pr_merchants_get(merchants, "b", 1);
    cr_assert(a && b && a != b);
    cr_expect_null(pr_merchants_get(merchants, "c", 1), "full");
    cr_expect_eq(pr_merchants_get(merchants, "a", 1), a, "full, but known");
    cr_expect_eq(pr_merchants_at(merchants, 1), a);
    cr_expect_eq(pr_merchants_at(merchants, 2), b);
    cr_expect_null(pr_merchants_at(merchants, 0));
    cr_expect_null(pr_merchants_at(merchants, 3));
    pr_merchants_destroy(&merchants);
}

Test(merchants, a_name_is_short_and_plain)
{
    pr_merchants_t *merchants = pr_merchants_new(10, 1);
    char longest[PR_MERCHANT_NAME_MAX + 1];
    memset(longest, 'a', sizeof(longest));
    cr_expect_not_null(pr_merchants_get(merchants, longest, PR_MERCHANT_NAME_MAX));
    cr_expect_null(pr_merchants_get(merchants, longest, PR_MERCHANT_NAME_MAX + 1));
    static const char *const bad[] = {"", "a b", "a\"", "a\n", "\xc3\xa9", "a%20"};
    for (size_t i = 0; i < PR_COUNT(bad); i++) {
        cr_expect_null(pr_merchants_get(merchants, bad[i], strlen(bad[i])), "'%s'", bad[i]);
    }
    pr_merchants_destroy(&merchants);
}

static pr_rc_t load(pr_merchants_t *merchants, const char *json)
{
    char path[] = "/tmp/pr-merchants-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, json, strlen(json)), (ssize_t)strlen(json));
    close(fd);
    pr_error_t error = {0};
    pr_rc_t rc = pr_merchants_load_file(merchants, path, &error);
    cr_expect((rc == PR_OK) == (error.text[0] == '\0'), "%s", json);
    unlink(path);
    return rc;
}

Test(merchants, a_file_names_tempers_and_secrets)
{
    pr_merchants_t *merchants = pr_merchants_new(10, 1);
    cr_assert_eq(load(merchants,
                      "{\"a\":\"gone\",\"b\":{\"temper\":\"hang\",\"secrets\":[\"x\",\"y\"]},"
                      "\"*\":\"slow:1s\"}"),
                 PR_OK);
    cr_expect_str_eq(temper_of(merchants, "a"), "gone");
    pr_merchant_t *b = pr_merchants_find(merchants, "b", 1);
    cr_assert_not_null(b);
    cr_expect_str_eq(b->secrets[1], "y");
    cr_expect_null(b->secrets[2]);
    cr_expect_str_eq(temper_of(merchants, "z"), "slow:1s");
    static const char *const bad[] = {
        "",
        "[]",
        "{\"a\":1}",
        "{\"a\":{\"temper\":7}}",
        "{\"a\":\"angry\"}",
        "{\"a\":\"gone\",\"a\":\"hang\"}",
        "{\"a\":{\"temper\":\"gone\",\"secrets\":[\"1\",\"2\",\"3\",\"4\",\"5\"]}}",
    };
    for (size_t i = 0; i < PR_COUNT(bad); i++) {
        cr_expect_eq(load(merchants, bad[i]), PR_BAD, "%s", bad[i]);
    }
    pr_error_t error = {0};
    cr_expect_eq(pr_merchants_load_file(merchants, "/nowhere/at/all", &error), PR_BAD);
    pr_merchants_destroy(&merchants);
}

Test(merchants, forgetting_keeps_tempers_and_what_is_in_flight)
{
    pr_merchants_t *merchants = pr_merchants_new(10, 1);
    pr_merchant_t *a = pr_merchants_get(merchants, "a", 1);
    cr_assert_eq(pr_merchant_set_temper(a, "flip", 4, NULL), PR_OK);
    a->counts.requests = 5;
    a->served = 3;
    a->in_flight = 2;
    a->max_in_flight = 9;
    cr_expect_eq(pr_merchants_total(merchants).requests, 5);
    pr_merchants_forget(merchants);
    cr_expect_eq(pr_merchants_total(merchants).requests, 0);
    cr_expect_eq(a->served, 0);
    cr_expect_eq(a->in_flight, 2);
    cr_expect_eq(a->max_in_flight, 2);
    cr_expect_str_eq(a->spec, "flip");
    pr_merchants_destroy(&merchants);
}
