/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs: taken, running, owed, forgotten. The model stands in worker.h.
 */
#include "worker/worker.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "worker/worker_state.h"

#include <string.h>

/* Salts are random, so this only has to keep the tries of one job apart. */
static uint64_t token_key(pr_token_t token)
{
    return token.salt ^ ((uint64_t)token.seq * 0x9e3779b97f4a7c15u) ^
           ((uint64_t)token.attempt * 0xc2b2ae3d27d4eb4fu);
}

static bool token_equal(pr_token_t a, pr_token_t b)
{
    return a.salt == b.salt && a.attempt == b.attempt && a.seq == b.seq;
}

pr_worker_action_t *worker_emit(pr_worker_t *self, pr_worker_action_kind_t kind)
{
    pr_assert(self->action_count < ACTIONS_MAX);
    uint32_t at = (self->action_head + self->action_count++) % ACTIONS_MAX;
    self->actions[at] = (pr_worker_action_t){.kind = kind};
    return &self->actions[at];
}

bool pr_worker_action(pr_worker_t *self, pr_worker_action_t *out)
{
    if (self->action_count == 0)
        return false;
    *out = self->actions[self->action_head];
    self->action_head = (self->action_head + 1) % ACTIONS_MAX;
    self->action_count--;
    return true;
}

void worker_list_append(pr_worker_t *self, slot_list_t *list, uint32_t slot)
{
    pr_held_t *held = &self->slots[slot];
    held->next = NO_SLOT;
    held->prev = list->tail;
    if (list->tail == NO_SLOT)
        list->head = slot;
    else
        self->slots[list->tail].next = slot;
    list->tail = slot;
    list->count++;
}

void worker_list_remove(pr_worker_t *self, slot_list_t *list, uint32_t slot)
{
    pr_held_t *held = &self->slots[slot];
    if (held->prev == NO_SLOT)
        list->head = held->next;
    else
        self->slots[held->prev].next = held->next;
    if (held->next == NO_SLOT)
        list->tail = held->prev;
    else
        self->slots[held->next].prev = held->prev;
    list->count--;
}

pr_worker_t *pr_worker_new(const pr_worker_config_t *config, uint64_t seed, int64_t now_ms)
{
    pr_assert(config->brokers >= 1 && config->brokers <= PR_WORKER_BROKERS_MAX);
    pr_worker_t *self = PR_NEW(pr_worker_t);
    self->config = *config;
    pr_lanes_init(&self->lanes, config->slots, config->shares, config->slow_max);
    self->slots = pr_calloc(PR_WORKER_SLOTS_MAX, sizeof(pr_held_t));
    for (uint32_t i = 0; i < PR_WORKER_SLOTS_MAX; i++)
        self->slots[i].next = i + 1 < PR_WORKER_SLOTS_MAX ? i + 1 : NO_SLOT;
    self->running = self->owed = (slot_list_t){NO_SLOT, NO_SLOT, 0};
    self->by_token = pr_map_new(PR_WORKER_SLOTS_MAX, seed);
    self->delivered = pr_map_new(DELIVERED_MAX + 1, seed);
    self->delivered_keys = pr_calloc(DELIVERED_MAX, sizeof(uint64_t));
    self->actions = pr_calloc(ACTIONS_MAX, sizeof(pr_worker_action_t));
    self->broker_heard_at_ms = now_ms;
    self->heartbeat_at_ms = now_ms + PR_WORKER_HEARTBEAT_MS;
    for (uint32_t i = 0; i < config->brokers; i++) {
        self->peers[i] = (peer_t){.used = true, .heard_at_ms = now_ms, .leave_at_ms = INT64_MAX};
        worker_greet(self, i, now_ms);
    }
    return self;
}

void pr_worker_destroy(pr_worker_t **self, void (*free_payload)(void *payload))
{
    pr_worker_t *worker = *self;
    *self = NULL;
    if (worker == NULL)
        return;
    for (uint32_t i = 0; i < PR_WORKER_SLOTS_MAX; i++) {
        if (worker->slots[i].state != PR_HELD_FREE)
            free_payload(worker->slots[i].payload);
    }
    pr_map_destroy(&worker->by_token);
    pr_map_destroy(&worker->delivered);
    pr_free(worker->delivered_keys);
    pr_free(worker->slots);
    pr_free(worker->actions);
    pr_free(worker);
}

void worker_send(pr_worker_t *self, pr_held_t *held, int64_t now_ms)
{
    uint32_t slot = (uint32_t)(held - self->slots);
    held->at_ms = now_ms;
    worker_list_remove(self, &self->owed, slot);
    worker_list_append(self, &self->owed, slot); /* oldest sent first */
    uint32_t peer = worker_peer_for(self, held);
    if (peer >= PR_WORKER_PEERS_MAX)
        return;
    pr_worker_action_t *action = worker_emit(self, PR_WORKER_SEND);
    action->slot = slot;
    action->peer = peer;
    action->payload = held->payload;
}

void pr_worker_batch(pr_worker_t *self, uint32_t peer, const pr_worker_batch_t *batch)
{
    pr_assert(peer < PR_WORKER_PEERS_MAX && batch->cls < PR_CLASSES);
    pr_lane_peer_received(&self->peers[peer].lane, batch->cls, batch->jobs);
}

/* True: this token is known; it was dealt with. */
static bool duplicate(pr_worker_t *self, pr_token_t token, int64_t now_ms)
{
    pr_held_t *held = pr_map_get(self->by_token, token_key(token));
    if (held == NULL)
        return false;
    if (token_equal(held->token, token) && held->state == PR_HELD_OWED)
        worker_send(self, held, now_ms);
    return true;
}

static pr_held_t *take_slot(pr_worker_t *self)
{
    uint32_t slot = self->free_head;
    if (slot == NO_SLOT)
        return NULL;
    self->free_head = self->slots[slot].next;
    return &self->slots[slot];
}

/* Its outcome is known without a call: a job that comes while we drain goes back untried, one that was delivered and
 * acknowledged before is delivered. */
static void answer_at_once(pr_worker_t *self, pr_held_t *held, pr_worker_action_kind_t kind,
                           int64_t now_ms)
{
    uint32_t slot = (uint32_t)(held - self->slots);
    pr_lanes_finish(&self->lanes, held->cls, false);
    held->state = PR_HELD_OWED;
    held->delivered = kind == PR_WORKER_REPEAT;
    worker_list_append(self, &self->owed, slot);
    pr_worker_action_t *action = worker_emit(self, kind);
    action->slot = slot;
    action->payload = held->payload;
    worker_send(self, held, now_ms);
}

pr_worker_took_t pr_worker_job(pr_worker_t *self, uint32_t peer, const pr_worker_batch_t *batch,
                               pr_token_t token, uint32_t shard, void *payload, int64_t now_ms)
{
    if (worker_session_replaced(self, batch->session)) {
        self->stats.replaced++;
        return PR_WORKER_REPLACED;
    }
    if (duplicate(self, token, now_ms)) {
        self->stats.duplicates++;
        return PR_WORKER_DUPLICATE;
    }
    pr_held_t *held = take_slot(self);
    if (held == NULL) {
        self->stats.full++;
        return PR_WORKER_FULL;
    }
    *held = (pr_held_t){.token = token,
                        .state = PR_HELD_RUNNING,
                        .shard = shard,
                        .cls = batch->cls,
                        .peer = peer,
                        .at_ms = now_ms,
                        .payload = payload};
    memcpy(held->session, batch->session, sizeof(held->session));
    pr_assert(pr_map_put(self->by_token, token_key(token), held, NULL) == PR_OK);
    pr_lanes_take(&self->lanes, held->cls);
    self->stats.taken++;
    if (self->heartbeat_at_ms > now_ms + PR_WORKER_HEARTBEAT_MS)
        self->heartbeat_at_ms = now_ms + PR_WORKER_HEARTBEAT_MS; /* no longer idle */
    bool delivered = pr_map_get(self->delivered, token_key(token)) != NULL;
    if (delivered || self->draining) {
        answer_at_once(self, held, delivered ? PR_WORKER_REPEAT : PR_WORKER_RETURN, now_ms);
        return PR_WORKER_TAKEN;
    }
    uint32_t slot = (uint32_t)(held - self->slots);
    worker_list_append(self, &self->running, slot);
    pr_worker_action_t *action = worker_emit(self, PR_WORKER_START);
    action->slot = slot;
    action->payload = payload;
    return PR_WORKER_TAKEN;
}

void pr_worker_finished(pr_worker_t *self, uint32_t slot, bool delivered, int64_t now_ms)
{
    pr_held_t *held = &self->slots[slot];
    pr_assert(held->state == PR_HELD_RUNNING);
    pr_lanes_finish(&self->lanes, held->cls, held->slow);
    worker_list_remove(self, &self->running, slot);
    held->state = PR_HELD_OWED;
    held->delivered = delivered;
    worker_list_append(self, &self->owed, slot);
    worker_send(self, held, now_ms);
}

static void remember_delivered(pr_worker_t *self, uint64_t key)
{
    if (pr_map_get(self->delivered, key) != NULL)
        return; /* it came back */
    uint64_t *place = &self->delivered_keys[self->delivered_count++ % DELIVERED_MAX];
    if (self->delivered_count > DELIVERED_MAX)
        pr_map_remove(self->delivered, *place);
    *place = key;
    pr_assert(pr_map_put(self->delivered, key, self, NULL) == PR_OK);
}

void pr_worker_acked(pr_worker_t *self, pr_token_t token)
{
    uint64_t key = token_key(token);
    pr_held_t *held = pr_map_get(self->by_token, key);
    /* An ack while it runs is a word about an older copy of the token (stale): the outcome that
     * comes will be answered for itself. */
    if (held == NULL || held->state != PR_HELD_OWED || !token_equal(held->token, token))
        return;
    uint32_t slot = (uint32_t)(held - self->slots);
    pr_map_remove(self->by_token, key);
    if (held->delivered)
        remember_delivered(self, key);
    pr_lanes_forget(&self->lanes);
    worker_list_remove(self, &self->owed, slot);
    worker_emit(self, PR_WORKER_FREE)->payload = held->payload;
    *held = (pr_held_t){.next = self->free_head};
    self->free_head = slot;
}

/* Running jobs stand in the order in which they were taken, so only the front can be slow anew. */
static void mark_slow(pr_worker_t *self, int64_t now_ms)
{
    for (uint32_t slot = self->running.head; slot != NO_SLOT; slot = self->slots[slot].next) {
        pr_held_t *held = &self->slots[slot];
        if (held->at_ms + PR_LANES_SLOW_MS > now_ms)
            return;
        if (!held->slow && !(held->slow = pr_lanes_slow(&self->lanes, held->cls)))
            return; /* as many slow ones as may be: the rest goes on counting */
    }
}

static void send_again(pr_worker_t *self, int64_t now_ms)
{
    uint32_t left = self->owed.count;
    while (left-- > 0) {
        pr_held_t *held = &self->slots[self->owed.head];
        if (held->at_ms + PR_WORKER_RESEND_MS > now_ms)
            return;
        self->stats.resent++;
        worker_send(self, held, now_ms);
    }
}

void pr_worker_tick(pr_worker_t *self, int64_t now_ms)
{
    worker_peers_tick(self, now_ms);
    mark_slow(self, now_ms);
    if (now_ms >= self->cool_at_ms) {
        self->cool_at_ms = now_ms + PR_LANES_COOL_MS;
        pr_lanes_cool(&self->lanes);
    }
    send_again(self, now_ms);
    if (now_ms < self->heartbeat_at_ms)
        return;
    bool idle = self->running.count == 0 && self->owed.count == 0;
    int64_t every_ms = idle ? PR_WORKER_IDLE_HEARTBEAT_MS : PR_WORKER_HEARTBEAT_MS;
    self->offer_all = true;
    /* Ticks come at multiples of their period, and seldom while it is calm: with one of them. */
    self->heartbeat_at_ms = (now_ms / every_ms + 1) * every_ms;
    for (uint32_t i = 0; i < PR_WORKER_PEERS_MAX; i++) {
        if (!self->peers[i].used || !self->peers[i].lane.live)
            continue;
        worker_emit(self, PR_WORKER_HELD)->peer = i;
        /* Once more: a total that ZeroMQ refused (its queue was full) has no successor when nothing
         * moves. */
        if (!self->draining)
            worker_say_credit(self, i);
    }
}

void pr_worker_drain(pr_worker_t *self, int64_t now_ms)
{
    if (self->draining)
        return;
    self->draining = true;
    for (uint32_t i = 0; i < PR_WORKER_PEERS_MAX; i++) {
        peer_t *peer = &self->peers[i];
        if (!peer->used || !peer->lane.live)
            continue;
        pr_worker_action_t *action = worker_emit(self, PR_WORKER_GREET);
        action->peer = i; /* the same number: it only tells that we drain */
        action->greeting = peer->lane.greeting;
        peer->greeted_at_ms = now_ms;
    }
}

bool pr_worker_draining(const pr_worker_t *self)
{
    return self->draining;
}

bool pr_worker_drained(const pr_worker_t *self)
{
    return self->running.count == 0 && self->owed.count == 0;
}

bool pr_worker_busy(const pr_worker_t *self)
{
    return self->running.count > 0;
}

bool pr_worker_calm(const pr_worker_t *self)
{
    bool calm = pr_worker_drained(self) && pr_lanes_cooled(&self->lanes);
    for (uint32_t i = 0; calm && i < PR_WORKER_PEERS_MAX; i++)
        calm = !self->peers[i].used || self->peers[i].lane.live;
    return calm;
}

size_t pr_worker_held(const pr_worker_t *self, const pr_held_t **out, size_t max)
{
    size_t count = 0;
    const slot_list_t *lists[] = {&self->running, &self->owed};
    for (size_t i = 0; i < PR_COUNT(lists); i++) {
        uint32_t slot = lists[i]->head;
        for (; slot != NO_SLOT && count < max; slot = self->slots[slot].next)
            out[count++] = &self->slots[slot];
    }
    return count;
}

const pr_held_t *pr_worker_slot(const pr_worker_t *self, uint32_t slot)
{
    pr_assert(slot < PR_WORKER_SLOTS_MAX);
    return &self->slots[slot];
}

pr_worker_stats_t pr_worker_stats(const pr_worker_t *self)
{
    pr_worker_stats_t stats = self->stats;
    stats.running = self->running.count;
    stats.owed = self->owed.count;
    stats.slow = self->lanes.slow;
    for (uint32_t i = 0; i < PR_WORKER_PEERS_MAX; i++)
        stats.live_peers += self->peers[i].used && self->peers[i].lane.live;
    return stats;
}
