/* SPDX-License-Identifier: Apache-2.0
 *
 * The gateway-scheduler's decisions, one hazard a test.
 */
#include "actors/gateway-scheduler/gateway_scheduler.h"
#include "tests/unit/actors/gateway-scheduler/world.h"

TestSuite(gateway_scheduler, .timeout = 300);

/* Picked, committed and sent; its id, or 0. */
static int64_t one_out(world_t *w)
{
    int64_t id = 0;
    world_look(w);
    if (world_pick(w, 100, 100, &id, 1) == 0)
        return 0;
    cr_assert(world_commit(w, id));
    for (int wait = 0; wait < 5000; wait++, w->now_ms++)
        if (world_send(w, PR_CALLS_MONEY) + world_send(w, PR_CALLS_QUERY) > 0)
            return id;
    return 0;
}

static void say(world_t *w, int64_t id, pr_calls_outcome_t said)
{
    pr_calls_facts_t facts = world_facts(w, id);
    pr_calls_outcome(w->step, &facts.token, &said, 0, pr_calloc(1, 1), w->now_ms);
    world_drain(w);
}

Test(gateway_scheduler, a_call_leaves_only_after_its_row_is_committed)
{
    world_t *w = world_new(0, 1, 10, 1);
    int64_t id = world_call(w, PR_CALLS_QUERY, 0), picked;
    world_look(w);
    cr_assert_eq(world_pick(w, 1, 1, &picked, 1), 1);
    cr_assert_eq(picked, id);
    cr_assert_eq(world_send(w, PR_CALLS_QUERY), 0, "its row is only on the way");
    world_look(w);
    cr_assert_eq(world_pick(w, 9, 9, &picked, 1), 0, "it is picked once");
    cr_assert(world_commit(w, id));
    cr_assert_eq(world_send(w, PR_CALLS_QUERY), 1);
    cr_assert_eq(world_send(w, PR_CALLS_QUERY), 0, "and leaves once");
    world_end(w);
}

Test(gateway_scheduler, a_row_that_postgres_dropped_never_leaves)
{
    world_t *w = world_new(0, 1, 1, 1);
    int64_t id = world_call(w, PR_CALLS_QUERY, 0), picked;
    world_look(w);
    cr_assert_eq(world_pick(w, 1, 1, &picked, 1), 1);
    pr_calls_refused(w->step, id);
    cr_assert_eq(world_send(w, PR_CALLS_QUERY), 0);
    cr_assert_not(world_commit(w, id), "an answer that comes after all finds nobody");
    w->calls[id - 1].place = AT_REST;
    world_look(w);
    cr_assert_eq(world_pick(w, 1, 1, &picked, 1), 1, "its place is free again");
    world_end(w);
}

Test(gateway_scheduler, a_new_owner_begins_with_an_empty_bucket)
{
    world_t *w = world_new(10, 5, 100, 1);
    for (int i = 0; i < 5; i++)
        world_call(w, PR_CALLS_QUERY, 0);
    int64_t ids[8];
    world_look(w);
    cr_assert_eq(world_pick(w, 8, 8, ids, 8), 1, "the token of the next 100 ms, no burst");
    cr_assert(world_commit(w, ids[0]));
    cr_assert_eq(world_send(w, PR_CALLS_QUERY), 0);
    w->now_ms += 99;
    cr_assert_eq(world_send(w, PR_CALLS_QUERY), 0, "not a millisecond early");
    w->now_ms += 1;
    cr_assert_eq(world_send(w, PR_CALLS_QUERY), 1);
    world_end(w);
}

Test(gateway_scheduler, calls_at_a_time_are_bounded_over_both_classes)
{
    world_t *w = world_new(0, 1, 3, 1);
    for (int i = 0; i < 4; i++) {
        world_call(w, PR_CALLS_MONEY, 0);
        world_call(w, PR_CALLS_QUERY, 0);
    }
    int64_t ids[8];
    world_look(w);
    cr_assert_eq(world_pick(w, 8, 8, ids, 8), 3);
    for (int i = 0; i < 3; i++)
        cr_assert(world_commit(w, ids[i]));
    cr_assert_eq(world_send(w, PR_CALLS_MONEY) + world_send(w, PR_CALLS_QUERY), 3);
    cr_assert_eq(world_pick(w, 8, 8, ids + 3, 5), 0);
    say(w, ids[0], still_pending());
    cr_assert_eq(world_pick(w, 8, 8, ids + 3, 5), 1, "one came back, one more may go");
    world_end(w);
}

Test(gateway_scheduler, what_a_former_owner_has_under_way_takes_its_place)
{
    world_t *w = world_new(0, 1, 1, 1);
    int64_t former = world_call(w, PR_CALLS_QUERY, 0), id;
    w->calls[former - 1].place = HANDED_OUT;
    pr_calls_facts_t facts = world_facts(w, former);
    facts.lease_ms = 5000;
    pr_calls_adopt(w->step, 1, PR_CALLS_QUERY, &facts, w->now_ms);
    world_call(w, PR_CALLS_QUERY, 0);
    world_look(w);
    cr_assert_eq(world_pick(w, 8, 8, &id, 1), 0);
    w->now_ms += 4999;
    pr_calls_tick(w->step, w->now_ms);
    cr_assert_eq(world_pick(w, 8, 8, &id, 1), 0);
    w->now_ms += 1;
    pr_calls_tick(w->step, w->now_ms);
    cr_assert_eq(world_pick(w, 8, 8, &id, 1), 1, "its lease has ended");
    world_end(w);
}

Test(gateway_scheduler, an_adopted_call_counts_its_age_from_the_adoption)
{
    world_t *w = world_new(0, 1, 1, 1);
    w->now_ms = 1000000000;
    int64_t former = world_call(w, PR_CALLS_QUERY, 0);
    pr_calls_facts_t facts = world_facts(w, former);
    pr_calls_adopt(w->step, 1, PR_CALLS_QUERY, &facts, w->now_ms);
    say(w, former, still_pending());
    const pr_calls_action_t *result = world_action(w, PR_CALLS_RESULT);
    cr_assert(result && !result->stray);
    cr_assert_eq(result->delay_ms, 300000, "the second of the list, not expiry");
    world_end(w);
}

Test(gateway_scheduler, without_credit_nothing_is_committed)
{
    world_t *w = world_new(0, 1, 10, 1);
    for (int i = 0; i < 4; i++)
        world_call(w, PR_CALLS_QUERY, 0);
    int64_t ids[8];
    world_look(w);
    cr_assert_eq(world_pick(w, 8, 0, ids, 8), 0, "queries want credit of their own class");
    cr_assert_eq(world_pick(w, 0, 3, ids, 8), 3);
    cr_assert_eq(world_pick(w, 0, 3, ids, 8), 0, "what is picked holds the credit");
    uint32_t want[PR_CALLS_CLASSES];
    pr_calls_want(w->step, want, w->now_ms);
    cr_assert_eq(want[PR_CALLS_QUERY], 4);
    cr_assert_eq(want[PR_CALLS_MONEY], 0);
    world_end(w);
}

Test(gateway_scheduler, without_credit_nothing_wakes_us)
{
    world_t *w = world_new(10, 5, 10, 1);
    for (int i = 0; i < 9; i++)
        world_call(w, PR_CALLS_QUERY, 0);
    world_look(w);
    cr_assert_eq(pr_calls_deadline_ms(w->step, w->now_ms), INT64_MAX,
                 "the token of the next 100 ms could be used: that waits for credit, not for time");
    w->now_ms += 1000;
    cr_assert_eq(pr_calls_deadline_ms(w->step, w->now_ms), INT64_MAX);
    int64_t ids[9];
    int count = world_pick(w, 0, 9, ids, 9);
    cr_assert_eq(count, 6, "a burst and the next one");
    for (int i = 0; i < count; i++)
        cr_assert(world_commit(w, ids[i]));
    cr_assert_eq(world_send(w, PR_CALLS_QUERY), 5);
    cr_assert_eq(pr_calls_deadline_ms(w->step, w->now_ms), w->now_ms + 100, "its token");
    world_end(w);
}

Test(gateway_scheduler, what_does_not_leave_is_handed_back)
{
    world_t *w = world_new(0, 1, 10, 1);
    int64_t id = world_call(w, PR_CALLS_QUERY, 0), picked;
    world_look(w);
    cr_assert_eq(world_pick(w, 1, 1, &picked, 1), 1);
    cr_assert(world_commit(w, id));
    w->now_ms += 1999;
    pr_calls_tick(w->step, w->now_ms);
    world_drain(w);
    cr_assert_eq(w->nlast, 0);
    w->now_ms += 1;
    cr_assert_leq(pr_calls_deadline_ms(w->step, w->now_ms), w->now_ms);
    pr_calls_tick(w->step, w->now_ms);
    world_drain(w);
    const pr_calls_action_t *result = world_action(w, PR_CALLS_RESULT);
    cr_assert(result && result->returned && result->delay_ms == 0);
    cr_assert_eq(world_send(w, PR_CALLS_QUERY), 0);
    world_end(w);
}

Test(gateway_scheduler, a_call_that_could_not_be_sent_is_the_first_again_and_its_token_is_back)
{
    world_t *w = world_new(1, 1, 10, 1);
    world_call(w, PR_CALLS_QUERY, 0);
    int64_t id;
    w->now_ms += 1000;
    world_look(w);
    cr_assert_eq(world_pick(w, 1, 1, &id, 1), 1);
    cr_assert(world_commit(w, id));
    pr_calls_sent_t sent;
    cr_assert(pr_calls_send(w->step, PR_CALLS_QUERY, &sent, w->now_ms));
    pr_calls_unsent(w->step, &sent);
    cr_assert_eq(world_send(w, PR_CALLS_QUERY), 1);
    world_end(w);
}

Test(gateway_scheduler, an_outcome_is_written_once_and_acknowledged_after_the_commit)
{
    world_t *w = world_new(0, 1, 10, 1);
    world_call(w, PR_CALLS_QUERY, 0);
    int64_t id = one_out(w);
    cr_assert_eq(id, 1);
    say(w, id, still_pending());
    const pr_calls_action_t *result = world_action(w, PR_CALLS_RESULT);
    cr_assert(result && !result->stray && !result->returned);
    cr_assert_eq(result->delay_ms, 300000, "the second of the list");
    cr_assert_str_eq(result->reason, "still_pending");
    say(w, id, still_pending());
    cr_assert_null(world_action(w, PR_CALLS_RESULT), "said again while it is being written");
    pr_calls_facts_t facts = world_facts(w, id);
    pr_calls_applied(w->step, &facts.token);
    pr_calls_stats_t stats;
    pr_calls_stats(w->step, &stats);
    cr_assert(stats.applying == 0 && stats.under_way == 0);
    world_end(w);
}

Test(gateway_scheduler, what_could_not_be_written_is_written_when_it_is_said_again)
{
    world_t *w = world_new(0, 1, 1, 1);
    world_call(w, PR_CALLS_QUERY, 0);
    int64_t id = one_out(w);
    say(w, id, still_pending());
    pr_calls_facts_t facts = world_facts(w, id);
    pr_calls_not_applied(w->step, &facts.token);
    say(w, id, still_pending());
    const pr_calls_action_t *result = world_action(w, PR_CALLS_RESULT);
    cr_assert(result && !result->stray);
    world_end(w);
}

Test(gateway_scheduler, a_late_outcome_goes_to_the_door_all_the_same)
{
    world_t *w = world_new(0, 1, 10, 1);
    world_call(w, PR_CALLS_QUERY, 0);
    int64_t id = one_out(w);
    w->now_ms += 120000;
    pr_calls_tick(w->step, w->now_ms);
    world_drain(w);
    cr_assert(world_action(w, PR_CALLS_LOST), "nobody heard of it within its lease");
    pr_calls_outcome_t said = still_pending();
    said.status = PR_STATUS_SUCCEEDED;
    say(w, id, said);
    const pr_calls_action_t *result = world_action(w, PR_CALLS_RESULT);
    cr_assert(result && result->stray, "P5: refused for the job, not for the payment");
    pr_calls_facts_t other = world_facts(w, id);
    other.token.salt++;
    pr_calls_outcome(w->step, &other.token, &said, 0, NULL, w->now_ms);
    world_drain(w);
    cr_assert(world_action(w, PR_CALLS_RESULT)->stray, "so is a token of the past");
    world_end(w);
}

Test(gateway_scheduler, a_429_gives_the_channel_peace_and_empties_its_bucket)
{
    world_t *w = world_new(10, 10, 10, 1);
    for (int i = 0; i < 20; i++)
        world_call(w, PR_CALLS_QUERY, 0);
    w->now_ms += 5000; /* a full bucket */
    int64_t id = one_out(w), ids[20];
    pr_calls_outcome_t said = still_pending();
    said.throttled = said.failed = true;
    said.status = PR_STATUS_UNKNOWN;
    said.retry_after_ms = 30000;
    say(w, id, said);
    const pr_calls_action_t *paused = world_action(w, PR_CALLS_PAUSED);
    cr_assert(paused && paused->delay_ms == 30000);
    cr_assert_eq(world_action(w, PR_CALLS_RESULT)->delay_ms, 30000, "a floor for this call, too");
    w->now_ms += 29999;
    cr_assert_eq(world_pick(w, 20, 20, ids, 20), 0);
    w->now_ms += 1;
    cr_assert_eq(world_pick(w, 20, 20, ids, 20), 1, "no burst after it");
    world_end(w);
}

Test(gateway_scheduler, a_new_owner_keeps_the_peace_that_its_former_one_was_asked_for)
{
    world_t *w = world_new(10, 10, 10, 1);
    pr_calls_channel_t channel = a_channel(2, 10, 10, 10);
    int64_t ids[4];
    channel.paused_ms = 20000;
    pr_calls_set_channel(w->step, &channel, w->now_ms);
    pr_calls_row_t row = {
        .id = 900, .channel_no = 2, .class_no = PR_CALLS_MONEY, .operation = PR_OPERATION_CHARGE};
    cr_assert_eq(pr_calls_add(w->step, &row), PR_CALLS_KEPT);
    w->now_ms += 19999;
    cr_assert_eq(world_pick(w, 4, 4, ids, 4), 0);
    channel.version = 2;
    pr_calls_set_channel(w->step, &channel, w->now_ms); /* a change begins no pause anew */
    w->now_ms += 100;
    cr_assert_eq(world_pick(w, 4, 4, ids, 4), 1);
    cr_assert_eq(ids[0], 900);
    world_end(w);
}

Test(gateway_scheduler, a_429_without_a_time_backs_off_doubling)
{
    world_t *w = world_new(0, 1, 10, 1);
    static const int64_t pauses[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    for (size_t i = 0; i < PR_COUNT(pauses); i++) {
        world_call(w, PR_CALLS_QUERY, 0);
        int64_t id = one_out(w);
        cr_assert_neq(id, 0, "429 number %zu", i);
        pr_calls_outcome_t said = still_pending();
        said.throttled = said.failed = true;
        say(w, id, said);
        cr_assert_eq(world_action(w, PR_CALLS_PAUSED)->delay_ms, pauses[i]);
        w->now_ms += pauses[i];
    }
    world_call(w, PR_CALLS_QUERY, 0);
    say(w, one_out(w), still_pending());
    world_call(w, PR_CALLS_QUERY, 0);
    pr_calls_outcome_t said = still_pending();
    said.throttled = said.failed = true;
    say(w, one_out(w), said);
    cr_assert_eq(world_action(w, PR_CALLS_PAUSED)->delay_ms, 1000, "an answer ends the row");
    world_end(w);
}

Test(gateway_scheduler, a_retry_after_is_capped)
{
    world_t *w = world_new(0, 1, 10, 1);
    world_call(w, PR_CALLS_QUERY, 0);
    pr_calls_outcome_t said = still_pending();
    said.throttled = said.failed = true;
    said.retry_after_ms = INT64_C(1) << 40;
    say(w, one_out(w), said);
    cr_assert_eq(world_action(w, PR_CALLS_PAUSED)->delay_ms, 86400000);
    cr_assert_leq(world_action(w, PR_CALLS_RESULT)->delay_ms, 86400000);
    world_end(w);
}

Test(gateway_scheduler, a_refused_credential_stops_the_channel)
{
    world_t *w = world_new(0, 1, 10, 1);
    for (int i = 0; i < 3; i++)
        world_call(w, PR_CALLS_QUERY, 0);
    int64_t id = one_out(w), other;
    cr_assert_eq(world_pick(w, 9, 9, &other, 1), 1);
    cr_assert(world_commit(w, other));
    pr_calls_outcome_t said = still_pending();
    said.action = PR_ACTION_STOP_CHANNEL;
    pr_calls_facts_t facts = world_facts(w, id);
    pr_calls_outcome(w->step, &facts.token, &said, 0, NULL, w->now_ms);
    world_drain(w);
    cr_assert(world_action(w, PR_CALLS_STOPPED));
    cr_assert_eq(world_send(w, PR_CALLS_QUERY), 0, "not even what was committed");
    int returned = 0;
    for (int i = 0; i < w->nlast; i++)
        returned += w->last[i].kind == PR_CALLS_RESULT && w->last[i].returned;
    cr_assert_eq(returned, 1, "that goes back");
    world_look(w);
    cr_assert_eq(world_pick(w, 9, 9, &other, 1), 0);
    pr_calls_set_channel(w->step, &w->channel, w->now_ms);
    world_look(w);
    cr_assert_eq(world_pick(w, 9, 9, &other, 1), 0, "the row as it was says nothing new");
    w->channel.version++;
    pr_calls_set_channel(w->step, &w->channel, w->now_ms);
    world_look(w);
    cr_assert_eq(world_pick(w, 9, 9, &other, 1), 1, "a person resumed it");
    world_end(w);
}

Test(gateway_scheduler, a_channel_that_is_paused_keeps_its_calls_in_postgres)
{
    world_t *w = world_new(0, 1, 10, 1);
    world_call(w, PR_CALLS_QUERY, 0);
    world_call(w, PR_CALLS_QUERY, 0);
    int64_t id;
    world_look(w);
    cr_assert_eq(world_pick(w, 9, 9, &id, 1), 1);
    w->channel.active = false;
    pr_calls_set_channel(w->step, &w->channel, w->now_ms);
    cr_assert(world_commit(w, id), "the commit was under way");
    world_drain(w);
    cr_assert(world_action(w, PR_CALLS_RESULT)->returned);
    cr_assert_eq(world_send(w, PR_CALLS_QUERY), 0);
    pr_calls_stats_t stats;
    pr_calls_stats(w->step, &stats);
    cr_assert_eq(stats.waiting, 0);
    world_end(w);
}

Test(gateway_scheduler, lost_ownership_stops_everything_at_once)
{
    world_t *w = world_new(0, 1, 10, 1);
    for (int i = 0; i < 5; i++)
        world_call(w, PR_CALLS_QUERY, 0);
    int64_t under_way = one_out(w), ids[5];
    cr_assert_eq(world_pick(w, 9, 9, ids, 2), 2);
    cr_assert(world_commit(w, ids[0]));
    pr_calls_drop_all(w->step);
    world_drain(w);
    cr_assert_null(world_action(w, PR_CALLS_RESULT));
    cr_assert_eq(world_send(w, PR_CALLS_QUERY), 0, "committed, but not ours any more");
    cr_assert_not(world_commit(w, ids[1]));
    cr_assert_eq(world_pick(w, 9, 9, ids, 5), 0);
    say(w, under_way, still_pending());
    cr_assert(world_action(w, PR_CALLS_RESULT)->stray);
    pr_calls_stats_t stats;
    pr_calls_stats(w->step, &stats);
    cr_assert_eq(stats.waiting + stats.committing + stats.committed + stats.under_way, 0);
    world_end(w);
}

Test(gateway_scheduler, a_channel_given_away_leaves_the_others_alone)
{
    world_t *w = world_new(0, 1, 10, 1);
    pr_calls_channel_t second = a_channel(2, 0, 1, 10);
    second.shard = 9;
    pr_calls_set_channel(w->step, &second, w->now_ms);
    int64_t id = world_call(w, PR_CALLS_QUERY, 0), other = world_call(w, PR_CALLS_QUERY, 0), picked;
    (void)pr_calls_add(w->step, &(pr_calls_row_t){.id = id, .channel_no = 1, .class_no = 1});
    (void)pr_calls_add(w->step, &(pr_calls_row_t){.id = other, .channel_no = 2, .class_no = 1});
    cr_assert_eq(world_pick(w, 9, 9, &picked, 1), 1);
    int64_t left = picked == id ? other : id;
    int64_t gone_no = picked == id ? 1 : 2;
    cr_assert_eq(pr_calls_shard_busy(w->step, gone_no == 1 ? 7 : 9), 1);
    cr_assert_eq(pr_calls_shard_busy(w->step, gone_no == 1 ? 9 : 7), 0);
    pr_calls_drop_channel(w->step, gone_no);
    cr_assert_not(world_commit(w, picked));
    cr_assert_eq(world_pick(w, 9, 9, &picked, 1), 1);
    cr_assert_eq(picked, left);
    pr_calls_drop_channel(w->step, 3 - gone_no);
    cr_assert_eq(world_pick(w, 9, 9, &picked, 1), 0);
    world_end(w);
}

/* ---- fairness ---- */

Test(gateway_scheduler, new_queries_pass_a_backlog_that_goes_on_all_the_same)
{
    world_t *w = world_new(0, 1, 1000, 1);
    for (int i = 0; i < 100; i++)
        world_call(w, PR_CALLS_QUERY, -100000);
    for (int i = 0; i < 100; i++)
        world_call(w, PR_CALLS_QUERY, 500);
    int64_t ids[80];
    world_look(w);
    cr_assert_eq(world_pick(w, 0, 80, ids, 80), 80);
    int backlog = 0;
    for (int i = 0; i < 80; i++)
        backlog += ids[i] <= 100;
    cr_assert_geq(backlog, 20, "at least a quarter: %d", backlog);
    cr_assert_leq(backlog, 40, "at most half: %d", backlog);
    world_end(w);
}

Test(gateway_scheduler, money_goes_first_and_starves_nobody)
{
    world_t *w = world_new(0, 1, 1000, 1);
    for (int i = 0; i < 100; i++)
        world_call(w, PR_CALLS_MONEY, 0);
    for (int i = 0; i < 100; i++)
        world_call(w, PR_CALLS_QUERY, 500);
    int64_t ids[80];
    world_look(w);
    cr_assert_eq(world_pick(w, 80, 80, ids, 80), 80);
    int money = 0;
    for (int i = 0; i < 80; i++)
        money += ids[i] <= 100;
    cr_assert(ids[0] <= 100);
    cr_assert(money >= 30 && money <= 50, "three turns of eight and those of the empty lane: %d",
              money);
    world_end(w);
}

Test(gateway_scheduler, channels_take_turns)
{
    world_t *w = world_new(0, 1, 1000, 1);
    pr_calls_channel_t second = a_channel(2, 0, 1, 1000);
    pr_calls_set_channel(w->step, &second, w->now_ms);
    for (int i = 0; i < 100; i++)
        (void)pr_calls_add(w->step, &(pr_calls_row_t){.id = 1 + i, .channel_no = 1, .class_no = 1});
    for (int i = 0; i < 10; i++)
        (void)pr_calls_add(w->step,
                           &(pr_calls_row_t){.id = 1000 + i, .channel_no = 2, .class_no = 1});
    int64_t ids[20];
    cr_assert_eq(world_pick(w, 0, 20, ids, 20), 20);
    int of_second = 0;
    for (int i = 0; i < 20; i++)
        of_second += ids[i] >= 1000;
    cr_assert_eq(of_second, 10);
    world_end(w);
}

Test(gateway_scheduler, memory_is_bounded_and_hungry_again_at_half)
{
    world_t *w = world_new(0, 1, 1000, 1);
    for (int i = 0; i < 500; i++)
        world_call(w, PR_CALLS_QUERY, -100000);
    int64_t ids[200];
    world_look(w);
    pr_calls_stats_t stats;
    pr_calls_stats(w->step, &stats);
    cr_assert_eq(stats.waiting, 200);
    cr_assert_not(pr_calls_hungry(w->step));
    cr_assert_eq(world_pick(w, 0, 99, ids, 200), 99);
    cr_assert_not(pr_calls_hungry(w->step));
    cr_assert_eq(world_pick(w, 0, 100, ids, 1), 1);
    cr_assert(pr_calls_hungry(w->step));
    world_end(w);
}
