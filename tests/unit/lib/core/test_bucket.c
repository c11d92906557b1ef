/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bucket.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

TestSuite(bucket, .timeout = 300);

static int drain(pr_bucket_t *bucket, int64_t now_ms)
{
    int taken = 0;
    while (taken < 100000 && pr_bucket_take(bucket, now_ms))
        taken++;
    return taken;
}

Test(bucket, starts_empty_for_a_new_owner_and_fills_up_to_its_burst)
{
    pr_bucket_t bucket;
    pr_bucket_init(&bucket, 10, 5, 1000);
    cr_assert_not(pr_bucket_take(&bucket, 1000));
    cr_assert_eq(pr_bucket_next_ms(&bucket, 1000), 1100);
    cr_assert_not(pr_bucket_take(&bucket, 1099));
    cr_assert(pr_bucket_take(&bucket, 1100));
    cr_assert_not(pr_bucket_take(&bucket, 1100));
    cr_assert_eq(drain(&bucket, 1000000), 5, "never more than the burst");
}

Test(bucket, the_next_time_is_the_first_at_which_a_token_is_there)
{
    uint64_t state = 1;
    for (int i = 0; i < 2000; i++) {
        pr_bucket_t bucket;
        int64_t now = (int64_t)prng_below(&state, 1000000);
        pr_bucket_init(&bucket, 0.01 + (double)prng_below(&state, 100000) / 100,
                       (uint32_t)prng_below(&state, 5), now);
        now += (int64_t)prng_below(&state, 1000);
        drain(&bucket, now);
        int64_t next = pr_bucket_next_ms(&bucket, now);
        cr_assert_gt(next, now);
        pr_bucket_t early = bucket;
        cr_assert_not(pr_bucket_take(&early, next - 1));
        cr_assert(pr_bucket_take(&bucket, next));
    }
}

Test(bucket, over_any_time_at_most_burst_and_rate_times_time_leave)
{
    uint64_t state = 2;
    for (int round = 0; round < 50; round++) {
        pr_bucket_t bucket;
        uint32_t burst = 1 + (uint32_t)prng_below(&state, 20);
        double rate = 1 + (double)prng_below(&state, 500);
        int64_t now = 5000, start = now;
        int taken = 0;
        pr_bucket_init(&bucket, rate, burst, now);
        while (now < start + 20000) {
            taken += drain(&bucket, now);
            now += (int64_t)prng_below(&state, 50);
        }
        double most = rate * (double)(now - start) / 1000 + 1;
        cr_assert_leq(taken, (int)most + 1, "rate %f burst %u: %d", rate, burst, taken);
        if (burst >= rate * 0.05) /* else tokens overflow between two of our visits */
            cr_assert_geq(taken, (int)(most * 0.95) - 1, "and nothing is kept back");
    }
}

Test(bucket, unlimited_is_unlimited)
{
    static const double rates[] = {0, -1, -0.0};
    for (int i = 0; i < 3; i++) {
        pr_bucket_t bucket;
        pr_bucket_init(&bucket, rates[i], 1, 1000);
        cr_assert_eq(drain(&bucket, 1000), 100000);
        cr_assert_eq(pr_bucket_next_ms(&bucket, 1000), 1000);
    }
    pr_bucket_t bucket;
    pr_bucket_init(&bucket, 0.0 / 0.0, 1, 1000);
    cr_assert(pr_bucket_take(&bucket, 1000), "so is a rate that is no number");
}

Test(bucket, slow_and_fast_rates_are_clamped_not_overflowed)
{
    pr_bucket_t bucket;
    pr_bucket_init(&bucket, 1e-300, UINT32_MAX, 1000);
    cr_assert_not(pr_bucket_take(&bucket, 1000));
    cr_assert_eq(pr_bucket_next_ms(&bucket, 1000), 1000 + 10000000, "one in 10,000 s");
    pr_bucket_init(&bucket, 1e300, UINT32_MAX, 1000);
    cr_assert_eq(drain(&bucket, 1001), 1000, "a million a second");
}

Test(bucket, a_token_given_back_is_there_again_but_never_more_than_the_burst)
{
    pr_bucket_t bucket;
    pr_bucket_init(&bucket, 1, 2, 0);
    cr_assert(pr_bucket_take(&bucket, 1000));
    cr_assert_not(pr_bucket_take(&bucket, 1000));
    pr_bucket_give_back(&bucket);
    cr_assert(pr_bucket_take(&bucket, 1000));
    pr_bucket_give_back(&bucket);
    pr_bucket_give_back(&bucket);
    cr_assert_eq(drain(&bucket, 60000), 2);
}

Test(bucket, a_changed_limit_keeps_what_is_there)
{
    pr_bucket_t bucket;
    pr_bucket_init(&bucket, 10, 10, 0);
    pr_bucket_change(&bucket, 1, 3, 500); /* 5 tokens are there */
    cr_assert_eq(drain(&bucket, 500), 3, "up to the new burst");
    cr_assert_eq(pr_bucket_next_ms(&bucket, 500), 1500);
    pr_bucket_change(&bucket, 100, 50, 500);
    cr_assert_eq(drain(&bucket, 500), 0, "an empty one stays empty");
    pr_bucket_change(&bucket, 0, 1, 500);
    cr_assert(pr_bucket_take(&bucket, 500));
    pr_bucket_change(&bucket, 5, 5, 500);
    cr_assert_eq(drain(&bucket, 500), 0, "from unlimited to limited it starts empty");
}

Test(bucket, a_clock_that_goes_back_gains_nothing)
{
    pr_bucket_t bucket;
    pr_bucket_init(&bucket, 1, 5, 100000);
    cr_assert_eq(drain(&bucket, 105000), 5);
    cr_assert_eq(drain(&bucket, 50000), 0);
    cr_assert_eq(drain(&bucket, 105000), 0);
}

Test(bucket, tells_how_many_tokens_will_be_there)
{
    pr_bucket_t bucket;
    pr_bucket_init(&bucket, 10, 5, 0);
    cr_assert_eq(pr_bucket_within(&bucket, 0, 99), 0);
    cr_assert_eq(pr_bucket_within(&bucket, 0, 100), 1);
    cr_assert_eq(pr_bucket_within(&bucket, 0, 1000), 10,
                 "more than the burst: each is taken at once");
    cr_assert_eq(pr_bucket_within(&bucket, 60000, 0), 5, "a full one has its burst");
    cr_assert_eq(pr_bucket_within(&bucket, 60000, 100), 6);
    cr_assert_eq(drain(&bucket, 60000), 5);
    cr_assert_eq(pr_bucket_within(&bucket, 60000, 100), 1);
    pr_bucket_init(&bucket, 10, 5, 90000);
    cr_assert_eq(pr_bucket_within(&bucket, 60000, 29999), 0, "empty until then");
    pr_bucket_init(&bucket, 0, 5, 0);
    cr_assert_eq(pr_bucket_within(&bucket, 0, 0), UINT32_MAX);
}
