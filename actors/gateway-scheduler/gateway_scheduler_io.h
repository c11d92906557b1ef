/* SPDX-License-Identifier: Apache-2.0
 *
 * The gateway-scheduler's edge: rows and messages in, actions out. Private to this folder.
 *   gateway_scheduler_io.c        start, turn, drain, stop; actions -> effects
 *   gateway_scheduler_session.c   the session: open, beat, take and give up shards
 *   gateway_scheduler_channels.c  channels of our shards, as their rows have them
 *   gateway_scheduler_due.c       what is due; dispatch rows; leases; upkeep
 *   gateway_scheduler_turns.c     turns for calls of no queue, out of the same budget
 *   gateway_scheduler_apply.c     outcomes on the way to Postgres, and their acknowledgement
 *   gateway_scheduler_jobs.c      calls to workers, outcomes from them
 *
 * Everything in memory belongs to one session: when it is lost, all is forgotten, and workers say again what they were not
 * told is safe. So no batch is kept over a lost connection, and an unknown COMMIT is met by the worker's repeat.
 */
#ifndef PR_GATEWAY_SCHEDULER_IO_H
#define PR_GATEWAY_SCHEDULER_IO_H

#include "actor/actor.h"
#include "actor/work_desk.h"
#include "actors/gateway-scheduler/gateway_scheduler.h"
#include "base/map.h"
#include "sql/gateway_scheduler.h"

#define SHARDS 256
#define DISPATCH_MAX 128 /* calls in one statement */

/* A channel as its row has it. Its number is the hash of its id: every scheduler and worker finds the same. */
typedef struct {
    int64_t no, version;
    uint8_t shard;
    bool active;             /* its row says so */
    pr_calls_channel_t spec; /* what the step knows */
    char *id, *profile, *base_url, *tls_ca;
    bool lends; /* others wait for a turn of it, or hold one */
    bool wished;
    Postrider__V1__ChannelParameter **parameters;
    Postrider__V1__ChannelExponent **exponents;
    size_t nparameters, nexponents;
} channel_row_t;

/* What a worker must know of the payment; from the dispatch row, one heap block. */
typedef struct {
    int64_t channel_no;
    uint32_t try_number;
    Postrider__V1__CallSubject subject;
    Postrider__V1__PaymentFacts facts; /* its strings stand behind */
    bool knows_digest;                 /* of what was sent before */
    uint8_t digest[32];
    char text[];
} payload_t;

/* A worker's word that waits for its commit. */
typedef struct {
    int link;
    char worker_id[65];
    bool bare; /* its evidence was refused once by Postgres */
    size_t len;
    size_t exchange_len; /* 0: none */
    char evidence[];     /* JSON, checked; behind its NUL the exchange, as it came */
} outcome_t;

typedef struct batch_t batch_t;

typedef struct io_t {
    pr_actor_t *actor;
    pr_loop_t *loop;
    pr_db_t *db;
    pr_db_t
        *writer; /* a second connection, only for outcomes: they take longer than anything else */
    pr_statement_t writer_statements[1];
    pr_params_t *params;
    pr_calls_t *calls;
    pr_work_desk_t *desk;
    int64_t now_ms;
    int turn_timer;
    bool draining, closing, closed;

    /* configuration */
    int64_t poll_ms, flush_ms, lease_ms, timeout_ms;
    uint32_t keep, batch_max;
    double time_scale;

    /* session */
    bool opening, live;
    uint32_t epoch; /* of what is in memory; answers to what an older one asked say nothing */
    uint8_t session[16];
    uint8_t owned[SHARDS / 8];
    uint8_t leaving[SHARDS / 8]; /* of these: being given up, nothing leaves */
    bool beating, taking, releasing;
    int64_t beat_sent_ms, beat_ok_ms;
    uint64_t seconds; /* since the session began */

    /* rows */
    pr_map_t *channels; /* no -> channel_row_t */
    bool loading, looking;
    int64_t look_at_ms, looked_ms;
    int dispatching; /* statements under way */
    bool expiring, keeping_up, measuring, sweeping, turning;
    int wishes;                              /* channels of which others want a turn */
    int64_t turns_looked_ms, turns_until_ms; /* the last look; looked often until then */
    int64_t sweep_at_ms;

    /* results */
    batch_t *pending;
    int64_t pending_since_ms;
    int batches;        /* under way */
    uint32_t unwritten; /* results not yet committed */
} io_t;

static inline bool bit_get(const uint8_t *bits, int n)
{
    return bits[n / 8] >> (n % 8) & 1;
}
static inline void bit_put(uint8_t *bits, int n, bool on)
{
    uint8_t mask = (uint8_t)(1u << (n % 8));
    bits[n / 8] = (uint8_t)(on ? bits[n / 8] | mask : bits[n / 8] & ~mask);
}

/* gateway_scheduler_session.c */
void session_on_db_ready(io_t *io);
void session_on_db_lost(io_t *io);
void session_lost(io_t *io); /* it was ended: forget everything, begin anew */
void session_second(void *arg, int64_t now_ms);
bool session_may_dispatch(const io_t *io);
void session_leave(io_t *io); /* each turn: shards that are empty by now are given up */
void session_close(io_t *io);
/* Queues one statement whose parameters are in io->params. The answer gets a session_asked_t of its own, and frees it. */
typedef struct {
    io_t *io;
    uint32_t epoch; /* the life that asked */
} session_asked_t;
bool session_ask(io_t *io, int statement, pr_db_result_fn *fn);
/* Every answer passes here. False: it is none for us. Ownership lost (PR009) and bugs are met here. */
bool session_answered(io_t *io, uint32_t epoch, pr_rc_t rc, const char *event,
                      const pr_error_t *error);

/* gateway_scheduler_channels.c */
void channels_load(io_t *io);
void channels_measure(io_t *io);          /* how late their webhooks are */
void channels_leave(io_t *io, int shard); /* nothing of the shard leaves any more */
void channels_drop(io_t *io, int shard);  /* it is another's now */
void channels_forget(io_t *io);
int64_t channel_no(const char *id);
const channel_row_t *channels_find(const io_t *io, int64_t no);

/* gateway_scheduler_due.c */
void due_look(io_t *io); /* when it is time */
int64_t due_deadline_ms(const io_t *io);
void due_dispatch(io_t *io); /* picks, and commits dispatch rows */
void due_expire(io_t *io);
void due_adopt(io_t *io); /* before leases are ended: calls of a former owner */
void due_keep_pause(io_t *io, int64_t no, int64_t ms);
void due_upkeep(io_t *io);
void due_sweep(io_t *io);

/* gateway_scheduler_turns.c */
void turns_look(io_t *io); /* each second */
void turns_lend(io_t *io); /* each turn of the loop, before the queue's own calls leave */

/* gateway_scheduler_apply.c */
void apply_add(io_t *io, const pr_calls_action_t *action);
void apply_flush(io_t *io, bool now);
void apply_forget(io_t *io);
int64_t apply_deadline_ms(const io_t *io);

/* gateway_scheduler_jobs.c */
void jobs_send(io_t *io);
void jobs_on_outcome(void *arg, int link, const Postrider__V1__Outcome *outcome);

/* gateway_scheduler_io.c */
void io_actions(io_t *io);
void io_alert(io_t *io, const char *kind, const char *subject, const char *severity,
              const char *message);
extern const pr_actor_spec_t pr_gateway_scheduler_spec;

#endif
