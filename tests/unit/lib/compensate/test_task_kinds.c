/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "compensate/task_kinds.h"
#include "tests/support/gateway.h"

#include <string.h>

TestSuite(task_kinds, .timeout = 300);

static pr_profile_dir_t *dir;
static pr_task_kinds_t *kinds;
static pr_error_t error;

static void begin(void)
{
    PR_CLEANUP_FREE char *profiles = gateway_file("profiles");
    dir = pr_profile_dir_new(profiles);
}

static void end(void)
{
    pr_task_kinds_destroy(&kinds);
    pr_profile_dir_destroy(&dir);
}

static pr_rc_t parse(const char *text)
{
    pr_task_kinds_destroy(&kinds);
    return pr_task_kinds_parse("tasks.yaml", pr_bytes_text(text), dir, 1.0, &kinds, &error);
}

#define HANDLER \
    "{profile: task, base_url: \"https://shop.example\", parameters: {path: deliver, secret: " \
    "0123456789abcdef}}"

Test(task_kinds, what_is_not_named_has_the_defaults, .init = begin, .fini = end)
{
    cr_assert_eq(parse(""), PR_OK, "%s", error.text);
    const pr_task_kind_t *kind = pr_task_kinds_find(kinds, "payment_callback");
    cr_expect_null(kind->handler);
    static const int64_t delays[] = {60000, 180000, 600000, 1800000, 3600000, 3600000};
    for (uint32_t n = 0; n < PR_COUNT(delays); n++)
        cr_expect_eq(pr_retry_delay_ms(&kind->retry, n + 1, 0), delays[n], "C4's list, %u", n);
    PR_CLEANUP_FREE char *json = pr_task_kinds_json(kinds);
    cr_expect_str_eq(json, "{}");
}

Test(task_kinds, a_kind_is_read_whole, .init = begin, .fini = end)
{
    cr_assert_eq(parse("delivery:\n"
                       "  second: {after: 2, own: true}\n"
                       "  retry: \"list:5s,10s\"\n"
                       "  limit: 3\n"
                       "  person: [OUT_OF_STOCK, unknown]\n"
                       "  handler: " HANDLER "\n"
                       "invoice: {limit: 4}\n"),
                 PR_OK, "%s", error.text);
    const pr_task_kind_t *kind = pr_task_kinds_find(kinds, "delivery");
    cr_expect_eq(kind->limit, 3);
    cr_expect_eq(kind->person_count, 2);
    cr_expect_eq(kind->retry.list_ms[1], 10000);
    cr_expect_str_eq(kind->handler->base_url, "https://shop.example");
    cr_expect_not(kind->handler->asks);
    cr_expect_eq(kind->second_after, 2);
    cr_expect_null(kind->second);
    PR_CLEANUP_FREE char *json = pr_task_kinds_json(kinds);
    cr_expect_str_eq(json,
                     "{\"delivery\":{\"handler\":\"http\",\"limit\":3},\"invoice\":{\"limit\":4}}");
}

Test(task_kinds, time_scale_shortens, .init = begin, .fini = end)
{
    cr_assert_eq(pr_task_kinds_parse("f", pr_bytes_text("k: {retry: \"list:10s\"}\n"), dir, 0.01,
                                     &kinds, &error),
                 PR_OK);
    cr_expect_eq(pr_task_kinds_find(kinds, "k")->retry.list_ms[0], 100);
    cr_expect_eq(pr_task_kinds_find(kinds, "other")->retry.list_ms[0], 600);
}

Test(task_kinds, what_is_wrong_is_said_with_its_line, .init = begin, .fini = end)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"- a\n", "tasks.yaml:1: kinds of tasks by name are wanted"},
        {"Delivery: {limit: 1}\n", "tasks.yaml:1: Delivery: a kind (a-z, 0-9, _)"},
        {"d:\n  tries: 3\n", "tasks.yaml:2: tries: retry, limit, person, handler and second"},
        {"d: {limit: 0}\n", "limit: a number of 1 to 1000 is wanted"},
        {"d: {limit: 3x}\n", "limit: a number of 1 to 1000 is wanted"},
        {"d: {retry: \"list:\"}\n", "retry: "},
        {"d: {person: OUT}\n", "person: a list of codes is wanted"},
        {"d: {handler: shop}\n", "handler: profile, base_url and parameters are wanted"},
        {"d: {handler: {base_url: \"https://x\"}}\n", "profile: the name of a profile is wanted"},
        {"d: {handler: {profile: ../x, base_url: \"https://x\"}}\n", "there is no profile"},
        {"d: {handler: {profile: alipay, base_url: \"https://x\"}}\n", "has no operation act"},
        {"d: {handler: {profile: task, base_url: \"https://x/path\"}}\n", "base_url: http(s)://"},
        {"d: {handler: {profile: task, base_url: ftp://x}}\n", "base_url: http(s)://"},
        {"d: {handler: {profile: task, base_url: \"https://x\"}}\n", "handler: "},
        {"d: {handler: {profile: task, base_url: \"https://x\", url: y}}\n", "url: unknown key"},
        {"d: {handler: {profile: task, base_url: \"https://x\", parameters: {path: p, secret: "
         "{file: /nowhere/at/all}}}}\n",
         "/nowhere/at/all: No such file"},
        {"d: {second: {after: 1, own: true}}\n", "own: true stands alone beside after"},
        {"d: {second: {own: true}}\n", "after: the number of failed tries"},
        {"d: &a {limit: 1}\ne: *a\n", "not allowed here"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        memset(&error, 0, sizeof error);
        cr_expect_eq(parse(cases[i].text), PR_BAD, "%s", cases[i].text);
        cr_expect_not_null(strstr(error.text, cases[i].says), "%s says \"%s\"", cases[i].text,
                           error.text);
        cr_expect_null(strstr(error.text, "0123456789abcdef"), "no secret is told");
    }
}

Test(task_kinds, a_file_that_is_not_there, .init = begin, .fini = end)
{
    cr_expect_eq(pr_task_kinds_load("/nowhere/tasks.yaml", dir, 1.0, &kinds, &error), PR_BAD);
    cr_expect_not_null(strstr(error.text, "/nowhere/tasks.yaml"));
    cr_expect_eq(pr_task_kinds_load("", dir, 1.0, &kinds, &error), PR_OK, "none is named");
}
