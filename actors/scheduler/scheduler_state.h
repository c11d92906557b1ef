/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scheduler's pure parts share: jobs, orders, endpoints and the lists they stand in. Private to this folder.
 *   scheduler.c           a job's life: rows in, outcomes, results, timers
 *   scheduler_endpoint.c  when an endpoint lets a job go: gate, window, rings, holding
 *   scheduler_order.c     of one order one job at a time, lowest version first
 */
#ifndef PR_SCHEDULER_STATE_H
#define PR_SCHEDULER_STATE_H

#include "actors/scheduler/scheduler.h"
#include "base/map.h"
#include "core/bucket.h"
#include "core/timerq.h"

typedef struct job_t job_t;
typedef struct order_t order_t;
typedef struct endpoint_t endpoint_t;

typedef enum {
    JOB_NONE = 0,
    JOB_ADOPTED,  /* a former owner may have sent it: waits to be named or for heard_ms */
    JOB_READY,    /* stands behind its order */
    JOB_INFLIGHT, /* with a worker */
    JOB_WRITING,  /* its result is on the way to Postgres */
    JOB_TIMER,    /* waits for its due time */
} job_state_t;

struct job_t {
    pr_sched_job_t view; /* what actions show */
    job_state_t state;
    endpoint_t *endpoint;
    order_t *order;           /* set while READY as its head or waiting, INFLIGHT, ADOPTED */
    job_t *next_waiting;      /* behind the order's head, ascending version */
    job_t *prev, *next;       /* in the list of jobs under way (INFLIGHT, ADOPTED) */
    job_t *of_prev, *of_next; /* in its endpoint's list */
    int64_t version;
    uint64_t order_hash;
    int64_t born_ms;
    int64_t due_ms;   /* TIMER: when; READY: since when */
    int64_t heard_ms; /* under way: when somebody last named it */
    bool dated;       /* has a due time in Postgres */
    bool dating;      /* PR_SCHED_DATE is under way */
    bool counted;     /* takes a place in its endpoint's window */
    bool read_again;  /* Postgres showed it, undated, while its result was being written */
    bool cancelled;   /* somebody cancelled it while it was under way: it is not sent again */
    pr_end_t end;     /* WRITING: what was decided */
    int64_t delay_ms;
    uint64_t new_salt; /* WRITING, uncharged: the next token's */
    bool uncharged;
};

/* The jobs of one (endpoint, order number) that are ready or under way. */
struct order_t {
    uint64_t hash;
    endpoint_t *endpoint;
    job_t *head;      /* the one that is ready or under way; never NULL */
    job_t *waiting;   /* ascending (version, seq) */
    bool queued;      /* head is READY and the order stands in its endpoint's queue */
    uint8_t class_no; /* the queue it stands in */
    order_t *prev, *next;
};

typedef struct {
    order_t *first, *last;
    uint32_t count;
} order_queue_t;

struct endpoint_t {
    pr_sched_endpoint_t spec;
    job_t *first_job; /* all of its jobs in memory */
    order_queue_t ready[PR_SCHED_CLASSES];
    bool in_ring[PR_SCHED_CLASSES];
    endpoint_t *ring_prev[PR_SCHED_CLASSES], *ring_next[PR_SCHED_CLASSES];
    uint32_t jobs[PR_SCHED_CLASSES]; /* in memory */
    int64_t db_due_ms
        [PR_SCHED_CLASSES]; /* next dated job that is only in Postgres; INT64_MAX none known */
    bool paging[PR_SCHED_CLASSES]; /* a page is being read */
    uint32_t inflight;
    uint32_t window;
    pr_breaker_t breaker;
    pr_bucket_t bucket;   /* spec.rate_per_s */
    pr_bucket_t recovery; /* after a breaker closed or an operator enabled it */
    int64_t recovery_until_ms;
    int64_t paused_until_ms; /* Retry-After */
    int64_t wake_at_ms;      /* entry in the endpoint timers; INT64_MAX none */
    int64_t expire_at_ms;    /* while held: next look for jobs past max_age */
    bool leaving;            /* its shard is being given up */
    bool gone; /* answered 410: held until its row says active after having said disabled */
};

typedef struct {
    endpoint_t *head; /* takes the next turn; circular */
} ring_t;

struct pr_sched_t {
    pr_sched_config_t config;
    pr_map_t *jobs;      /* seq -> job_t */
    pr_map_t *orders;    /* hash -> order_t */
    pr_map_t *endpoints; /* (uint64) id -> endpoint_t */
    ring_t rings[PR_SCHED_CLASSES];
    pr_timerq_t *job_timers;      /* id = seq */
    pr_timerq_t *endpoint_timers; /* id = endpoint id */
    job_t *under_way;             /* INFLIGHT and ADOPTED */
    uint32_t adopted;
    int64_t next_scan_ms; /* silent jobs */
    int64_t next_walk_ms; /* first tries that wait too long; the lowest one */
    int64_t
        low[PR_SCHED_CLASSES];  /* no first try without a due time is below; as of the last walk */
    pr_sched_action_t *actions; /* first come, first out; grows */
    uint32_t actions_first, actions_count, actions_room;
    pr_sched_stats_t stats;
};

/* scheduler.c */
pr_sched_action_t *sched_emit(pr_sched_t *self, pr_sched_action_kind_t kind,
                              const endpoint_t *endpoint);
void sched_job_remove(pr_sched_t *self, job_t *job); /* out of every structure; emits FREE; frees */
void sched_expire_held(pr_sched_t *self, endpoint_t *endpoint,
                       int64_t now_ms); /* jobs past max_age die (N13) */

/* scheduler_order.c */
/* The job becomes ready: heads its order and queues, or waits behind the head. front: before the others of its queue. */
void order_add(pr_sched_t *self, job_t *job, bool front);
/* An adopted job: its order is taken as if it were under way. */
void order_take(pr_sched_t *self, job_t *job);
/* The head leaves its queue, to be sent. */
void order_sent(pr_sched_t *self, order_t *order);
/* The job is no longer ready or under way; the next one of the order, if any, queues. */
void order_release(pr_sched_t *self, job_t *job);

/* scheduler_endpoint.c */
endpoint_t *endpoint_new(pr_sched_t *self, const pr_sched_endpoint_t *spec, int64_t now_ms);
void endpoint_destroy(pr_sched_t *self, endpoint_t *endpoint);
void endpoint_update(pr_sched_t *self, endpoint_t *endpoint, const pr_sched_endpoint_t *spec,
                     int64_t now_ms);
/* Puts the endpoint into the rings of the classes it has ready jobs for, if its gate is open; else arms its timer. */
void endpoint_refresh(pr_sched_t *self, endpoint_t *endpoint, int64_t now_ms);
void endpoint_leave_rings(pr_sched_t *self, endpoint_t *endpoint);
bool endpoint_held(const endpoint_t *endpoint);
uint32_t endpoint_keep(const pr_sched_t *self, const endpoint_t *endpoint, uint8_t class_no);
void endpoint_sent(pr_sched_t *self, endpoint_t *endpoint, job_t *job, int64_t now_ms);
/* The job is no longer with a worker: frees its place in the window. */
void endpoint_returned(endpoint_t *endpoint, job_t *job);
/* An outcome: the breaker and the window learn from it. */
void endpoint_seen(pr_sched_t *self, endpoint_t *endpoint, const job_t *job, pr_outcome_t result,
                   int64_t now_ms);
void endpoint_probe_lost(pr_sched_t *self, endpoint_t *endpoint, const job_t *job, int64_t now_ms);
void endpoint_reset_breaker(pr_sched_t *self, endpoint_t *endpoint, int64_t now_ms);
void endpoint_timer(pr_sched_t *self, endpoint_t *endpoint, int64_t now_ms); /* its timer fired */
/* Asks for a page of dated jobs when one is due and there is room. */
void endpoint_page(pr_sched_t *self, endpoint_t *endpoint, uint8_t class_no, int64_t now_ms);

#endif
