/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lanes.h"

#include "base/assert.h"

static uint32_t above(uint32_t a, uint32_t b) /* how far a is above b */
{
    return a > b ? a - b : 0;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void pr_lanes_init(pr_lanes_t *self, uint32_t slots, const uint32_t shares[PR_CLASSES],
                   uint32_t slow_max)
{
    uint64_t sum = 0;
    for (uint32_t cls = 0; cls < PR_CLASSES; cls++) {
        sum += shares[cls];
    }
    pr_assert(sum > 0 && slots >= PR_CLASSES && slots <= PR_LANES_KEEP_MAX / 4);
    pr_assert(slow_max <= PR_LANES_KEEP_MAX / 4);
    *self = (pr_lanes_t){.slow_max = slow_max};
    uint32_t spare = slots - PR_CLASSES; /* beyond the one slot that each has */
    uint32_t given = 0;
    for (uint32_t cls = 0; cls < PR_CLASSES; cls++) {
        uint32_t part = (uint32_t)((uint64_t)spare * shares[cls] / sum);
        self->own[cls] = 1 + part;
        given += part;
    }
    self->own[0] += spare - given; /* what rounding left */
}

void pr_lanes_take(pr_lanes_t *self, uint32_t cls)
{
    pr_assert(cls < PR_CLASSES);
    self->held[cls]++;
    if (self->held[cls] > self->most[cls]) {
        self->most[cls] = self->held[cls];
    }
}

void pr_lanes_cool(pr_lanes_t *self)
{
    for (uint32_t cls = 0; cls < PR_CLASSES; cls++) {
        self->before[cls] = self->most[cls];
        self->most[cls] = self->held[cls];
    }
}

bool pr_lanes_cooled(const pr_lanes_t *self)
{
    uint32_t busy = 0;
    for (uint32_t cls = 0; cls < PR_CLASSES; cls++) {
        busy |= self->held[cls] | self->most[cls] | self->before[cls];
    }
    return busy == 0;
}

bool pr_lanes_slow(pr_lanes_t *self, uint32_t cls)
{
    pr_assert(cls < PR_CLASSES && self->held[cls] > 0);
    if (self->slow >= self->slow_max) {
        return false;
    }
    self->held[cls]--;
    self->slow++;
    return true;
}

void pr_lanes_drop(pr_lanes_t *self, uint32_t cls, bool slow)
{
    pr_assert(cls < PR_CLASSES);
    uint32_t *count = slow ? &self->slow : &self->held[cls];
    pr_assert(*count > 0);
    (*count)--;
}

void pr_lanes_finish(pr_lanes_t *self, uint32_t cls, bool slow)
{
    pr_lanes_drop(self, cls, slow);
    self->owed++;
}

void pr_lanes_forget(pr_lanes_t *self)
{
    pr_assert(self->owed > 0);
    self->owed--;
}

/* Slots that the class has no use for, and had none for a while. */
static uint32_t idle(const pr_lanes_t *self, uint32_t cls)
{
    uint32_t used = self->most[cls] > self->before[cls] ? self->most[cls] : self->before[cls];
    return above(self->own[cls], used);
}

/* Idle slots of the classes below cls that no borrower has. P1's borrowed jobs can only sit in
 * P2's slots; P0's sit in P1's as far as those are idle, the rest in P2's. */
static uint32_t borrowable(const pr_lanes_t *self, uint32_t cls)
{
    uint32_t idle_1 = idle(self, 1);
    uint32_t idle_2 = idle(self, 2);
    uint32_t lent_0 = above(self->held[0], self->own[0]);
    uint32_t lent_1 = above(self->held[1], self->own[1]);
    switch (cls) {
    case 0:
        return above(idle_1 + idle_2, lent_0 + lent_1);
    case 1:
        return above(idle_2, lent_1 + above(lent_0, idle_1));
    default:
        return 0;
    }
}

/* Jobs that may still be taken before WorkerHeld could not name them all. Credit that is out
 * already cannot be taken back: all classes together are at most three times the slots. */
static uint32_t keepable(const pr_lanes_t *self)
{
    uint32_t kept = self->slow + self->owed;
    uint32_t slots = 0;
    for (uint32_t cls = 0; cls < PR_CLASSES; cls++) {
        kept += self->held[cls];
        slots += self->own[cls];
    }
    return above(PR_LANES_KEEP_MAX - PR_CLASSES * slots, kept);
}

uint32_t pr_lanes_room(const pr_lanes_t *self, uint32_t cls)
{
    pr_assert(cls < PR_CLASSES);
    uint32_t room = above(self->own[cls], self->held[cls]) + borrowable(self, cls);
    return smaller(room, keepable(self));
}

uint32_t pr_lane_peer_greet(pr_lane_peer_t *self)
{
    uint32_t greeting = self->greeting + 1;
    *self = (pr_lane_peer_t){.greeting = greeting ? greeting : 1};
    return self->greeting;
}

bool pr_lane_peer_answered(pr_lane_peer_t *self, uint32_t greeting)
{
    if (self->live || self->greeting == 0 || greeting != self->greeting) {
        return false;
    }
    self->live = true;
    return true;
}

void pr_lane_peer_received(pr_lane_peer_t *self, uint32_t cls, uint32_t jobs)
{
    pr_assert(cls < PR_CLASSES);
    if (self->live) {
        self->received[cls] += jobs;
    }
}

void pr_lane_peer_lost(pr_lane_peer_t *self)
{
    *self = (pr_lane_peer_t){.greeting = self->greeting};
}

static uint64_t outstanding(const pr_lane_peer_t *peer, uint32_t cls)
{
    /* A peer that sends more than it was offered has no credit, not a negative one. */
    return peer->total[cls] > peer->received[cls] ? peer->total[cls] - peer->received[cls] : 0;
}

static void raise(pr_lane_peer_t *peer, uint32_t cls, uint64_t jobs)
{
    uint64_t base = peer->total[cls] > peer->received[cls] ? peer->total[cls] : peer->received[cls];
    peer->total[cls] = base + jobs;
}

bool pr_lanes_worth_saying(uint64_t open, uint64_t more)
{
    return more > 0 && (more * 8 >= open + more || open < more);
}

typedef struct {
    pr_lane_peer_t *const *peers;
    size_t count;
    uint32_t live;
    uint32_t turn;
    bool all;
    bool *changed;
} round_t;

/* Tops every live peer up to an even part of the room, as far as what is free reaches. */
static bool offer_class(const round_t *round, uint32_t cls, uint64_t room)
{
    uint64_t offered = 0;
    for (size_t i = 0; i < round->count; i++) {
        offered += round->peers[i]->live ? outstanding(round->peers[i], cls) : 0;
    }
    uint64_t free_slots = room > offered ? room - offered : 0;
    bool any = false;
    uint32_t place = round->turn; /* whose turn it is to get the odd slots */
    for (size_t i = 0; i < round->count && free_slots > 0; i++) {
        pr_lane_peer_t *peer = round->peers[i];
        if (!peer->live) {
            continue;
        }
        uint64_t part = room / round->live + (place % round->live < room % round->live);
        place++;
        uint64_t has = outstanding(peer, cls);
        uint64_t more = part > has ? part - has : 0;
        more = more < free_slots ? more : free_slots;
        if (round->all ? more > 0 : pr_lanes_worth_saying(has, more)) {
            raise(peer, cls, more);
            free_slots -= more;
            round->changed[i] = any = true;
        }
    }
    return any;
}

bool pr_lanes_offer(pr_lanes_t *self, pr_lane_peer_t *const *peers, size_t count, bool all,
                    bool *changed)
{
    round_t round = {
        .peers = peers, .count = count, .turn = self->turn, .all = all, .changed = changed};
    for (size_t i = 0; i < count; i++) {
        round.live += peers[i]->live;
        changed[i] = false;
    }
    bool any = false;
    for (uint32_t cls = 0; round.live > 0 && cls < PR_CLASSES; cls++) {
        any |= offer_class(&round, cls, pr_lanes_room(self, cls));
    }
    self->turn += any;
    return any;
}
