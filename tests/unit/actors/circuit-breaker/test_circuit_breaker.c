/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/circuit-breaker/circuit_breaker.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(circuit_breaker, .timeout = 300);

#define DAY_MS (24LL * 3600 * 1000)

static const pr_watch_policy_t policy = {
    .failing_limit = 10, .mark_limit = 5, .off_after_ms = 5 * DAY_MS, .reload_ms = 10000};

typedef struct {
    pr_watch_t *watch;
    int64_t now_ms;
    pr_watch_action_t actions[PR_WATCH_ACTIONS_MAX];
    int count;
} fixture_t;

static void give(fixture_t *self, pr_watch_event_t event)
{
    self->count = pr_watch_step(self->watch, &event, self->now_ms, self->actions);
    cr_assert_leq(self->count, PR_WATCH_ACTIONS_MAX);
}

static int count_of(const fixture_t *self, pr_watch_action_kind_t kind)
{
    int count = 0;
    for (int i = 0; i < self->count; i++) {
        count += self->actions[i].kind == kind;
    }
    return count;
}

static const pr_watch_action_t *first(const fixture_t *self, pr_watch_action_kind_t kind)
{
    for (int i = 0; i < self->count; i++) {
        if (self->actions[i].kind == kind) {
            return &self->actions[i];
        }
    }
    static const pr_watch_action_t none;
    cr_assert_fail("no action of kind %d", (int)kind);
    return &none;
}

static bool saves(const fixture_t *self, int64_t endpoint_id, pr_watch_wish_t wish)
{
    for (int i = 0; i < self->count; i++) {
        const pr_watch_action_t *action = &self->actions[i];
        if (action->kind == PR_WATCH_ACTION_SAVE && action->endpoint_id == endpoint_id &&
            action->wish == wish) {
            return true;
        }
    }
    return false;
}

static void attempt(fixture_t *self, int64_t endpoint_id, pr_watch_attempt_t what)
{
    give(self, (pr_watch_event_t){.kind = PR_WATCH_ATTEMPTED,
                                  .endpoint_id = endpoint_id,
                                  .merchant_id = "m1",
                                  .attempt = what});
}

static void move(fixture_t *self, int64_t endpoint_id, pr_breaker_state_t from,
                 pr_breaker_state_t to, int64_t at_us)
{
    give(self, (pr_watch_event_t){.kind = PR_WATCH_MOVED,
                                  .endpoint_id = endpoint_id,
                                  .merchant_id = "m1",
                                  .from = from,
                                  .to = to,
                                  .failures = 5,
                                  .at_us = at_us,
                                  .open_ms = 30000});
}

/* The wishes that have gathered. */
static void settle(fixture_t *self)
{
    self->now_ms += PR_WATCH_GATHER_MS;
    give(self, (pr_watch_event_t){.kind = PR_WATCH_TICK});
}

static void saved(fixture_t *self, int64_t endpoint_id, pr_watch_wish_t wish, bool good)
{
    give(self, (pr_watch_event_t){
                   .kind = PR_WATCH_SAVED, .endpoint_id = endpoint_id, .wish = wish, .good = good});
}

static fixture_t begin(void)
{
    fixture_t f = {.watch = pr_watch_new(&policy, 7), .now_ms = 1000};
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_CONNECTED});
    cr_assert_eq(count_of(&f, PR_WATCH_ACTION_LOAD), 1, "it reads the truth first");
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_LOAD_BEGIN});
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_LOAD_END, .good = true});
    return f;
}

Test(circuit_breaker, healthy_endpoints_cost_nothing)
{
    fixture_t f = begin();
    for (int i = 1; i < 1000; i++) {
        attempt(&f, i, PR_WATCH_ATTEMPT_GOOD);
        cr_assert_eq(f.count, 0);
    }
    cr_assert_eq(pr_watch_count(f.watch), 0);
    pr_watch_destroy(&f.watch);
    cr_assert_null(f.watch);
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, merchant_failing_once_per_episode)
{
    fixture_t f = begin();
    int alerts = 0;
    for (int i = 1; i <= 200; i++) {
        attempt(&f, 42, PR_WATCH_ATTEMPT_BAD);
        alerts += count_of(&f, PR_WATCH_ACTION_ALERT);
        cr_assert_eq(alerts, i > 10 ? 1 : 0, "at failure %d", i);
        if (i == 11) {
            const pr_watch_action_t *alert = first(&f, PR_WATCH_ACTION_ALERT);
            cr_assert_str_eq(alert->alert, "merchant_failing");
            cr_assert_str_eq(alert->subject, "42");
        }
    }
    attempt(&f, 42, PR_WATCH_ATTEMPT_GOOD);
    for (int i = 1; i <= 11; i++) {
        attempt(&f, 42, PR_WATCH_ATTEMPT_BAD);
    }
    cr_assert_eq(count_of(&f, PR_WATCH_ACTION_ALERT), 1, "a new episode tells anew");
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, a_move_and_its_attempts_are_not_counted_twice)
{
    fixture_t f = begin();
    for (int i = 1; i <= 10; i++) {
        if (i >= 5) { /* the owner's word overtakes the fact of the attempt */
            move(&f, 2, i == 5 ? PR_BREAKER_CLOSED : PR_BREAKER_HALF_OPEN, PR_BREAKER_OPEN, i);
        }
        attempt(&f, 2, PR_WATCH_ATTEMPT_BAD);
        cr_assert_eq(count_of(&f, PR_WATCH_ACTION_ALERT), 0, "at failure %d", i);
    }
    attempt(&f, 2, PR_WATCH_ATTEMPT_BAD);
    cr_assert_eq(count_of(&f, PR_WATCH_ACTION_ALERT), 1, "the eleventh");
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, throttled_and_own_faults_neither_count_nor_heal)
{
    fixture_t f = begin();
    for (int i = 0; i < 10; i++) {
        attempt(&f, 1, PR_WATCH_ATTEMPT_BAD);
        attempt(&f, 1, PR_WATCH_ATTEMPT_NONE);
    }
    cr_assert_eq(pr_watch_find(f.watch, 1)->failures, 10);
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, one_trip_one_alert_and_a_mark)
{
    fixture_t f = begin();
    move(&f, 3, PR_BREAKER_CLOSED, PR_BREAKER_OPEN, 1000);
    cr_assert_eq(count_of(&f, PR_WATCH_ACTION_ALERT), 1);
    cr_assert_str_eq(first(&f, PR_WATCH_ACTION_ALERT)->alert, "breaker_open");
    settle(&f);
    cr_assert(saves(&f, 3, PR_WATCH_WISH_MARK));
    saved(&f, 3, PR_WATCH_WISH_MARK, true);
    saved(&f, 3, PR_WATCH_WISH_OPEN, true);
    move(&f, 3, PR_BREAKER_OPEN, PR_BREAKER_HALF_OPEN, 2000);
    move(&f, 3, PR_BREAKER_HALF_OPEN, PR_BREAKER_OPEN, 3000);
    cr_assert_eq(count_of(&f, PR_WATCH_ACTION_ALERT), 0, "a failed probe is not another trip");
    size_t cursor = 0;
    const pr_watch_endpoint_t *one = pr_watch_next(f.watch, &cursor);
    cr_assert_eq(one->endpoint_id, 3);
    cr_assert_eq(one->open_ms, 30000);
    cr_assert_null(pr_watch_next(f.watch, &cursor));
    move(&f, 3, PR_BREAKER_HALF_OPEN, PR_BREAKER_CLOSED, 4000);
    settle(&f);
    cr_assert(saves(&f, 3, PR_WATCH_WISH_CLEAR));
    saved(&f, 3, PR_WATCH_WISH_CLEAR, true);
    cr_assert_eq(pr_watch_count(f.watch), 0, "well again: forgotten");
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, a_move_that_comes_late_is_not_believed)
{
    fixture_t f = begin();
    move(&f, 3, PR_BREAKER_CLOSED, PR_BREAKER_OPEN, 5000000);
    move(&f, 3, PR_BREAKER_OPEN, PR_BREAKER_HALF_OPEN, 7000000);
    move(&f, 3, PR_BREAKER_CLOSED, PR_BREAKER_OPEN, 5000000);
    cr_assert_eq(f.count, 0);
    cr_assert_eq(pr_watch_find(f.watch, 3)->state, PR_BREAKER_HALF_OPEN);
    move(&f, 3, PR_BREAKER_HALF_OPEN, PR_BREAKER_CLOSED, 7000000 - 60000000LL);
    cr_assert_eq(pr_watch_find(f.watch, 3)->state, PR_BREAKER_CLOSED, "another machine's clock");
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, gone_is_written_until_it_is_written)
{
    fixture_t f = begin();
    attempt(&f, 9, PR_WATCH_ATTEMPT_GONE);
    settle(&f);
    cr_assert(saves(&f, 9, PR_WATCH_WISH_OFF_GONE));
    attempt(&f, 9, PR_WATCH_ATTEMPT_GONE);
    settle(&f);
    cr_assert_not(saves(&f, 9, PR_WATCH_WISH_OFF_GONE), "one statement at a time");
    saved(&f, 9, PR_WATCH_WISH_OFF_GONE, false);
    settle(&f);
    cr_assert_eq(f.count, 0, "not at once");
    f.now_ms += PR_WATCH_RETRY_MS;
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_TICK});
    cr_assert(saves(&f, 9, PR_WATCH_WISH_OFF_GONE));
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, the_schedulers_own_word_of_a_410_is_enough)
{
    fixture_t f = begin();
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_GONE, .endpoint_id = 9, .merchant_id = "m1"});
    settle(&f);
    cr_assert(saves(&f, 9, PR_WATCH_WISH_OFF_GONE));
    cr_assert_eq(pr_watch_find(f.watch, 9)->failures, 0, "the attempt's own fact counts");
    saved(&f, 9, PR_WATCH_WISH_OFF_GONE, true);
    cr_assert_eq(pr_watch_count(f.watch), 0);
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, wishes_wait_for_the_database)
{
    fixture_t f = begin();
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_DISCONNECTED});
    attempt(&f, 9, PR_WATCH_ATTEMPT_GONE);
    f.now_ms += 60000;
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_TICK});
    cr_assert_eq(f.count, 0);
    cr_assert_eq(pr_watch_deadline_ms(f.watch), INT64_MAX, "it does not spin");
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_CONNECTED});
    cr_assert(saves(&f, 9, PR_WATCH_WISH_OFF_GONE));
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, switched_off_after_five_days_of_failing)
{
    fixture_t f = begin();
    for (int i = 0; i < 5; i++) {
        attempt(&f, 4, PR_WATCH_ATTEMPT_BAD);
    }
    settle(&f);
    cr_assert(saves(&f, 4, PR_WATCH_WISH_MARK));
    saved(&f, 4, PR_WATCH_WISH_MARK, true);
    int64_t since_ms = pr_watch_find(f.watch, 4)->failing_at_ms;
    f.now_ms = since_ms + 5 * DAY_MS - 1;
    attempt(&f, 4, PR_WATCH_ATTEMPT_BAD);
    settle(&f);
    cr_assert_not(saves(&f, 4, PR_WATCH_WISH_OFF_FAILING), "a millisecond too early");
    attempt(&f, 4, PR_WATCH_ATTEMPT_BAD);
    settle(&f);
    cr_assert(saves(&f, 4, PR_WATCH_WISH_OFF_FAILING));
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, a_restart_knows_since_when)
{
    fixture_t f = {.watch = pr_watch_new(&policy, 7), .now_ms = 1000};
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_CONNECTED});
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_LOAD_BEGIN});
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_LOAD_ROW,
                                .endpoint_id = 4,
                                .merchant_id = "m1",
                                .failing = true,
                                .since_ms = 5 * DAY_MS});
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_LOAD_END, .good = true});
    settle(&f);
    cr_assert_eq(count_of(&f, PR_WATCH_ACTION_SAVE), 0, "a mark alone does not switch off");
    attempt(&f, 4, PR_WATCH_ATTEMPT_BAD);
    settle(&f);
    cr_assert(saves(&f, 4, PR_WATCH_WISH_OFF_FAILING));
    attempt(&f, 4, PR_WATCH_ATTEMPT_GOOD);
    settle(&f);
    cr_assert(saves(&f, 4, PR_WATCH_WISH_CLEAR));
    saved(&f, 4, PR_WATCH_WISH_OFF_FAILING, false);
    saved(&f, 4, PR_WATCH_WISH_CLEAR, true);
    f.now_ms += 10 * PR_WATCH_RETRY_MS;
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_TICK});
    cr_assert_eq(count_of(&f, PR_WATCH_ACTION_SAVE), 0, "healed: the old wish is not asked again");
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, a_refused_switch_off_asks_the_database_since_when)
{
    fixture_t f = begin();
    move(&f, 4, PR_BREAKER_CLOSED, PR_BREAKER_OPEN, 1);
    settle(&f);
    saved(&f, 4, PR_WATCH_WISH_MARK, true);
    f.now_ms += 5 * DAY_MS;
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_LOAD_END, .good = true}); /* one that was due */
    attempt(&f, 4, PR_WATCH_ATTEMPT_BAD);
    settle(&f);
    cr_assert(saves(&f, 4, PR_WATCH_WISH_OFF_FAILING));
    saved(&f, 4, PR_WATCH_WISH_OFF_FAILING, true); /* done, but not found: nothing was changed */
    cr_assert_eq(count_of(&f, PR_WATCH_ACTION_LOAD), 1);
    cr_assert_not(pr_watch_find(f.watch, 4)->failing, "until the load says otherwise");
    attempt(&f, 4, PR_WATCH_ATTEMPT_BAD);
    settle(&f);
    cr_assert_not(saves(&f, 4, PR_WATCH_WISH_OFF_FAILING), "it is not asked again at each failure");
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, an_episode_that_begins_while_the_last_is_cleared_is_marked)
{
    fixture_t f = begin();
    move(&f, 4, PR_BREAKER_CLOSED, PR_BREAKER_OPEN, 1);
    settle(&f);
    attempt(&f, 4, PR_WATCH_ATTEMPT_GOOD);
    settle(&f);
    cr_assert(saves(&f, 4, PR_WATCH_WISH_CLEAR));
    move(&f, 4, PR_BREAKER_CLOSED, PR_BREAKER_OPEN, 2);
    saved(&f, 4, PR_WATCH_WISH_MARK, true);
    saved(&f, 4, PR_WATCH_WISH_CLEAR, true);
    settle(&f);
    cr_assert(saves(&f, 4, PR_WATCH_WISH_MARK));
    pr_watch_destroy(&f.watch);
}

static void command(fixture_t *self, int64_t endpoint_id, pr_watch_verb_t verb)
{
    give(self,
         (pr_watch_event_t){
             .kind = PR_WATCH_COMMAND, .endpoint_id = endpoint_id, .verb = verb, .ticket = 3});
}

static void force_saved(fixture_t *self, int64_t endpoint_id, pr_watch_verb_t verb, bool good,
                        bool found)
{
    give(self, (pr_watch_event_t){.kind = PR_WATCH_FORCE_SAVED,
                                  .endpoint_id = endpoint_id,
                                  .merchant_id = "m1",
                                  .verb = verb,
                                  .ticket = 3,
                                  .good = good,
                                  .found = found});
}

Test(circuit_breaker, a_force_is_saved_then_broadcast_then_answered)
{
    fixture_t f = begin();
    command(&f, 5, PR_WATCH_FORCE_OPEN);
    cr_assert_eq(f.count, 1);
    cr_assert_eq(f.actions[0].kind, PR_WATCH_ACTION_SAVE_FORCE);
    force_saved(&f, 5, PR_WATCH_FORCE_OPEN, true, true);
    cr_assert_eq(f.count, 2);
    cr_assert_eq(f.actions[0].kind, PR_WATCH_ACTION_BROADCAST);
    cr_assert_eq(f.actions[0].verb, PR_WATCH_FORCE_OPEN);
    cr_assert_eq(f.actions[1].kind, PR_WATCH_ACTION_REPLY);
    cr_assert_eq(f.actions[1].ticket, 3);
    cr_assert_str_eq(f.actions[1].text, "");
    cr_assert_eq(pr_watch_find(f.watch, 5)->state, PR_BREAKER_FORCED_OPEN);
    attempt(&f, 5, PR_WATCH_ATTEMPT_GOOD);
    cr_assert_eq(pr_watch_find(f.watch, 5)->state, PR_BREAKER_FORCED_OPEN,
                 "a success does not lift what a person did");
    force_saved(&f, 5, PR_WATCH_RESET, true, true);
    cr_assert_null(pr_watch_find(f.watch, 5));
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, commands_that_cannot_be_done_say_why)
{
    fixture_t f = begin();
    command(&f, 5, (pr_watch_verb_t)9);
    cr_assert(strstr(first(&f, PR_WATCH_ACTION_REPLY)->text, "unknown command"));
    force_saved(&f, 5, PR_WATCH_FORCE_OPEN, true, false);
    cr_assert_eq(f.count, 1, "no broadcast");
    cr_assert(strstr(first(&f, PR_WATCH_ACTION_REPLY)->text, "no such endpoint"));
    force_saved(&f, 5, PR_WATCH_FORCE_OPEN, false, false);
    cr_assert_eq(f.count, 1);
    cr_assert(strstr(first(&f, PR_WATCH_ACTION_REPLY)->text, "not known"));
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_DISCONNECTED});
    command(&f, 5, PR_WATCH_FORCE_OPEN);
    cr_assert_eq(f.count, 1);
    cr_assert(strstr(first(&f, PR_WATCH_ACTION_REPLY)->text, "database is away"));
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, forces_are_read_again)
{
    fixture_t f = begin();
    f.now_ms += policy.reload_ms;
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_TICK});
    cr_assert_eq(count_of(&f, PR_WATCH_ACTION_LOAD), 1);
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_LOAD_BEGIN});
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_LOAD_ROW,
                                .endpoint_id = 8,
                                .merchant_id = "m2",
                                .to = PR_BREAKER_FORCED_CLOSED});
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_LOAD_END, .good = true});
    cr_assert_eq(pr_watch_find(f.watch, 8)->state, PR_BREAKER_FORCED_CLOSED);
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_LOAD_BEGIN});
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_LOAD_END, .good = false});
    cr_assert_not_null(pr_watch_find(f.watch, 8), "a failed look proves nothing");
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_LOAD_BEGIN});
    give(&f, (pr_watch_event_t){.kind = PR_WATCH_LOAD_END, .good = true});
    cr_assert_null(pr_watch_find(f.watch, 8), "lifted elsewhere");
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, each_trip_is_written_and_the_end_of_the_episode_takes_it_back)
{
    fixture_t f = begin();
    move(&f, 4, PR_BREAKER_CLOSED, PR_BREAKER_OPEN, 1);
    settle(&f);
    cr_assert(saves(&f, 4, PR_WATCH_WISH_OPEN));
    cr_assert_eq(f.actions[f.count - 1].open_ms, 30000, "for how long at a time");
    saved(&f, 4, PR_WATCH_WISH_MARK, true);
    saved(&f, 4, PR_WATCH_WISH_OPEN, true);
    move(&f, 4, PR_BREAKER_OPEN, PR_BREAKER_HALF_OPEN, 2);
    settle(&f);
    cr_assert_eq(count_of(&f, PR_WATCH_ACTION_SAVE), 0, "a probe changes nothing on record");
    move(&f, 4, PR_BREAKER_HALF_OPEN, PR_BREAKER_OPEN, 3);
    settle(&f);
    cr_assert(saves(&f, 4, PR_WATCH_WISH_OPEN), "it failed: open for longer");
    cr_assert_eq(count_of(&f, PR_WATCH_ACTION_SAVE), 1, "of the same episode");
    saved(&f, 4, PR_WATCH_WISH_OPEN, true);
    move(&f, 4, PR_BREAKER_HALF_OPEN, PR_BREAKER_CLOSED, 4);
    settle(&f);
    cr_assert(saves(&f, 4, PR_WATCH_WISH_CLEAR));
    saved(&f, 4, PR_WATCH_WISH_CLEAR, true);
    cr_assert_eq(pr_watch_count(f.watch), 0);
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, a_trip_that_could_not_be_written_is_asked_again_while_it_lasts)
{
    fixture_t f = begin();
    move(&f, 4, PR_BREAKER_CLOSED, PR_BREAKER_OPEN, 1);
    settle(&f);
    saved(&f, 4, PR_WATCH_WISH_MARK, true);
    saved(&f, 4, PR_WATCH_WISH_OPEN, false);
    f.now_ms += PR_WATCH_RETRY_MS;
    settle(&f);
    cr_assert(saves(&f, 4, PR_WATCH_WISH_OPEN));
    attempt(&f, 4, PR_WATCH_ATTEMPT_GOOD);
    saved(&f, 4, PR_WATCH_WISH_OPEN, false);
    f.now_ms += PR_WATCH_RETRY_MS;
    settle(&f);
    cr_assert(!saves(&f, 4, PR_WATCH_WISH_OPEN), "closed meanwhile: nothing to say any more");
    cr_assert(saves(&f, 4, PR_WATCH_WISH_CLEAR),
              "a write of which nothing is known may have been made");
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, a_trip_during_the_end_of_an_episode_is_written_after_it)
{
    fixture_t f = begin();
    move(&f, 4, PR_BREAKER_CLOSED, PR_BREAKER_OPEN, 1);
    settle(&f);
    saved(&f, 4, PR_WATCH_WISH_MARK, true);
    saved(&f, 4, PR_WATCH_WISH_OPEN, true);
    attempt(&f, 4, PR_WATCH_ATTEMPT_GOOD);
    settle(&f);
    cr_assert(saves(&f, 4, PR_WATCH_WISH_CLEAR));
    saved(&f, 4, PR_WATCH_WISH_CLEAR, false); /* it will be made once more, late */
    move(&f, 4, PR_BREAKER_CLOSED, PR_BREAKER_OPEN, 2);
    f.now_ms += PR_WATCH_RETRY_MS;
    settle(&f);
    saved(&f, 4, PR_WATCH_WISH_OPEN, true);
    saved(&f, 4, PR_WATCH_WISH_MARK, true);
    saved(&f, 4, PR_WATCH_WISH_CLEAR, true);
    settle(&f);
    cr_assert(saves(&f, 4, PR_WATCH_WISH_OPEN), "whatever was first: it is on record in the end");
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, many_at_once_leave_in_bounded_steps_and_none_is_lost)
{
    enum { MANY = 5000 };
    fixture_t f = begin();
    for (int i = 1; i <= MANY; i++) {
        attempt(&f, i, PR_WATCH_ATTEMPT_GONE);
    }
    f.now_ms += PR_WATCH_GATHER_MS;
    int asked = 0;
    while (pr_watch_deadline_ms(f.watch) <= f.now_ms) {
        give(&f, (pr_watch_event_t){.kind = PR_WATCH_TICK});
        asked += count_of(&f, PR_WATCH_ACTION_SAVE);
    }
    cr_assert_eq(asked, MANY);
    pr_watch_destroy(&f.watch);
}

Test(circuit_breaker, a_full_table_drops_and_counts)
{
    fixture_t f = begin();
    for (int i = 1; i <= PR_WATCH_ENDPOINTS_MAX + 10; i++) {
        attempt(&f, i, PR_WATCH_ATTEMPT_BAD);
    }
    cr_assert_eq(pr_watch_count(f.watch), PR_WATCH_ENDPOINTS_MAX);
    cr_assert_eq(pr_watch_unwatched(f.watch), 10);
    pr_watch_destroy(&f.watch);
}
