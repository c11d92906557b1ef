/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is connected, and their credit: the whole memory of a broker, and of a scheduler that acts
 * as one (workers only). Pure bookkeeping, no clock and no I/O; protocol.md section 5.
 *
 * Workers state totals per class (WorkerCredit); we count what we sent. room = total - sent.
 * Schedulers get grants as totals (Grant); they state what they sent and returned (Demand), we
 * count what came. open = granted - used - returned. Invariants, whatever is lost on the way:
 *   sent <= total                               for every worker and class
 *   used + returned <= granted                  for every scheduler and class
 *   at the moment of granting, the sum of open <= the sum of room
 * A peer that greets with a new number starts at zero; who is silent for silence_ms is forgotten
 * with all its counts; a message from a route that we do not know gives PR_LOST, and the caller
 * asks that peer to greet anew. So no loss can leak credit.
 *
 * One scheduler alone holds all the room as a standing grant (no question before a job leaves).
 * Several: free room goes to those that state a demand, evenly, up to it; only when nobody waits
 * each is topped up to an even standing share. When a demand stays unmet, all others are marked
 * contended: they return within 50 ms what they do not use.
 *
 * Lookups are linear: rosters are small (1024 workers, 64 schedulers at most).
 */
#ifndef PR_CORE_ROSTER_H
#define PR_CORE_ROSTER_H

#include "base/buffer.h"
#include "base/rc.h"
#include "core/classes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_ROSTER_ROUTE_MAX 64
#define PR_ROSTER_ID_MAX 64
#define PR_ROSTER_ADDRESS_MAX 256
#define PR_ROSTER_WORKERS_MAX 1024
#define PR_ROSTER_SCHEDULERS_MAX 64
#define PR_ROSTER_SILENCE_MS 2000
#define PR_SHARDS 256
#define PR_SESSION_BYTES 16

typedef struct {
    uint8_t bytes[PR_ROSTER_ROUTE_MAX];
    size_t len;
} pr_route_t;

/* Read-only for callers; pointers to entries are valid until the next call that takes a
 * non-const roster. */
typedef struct {
    pr_route_t route;
    char id[PR_ROSTER_ID_MAX + 1];
    uint32_t greeting;
    uint32_t kinds; /* bit JobKind */
    bool draining;
    uint64_t total[PR_CLASSES]; /* agreed to */
    uint64_t sent[PR_CLASSES];
    int64_t heard_at_ms;
} pr_roster_worker_t;

typedef struct {
    pr_route_t route;
    uint8_t session[PR_SESSION_BYTES];
    char address[PR_ROSTER_ADDRESS_MAX + 1]; /* own ROUTER; may be empty */
    uint8_t shards[PR_SHARDS / 8];
    uint32_t greeting;
    uint32_t want[PR_CLASSES]; /* demand that no grant has met yet */
    uint64_t granted[PR_CLASSES];
    uint64_t used[PR_CLASSES];
    uint64_t returned[PR_CLASSES];
    bool contended;
    bool unsaid; /* granted or contended changed since pr_roster_said */
    int64_t heard_at_ms;
} pr_roster_scheduler_t;

typedef struct pr_roster_t pr_roster_t;

pr_roster_t *pr_roster_new(int64_t silence_ms);
void pr_roster_destroy(pr_roster_t **self);

/* ---- workers ---- */

typedef struct {
    pr_bytes_t route; /* at most PR_ROSTER_ROUTE_MAX bytes */
    const char *id;   /* at most PR_ROSTER_ID_MAX bytes */
    uint32_t kinds;
    uint32_t greeting;
    bool again; /* the peer goes on counting: only a known route with this number may take it */
    bool draining;
} pr_roster_hello_t;

/* A greeting. *fresh (may be NULL): it starts at zero, because the route or the number is new. An
 * older entry with the same id on another route is forgotten. PR_LOST: `again` of a greeting that
 * we do not know: ask it to greet anew. PR_BAD: the roster is full, or the id or route is too
 * long. */
PR_CHECK pr_rc_t pr_roster_worker_hello(pr_roster_t *self, const pr_roster_hello_t *hello,
                                        int64_t now_ms, bool *fresh);
/* PR_LOST: unknown route. A total smaller than before is ignored. */
PR_CHECK pr_rc_t pr_roster_worker_credit(pr_roster_t *self, pr_bytes_t route,
                                         const uint64_t total[PR_CLASSES], int64_t now_ms);
PR_CHECK pr_rc_t pr_roster_worker_heard(pr_roster_t *self, pr_bytes_t route, int64_t now_ms);
/* Its socket refused: forget it. Unknown routes are fine. */
void pr_roster_worker_gone(pr_roster_t *self, pr_bytes_t route);

/* The worker with most room in the class that does all kinds (bits) of the batch, when that room
 * is at least 1; ties go round. NULL: none. So a batch fits whole, or must be split by asking
 * again after pr_roster_sent. */
const pr_roster_worker_t *pr_roster_choose(pr_roster_t *self, uint32_t cls, uint32_t kinds);
/* jobs of the class left for this worker; at most its room. */
void pr_roster_sent(pr_roster_t *self, const pr_roster_worker_t *worker, uint32_t cls,
                    uint32_t jobs);
/* The send failed after all and nothing left: takes it back. */
void pr_roster_unsent(pr_roster_t *self, pr_bytes_t route, uint32_t cls, uint32_t jobs);

uint64_t pr_roster_worker_room(const pr_roster_worker_t *worker, uint32_t cls);
uint64_t pr_roster_room(const pr_roster_t *self, uint32_t cls); /* of all workers */
size_t pr_roster_workers(const pr_roster_t *self);
const pr_roster_worker_t *pr_roster_worker_at(const pr_roster_t *self, size_t index);
const pr_roster_worker_t *pr_roster_worker_by_id(const pr_roster_t *self, const char *id);
const pr_roster_worker_t *pr_roster_worker_by_route(const pr_roster_t *self, pr_bytes_t route);

/* ---- schedulers ---- */

typedef struct {
    pr_bytes_t route;
    const uint8_t *session; /* PR_SESSION_BYTES */
    const uint8_t *shards;  /* PR_SHARDS / 8 */
    const char *address;    /* may be "" */
    uint32_t greeting;
    bool again;
} pr_roster_session_t;

/* As for workers. A shard that this hello claims newly is its own from now on. */
PR_CHECK pr_rc_t pr_roster_scheduler_hello(pr_roster_t *self, const pr_roster_session_t *hello,
                                           int64_t now_ms, bool *fresh);
/* This session has ended (SchedulerHello.replaces): it owns nothing any more and is forgotten. */
void pr_roster_session_ended(pr_roster_t *self, const uint8_t session[PR_SESSION_BYTES]);
void pr_roster_scheduler_gone(pr_roster_t *self, pr_bytes_t route);

typedef struct {
    uint32_t want[PR_CLASSES];
    uint64_t sent[PR_CLASSES];
    uint64_t returned[PR_CLASSES];
} pr_roster_demand_t;

/* want: jobs that wait for a grant now. What it claims beyond its grants is cut. PR_LOST:
 * unknown. */
PR_CHECK pr_rc_t pr_roster_demand(pr_roster_t *self, pr_bytes_t route,
                                  const pr_roster_demand_t *demand, int64_t now_ms);
/* A batch of jobs came from this route. PR_LOST: unknown route. PR_BAD: more than it was granted;
 * nothing is counted, the batch must not be sent on. */
PR_CHECK pr_rc_t pr_roster_spend(pr_roster_t *self, pr_bytes_t route, uint32_t cls, uint32_t jobs,
                                 int64_t now_ms);

/* Divides the free room among the schedulers; marks those whose grants changed as unsaid. all: also what is hardly worth a
 * message. */
void pr_roster_share(pr_roster_t *self, bool all);
/* A Grant with this scheduler's totals left (true), or is to be said again (false). */
void pr_roster_said(pr_roster_t *self, size_t index, bool said);

size_t pr_roster_schedulers(const pr_roster_t *self);
const pr_roster_scheduler_t *pr_roster_scheduler_at(const pr_roster_t *self, size_t index);
const pr_roster_scheduler_t *pr_roster_scheduler_by_route(const pr_roster_t *self,
                                                          pr_bytes_t route);
uint64_t pr_roster_open(const pr_roster_scheduler_t *scheduler, uint32_t cls);
/* The present owner of a shard, or NULL. */
const pr_roster_scheduler_t *pr_roster_owner(const pr_roster_t *self, uint32_t shard);

/* ---- both ---- */

typedef struct {
    bool worker; /* else a scheduler */
    pr_route_t route;
    char id[PR_ROSTER_ID_MAX + 1]; /* worker id, or session as hex */
} pr_roster_gone_t;

/* Forgets one peer that was silent for silence_ms and tells which; false when there is none. */
bool pr_roster_expire(pr_roster_t *self, int64_t now_ms, pr_roster_gone_t *gone);

#endif
