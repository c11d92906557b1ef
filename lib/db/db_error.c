/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/log.h"
#include "db/db_private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The first two characters are the class (PostgreSQL manual, appendix A). What is not listed is a
 * bug of ours or of the installation: PR_FATAL. */
static const struct {
    const char *prefix;
    pr_rc_t rc;
} classes[] = {
    {"08", PR_AGAIN},    /* connection exception */
    {"25006", PR_AGAIN}, /* read-only: a primary that was demoted under us */
    {"40", PR_AGAIN},    /* serialization failure, deadlock */
    {"53", PR_AGAIN},    /* out of disk, memory, connections */
    {"55P03", PR_AGAIN}, /* lock_timeout */
    {"57", PR_AGAIN},    /* cancelled, shutting down, starting up */
    {"58", PR_AGAIN},    /* input/output error of the server */
    {"21", PR_BAD},      /* one row twice in an ON CONFLICT: the batch's data */
    {"22", PR_BAD},      /* data exception */
    {"23", PR_BAD},      /* constraint violation */
    {"54", PR_BAD},      /* too large for the server */
    {"PR", PR_BAD},      /* raised by our own functions */
};

pr_rc_t pr_sqlstate_rc(const char *sqlstate)
{
    if (sqlstate == NULL || sqlstate[0] == '\0')
        return PR_AGAIN;
    for (size_t i = 0; i < PR_COUNT(classes); i++) {
        if (strncmp(sqlstate, classes[i].prefix, strlen(classes[i].prefix)) == 0)
            return classes[i].rc;
    }
    return PR_FATAL;
}

static const char *field(const PGresult *result, int code)
{
    const char *text = PQresultErrorField(result, code);
    return text != NULL ? text : "";
}

pr_rc_t pr_result_error(const PGresult *result, bool verbose, pr_error_t *error)
{
    const char *sqlstate = field(result, PG_DIAG_SQLSTATE);
    const char *message = field(result, PG_DIAG_MESSAGE_PRIMARY);
    pr_rc_t rc = pr_sqlstate_rc(sqlstate);
    if (message[0] == '\0')
        message = sqlstate[0] != '\0' ? "failed" : "the connection was lost";
    if (!verbose)
        return pr_error_set(error, rc, "db", sqlstate, "%s", message);

    const char *detail = field(result, PG_DIAG_MESSAGE_DETAIL);
    const char *hint = field(result, PG_DIAG_MESSAGE_HINT);
    return pr_error_set(error, rc, "db", sqlstate, "%s%s%s%s%s", message,
                        detail[0] != '\0' ? "; " : "", detail, hint[0] != '\0' ? "; " : "", hint);
}

/* Where libpq's verbose text has a SQLSTATE: "FATAL:  28P01: password ...". It offers no other
 * way to learn the code of a refused connection. The last one counts: it is the last host's. */
static void find_sqlstate(const char *text, char out[6])
{
    out[0] = '\0';
    for (const char *at = strstr(text, ":  "); at != NULL; at = strstr(at + 3, ":  ")) {
        const char *code = at + 3;
        size_t n = 0;
        while (n < 5 && (isupper((unsigned char)code[n]) || isdigit((unsigned char)code[n])))
            n++;
        if (n == 5 && code[5] == ':') {
            memcpy(out, code, 5);
            out[5] = '\0';
        }
    }
}

pr_rc_t pr_conn_error(PGconn *conn, pr_error_t *error)
{
    const char *text = conn != NULL ? PQerrorMessage(conn) : "out of memory";
    char sqlstate[6];
    find_sqlstate(text, sqlstate);

    /* one line, without libpq's LOCATION lines */
    char line[PR_ERROR_TEXT_MAX];
    size_t len = 0;
    while (*text != '\0' && len + 1 < sizeof line) {
        if (strncmp(text, "LOCATION:", 9) == 0) {
            text += strcspn(text, "\n");
            continue;
        }
        bool space = *text == '\n' || *text == '\t' || *text == ' ';
        if (!space || (len > 0 && line[len - 1] != ' '))
            line[len++] = space ? ' ' : *text;
        text++;
    }
    while (len > 0 && line[len - 1] == ' ')
        len--;
    line[len] = '\0';
    return pr_error_set(error, pr_sqlstate_rc(sqlstate), "db", sqlstate, "%s",
                        len > 0 ? line : "the connection was lost");
}

/* Without this libpq prints notices on stderr, between our log lines. */
static void on_notice(void *arg, const PGresult *result)
{
    (void)arg;
    pr_log_debug("db.notice", "code=%s text=%s", field(result, PG_DIAG_SQLSTATE),
                 field(result, PG_DIAG_MESSAGE_PRIMARY));
}

void pr_db_quiet_notices(PGconn *conn)
{
    PQsetNoticeReceiver(conn, on_notice, NULL);
}
