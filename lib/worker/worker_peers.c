/* SPDX-License-Identifier: Apache-2.0
 *
 * Whom a worker talks to: brokers, schedulers' sessions, and schedulers directly when every
 * broker is away. Greeting, silence, and the way there and back.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "worker/worker.h"
#include "worker/worker_state.h"

#include <string.h>

/* Direct roads stay open this long after a broker is back, for what is on its way on them. */
#define LEAVE_MS 1000
/* Two greetings are at least so far apart, whatever a peer asks. */
#define GREET_GAP_MS 100

void worker_greet(pr_worker_t *self, uint32_t peer, int64_t now_ms)
{
    peer_t *it = &self->peers[peer];
    pr_worker_action_t *action = worker_emit(self, PR_WORKER_GREET);
    action->peer = peer;
    action->greeting = pr_lane_peer_greet(&it->lane);
    it->greeted_at_ms = now_ms;
}

bool worker_session_replaced(const pr_worker_t *self, const uint8_t session[16])
{
    uint32_t count = self->replaced_count < REPLACED_MAX ? self->replaced_count : REPLACED_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (memcmp(self->replaced[i], session, 16) == 0)
            return true;
    }
    return false;
}

static bool has_shard(const session_t *session, uint32_t shard)
{
    return shard < 256 && (session->shards[shard / 8] >> (shard % 8) & 1) != 0;
}

/* The address of the scheduler that owns the shard now; NULL: unknown. */
static const char *owner_address(const pr_worker_t *self, uint32_t shard)
{
    for (uint32_t i = 0; i < SESSIONS_MAX; i++) {
        if (self->sessions[i].used && has_shard(&self->sessions[i], shard))
            return self->sessions[i].address;
    }
    return NULL;
}

/* Brokers know the owner of a shard themselves: any will do, best the one that sent the job. A
 * scheduler knows only itself. */
uint32_t worker_peer_for(const pr_worker_t *self, const pr_held_t *held)
{
    const peer_t *from = &self->peers[held->peer];
    if (from->used && from->lane.live && !from->direct)
        return held->peer;
    for (uint32_t i = 0; i < self->config.brokers; i++) {
        if (self->peers[i].lane.live)
            return i;
    }
    const char *owner = owner_address(self, held->shard);
    for (uint32_t i = self->config.brokers; owner != NULL && i < PR_WORKER_PEERS_MAX; i++) {
        const peer_t *peer = &self->peers[i];
        if (peer->used && peer->lane.live && strcmp(peer->address, owner) == 0)
            return i;
    }
    return from->used && from->lane.live ? held->peer : PR_WORKER_PEERS_MAX;
}

/* Owed outcomes go out again at once: to a peer that is new to us (shards NULL), or to the
 * owner of these shards. */
static void send_owed(pr_worker_t *self, const session_t *session, int64_t now_ms)
{
    uint32_t left = self->owed.count;
    uint32_t slot = self->owed.head;
    while (left-- > 0) {
        pr_held_t *held = &self->slots[slot];
        slot = held->next;
        if (session != NULL && !has_shard(session, held->shard))
            continue;
        self->stats.resent++;
        worker_send(self, held, now_ms);
    }
}

static bool any_broker_live(const pr_worker_t *self)
{
    for (uint32_t i = 0; i < self->config.brokers; i++) {
        if (self->peers[i].lane.live)
            return true;
    }
    return false;
}

static void peer_lost(pr_worker_t *self, uint32_t peer, int64_t now_ms)
{
    pr_lane_peer_lost(&self->peers[peer].lane);
    if (now_ms - self->peers[peer].greeted_at_ms >= GREET_GAP_MS)
        worker_greet(self, peer, now_ms);
}

void pr_worker_heard(pr_worker_t *self, uint32_t peer, int64_t now_ms)
{
    pr_assert(peer < PR_WORKER_PEERS_MAX);
    self->peers[peer].heard_at_ms = now_ms;
    if (peer < self->config.brokers)
        self->broker_heard_at_ms = now_ms;
}

static bool text_fits(const char *address)
{
    size_t len = address == NULL ? 0 : strlen(address);
    return len > 0 && len <= PR_WORKER_ADDRESS_MAX;
}

void pr_worker_broker_hello(pr_worker_t *self, uint32_t peer, const pr_worker_broker_hello_t *hello,
                            int64_t now_ms)
{
    peer_t *it = &self->peers[peer];
    bool new_life = memcmp(it->instance, hello->instance, sizeof(it->instance)) != 0;
    memcpy(it->instance, hello->instance, sizeof(it->instance));
    if (pr_lane_peer_answered(&it->lane, hello->greeting) && !hello->greet_anew)
        send_owed(self, NULL, now_ms);
    else if (hello->greet_anew || (new_life && it->lane.live))
        peer_lost(self, peer, now_ms);
}

static session_t *find_session(pr_worker_t *self, const uint8_t id[16])
{
    for (uint32_t i = 0; i < SESSIONS_MAX; i++) {
        if (self->sessions[i].used && memcmp(self->sessions[i].id, id, 16) == 0)
            return &self->sessions[i];
    }
    return NULL;
}

/* A free place, or that of the session that was silent for longest. */
static session_t *new_session(pr_worker_t *self, const uint8_t id[16])
{
    session_t *place = &self->sessions[0];
    for (uint32_t i = 0; i < SESSIONS_MAX && place->used; i++) {
        session_t *it = &self->sessions[i];
        if (!it->used || it->heard_at_ms < place->heard_at_ms)
            place = it;
    }
    *place = (session_t){.used = true};
    memcpy(place->id, id, 16);
    return place;
}

static void replace_session(pr_worker_t *self, const uint8_t id[16])
{
    session_t *session = find_session(self, id);
    if (session != NULL)
        session->used = false;
    if (!worker_session_replaced(self, id))
        memcpy(self->replaced[self->replaced_count++ % REPLACED_MAX], id, 16);
}

void pr_worker_scheduler_hello(pr_worker_t *self, uint32_t peer,
                               const pr_worker_scheduler_hello_t *hello, int64_t now_ms)
{
    (void)peer;
    for (size_t i = 0; i < hello->replaces_count; i++)
        replace_session(self, hello->replaces[i]);
    if (worker_session_replaced(self, hello->session))
        return; /* a late word of one that has ended */
    session_t *session = find_session(self, hello->session);
    if (session == NULL)
        session = new_session(self, hello->session);
    session->heard_at_ms = now_ms;
    if (text_fits(hello->address))
        memcpy(session->address, hello->address, strlen(hello->address) + 1);
    bool changed = memcmp(session->shards, hello->shards, sizeof(session->shards)) != 0;
    memcpy(session->shards, hello->shards, sizeof(session->shards));
    for (uint32_t i = 0; changed && i < SESSIONS_MAX; i++) {
        session_t *other = &self->sessions[i]; /* a shard has one owner: the latest to say so */
        for (uint32_t k = 0; other->used && other != session && k < sizeof(other->shards); k++)
            other->shards[k] &= (uint8_t)~session->shards[k];
    }
    if (changed)
        send_owed(self, session, now_ms);
}

static void connect_direct(pr_worker_t *self, const char *address, int64_t now_ms)
{
    uint32_t place = PR_WORKER_PEERS_MAX;
    for (uint32_t i = self->config.brokers; i < PR_WORKER_PEERS_MAX; i++) {
        peer_t *peer = &self->peers[i];
        if (peer->used && strcmp(peer->address, address) == 0) {
            peer->leave_at_ms = INT64_MAX;
            return;
        }
        if (!peer->used && place == PR_WORKER_PEERS_MAX)
            place = i;
    }
    if (place == PR_WORKER_PEERS_MAX)
        return;
    peer_t *peer = &self->peers[place];
    *peer = (peer_t){.used = true, .direct = true, .heard_at_ms = now_ms, .leave_at_ms = INT64_MAX};
    memcpy(peer->address, address, strlen(address) + 1);
    pr_worker_action_t *action = worker_emit(self, PR_WORKER_CONNECT);
    action->peer = place;
    action->address = peer->address;
    worker_greet(self, place, now_ms);
}

bool pr_worker_direct(const pr_worker_t *self)
{
    for (uint32_t i = self->config.brokers; i < PR_WORKER_PEERS_MAX; i++) {
        if (self->peers[i].used)
            return true;
    }
    return false;
}

bool pr_worker_brokers_away(const pr_worker_t *self, int64_t now_ms)
{
    return now_ms - self->broker_heard_at_ms >= PR_WORKER_SILENCE_MS;
}

void pr_worker_found(pr_worker_t *self, const char *address, int64_t now_ms)
{
    if (text_fits(address) && pr_worker_brokers_away(self, now_ms))
        connect_direct(self, address, now_ms);
}

/* No broker for a while: every scheduler we know of becomes a peer. */
static void go_direct(pr_worker_t *self, int64_t now_ms)
{
    if (!pr_worker_brokers_away(self, now_ms))
        return;
    for (uint32_t i = 0; i < SESSIONS_MAX; i++) {
        if (self->sessions[i].used && self->sessions[i].address[0] != '\0')
            connect_direct(self, self->sessions[i].address, now_ms);
    }
}

static void leave_direct(pr_worker_t *self, uint32_t peer, int64_t now_ms)
{
    peer_t *it = &self->peers[peer];
    if (it->leave_at_ms == INT64_MAX) {
        it->leave_at_ms = now_ms + LEAVE_MS;
        pr_lane_peer_lost(&it->lane); /* no new credit on this road */
    }
    if (now_ms < it->leave_at_ms)
        return;
    it->used = false;
    worker_emit(self, PR_WORKER_DISCONNECT)->peer = peer;
}

void worker_peers_tick(pr_worker_t *self, int64_t now_ms)
{
    bool broker_live = any_broker_live(self);
    if (!broker_live)
        go_direct(self, now_ms);
    for (uint32_t i = 0; i < PR_WORKER_PEERS_MAX; i++) {
        peer_t *peer = &self->peers[i];
        if (!peer->used)
            continue;
        if (peer->direct && broker_live)
            leave_direct(self, i, now_ms);
        else if (peer->lane.live && now_ms - peer->heard_at_ms > PR_WORKER_SILENCE_MS)
            peer_lost(self, i, now_ms);
        else if (!peer->lane.live && now_ms - peer->greeted_at_ms >= PR_WORKER_GREET_MS)
            worker_greet(self, i, now_ms);
    }
}

void worker_say_credit(pr_worker_t *self, uint32_t peer)
{
    pr_worker_action_t *action = worker_emit(self, PR_WORKER_CREDIT);
    action->peer = peer;
    for (uint32_t cls = 0; cls < PR_CLASSES; cls++) {
        bool served = self->config.serves == 0 || (self->config.serves >> cls & 1) != 0;
        action->total[cls] = served ? self->peers[peer].lane.total[cls] : 0;
    }
}

void pr_worker_offer(pr_worker_t *self)
{
    if (self->draining)
        return;
    pr_lane_peer_t *peers[PR_WORKER_PEERS_MAX];
    uint32_t numbers[PR_WORKER_PEERS_MAX];
    bool changed[PR_WORKER_PEERS_MAX];
    size_t count = 0;
    for (uint32_t i = 0; i < PR_WORKER_PEERS_MAX; i++) {
        if (!self->peers[i].used || !self->peers[i].lane.live)
            continue;
        numbers[count] = i;
        peers[count++] = &self->peers[i].lane;
    }
    bool all = self->offer_all;
    self->offer_all = false;
    if (count == 0 || !pr_lanes_offer(&self->lanes, peers, count, all, changed))
        return;
    for (size_t i = 0; i < count; i++) {
        if (changed[i])
            worker_say_credit(self, numbers[i]);
    }
}
