/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/compensator/compensator.h"

#include <criterion/criterion.h>

TestSuite(compensator, .timeout = 300);

static const pr_compensator_policy_t policy = {.slots = 3, .scan_ms = 1000, .sweep_ms = 5000};

static pr_compensator_t self;
static pr_comp_action_t actions[PR_COMP_ACTIONS_MAX];

static int step(pr_comp_event_t event, int64_t now_ms)
{
    return pr_compensator_step(&self, &event, now_ms, actions);
}

/* Connected and with a session: its first sweep and claim are under way. */
static void begin(void)
{
    pr_compensator_init(&self, &policy);
    cr_assert_eq(step((pr_comp_event_t){.kind = PR_COMP_TICK}, 0), 0, "away: nothing");
    cr_assert_eq(step((pr_comp_event_t){.kind = PR_COMP_CONNECTED}, 0), 1);
    cr_assert_eq(actions[0].kind, PR_COMP_ACT_OPEN);
    cr_assert_eq(step((pr_comp_event_t){.kind = PR_COMP_OPENED, .good = true}, 0), 2);
    cr_assert_eq(actions[0].kind, PR_COMP_ACT_SWEEP);
    cr_assert_eq(actions[1].kind, PR_COMP_ACT_CLAIM);
    cr_assert_eq(actions[1].most, 3);
}

static int claimed(int count, int asked, int64_t now_ms)
{
    return step(
        (pr_comp_event_t){.kind = PR_COMP_CLAIMED, .good = true, .count = count, .asked = asked},
        now_ms);
}

Test(compensator, an_empty_claim_is_followed_after_the_scan, .init = begin)
{
    cr_expect_eq(claimed(0, 3, 10), 0);
    cr_expect_eq(pr_compensator_deadline_ms(&self), 1010);
    cr_expect_eq(step((pr_comp_event_t){.kind = PR_COMP_TICK}, 1009), 0);
    cr_expect_eq(step((pr_comp_event_t){.kind = PR_COMP_TICK}, 1010), 1);
    cr_expect_eq(actions[0].most, 3);
    cr_expect_eq(step((pr_comp_event_t){.kind = PR_COMP_TICK}, 1011), 0, "one at a time");
}

Test(compensator, a_full_claim_is_followed_when_a_slot_is_free, .init = begin)
{
    cr_expect_eq(claimed(3, 3, 10), 0, "no slot is free");
    cr_expect_eq(pr_compensator_deadline_ms(&self), INT64_MAX);
    cr_expect_eq(step((pr_comp_event_t){.kind = PR_COMP_RUN_ENDED}, 20), 1);
    cr_expect_eq(actions[0].kind, PR_COMP_ACT_CLAIM);
    cr_expect_eq(actions[0].most, 1);
    cr_expect_eq(claimed(0, 1, 30), 0);
    cr_expect_eq(pr_compensator_deadline_ms(&self), 1030);
}

Test(compensator, sweeps_come_by_themselves, .init = begin)
{
    claimed(3, 3, 10);
    cr_expect_eq(step((pr_comp_event_t){.kind = PR_COMP_SWEPT}, 100), 0);
    cr_expect_eq(pr_compensator_deadline_ms(&self), 5100, "also while no slot is free");
    cr_expect_eq(step((pr_comp_event_t){.kind = PR_COMP_TICK}, 5100), 1);
    cr_expect_eq(actions[0].kind, PR_COMP_ACT_SWEEP);
}

Test(compensator, away_it_claims_nothing_and_begins_anew, .init = begin)
{
    claimed(1, 3, 10);
    step((pr_comp_event_t){.kind = PR_COMP_DISCONNECTED}, 20);
    cr_expect_eq(pr_compensator_deadline_ms(&self), INT64_MAX);
    cr_expect_eq(step((pr_comp_event_t){.kind = PR_COMP_TICK}, 99999), 0);
    cr_expect_eq(step((pr_comp_event_t){.kind = PR_COMP_CONNECTED}, 99999), 1);
    cr_expect_eq(step((pr_comp_event_t){.kind = PR_COMP_OPENED}, 99999), 0, "it was not opened");
    cr_expect_eq(pr_compensator_deadline_ms(&self), 100999, "tried again");
    cr_expect_eq(step((pr_comp_event_t){.kind = PR_COMP_TICK}, 100999), 1);
    cr_expect_eq(actions[0].kind, PR_COMP_ACT_OPEN);
    cr_expect_eq(pr_compensator_deadline_ms(&self), INT64_MAX, "under way");
    cr_expect_eq(step((pr_comp_event_t){.kind = PR_COMP_OPENED, .good = true}, 101000), 2);
    cr_expect_eq(actions[1].most, 2, "the run that is out keeps its slot");
}

Test(compensator, an_ended_session_is_opened_anew, .init = begin)
{
    step((pr_comp_event_t){.kind = PR_COMP_CLAIMED, .asked = 3}, 10);
    cr_expect_eq(step((pr_comp_event_t){.kind = PR_COMP_ENDED}, 10), 1);
    cr_expect_eq(actions[0].kind, PR_COMP_ACT_OPEN);
}

Test(compensator, draining_it_finishes_what_it_has, .init = begin)
{
    cr_expect_eq(step((pr_comp_event_t){.kind = PR_COMP_DRAIN}, 5), 0);
    cr_expect_not(pr_compensator_drained(&self), "a claim is under way: its tasks are ours");
    cr_expect_eq(claimed(2, 3, 10), 0);
    cr_expect_not(pr_compensator_drained(&self));
    cr_expect_eq(step((pr_comp_event_t){.kind = PR_COMP_RUN_ENDED}, 20), 0, "nothing new");
    step((pr_comp_event_t){.kind = PR_COMP_RUN_ENDED}, 30);
    cr_expect(pr_compensator_drained(&self));
}
