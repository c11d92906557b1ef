/* SPDX-License-Identifier: Apache-2.0
 *
 * Postgres for an actor: one non-blocking connection in pipeline mode with prepared statements.
 * The only library that includes libpq-fe.h.
 *
 * Model. A pr_db_t connects by itself, prepares every statement of its table, and stays
 * connected: when the connection breaks it fails all queries under way with PR_AGAIN (their
 * outcome is UNKNOWN: they may have been committed), waits with backoff (100 ms doubling to 1 s,
 * each up to a quarter less, so that many actors do not come at once)
 * and connects anew. Each pr_db_query is its own implicit transaction (one Sync each), answered
 * in order; many may be under way (pipeline). Queries given while not ready are refused with
 * PR_AGAIN.
 *
 * Statements come from sql/queries/<actor>/<name>.sql, embedded at build time as
 * pr_sql_<actor>_<name> (generated header "sql/<actor>.h", a table pr_sql_<actor>[] of
 * pr_statement_t). A statement that does not prepare (column gone, wrong type) is PR_FATAL: the
 * actor refuses to start and says which and why. At connect: application_name, role, search_path
 * = '', statement_timeout, lock_timeout, idle_in_transaction_session_timeout,
 * enable_seqscan/bitmapscan/hashjoin/mergejoin off when asked, TCP keepalives and tcp_user_timeout 15 s,
 * connect_timeout 5 s, target_session_attrs=read-write. One thread.
 */
#ifndef PR_DB_DB_H
#define PR_DB_DB_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pr_db_t pr_db_t;

typedef struct {
    const char *name; /* prepared under this name, "scheduler.load_new" in logs */
    const char *sql;  /* one statement, $1.. parameters */
    int nparams;      /* as the file's header states it; checked against the server's description */
} pr_statement_t;

typedef struct {
    const char *url;              /* libpq URI or conninfo; several hosts allowed */
    const char *application_name; /* "postrider scheduler" */
    const char *role;             /* SET ROLE at connect; NULL = stay */
    /* hot actors: enable_seqscan, _hashjoin and _mergejoin off; and _bitmapscan, so that rows are read,
     * and locked, in the order of their index */
    bool index_plans;
    int statement_timeout_ms; /* 0 = 30 000 */
    const pr_statement_t *statements;
    int nstatements;
    /* pr_migrations_count of "sql/migrations.h"; another in the database is PR_FATAL; 0 = any. */
    int schema_version;
    /* Called when the connection became ready (each time), and when it was lost. May be NULL.
     * Queries may be given in on_ready. */
    void (*on_ready)(void *arg);
    void (*on_lost)(void *arg);
    void *arg;
} pr_db_options_t;

pr_db_t *pr_db_new(
    const pr_db_options_t
        *options); /* borrows strings and statements for its life; starts to connect */
void pr_db_destroy(pr_db_t **self); /* callbacks of queries under way are called with PR_AGAIN */

/* ---- in the loop ---- */
int pr_db_fd(const pr_db_t *self); /* -1 while between tries; may change after each pr_db_io */
short pr_db_events(const pr_db_t *self); /* POLLIN, maybe POLLOUT */
int64_t pr_db_deadline_ms(
    const pr_db_t *self); /* next time pr_db_io wants to run by itself; INT64_MAX = none */
/* Moves everything on: connecting, flushing, results -> callbacks. PR_OK, or PR_FATAL with *error
 * (a statement does not prepare, authentication refused, database does not exist, schema version
 * is another than the build's). Never blocks. */
PR_CHECK pr_rc_t pr_db_io(pr_db_t *self, int64_t now_ms, pr_error_t *error);
bool pr_db_ready(const pr_db_t *self);
int pr_db_backend_pid(const pr_db_t *self);
int pr_db_pending(const pr_db_t *self); /* queries under way */
void pr_db_reset(pr_db_t *self);        /* drop the connection now and connect anew */

/* ---- parameters: built in a reusable set, bound in binary ---- */
typedef struct pr_params_t pr_params_t;
pr_params_t *pr_params_new(void);
void pr_params_destroy(pr_params_t **self);
void pr_params_clear(pr_params_t *self);
void pr_params_add_null(pr_params_t *self);
void pr_params_add_i16(pr_params_t *self, int16_t value);
void pr_params_add_i32(pr_params_t *self, int32_t value);
void pr_params_add_i64(pr_params_t *self, int64_t value);
void pr_params_add_f64(pr_params_t *self, double value);
void pr_params_add_bool(pr_params_t *self, bool value);
void pr_params_add_text(pr_params_t *self, const char *value); /* NULL = SQL NULL */
void pr_params_add_bytes(pr_params_t *self, pr_bytes_t value);
void pr_params_add_uuid(pr_params_t *self, const uint8_t uuid[16]);
/* Arrays, one dimension. nulls may be NULL (none); nulls[i] true = element i is NULL. */
void pr_params_add_i16_array(pr_params_t *self, const int16_t *values, int count);
void pr_params_add_i32_array(pr_params_t *self, const int32_t *values, int count);
void pr_params_add_i64_array(pr_params_t *self, const int64_t *values, const bool *nulls,
                             int count);
void pr_params_add_text_array(pr_params_t *self, const char *const *values,
                              int count); /* NULL element = NULL */
void pr_params_add_bytes_array(pr_params_t *self, const pr_bytes_t *values, const bool *nulls,
                               int count);
void pr_params_add_uuid_array(pr_params_t *self, const uint8_t (*values)[16], int count);

/* ---- results: binary format, borrowed inside the callback ---- */
typedef struct pr_rows_t pr_rows_t;
int pr_rows_count(const pr_rows_t *rows);
int pr_rows_affected(const pr_rows_t *rows);
bool pr_rows_null(const pr_rows_t *rows, int row, int column);
/* Each asserts on a wrong column type width (a bug); NULL gives 0 / "" / empty. */
int16_t pr_rows_i16(const pr_rows_t *rows, int row, int column);
int32_t pr_rows_i32(const pr_rows_t *rows, int row, int column);
int64_t pr_rows_i64(const pr_rows_t *rows, int row, int column);
double pr_rows_f64(const pr_rows_t *rows, int row, int column);
bool pr_rows_bool(const pr_rows_t *rows, int row, int column);
const char *pr_rows_text(const pr_rows_t *rows, int row, int column);
pr_bytes_t pr_rows_bytes(const pr_rows_t *rows, int row, int column);
/* timestamptz -> microseconds since 1970. */
int64_t pr_rows_time_us(const pr_rows_t *rows, int row, int column);
bool pr_rows_uuid(const pr_rows_t *rows, int row, int column, uint8_t out[16]);
/* bigint[] without NULL elements into out (room for max, asserted); gives the count. */
int pr_rows_i64_array(const pr_rows_t *rows, int row, int column, int64_t *out, int max);

/* rc: PR_OK (rows valid); PR_AGAIN (connection lost, or 40001/40P01/53xxx/55P03/57xxx: try again;
 * if error.code is empty the outcome is unknown); PR_BAD (class 22, 23, or raised by us: PRxxx);
 * PR_FATAL (class 42 and other bugs). error->code has the SQLSTATE. */
typedef void pr_db_result_fn(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error);

/* Queues one execution of statements[index] (index in the options' table). Parameters are copied.
 * */
PR_CHECK pr_rc_t pr_db_query(pr_db_t *self, int index, const pr_params_t *params,
                             pr_db_result_fn *fn, void *arg);

/* Whether libpq can read it: a URI or a list of keyword=value. Nobody is asked. */
bool pr_db_url_ok(const char *url);

/* ---- blocking, for the command line only (cli/, migrate): text SQL is allowed here for
 * migration files ---- */
typedef struct pr_db_sync_t pr_db_sync_t;
PR_CHECK pr_rc_t pr_db_sync_connect(const char *url, const char *role, pr_db_sync_t **out,
                                    pr_error_t *error);
void pr_db_sync_destroy(pr_db_sync_t **self);
/* Runs one parameterised statement; results in binary; *rows (may be NULL) is to be freed with
 * pr_rows_destroy. */
PR_CHECK pr_rc_t pr_db_sync_query(pr_db_sync_t *self, const char *sql, const pr_params_t *params,
                                  pr_rows_t **rows, pr_error_t *error);
/* Runs a script of several statements in one transaction: its own, or the one that the caller
 * began with pr_db_sync_query("BEGIN") and will end. */
PR_CHECK pr_rc_t pr_db_sync_script(pr_db_sync_t *self, const char *sql, pr_error_t *error);
void pr_rows_destroy(pr_rows_t **self);
/* One COPY table (columns) FROM STDIN of all these rows in Postgres' text format; table and columns
 * are the program's own words. Gives the number of rows that came. Call it again for the next
 * batch, in one transaction: so the memory stays that of a batch. */
PR_CHECK pr_rc_t pr_db_sync_copy(pr_db_sync_t *self, const char *table, const char *columns,
                                 pr_bytes_t rows, int64_t *count, pr_error_t *error);
/* Appends one field of such a row, escaped; NULL is written as such. Fields are parted by a tab,
 * rows end with a newline: the caller's. */
PR_CHECK pr_rc_t pr_db_copy_field(pr_buffer_t *out, const char *text, size_t len);

#endif
