/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/breaker.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(breaker, .timeout = 300);

#define OPEN_MS PR_BREAKER_OPEN_MS

static pr_breaker_t fresh(void)
{
    pr_breaker_t breaker;
    pr_breaker_init(&breaker, PR_BREAKER_THRESHOLD, OPEN_MS);
    return breaker;
}

static pr_breaker_t opened_at(int64_t now_ms)
{
    pr_breaker_t breaker = fresh();
    for (uint64_t id = 1; id <= PR_BREAKER_THRESHOLD; id++)
        pr_breaker_on_failure(&breaker, id, now_ms);
    cr_assert_eq(breaker.state, PR_BREAKER_OPEN);
    return breaker;
}

/* half open, probe 99 out until 40000 + OPEN_MS */
static pr_breaker_t probing(void)
{
    pr_breaker_t breaker = opened_at(0);
    cr_assert_eq(pr_breaker_allow(&breaker, OPEN_MS), PR_BREAKER_PROBE);
    pr_breaker_probe_sent(&breaker, 99, OPEN_MS + 40000);
    cr_assert_eq(breaker.state, PR_BREAKER_HALF_OPEN);
    return breaker;
}

Test(breaker, opens_at_the_fifth_failure_in_a_row_and_not_before)
{
    pr_breaker_t breaker = fresh();
    for (uint64_t id = 1; id < PR_BREAKER_THRESHOLD; id++) {
        pr_breaker_move_t move = pr_breaker_on_failure(&breaker, id, 1000);
        cr_assert_eq(move.to, PR_BREAKER_CLOSED);
        cr_assert_eq(pr_breaker_allow(&breaker, 1000), PR_BREAKER_ALLOW);
    }
    pr_breaker_move_t move = pr_breaker_on_failure(&breaker, 5, 1000);
    cr_assert_eq(move.from, PR_BREAKER_CLOSED);
    cr_assert_eq(move.to, PR_BREAKER_OPEN);
    cr_assert_eq(pr_breaker_allow(&breaker, 1000), PR_BREAKER_HOLD);
    cr_assert_eq(breaker.failures, 5, "kept for the report");
}

Test(breaker, a_success_in_between_starts_the_count_again)
{
    pr_breaker_t breaker = fresh();
    for (int round = 0; round < 10; round++) {
        for (uint64_t id = 1; id < PR_BREAKER_THRESHOLD; id++)
            pr_breaker_on_failure(&breaker, id, 0);
        pr_breaker_on_success(&breaker, 9, 0);
    }
    cr_assert_eq(breaker.state, PR_BREAKER_CLOSED);
}

Test(breaker, neutral_outcomes_count_neither_way)
{
    pr_breaker_t breaker = fresh();
    for (uint64_t id = 1; id < PR_BREAKER_THRESHOLD; id++)
        pr_breaker_on_failure(&breaker, id, 0);
    pr_breaker_on_neutral(&breaker, 7, 0);
    pr_breaker_on_returned(&breaker, 8, 0);
    pr_breaker_on_probe_lost(&breaker, 9, 0);
    cr_assert_eq(breaker.state, PR_BREAKER_CLOSED);
    cr_assert_eq(breaker.failures, PR_BREAKER_THRESHOLD - 1);
    pr_breaker_on_failure(&breaker, 10, 0);
    cr_assert_eq(breaker.state, PR_BREAKER_OPEN);
}

Test(breaker, holds_for_open_ms_then_asks_for_one_probe)
{
    pr_breaker_t breaker = opened_at(1000);
    cr_assert_eq(pr_breaker_next_ms(&breaker), 1000 + OPEN_MS);
    cr_assert_eq(pr_breaker_allow(&breaker, 1000 + OPEN_MS - 1), PR_BREAKER_HOLD);
    cr_assert_eq(pr_breaker_allow(&breaker, 1000 + OPEN_MS), PR_BREAKER_PROBE);
    cr_assert_eq(pr_breaker_allow(&breaker, 1000 + OPEN_MS), PR_BREAKER_PROBE,
                 "asking changes nothing");
    pr_breaker_probe_sent(&breaker, 50, 99000);
    cr_assert_eq(pr_breaker_allow(&breaker, 1000 + OPEN_MS), PR_BREAKER_HOLD, "exactly one");
    cr_assert_eq(pr_breaker_next_ms(&breaker), 99000);
}

Test(breaker, a_probe_decides)
{
    static const struct {
        pr_breaker_move_t (*end)(pr_breaker_t *self, uint64_t id, int64_t now_ms);
        pr_breaker_state_t to;
        pr_breaker_gate_t gate;
        const char *sentence;
    } cases[] = {
        {pr_breaker_on_success, PR_BREAKER_CLOSED, PR_BREAKER_ALLOW, "success closes"},
        {pr_breaker_on_failure, PR_BREAKER_OPEN, PR_BREAKER_HOLD, "failure opens again"},
        {pr_breaker_on_probe_lost, PR_BREAKER_OPEN, PR_BREAKER_HOLD, "a lost worker is a failure"},
        {pr_breaker_on_neutral, PR_BREAKER_OPEN, PR_BREAKER_HOLD, "no news: wait again"},
        {pr_breaker_on_returned, PR_BREAKER_HALF_OPEN, PR_BREAKER_PROBE, "untried: at once again"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_breaker_t breaker = probing();
        int64_t now = OPEN_MS + 10;
        cases[i].end(&breaker, 99, now);
        cr_expect_eq(breaker.state, cases[i].to, "%s", cases[i].sentence);
        cr_expect_eq(pr_breaker_allow(&breaker, now), cases[i].gate, "%s", cases[i].sentence);
        if (cases[i].to == PR_BREAKER_OPEN)
            cr_expect_eq(pr_breaker_next_ms(&breaker), now + OPEN_MS, "%s: a whole wait",
                         cases[i].sentence);
    }
}

Test(breaker, outcomes_of_other_jobs_neither_close_nor_prolong)
{
    pr_breaker_t breaker = opened_at(0);
    for (uint64_t id = 1; id < 100; id++) {
        pr_breaker_on_failure(&breaker, id, 20000);
        pr_breaker_on_success(&breaker, id, 20000);
    }
    cr_assert_eq(breaker.state, PR_BREAKER_OPEN);
    cr_assert_eq(pr_breaker_next_ms(&breaker), OPEN_MS);
    breaker = probing();
    pr_breaker_on_success(&breaker, 98, OPEN_MS + 1);
    pr_breaker_on_failure(&breaker, 98, OPEN_MS + 1);
    pr_breaker_on_neutral(&breaker, 98, OPEN_MS + 1);
    cr_assert_eq(breaker.state, PR_BREAKER_HALF_OPEN);
    cr_assert_eq(breaker.probe_id, 99);
}

Test(breaker, a_silent_probe_has_failed_at_its_deadline)
{
    pr_breaker_t breaker = probing();
    pr_breaker_move_t move = pr_breaker_on_time(&breaker, OPEN_MS + 39999);
    cr_assert_eq(move.from, move.to);
    move = pr_breaker_on_time(&breaker, OPEN_MS + 40000);
    cr_assert_eq(move.to, PR_BREAKER_OPEN);
    pr_breaker_on_success(&breaker, 99, OPEN_MS + 40001);
    cr_assert_eq(breaker.state, PR_BREAKER_OPEN, "its late success decides nothing any more");
}

Test(breaker, after_recovery_the_backlog_drains_by_doubling)
{
    pr_breaker_t breaker = probing();
    uint32_t seen[10] = {0}, count = 0;
    cr_assert_eq(pr_breaker_ramp(&breaker), PR_BREAKER_NO_LIMIT);
    pr_breaker_on_success(&breaker, 99, 0);
    seen[count++] = pr_breaker_ramp(&breaker);
    for (uint64_t id = 100; id < 300; id++) {
        pr_breaker_on_success(&breaker, id, 0);
        if (count < 10 && pr_breaker_ramp(&breaker) != seen[count - 1])
            seen[count++] = pr_breaker_ramp(&breaker);
    }
    static const uint32_t wanted[] = {1, 2, 4, 8, 16, 32, 64, PR_BREAKER_NO_LIMIT};
    cr_assert_eq(count, PR_COUNT(wanted));
    cr_assert_arr_eq(seen, wanted, sizeof wanted);
}

Test(breaker, a_failure_while_recovering_halves_the_ramp)
{
    pr_breaker_t breaker = probing();
    pr_breaker_on_success(&breaker, 99, 0);
    for (uint64_t id = 100; id < 107; id++)
        pr_breaker_on_success(&breaker, id, 0);
    cr_assert_eq(pr_breaker_ramp(&breaker), 8);
    pr_breaker_on_failure(&breaker, 200, 0);
    cr_assert_eq(pr_breaker_ramp(&breaker), 4);
    for (uint64_t id = 201; id < 204; id++)
        pr_breaker_on_failure(&breaker, id, 0);
    cr_assert_eq(pr_breaker_ramp(&breaker), 1, "never below one");
    pr_breaker_on_failure(&breaker, 204, 0);
    cr_assert_eq(breaker.state, PR_BREAKER_OPEN);
    cr_assert_eq(pr_breaker_ramp(&breaker), PR_BREAKER_NO_LIMIT, "open has no ramp");
}

Test(breaker, a_force_stands_against_all_outcomes_until_it_is_lifted)
{
    pr_breaker_t breaker = fresh();
    pr_breaker_force_open(&breaker);
    cr_assert_eq(pr_breaker_allow(&breaker, INT64_MAX), PR_BREAKER_HOLD, "no probe ever");
    cr_assert_eq(pr_breaker_next_ms(&breaker), INT64_MAX);
    pr_breaker_on_success(&breaker, 1, 0);
    cr_assert_eq(breaker.state, PR_BREAKER_FORCED_OPEN);
    pr_breaker_force_close(&breaker);
    for (uint64_t id = 1; id < 100; id++)
        pr_breaker_on_failure(&breaker, id, 0);
    cr_assert_eq(pr_breaker_allow(&breaker, 0), PR_BREAKER_ALLOW);
    pr_breaker_move_t move = pr_breaker_reset(&breaker);
    cr_assert_eq(move.from, PR_BREAKER_FORCED_CLOSED);
    cr_assert_eq(move.to, PR_BREAKER_CLOSED);
    cr_assert_eq(breaker.failures, 0);
}

Test(breaker, a_reset_forgets_the_probe_that_is_out)
{
    pr_breaker_t breaker = probing();
    pr_breaker_reset(&breaker);
    cr_assert_eq(breaker.state, PR_BREAKER_CLOSED);
    cr_assert_eq(breaker.failures, 0);
    cr_assert_eq(pr_breaker_ramp(&breaker), PR_BREAKER_NO_LIMIT, "a person said: all is well");
    pr_breaker_on_failure(&breaker, 99, 0);
    cr_assert_eq(breaker.state, PR_BREAKER_CLOSED, "counted as one failure of an ordinary job");
    cr_assert_eq(breaker.failures, 1);
}

Test(breaker, time_does_not_overflow)
{
    pr_breaker_t breaker = opened_at(INT64_MAX - 10);
    cr_assert_eq(pr_breaker_next_ms(&breaker), INT64_MAX);
}

/* Invariants over random histories: the state stays in the table, at most one probe is out and only
 * half open, a hold always ends by time, a person or an outcome. */
Test(breaker, keeps_its_invariants_over_random_histories)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        pr_breaker_t breaker = fresh();
        uint64_t state = seed, last_probe = 0;
        int64_t now = 0;
        for (int step = 0; step < 2000; step++) {
            pr_breaker_state_t before = breaker.state;
            pr_breaker_move_t move = {before, before, ""};
            uint64_t id =
                prng_below(&state, 4) == 0 && last_probe ? last_probe : prng_below(&state, 9) + 1;
            now += (int64_t)prng_below(&state, 9000);
            pr_breaker_gate_t gate = pr_breaker_allow(&breaker, now);
            switch (prng_below(&state, 40)) {
            case 0:
                move = pr_breaker_force_open(&breaker);
                break;
            case 1:
                move = pr_breaker_force_close(&breaker);
                break;
            case 2:
            case 3:
                move = pr_breaker_reset(&breaker);
                break;
            case 4:
                move = pr_breaker_on_neutral(&breaker, id, now);
                break;
            case 5:
                move = pr_breaker_on_returned(&breaker, id, now);
                break;
            case 6:
                move = pr_breaker_on_probe_lost(&breaker, id, now);
                break;
            case 7:
            case 8:
                move = pr_breaker_on_time(&breaker, now);
                break;
            case 9:
            case 10:
            case 11:
            case 12:
            case 13:
                move = pr_breaker_on_success(&breaker, id, now);
                break;
            default:
                if (gate == PR_BREAKER_PROBE) {
                    last_probe = 1000 + (uint64_t)step;
                    move = pr_breaker_probe_sent(&breaker, last_probe, now + 10000);
                } else {
                    move = pr_breaker_on_failure(&breaker, id, now);
                }
            }
            cr_assert_eq(move.from, before);
            cr_assert_eq(move.to, breaker.state);
            cr_assert(before == breaker.state ||
                      pr_fsm_may_move(&pr_fsm_breaker, (int)before, (int)breaker.state));
            cr_assert(breaker.probe_id == 0 || breaker.state == PR_BREAKER_HALF_OPEN);
            cr_assert(breaker.state != PR_BREAKER_CLOSED ||
                      breaker.failures < PR_BREAKER_THRESHOLD);
            if (pr_breaker_allow(&breaker, now) == PR_BREAKER_HOLD &&
                breaker.state != PR_BREAKER_FORCED_OPEN)
                cr_assert_leq(pr_breaker_next_ms(&breaker), now + OPEN_MS, "a hold ends");
        }
    }
}

Test(breaker, has_names)
{
    cr_assert_str_eq(pr_breaker_state_name(PR_BREAKER_HALF_OPEN), "half_open");
    cr_assert_str_eq(pr_breaker_state_name(PR_BREAKER_NONE), "?");
    cr_assert_str_eq(pr_breaker_state_name((pr_breaker_state_t)77), "?");
}
