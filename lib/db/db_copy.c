/* SPDX-License-Identifier: Apache-2.0
 *
 * COPY for the blocking side: rows by the thousand, one statement a batch.
 */
#include "base/alloc.h"
#include "db/db_private.h"

#include <stdlib.h>
#include <string.h>

/* PQputCopyData takes an int; a piece is far below that. */
#define PIECE_BYTES (1u << 20)

static pr_rc_t put(PGconn *conn, pr_bytes_t rows, pr_error_t *error)
{
    for (size_t at = 0; at < rows.len; at += PIECE_BYTES) {
        size_t len = rows.len - at < PIECE_BYTES ? rows.len - at : PIECE_BYTES;
        if (PQputCopyData(conn, (const char *)rows.data + at, (int)len) != 1)
            return pr_conn_error(conn, error);
    }
    return PQputCopyEnd(conn, NULL) == 1 ? PR_OK : pr_conn_error(conn, error);
}

/* What the server says at the end of a COPY; reads on until it says no more. */
static pr_rc_t settle(PGconn *conn, int64_t *count, pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    PGresult *result = NULL;
    while ((result = PQgetResult(conn)) != NULL) {
        if (PQresultStatus(result) == PGRES_COMMAND_OK)
            *count = strtoll(PQcmdTuples(result), NULL, 10);
        else if (rc == PR_OK)
            rc = pr_result_error(result, true, error);
        PQclear(result);
    }
    if (rc == PR_OK && PQstatus(conn) != CONNECTION_OK)
        rc = pr_conn_error(conn, error);
    return rc;
}

pr_rc_t pr_db_sync_copy(pr_db_sync_t *self, const char *table, const char *columns, pr_bytes_t rows,
                        int64_t *count, pr_error_t *error)
{
    *count = 0;
    PR_CLEANUP_FREE char *sql = pr_asprintf("COPY %s (%s) FROM STDIN", table, columns);
    PGconn *conn = pr_db_sync_conn(self);
    PGresult *result = PQexec(conn, sql);
    if (PQresultStatus(result) != PGRES_COPY_IN) {
        pr_rc_t failed =
            result != NULL ? pr_result_error(result, true, error) : pr_conn_error(conn, error);
        PQclear(result);
        return failed;
    }
    PQclear(result);
    pr_rc_t rc = put(conn, rows, error);
    return rc == PR_OK ? settle(conn, count, error) : rc;
}

pr_rc_t pr_db_copy_field(pr_buffer_t *out, const char *text, size_t len)
{
    if (text == NULL)
        return pr_buffer_append(out, "\\N", 2);
    pr_rc_t rc = PR_OK;
    size_t from = 0;
    for (size_t i = 0; rc == PR_OK && i < len; i++) {
        char c = text[i];
        const char *escaped = c == '\\'   ? "\\\\"
                              : c == '\t' ? "\\t"
                              : c == '\n' ? "\\n"
                              : c == '\r' ? "\\r"
                                          : NULL;
        if (escaped != NULL) {
            rc = pr_buffer_append(out, text + from, i - from);
            if (rc == PR_OK)
                rc = pr_buffer_append(out, escaped, 2);
            from = i + 1;
        }
    }
    return rc == PR_OK ? pr_buffer_append(out, text + from, len - from) : rc;
}
