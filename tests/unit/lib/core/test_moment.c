/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/moment.h"

#include <criterion/criterion.h>

TestSuite(moment, .timeout = 300);

#define S INT64_C(1000000)
#define BEIJING 480

Test(moment, reads_each_format_and_refuses_the_rest)
{
    static const struct {
        const char *text;
        pr_moment_format_t format;
        int64_t us; /* -1: refused */
        const char *sentence;
    } cases[] = {
        {"1970-01-01T00:00:00Z", PR_MOMENT_RFC3339, 0, "the beginning"},
        {"2018-06-08T10:34:56+08:00", PR_MOMENT_RFC3339, 1528425296 * S, "WeChat"},
        {"2016-06-15T21:57:10Z", PR_MOMENT_RFC3339, 1466027830 * S, "PayPal"},
        {"2021-01-01T01:00:00+0100", PR_MOMENT_RFC3339, 1609459200 * S, "no colon"},
        {"2020-12-31T16:00:00-08:00", PR_MOMENT_RFC3339, 1609459200 * S, "west"},
        {"2024-02-29T00:00:00.123456789Z", PR_MOMENT_RFC3339, 1709164800 * S + 123456, "fraction"},
        {"2016-12-31T23:59:60Z", PR_MOMENT_RFC3339, 1483228800 * S, "a leap second"},
        {"9999-12-31T23:59:59Z", PR_MOMENT_RFC3339, 253402300799 * S, "the end"},
        {"2026-11-30t12:00:00z", PR_MOMENT_RFC3339, 1796040000 * S, "small letters"},
        {"2026-11-30T12:00:00", PR_MOMENT_RFC3339, -1, "no zone"},
        {"2026-11-30 12:00:00Z", PR_MOMENT_RFC3339, -1, "a space"},
        {"2026-02-31T00:00:00Z", PR_MOMENT_RFC3339, -1, "31 February"},
        {"2025-02-29T00:00:00Z", PR_MOMENT_RFC3339, -1, "no leap year"},
        {"2100-02-29T00:00:00Z", PR_MOMENT_RFC3339, -1, "no leap year either"},
        {"2026-13-01T00:00:00Z", PR_MOMENT_RFC3339, -1, "month 13"},
        {"2026-00-01T00:00:00Z", PR_MOMENT_RFC3339, -1, "month 0"},
        {"2026-01-01T24:00:00Z", PR_MOMENT_RFC3339, -1, "hour 24"},
        {"2026-01-01T00:00:00.Z", PR_MOMENT_RFC3339, -1, "an empty fraction"},
        {"2026-01-01T00:00:00.1234567890Z", PR_MOMENT_RFC3339, -1, "ten digits"},
        {"2026-01-01T00:00:00+14:01", PR_MOMENT_RFC3339, -1, "no such zone"},
        {"2026-01-01T00:00:00Zx", PR_MOMENT_RFC3339, -1, "something behind it"},
        {"1969-12-31T23:59:59Z", PR_MOMENT_RFC3339, -1, "before the beginning"},
        {"1970-01-01T00:00:00+00:01", PR_MOMENT_RFC3339, -1, "before it, by its zone"},
        {"", PR_MOMENT_RFC3339, -1, "nothing"},
        {"2018-06-08 10:34:56", PR_MOMENT_LOCAL, 1528425296 * S, "Alipay, in Beijing"},
        {"2018-06-08 10\xef\xbc\x9a"
         "34:56",
         PR_MOMENT_LOCAL, -1, "a full-width colon"},
        {"2018-06-08T10:34:56", PR_MOMENT_LOCAL, -1, "a T"},
        {"2018-06-08 10:34", PR_MOMENT_LOCAL, -1, "no seconds"},
        {"1795000000", PR_MOMENT_UNIX, 1795000000 * S, "Stripe"},
        {"0", PR_MOMENT_UNIX, 0, "the beginning"},
        {"253402300800", PR_MOMENT_UNIX, -1, "year 10000"},
        {"99999999999999999999", PR_MOMENT_UNIX, -1, "huge"},
        {"-1", PR_MOMENT_UNIX, -1, "a sign"},
        {"1.5", PR_MOMENT_UNIX, -1, "a fraction"},
        {"1795000000123", PR_MOMENT_UNIX_MS, 1795000000 * S + 123000, "milliseconds"},
        {"1795000000", PR_MOMENT_NONE, -1, "no format"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        int64_t us = -1;
        bool read = pr_moment_parse(pr_bytes_text(cases[i].text), cases[i].format, BEIJING, &us);
        cr_expect_eq(read, cases[i].us >= 0, "'%s': %s", cases[i].text, cases[i].sentence);
        cr_expect_eq(us, cases[i].us, "'%s': %s, got %lld", cases[i].text, cases[i].sentence,
                     (long long)us);
    }
}

Test(moment, writes_each_format)
{
    static const struct {
        int64_t us;
        pr_moment_format_t format;
        int zone_min;
        const char *text;
    } cases[] = {
        {1528425296 * S, PR_MOMENT_RFC3339, BEIJING, "2018-06-08T10:34:56+08:00"},
        {1528425296 * S, PR_MOMENT_RFC3339, 0, "2018-06-08T02:34:56Z"},
        {1528425296 * S, PR_MOMENT_RFC3339, -210, "2018-06-07T23:04:56-03:30"},
        {1528425296 * S, PR_MOMENT_LOCAL, BEIJING, "2018-06-08 10:34:56"},
        {1528425296 * S + 999999, PR_MOMENT_UNIX, 0, "1528425296"},
        {1528425296 * S + 999999, PR_MOMENT_UNIX_MS, 0, "1528425296999"},
        {-5, PR_MOMENT_RFC3339, 0, "1970-01-01T00:00:00Z"},
        {INT64_MAX, PR_MOMENT_RFC3339, BEIJING, "9999-12-31T23:59:59+08:00"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        char text[PR_MOMENT_TEXT_MAX];
        pr_moment_format(cases[i].us, cases[i].format, cases[i].zone_min, text);
        cr_expect_str_eq(text, cases[i].text);
    }
}

Test(moment, every_day_of_eight_centuries_reads_back)
{
    for (int64_t day = 0; day < 292194; day++) {
        char text[PR_MOMENT_TEXT_MAX];
        int64_t us = day * 86400 * S, back = -1;
        pr_moment_format(us, PR_MOMENT_RFC3339, 0, text);
        cr_assert(pr_moment_parse(pr_bytes_text(text), PR_MOMENT_RFC3339, 0, &back) && back == us,
                  "%s", text);
    }
}

Test(moment, reads_zones)
{
    int zone = -1;
    cr_expect(pr_moment_zone_parse("+08:00", &zone) && zone == 480);
    cr_expect(pr_moment_zone_parse("-03:30", &zone) && zone == -210);
    cr_expect(pr_moment_zone_parse("UTC", &zone) && zone == 0);
    zone = 7;
    static const char *const refused[] = {"", "8", "+8", "+15:00", "Asia/Shanghai", "+08:00x"};
    for (size_t i = 0; i < PR_COUNT(refused); i++)
        cr_expect(!pr_moment_zone_parse(refused[i], &zone) && zone == 7, "%s", refused[i]);
}
