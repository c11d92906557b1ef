/* SPDX-License-Identifier: Apache-2.0
 *
 * The blocking side: for people at a terminal, one statement at a time. Errors carry detail, hint
 * and line.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "db/db_private.h"

#include <stdlib.h>
#include <string.h>

struct pr_db_sync_t {
    PGconn *conn;
};

PGconn *pr_db_sync_conn(pr_db_sync_t *self)
{
    return self->conn;
}

static const char session_sql[] =
    "SELECT pg_catalog.set_config('search_path', '', false),"
    " pg_catalog.set_config('idle_in_transaction_session_timeout', '60s', false),"
    " pg_catalog.set_config('role', $1, false)";

/* The line of an error in `sql`, 0 when the server names no place. */
static int error_line(const PGresult *result, const char *sql)
{
    const char *position = PQresultErrorField(result, PG_DIAG_STATEMENT_POSITION);
    if (position == NULL)
        return 0;
    long at = strtol(position, NULL, 10);
    int line = 1;
    for (long i = 1; i < at && *sql != '\0'; sql++) {
        line += *sql == '\n';
        i += ((unsigned char)*sql & 0xC0) != 0x80; /* the server counts characters */
    }
    return line;
}

static pr_rc_t result_error(const PGresult *result, const char *sql, pr_error_t *error)
{
    pr_error_t inner;
    pr_rc_t rc = pr_result_error(result, true, &inner);
    int line = error_line(result, sql);
    if (line > 1)
        return pr_error_set(error, rc, "db", inner.code, "line %d: %s", line, inner.text);
    return pr_error_set(error, rc, "db", inner.code, "%s", inner.text);
}

/* takes result; gives it in *rows when wanted. */
static pr_rc_t take_result(pr_db_sync_t *self, PGresult *result, const char *sql, pr_rows_t **rows,
                           pr_error_t *error)
{
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        pr_rc_t rc =
            result != NULL ? result_error(result, sql, error) : pr_conn_error(self->conn, error);
        PQclear(result);
        return rc;
    }
    if (rows == NULL) {
        PQclear(result);
        return PR_OK;
    }
    *rows = PR_NEW(pr_rows_t);
    (*rows)->result = result;
    return PR_OK;
}

static pr_rc_t set_session(pr_db_sync_t *self, const char *role, pr_error_t *error)
{
    PGresult *result =
        PQexecParams(self->conn, session_sql, 1, NULL, (const char *const[]){role}, NULL, NULL, 1);
    return take_result(self, result, session_sql, NULL, error);
}

pr_rc_t pr_db_sync_connect(const char *url, const char *role, pr_db_sync_t **out, pr_error_t *error)
{
    *out = NULL;
    pr_conninfo_t info;
    pr_rc_t rc = pr_conninfo_init(&info, url, "postrider cli", 0, error);
    PR_CLEANUP(pr_db_sync) pr_db_sync_t *self = PR_NEW(pr_db_sync_t);
    if (rc == PR_OK) {
        self->conn = PQconnectdbParams(info.keys, info.values, 0);
        if (PQstatus(self->conn) != CONNECTION_OK)
            rc = pr_conn_error(self->conn, error);
    }
    pr_conninfo_free(&info);
    if (rc == PR_OK) {
        pr_db_quiet_notices(self->conn);
        rc = set_session(self, role, error);
    }
    if (rc == PR_OK)
        *out = PR_STEAL(self);
    return rc;
}

void pr_db_sync_destroy(pr_db_sync_t **self)
{
    if (*self == NULL)
        return;
    PQfinish((*self)->conn);
    pr_free(*self);
    *self = NULL;
}

pr_rc_t pr_db_sync_query(pr_db_sync_t *self, const char *sql, const pr_params_t *params,
                         pr_rows_t **rows, pr_error_t *error)
{
    if (rows != NULL)
        *rows = NULL;
    int count = params != NULL ? params->count : 0;
    pr_bound_t bound;
    pr_params_bind(params, &bound);
    PGresult *result = PQexecParams(self->conn, sql, count, bound.types, bound.values,
                                    bound.lengths, bound.formats, 1);
    return take_result(self, result, sql, rows, error);
}

static pr_rc_t run(pr_db_sync_t *self, const char *sql, pr_error_t *error)
{
    return take_result(self, PQexec(self->conn, sql), sql, NULL, error);
}

pr_rc_t pr_db_sync_script(pr_db_sync_t *self, const char *sql, pr_error_t *error)
{
    if (PQtransactionStatus(self->conn) == PQTRANS_INTRANS)
        return run(self, sql, error); /* joins the caller's transaction, which the caller ends */
    pr_rc_t rc = run(self, "BEGIN", error);
    if (rc == PR_OK)
        rc = run(self, sql, error);
    if (rc == PR_OK)
        rc = run(self, "COMMIT", error);
    if (rc != PR_OK)
        (void)run(self, "ROLLBACK", NULL);
    return rc;
}
