/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/duration.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(duration, .timeout = 300);

Test(duration, reads_what_people_write)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
        const char *sentence;
    } cases[] = {
        {"250ms", 250, "milliseconds"},
        {"5s", 5000, "seconds"},
        {"10m", 600000, "minutes, not months or milliseconds"},
        {"6h", 21600000, "hours"},
        {"3d", 259200000, "days"},
        {"0", 0, "zero needs no unit"},
        {"0s", 0, "but may have one"},
        {"007s", 7000, "leading zeros mean nothing"},
        {"36500d", PR_DURATION_MAX_MS, "a hundred years is the most"},
        {"36501d", -1, "more is refused"},
        {"99999999999999999999999s", -1, "so is what would overflow"},
        {"", -1, "nothing is no duration"},
        {"5", -1, "a bare number has no unit"},
        {"s", -1, "a bare unit has no number"},
        {"-5s", -1, "no sign"},
        {"1.5s", -1, "no fraction"},
        {"5 s", -1, "no space"},
        {"5S", -1, "units are lower case"},
        {"5s5", -1, "nothing follows"},
        {"1h30m", -1, "one unit only"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        int64_t ms = -1;
        bool ok = pr_duration_parse(cases[i].text, strlen(cases[i].text), &ms);
        cr_expect_eq(ok, cases[i].ms >= 0, "'%s': %s", cases[i].text, cases[i].sentence);
        cr_expect_eq(ms, cases[i].ms, "'%s': %s", cases[i].text, cases[i].sentence);
    }
}

Test(duration, writes_the_largest_unit_that_loses_nothing)
{
    char text[PR_DURATION_TEXT_MAX];
    pr_duration_format(90000, text);
    cr_assert_str_eq(text, "90s");
    pr_duration_format(86400000, text);
    cr_assert_str_eq(text, "1d");
    pr_duration_format(0, text);
    cr_assert_str_eq(text, "0s");
    pr_duration_format(1001, text);
    cr_assert_str_eq(text, "1001ms");
}

Test(duration, what_is_written_reads_back)
{
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        char text[PR_DURATION_TEXT_MAX];
        int64_t ms = (int64_t)(prng_next(&state) >> (20 + prng_below(&state, 40))), back = -1;
        if (ms > PR_DURATION_MAX_MS)
            continue;
        pr_duration_format(ms, text);
        cr_assert(pr_duration_parse(text, strlen(text), &back), "%s", text);
        cr_assert_eq(back, ms, "%s", text);
    }
}
