/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/dead-letter/dead_letter.h"

#include <criterion/criterion.h>

#include <stdio.h>

TestSuite(dead_letter, .timeout = 300);

static const pr_dead_policy_t policy = {.period_ms = {[PR_CHORE_SCAN] = 5000,
                                                      [PR_CHORE_ANNOUNCE] = 1000,
                                                      [PR_CHORE_REDRIVE] = 1000,
                                                      [PR_CHORE_PARTITIONS] = 3600000,
                                                      [PR_CHORE_RETENTION] = 60000}};

typedef struct {
    pr_dead_t dead;
    pr_dead_action_t actions[PR_DEAD_ACTIONS_MAX];
    int count;
} fixture_t;

static void give(fixture_t *self, pr_dead_event_t event, int64_t now_ms)
{
    self->count = pr_dead_step(&self->dead, &event, now_ms, self->actions);
    cr_assert_leq(self->count, PR_DEAD_ACTIONS_MAX);
}

static void tick(fixture_t *self, int64_t now_ms)
{
    give(self, (pr_dead_event_t){.kind = PR_DEAD_TICK}, now_ms);
}

static void done(fixture_t *self, pr_chore_t chore, bool good, bool more, int64_t now_ms)
{
    give(self,
         (pr_dead_event_t){.kind = PR_DEAD_CHORE_DONE, .chore = chore, .good = good, .more = more},
         now_ms);
}

static bool asks(const fixture_t *self, pr_chore_t chore)
{
    for (int i = 0; i < self->count; i++) {
        if (self->actions[i].kind == PR_DEAD_ACTION_CHORE && self->actions[i].chore == chore) {
            return true;
        }
    }
    return false;
}

/* Connected at 1000, all chores done at 1000. */
static fixture_t begin(void)
{
    fixture_t f;
    pr_dead_init(&f.dead, &policy);
    give(&f, (pr_dead_event_t){.kind = PR_DEAD_CONNECTED}, 1000);
    cr_assert_eq(f.count, PR_CHORES, "after a start everything is looked at");
    for (int i = 0; i < PR_CHORES; i++) {
        done(&f, (pr_chore_t)i, true, false, 1000);
    }
    return f;
}

Test(dead_letter, chores_keep_their_periods)
{
    fixture_t f = begin();
    cr_assert_eq(pr_dead_deadline_ms(&f.dead), 2000);
    tick(&f, 1999);
    cr_assert_eq(f.count, 0);
    tick(&f, 2000);
    cr_assert(asks(&f, PR_CHORE_ANNOUNCE));
    cr_assert(asks(&f, PR_CHORE_REDRIVE));
    cr_assert_eq(f.count, 2);
    tick(&f, 9000);
    cr_assert(asks(&f, PR_CHORE_SCAN));
    cr_assert_eq(f.count, 1, "what is under way is not asked again");
}

Test(dead_letter, a_burst_of_dead_facts_is_one_early_scan)
{
    fixture_t f = begin();
    for (int i = 0; i < 100; i++) {
        give(&f, (pr_dead_event_t){.kind = PR_DEAD_LETTER}, 1100 + i);
        cr_assert_eq(f.count, 0);
    }
    tick(&f, 1100 + PR_DEAD_HINT_MS);
    cr_assert(asks(&f, PR_CHORE_SCAN));
    give(&f, (pr_dead_event_t){.kind = PR_DEAD_LETTER}, 1301);
    cr_assert_eq(f.count, 0, "one is under way");
    done(&f, PR_CHORE_SCAN, true, false, 1302);
    cr_assert_eq(f.dead.chores[PR_CHORE_SCAN].next_at_ms, 6302);
}

Test(dead_letter, a_slow_scan_is_made_less_often)
{
    fixture_t f = begin();
    tick(&f, 6000);
    cr_assert(asks(&f, PR_CHORE_SCAN));
    done(&f, PR_CHORE_SCAN, true, false, 7000); /* it took a second */
    cr_assert_eq(f.dead.chores[PR_CHORE_SCAN].next_at_ms, 7000 + 19000);
}

Test(dead_letter, retention_goes_on_while_there_is_more_but_leaves_room)
{
    fixture_t f = begin();
    tick(&f, 61000);
    cr_assert(asks(&f, PR_CHORE_RETENTION));
    done(&f, PR_CHORE_RETENTION, true, true, 61010);
    cr_assert_eq(f.dead.chores[PR_CHORE_RETENTION].next_at_ms, 61010 + 190);
}

Test(dead_letter, a_failed_chore_is_tried_again_soon)
{
    fixture_t f = begin();
    tick(&f, 61000);
    done(&f, PR_CHORE_RETENTION, false, false, 61000);
    cr_assert_eq(f.dead.chores[PR_CHORE_RETENTION].next_at_ms, 61000 + PR_DEAD_RETRY_MS);
}

Test(dead_letter, nothing_is_asked_of_a_database_that_is_away)
{
    fixture_t f = begin();
    give(&f, (pr_dead_event_t){.kind = PR_DEAD_DISCONNECTED}, 1500);
    cr_assert_eq(pr_alert_inbox_add(&f.dead.inbox, "a", "m", "warn", "x"), PR_OK);
    tick(&f, 100000);
    cr_assert_eq(f.count, 0);
    cr_assert_eq(pr_dead_deadline_ms(&f.dead), INT64_MAX, "it does not spin");
    give(&f, (pr_dead_event_t){.kind = PR_DEAD_CONNECTED}, 100001);
    cr_assert_eq(f.actions[0].kind, PR_DEAD_ACTION_RAISE, "what waited goes first");
    cr_assert_eq(f.count, 1 + PR_CHORES);
}

Test(dead_letter, an_alert_is_raised_until_it_is_written)
{
    fixture_t f = begin();
    cr_assert_eq(pr_alert_inbox_add(&f.dead.inbox, "a", "m", "warn", "x"), PR_OK);
    tick(&f, 1001);
    cr_assert_eq(f.actions[0].kind, PR_DEAD_ACTION_RAISE);
    int slot = f.actions[0].slot;
    give(&f, (pr_dead_event_t){.kind = PR_DEAD_RAISED, .slot = slot, .good = false}, 1002);
    cr_assert_eq(f.count, 0);
    cr_assert_eq(f.dead.raise_at_ms, 1002 + PR_DEAD_RETRY_MS);
    tick(&f, 1002 + PR_DEAD_RETRY_MS);
    cr_assert_eq(f.actions[0].kind, PR_DEAD_ACTION_RAISE);
    give(&f, (pr_dead_event_t){.kind = PR_DEAD_RAISED, .slot = slot, .good = true}, 4000);
    cr_assert_eq(f.dead.inbox.count, 0);
}

Test(dead_letter, many_alerts_leave_a_few_at_a_time)
{
    fixture_t f = begin();
    char kind[8];
    for (int i = 0; i < 100; i++) {
        snprintf(kind, sizeof kind, "k%d", i);
        cr_assert_eq(pr_alert_inbox_add(&f.dead.inbox, kind, "m", "warn", "x"), PR_OK);
    }
    tick(&f, 1001);
    cr_assert_eq(f.count, PR_DEAD_RAISES_AT_ONCE);
    tick(&f, 1001);
    cr_assert_eq(f.count, 0);
    give(&f, (pr_dead_event_t){.kind = PR_DEAD_RAISED, .slot = 0, .good = true}, 1002);
    cr_assert_eq(f.count, 1);
}

Test(dead_letter, a_webhook_is_tried_five_times_then_given_up)
{
    fixture_t f = begin();
    int64_t now_ms = 1001;
    int slot = pr_dead_post_new(&f.dead, now_ms);
    const int64_t delays_ms[] = {1000, 5000, 30000, 120000};
    give(&f, (pr_dead_event_t){.kind = PR_DEAD_DISCONNECTED}, now_ms); /* it needs no database */
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(f.count, 1, "try %d", i + 1);
        cr_assert_eq(f.actions[0].kind, PR_DEAD_ACTION_SEND);
        cr_assert_eq(f.actions[0].tries, i + 1);
        give(&f, (pr_dead_event_t){.kind = PR_DEAD_POSTED, .slot = slot, .good = false}, now_ms);
        if (i < 4) {
            cr_assert_eq(pr_dead_deadline_ms(&f.dead), now_ms + delays_ms[i]);
            now_ms += delays_ms[i];
            tick(&f, now_ms);
        }
    }
    cr_assert_eq(f.count, 1);
    cr_assert_eq(f.actions[0].kind, PR_DEAD_ACTION_GIVE_UP);
    cr_assert_eq(f.actions[0].tries, 5);
    cr_assert_eq(pr_dead_deadline_ms(&f.dead), INT64_MAX);
}

Test(dead_letter, a_hanging_webhook_holds_up_no_chore)
{
    fixture_t f = begin();
    for (int i = 0; i < PR_DEAD_POSTS_MAX; i++) {
        cr_assert_eq(pr_dead_post_new(&f.dead, 1001), i);
    }
    cr_assert_eq(pr_dead_post_new(&f.dead, 1001), -1, "bounded");
    tick(&f, 1001);
    cr_assert_eq(f.count, PR_DEAD_POSTS_AT_ONCE);
    tick(&f, 6000);
    cr_assert(asks(&f, PR_CHORE_SCAN));
    cr_assert(asks(&f, PR_CHORE_ANNOUNCE));
}

Test(dead_letter, drain_finishes_what_is_under_way)
{
    fixture_t f = begin();
    tick(&f, 2000);
    give(&f, (pr_dead_event_t){.kind = PR_DEAD_DRAIN}, 2001);
    cr_assert_not(pr_dead_drained(&f.dead));
    done(&f, PR_CHORE_ANNOUNCE, true, true, 2002);
    cr_assert_eq(f.count, 0);
    done(&f, PR_CHORE_REDRIVE, true, true, 2002);
    cr_assert(pr_dead_drained(&f.dead));
}
