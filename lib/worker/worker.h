/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker's decisions: what it takes, holds and owes, whom it tells, and how much more it agrees
 * to. Pure: no clock, no I/O; events are calls, effects are actions that worker_bus.c carries out
 * (take all of them after each call). What a job is, it does not know: the notifier, gateway-poller
 * and charger are workers.
 *
 * A job is here from its JobBatch until its OutcomeAck:
 *
 *     (taken) --> RUNNING --(finished)--> OWED --(acked)--> forgotten
 *        |                                 ^
 *        +--(draining: handed back)--------+
 *
 * It has one token, and a token is here once: one that comes again while it runs is dropped, while
 * it is owed its outcome is sent again. Tokens of delivered jobs are remembered a while longer and
 * answered without a call: a slow road may bring a second copy of the job after the first was
 * acknowledged, and a Postgres that was stopped at once may have lost the job and its result, and
 * made the job again (same token) after we were told that the result is stale. Jobs of a session
 * that was replaced are refused (dropped silently: the new owner has them).
 *
 * Owed outcomes are sent again each second, and at once to whoever may lack them: a broker
 * that answers a greeting, a scheduler that shows a new session or more shards.
 *
 * Peers 0 .. brokers-1 are the brokers of the configuration. When none of them was heard for
 * silence_ms, each scheduler whose address is known becomes a peer too, until a broker is back:
 * from a SchedulerHello, or because the io found it (brokers that never were tell no addresses).
 *
 * Sources: docs/protocol.md sections 4 and 5, requirements N16-N18, P4, P5. One thread.
 */
#ifndef PR_WORKER_WORKER_H
#define PR_WORKER_WORKER_H

#include "core/lanes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_WORKER_BROKERS_MAX 16
#define PR_WORKER_DIRECT_MAX 64
#define PR_WORKER_PEERS_MAX (PR_WORKER_BROKERS_MAX + PR_WORKER_DIRECT_MAX)
#define PR_WORKER_SLOTS_MAX (2 * PR_LANES_KEEP_MAX)
#define PR_WORKER_ADDRESS_MAX 255

#define PR_WORKER_HEARTBEAT_MS 250
/* Of a worker that holds and owes nothing: nobody's job hangs on it. Each wakes the broker, and that the schedulers; still four
 * within the silence. */
#define PR_WORKER_IDLE_HEARTBEAT_MS 500
#define PR_WORKER_RESEND_MS 1000
#define PR_WORKER_GREET_MS 200 /* an unanswered greeting is repeated */
#define PR_WORKER_SILENCE_MS 2000

typedef struct pr_worker_t pr_worker_t;

typedef struct {
    uint32_t brokers; /* 1 to PR_WORKER_BROKERS_MAX */
    uint32_t slots;   /* jobs at a time, PR_CLASSES to PR_LANES_KEEP_MAX / 4 */
    uint32_t shares[PR_CLASSES];
    uint32_t slow_max; /* jobs that run longer than PR_LANES_SLOW_MS, beside the slots */
    uint32_t serves;   /* 1U << class: credit is given for these only; 0 = for all */
} pr_worker_config_t;

typedef struct {
    uint64_t salt;
    uint32_t attempt;
    int64_t seq;
} pr_token_t;

typedef enum { PR_HELD_FREE = 0, PR_HELD_RUNNING, PR_HELD_OWED } pr_held_state_t;

/* One job, as WorkerHeld names it. */
typedef struct {
    pr_token_t token;
    pr_held_state_t state;
    uint8_t session[16]; /* of the scheduler that sent it */
    uint32_t shard;
    uint32_t cls;
    uint32_t peer;  /* it came from there */
    bool slow;      /* no longer counts against the slots */
    bool delivered; /* made for good: its token is never started again */
    int64_t at_ms;  /* RUNNING: when taken; OWED: when last sent */
    void *payload;  /* the io's */
    uint32_t next, prev;
} pr_held_t;

typedef enum {
    PR_WORKER_NONE = 0,
    PR_WORKER_START,      /* slot, payload: make the call, then pr_worker_finished */
    PR_WORKER_RETURN,     /* slot, payload: make a RETURNED outcome of it; it is owed already */
    PR_WORKER_REPEAT,     /* slot, payload: say its outcome without a call; it is owed already */
    PR_WORKER_SEND,       /* slot, payload, peer: send this outcome to that peer */
    PR_WORKER_FREE,       /* payload: nobody needs it any more */
    PR_WORKER_GREET,      /* peer, greeting: WorkerHello */
    PR_WORKER_CREDIT,     /* peer: WorkerCredit with total */
    PR_WORKER_HELD,       /* peer: WorkerHeld */
    PR_WORKER_CONNECT,    /* peer, address: a scheduler, directly */
    PR_WORKER_DISCONNECT, /* peer */
} pr_worker_action_kind_t;

typedef struct {
    pr_worker_action_kind_t kind;
    uint32_t slot;
    uint32_t peer;
    void *payload;
    uint32_t greeting;
    uint64_t total[PR_CLASSES];
    const char *address; /* valid until the next call */
} pr_worker_action_t;

typedef struct {
    const uint8_t *instance; /* 16 bytes */
    uint32_t greeting;
    bool greet_anew;
} pr_worker_broker_hello_t;

typedef struct {
    const uint8_t *session;         /* 16 bytes */
    const uint8_t *shards;          /* 32 bytes */
    const uint8_t *const *replaces; /* 16 bytes each */
    size_t replaces_count;
    const char *address;
} pr_worker_scheduler_hello_t;

typedef struct {
    const uint8_t *session; /* 16 bytes */
    uint32_t cls;
    uint32_t jobs;
} pr_worker_batch_t;

typedef enum {
    PR_WORKER_TAKEN = 0,
    PR_WORKER_DUPLICATE, /* runs, or is owed */
    PR_WORKER_REPLACED,  /* its session has ended */
    PR_WORKER_FULL,      /* no slot: a peer ignores our credit */
} pr_worker_took_t;

pr_worker_t *pr_worker_new(const pr_worker_config_t *config, uint64_t seed, int64_t now_ms);
/* free_payload is called for each job that is still here. */
void pr_worker_destroy(pr_worker_t **self, void (*free_payload)(void *payload));

/* Any message from the peer; call it before the call for the message itself. */
void pr_worker_heard(pr_worker_t *self, uint32_t peer, int64_t now_ms);
void pr_worker_broker_hello(pr_worker_t *self, uint32_t peer, const pr_worker_broker_hello_t *hello,
                            int64_t now_ms);
void pr_worker_scheduler_hello(pr_worker_t *self, uint32_t peer,
                               const pr_worker_scheduler_hello_t *hello, int64_t now_ms);
/* A JobBatch begins: its jobs count against the credit whatever becomes of them. */
void pr_worker_batch(pr_worker_t *self, uint32_t peer, const pr_worker_batch_t *batch);
/* One job of it. TAKEN: payload belongs to the job (START, REPEAT, or RETURN when draining); else the
 * payload stays the caller's. */
pr_worker_took_t pr_worker_job(pr_worker_t *self, uint32_t peer, const pr_worker_batch_t *batch,
                               pr_token_t token, uint32_t shard, void *payload, int64_t now_ms);
/* The call of a RUNNING slot ended; its outcome is in the payload. */
void pr_worker_finished(pr_worker_t *self, uint32_t slot, bool delivered, int64_t now_ms);
void pr_worker_acked(pr_worker_t *self, pr_token_t token);
/* Heartbeats, re-sends, silence, slow jobs; at least every 50 ms, or every 250 while it is calm. */
void pr_worker_tick(pr_worker_t *self, int64_t now_ms);
/* At the end of a turn: raises credit with what has become free. */
void pr_worker_offer(pr_worker_t *self);

void pr_worker_drain(pr_worker_t *self, int64_t now_ms);
bool pr_worker_draining(const pr_worker_t *self);
bool pr_worker_drained(const pr_worker_t *self); /* nothing runs and nothing is owed */
bool pr_worker_busy(const pr_worker_t *self);    /* a job runs, or waits to be begun */
/* Nothing is held, nothing was lately, and all peers are live: a tick only says that we live. */
bool pr_worker_calm(const pr_worker_t *self);

/* Takes the oldest action; false: none is left. */
bool pr_worker_action(pr_worker_t *self, pr_worker_action_t *out);

/* What is held now, for WorkerHello and WorkerHeld: at most max pointers, running ones first. */
size_t pr_worker_held(const pr_worker_t *self, const pr_held_t **out, size_t max);
const pr_held_t *pr_worker_slot(const pr_worker_t *self, uint32_t slot);
bool pr_worker_direct(const pr_worker_t *self); /* brokers are away */
/* No broker was heard for silence_ms: schedulers are to be looked for. */
bool pr_worker_brokers_away(const pr_worker_t *self, int64_t now_ms);
/* A scheduler listens here: while the brokers are away it becomes a peer. */
void pr_worker_found(pr_worker_t *self, const char *address, int64_t now_ms);

typedef struct {
    uint32_t running, owed, slow, live_peers;
    uint64_t taken, duplicates, replaced, full, resent;
} pr_worker_stats_t;
pr_worker_stats_t pr_worker_stats(const pr_worker_t *self);

#endif
