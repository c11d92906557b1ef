/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/broker.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <string.h>

pr_broker_t *pr_broker_new(void)
{
    pr_broker_t *self = PR_NEW(pr_broker_t);
    self->roster = pr_roster_new(PR_ROSTER_SILENCE_MS);
    return self;
}

void pr_broker_destroy(pr_broker_t **self)
{
    if (*self) {
        pr_roster_destroy(&(*self)->roster);
        pr_free(*self);
        *self = NULL;
    }
}

static pr_broker_action_t *emit(pr_broker_t *self, pr_broker_verb_t verb)
{
    pr_assert(self->actions_count < PR_BROKER_ACTIONS_MAX);
    pr_broker_action_t *action = &self->actions[self->actions_count++];
    *action = (pr_broker_action_t){.verb = verb};
    return action;
}

static pr_broker_action_t *emit_to(pr_broker_t *self, pr_broker_verb_t verb, pr_bytes_t route)
{
    pr_broker_action_t *action = emit(self, verb);
    pr_assert(route.len <= PR_ROSTER_ROUTE_MAX);
    memcpy(action->route.bytes, route.data, route.len);
    action->route.len = route.len;
    return action;
}

static pr_bytes_t bytes_of(const pr_route_t *route)
{
    return pr_bytes(route->bytes, route->len);
}

static void greet_anew(pr_broker_t *self, pr_bytes_t route)
{
    self->counts.strangers++;
    emit_to(self, PR_BROKER_HELLO, route)->greet_anew = true;
}

/* A stranger that is refused for want of room in the roster gets no answer: it asks each second. */
static bool answer(pr_broker_t *self, pr_bytes_t route, pr_rc_t rc, uint32_t greeting, bool fresh)
{
    if (rc == PR_LOST) {
        greet_anew(self, route);
    }
    if (rc != PR_OK) {
        return false;
    }
    pr_broker_action_t *action = emit_to(self, PR_BROKER_HELLO, route);
    action->greeting = greeting;
    action->fresh = fresh;
    return true;
}

void pr_broker_worker_hello(pr_broker_t *self, const pr_roster_hello_t *hello, int64_t now_ms)
{
    self->actions_count = 0;
    bool fresh = false;
    pr_rc_t rc = pr_roster_worker_hello(self->roster, hello, now_ms, &fresh);
    if (answer(self, hello->route, rc, hello->greeting, fresh)) {
        emit(self, PR_BROKER_TO_SCHEDULERS);
    }
}

void pr_broker_worker_held(pr_broker_t *self, pr_bytes_t route, int64_t now_ms)
{
    self->actions_count = 0;
    if (pr_roster_worker_heard(self->roster, route, now_ms) == PR_LOST) {
        greet_anew(self, route);
    }
    emit(self, PR_BROKER_TO_SCHEDULERS); /* what it holds is true, whether we know it or not */
}

void pr_broker_worker_credit(pr_broker_t *self, pr_bytes_t route, const uint64_t total[PR_CLASSES],
                             int64_t now_ms)
{
    self->actions_count = 0;
    if (pr_roster_worker_credit(self->roster, route, total, now_ms) == PR_LOST) {
        greet_anew(self, route);
    }
}

void pr_broker_scheduler_hello(pr_broker_t *self, const pr_roster_session_t *hello,
                               const uint8_t *const *replaces, size_t count, int64_t now_ms)
{
    self->actions_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (memcmp(replaces[i], hello->session, PR_SESSION_BYTES) != 0) {
            pr_roster_session_ended(self->roster, replaces[i]);
        }
    }
    bool fresh = false;
    pr_rc_t rc = pr_roster_scheduler_hello(self->roster, hello, now_ms, &fresh);
    if (answer(self, hello->route, rc, hello->greeting, fresh)) {
        emit(self, PR_BROKER_TO_WORKERS);
    }
}

void pr_broker_demand(pr_broker_t *self, pr_bytes_t route, const pr_roster_demand_t *demand,
                      int64_t now_ms)
{
    self->actions_count = 0;
    if (pr_roster_demand(self->roster, route, demand, now_ms) == PR_LOST) {
        greet_anew(self, route);
    }
}

static uint64_t first_bits(uint32_t count)
{
    return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

/* The lowest `count` bits that are set in items. */
static uint64_t take_bits(uint64_t items, uint64_t count)
{
    uint64_t taken = 0;
    for (; count > 0 && items != 0; count--) {
        uint64_t lowest = items & -items;
        taken |= lowest;
        items &= ~lowest;
    }
    return taken;
}

static uint32_t bits(uint64_t items)
{
    return (uint32_t)__builtin_popcountll(items);
}

/* To the worker with most room; split only when even that one has too little for all. */
static void place(pr_broker_t *self, uint32_t cls, uint32_t kinds, uint64_t items, uint64_t all)
{
    while (items != 0) {
        bool full = self->actions_count == PR_BROKER_ACTIONS_MAX; /* after many refusals */
        const pr_roster_worker_t *worker = full ? NULL : pr_roster_choose(self->roster, cls, kinds);
        if (!worker) {
            self->counts.undelivered += bits(items);
            return;
        }
        uint64_t part = take_bits(items, pr_roster_worker_room(worker, cls));
        pr_broker_action_t *action = emit_to(self, PR_BROKER_JOBS, bytes_of(&worker->route));
        action->items = part;
        action->count = bits(part);
        action->whole = part == all;
        action->cls = cls;
        action->kinds = kinds;
        pr_roster_sent(self->roster, worker, cls, action->count);
        self->counts.jobs += action->count;
        self->counts.batches_whole += action->whole;
        self->counts.batches_split += items == all && !action->whole;
        items &= ~part;
    }
}

void pr_broker_jobs(pr_broker_t *self, pr_bytes_t route, uint32_t cls, uint32_t kinds,
                    uint32_t count, int64_t now_ms)
{
    pr_assert(count > 0 && count <= PR_BROKER_BATCH_MAX);
    self->actions_count = 0;
    pr_rc_t rc = pr_roster_spend(self->roster, route, cls, count, now_ms);
    if (rc == PR_LOST) {
        self->counts.undelivered += count;
        greet_anew(self, route);
    } else if (rc == PR_BAD) {
        self->counts.overdrawn += count;
    } else {
        place(self, cls, kinds, first_bits(count), first_bits(count));
    }
}

void pr_broker_outcomes(pr_broker_t *self, pr_bytes_t route, const uint32_t *shards, uint32_t count,
                        int64_t now_ms)
{
    pr_assert(count > 0 && count <= PR_BROKER_BATCH_MAX);
    self->actions_count = 0;
    if (pr_roster_worker_heard(self->roster, route, now_ms) == PR_LOST) {
        greet_anew(self, route);
    }
    uint64_t all = first_bits(count);
    uint64_t left = all;
    while (left != 0) {
        const pr_roster_scheduler_t *owner =
            pr_roster_owner(self->roster, shards[__builtin_ctzll(left)]);
        uint64_t same = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (pr_roster_owner(self->roster, shards[i]) == owner) {
                same |= (uint64_t)1 << i;
            }
        }
        left &= ~same;
        if (!owner) {
            self->counts.ownerless += bits(same);
            continue;
        }
        pr_broker_action_t *action = emit_to(self, PR_BROKER_OUTCOMES, bytes_of(&owner->route));
        action->items = same;
        action->count = bits(same);
        action->whole = same == all;
        self->counts.outcomes += action->count;
    }
}

void pr_broker_ack(pr_broker_t *self, pr_bytes_t route, const char *worker_id, int64_t now_ms)
{
    (void)now_ms; /* a scheduler lives by its hello, each second */
    self->actions_count = 0;
    if (!pr_roster_scheduler_by_route(self->roster, route)) {
        greet_anew(self, route);
    }
    const pr_roster_worker_t *worker = pr_roster_worker_by_id(self->roster, worker_id);
    if (worker) { /* else it is on another broker, or gone */
        emit_to(self, PR_BROKER_FORWARD, bytes_of(&worker->route));
    }
}

void pr_broker_turn(pr_broker_t *self)
{
    self->actions_count = 0;
    pr_roster_share(self->roster, self->share_all);
    self->share_all = false;
    for (size_t i = 0; i < pr_roster_schedulers(self->roster); i++) {
        const pr_roster_scheduler_t *scheduler = pr_roster_scheduler_at(self->roster, i);
        if (!scheduler->unsaid) {
            continue;
        }
        pr_broker_action_t *action = emit_to(self, PR_BROKER_GRANT, bytes_of(&scheduler->route));
        memcpy(action->total, scheduler->granted, sizeof action->total);
        action->contended = scheduler->contended;
        pr_roster_said(self->roster, i, true);
    }
}

void pr_broker_repeat_grants(pr_broker_t *self)
{
    self->share_all = true;
    for (size_t i = 0; i < pr_roster_schedulers(self->roster); i++) {
        pr_roster_said(self->roster, i, false);
    }
}

void pr_broker_refused(pr_broker_t *self, const pr_broker_action_t *action, pr_rc_t rc)
{
    pr_broker_action_t it = *action; /* emit writes into the same array */
    if (it.verb == PR_BROKER_JOBS) {
        pr_roster_unsent(self->roster, bytes_of(&it.route), it.cls, it.count);
        pr_roster_worker_gone(self->roster, bytes_of(&it.route));
        self->counts.jobs -= it.count;
        self->counts.batches_whole -= it.whole;
        place(self, it.cls, it.kinds, it.items, it.whole ? it.items : 0);
        return;
    }
    if (it.verb == PR_BROKER_OUTCOMES) {
        self->counts.outcomes -= it.count;
    }
    if (rc == PR_LOST) {
        pr_roster_worker_gone(self->roster, bytes_of(&it.route));
        pr_roster_scheduler_gone(self->roster, bytes_of(&it.route));
    }
}
