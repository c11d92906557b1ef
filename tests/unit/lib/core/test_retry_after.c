/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/retry_after.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

TestSuite(retry_after, .timeout = 300);

#define SUNDAY_1994 784111777 /* Sun, 06 Nov 1994 08:49:37 GMT, RFC 9110's own example */
#define DAY_MS PR_RETRY_AFTER_CAP_MS

Test(retry_after, reads_seconds_and_dates_and_refuses_the_rest)
{
    static const struct {
        const char *value;
        int64_t ms; /* -1: nothing was asked */
        const char *sentence;
    } cases[] = {
        {"120", 120000, "seconds"},
        {"0", 0, "at once is an answer"},
        {" 5\t", 5000, "space around is no part of it"},
        {"86400", DAY_MS, "a day is just allowed"},
        {"86401", DAY_MS, "more is capped"},
        {"99999999999999999999999999", DAY_MS, "whatever its length"},
        {"Sun, 06 Nov 1994 08:49:47 GMT", 10000, "the preferred form"},
        {"Sunday, 06-Nov-94 08:49:47 GMT", 10000, "RFC 850"},
        {"Sun Nov  6 08:49:47 1994", 10000, "asctime, day with a space"},
        {"Wed Nov 16 08:49:47 1994", DAY_MS, "asctime, day with two digits"},
        {"Sun, 06 Nov 1994 08:49:37 GMT", 0, "now"},
        {"Sun, 06 Nov 1994 08:49:36 GMT", 0, "a moment ago: come at once"},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0, "long ago"},
        {"Fri, 31 Dec 9999 23:59:60 GMT", DAY_MS, "the last leap second there is"},
        {"Mon, 29 Feb 2000 00:00:00 GMT", DAY_MS,
         "2000 was a leap year (and a Tuesday: days of "
         "the week are not checked)"},
        {"", -1, "empty"},
        {"-1", -1, "negative"},
        {"+1", -1, "signed"},
        {"1.5", -1, "a fraction"},
        {"1e3", -1, "an exponent"},
        {"12 34", -1, "two numbers"},
        {"120s", -1, "a unit"},
        {"soon", -1, "a word"},
        {"Sun, 06 Nov 1994 08:49:47 UTC", 10000, "the same zone under its other name"},
        {"Sun, 06 Nov 1994 08:49:47 gmt", 10000, "in small letters"},
        {"Sun, 6 Nov 1994 08:49:47 GMT", 10000, "one digit of day"},
        {"SUN, 06 nov 1994 08:49:47 Utc", 10000, "any case"},
        {"Sunday, 6-NOV-94 08:49:47 utc", 10000, "RFC 850 as loosely"},
        {"Sun Nov 6 08:49:47 1994", 10000, "asctime without the padding"},
        {"Sun, 06 Nov 1994 08:49:37 EST", -1, "another zone"},
        {"Sun, 06 Nov 1994 08:49:37", -1, "no zone"},
        {"Sun,  6 Nov 1994 08:49:37 GMT", -1, "padding where none belongs"},
        {"Sun, 006 Nov 1994 08:49:37 GMT", -1, "three digits of day"},
        {"2.5", -1, "another fraction"},
        {"3s", -1, "another unit"},
        {"06 Nov 1994 08:49:37 GMT", -1, "no day of the week"},
        {"Sun, 31 Nov 1994 08:49:37 GMT", -1, "no such day"},
        {"Thu, 29 Feb 1900 00:00:00 GMT", -1, "1900 was none"},
        {"Sun, 00 Nov 1994 08:49:37 GMT", -1, "day zero"},
        {"Sun, 06 Nov 1994 24:00:00 GMT", -1, "hour 24"},
        {"Sun, 06 Nov 1994 08:60:00 GMT", -1, "minute 60"},
        {"Sun, 06 Nov 1994 08:49:61 GMT", -1, "second 61"},
        {"Sun, 06 Nov 1994 08:49:37 GMT+1", -1, "something after"},
        {"1994-11-06T08:49:37Z", -1, "RFC 3339 is not HTTP"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        int64_t ms = -1;
        bool ok = pr_retry_after_parse(pr_bytes_text(cases[i].value), SUNDAY_1994, DAY_MS, &ms);
        cr_expect_eq(ok, cases[i].ms >= 0, "'%s': %s", cases[i].value, cases[i].sentence);
        cr_expect_eq(ms, cases[i].ms, "'%s': %s", cases[i].value, cases[i].sentence);
    }
}

Test(retry_after, an_absent_header_asks_for_nothing)
{
    int64_t ms = 7;
    cr_assert_not(pr_retry_after_parse(pr_bytes_text(NULL), SUNDAY_1994, DAY_MS, &ms));
    cr_assert_eq(ms, 7);
}

Test(retry_after, a_two_digit_year_is_never_more_than_fifty_years_ahead)
{
    int64_t seconds, in_2026 = 1795000000; /* November 2026 */
    cr_assert(
        pr_http_date_parse(pr_bytes_text("Sunday, 06-Nov-76 08:49:37 GMT"), in_2026, &seconds));
    cr_assert_gt(seconds, in_2026, "76 is 2076");
    cr_assert(
        pr_http_date_parse(pr_bytes_text("Sunday, 06-Nov-94 08:49:37 GMT"), in_2026, &seconds));
    cr_assert_eq(seconds, SUNDAY_1994, "94 is 1994");
    cr_assert(
        pr_http_date_parse(pr_bytes_text("Sunday, 29-Feb-28 00:00:00 GMT"), in_2026, &seconds));
    cr_assert_gt(seconds, in_2026, "28 is 2028, a leap year");
}

/* The C library is the other opinion. */
Test(retry_after, dates_agree_with_the_c_library_over_four_centuries)
{
    uint64_t state = 5;
    for (int i = 0; i < 20000; i++) {
        int64_t wanted = (int64_t)prng_below(&state, 13000000000u), seconds = -1;
        time_t t = (time_t)wanted;
        struct tm tm;
        char imf[64], asc[64];
        gmtime_r(&t, &tm);
        strftime(imf, sizeof imf, "%a, %d %b %Y %H:%M:%S GMT", &tm);
        strftime(asc, sizeof asc, "%a %b %e %H:%M:%S %Y", &tm);
        cr_assert(pr_http_date_parse(pr_bytes_text(imf), 0, &seconds), "%s", imf);
        cr_assert_eq(seconds, wanted, "%s: %" PRId64, imf, seconds);
        cr_assert(pr_http_date_parse(pr_bytes_text(asc), 0, &seconds), "%s", asc);
        cr_assert_eq(seconds, wanted, "%s", asc);
    }
}

Test(retry_after, rfc_850_agrees_too_within_fifty_years)
{
    uint64_t state = 6;
    int64_t now = 1795000000;
    for (int i = 0; i < 20000; i++) {
        int64_t wanted = now + (int64_t)prng_below(&state, 1500000000) - 750000000, seconds = -1;
        time_t t = (time_t)wanted;
        struct tm tm;
        char day[32], time_of_day[32], text[96];
        gmtime_r(&t, &tm);
        strftime(day, sizeof day, "%A, %d-%b", &tm);
        strftime(time_of_day, sizeof time_of_day, "%H:%M:%S", &tm);
        snprintf(text, sizeof text, "%s-%02d %s GMT", day, tm.tm_year % 100, time_of_day);
        cr_assert(pr_http_date_parse(pr_bytes_text(text), now, &seconds), "%s", text);
        cr_assert_eq(seconds, wanted, "%s", text);
    }
}
