/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of lib/db share. Nobody else includes this.
 *
 *   db.c          the connection object: states, deadlines, backoff, reset
 *   db_connect.c  from nothing to ready: connection string, session settings, prepared statements
 *   db_query.c    the pipeline: queries out, results in, in order
 *   db_params.c   parameters in binary           db_rows.c   results in binary
 *   db_error.c    SQLSTATE -> pr_rc_t            db_sync.c   the blocking side, for the command line
 *   db_copy.c     its COPY
 */
#ifndef PR_DB_PRIVATE_H
#define PR_DB_PRIVATE_H

#include "db/db.h"

#include <libpq-fe.h>

/* Types by number, as src/include/catalog/pg_type.dat has them; they never change. */
#define PR_OID_BOOL 16
#define PR_OID_BYTEA 17
#define PR_OID_NAME 19
#define PR_OID_I64 20
#define PR_OID_I16 21
#define PR_OID_I32 23
#define PR_OID_TEXT 25
#define PR_OID_JSON 114
#define PR_OID_F64 701
#define PR_OID_UNKNOWN 705
#define PR_OID_BYTEA_ARRAY 1001
#define PR_OID_I16_ARRAY 1005
#define PR_OID_I32_ARRAY 1007
#define PR_OID_TEXT_ARRAY 1009
#define PR_OID_I64_ARRAY 1016
#define PR_OID_BPCHAR 1042
#define PR_OID_VARCHAR 1043
#define PR_OID_TIMESTAMPTZ 1184
#define PR_OID_UUID 2950
#define PR_OID_UUID_ARRAY 2951
#define PR_OID_XID8 5069

#define PR_PARAMS_MAX 64
#define PR_PARAMS_BYTES_MAX \
    (64u << 20) /* one statement's parameters; callers bound their batches */

#define PR_DB_BACKOFF_MIN_MS 100
#define PR_DB_BACKOFF_MAX_MS 1000 /* a database that is back is found within a second */
#define PR_DB_CONNECT_MS 5000     /* from the first packet to "connection ok" */
#define PR_DB_PREPARE_MS 15000    /* session settings and all statements */
#define PR_DB_SILENCE_MS 5000 /* beyond statement_timeout: the server process is stopped or gone */
#define PR_DB_STATEMENT_MS 30000
#define PR_DB_PENDING_MAX 1024
#define PR_CONNINFO_MAX 80 /* libpq 15 knows 41 keywords */

typedef struct {
    Oid type; /* 0: NULL of any type */
    int len;  /* -1: NULL */
    size_t at;
} pr_param_t;

struct pr_params_t {
    pr_buffer_t bytes;
    int count;
    pr_param_t items[PR_PARAMS_MAX];
};

/* libpq's shape of a parameter set; pointers into *params, which must not change meanwhile. */
typedef struct {
    Oid types[PR_PARAMS_MAX];
    const char *values[PR_PARAMS_MAX];
    int lengths[PR_PARAMS_MAX];
    int formats[PR_PARAMS_MAX];
} pr_bound_t;
void pr_params_bind(const pr_params_t *params, pr_bound_t *out);
/* True when a parameter made as `given` may be bound to a server parameter of type `wanted`. */
bool pr_params_fits(Oid given, Oid wanted);

struct pr_rows_t {
    PGresult *result;
};

typedef enum {
    PR_DB_WAITING = 1, /* no connection; deadline_ms = next try */
    PR_DB_CONNECTING,  /* libpq talks; deadline_ms = given up */
    PR_DB_PREPARING,   /* in pipeline mode; deadline_ms = given up */
    PR_DB_READY,       /* deadline_ms = when the oldest query is too old; INT64_MAX = none */
    PR_DB_FAILED,      /* pr_db_io gave PR_FATAL; stays so */
} pr_db_state_t;

/* One query under way. Its result is held until its Sync is answered: only then it is committed. */
typedef struct pr_pending_t pr_pending_t;
struct pr_pending_t {
    int index;
    pr_db_result_fn *fn;
    void *arg;
    PGresult *held; /* the query's own result; NULL until it came */
    pr_pending_t *next;
};

typedef struct {
    int count; /* -1: not described yet */
    Oid types[PR_PARAMS_MAX];
} pr_described_t;

struct pr_db_t {
    pr_db_options_t options;
    pr_db_state_t state;
    PGconn *conn;              /* NULL in WAITING and FAILED */
    int64_t deadline_ms;       /* see the states */
    int64_t now_ms;            /* of the latest pr_db_io */
    int tries;                 /* failed since the last READY; chooses backoff and first host */
    short events;              /* what CONNECTING and PREPARING wait for */
    int step;                  /* PREPARING: results seen, see db_connect.c */
    pr_described_t *described; /* one per statement */
    pr_pending_t *head, **tail;
    int npending;
    bool calling; /* inside a callback: a reset waits for its end */
    bool reset_wanted;
    pr_error_t failure; /* FAILED: why */
};

/* db_connect.c. PR_AGAIN: this try failed, *error says why. */
pr_rc_t pr_db_connect_start(pr_db_t *self, pr_error_t *error);
pr_rc_t pr_db_connect_poll(pr_db_t *self, bool *connected, pr_error_t *error);
pr_rc_t pr_db_prepare_send(pr_db_t *self, pr_error_t *error);
pr_rc_t pr_db_prepare_read(pr_db_t *self, bool *ready, pr_error_t *error);
/* A connection's parameters for several hosts, the first `turn` of them moved to the end. */
typedef struct {
    const char *keys[PR_CONNINFO_MAX]; /* NULL-ended, as PQconnectStartParams wants them */
    const char *values[PR_CONNINFO_MAX];
    int count;
    char *owned[3]; /* rotated host, hostaddr, port */
    PQconninfoOption *parsed;
} pr_conninfo_t;
pr_rc_t pr_conninfo_init(pr_conninfo_t *self, const char *url, const char *application_name,
                         int turn, pr_error_t *error);
void pr_conninfo_free(pr_conninfo_t *self);

/* db_query.c */
pr_rc_t pr_db_pump(pr_db_t *self, pr_error_t *error); /* PR_AGAIN: the connection is lost */
void pr_db_fail_pending(pr_db_t *self, const pr_error_t *why);

/* db_sync.c */
PGconn *pr_db_sync_conn(pr_db_sync_t *self);

/* db_error.c */
pr_rc_t pr_sqlstate_rc(const char *sqlstate); /* NULL or "": PR_AGAIN */
/* Fills *error from a failed result and gives its class. `verbose` adds detail, hint and place: for
 * people at a terminal, since details may quote data. */
pr_rc_t pr_result_error(const PGresult *result, bool verbose, pr_error_t *error);
/* The same from a connection that failed (its verbosity is PQERRORS_VERBOSE, see connect_start). */
pr_rc_t pr_conn_error(PGconn *conn, pr_error_t *error);
void pr_db_quiet_notices(PGconn *conn);

#endif
