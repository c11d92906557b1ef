/* SPDX-License-Identifier: Apache-2.0
 *
 * From nothing to ready. First libpq's own connecting, then everything else in one pipeline, one
 * round trip:
 *
 *   step 0                session settings, role included
 *   step 1                schema version (only when options.schema_version is given)
 *   then per statement    prepare, describe
 *   Sync
 *
 * The first failure aborts the rest of the pipeline, so the first error that we read is the reason.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "db/db_private.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

/* The one SQL text that lives in C: it is the connection's, not an actor's. NULL resets to the
 * default. jit: the planner's price of a forbidden sequential scan (1e10) would start the
 * compiler. */
static const char session_sql[] =
    "SELECT pg_catalog.set_config('search_path', '', false),"
    " pg_catalog.set_config('statement_timeout', $1, false),"
    " pg_catalog.set_config('lock_timeout', '10s', false),"
    " pg_catalog.set_config('idle_in_transaction_session_timeout', '10s', false),"
    " pg_catalog.set_config('jit', 'off', false),"
    " pg_catalog.set_config('enable_seqscan', $2, false),"
    " pg_catalog.set_config('enable_bitmapscan', $2, false),"
    " pg_catalog.set_config('enable_hashjoin', $2, false),"
    " pg_catalog.set_config('enable_mergejoin', $2, false),"
    " pg_catalog.set_config('plan_cache_mode',"
    "     CASE WHEN $2 = 'off' THEN 'force_generic_plan' END, false),"
    " pg_catalog.set_config('role', $3, false)";
static const char version_sql[] =
    "SELECT pg_catalog.count(*)::integer FROM postrider.schema_version";

static int statement_timeout_ms(const pr_db_t *self)
{
    int given = self->options.statement_timeout_ms;
    return given > 0 ? given : PR_DB_STATEMENT_MS;
}

pr_rc_t pr_db_connect_start(pr_db_t *self, pr_error_t *error)
{
    pr_conninfo_t info;
    pr_rc_t rc = pr_conninfo_init(&info, self->options.url, self->options.application_name,
                                  self->tries, error);
    if (rc == PR_OK) {
        self->conn = PQconnectStartParams(info.keys, info.values, 0);
        if (self->conn == NULL || PQstatus(self->conn) == CONNECTION_BAD)
            rc = pr_conn_error(self->conn, error);
    }
    pr_conninfo_free(&info);
    if (rc != PR_OK)
        return rc;
    PQsetErrorVerbosity(self->conn, PQERRORS_VERBOSE); /* or a refusal has no SQLSTATE */
    pr_db_quiet_notices(self->conn);
    self->events = POLLOUT;
    return PR_OK;
}

/* PQconnectPoll must not be called before the socket is ready. */
static bool socket_is_ready(const pr_db_t *self)
{
    struct pollfd item = {.fd = PQsocket(self->conn), .events = self->events};
    return poll(&item, 1, 0) == 1;
}

pr_rc_t pr_db_connect_poll(pr_db_t *self, bool *connected, pr_error_t *error)
{
    *connected = false;
    if (!socket_is_ready(self))
        return PR_OK;
    switch (PQconnectPoll(self->conn)) {
    case PGRES_POLLING_READING:
        self->events = POLLIN;
        return PR_OK;
    case PGRES_POLLING_WRITING:
        self->events = POLLOUT;
        return PR_OK;
    case PGRES_POLLING_OK:
        *connected = true;
        return PR_OK;
    default:
        return pr_conn_error(self->conn, error);
    }
}

/* ---- the preparing pipeline ---- */

static int first_statement_step(const pr_db_t *self)
{
    return self->options.schema_version > 0 ? 2 : 1;
}

static bool send_session(pr_db_t *self)
{
    char timeout[16];
    snprintf(timeout, sizeof timeout, "%d", statement_timeout_ms(self));
    const char *values[3] = {timeout, self->options.index_plans ? "off" : NULL, self->options.role};
    return PQsendQueryParams(self->conn, session_sql, 3, NULL, values, NULL, NULL, 1) == 1;
}

static bool send_version(pr_db_t *self)
{
    return self->options.schema_version == 0 ||
           PQsendQueryParams(self->conn, version_sql, 0, NULL, NULL, NULL, NULL, 1) == 1;
}

static bool send_statements(pr_db_t *self)
{
    for (int i = 0; i < self->options.nstatements; i++) {
        const pr_statement_t *statement = &self->options.statements[i];
        if (PQsendPrepare(self->conn, statement->name, statement->sql, 0, NULL) != 1 ||
            PQsendDescribePrepared(self->conn, statement->name) != 1)
            return false;
    }
    return true;
}

pr_rc_t pr_db_prepare_send(pr_db_t *self, pr_error_t *error)
{
    self->step = 0;
    self->events = POLLIN;
    if (PQsetnonblocking(self->conn, 1) == 0 && PQenterPipelineMode(self->conn) == 1 &&
        send_session(self) && send_version(self) && send_statements(self) &&
        PQpipelineSync(self->conn) == 1)
        return PR_OK;
    return pr_conn_error(self->conn, error);
}

/* What the present step is about, for the message. */
static void name_step(const pr_db_t *self, char *out, size_t size)
{
    int first = first_statement_step(self);
    if (self->step == 0)
        snprintf(out, size, "session settings (role %s)",
                 self->options.role != NULL ? self->options.role : "unchanged");
    else if (self->step < first)
        snprintf(out, size, "schema version");
    else
        snprintf(out, size, "statement %s",
                 self->options.statements[(self->step - first) / 2].name);
}

static pr_rc_t step_failed(const pr_db_t *self, const PGresult *result, pr_error_t *error)
{
    pr_error_t inner;
    pr_rc_t rc = pr_result_error(result, false, &inner);
    if (rc == PR_AGAIN) {
        if (error != NULL)
            *error = inner;
        return rc;
    }
    char what[128];
    name_step(self, what, sizeof what);
    return pr_error_set(error, PR_FATAL, "db", inner.code,
                        "%s: %s; run `postrider migrate` of this build (%s)", what, inner.text,
                        PR_VERSION);
}

static pr_rc_t check_version(const pr_db_t *self, PGresult *result, pr_error_t *error)
{
    const pr_rows_t rows = {result};
    int found = pr_rows_i32(&rows, 0, 0);
    int wanted = self->options.schema_version;
    if (found == wanted)
        return PR_OK;
    return pr_error_set(
        error, PR_FATAL, "db", "", "the schema has had %d migrations, this build (%s) has %d: %s",
        found, PR_VERSION, wanted,
        found < wanted ? "run `postrider migrate`" : "install the build that fits the database");
}

static pr_rc_t check_description(pr_db_t *self, int index, const PGresult *result,
                                 pr_error_t *error)
{
    const pr_statement_t *statement = &self->options.statements[index];
    pr_described_t *described = &self->described[index];
    int count = PQnparams(result);
    if (count != statement->nparams || count > PR_PARAMS_MAX)
        return pr_error_set(error, PR_FATAL, "db", "",
                            "statement %s: the server sees %d parameters, its file states %d",
                            statement->name, count, statement->nparams);
    described->count = count;
    for (int i = 0; i < count; i++)
        described->types[i] = PQparamtype(result, i);
    return PR_OK;
}

static pr_rc_t check_step(pr_db_t *self, PGresult *result, pr_error_t *error)
{
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        return step_failed(self, result, error);
    int at = self->step - first_statement_step(self);
    if (at >= 0)
        return at % 2 == 1 ? check_description(self, at / 2, result, error) : PR_OK;
    return self->step == 1 ? check_version(self, result, error) : PR_OK;
}

pr_rc_t pr_db_prepare_read(pr_db_t *self, bool *ready, pr_error_t *error)
{
    *ready = false;
    if (PQconsumeInput(self->conn) == 0)
        return pr_conn_error(self->conn, error);
    int unsent = PQflush(self->conn);
    if (unsent < 0)
        return pr_conn_error(self->conn, error);
    self->events = (short)(unsent > 0 ? POLLIN | POLLOUT : POLLIN);

    while (PQisBusy(self->conn) == 0) {
        PGresult *result = PQgetResult(self->conn);
        if (PQstatus(self->conn) == CONNECTION_BAD) {
            PQclear(result);
            return pr_conn_error(self->conn, error);
        }
        if (result == NULL) { /* the end of one step's results */
            self->step++;
            continue;
        }
        *ready = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        pr_rc_t rc = *ready ? PR_OK : check_step(self, result, error);
        PQclear(result);
        if (rc != PR_OK || *ready)
            return rc;
    }
    return PR_OK;
}
