/* SPDX-License-Identifier: Apache-2.0
 *
 * The verdict about money. What was taken and given back is read from the gateway's ledger; what was wanted is what
 * the application remembers. Both are held against what Postrider says of each payment, to the cent.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "cli/demo_payments.h"
#include "cli/demo_sandbox.h"
#include "sql/demo.h"

#include <jansson.h>

#include <stdlib.h>
#include <string.h>

/* "PAY-0000012..." -> that payment, or NULL. */
static pr_demo_payment_t *find(const pr_demo_t *demo, const char *order)
{
    size_t prefix = strlen(PR_DEMO_ORDER);
    if (!order || strncmp(order, PR_DEMO_ORDER, prefix) != 0)
        return NULL;
    long number = strtol(order + prefix, NULL, 10);
    return number >= 0 && number < demo->submitted ? &demo->payments[number] : NULL;
}

/* ---- the ledger ---- */

static int64_t integer(const json_t *row, const char *name)
{
    return json_integer_value(json_object_get(row, name));
}

static int64_t earlier(int64_t a, int64_t b) /* 0: never */
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static void ledger_row(const pr_demo_t *demo, const json_t *row, pr_demo_money_t *money)
{
    int64_t captured = integer(row, "captured"), refunded = integer(row, "refunded");
    pr_demo_payment_t *payment = find(demo, json_string_value(json_object_get(row, "order")));
    money->charged_minor += captured;
    money->refunded_minor += refunded;
    if (!payment) { /* nobody wanted it */
        money->strange++;
        return;
    }
    payment->times_charged += (int)integer(row, "times_charged");
    payment->captured_minor += captured;
    payment->refunded_minor += refunded;
    payment->created_us = earlier(payment->created_us, integer(row, "created_us"));
    payment->ends_us =
        earlier(payment->ends_us, earlier(integer(row, "paid_us"), integer(row, "ended_us")));
}

/* JSON lines. *rows grows by their number. */
static pr_rc_t ledger_page(const pr_demo_t *demo, char *text, int64_t *rows, pr_demo_money_t *money,
                           pr_error_t *error)
{
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        if (*line == '\0')
            continue;
        json_t *row = json_loads(line, 0, NULL);
        if (!row)
            return pr_error_set(error, PR_FATAL, "demo", "", "a row of the ledger is no JSON");
        ledger_row(demo, row, money);
        json_decref(row);
        *rows += 1;
    }
    return PR_OK;
}

static pr_rc_t read_ledger(const pr_demo_t *demo, pr_demo_money_t *money, pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    int64_t rows = 0, before = -1;
    while (rc == PR_OK && rows > before) {
        PR_CLEANUP_FREE char *path =
            pr_asprintf("ledger?account=" PR_DEMO_ACCOUNT "&from=%lld", (long long)rows);
        pr_buffer_t page;
        before = rows;
        rc = pr_demo_sandbox_gateway(demo->sandbox, path, NULL, &page, error);
        if (rc == PR_OK && page.len > 0)
            rc = ledger_page(demo, (char *)page.data, &rows, money, error);
        pr_buffer_free(&page);
    }
    return rc;
}

static pr_rc_t read_stats(const pr_demo_t *demo, pr_demo_money_t *money, pr_error_t *error)
{
    pr_buffer_t answer;
    pr_rc_t rc = pr_demo_sandbox_gateway(demo->sandbox, "stats?account=" PR_DEMO_ACCOUNT, NULL,
                                         &answer, error);
    json_t *stats = rc == PR_OK ? json_loads(pr_buffer_text(&answer), 0, NULL) : NULL;
    money->queries = integer(json_object_get(stats, "calls"), "query");
    money->forged_accepted = integer(stats, "forged_accepted");
    money->double_refunded = integer(stats, "double_refunded");
    json_decref(stats);
    pr_buffer_free(&answer);
    return rc;
}

/* ---- Postrider's word ---- */

/* Closed at the channel, whichever call or webhook said so: its expiry was the reason. */
static void count_end(const char *state, const char *by, pr_demo_money_t *money)
{
    if (strcmp(state, "cancelled") == 0)
        money->by_expiry++;
    else if (strcmp(by, "webhook") == 0)
        money->by_webhook++;
    else if (strcmp(by, "query") == 0 || strcmp(by, "close") == 0)
        money->by_query++;
    else
        money->by_answer++;
}

static void count_payment(const pr_rows_t *rows, int row, const pr_demo_payment_t *payment,
                          pr_demo_money_t *money)
{
    const char *state = pr_rows_text(rows, row, 1);
    bool manual = !pr_rows_null(rows, row, 4), ended = !pr_rows_null(rows, row, 6);
    int64_t difference = payment->captured_minor - payment->refunded_minor -
                         (pr_rows_i64(rows, row, 2) - pr_rows_i64(rows, row, 3));
    money->known++;
    money->succeeded += strcmp(state, "succeeded") == 0;
    money->failed += strcmp(state, "failed") == 0;
    money->cancelled += strcmp(state, "cancelled") == 0;
    if (ended) {
        count_end(state, pr_rows_text(rows, row, 6), money);
    } else if (manual) {
        money->manual++;
        money->manual_minor += payment->captured_minor - payment->refunded_minor;
        money->unexplained += !pr_rows_bool(rows, row, 5); /* a reason without a task */
    } else {
        money->open++;
    }
    if (ended || !manual) /* what a person has is not yet in the books: manual_minor */
        money->difference_minor += difference < 0 ? -difference : difference;
    money->sent_back += payment->refunded_minor > 0;
    money->double_charged += payment->times_charged > 1;
    bool known_end = ended || manual;
    if (payment->created_us > 0)
        money->queries_fixed_scan += pr_demo_scan_queries(
            payment->created_us, payment->ends_us, known_end ? pr_rows_time_us(rows, row, 7) : 0);
}

int64_t pr_demo_scan_queries(int64_t start_us, int64_t ends_us, int64_t known_us)
{
    const int64_t step_us = (int64_t)PR_DEMO_SCAN_MS * 1000;
    if (ends_us == 0 && known_us == 0)
        return 0; /* no end that could be counted to */
    int64_t found_us = ends_us > 0 ? (ends_us / step_us + 1) * step_us : INT64_MAX;
    int64_t until_us = known_us > 0 && known_us < found_us ? known_us : found_us;
    return until_us > start_us ? until_us / step_us - start_us / step_us : 0;
}

pr_rc_t pr_demo_judge_money(pr_demo_t *demo, pr_demo_money_t *money, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    money->submitted = demo->submitted;
    pr_rc_t rc = pr_db_sync_query(demo->operator_db, pr_sql_demo[PR_SQL_DEMO_PAYMENTS].sql, NULL,
                                  &rows, error);
    if (rc == PR_OK)
        rc = read_ledger(demo, money, error);
    if (rc == PR_OK)
        rc = read_stats(demo, money, error);
    for (int row = 0; rc == PR_OK && row < pr_rows_count(rows); row++) {
        const pr_demo_payment_t *payment = find(demo, pr_rows_text(rows, row, 0));
        if (payment)
            count_payment(rows, row, payment, money);
        else
            money->strange++;
    }
    return rc;
}

/* ---- what merchants were told ---- */

static pr_rc_t remember(pr_demo_t *demo, pr_demo_delivery_t *delivery)
{
    uint64_t key;
    memcpy(&key, delivery->notify_id, sizeof key);
    return pr_map_put(demo->by_id, key, delivery, NULL);
}

/* Room for so many more; by_id points into the array. */
static void make_room(pr_demo_t *demo, int more)
{
    size_t room = (size_t)demo->count + (size_t)more;
    demo->deliveries = pr_realloc(demo->deliveries, room, sizeof *demo->deliveries);
    memset(demo->deliveries + demo->count, 0, (size_t)more * sizeof *demo->deliveries);
    pr_map_destroy(&demo->by_id);
    demo->by_id = pr_map_new(room, pr_random_u64());
    for (int i = 0; i < demo->count; i++)
        pr_assert(remember(demo, &demo->deliveries[i]) == PR_OK);
}

static int merchant_of(const pr_demo_t *demo, const char *id)
{
    int i = 0;
    while (i < PR_DEMO_MERCHANTS - 1 && strcmp(demo->cast[i].id, id) != 0)
        i++;
    return i;
}

pr_rc_t pr_demo_told(pr_demo_t *demo, int64_t *untold, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_rc_t rc =
        pr_db_sync_query(demo->operator_db, pr_sql_demo[PR_SQL_DEMO_TOLD].sql, NULL, &rows, error);
    if (rc != PR_OK || pr_rows_count(rows) == 0)
        return rc;
    make_room(demo, pr_rows_count(rows));
    for (int row = 0; row < pr_rows_count(rows); row++) {
        pr_demo_delivery_t *delivery = &demo->deliveries[demo->count];
        if (!pr_rows_uuid(rows, row, 0, delivery->notify_id)) {
            *untold += 1;
            continue;
        }
        delivery->merchant = merchant_of(demo, pr_rows_text(rows, row, 1));
        pr_assert(remember(demo, delivery) == PR_OK);
        demo->count++;
    }
    return PR_OK;
}
