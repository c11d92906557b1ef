/* SPDX-License-Identifier: Apache-2.0
 *
 * The pipeline. Each query is followed by its own Sync, which is where the server commits: a result
 * that came before its Sync was answered may still turn into an error (a deferred constraint, a
 * crash while committing). So results are held until then.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "db/db_private.h"

#include <string.h>

/* A wrong type would reach the server as "incorrect binary data", which looks like bad input. */
static void check_types(const pr_statement_t *statement, const pr_described_t *described,
                        const pr_params_t *params)
{
    int count = params != NULL ? params->count : 0;
    bool fits = count == described->count;
    int i = 0;
    for (; fits && i < count; i++)
        fits = pr_params_fits(params->items[i].type, described->types[i]);
    if (!fits)
        pr_log(PR_LOG_ERROR, "db.wrong_parameters",
               "statement=%s given=%d wanted=%d first_wrong=%d given_oid=%u wanted_oid=%u",
               statement->name, count, described->count, i,
               i > 0 ? (unsigned)params->items[i - 1].type : 0u,
               i > 0 ? (unsigned)described->types[i - 1] : 0u);
    pr_assert(fits);
}

pr_rc_t pr_db_query(pr_db_t *self, int index, const pr_params_t *params, pr_db_result_fn *fn,
                    void *arg)
{
    pr_assert(index >= 0 && index < self->options.nstatements && fn != NULL);
    if (self->state != PR_DB_READY || self->npending >= PR_DB_PENDING_MAX || self->reset_wanted)
        return PR_AGAIN;

    const pr_statement_t *statement = &self->options.statements[index];
    check_types(statement, &self->described[index], params);
    pr_bound_t bound;
    pr_params_bind(params, &bound);
    if (PQsendQueryPrepared(self->conn, statement->name, params != NULL ? params->count : 0,
                            bound.values, bound.lengths, bound.formats, 1) != 1 ||
        PQpipelineSync(self->conn) != 1) {
        /* nothing of it can have been committed without its Sync; the next pr_db_io sees the rest
         * */
        self->reset_wanted = true;
        return PR_AGAIN;
    }

    pr_pending_t *pending = PR_NEW(pr_pending_t);
    *pending = (pr_pending_t){.index = index, .fn = fn, .arg = arg};
    if (self->head == NULL)
        self->deadline_ms = 0; /* the next pr_db_io starts its clock */
    *self->tail = pending;
    self->tail = &pending->next;
    self->npending++;
    return PR_OK;
}

static pr_pending_t *pop(pr_db_t *self)
{
    pr_pending_t *pending = self->head;
    self->head = pending->next;
    if (self->head == NULL)
        self->tail = &self->head;
    self->npending--;
    self->deadline_ms = self->head != NULL ? 0 : INT64_MAX;
    return pending;
}

static bool succeeded(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

static void call(pr_db_t *self, const pr_pending_t *pending, pr_rc_t rc, const pr_rows_t *rows,
                 const pr_error_t *error)
{
    bool outer = self->calling;
    self->calling = true;
    pending->fn(pending->arg, rc, rows, error);
    self->calling = outer;
}

/* The head's Sync was answered: it is committed, or rolled back by its error. */
static void finish_head(pr_db_t *self)
{
    pr_pending_t *pending = pop(self);
    pr_error_t error = {0};
    pr_rc_t rc = PR_OK;
    if (pending->held == NULL)
        rc = pr_error_set(&error, PR_FATAL, "db", "", "statement %s gave no result",
                          self->options.statements[pending->index].name);
    else if (!succeeded(pending->held))
        rc = pr_result_error(pending->held, false, &error);
    if (strcmp(error.code, "25006") == 0) /* no longer the primary: look for the one that is */
        self->reset_wanted = true;

    const pr_rows_t rows = {pending->held};
    call(self, pending, rc, rc == PR_OK ? &rows : NULL, &error);
    PQclear(pending->held);
    pr_free(pending);
}

/* takes result; an error always replaces what is held, a success never replaces an error. */
static void hold(pr_db_t *self, PGresult *result)
{
    pr_pending_t *head = self->head;
    if (head->held == NULL || (succeeded(head->held) && !succeeded(result))) {
        PQclear(head->held);
        head->held = result;
    } else {
        PQclear(result);
    }
}

static void start_clock(pr_db_t *self)
{
    if (self->head == NULL || self->deadline_ms != 0)
        return;
    int limit_ms = self->options.statement_timeout_ms > 0 ? self->options.statement_timeout_ms
                                                          : PR_DB_STATEMENT_MS;
    self->deadline_ms = self->now_ms + limit_ms + PR_DB_SILENCE_MS;
}

pr_rc_t pr_db_pump(pr_db_t *self, pr_error_t *error)
{
    if (PQconsumeInput(self->conn) == 0 || PQflush(self->conn) < 0)
        return pr_conn_error(self->conn, error);
    while (self->head != NULL && !self->reset_wanted && PQisBusy(self->conn) == 0) {
        PGresult *result = PQgetResult(self->conn);
        if (PQstatus(self->conn) == CONNECTION_BAD) {
            PQclear(result);
            return pr_conn_error(self->conn, error);
        }
        if (result == NULL) /* between a query's result and its Sync */
            continue;
        if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            PQclear(result);
            finish_head(self);
        } else {
            hold(self, result);
        }
    }
    if (self->reset_wanted)
        return pr_error_set(error, PR_AGAIN, "db", "", "reset was asked for");
    start_clock(self);
    if (self->head != NULL && self->now_ms >= self->deadline_ms)
        return pr_error_set(error, PR_AGAIN, "db", "",
                            "statement %s: no answer beyond statement_timeout",
                            self->options.statements[self->head->index].name);
    return PR_OK;
}

void pr_db_fail_pending(pr_db_t *self, const pr_error_t *why)
{
    pr_error_t error = *why;
    error.code[0] = '\0'; /* says: whether it was committed is unknown */
    pr_pending_t *pending = self->head;
    self->head = NULL;
    self->tail = &self->head;
    self->npending = 0;
    while (pending != NULL) {
        pr_pending_t *next = pending->next;
        call(self, pending, PR_AGAIN, NULL, &error);
        PQclear(pending->held);
        pr_free(pending);
        pending = next;
    }
}
