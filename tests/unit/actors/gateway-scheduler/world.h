/* SPDX-License-Identifier: Apache-2.0
 *
 * The step with a fake of its statements and of a gateway: a queue with due times, commits that take a while, workers that
 * answer late, twice or never. The gateway keeps the times of what reached it.
 */
#ifndef PR_TEST_GATEWAY_SCHEDULER_WORLD_H
#define PR_TEST_GATEWAY_SCHEDULER_WORLD_H

#include "actors/gateway-scheduler/gateway_scheduler.h"
#include "base/alloc.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#define WORLD_CALLS 4096
#define WORLD_NONE INT64_MAX

typedef enum { AT_REST = 0, COMMIT_UNDER_WAY, HANDED_OUT, ANSWERED } world_place_t;

typedef struct {
    int64_t due_ms;
    int64_t lease_ms; /* HANDED_OUT: until */
    int64_t
        event_ms; /* COMMIT_UNDER_WAY: when it is done; HANDED_OUT: when the answer comes; ANSWERED: when it is written */
    int64_t sent_ms; /* its first one */
    uint64_t salt;
    uint32_t attempt;
    uint32_t times; /* at the gateway */
    uint8_t class_no;
    world_place_t place;
    bool done, sent;
} world_call_t;

typedef struct {
    pr_calls_t *step;
    pr_calls_config_t config;
    pr_calls_channel_t channel;
    int64_t now_ms;
    world_call_t calls[WORLD_CALLS]; /* id = index + 1 */
    int count;
    int64_t *sends; /* when, in order */
    int nsends, sends_room;
    uint32_t under_way, most_under_way;
    pr_calls_action_t last[256]; /* actions of the last drain */
    int nlast;
    uint64_t prng;
} world_t;

static inline pr_calls_channel_t a_channel(int64_t no, double rate_per_s, uint32_t burst,
                                           uint32_t concurrency)
{
    pr_calls_channel_t channel = {.no = no,
                                  .shard = 7,
                                  .active = true,
                                  .version = 1,
                                  .rate_per_s = rate_per_s,
                                  .burst = burst,
                                  .concurrency = concurrency,
                                  .poll = {.max_polls = 20, .query_supported = true}};
    cr_assert_eq(pr_retry_parse("list:1m,5m,15m;jitter=0%", &channel.polls, NULL), PR_OK);
    cr_assert_eq(pr_retry_parse("exponential:1s..6h*5;jitter=0%", &channel.charges, NULL), PR_OK);
    return channel;
}

static inline pr_calls_config_t a_config(void)
{
    return (pr_calls_config_t){.keep = 200,
                               .ahead_ms = 100,
                               .send_within_ms = 2000,
                               .pause_cap_ms = 86400000,
                               .pause_first_ms = 1000,
                               .pause_most_ms = 60000};
}

static inline world_t *world_new(double rate_per_s, uint32_t burst, uint32_t concurrency,
                                 uint64_t seed)
{
    world_t *w = PR_NEW(world_t);
    w->config = a_config();
    w->channel = a_channel(1, rate_per_s, burst, concurrency);
    w->now_ms = 1000;
    w->prng = seed;
    w->step = pr_calls_new(&w->config, seed);
    pr_calls_set_channel(w->step, &w->channel, w->now_ms);
    return w;
}

static inline void world_end(world_t *w)
{
    pr_calls_destroy(&w->step, pr_free);
    pr_free(w->sends);
    pr_free(w);
}

static inline int64_t world_call(world_t *w, uint8_t class_no, int64_t due_ms)
{
    cr_assert_lt(w->count, WORLD_CALLS);
    w->calls[w->count++] =
        (world_call_t){.due_ms = due_ms, .class_no = class_no, .salt = prng_next(&w->prng)};
    return w->count;
}

/* As calls_due() does it: at most keep of each (class, priority), those that are due for over 5 s as a backlog. */
static inline void world_look(world_t *w)
{
    uint32_t taken[2][2] = {{0}};
    pr_calls_looking(w->step);
    for (int i = 0; i < w->count; i++) {
        const world_call_t *call = &w->calls[i];
        bool backlog = w->now_ms - call->due_ms > 5000;
        if (call->done || call->place != AT_REST || call->due_ms > w->now_ms)
            continue;
        if (taken[call->class_no][backlog]++ == w->config.keep) {
            pr_calls_more(w->step, 1);
            continue;
        }
        if (taken[call->class_no][backlog] > w->config.keep)
            continue;
        (void)pr_calls_add(w->step, &(pr_calls_row_t){.id = i + 1,
                                                      .channel_no = 1,
                                                      .class_no = call->class_no,
                                                      .operation = call->class_no == PR_CALLS_MONEY
                                                                       ? PR_OPERATION_CHARGE
                                                                       : PR_OPERATION_QUERY,
                                                      .backlog = backlog});
    }
}

static inline pr_calls_facts_t world_facts(const world_t *w, int64_t id)
{
    const world_call_t *call = &w->calls[id - 1];
    return (pr_calls_facts_t){.token = {id, call->salt, call->attempt},
                              .subject.operation = call->class_no == PR_CALLS_MONEY
                                                       ? PR_OPERATION_CHARGE
                                                       : PR_OPERATION_QUERY,
                              .lease_ms = 120000,
                              .payment = {.age_ms = 60000, .expires_ms = 7200000}};
}

/* Takes every action; what was handed back is applied at once. */
static inline void world_drain(world_t *w)
{
    pr_calls_action_t action;
    w->nlast = 0;
    while (pr_calls_action(w->step, &action)) {
        if (w->nlast < 256)
            w->last[w->nlast++] = action;
        if (action.kind == PR_CALLS_RESULT && action.returned) {
            w->calls[action.token.id - 1].place = AT_REST;
            pr_calls_applied(w->step, &action.token);
        }
        pr_free(action.outcome);
    }
}

static inline const pr_calls_action_t *world_action(const world_t *w, pr_calls_action_kind_t kind)
{
    for (int i = 0; i < w->nlast; i++)
        if (w->last[i].kind == kind)
            return &w->last[i];
    return NULL;
}

static inline int world_pick(world_t *w, uint64_t money, uint64_t queries, int64_t *ids, int max)
{
    uint64_t credit[PR_CALLS_CLASSES] = {money, queries};
    return pr_calls_pick(w->step, credit, ids, max, w->now_ms);
}

static inline bool world_commit(world_t *w, int64_t id)
{
    pr_calls_facts_t facts = world_facts(w, id);
    void *payload = pr_calloc(1, 1);
    w->calls[id - 1].place = HANDED_OUT;
    if (pr_calls_committed(w->step, &facts, payload, w->now_ms))
        return true;
    pr_free(payload);
    return false;
}

/* A call reaches the gateway, whoever makes it. */
static inline void world_at_gateway(world_t *w)
{
    if (w->nsends == w->sends_room) {
        w->sends_room = w->sends_room ? w->sends_room * 2 : 1024;
        w->sends = pr_realloc(w->sends, (size_t)w->sends_room, sizeof *w->sends);
    }
    w->sends[w->nsends++] = w->now_ms;
    w->under_way++;
    if (w->under_way > w->most_under_way)
        w->most_under_way = w->under_way;
}

static inline void world_sent(world_t *w, const pr_calls_sent_t *sent)
{
    world_call_t *call = &w->calls[sent->token.id - 1];
    cr_assert_eq(call->place, HANDED_OUT, "call %lld left without a committed row",
                 (long long)sent->token.id);
    if (!call->sent)
        call->sent_ms = w->now_ms;
    call->sent = true;
    call->times++;
    world_at_gateway(w);
    pr_free(sent->payload);
}

static inline int world_send(world_t *w, uint8_t class_no)
{
    pr_calls_sent_t sent;
    int count = 0;
    while (pr_calls_send(w->step, class_no, &sent, w->now_ms)) {
        world_sent(w, &sent);
        count++;
    }
    return count;
}

static inline pr_calls_outcome_t still_pending(void)
{
    return (pr_calls_outcome_t){.channel_no = 1, .status = PR_STATUS_PENDING, .retry_after_ms = -1};
}

/* The most sends within any second. */
static inline int world_busiest_second(const world_t *w)
{
    int most = 0;
    for (int first = 0, last = 0; last < w->nsends; last++) {
        while (w->sends[last] - w->sends[first] >= 1000)
            first++;
        if (last - first + 1 > most)
            most = last - first + 1;
    }
    return most;
}

#endif
