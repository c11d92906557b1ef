/* SPDX-License-Identifier: Apache-2.0
 *
 * A scheduler's side of credit (protocol.md section 5): what one broker lets it send. Pure.
 *
 *   greet()       a SchedulerHello with the returned number leaves; all counts are 0. To be called
 *                 at first, when BrokerHello says greet_anew, and each second while not live
 *   (repeat)      the SchedulerHello of each second: same number, again = live, no call here
 *   answered()    BrokerHello with that number came; Grants before it count for nothing
 *   granted()     Grant.total; room = granted - sent - returned
 *   send()        jobs of a class left in a JobBatch
 *   give_back()   under contention, what was not used for 50 ms goes back (say so in a Demand)
 */
#ifndef PR_CORE_ALLOWANCE_H
#define PR_CORE_ALLOWANCE_H

#include "core/classes.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_ALLOWANCE_RETURN_MS 50

typedef struct {
    uint32_t greeting; /* number of the newest SchedulerHello; 0 = never greeted */
    bool live;
    bool contended;
    uint64_t granted[PR_CLASSES];
    uint64_t sent[PR_CLASSES];      /* Demand.sent */
    uint64_t returned[PR_CLASSES];  /* Demand.returned */
    int64_t idle_at_ms[PR_CLASSES]; /* since when the room of this class is unused */
} pr_allowance_t;

uint32_t pr_allowance_greet(pr_allowance_t *self);
/* True when this is the answer to the newest greeting and the broker is now live (first time). */
bool pr_allowance_answered(pr_allowance_t *self, uint32_t greeting);
void pr_allowance_granted(pr_allowance_t *self, const uint64_t total[PR_CLASSES], bool contended,
                          int64_t now_ms);
void pr_allowance_lost(pr_allowance_t *self);

uint64_t pr_allowance_room(const pr_allowance_t *self, uint32_t cls); /* 0 unless live */
void pr_allowance_send(pr_allowance_t *self, uint32_t cls, uint32_t jobs, int64_t now_ms);
/* True: something went back, send a Demand now. */
bool pr_allowance_give_back(pr_allowance_t *self, int64_t now_ms);
/* When give_back may have something to do: monotonic ms, INT64_MAX = never. */
int64_t pr_allowance_due_ms(const pr_allowance_t *self);

#endif
