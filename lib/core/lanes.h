/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker's side of credit (protocol.md section 5, N6): how many more jobs of each class it
 * agrees to receive, and from which peer. Pure: no clock, no I/O.
 *
 * Slots are divided among the classes by shares (20 : 10 : 5). A class may use its own slots,
 * always, and what lower classes leave idle (P0 <- P1, P2; P1 <- P2). A slot that is lent twice
 * is lent once: what a higher class has borrowed is not there for the next. Since agreed credit
 * cannot be taken back, a worker may hold for a moment its slots plus what it had lent.
 *
 * A slot is idle only once it has been free for one to two times PR_LANES_COOL_MS: the next job of its class is mostly on
 * its way, and a busy class would give its share away between any two of its jobs. The caller
 * calls pr_lanes_cool so often.
 *
 * A job counts against the slots from pr_lanes_take until pr_lanes_finish; the caller calls
 * pr_lanes_slow for one that has run for PR_LANES_SLOW_MS, and it no longer counts (up to
 * slow_max of them), so that hanging merchants do not eat the credit. A finished job is owed (its
 * outcome waits for OutcomeAck) until pr_lanes_forget. Held and owed together never pass
 * PR_LANES_KEEP_MAX, the number that WorkerHeld can name: at that point all credit stops.
 *
 * A peer is a broker, or a scheduler acting as one. Credit travels as totals since this worker's
 * newest greeting to that peer: total = received + room, never smaller than before.
 *   greet(peer)      a WorkerHello with peer->greeting leaves; all counts of the peer are 0. At
 *                    first, when BrokerHello says greet_anew, and each second while the peer is not live
 *   (repeat)         a WorkerHello only to say "draining": same number, again = peer->live
 *   answered(peer)   BrokerHello with that greeting came; only now jobs count and credit leaves
 *   received(peer)   for every JobBatch, before pr_lanes_take of its jobs
 *   lost(peer)       silent or closed: what it was offered is free for the others
 */
#ifndef PR_CORE_LANES_H
#define PR_CORE_LANES_H

#include "core/classes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_LANES_SLOW_MS 500
#define PR_LANES_COOL_MS 50
#define PR_LANES_KEEP_MAX 4096

typedef struct {
    uint32_t own[PR_CLASSES];    /* slots of each class, at least 1 */
    uint32_t held[PR_CLASSES];   /* jobs that count against slots */
    uint32_t most[PR_CLASSES];   /* the most that were held since the last pr_lanes_cool */
    uint32_t before[PR_CLASSES]; /* and between the two before */
    uint32_t slow;               /* jobs that run and no longer count */
    uint32_t slow_max;
    uint32_t owed; /* outcomes without acknowledgement */
    uint32_t turn; /* which peer gets the odd slot next */
} pr_lanes_t;

/* slots: all of them, at least PR_CLASSES and at most PR_LANES_KEEP_MAX / 4; shares: weights,
 * not all 0. Every class gets at least one slot. slow_max: at most PR_LANES_KEEP_MAX / 4. */
void pr_lanes_init(pr_lanes_t *self, uint32_t slots, const uint32_t shares[PR_CLASSES],
                   uint32_t slow_max);

void pr_lanes_take(pr_lanes_t *self, uint32_t cls);
/* True: the job no longer counts, remember it as slow. False: slow_max are slow already; it goes
 * on counting, ask again later. */
bool pr_lanes_slow(pr_lanes_t *self, uint32_t cls);
/* The job's outcome is made; slow = what pr_lanes_slow said of it. It is owed now. */
void pr_lanes_finish(pr_lanes_t *self, uint32_t cls, bool slow);
/* A finished job's outcome is acknowledged, or given up. */
void pr_lanes_forget(pr_lanes_t *self);
/* A job leaves untold (its session was replaced, it never began): no outcome is owed. */
void pr_lanes_drop(pr_lanes_t *self, uint32_t cls, bool slow);

/* PR_LANES_COOL_MS have passed. */
void pr_lanes_cool(pr_lanes_t *self);
/* No slot counts as busy: pr_lanes_cool changes nothing. */
bool pr_lanes_cooled(const pr_lanes_t *self);

/* How many more jobs of the class may be held now, whoever sends them. */
uint32_t pr_lanes_room(const pr_lanes_t *self, uint32_t cls);

typedef struct {
    uint32_t greeting;             /* number of the newest WorkerHello; 0 = never greeted */
    bool live;                     /* its answer came */
    uint64_t received[PR_CLASSES]; /* jobs since then */
    uint64_t total[PR_CLASSES];    /* what WorkerCredit.total says */
} pr_lane_peer_t;

/* Returns the number for WorkerHello.greeting; starts at zero and not live. */
uint32_t pr_lane_peer_greet(pr_lane_peer_t *self);
/* True when this is the answer to the newest greeting and the peer is now live (first time). */
bool pr_lane_peer_answered(pr_lane_peer_t *self, uint32_t greeting);
void pr_lane_peer_received(pr_lane_peer_t *self, uint32_t cls, uint32_t jobs);
void pr_lane_peer_lost(pr_lane_peer_t *self);

/* Each rise of credit is a message, and wakes who reads it. False: `more` may wait for company, since most of the whole is out
 * already, as `open`, and not spent. Whoever raises credit by this says at times, with every heartbeat, what is left over. */
bool pr_lanes_worth_saying(uint64_t open, uint64_t more);

/* Divides the present room of every class evenly among the live peers and raises their totals.
 * peers: count pointers, in an order that does not change from call to call; changed[i] = send
 * peers[i]->total to that peer. all: also what is hardly worth a message. True when any changed. draining workers do not call this. */
bool pr_lanes_offer(pr_lanes_t *self, pr_lane_peer_t *const *peers, size_t count, bool all,
                    bool *changed);

#endif
