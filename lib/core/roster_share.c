/* SPDX-License-Identifier: Apache-2.0
 *
 * How the free room of a class is divided among schedulers.
 */
#include "core/lanes.h"
#include "core/roster_private.h"

/* Totals never come near this; a hostile worker's credit of 2^64-1 must not overflow them. */
#define ROOM_MAX ((uint64_t)1 << 20)

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t free_room(const pr_roster_t *self, uint32_t cls, uint64_t room)
{
    uint64_t open = 0;
    for (size_t i = 0; i < self->schedulers_count; i++) {
        open += pr_roster_open(&self->schedulers[i], cls);
    }
    return room > open ? room - open : 0;
}

static void grant(pr_roster_scheduler_t *scheduler, uint32_t cls, uint64_t jobs)
{
    scheduler->granted[cls] += jobs;
    uint64_t met = smaller(scheduler->want[cls], jobs);
    scheduler->want[cls] -= (uint32_t)met; /* until the next Demand says otherwise */
    scheduler->unsaid = scheduler->unsaid || jobs > 0;
}

static size_t waiting(const pr_roster_t *self, uint32_t cls)
{
    size_t count = 0;
    for (size_t i = 0; i < self->schedulers_count; i++) {
        count += self->schedulers[i].want[cls] > 0;
    }
    return count;
}

/* Even parts to those who wait, none more than it wants; what one does not need goes round
 * again. Ends because each round meets a want or spends the room. Returns what is left. */
static uint64_t meet_demand(pr_roster_t *self, uint32_t cls, uint64_t spare)
{
    size_t takers;
    while (spare > 0 && (takers = waiting(self, cls)) > 0) {
        uint64_t part = spare / takers;
        part = part ? part : 1;
        self->turn++;
        for (size_t i = 0; i < self->schedulers_count && spare > 0; i++) {
            pr_roster_scheduler_t *scheduler =
                &self->schedulers[(i + self->turn) % self->schedulers_count];
            uint64_t jobs = smaller(smaller(part, scheduler->want[cls]), spare);
            grant(scheduler, cls, jobs);
            spare -= jobs;
        }
    }
    return spare;
}

/* Nobody waits: everybody may hold an even part of the room, so that a job leaves unasked. */
static void top_up(pr_roster_t *self, uint32_t cls, uint64_t room, uint64_t spare, bool all)
{
    uint64_t part = room / self->schedulers_count;
    for (size_t i = 0; i < self->schedulers_count && spare > 0; i++) {
        pr_roster_scheduler_t *scheduler = &self->schedulers[i];
        uint64_t open = pr_roster_open(scheduler, cls);
        uint64_t jobs = smaller(open < part ? part - open : 0, spare);
        if (!all && !pr_lanes_worth_saying(open, jobs)) {
            continue;
        }
        grant(scheduler, cls, jobs);
        spare -= jobs;
    }
}

static void set_contended(pr_roster_scheduler_t *scheduler, bool contended)
{
    scheduler->unsaid = scheduler->unsaid || scheduler->contended != contended;
    scheduler->contended = contended;
}

/* Somebody else waits for what this one does not use. */
static bool is_contended(const pr_roster_t *self, size_t index)
{
    for (size_t i = 0; i < self->schedulers_count; i++) {
        for (uint32_t cls = 0; i != index && cls < PR_CLASSES; cls++) {
            if (self->schedulers[i].want[cls] > 0) {
                return true;
            }
        }
    }
    return false;
}

void pr_roster_share(pr_roster_t *self, bool all)
{
    if (self->schedulers_count == 0) {
        return;
    }
    for (uint32_t cls = 0; cls < PR_CLASSES; cls++) {
        uint64_t room = smaller(pr_roster_room(self, cls), ROOM_MAX);
        uint64_t spare = free_room(self, cls, room);
        if (self->schedulers_count > 1) {
            spare = meet_demand(self, cls, spare);
        }
        if (waiting(self, cls) == 0 || self->schedulers_count == 1) {
            top_up(self, cls, room, spare, all);
        }
    }
    for (size_t i = 0; i < self->schedulers_count; i++) {
        set_contended(&self->schedulers[i], is_contended(self, i));
    }
}
