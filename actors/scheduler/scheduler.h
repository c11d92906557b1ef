/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's decisions: which job leaves when, and what comes of it. Pure: no clock, no I/O; time, randomness
 * and rows are arguments, effects are actions that scheduler_io.c carries out.
 *
 * Model. A job is one delivery to make: (seq, salt, attempt) is its token. It is in one of these places:
 *
 *     ADOPTED --(named by a worker)--> INFLIGHT        a former owner's job: perhaps under way somewhere
 *        |(nobody named it for 2 s)      |  ^
 *        v                      (outcome)|  |(dispatch)
 *      READY <---(due)--- TIMER <--(written: retry)-- WRITING --(written: delivered, dead)--> gone
 *
 * Ready jobs queue per endpoint and class, behind their order: of one (endpoint, order) one job at a time is ready or under
 * way, lowest version first; a job that waits for its retry lets the next one go (docs/protocol.md, section 2).
 * An endpoint lets a job go when it is active, its breaker allows it, its window (slow start from 2 to its concurrency)
 * and its token bucket have room, and it is not paused by a Retry-After. Endpoints with something to send stand
 * in one ring per class and take turns, so nobody is starved by a neighbour with a long queue.
 *
 * Memory is bounded per (endpoint, class): what does not fit is given a due time in Postgres (PR_SCHED_DATE) and paged
 * in later (PR_SCHED_PAGE). While an endpoint is held (breaker open, disabled) its share shrinks.
 *
 * Times are int64 milliseconds of one monotonic clock. One thread.
 */
#ifndef PR_SCHEDULER_H
#define PR_SCHEDULER_H

#include "base/rc.h"
#include "core/breaker.h"
#include "core/judge.h"
#include "core/retry.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_SCHED_CLASSES 3

typedef struct pr_sched_t pr_sched_t;

typedef struct {
    int64_t heard_ms; /* a job under way that nobody names for this long is tried again: 2 000 */
    int64_t retry_after_cap_ms; /* N: the longest pause a receiver may ask for: 24 h */
    int64_t breaker_open_ms;    /* 30 s, scaled */
    uint32_t breaker_threshold; /* 5 */
    int64_t probe_deadline_ms;  /* a probe silent for this long has failed: total timeout + 5 s */
    int64_t own_fault_delay_ms; /* pause before an uncharged try is made again: 30 s, scaled */
    double
        recovery_rate_per_s; /* how fast a backlog drains after a breaker closed or an endpoint was enabled */
    int64_t recovery_ms;     /* for how long */
    uint32_t keep_jobs;      /* jobs in memory per (endpoint, class) */
    uint32_t keep_jobs_held; /* the same while the endpoint is held */
    uint32_t class_jobs;     /* jobs in memory per class; over half of it shares shrink */
    int64_t keep_retry_ms;   /* a retry further away than this waits in Postgres only */
    int64_t horizon_ms;      /* dated jobs due within this are paged in; at most keep_retry_ms */
} pr_sched_config_t;

typedef enum { PR_FORCED_NOT = 0, PR_FORCED_OPEN, PR_FORCED_CLOSED } pr_forced_t;

/* What the scheduler must know of an endpoint. */
typedef struct {
    int64_t id;
    uint8_t shard;
    bool active; /* false: disabled, its jobs are held */
    bool gone;   /* disabled because of a 410 */
    pr_forced_t forced;
    uint32_t concurrency; /* window's upper end */
    double rate_per_s;    /* 0 = unlimited */
    int64_t max_age_ms;
    int64_t paused_until_ms; /* Retry-After, as its row has it; 0 = never asked */
    pr_retry_policy_t retry; /* scaled */
} pr_sched_endpoint_t;

/* One row of postrider.job with what concerns its schedule. */
typedef struct {
    int64_t seq;
    uint64_t salt;
    uint32_t attempt;      /* tries finished in this life */
    uint32_t tried_before; /* tries of earlier lives */
    int64_t endpoint_id;
    int64_t outbox_id;
    uint8_t class_no;
    int64_t version;
    uint64_t order_hash; /* of (endpoint, order number) */
    int64_t age_ms;
    int64_t due_in_ms;
    bool dated;   /* it has a due time in Postgres */
    bool adopted; /* a former owner may have sent it */
} pr_sched_row_t;

typedef enum {
    PR_SCHED_KEPT = 0, /* in memory; the payload belongs to the scheduler now */
    PR_SCHED_KNOWN,    /* was in memory already */
    PR_SCHED_NO_ROOM,  /* dated: stays in Postgres; undated: PR_SCHED_DATE was asked for */
    PR_SCHED_NOT_OURS, /* no such endpoint */
} pr_sched_added_t;

/* A job as the actions show it; owned by the scheduler, valid until the next call that is not an action's. */
typedef struct pr_sched_job_t {
    int64_t seq;
    uint64_t salt;
    uint32_t attempt;
    uint32_t tried_before;
    int64_t endpoint_id;
    int64_t outbox_id;
    uint8_t class_no;
    uint8_t shard;
    bool probe;
    void *payload; /* the io's: what a worker needs */
} pr_sched_job_t;

typedef enum {
    PR_SCHED_NONE = 0,
    PR_SCHED_RESULT,  /* write this result: fields below */
    PR_SCHED_DATE,    /* give (seq, salt) a due time in Postgres */
    PR_SCHED_PAGE,    /* page_due for (endpoint, class): at most `count` rows beyond `known` */
    PR_SCHED_EXPIRE,  /* expire_held for the endpoint */
    PR_SCHED_STALE,   /* outcome of a token that is nobody's any more: log it, acknowledge it */
    PR_SCHED_BREAKER, /* the endpoint's breaker moved: from, to */
    PR_SCHED_PAUSE,   /* Retry-After: keep a pause of delay_ms with the endpoint */
    PR_SCHED_GONE,    /* the endpoint answered 410: it is held, have it switched off */
    PR_SCHED_FREE,    /* free this payload (`outcome` holds it) */
} pr_sched_action_kind_t;

typedef enum { PR_END_RETRY = 0, PR_END_DELIVERED = 1, PR_END_DEAD = 2 } pr_end_t;

typedef struct {
    pr_sched_action_kind_t kind;
    int64_t endpoint_id;
    uint8_t class_no;
    /* RESULT, DATE, STALE */
    int64_t seq;
    uint64_t salt;
    uint32_t attempt;
    pr_end_t end;
    int64_t delay_ms;
    bool uncharged; /* the try is not counted: the job gets new_salt */
    uint64_t new_salt;
    bool tried;         /* an attempt is to be logged */
    bool stray;         /* no job in memory has this token: answer it with pr_sched_stray_written */
    const char *reason; /* end DEAD: retries_exhausted | expired */
    void *outcome;      /* as given to pr_sched_outcome; NULL when none */
    /* PAGE */
    uint32_t count, known;
    /* BREAKER */
    pr_breaker_state_t from, to;
    uint32_t failures, held;
} pr_sched_action_t;

pr_sched_t *pr_sched_new(const pr_sched_config_t *config, uint64_t seed);
/* Payloads still held are given to free_payload. */
void pr_sched_destroy(pr_sched_t **self, void (*free_payload)(void *payload));

/* New or changed. A forced, disabled or enabled state acts at once. An endpoint that is new may have dated jobs in Postgres:
 * say so with pr_sched_dated. */
void pr_sched_set_endpoint(pr_sched_t *self, const pr_sched_endpoint_t *endpoint, int64_t now_ms);
/* Every endpoint of the shard and its jobs are forgotten (given up or lost); emits FREE for the payloads. */
void pr_sched_drop_shard(pr_sched_t *self, uint8_t shard);
/* Giving a shard up: nothing of it is sent any more, its first tries are dated (DATE). */
void pr_sched_leave_shard(pr_sched_t *self, uint8_t shard);
/* True when nothing of the shard is under way or being written and all its jobs are dated. */
bool pr_sched_shard_left(const pr_sched_t *self, uint8_t shard);
/* Postgres holds dated jobs of the pair that are not in memory, the next one due in due_in_ms. INT64_MAX: none. */
void pr_sched_dated(pr_sched_t *self, int64_t endpoint_id, uint8_t class_no, int64_t due_in_ms,
                    int64_t now_ms);

pr_sched_added_t pr_sched_add(pr_sched_t *self, const pr_sched_row_t *row, void *payload,
                              int64_t now_ms);
/* The database may have lost moves of first tries after durable (per class): those that are ready are forgotten and come
 * again by pr_sched_add; one that comes with another salt replaces what stands in its place. */
void pr_sched_unproven(pr_sched_t *self, const int64_t durable[PR_SCHED_CLASSES], int64_t now_ms);
/* A page that was asked for has been read: more = it was full. If not, the next due time has been said by pr_sched_dated. */
void pr_sched_paged(pr_sched_t *self, int64_t endpoint_id, uint8_t class_no, bool more,
                    int64_t now_ms);
/* It could not be read: it is asked for again with the endpoint's next timer. */
void pr_sched_page_failed(pr_sched_t *self, int64_t endpoint_id, uint8_t class_no, int64_t now_ms);
/* Somebody cancelled the delivery: forget it; if it is under way, it is not sent again. */
void pr_sched_cancel(pr_sched_t *self, int64_t outbox_id, int64_t endpoint_id, int64_t now_ms);
/* Postgres refused its result as stale, or somebody cancelled it: the job is not in memory any more. True: a row of it was read
 * while the result was being written (a crash undid its move, which was made again meanwhile), so it may live: read it again. */
bool pr_sched_forget(pr_sched_t *self, int64_t seq, uint64_t salt, int64_t now_ms);
/* A DATE action is committed. */
void pr_sched_date_written(pr_sched_t *self, int64_t seq, uint64_t salt, int64_t endpoint_id,
                           uint8_t class_no, int64_t now_ms);

/* A worker's word on one token. An outcome is answered by one RESULT or STALE action, which carries `outcome`.
 * RETURNED: the job is ready again, and STALE is emitted so that the worker is told. DELIVERED for a job that is not in
 * memory is a RESULT all the same (stray): it may wait in Postgres for its page. */
void pr_sched_outcome(pr_sched_t *self, int64_t seq, uint64_t salt, uint32_t attempt,
                      pr_outcome_t result, int64_t retry_after_ms, bool egress_fault,
                      uint64_t random, void *outcome, int64_t now_ms);
void pr_sched_held(pr_sched_t *self, int64_t seq, uint64_t salt, uint32_t attempt, int64_t now_ms);
/* We could not hear anybody until now (we stood still, or every broker was away): nobody's silence counts before now_ms. */
void pr_sched_deaf(pr_sched_t *self, int64_t now_ms);
/* All workers have reported since the takeover: what nobody named may leave. */
void pr_sched_all_heard(pr_sched_t *self, int64_t now_ms);
/* The RESULT of (seq, salt) is committed. Another salt: the number is another job's by now, nothing happens. */
void pr_sched_written(pr_sched_t *self, int64_t seq, uint64_t salt, int64_t now_ms);
/* A stray RESULT is committed and ended the job: it is forgotten, should it have been paged in meanwhile. */
void pr_sched_stray_written(pr_sched_t *self, int64_t seq, uint64_t salt, uint32_t attempt,
                            int64_t now_ms);

/* Timers: due retries, breakers, pauses, silent jobs, held jobs past max_age, pages. Call each turn. */
void pr_sched_tick(pr_sched_t *self, int64_t now_ms);
int64_t pr_sched_deadline_ms(const pr_sched_t *self);

/* The next job of the class that may leave, marked as under way; NULL: none. If it could not be sent after all,
 * pr_sched_undo puts it back in front. */
const pr_sched_job_t *pr_sched_next(pr_sched_t *self, uint8_t class_no, int64_t now_ms);
void pr_sched_undo(pr_sched_t *self, int64_t seq, int64_t now_ms);
/* How many jobs of the class could leave now: a lower bound that is 0 only when none can. Walks no further than to `enough`. */
uint32_t pr_sched_want(const pr_sched_t *self, uint8_t class_no, uint32_t enough);

/* Takes the oldest action; false when there is none. */
bool pr_sched_action(pr_sched_t *self, pr_sched_action_t *out);

/* The job in memory, or NULL. */
const pr_sched_job_t *pr_sched_job(const pr_sched_t *self, int64_t seq);

/* A person's word, arriving by the bus before the endpoint's row says the same. */
void pr_sched_force(pr_sched_t *self, int64_t endpoint_id, pr_forced_t forced, bool reset,
                    int64_t now_ms);

typedef struct {
    uint32_t endpoints, jobs, ready, inflight, adopted, timers, writing;
    uint32_t class_jobs[PR_SCHED_CLASSES]; /* in memory */
} pr_sched_stats_t;
void pr_sched_stats(const pr_sched_t *self, pr_sched_stats_t *out);
/* Per class: no first try without a due time in memory has a seq below; a second old at most. INT64_MAX: there is none. */
void pr_sched_low(const pr_sched_t *self, int64_t low[PR_SCHED_CLASSES]);
/* Calls fn for each seq in memory of the endpoint (expire_held leaves them alone). */
void pr_sched_each_seq(const pr_sched_t *self, int64_t endpoint_id,
                       void (*fn)(void *arg, int64_t seq), void *arg);

#endif
