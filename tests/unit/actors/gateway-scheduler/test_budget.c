/* SPDX-License-Identifier: Apache-2.0
 *
 * One budget per channel, whatever happens: commits that stall, answers that stay away, owners that are killed and replaced. Over
 * many seeds: no second at the gateway above rate + burst, never more calls at a time than allowed by one owner, no call before
 * its row is committed, and a query that becomes due now leaves soon, however long the backlog is.
 */
#include "tests/unit/actors/gateway-scheduler/world.h"

TestSuite(gateway_scheduler_budget, .timeout = 300);

#define SEEDS 24

typedef struct {
    double rate_per_s;
    uint32_t burst, concurrency;
    int overdue;
    int64_t run_ms;
    int64_t stall_ms;    /* the longest commit */
    int64_t answer_ms;   /* the longest answer */
    int silent_permille; /* answers that stay away */
    bool kill;           /* owners are */
    bool lend;           /* others want a turn each second, and hold it for answer_ms */
} weather_t;

static void answer(world_t *w, int i, const weather_t *weather)
{
    world_call_t *call = &w->calls[i];
    pr_calls_facts_t facts = world_facts(w, i + 1);
    pr_calls_outcome_t said = still_pending();
    said.status = PR_STATUS_SUCCEEDED;
    pr_calls_outcome(w->step, &facts.token, &said, prng_next(&w->prng), NULL, w->now_ms);
    if (prng_below(&w->prng, 3) == 0) /* said twice */
        pr_calls_outcome(w->step, &facts.token, &said, prng_next(&w->prng), NULL, w->now_ms);
    call->place = ANSWERED;
    call->event_ms = w->now_ms + (int64_t)prng_below(&w->prng, (uint64_t)weather->stall_ms);
    w->under_way--;
}

static void hand_out(world_t *w, int i, const weather_t *weather)
{
    world_call_t *call = &w->calls[i];
    bool silent = (int)prng_below(&w->prng, 1000) < weather->silent_permille;
    call->attempt++;
    call->lease_ms = w->now_ms + 120000;
    (void)world_commit(w, i + 1);
    call->event_ms =
        silent ? WORLD_NONE
               : w->now_ms + 5 + (int64_t)prng_below(&w->prng, (uint64_t)weather->answer_ms);
}

static void events(world_t *w, const weather_t *weather)
{
    for (int i = 0; i < w->count; i++) {
        world_call_t *call = &w->calls[i];
        if (call->place == AT_REST || call->event_ms > w->now_ms)
            continue;
        if (call->place == COMMIT_UNDER_WAY) {
            hand_out(w, i, weather);
        } else if (call->place == HANDED_OUT && call->sent && call->times > 0) {
            if (call->sent_ms + 5 <= w->now_ms)
                answer(w, i, weather);
        } else if (call->place == ANSWERED) {
            pr_calls_facts_t facts = world_facts(w, i + 1);
            call->place = AT_REST;
            call->done = true;
            pr_calls_applied(w->step, &facts.token);
        }
    }
}

static void dispatch(world_t *w, const weather_t *weather)
{
    int64_t ids[64];
    int count = world_pick(w, 1000, 1000, ids, 64);
    int64_t done_ms = w->now_ms + 1 + (int64_t)prng_below(&w->prng, (uint64_t)weather->stall_ms);
    for (int i = 0; i < count; i++) {
        w->calls[ids[i] - 1].place = COMMIT_UNDER_WAY;
        w->calls[ids[i] - 1].event_ms = done_ms;
    }
}

/* The owner is killed; another takes over and finds everything that was under way waiting again. */
static void replace_owner(world_t *w)
{
    pr_calls_destroy(&w->step, pr_free);
    w->now_ms += (int64_t)prng_below(&w->prng, 1500);
    w->step = pr_calls_new(&w->config, prng_next(&w->prng));
    pr_calls_set_channel(w->step, &w->channel, w->now_ms);
    for (int i = 0; i < w->count; i++) {
        w->calls[i].place = AT_REST;
        w->calls[i].sent = false;
    }
    w->under_way = 0;
}

/* Turns that others ask for, as gateway_scheduler_turns.c lends them. */
typedef struct {
    int64_t wished_ms, held_until_ms; /* WORLD_NONE: not */
    int64_t look_ms, latest_ms;
    int lent;
} turns_t;

static void lend(world_t *w, turns_t *turns, const weather_t *weather)
{
    if (w->now_ms >= turns->held_until_ms) {
        turns->held_until_ms = WORLD_NONE;
        w->under_way--;
    }
    if (w->now_ms >= turns->look_ms) {
        bool held = turns->held_until_ms != WORLD_NONE;
        turns->look_ms = w->now_ms + 1000;
        if (!held && turns->wished_ms == WORLD_NONE)
            turns->wished_ms = w->now_ms;
        pr_calls_lent(w->step, 1, held, turns->wished_ms != WORLD_NONE);
    }
    if (turns->wished_ms == WORLD_NONE || !pr_calls_lend(w->step, 1, w->now_ms))
        return;
    if (w->now_ms - turns->wished_ms > turns->latest_ms)
        turns->latest_ms = w->now_ms - turns->wished_ms;
    turns->wished_ms = WORLD_NONE;
    turns->held_until_ms = w->now_ms + weather->answer_ms;
    turns->lent++;
    world_at_gateway(w);
}

typedef struct {
    int64_t latest_ms; /* from due to the gateway, of those that became due during the run */
    uint32_t at_a_time;
    int busiest, sends, unsent_new;
    turns_t turns;
} seen_t;

static seen_t run(const weather_t *weather, uint64_t seed)
{
    world_t *w = world_new(weather->rate_per_s, weather->burst, weather->concurrency, seed);
    for (int i = 0; i < weather->overdue; i++)
        world_call(w, PR_CALLS_QUERY, -3600000 + i);
    int64_t end_ms = w->now_ms + weather->run_ms, look_ms = 0, born_ms = w->now_ms;
    int64_t kill_ms = weather->kill ? w->now_ms + weather->run_ms / 3 : WORLD_NONE;
    seen_t seen = {.turns = {.wished_ms = WORLD_NONE, .held_until_ms = WORLD_NONE}};
    while (w->now_ms < end_ms) {
        w->now_ms += 1 + (int64_t)prng_below(&w->prng, 7);
        if (prng_below(&w->prng, 400) == 0)
            w->now_ms += (int64_t)prng_below(&w->prng, 300); /* we stood still */
        if (w->now_ms >= kill_ms) {
            replace_owner(w);
            kill_ms = w->now_ms + weather->run_ms / 4;
        }
        if (w->now_ms >= born_ms && w->count < WORLD_CALLS) {
            world_call(w, prng_below(&w->prng, 10) == 0 ? PR_CALLS_MONEY : PR_CALLS_QUERY,
                       w->now_ms);
            born_ms = w->now_ms + 150;
        }
        pr_calls_tick(w->step, w->now_ms);
        events(w, weather);
        world_drain(w);
        if (w->now_ms >= look_ms || pr_calls_hungry(w->step)) {
            world_look(w);
            look_ms = w->now_ms + 100;
        }
        if (weather->lend)
            lend(w, &seen.turns, weather);
        dispatch(w, weather);
        (void)world_send(w, PR_CALLS_MONEY);
        (void)world_send(w, PR_CALLS_QUERY);
    }
    seen.busiest = world_busiest_second(w);
    seen.sends = w->nsends;
    seen.at_a_time = w->most_under_way;
    for (int i = weather->overdue; i < w->count; i++) {
        const world_call_t *call = &w->calls[i];
        bool gone_out = call->times > 0;
        if (!gone_out && end_ms - call->due_ms > 5000)
            seen.unsent_new++;
        if (gone_out && call->sent && call->sent_ms - call->due_ms > seen.latest_ms)
            seen.latest_ms = call->sent_ms - call->due_ms;
    }
    world_end(w);
    return seen;
}

static void over_seeds(const weather_t *weather, int at_least)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        seen_t seen = run(weather, seed);
        cr_assert_leq(seen.busiest, (int)weather->rate_per_s + (int)weather->burst,
                      "seed %llu: %d calls within a second", (unsigned long long)seed,
                      seen.busiest);
        cr_assert_leq(seen.at_a_time, weather->concurrency, "seed %llu", (unsigned long long)seed);
        cr_assert_geq(seen.sends, at_least, "seed %llu: only %d calls", (unsigned long long)seed,
                      seen.sends);
        cr_assert_eq(seen.unsent_new, 0, "seed %llu: new ones did not leave within 5 s",
                     (unsigned long long)seed);
        if (!weather->kill)
            cr_assert_leq(seen.latest_ms, 5000, "seed %llu: %lld ms late", (unsigned long long)seed,
                          (long long)seen.latest_ms);
    }
}

Test(gateway_scheduler_budget, holds_over_any_second_and_is_used)
{
    weather_t calm = {.rate_per_s = 100,
                      .burst = 20,
                      .concurrency = 200,
                      .overdue = 2000,
                      .run_ms = 15000,
                      .stall_ms = 20,
                      .answer_ms = 200};
    over_seeds(&calm, 15 * 100 * 9 / 10);
}

Test(gateway_scheduler_budget, holds_when_the_database_stalls)
{
    weather_t stalls = {.rate_per_s = 100,
                        .burst = 10,
                        .concurrency = 200,
                        .overdue = 2000,
                        .run_ms = 15000,
                        .stall_ms = 800,
                        .answer_ms = 200};
    over_seeds(&stalls, 100);
}

Test(gateway_scheduler_budget, holds_over_owners)
{
    weather_t kills = {.rate_per_s = 80,
                       .burst = 15,
                       .concurrency = 40,
                       .overdue = 2000,
                       .run_ms = 16000,
                       .stall_ms = 100,
                       .answer_ms = 300,
                       .silent_permille = 20,
                       .kill = true};
    over_seeds(&kills, 300);
}

Test(gateway_scheduler_budget, holds_with_turns_that_are_lent)
{
    weather_t flood = {.rate_per_s = 20,
                       .burst = 1,
                       .concurrency = 8,
                       .overdue = 2000,
                       .run_ms = 12000,
                       .stall_ms = 100,
                       .answer_ms = 300,
                       .lend = true};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        seen_t seen = run(&flood, seed);
        cr_assert_leq(seen.busiest, 21, "seed %llu: %d calls within a second",
                      (unsigned long long)seed, seen.busiest);
        cr_assert_leq(seen.at_a_time, 8, "seed %llu", (unsigned long long)seed);
        cr_assert_geq(seen.turns.lent, 5, "seed %llu: only %d turns in a flood",
                      (unsigned long long)seed, seen.turns.lent);
        cr_assert_leq(seen.turns.latest_ms, 2000, "seed %llu", (unsigned long long)seed);
        cr_assert_geq(seen.sends - seen.turns.lent, 150, "seed %llu: the queue's own go on",
                      (unsigned long long)seed);
    }
}

Test(gateway_scheduler_budget, concurrency_holds_where_there_is_no_rate)
{
    weather_t slow = {.rate_per_s = 0,
                      .burst = 1,
                      .concurrency = 10,
                      .overdue = 500,
                      .run_ms = 8000,
                      .stall_ms = 50,
                      .answer_ms = 100};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        seen_t seen = run(&slow, seed);
        cr_assert_leq(seen.at_a_time, 10);
        cr_assert_geq(seen.sends, 400, "%d", seen.sends);
    }
}
