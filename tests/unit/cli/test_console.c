/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/console.h"

#include <criterion/criterion.h>

TestSuite(console, .timeout = 300);

Test(console, times_are_utc_with_milliseconds)
{
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {1764460800123456, "2025-11-30T00:00:00.123Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {-1000000, "1969-12-31T23:59:59.000Z"},
        {951782400000000, "2000-02-29T00:00:00.000Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[PR_CONSOLE_TIME_MAX];
        pr_console_time(cases[i].us, text);
        cr_assert_str_eq(text, cases[i].text);
    }
}
