/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's edge: rows, batches and messages in, actions out. Private to this folder.
 *   scheduler_io.c       start, turn, drain, stop; actions -> effects
 *   scheduler_session.c  the session: open, resume, beat, shards, ending others' sessions
 *   scheduler_new.c      new jobs, behind the cursor
 *   scheduler_rows.c     endpoints, adopted jobs, pages, cancellations
 *   scheduler_batch.c    results on the way to Postgres, and their acknowledgement
 *   scheduler_bus.c      brokers and, when all are away, workers directly
 */
#ifndef PR_SCHEDULER_IO_H
#define PR_SCHEDULER_IO_H

#include "actor/actor.h"
#include "actors/scheduler/scheduler.h"
#include "base/map.h"
#include "core/roster.h"
#include "sql/scheduler.h"

#define CLASS_SHIFT 56

/* What a try of one job needs; made from the row, owned by the scheduler's job, one heap block. */
typedef struct {
    char notify_id[37];
    int64_t version;
    const char *order_no;
    const char *event;
    const char *notify_url; /* NULL: the endpoint's */
    pr_bytes_t body;
    char text[]; /* the strings and the body */
} payload_t;

/* An endpoint as its row has it, for all shards. */
typedef struct {
    pr_sched_endpoint_t spec;
    char *merchant_id, *url, *scheme, *success_rule, *tls_ca, *egress;
    uint8_t *secret, *secret_next;
    size_t secret_len, secret_next_len;
    int64_t rotate_at_ms; /* mono; INT64_MAX: no rotation */
    bool http2;
    bool failing;                   /* its last attempt failed, or is not known */
    Postrider__V1__Header *headers; /* nheaders of them, and pointers to them for protobuf */
    Postrider__V1__Header **header_ptrs;
    size_t nheaders;
} endpoint_row_t;

/* A worker's word that waits for its commit. */
typedef struct outcome_t {
    struct outcome_t *next;
    struct link_t *link; /* where the acknowledgement goes; links live as long as the process */
    char worker_id[65];
    Postrider__V1__Outcome__Result result;
    uint32_t http_code, duration_ms;
    char error[65];
    int64_t started_at_us;
    size_t excerpt_len;
    uint8_t excerpt[]; /* at most 1 KiB */
} outcome_t;

typedef struct {
    pr_sched_action_t action;
    bool resent; /* its first COMMIT is unknown */
    bool bare;   /* refused once by Postgres: written without excerpt and error text */
} result_t;

typedef struct batch_t {
    struct io_t *io;
    uint8_t session[16]; /* it was sent under */
    bool strays;         /* some are */
    int count;
    result_t results[];
} batch_t;

typedef struct {
    uint64_t salt;
    uint32_t attempt;
    int64_t seq;
} token_t;

/* Acknowledgements of this turn for one worker. */
typedef struct {
    struct link_t *link;
    char worker_id[65];
    int count;
    token_t tokens[256];
} acks_t;

/* A broker, or (roster set) our own ROUTER that workers connect to when every broker is away. */
typedef struct link_t {
    struct io_t *io;
    pr_socket_t *socket;
    pr_roster_t *roster; /* own ROUTER only */
    uint8_t instance[16];
    bool live;
    bool contended;
    uint32_t greeting;
    uint64_t granted[PR_SCHED_CLASSES], sent[PR_SCHED_CLASSES], returned[PR_SCHED_CLASSES];
    int64_t idle_since_ms[PR_SCHED_CLASSES];
    int64_t heard_at_ms, demand_at_ms;
    uint32_t demanded[PR_SCHED_CLASSES];
    char **workers; /* known to it */
    int nworkers;
} link_t;

/* A broker's state socket: hints and breaker commands. */
typedef struct {
    struct io_t *io;
    pr_socket_t *socket;
} state_t;

typedef struct {
    int64_t seq, salt, endpoint_id;
    uint8_t class_no;
} date_t;

typedef struct {
    int64_t endpoint_id, until_ms;
} pause_t;

typedef enum { SESSION_NONE = 0, SESSION_OPENING, SESSION_RESUMING, SESSION_LIVE } session_state_t;

typedef struct {
    uint8_t id[16];
    int64_t beat;
    int64_t since_ms; /* the counter stands still since */
    bool seen;        /* in the last answer */
    bool ending;
} observed_t;

#define OBSERVED_MAX 64
#define REPLACED_MAX 64
#define LINKS_MAX 16

/* Shards whose former owner's jobs are being read: one chain of queries (where the relay stands, endpoints, first tries, what
 * is dated). Shards that join begin it anew. */
typedef struct {
    bool active;
    bool asked;       /* a query of the chain is under way */
    uint32_t stale;   /* answers to come that belong to an older chain */
    int64_t again_ms; /* Postgres could not for now: the chain begins anew then */
    uint8_t shards[32];
    int64_t lo[PR_SCHED_CLASSES], hi[PR_SCHED_CLASSES];
    bool former; /* somebody owned them before: what is read may be under way */
} adoption_t;

typedef struct io_t {
    pr_actor_t *actor;
    pr_loop_t *loop;
    pr_db_t *db;
    pr_params_t *params;
    pr_sched_t *sched;
    pr_sched_config_t sched_config;
    int64_t now_ms;
    bool draining, closing, closed;

    /* configuration */
    int64_t flush_ms, poll_ms, total_timeout_ms, max_age_ms;
    int64_t beat_ms;   /* between two beats; endpoints and cancellations are looked at as often */
    int64_t silent_ms; /* a session whose counter stands still for so long is ended */
    int batches_max;   /* on their way at once */
    uint32_t batch_max, load_max, class_jobs_max, concurrency;
    double time_scale;
    pr_retry_policy_t retry;

    /* session */
    session_state_t session_state;
    uint8_t session[16];
    int64_t lock_key;
    char *address;
    uint64_t beats;   /* answered: the counter in Postgres is this, or one more */
    uint64_t beat_no; /* of the last one sent */
    int64_t beat_sent_ms, beat_ok_ms;
    bool beating, acquiring;
    int64_t acquire_at_ms;
    observed_t observed[OBSERVED_MAX];
    int nobserved;
    uint8_t replaced[REPLACED_MAX][16];
    int nreplaced;
    uint8_t owned[32];   /* shards, bit n */
    uint8_t leaving[32]; /* of these: being given up; nothing new of theirs is taken */
    int64_t leave_low[PR_SCHED_CLASSES];
    bool releasing;
    int64_t handover_at_ms;               /* next look whether they are empty */
    int64_t adopted_to[PR_SCHED_CLASSES]; /* where the relay stood at the last adoption */
    int64_t adopted_at_ms
        [256]; /* when a former owner's jobs began to be read; INT64_MIN: there was none */

    /* rows */
    pr_map_t *endpoints;                  /* endpoint_row_t by id */
    char horizon[24], cancel_horizon[24]; /* xid8 as text */
    bool loading_endpoints, loading_cancelled, endpoints_known;
    /* Cancellations up to next_horizon need no third look once the looks at new jobs up to cancel_look are answered. */
    char next_horizon[24];
    uint64_t cancel_look;
    bool owned_unknown,
        owned_asked; /* owned_shards is still to be answered; its question is under way */
    int64_t cursor[PR_SCHED_CLASSES];
    bool cursors_known;
    int64_t
        durable[PR_SCHED_CLASSES]; /* the cursor that our last answered beat has carried to disk */
    int64_t taken_behind[256]
                        [PR_SCHED_CLASSES]; /* of shards taken: no first try up to there, ever */
    int64_t beat_cursor[PR_SCHED_CLASSES];  /* the cursor when the beat under way was sent */
    adoption_t adoption;
    int64_t
        heard_wanted_ms; /* all workers named what they hold after this: adopted jobs may go; INT64_MAX: not waiting */
    pr_map_t *heard; /* hash of worker id -> when (as pointer-sized number + 1) */

    /* new jobs */
    pr_db_t *reader; /* a second connection, only for looks at new jobs */
    pr_statement_t reader_statements[2];
    bool reader_proven, reader_asked;
    int64_t poll_at_ms;
    int64_t hinted[PR_SCHED_CLASSES];
    int64_t new_at_ms[PR_SCHED_CLASSES]; /* when the class last had one, ours or not */
    /* classes, bit c: */
    uint32_t looking;   /* are being looked for */
    uint32_t new_stale; /* of these, cursor or shards changed meanwhile: the answer is not used */
    uint32_t flood;     /* their last look took as many as it might */
    uint32_t full;      /* the same, and the next look has not begun */
    uint32_t asked_for[PR_SCHED_CLASSES];
    uint64_t looks, look_no[PR_SCHED_CLASSES]; /* so far; the last of the class */

    /* results */
    batch_t *pending;
    int64_t pending_since_ms;
    int batches;    /* under way */
    batch_t **kept; /* to be sent (again) when the session lives, from resend_at_ms on */
    int nkept, kept_room;
    int64_t resend_at_ms;
    int64_t unwritten; /* results not yet committed */
    date_t
        *dates; /* first tries that are to get a due time; the first dates_written are under way */
    int ndates, dates_room, dates_written;
    pause_t *pauses; /* Retry-After, to be kept in Postgres; the first pauses_sent are under way */
    int npauses, pauses_room, pauses_sent;
    uint32_t pauses_epoch; /* answers to what was sent in an earlier one say nothing */
    acks_t acks[32];
    int nacks;

    /* bus */
    link_t links[LINKS_MAX];
    int nlinks;
    state_t states[LINKS_MAX];
    int nstates;
    int next_link; /* whose turn it is */
    uint8_t greeted_session[16];
    int turn_timer;
    int64_t turned_ms, deaf_ms; /* the last turn; when we last said that we were deaf */
} io_t;

/* scheduler_session.c */
void session_on_db_ready(io_t *io);
void session_on_db_lost(io_t *io);
void session_timer(void *arg, int64_t now_ms); /* every beat */
void session_lost(io_t *io);                   /* it was ended: forget everything, begin anew */
bool session_may_dispatch(const io_t *io);
void session_acquired_loaded(io_t *io);
void session_close(io_t *io);
/* scheduler_handover.c: give up some shards to a newcomer */
void session_give_up(io_t *io, int count);
void handover_timer(io_t *io);
static inline bool bit_get(const uint8_t *bits, int n)
{
    return bits[n / 8] >> (n % 8) & 1;
}
static inline void bit_set(uint8_t *bits, int n)
{
    bits[n / 8] = (uint8_t)(bits[n / 8] | 1u << (n % 8));
}
int add_shards(pr_params_t *params, const uint8_t bits[32]); /* as smallint[]; how many */

/* scheduler_new.c */
void new_start(io_t *io, const pr_db_options_t *like); /* the reader: as the other connection */
void new_stop(io_t *io);
void new_prove_reader(io_t *io); /* when the session begins to live, and each beat */
void new_on_db_lost(io_t *io);
void new_poll(io_t *io); /* each turn */
void new_hint(io_t *io, const int64_t *last_seq);
int64_t new_deadline_ms(const io_t *io);

/* The columns that load_new, load_first_tries and page_due share. */
enum {
    COL_SEQ,
    COL_CLASS,
    COL_MINE,
    COL_SALT,
    COL_TRY,
    COL_TRIED_BEFORE,
    COL_ENDPOINT,
    COL_OUTBOX_ID,
    COL_AGE_MS,
    COL_DUE_IN_MS,
    COL_VERSION,
    COL_ORDER_NO,
    COL_EVENT,
    COL_NOTIFY_ID,
    COL_NOTIFY_URL,
    COL_BODY,
};

/* scheduler_rows.c */
/* Every answer passes here: false = it is none; what cannot be met later ends the process. */
bool rows_answered(io_t *io, pr_rc_t rc, const pr_error_t *error);
pr_sched_added_t rows_add(io_t *io, const pr_rows_t *rows, int row, bool dated, bool adopted);
/* Its shard was somebody else's so short a time ago that workers may not have said what they hold of it. */
bool rows_just_adopted(const io_t *io, const endpoint_row_t *endpoint);
void rows_load_endpoints(io_t *io);
void rows_load_cancelled(io_t *io);
void rows_adopt(io_t *io);       /* the adoption was set up: read what it names */
void rows_adopt_less(io_t *io);  /* shards left it: what is read begins where the others say */
void rows_adopt_again(io_t *io); /* each beat: when Postgres could not for now */
void rows_poll(io_t *io);        /* new jobs, when it is time */
void rows_hint(io_t *io, const int64_t *last_seq);
void rows_page(io_t *io, const pr_sched_action_t *pages, int count);
void rows_expire(io_t *io, int64_t endpoint_id);
void rows_forget(io_t *io);
void rows_reconnect(io_t *io);
void rows_read_again(io_t *io, int class_no, int64_t seq); /* first tries of ours from there on */
const endpoint_row_t *rows_endpoint(const io_t *io, int64_t id);
void endpoint_row_destroy(endpoint_row_t **row);
void endpoints_pause(io_t *io, int64_t endpoint_id, int64_t ms); /* until a flush it is ours only */
void endpoints_flush_pauses(io_t *io);      /* before the batches whose outcomes ask for them */
void rows_claim_shard(io_t *io, int shard); /* its endpoints are the scheduler's now */

/* scheduler_batch.c */
void batch_add(io_t *io, const pr_sched_action_t *action);
void batch_date(io_t *io, const pr_sched_action_t *action);
void batch_flush(io_t *io, bool now);
void batch_flush_dates(io_t *io);
void batch_resend(io_t *io);
void batch_resend_due(io_t *io); /* each turn */
void batch_forget(io_t *io);
int64_t batch_deadline_ms(const io_t *io);
void batch_low(const io_t *io, int64_t low[PR_SCHED_CLASSES]);
/* The same of the shards that we know to be ours. */
void batch_known_low(const io_t *io, int64_t low[PR_SCHED_CLASSES]);

/* scheduler_bus.c */
PR_CHECK pr_rc_t bus_start(io_t *io, pr_error_t *error);
void bus_stop(io_t *io);
void bus_greet(io_t *io); /* SchedulerHello to all */
void bus_dispatch(io_t *io);
void bus_ack(io_t *io, const outcome_t *outcome, const token_t *token);
void bus_flush_acks(io_t *io);
void bus_timer(void *arg, int64_t now_ms);
bool bus_deaf(const io_t *io); /* nobody was heard for so long that silence proves nothing */
bool bus_all_heard(const io_t *io, int64_t since_ms);
void bus_demand(io_t *io);

/* scheduler_facts.c */
void bus_facts(io_t *io, const result_t *result); /* what a written result tells */
void bus_fact_dead(io_t *io, int64_t endpoint_id, int64_t outbox_id, uint32_t tries,
                   const char *reason, const payload_t *payload); /* payload may be NULL */
void bus_fact_breaker(io_t *io, const pr_sched_action_t *action);
void bus_fact_gone(io_t *io, int64_t endpoint_id);
void bus_alert(io_t *io, const char *kind, const char *subject, const char *severity,
               const char *message);

/* scheduler_io.c */
void io_actions(io_t *io);
extern const pr_actor_spec_t pr_scheduler_spec;

#endif
