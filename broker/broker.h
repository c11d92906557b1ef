/* SPDX-License-Identifier: Apache-2.0
 *
 * What a broker decides. It routes and holds no truth: who is connected and their credit
 * (core/roster.h), nothing else; it may be killed at any instant, and several run at once.
 *
 * Each function takes one event and fills self->actions; broker_io.c performs them in order. A
 * batch is spoken of by the positions of its items, bit n = item n, so that a batch that goes
 * whole to one peer is sent on as the very bytes that came. Pure: no clock, no I/O.
 */
#ifndef PR_BROKER_H
#define PR_BROKER_H

#include "core/roster.h"

#define PR_BROKER_BATCH_MAX 64 /* jobs or outcomes a message */
#define PR_BROKER_ACTIONS_MAX 256

typedef enum {
    PR_BROKER_NONE = 0,
    PR_BROKER_JOBS,          /* items of the job batch to a worker */
    PR_BROKER_OUTCOMES,      /* items of the outcome batch to a scheduler */
    PR_BROKER_FORWARD,       /* the frame as it came, to one peer */
    PR_BROKER_TO_SCHEDULERS, /* the frame as it came, to every scheduler */
    PR_BROKER_TO_WORKERS,    /* the frame as it came, to every worker */
    PR_BROKER_HELLO,         /* BrokerHello with greeting, or greet_anew */
    PR_BROKER_GRANT,         /* Grant with the present totals */
} pr_broker_verb_t;

typedef struct {
    pr_broker_verb_t verb;
    pr_route_t route;           /* to whom */
    uint64_t items;             /* JOBS, OUTCOMES */
    uint32_t count;             /* bits set in items */
    bool whole;                 /* items is the whole batch */
    uint32_t cls;               /* JOBS */
    uint32_t kinds;             /* JOBS: bits of all kinds in the batch */
    uint32_t greeting;          /* HELLO */
    bool greet_anew;            /* HELLO */
    bool fresh;                 /* HELLO: answers a new greeting, so tell it who is here */
    uint64_t total[PR_CLASSES]; /* GRANT */
    bool contended;             /* GRANT */
} pr_broker_action_t;

/* Since start; for logs and tests. */
typedef struct {
    uint64_t jobs;          /* handed to workers */
    uint64_t batches_whole; /* sent on as they came */
    uint64_t batches_split;
    uint64_t outcomes;
    uint64_t undelivered; /* jobs without a worker that has room: their scheduler tries again */
    uint64_t overdrawn;   /* jobs beyond their scheduler's grant */
    uint64_t ownerless;   /* outcomes whose shard nobody owns: their worker says them again */
    uint64_t strangers;   /* messages from routes that had to greet anew */
} pr_broker_counts_t;

typedef struct {
    pr_roster_t *roster; /* owned */
    bool share_all;      /* in the next turn, however little it is */
    pr_broker_counts_t counts;
    pr_broker_action_t actions[PR_BROKER_ACTIONS_MAX];
    size_t actions_count;
} pr_broker_t;

pr_broker_t *pr_broker_new(void);
void pr_broker_destroy(pr_broker_t **self);

/* Each empties self->actions first. hello->id and the other pointers are borrowed for the call. */
void pr_broker_worker_hello(pr_broker_t *self, const pr_roster_hello_t *hello, int64_t now_ms);
void pr_broker_worker_held(pr_broker_t *self, pr_bytes_t route, int64_t now_ms);
void pr_broker_worker_credit(pr_broker_t *self, pr_bytes_t route, const uint64_t total[PR_CLASSES],
                             int64_t now_ms);
/* replaces: count sessions of PR_SESSION_BYTES. */
void pr_broker_scheduler_hello(pr_broker_t *self, const pr_roster_session_t *hello,
                               const uint8_t *const *replaces, size_t count, int64_t now_ms);
void pr_broker_demand(pr_broker_t *self, pr_bytes_t route, const pr_roster_demand_t *demand,
                      int64_t now_ms);
/* count jobs (1 to PR_BROKER_BATCH_MAX) of a class; kinds: bits of their kinds. */
void pr_broker_jobs(pr_broker_t *self, pr_bytes_t route, uint32_t cls, uint32_t kinds,
                    uint32_t count, int64_t now_ms);
/* shards of count outcomes, in order. An outcome is never refused for being from a stranger. */
void pr_broker_outcomes(pr_broker_t *self, pr_bytes_t route, const uint32_t *shards, uint32_t count,
                        int64_t now_ms);
void pr_broker_ack(pr_broker_t *self, pr_bytes_t route, const char *worker_id, int64_t now_ms);
/* Once a turn: divides the room, emits the grants that changed. */
void pr_broker_turn(pr_broker_t *self);
/* Says every grant again at the next turn: heals one that a full socket refused. */
void pr_broker_repeat_grants(pr_broker_t *self);

/* The socket refused this action (PR_LOST or PR_AGAIN). A worker that takes no jobs is forgotten
 * (it will greet anew) and new actions for its items are appended; for the rest, whoever sent
 * the message says it again by its own timer. Copies *action before it appends. */
void pr_broker_refused(pr_broker_t *self, const pr_broker_action_t *action, pr_rc_t rc);

#endif
