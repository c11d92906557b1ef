/* SPDX-License-Identifier: Apache-2.0
 *
 * A payment and its notification, committed together.
 *
 *   pay MERCHANT ORDER AMOUNT_MINOR CURRENCY [--roll-back] [--wait SECONDS]
 *
 * The heart is settle(): one transaction writes the application's row and calls
 * postrider.enqueue_notification. Either both are there or neither is; no request leaves before the
 * commit, and none is forgotten after it. Nothing here waits for the merchant.
 *
 * DATABASE_URL names the database. Exit codes: 0 done, 1 failed, 2 usage.
 */
#include <libpq-fe.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES 5

typedef struct {
    const char *merchant, *order, *amount, *currency;
    bool roll_back;
    long wait_s;
} payment_t;

typedef enum {
    SETTLED,
    TRY_AGAIN, /* another transaction was in the way, or the connection broke: do all of it again */
    FAILED,
} settled_t;

static settled_t explain(PGconn *db, PGresult *result, const char *step)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
    fprintf(stderr, "%s: %s", step, PQerrorMessage(db));
    if (hint) {
        fprintf(stderr, "  what to do: %s\n",
                hint); /* Postrider's errors (PR001 ...) all have one */
    }
    bool broken = PQstatus(db) != CONNECTION_OK;
    bool in_the_way = state && strncmp(state, "40", 2) == 0; /* serialization failure, deadlock */
    PQclear(result);
    return broken || in_the_way ? TRY_AGAIN : FAILED;
}

static PGresult *run(PGconn *db, const char *sql, int count, const char *const *values)
{
    return PQexecParams(db, sql, count, NULL, values, NULL, NULL, 0);
}

static bool is_done(PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static const char insert_payment[] =
    "INSERT INTO shop.payment (merchant_id, order_no, amount_minor, currency, status)"
    " VALUES ($1, $2, $3, $4, 'succeeded') ON CONFLICT (order_no) DO NOTHING";

/* The key makes a repetition harmless: the same arguments give the same notification, other
 * arguments are refused (PR002). So a commit whose answer was lost is simply done again. */
static const char enqueue[] =
    "SELECT postrider.enqueue_notification(merchant_id => $1, order_no => $2,"
    " event => 'payment.succeeded', payload => '{\"source\": \"examples/c-application\"}',"
    " amount_minor => $3, currency => $4, idempotency_key => 'paid:' || $2)";

/* One transaction. On success notify_id has the id, a UUID. */
static settled_t settle(PGconn *db, const payment_t *payment, char notify_id[37])
{
    const char *const values[] = {payment->merchant, payment->order, payment->amount,
                                  payment->currency};
    static const struct {
        const char *name, *sql;
        int values;
    } steps[] = {
        {"begin", "BEGIN", 0}, {"payment", insert_payment, 4}, {"notification", enqueue, 4}};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        PGresult *result = run(db, steps[i].sql, steps[i].values, values);
        if (!is_done(result)) {
            settled_t next = explain(db, result, steps[i].name);
            PQclear(PQexec(db, "ROLLBACK"));
            return next;
        }
        if (PQntuples(result) == 1) {
            snprintf(notify_id, 37, "%s", PQgetvalue(result, 0, 0));
        }
        PQclear(result);
    }
    PGresult *result = PQexec(db, payment->roll_back ? "ROLLBACK" : "COMMIT");
    if (!is_done(result)) {
        return explain(db, result, "commit");
    }
    PQclear(result);
    return SETTLED;
}

/* Where the notification stands, as the application may see it at any time. */
static bool wait_for_delivery(PGconn *db, const char *notify_id, long seconds)
{
    static const char look[] =
        "SELECT status, attempts, coalesce(last_http_code::text, '-') FROM postrider.notification_status"
        " WHERE notify_id = $1::uuid";
    for (long tenth = 0; tenth <= seconds * 10; tenth++) {
        PGresult *result = run(db, look, 1, &notify_id);
        if (!is_done(result)) {
            explain(db, result, "status");
            return false;
        }
        bool found = PQntuples(result) == 1;
        bool ended = found && strcmp(PQgetvalue(result, 0, 0), "pending") != 0;
        if (ended || tenth == seconds * 10) {
            printf("status %s, attempts %s, last HTTP code %s\n",
                   found ? PQgetvalue(result, 0, 0) : "unknown",
                   found ? PQgetvalue(result, 0, 1) : "0", found ? PQgetvalue(result, 0, 2) : "-");
        }
        bool delivered = ended && strcmp(PQgetvalue(result, 0, 0), "delivered") == 0;
        PQclear(result);
        if (ended) {
            return delivered;
        }
        usleep(100000);
    }
    return false;
}

static bool parse(int argc, char **argv, payment_t *out)
{
    const char **words[] = {&out->merchant, &out->order, &out->amount, &out->currency};
    size_t count = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--roll-back") == 0) {
            out->roll_back = true;
        } else if (strcmp(argv[i], "--wait") == 0 && i + 1 < argc) {
            out->wait_s = strtol(argv[++i], NULL, 10);
        } else if (argv[i][0] != '-' && count < 4) {
            *words[count++] = argv[i];
        } else {
            return false;
        }
    }
    return count == 4;
}

int main(int argc, char **argv)
{
    payment_t payment = {0};
    const char *url = getenv("DATABASE_URL");
    if (!parse(argc, argv, &payment) || !url) {
        fprintf(stderr,
                "usage: DATABASE_URL=postgresql://... pay MERCHANT ORDER AMOUNT_MINOR CURRENCY"
                " [--roll-back] [--wait SECONDS]\n");
        return 2;
    }
    char notify_id[37] = "";
    settled_t settled = TRY_AGAIN;
    PGconn *db = PQconnectdb(url);
    for (int i = 0; i < TRIES && settled == TRY_AGAIN; i++) {
        if (PQstatus(db) != CONNECTION_OK) {
            sleep(i > 0);
            PQreset(db);
        }
        settled = settle(db, &payment, notify_id);
    }
    bool good = settled == SETTLED;
    if (good) {
        printf("%s, notify_id %s\n", payment.roll_back ? "rolled back" : "committed", notify_id);
    }
    if (good && payment.wait_s > 0) {
        good = wait_for_delivery(db, notify_id, payment.wait_s);
    }
    PQfinish(db);
    return good ? 0 : 1;
}
