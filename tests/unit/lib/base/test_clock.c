/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(clock, .timeout = 300);

Test(clock, monotonic_time_never_goes_back_and_units_agree)
{
    int64_t last = 0;
    for (int i = 0; i < 1000; i++) {
        int64_t us = pr_clock_mono_us();
        cr_assert_geq(us, last);
        last = us;
    }
    int64_t before = pr_clock_mono_us() / 1000, ms = pr_clock_mono_ms();
    cr_assert_leq(before, ms);
    cr_assert_leq(ms, pr_clock_mono_us() / 1000);
}

Test(clock, wall_time_is_of_this_century)
{
    int64_t s = pr_clock_wall_s();
    cr_assert_gt(s, 1700000000);
    cr_assert_leq(s, pr_clock_wall_us() / 1000000);
}

Test(clock, random_bytes_fill_the_whole_length_and_differ)
{
    uint8_t one[600] = {0}, two[600] = {0};
    int zeros = 0;
    pr_random_bytes(one, sizeof one);
    pr_random_bytes(two, sizeof two);
    cr_assert_neq(memcmp(one, two, sizeof one), 0);
    for (size_t i = 0; i < sizeof one; i++)
        zeros += one[i] == 0;
    cr_assert_lt(zeros, 30, "2.3 are expected");
    cr_assert_neq(pr_random_u64(), pr_random_u64());
}
