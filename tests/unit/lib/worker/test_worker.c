/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker's decisions, without sockets: time is a number, peers are numbers.
 */
#include "base/alloc.h"
#include "worker/worker.h"

#include <criterion/criterion.h>

#include <string.h>

static const uint8_t session_a[16] = {0xa};
static const uint8_t session_b[16] = {0xb};
static const uint8_t broker_life[2][16] = {{1}, {2}};
static const uint8_t no_shards[32];
static const uint8_t shards_low[32] = {0xff}; /* 0..7 */
static const uint8_t all_shards[32] = {[0 ... 31] = 0xff};

static int freed;
static void free_payload(void *payload)
{
    (void)payload;
    freed++;
}

/* What the last call asked for, by kind. */
typedef struct {
    int count[PR_WORKER_DISCONNECT + 1];
    pr_worker_action_t last[PR_WORKER_DISCONNECT + 1];
} asked_t;

static asked_t ask(pr_worker_t *it)
{
    asked_t asked = {0};
    for (pr_worker_action_t action; pr_worker_action(it, &action);) {
        asked.count[action.kind]++;
        asked.last[action.kind] = action;
        if (action.kind == PR_WORKER_FREE)
            free_payload(action.payload);
    }
    return asked;
}

static pr_worker_t *fresh(uint32_t brokers)
{
    pr_worker_config_t config = {
        .brokers = brokers, .slots = 35, .shares = {20, 10, 5}, .slow_max = 50};
    freed = 0;
    return pr_worker_new(&config, 7, 1000);
}

/* The peer answers the newest greeting. */
static void answer(pr_worker_t *it, uint32_t peer, uint32_t greeting, int64_t now_ms)
{
    pr_worker_heard(it, peer, now_ms);
    pr_worker_broker_hello_t hello = {.instance = broker_life[0], .greeting = greeting};
    pr_worker_broker_hello(it, peer, &hello, now_ms);
}

static pr_worker_t *connected(void)
{
    pr_worker_t *it = fresh(1);
    answer(it, 0, ask(it).last[PR_WORKER_GREET].greeting, 1000);
    pr_worker_offer(it);
    return it;
}

static pr_token_t token(int64_t seq)
{
    return (pr_token_t){.salt = (uint64_t)seq * 77777u, .attempt = 0, .seq = seq};
}

static pr_worker_took_t job_of(pr_worker_t *it, const uint8_t *session, int64_t seq, uint32_t shard,
                               int64_t now_ms)
{
    static int payload;
    pr_worker_batch_t batch = {.session = session, .cls = 1, .jobs = 1};
    pr_worker_heard(it, 0, now_ms);
    pr_worker_batch(it, 0, &batch);
    return pr_worker_job(it, 0, &batch, token(seq), shard, &payload, now_ms);
}

static pr_worker_took_t job(pr_worker_t *it, int64_t seq, int64_t now_ms)
{
    return job_of(it, session_a, seq, 3, now_ms);
}

static void hello_of(pr_worker_t *it, const uint8_t *session, const uint8_t *shards,
                     const uint8_t *replaces, int64_t now_ms)
{
    pr_worker_scheduler_hello_t hello = {.session = session,
                                         .shards = shards,
                                         .replaces = &replaces,
                                         .replaces_count = replaces != NULL,
                                         .address = "ipc:///run/s1"};
    pr_worker_heard(it, 0, now_ms);
    pr_worker_scheduler_hello(it, 0, &hello, now_ms);
}

/* A job that was taken and whose call has ended: owed. */
static uint32_t owed_job(pr_worker_t *it, int64_t seq, bool delivered, int64_t now_ms)
{
    cr_assert_eq(job(it, seq, now_ms), PR_WORKER_TAKEN);
    uint32_t slot = ask(it).last[PR_WORKER_START].slot;
    pr_worker_finished(it, slot, delivered, now_ms);
    return slot;
}

TestSuite(worker, .timeout = 300);

Test(worker, a_job_is_made_told_and_forgotten)
{
    pr_worker_t *it = connected();
    ask(it);
    cr_assert_eq(job(it, 1, 1010), PR_WORKER_TAKEN);
    asked_t asked = ask(it);
    cr_expect_eq(asked.count[PR_WORKER_START], 1);
    pr_worker_finished(it, asked.last[PR_WORKER_START].slot, true, 1020);
    asked = ask(it);
    cr_expect_eq(asked.count[PR_WORKER_SEND], 1);
    cr_expect_eq(asked.last[PR_WORKER_SEND].peer, 0);
    cr_expect_not(pr_worker_drained(it), "it is owed");
    pr_worker_acked(it, token(1));
    cr_expect_eq(ask(it).count[PR_WORKER_FREE], 1);
    cr_expect(pr_worker_drained(it));
    pr_worker_destroy(&it, free_payload);
    cr_expect_eq(freed, 1);
}

Test(worker, a_token_is_here_once)
{
    pr_worker_t *it = connected();
    ask(it);
    job(it, 1, 1010);
    uint32_t slot = ask(it).last[PR_WORKER_START].slot;
    cr_expect_eq(job(it, 1, 1011), PR_WORKER_DUPLICATE, "while it runs: dropped");
    cr_expect_eq(ask(it).count[PR_WORKER_START], 0);
    pr_worker_finished(it, slot, true, 1020);
    ask(it);
    cr_expect_eq(job(it, 1, 1021), PR_WORKER_DUPLICATE);
    cr_expect_eq(ask(it).count[PR_WORKER_SEND], 1, "while it is owed: the answer again");
    pr_worker_acked(it, token(1));
    ask(it);
    cr_expect_eq(job(it, 1, 1030), PR_WORKER_TAKEN);
    asked_t asked = ask(it);
    cr_expect_eq(asked.count[PR_WORKER_START], 0, "delivered and acknowledged: never again");
    cr_expect_eq(asked.count[PR_WORKER_REPEAT], 1, "but whoever asks has lost the answer");
    cr_expect_eq(asked.count[PR_WORKER_SEND], 1);
    pr_worker_acked(it, token(1));
    cr_expect_eq(pr_worker_stats(it).owed, 0);
    cr_expect_eq(job(it, 1, 1040), PR_WORKER_TAKEN, "and a third time");
    cr_expect_eq(ask(it).count[PR_WORKER_REPEAT], 1);
    pr_worker_destroy(&it, free_payload);
}

Test(worker, a_failed_token_may_come_back)
{
    pr_worker_t *it = connected();
    owed_job(it, 1, false, 1010);
    pr_worker_acked(it, token(1));
    ask(it);
    cr_expect_eq(job(it, 1, 1020), PR_WORKER_TAKEN);
    pr_worker_destroy(&it, free_payload);
}

Test(worker, delivered_tokens_are_remembered_boundedly)
{
    pr_worker_t *it = connected();
    for (int64_t seq = 1; seq <= 20000; seq++) {
        owed_job(it, seq, true, 1000 + seq);
        pr_worker_acked(it, token(seq));
        ask(it);
    }
    job(it, 20000, 30000);
    job(it, 12000, 30000);
    cr_expect_eq(ask(it).count[PR_WORKER_REPEAT], 2);
    job(it, 1, 30000);
    cr_expect_eq(ask(it).count[PR_WORKER_START], 1, "long forgotten");
    pr_worker_destroy(&it, free_payload);
}

Test(worker, replaced_sessions_are_refused)
{
    pr_worker_t *it = connected();
    hello_of(it, session_b, all_shards, session_a, 1010);
    cr_expect_eq(job_of(it, session_a, 1, 3, 1020), PR_WORKER_REPLACED);
    cr_expect_eq(job_of(it, session_b, 1, 3, 1021), PR_WORKER_TAKEN, "the new owner's copy");
    hello_of(it, session_a, all_shards, NULL, 1030);
    cr_expect_eq(job_of(it, session_a, 2, 3, 1031), PR_WORKER_REPLACED, "its late word is nothing");
    pr_worker_destroy(&it, free_payload);
}

Test(worker, owed_outcomes_are_sent_again_each_second)
{
    pr_worker_t *it = connected();
    owed_job(it, 1, true, 1100);
    ask(it);
    for (int64_t now_ms = 1150; now_ms < 2100; now_ms += 50) {
        pr_worker_heard(it, 0, now_ms);
        pr_worker_tick(it, now_ms);
        cr_expect_eq(ask(it).count[PR_WORKER_SEND], 0, "at %d", (int)now_ms);
    }
    pr_worker_tick(it, 2100);
    cr_expect_eq(ask(it).count[PR_WORKER_SEND], 1);
    pr_worker_destroy(&it, free_payload);
}

Test(worker, a_new_owner_hears_at_once_what_is_owed)
{
    pr_worker_t *it = connected();
    hello_of(it, session_a, all_shards, NULL, 1000);
    owed_job(it, 1, true, 1100); /* shard 3 */
    ask(it);
    hello_of(it, session_a, all_shards, NULL, 1110);
    cr_expect_eq(ask(it).count[PR_WORKER_SEND], 0, "nothing new");
    hello_of(it, session_b, no_shards, NULL, 1120);
    cr_expect_eq(ask(it).count[PR_WORKER_SEND], 0, "not its shard");
    hello_of(it, session_b, shards_low, session_a, 1130);
    cr_expect_eq(ask(it).count[PR_WORKER_SEND], 1);
    pr_worker_destroy(&it, free_payload);
}

Test(worker, heartbeats_name_all_that_is_held_and_owed)
{
    pr_worker_t *it = connected();
    owed_job(it, 1, true, 1010);
    job(it, 2, 1010);
    ask(it);
    int beats = 0;
    for (int64_t now_ms = 1010; now_ms < 2010; now_ms += 10) {
        pr_worker_heard(it, 0, now_ms);
        pr_worker_tick(it, now_ms);
        beats += ask(it).count[PR_WORKER_HELD];
    }
    cr_expect_eq(beats, 4, "every 250 ms");
    const pr_held_t *held[10];
    cr_assert_eq(pr_worker_held(it, held, 10), 2);
    cr_expect_eq(held[0]->token.seq, 2);
    cr_expect_eq(held[0]->state, PR_HELD_RUNNING);
    cr_expect_eq(held[1]->token.seq, 1);
    cr_expect_eq(held[1]->state, PR_HELD_OWED);
    pr_worker_destroy(&it, free_payload);
}

Test(worker, greetings_are_repeated_until_answered)
{
    pr_worker_t *it = fresh(1);
    uint32_t first = ask(it).last[PR_WORKER_GREET].greeting;
    pr_worker_tick(it, 1199);
    cr_expect_eq(ask(it).count[PR_WORKER_GREET], 0);
    pr_worker_tick(it, 1200);
    asked_t asked = ask(it);
    cr_assert_eq(asked.count[PR_WORKER_GREET], 1);
    cr_expect_gt(asked.last[PR_WORKER_GREET].greeting, first);
    answer(it, 0, first, 1510);
    pr_worker_offer(it);
    cr_expect_eq(ask(it).count[PR_WORKER_CREDIT], 0, "an answer to an older greeting");
    answer(it, 0, asked.last[PR_WORKER_GREET].greeting, 1520);
    pr_worker_offer(it);
    asked = ask(it);
    cr_expect_eq(asked.count[PR_WORKER_CREDIT], 1);
    cr_expect_gt(asked.last[PR_WORKER_CREDIT].total[0], 0);
    pr_worker_destroy(&it, free_payload);
}

Test(worker, a_broker_that_restarted_is_greeted_and_told_what_is_owed)
{
    pr_worker_t *it = connected();
    owed_job(it, 1, true, 1010);
    ask(it);
    pr_worker_broker_hello_t hello = {
        .instance = broker_life[1], .greeting = 0, .greet_anew = true};
    pr_worker_broker_hello(it, 0, &hello, 1200);
    asked_t asked = ask(it);
    cr_assert_eq(asked.count[PR_WORKER_GREET], 1);
    hello.greet_anew = false;
    hello.greeting = asked.last[PR_WORKER_GREET].greeting;
    pr_worker_broker_hello(it, 0, &hello, 1210);
    cr_expect_eq(ask(it).count[PR_WORKER_SEND], 1);
    pr_worker_destroy(&it, free_payload);
}

Test(worker, credit_is_what_is_free)
{
    pr_worker_t *it = connected();
    uint64_t before = ask(it).last[PR_WORKER_CREDIT].total[1];
    for (int64_t seq = 1; seq <= 5; seq++)
        job(it, seq, 1010);
    pr_worker_offer(it);
    cr_expect_eq(ask(it).count[PR_WORKER_CREDIT], 0, "all slots but those five were agreed");
    for (uint32_t slot = 0; slot < 5; slot++)
        pr_worker_finished(it, slot, true, 1020);
    pr_worker_offer(it);
    cr_expect_eq(ask(it).last[PR_WORKER_CREDIT].total[1], before + 5);
    pr_worker_destroy(&it, free_payload);
}

Test(worker, credit_is_given_only_for_the_classes_that_it_serves)
{
    pr_worker_config_t config = {
        .brokers = 1, .slots = 35, .shares = {1, 20, 1}, .slow_max = 50, .serves = 1U << 1};
    pr_worker_t *it = pr_worker_new(&config, 7, 1000);
    answer(it, 0, ask(it).last[PR_WORKER_GREET].greeting, 1000);
    pr_worker_offer(it);
    for (int round = 0; round < 2; round++) { /* the offer, and what the heartbeat repeats */
        pr_worker_action_t credit = ask(it).last[PR_WORKER_CREDIT];
        cr_assert_eq(credit.kind, PR_WORKER_CREDIT);
        cr_expect_eq(credit.total[0], 0);
        cr_expect_geq(credit.total[1], 30);
        cr_expect_eq(credit.total[2], 0);
        pr_worker_tick(it, 1000 + PR_WORKER_HEARTBEAT_MS);
    }
    pr_worker_destroy(&it, free_payload);
}

Test(worker, credit_is_said_again_with_each_heartbeat)
{
    pr_worker_t *it = connected();
    uint64_t before = ask(it).last[PR_WORKER_CREDIT].total[1];
    pr_worker_heard(it, 0, 1300);
    pr_worker_tick(it, 1300);
    asked_t asked = ask(it);
    cr_expect_eq(asked.count[PR_WORKER_CREDIT], 1, "the first may have been refused");
    cr_expect_eq(asked.last[PR_WORKER_CREDIT].total[1], before);
    pr_worker_destroy(&it, free_payload);
}

Test(worker, an_idle_one_speaks_half_as_often_until_it_takes_a_job)
{
    pr_worker_t *it = connected();
    pr_worker_tick(it, 1600); /* then at multiples of its time */
    cr_expect_eq(ask(it).count[PR_WORKER_HELD], 1);
    pr_worker_heard(it, 0, 1900);
    pr_worker_tick(it, 4 * PR_WORKER_IDLE_HEARTBEAT_MS - 1);
    cr_expect_eq(ask(it).count[PR_WORKER_HELD], 0, "holding nothing");
    pr_worker_tick(it, 4 * PR_WORKER_IDLE_HEARTBEAT_MS);
    cr_expect_eq(ask(it).count[PR_WORKER_HELD], 1);
    job(it, 1, 2010);
    pr_worker_tick(it, 2010 + PR_WORKER_HEARTBEAT_MS);
    cr_expect_eq(ask(it).count[PR_WORKER_HELD], 1, "what it holds now is named in time");
    pr_worker_destroy(&it, free_payload);
}

Test(worker, is_calm_once_nothing_is_left_of_its_last_job)
{
    pr_worker_t *it = connected();
    cr_expect(pr_worker_calm(it));
    job(it, 1, 1010);
    cr_expect(pr_worker_busy(it) && !pr_worker_calm(it), "it runs");
    pr_worker_finished(it, ask(it).last[PR_WORKER_START].slot, true, 1020);
    cr_expect(!pr_worker_busy(it) && !pr_worker_calm(it), "it is owed");
    pr_worker_acked(it, token(1));
    cr_expect_not(pr_worker_calm(it), "its slot counts as busy for a while");
    pr_worker_tick(it, 1100);
    pr_worker_tick(it, 1200);
    cr_expect(pr_worker_calm(it));
    pr_worker_tick(it, 1200 + PR_WORKER_SILENCE_MS + 1);
    cr_expect_not(pr_worker_calm(it), "its broker is gone: greetings are due");
    pr_worker_destroy(&it, free_payload);
}

Test(worker, slow_jobs_give_their_slots_back)
{
    pr_worker_t *it = connected();
    uint64_t before = ask(it).last[PR_WORKER_CREDIT].total[1];
    for (int64_t seq = 1; seq <= 10; seq++)
        job(it, seq, 1010);
    pr_worker_tick(it, 1400);
    pr_worker_offer(it);
    cr_expect_eq(pr_worker_stats(it).slow, 0);
    pr_worker_heard(it, 0, 1600);
    pr_worker_tick(it, 1600);
    cr_expect_eq(pr_worker_stats(it).slow, 10);
    pr_worker_offer(it);
    cr_expect_eq(ask(it).last[PR_WORKER_CREDIT].total[1], before + 10);
    pr_worker_destroy(&it, free_payload);
}

Test(worker, draining_finishes_hands_back_and_waits_for_acks)
{
    pr_worker_t *it = connected();
    ask(it);
    job(it, 1, 1010);
    uint32_t slot = ask(it).last[PR_WORKER_START].slot;
    pr_worker_drain(it, 1020);
    cr_expect_eq(ask(it).count[PR_WORKER_GREET], 1, "peers are told");
    cr_expect_eq(job(it, 2, 1030), PR_WORKER_TAKEN, "it was on its way");
    asked_t asked = ask(it);
    cr_expect_eq(asked.count[PR_WORKER_START], 0);
    cr_expect_eq(asked.count[PR_WORKER_RETURN], 1);
    cr_expect_eq(asked.count[PR_WORKER_SEND], 1);
    pr_worker_finished(it, slot, true, 1040);
    pr_worker_offer(it);
    asked = ask(it);
    cr_expect_eq(asked.count[PR_WORKER_CREDIT], 0, "no more credit");
    cr_expect_not(pr_worker_drained(it));
    pr_worker_acked(it, token(1));
    pr_worker_acked(it, token(2));
    cr_expect(pr_worker_drained(it));
    pr_worker_destroy(&it, free_payload);
}

Test(worker, without_brokers_it_goes_to_the_schedulers_and_comes_back)
{
    pr_worker_t *it = connected();
    hello_of(it, session_a, all_shards, NULL, 1000);
    owed_job(it, 1, true, 1100);
    ask(it);
    pr_worker_tick(it, 2900);
    cr_expect_not(pr_worker_direct(it));
    ask(it);
    pr_worker_tick(it, 3200); /* silent since 1100: lost */
    cr_expect_eq(ask(it).count[PR_WORKER_SEND], 0, "nobody is there");
    pr_worker_tick(it, 3250);
    asked_t asked = ask(it);
    cr_assert_eq(asked.count[PR_WORKER_CONNECT], 1);
    cr_expect_str_eq(asked.last[PR_WORKER_CONNECT].address, "ipc:///run/s1");
    uint32_t direct = asked.last[PR_WORKER_CONNECT].peer;
    cr_assert_eq(asked.last[PR_WORKER_GREET].peer, direct);
    answer(it, direct, asked.last[PR_WORKER_GREET].greeting, 3260);
    asked = ask(it);
    cr_assert_eq(asked.count[PR_WORKER_SEND], 1, "it is told what is owed");
    cr_expect_eq(asked.last[PR_WORKER_SEND].peer, direct);
    pr_worker_offer(it);
    cr_expect_eq(ask(it).last[PR_WORKER_CREDIT].peer, direct);

    pr_worker_tick(it, 3800);
    asked = ask(it); /* the broker is greeted all the while */
    cr_assert_eq(asked.last[PR_WORKER_GREET].peer, 0);
    answer(it, 0, asked.last[PR_WORKER_GREET].greeting, 3900);
    cr_expect_eq(ask(it).last[PR_WORKER_SEND].peer, 0);
    pr_worker_tick(it, 3950);
    cr_expect_eq(ask(it).count[PR_WORKER_DISCONNECT], 0, "what is on its way may come");
    pr_worker_heard(it, 0, 5000);
    pr_worker_tick(it, 5000);
    cr_expect_eq(ask(it).last[PR_WORKER_DISCONNECT].peer, direct);
    cr_expect_not(pr_worker_direct(it));
    pr_worker_destroy(&it, free_payload);
}

Test(worker, a_scheduler_that_was_found_is_a_peer_only_while_brokers_are_away)
{
    pr_worker_t *it = connected(); /* and never told of any scheduler */
    pr_worker_heard(it, 0, 1000);
    ask(it);
    cr_expect_not(pr_worker_brokers_away(it, 2999));
    pr_worker_found(it, "ipc:///run/s2", 2999);
    cr_expect_eq(ask(it).count[PR_WORKER_CONNECT], 0);
    cr_expect(pr_worker_brokers_away(it, 3000));
    pr_worker_found(it, "ipc:///run/s2", 3000);
    pr_worker_found(it, "ipc:///run/s2", 3000);
    asked_t asked = ask(it);
    cr_assert_eq(asked.count[PR_WORKER_CONNECT], 1, "once");
    cr_expect_str_eq(asked.last[PR_WORKER_CONNECT].address, "ipc:///run/s2");
    cr_expect(pr_worker_direct(it));
    pr_worker_destroy(&it, free_payload);
}

Test(worker, an_outcome_goes_by_another_broker_when_its_own_is_lost)
{
    pr_worker_t *it = fresh(2);
    asked_t asked = {0};
    uint32_t greeting[2] = {0};
    for (pr_worker_action_t action; pr_worker_action(it, &action);)
        greeting[action.peer] = action.greeting;
    answer(it, 0, greeting[0], 1000);
    answer(it, 1, greeting[1], 1000);
    job(it, 1, 1010); /* from broker 0 */
    asked = ask(it);
    uint32_t slot = asked.last[PR_WORKER_START].slot;
    pr_worker_heard(it, 1, 3100);
    pr_worker_tick(it, 3100); /* broker 0 is silent */
    ask(it);
    pr_worker_finished(it, slot, true, 3110);
    cr_expect_eq(ask(it).last[PR_WORKER_SEND].peer, 1);
    pr_worker_destroy(&it, free_payload);
}

Test(worker, a_peer_that_ignores_credit_is_bounded)
{
    pr_worker_t *it = connected();
    int taken = 0;
    for (int64_t seq = 1; seq <= PR_WORKER_SLOTS_MAX + 100; seq++) {
        taken += job(it, seq, 1010) == PR_WORKER_TAKEN;
        ask(it);
    }
    cr_expect_eq(taken, PR_WORKER_SLOTS_MAX);
    cr_expect_eq(pr_worker_stats(it).full, 100);
    pr_worker_destroy(&it, free_payload);
    cr_expect_eq(freed, PR_WORKER_SLOTS_MAX);
}

/* Whatever comes in whatever order: a token starts once until it is forgotten, and in the end,
 * once all is acknowledged, nothing is left. */
Test(worker, any_order_of_events_keeps_the_books)
{
    enum { TOKENS = 64 };
    uint64_t random = 88172645463325252u;
    pr_worker_t *it = connected();
    bool running[TOKENS] = {0};
    uint32_t slots[TOKENS];
    int64_t now_ms = 1000;
    for (int step = 0; step < 50000; step++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        int64_t seq = (int64_t)(random >> 8) % TOKENS;
        now_ms += (int64_t)(random >> 20) % 20;
        switch (random % 5) {
        case 0:
        case 1:
            job(it, seq, now_ms);
            break;
        case 2:
            if (running[seq])
                pr_worker_finished(it, slots[seq], (random >> 40 & 1) != 0, now_ms);
            running[seq] = false;
            break;
        case 3:
            pr_worker_acked(it, token(seq));
            break;
        default:
            pr_worker_heard(it, 0, now_ms);
            pr_worker_tick(it, now_ms);
            pr_worker_offer(it);
        }
        for (pr_worker_action_t action; pr_worker_action(it, &action);) {
            if (action.kind != PR_WORKER_START)
                continue;
            int64_t started = pr_worker_slot(it, action.slot)->token.seq;
            cr_assert_not(running[started], "token %d runs already", (int)started);
            running[started] = true;
            slots[started] = action.slot;
        }
    }
    for (int64_t seq = 0; seq < TOKENS; seq++) {
        if (running[seq])
            pr_worker_finished(it, slots[seq], true, now_ms);
        pr_worker_acked(it, token(seq));
    }
    cr_expect(pr_worker_drained(it));
    cr_expect_eq(pr_worker_stats(it).slow, 0);
    ask(it);
    pr_worker_destroy(&it, free_payload);
}
