/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "sandbox/temper.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(temper, .timeout = 300);

Test(temper, reads_what_it_should)
{
    static const struct {
        const char *spec, *why;
        pr_temper_kind_t kind;
        int code;
        int64_t ms;
        uint32_t ppm;
        uint64_t count, more;
        bool date;
        const char *text;
    } cases[] = {
        {"prompt", "no argument", PR_TEMPER_PROMPT, 0, 0, 0, 0, 0, false, ""},
        {"slow:200ms", "milliseconds", PR_TEMPER_SLOW, 0, 200, 0, 0, 0, false, ""},
        {"slow:3", "a bare number is seconds", PR_TEMPER_SLOW, 0, 3000, 0, 0, 0, false, ""},
        {"slow%3A2m", "escaped, as in a path", PR_TEMPER_SLOW, 0, 120000, 0, 0, 0, false, ""},
        {"flaky:0.3", "a share", PR_TEMPER_FLAKY, 500, 0, 300000, 0, 0, false, ""},
        {"flaky:.000001:502", "the smallest share", PR_TEMPER_FLAKY, 502, 0, 1, 0, 0, false, ""},
        {"flaky:1", "always", PR_TEMPER_FLAKY, 500, 0, 1000000, 0, 0, false, ""},
        {"refuse", "default code", PR_TEMPER_REFUSE, 500, 0, 0, 0, 0, false, ""},
        {"refuse:404", "a code", PR_TEMPER_REFUSE, 404, 0, 0, 0, 0, false, ""},
        {"redirect:307:http://x:1/y", "a URL keeps its colons", PR_TEMPER_REDIRECT, 307, 0, 0, 0, 0,
         false, "http://x:1/y"},
        {"throttle", "all defaults", PR_TEMPER_THROTTLE, 429, 2000, 0, 10, 0, false, ""},
        {"throttle:503:1s:4:date", "all given", PR_TEMPER_THROTTLE, 503, 1000, 0, 4, 0, true, ""},
        {"flip:3:2:502", "two counts and a code", PR_TEMPER_FLIP, 502, 0, 0, 3, 2, false, ""},
        {"fail-first:2", "a name with a dash", PR_TEMPER_FAIL_FIRST, 500, 0, 0, 2, 0, false, ""},
        {"answer:200:{\"code\":\"OK\"}", "text to the end", PR_TEMPER_ANSWER, 200, 0, 0, 0, 0,
         false, "{\"code\":\"OK\"}"},
        {"raw:a%0d%0a", "control bytes", PR_TEMPER_RAW, 0, 0, 0, 0, 0, false, "a\r\n"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_temper_t got;
        pr_error_t error = {0};
        pr_rc_t rc = pr_temper_parse(cases[i].spec, strlen(cases[i].spec), &got, &error);
        cr_assert_eq(rc, PR_OK, "%s: %s", cases[i].spec, error.text);
        cr_expect_eq(got.kind, cases[i].kind, "%s", cases[i].why);
        cr_expect_eq(got.code, cases[i].code, "%s", cases[i].why);
        cr_expect_eq(got.ms, cases[i].ms, "%s", cases[i].why);
        cr_expect_eq(got.ppm, cases[i].ppm, "%s", cases[i].why);
        cr_expect_eq(got.count, cases[i].count, "%s", cases[i].why);
        cr_expect_eq(got.more, cases[i].more, "%s", cases[i].why);
        cr_expect_eq(got.date, cases[i].date, "%s", cases[i].why);
        if (cases[i].kind != PR_TEMPER_REDIRECT || cases[i].text[0]) {
            cr_expect_str_eq(got.text, cases[i].text, "%s", cases[i].why);
        }
    }
}

Test(temper, refuses_the_rest_and_changes_nothing)
{
    static const char *const cases[] = {
        "",
        "angry",
        "Prompt",
        "prompt:1",
        "slow",
        "slow:",
        "slow:x",
        "slow:5y",
        "slow:-1s",
        "slow:99999999999999999999",
        "flaky",
        "flaky:1.1",
        "flaky:2",
        "flaky:a",
        "refuse:99",
        "refuse:1000",
        "refuse:500:1",
        "throttle:429:2s:3:soon",
        "flip:1:x",
        "answer",
        "raw",
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_temper_t got = {.kind = PR_TEMPER_GONE, .code = 7};
        pr_error_t error = {0};
        cr_expect_eq(pr_temper_parse(cases[i], strlen(cases[i]), &got, &error), PR_BAD, "'%s'",
                     cases[i]);
        cr_expect(error.text[0] != '\0', "'%s' is refused without a reason", cases[i]);
        cr_expect(got.kind == PR_TEMPER_GONE && got.code == 7, "'%s' left a trace", cases[i]);
    }
    char longest[PR_TEMPER_TEXT_MAX + 2];
    memset(longest, 'a', sizeof(longest));
    memcpy(longest, "raw:", 4);
    pr_temper_t got;
    cr_expect_eq(pr_temper_parse(longest, PR_TEMPER_TEXT_MAX, &got, NULL), PR_OK);
    cr_expect_eq(pr_temper_parse(longest, PR_TEMPER_TEXT_MAX + 1, &got, NULL), PR_BAD);
}

Test(temper, every_row_of_the_help_has_a_name_that_parses_back)
{
    const char *usage = NULL, *help = NULL;
    size_t i = 0;
    for (; pr_temper_describe(i, &usage, &help); i++) {
        cr_expect(strlen(help) > 0, "%s", usage);
    }
    cr_expect_eq(i, (size_t)PR_TEMPER_RAW, "one row for each kind");
    for (int kind = PR_TEMPER_PROMPT; kind <= PR_TEMPER_RAW; kind++) {
        cr_expect(strcmp(pr_temper_name((pr_temper_kind_t)kind), "none") != 0, "kind %d", kind);
    }
}
