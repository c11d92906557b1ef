/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/reconciler/reconciler.h"

#include <criterion/criterion.h>

TestSuite(reconciler, .timeout = 30);

static const pr_recon_policy_t policy = {{30, 5, 600, 60, 1000, 1000}};

static pr_recon_t self;
static pr_recon_action_t actions[PR_RECON_ACTIONS_MAX];

static int give(pr_recon_event_kind_t kind, int64_t now_ms)
{
    return pr_recon_step(&self, &(pr_recon_event_t){.kind = kind}, now_ms, actions);
}

static int done(pr_recon_chore_t chore, bool good, bool more, int64_t now_ms)
{
    const pr_recon_event_t event = {
        .kind = PR_RECON_CHORE_DONE, .chore = chore, .good = good, .more = more};
    return pr_recon_step(&self, &event, now_ms, actions);
}

/* Connected, and every chore of the start done at 0. */
static void settle(void)
{
    pr_recon_init(&self, &policy);
    cr_assert_eq(give(PR_RECON_CONNECTED, 0), PR_RECON_CHORES);
    for (int i = 0; i < PR_RECON_CHORES; i++) {
        cr_assert_eq(done((pr_recon_chore_t)i, true, false, 0), 0);
    }
}

Test(reconciler, nothing_begins_without_the_database)
{
    pr_recon_init(&self, &policy);
    cr_assert_eq(give(PR_RECON_TICK, 5), 0);
    cr_assert_eq(pr_recon_deadline_ms(&self), INT64_MAX);
    cr_assert_eq(give(PR_RECON_CONNECTED, 5), PR_RECON_CHORES, "what was missed is made up for");
    cr_assert_eq(give(PR_RECON_TICK, 1000000), 0, "one of each kind under way");
}

Test(reconciler, chores_come_back_after_their_period)
{
    settle();
    cr_assert_eq(pr_recon_deadline_ms(&self), 5);
    cr_assert_eq(give(PR_RECON_TICK, 4), 0);
    cr_assert_eq(give(PR_RECON_TICK, 5), 1);
    cr_assert_eq(actions[0].chore, PR_RECON_MATCH);
    cr_assert_eq(done(PR_RECON_MATCH, true, true, 6), 1, "there is more: at once");
    cr_assert_eq(done(PR_RECON_MATCH, false, false, 7), 0);
    cr_assert_eq(give(PR_RECON_TICK, 7 + PR_RECON_RETRY_MS - 1), 5, "the others are due by then");
    cr_assert_eq(give(PR_RECON_TICK, 7 + PR_RECON_RETRY_MS), 1, "one that failed waits");
}

Test(reconciler, imports_go_one_after_the_other)
{
    settle();
    const pr_recon_event_t taken = {.kind = PR_RECON_TAKEN, .count = 2};
    cr_assert_eq(pr_recon_step(&self, &taken, 1, actions), 1);
    cr_assert_eq(actions[0].kind, PR_RECON_ACTION_IMPORT);
    cr_assert_eq(give(PR_RECON_TICK, 2), 0, "the second waits");
    cr_assert_eq(give(PR_RECON_TICK, 40), 1, "no more days are taken while one waits");
    cr_assert_eq(actions[0].chore, PR_RECON_MATCH);
    cr_assert_eq(done(PR_RECON_MATCH, true, false, 40), 0);
    const pr_recon_event_t in = {.kind = PR_RECON_IMPORT_DONE, .good = true};
    cr_assert_eq(pr_recon_step(&self, &in, 41, actions), 2);
    cr_assert_eq(actions[0].kind, PR_RECON_ACTION_IMPORT);
    cr_assert_eq(actions[1].chore, PR_RECON_MATCH, "what came in is matched at once");
    const pr_recon_event_t failed = {.kind = PR_RECON_IMPORT_DONE};
    cr_assert_eq(pr_recon_step(&self, &failed, 42, actions), 1);
    cr_assert_eq(actions[0].chore, PR_RECON_DUE, "then days are taken again");
}

Test(reconciler, draining_waits_for_what_is_under_way_and_begins_nothing)
{
    settle();
    cr_assert_eq(give(PR_RECON_TICK, 5), 1);
    cr_assert_eq(give(PR_RECON_DRAIN, 6), 0);
    cr_assert_not(pr_recon_drained(&self));
    cr_assert_eq(done(PR_RECON_MATCH, true, true, 7), 0);
    cr_assert(pr_recon_drained(&self));
    cr_assert_eq(pr_recon_deadline_ms(&self), INT64_MAX);
}
