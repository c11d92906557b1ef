/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of the model, for sim_pg*.c and sim_check.c. One flat struct, so that a crash can take back the last commits byte by
 * byte (sim_pg.c, journal).
 */
#ifndef PR_SIM_PG_H
#define PR_SIM_PG_H

#include "sim.h"

#define OUTBOX_MAX 200
#define JOBS_MAX 700
#define ATTEMPTS_MAX 3000
#define DEAD_MAX 200
#define CANCELLED_MAX 300
#define SESSIONS_MAX 300
#define XIDS_MAX 20000
#define XIP_MAX 16
#define SHARDS 256
#define CLASS_SHIFT_SIM 56
#define NO_DUE INT64_MIN

typedef struct {
    int64_t xmin, xmax;
    int count;
    int64_t xip[XIP_MAX];
} snapshot_t;

enum { XID_RUNNING = 0, XID_COMMITTED, XID_ABORTED };

typedef struct {
    int64_t id, tx, at_us, version, ref_id, ref_endpoint;
    int class_no, kind, merchant, order;
    uint8_t notify_id[16];
    bool cancel;
} outbox_row_t;

typedef struct {
    bool used;
    int64_t seq, outbox_id, endpoint;
    int class_no;
    uint64_t salt;
    int attempt, tried_before;
    int64_t born_us, due_us; /* by the server's clock; born: enqueued, or driven again */
    int64_t moved_us;        /* in the world's time */
} job_row_t;

typedef struct {
    int64_t outbox_id, endpoint;
    uint64_t salt;
    int attempt; /* 1-based over all lives */
    int outcome;
} attempt_row_t;

typedef enum { DEAD_OPEN = 1, DEAD_REDRIVEN } dead_state_t;

typedef struct {
    int64_t outbox_id, endpoint, at_us;
    dead_state_t state;
    int tries;
    bool expired;
} dead_row_t;

typedef struct {
    int64_t outbox_id, endpoint, tx;
} cancelled_row_t;

typedef struct {
    int64_t id, tx, failing_since_us; /* 0: not failing */
    int64_t paused_until_us;          /* 0: never */
    int merchant, shard;
    bool active;
    int64_t off_us; /* when it was switched off, in the world's time */
    char reason[16];
} endpoint_tuple_t;

typedef struct {
    int64_t n, seq, dt, di;
    snapshot_t lo, hi;
    bool more;
} tick_row_t;

typedef struct {
    uint8_t id[16];
    int pid;
    bool ended;
    char address[128];
    int64_t beat, low[SIM_CLASSES];
} session_row_t;

typedef struct {
    int session; /* index + 1; 0 none */
    int64_t low[SIM_CLASSES], beat;
} shard_row_t;

typedef struct {
    int64_t next_xid, next_outbox_id;
    uint8_t xids[XIDS_MAX];
    int outbox_count, jobs_count, attempts_count, dead_count, cancelled_count, sessions_count,
        endpoints_count;
    outbox_row_t outbox[OUTBOX_MAX];
    job_row_t jobs[JOBS_MAX];
    attempt_row_t attempts[ATTEMPTS_MAX];
    dead_row_t dead[DEAD_MAX];
    cancelled_row_t cancelled[CANCELLED_MAX];
    endpoint_tuple_t endpoints[SIM_ENDPOINTS_MAX];
    tick_row_t ticks[SIM_CLASSES];
    session_row_t sessions[SESSIONS_MAX];
    shard_row_t shards[SHARDS];
    int timeline;             /* as follow_timeline() left it */
    int64_t redrive_since_us; /* an order to drive what died before; 0: none */
} tables_t;

extern tables_t pg;
extern bool pg_dirty; /* deliveries were touched since the last look */

/* sim_pg.c: transactions. */
void pg_touch(void *at, size_t len); /* before it is written */
#define PG_TOUCH(place) pg_touch(&(place), sizeof(place))
int64_t pg_xid(void); /* of a statement that writes: committed at once */
void pg_commit(bool async);
int64_t pg_now_us(void); /* the server's clock */
snapshot_t pg_snapshot(void);
bool pg_in_snapshot(int64_t tx, const snapshot_t *snapshot);
bool pg_committed(int64_t tx);
int pg_real_timeline(void);
bool pg_locked(int session, int pid); /* that backend holds its advisory lock */
void pg_lock(int session, int pid);   /* 0: nobody */
int pg_lock_pid(int session);

/* Rows. */
outbox_row_t *pg_outbox(int64_t id);
endpoint_tuple_t *pg_endpoint(int64_t id);
dead_row_t *pg_dead(int64_t outbox_id, int64_t endpoint);
bool pg_is_cancelled(int64_t outbox_id, int64_t endpoint);
bool pg_moved(const outbox_row_t *row);
int pg_session(const uint8_t id[16]); /* index, living or ended; -1 */
void pg_job_delete(job_row_t *job);
void pg_dead_add(int64_t outbox_id, int64_t endpoint, int tries, bool expired);
void pg_cancelled_add(int64_t outbox_id, int64_t endpoint);
int64_t pg_outbox_add(const outbox_row_t *row);
bool pg_end_session(int session, int caller_pid);
int64_t pg_first_tries_from(const shard_row_t *shard, int class_no);
bool pg_follow(int pid); /* postrider.follow_timeline() */
int pg_redrive(int64_t before_us);

/* Faults planted in the model itself (tests/sim/mutants): numbers for --mutant. */
enum {
    MUTANT_NONE = 0,
    MUTANT_NO_FENCE,
    MUTANT_NO_TOKEN,
    MUTANT_ID_CURSOR,
    MUTANT_DEAD_APART,
    MUTANT_LOST_ADOPTION,
    MUTANT_TICK_APART,
    MUTANT_SHARD_STAYS,
    MUTANT_ATTEMPT_ALWAYS,
    MUTANT_SHARD_TWICE,
    MUTANT_LATE_ATTEMPT_KEEPS,
    MUTANT_UNCOMMITTED_MOVED,
    MUTANT_RESUME_BEHIND,
    MUTANT_LOW_TOO_EARLY,
};

#endif
