/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/retry.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

TestSuite(retry, .timeout = 300);

static pr_retry_policy_t must(const char *text)
{
    pr_retry_policy_t policy;
    pr_error_t error;
    cr_assert_eq(pr_retry_parse(text, &policy, &error), PR_OK, "%s: %s", text, error.text);
    return policy;
}

Test(retry, reads_every_kind_and_its_delays_without_jitter)
{
    static const struct {
        const char *text;
        uint32_t retries;
        int64_t delays_s[8];
    } cases[] = {
        {"list:5s,30s,5m,30m,1h,2h,6h,24h;jitter=0%",
         8,
         {5, 30, 300, 1800, 3600, 7200, 21600, 86400}},
        {"list:0,1s;jitter=0%", 2, {0, 1}},
        {"fixed:5s*5;jitter=0%", 5, {5, 5, 5, 5, 5}},
        {"linear:5s*3;jitter=0%", 3, {5, 10, 15}},
        {"exponential:1s..6h*6;jitter=0%", 6, {1, 2, 4, 8, 16, 32}},
        {"exponential:1s..5s*5;jitter=0%", 5, {1, 2, 4, 5, 5}},
        {"exponential-jitter:1s..6h*5;jitter=0ms", 5, {1, 2, 4, 8, 16}},
        {"linear:10s*4;cap=25s;jitter=0%", 4, {10, 20, 25, 25}},
        {" list : 5s , 30s ; jitter = 0% ", 2, {5, 30}},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_retry_policy_t policy = must(cases[i].text);
        cr_expect_eq(policy.retries, cases[i].retries, "%s", cases[i].text);
        for (uint32_t attempt = 1; attempt <= policy.retries; attempt++)
            cr_expect_eq(pr_retry_delay_ms(&policy, attempt, UINT64_MAX),
                         cases[i].delays_s[attempt - 1] * 1000, "%s, after try %u", cases[i].text,
                         attempt);
    }
}

Test(retry, refuses_what_it_does_not_understand_and_says_where)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"", "nothing"},
        {"5s,30s", "no kind"},
        {"lists:5s", "an unknown kind"},
        {"List:5s", "another case"},
        {"list:", "an empty list"},
        {"list:5s,", "a trailing comma"},
        {"list:5s,,6s", "a hole"},
        {"list:5", "no unit"},
        {"list:-5s", "a negative delay"},
        {"list:5s*3", "a count on a list"},
        {"list:31d", "more than 30 days"},
        {"fixed:5s", "no number of retries"},
        {"fixed:5s*0", "no retries at all"},
        {"fixed:5s*1001", "more than a thousand"},
        {"fixed:5s*-1", "a negative number"},
        {"fixed:5s*3x", "something after the number"},
        {"fixed:0*3", "no delay"},
        {"fixed:5s..6h*3", "a range where one delay belongs"},
        {"exponential:1s*3", "no cap"},
        {"exponential:6h..1s*3", "a cap below the base"},
        {"exponential:1s..0*3", "a cap of nothing"},
        {"fixed:5s*3;cap=1s", "a cap below the base is caught in options, too"},
        {"exponential:1s..6h*3;cap=5h", "two caps"},
        {"fixed:5s*3;jitter=101%", "more than all of it"},
        {"fixed:5s*3;jitter=10", "neither % nor a unit"},
        {"fixed:5s*3;jitter=+-5s", "both ways only as a percentage"},
        {"fixed:5s*3;jitter=1%;jitter=1%", "twice"},
        {"fixed:5s*3;speed=1", "an unknown option"},
        {"fixed:5s*3;", "an empty option"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_retry_policy_t policy = {.retries = 77};
        pr_error_t error = {0};
        cr_expect_eq(pr_retry_parse(cases[i].text, &policy, &error), PR_BAD, "'%s': %s",
                     cases[i].text, cases[i].sentence);
        cr_expect_eq(policy.retries, 77, "a refusal changes nothing");
        cr_expect_neq(error.text[0], '\0', "'%s' is refused without a word", cases[i].text);
    }
}

Test(retry, a_list_has_at_most_64_delays)
{
    char text[512];
    size_t len = (size_t)snprintf(text, sizeof text, "list:1s");
    pr_retry_policy_t policy;
    for (int i = 1; i < PR_RETRY_LIST_MAX; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, ",1s");
    cr_assert_eq(must(text).retries, PR_RETRY_LIST_MAX);
    snprintf(text + len, sizeof text - len, ",1s");
    cr_assert_eq(pr_retry_parse(text, &policy, NULL), PR_BAD);
}

Test(retry, the_default_is_nine_tries_over_33_hours_36_minutes)
{
    pr_retry_policy_t policy = pr_retry_notification();
    int64_t sum = 0;
    cr_assert_eq(policy.retries, 8);
    cr_assert_eq(policy.jitter_percent, 10);
    cr_assert_not(policy.jitter_both_ways, "a notification is never early");
    for (uint32_t attempt = 1; attempt <= 8; attempt++)
        sum += pr_retry_delay_ms(&policy, attempt, 0);
    cr_assert_eq(sum, (33 * 60 + 35) * 60000 + 35000, "33 h 35 min 35 s, N8 rounds up");
}

Test(retry, counts_retries_not_tries)
{
    pr_retry_policy_t policy = must("fixed:1s*2");
    cr_assert_not(pr_retry_exhausted(&policy, 0));
    cr_assert_not(pr_retry_exhausted(&policy, 1), "the first try failed: two retries are left");
    cr_assert_not(pr_retry_exhausted(&policy, 2), "one is left");
    cr_assert(pr_retry_exhausted(&policy, 3), "first try and two retries: done");
    cr_assert(pr_retry_exhausted(&policy, UINT32_MAX));
}

Test(retry, jitter_stays_in_its_bounds_reaches_both_and_the_cap_holds_after_it)
{
    static const struct {
        const char *text;
        int64_t low, high;
        const char *sentence;
    } cases[] = {
        {"fixed:10s*3", 10000, 11000, "10 % is added by default"},
        {"fixed:10s*3;jitter=50%", 10000, 15000, "a percentage is added"},
        {"fixed:10s*3;jitter=+-20%", 8000, 12000, "or added and taken off"},
        {"fixed:10s*3;jitter=+-100%", 0, 20000, "never below nothing"},
        {"fixed:10s*3;jitter=500ms", 10000, 10500, "or a span of time"},
        {"exponential-jitter:10s..6h*3", 10000, 10500, "as charges have it"},
        {"exponential:10s..10500ms*3;jitter=50%", 10000, 10500, "the cap holds after jitter"},
        {"fixed:10s*3;cap=10s", 10000, 10000, "a cap may leave no room for jitter"},
    };
    uint64_t state = 3;
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_retry_policy_t policy = must(cases[i].text);
        cr_expect_eq(pr_retry_delay_ms(&policy, 1, 0), cases[i].low, "%s: %s", cases[i].text,
                     cases[i].sentence);
        cr_expect_eq(pr_retry_delay_ms(&policy, 1, UINT64_MAX), cases[i].high, "%s: %s",
                     cases[i].text, cases[i].sentence);
        for (int n = 0; n < 1000; n++) {
            int64_t delay = pr_retry_delay_ms(&policy, 1, prng_next(&state));
            cr_assert(delay >= cases[i].low && delay <= cases[i].high, "%s", cases[i].text);
        }
    }
}

Test(retry, jitter_is_spread_evenly)
{
    pr_retry_policy_t policy = must("fixed:10s*3;jitter=10%");
    int counts[10] = {0};
    uint64_t state = 4;
    for (int n = 0; n < 100000; n++) {
        int64_t extra = pr_retry_delay_ms(&policy, 1, prng_next(&state)) - 10000;
        counts[extra * 10 / 1001]++;
    }
    for (int i = 0; i < 10; i++)
        cr_assert(counts[i] > 9500 && counts[i] < 10500, "a tenth each: %d has %d", i, counts[i]);
}

Test(retry, every_attempt_number_has_an_answer)
{
    pr_retry_policy_t policy = must("exponential:1ms..30d*1000;jitter=100%");
    for (uint32_t attempt = 0; attempt < 2000; attempt++) {
        int64_t delay = pr_retry_delay_ms(&policy, attempt, UINT64_MAX);
        cr_assert(delay > 0 && delay <= PR_RETRY_DELAY_MAX_MS);
    }
    cr_assert_eq(pr_retry_delay_ms(&policy, UINT32_MAX, 0), PR_RETRY_DELAY_MAX_MS);
}

Test(retry, scaling_multiplies_everything_and_leaves_at_least_a_millisecond)
{
    pr_retry_policy_t policy = must("list:0,5s,24h;jitter=500ms");
    pr_retry_scale(&policy, 0.001);
    cr_assert_eq(pr_retry_delay_ms(&policy, 1, 0), 0, "what is at once stays at once");
    cr_assert_eq(pr_retry_delay_ms(&policy, 2, 0), 5);
    cr_assert_eq(pr_retry_delay_ms(&policy, 3, 0), 86400);
    cr_assert_eq(policy.jitter_ms, 1);
    policy = must("fixed:1ms*3");
    pr_retry_scale(&policy, 0.0001);
    cr_assert_eq(pr_retry_delay_ms(&policy, 1, 0), 1);
}

static bool same(const pr_retry_policy_t *a, const pr_retry_policy_t *b)
{
    return a->kind == b->kind && a->retries == b->retries &&
           a->jitter_percent == b->jitter_percent && a->jitter_both_ways == b->jitter_both_ways &&
           a->jitter_ms == b->jitter_ms && a->base_ms == b->base_ms && a->cap_ms == b->cap_ms &&
           memcmp(a->list_ms, b->list_ms, sizeof a->list_ms) == 0;
}

Test(retry, what_is_written_reads_back_as_the_same_policy)
{
    static const char *const texts[] = {
        PR_RETRY_NOTIFICATION_TEXT, PR_RETRY_POLL_TEXT,
        PR_RETRY_CHARGE_TEXT,       "fixed:5s*5",
        "linear:5s*3;cap=12s",      "exponential:1s..6h*10;jitter=0%",
        "list:1ms,90s;jitter=2s",   "exponential-jitter:1s..6h*10;jitter=0ms",
    };
    for (size_t i = 0; i < PR_COUNT(texts); i++) {
        char text[PR_RETRY_TEXT_MAX];
        pr_retry_policy_t policy = must(texts[i]);
        pr_retry_format(&policy, text);
        pr_retry_policy_t back = must(text);
        cr_expect(same(&policy, &back), "%s became %s", texts[i], text);
    }
    char text[PR_RETRY_TEXT_MAX];
    pr_retry_policy_t policy = pr_retry_notification();
    pr_retry_format(&policy, text);
    cr_assert_str_eq(text, "list:5s,30s,5m,30m,1h,2h,6h,1d", "the default is left out");
}

Test(retry, the_longest_text_fits)
{
    char text[PR_RETRY_TEXT_MAX];
    pr_retry_policy_t policy = {.kind = PR_RETRY_LIST,
                                .retries = PR_RETRY_LIST_MAX,
                                .jitter_percent = 99,
                                .jitter_both_ways = true,
                                .cap_ms = PR_RETRY_DELAY_MAX_MS - 1};
    for (int i = 0; i < PR_RETRY_LIST_MAX; i++)
        policy.list_ms[i] = PR_RETRY_DELAY_MAX_MS - 1;
    pr_retry_format(&policy, text);
    pr_retry_policy_t back = must(text);
    cr_assert(same(&policy, &back));
}
