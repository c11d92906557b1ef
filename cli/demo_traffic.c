/* SPDX-License-Identifier: Apache-2.0
 *
 * The application: commits payment results one transaction at a time, spread over the given seconds; one in twelve
 * it rolls back, and nobody must ever hear of those. Beside them it submits payments, at the same pace.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "cli/demo.h"
#include "cli/demo_payments.h"
#include "sql/demo.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define ROLL_BACK_EVERY 12
#define LOOK_MS 1000

pr_rc_t pr_demo_counts(pr_demo_t *demo, pr_demo_counts_t *out, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_rc_t rc = pr_db_sync_query(demo->operator_db, pr_sql_demo[PR_SQL_DEMO_COUNTS].sql, NULL,
                                  &rows, error);
    if (rc != PR_OK)
        return rc;
    *out = (pr_demo_counts_t){
        .waiting = pr_rows_i64(rows, 0, 0),
        .held = pr_rows_i64(rows, 0, 1),
        .dead = pr_rows_i64(rows, 0, 2),
        .delivered = pr_rows_i64(rows, 0, 3),
        .attempts = pr_rows_i64(rows, 0, 4),
        .committed = pr_rows_i64(rows, 0, 5),
    };
    return PR_OK;
}

void pr_demo_progress(const pr_demo_t *demo, const char *act, const pr_demo_counts_t *counts)
{
    (void)fprintf(stderr,
                  "%5.1f s  %-9s committed %5lld  delivered %5lld  attempts %6lld  waiting %5lld "
                  "(held %lld)  dead %lld  payments open %lld of %d\n",
                  (double)(pr_clock_mono_ms() - demo->started_ms) / 1000.0, act,
                  (long long)counts->committed, (long long)counts->delivered,
                  (long long)counts->attempts, (long long)counts->waiting, (long long)counts->held,
                  (long long)counts->dead, (long long)demo->payments_open, demo->submitted);
}

static pr_rc_t look(pr_demo_t *demo, const char *act, pr_demo_counts_t *counts, pr_error_t *error)
{
    int64_t start_ms = pr_clock_mono_ms();
    pr_rc_t rc = pr_demo_counts(demo, counts, error);
    if (rc == PR_OK)
        rc = pr_demo_payments_open(demo, &demo->payments_open, error);
    demo->look_ms =
        10 * (pr_clock_mono_ms() - start_ms); /* looking takes a tenth of the time at most */
    if (demo->look_ms < LOOK_MS)
        demo->look_ms = LOOK_MS;
    if (rc == PR_OK)
        pr_demo_progress(demo, act, counts);
    return rc;
}

/* As SQL derives it: the merchant's tier; the amounts here pass no threshold. */
static uint8_t class_of(const pr_demo_merchant_t *merchant)
{
    return merchant->tier[0] == 'v' ? 0 : merchant->tier[0] == 's' ? 2 : 1;
}

static void committed(pr_demo_t *demo, const pr_rows_t *rows, int merchant, int64_t at_us)
{
    pr_demo_delivery_t *delivery = &demo->deliveries[demo->count++];
    delivery->merchant = merchant;
    delivery->class_no = class_of(&demo->cast[merchant]);
    delivery->committed_us = at_us;
    pr_assert(pr_rows_uuid(rows, 0, 0, delivery->notify_id));
    uint64_t key;
    memcpy(&key, delivery->notify_id, sizeof key);
    pr_rc_t rc = pr_map_put(demo->by_id, key, delivery, NULL);
    pr_assert(rc == PR_OK);
}

static pr_rc_t commit_one(pr_demo_t *demo, int number, pr_error_t *error)
{
    int merchant = number % PR_DEMO_MERCHANTS;
    bool roll_back = number % ROLL_BACK_EVERY == ROLL_BACK_EVERY - 1;
    PR_CLEANUP_FREE char *order_no = pr_asprintf("DEMO-%06d%s", number, roll_back ? "-undone" : "");
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(params, demo->cast[merchant].id);
    pr_params_add_text(params, order_no);
    pr_params_add_i64(params, 5800 + number);
    pr_params_add_text(params, "CNY");
    pr_params_add_bool(params, roll_back);
    int64_t at_us = pr_clock_wall_us();
    pr_rc_t rc =
        pr_db_sync_query(demo->app, pr_sql_demo[PR_SQL_DEMO_ENQUEUE].sql, params, &rows, error);
    if (roll_back && rc == PR_BAD && strcmp(error->code, "22012") == 0) {
        demo->rolled_back++;
        return PR_OK;
    }
    if (rc == PR_OK)
        committed(demo, rows, merchant, at_us);
    return rc;
}

pr_rc_t pr_demo_traffic(pr_demo_t *demo, pr_error_t *error)
{
    int64_t start_ms = pr_clock_mono_ms(), look_ms = start_ms + LOOK_MS;
    pr_demo_counts_t counts;
    pr_rc_t rc = PR_OK;
    for (int number = 0; demo->count < demo->results && rc == PR_OK; number++) {
        if (pr_demo_interrupted())
            return pr_error_set(error, PR_AGAIN, "demo", "", "interrupted");
        int64_t due_ms = start_ms + (int64_t)demo->count * demo->seconds * 1000 / demo->results;
        int64_t now_ms = pr_clock_mono_ms();
        if (due_ms > now_ms)
            poll(NULL, 0, (int)(due_ms - now_ms)); /* the pace of the story, no wait for anything */
        rc = commit_one(demo, number, error);
        while (rc == PR_OK &&
               (int64_t)demo->submitted * demo->results < (int64_t)demo->wanted * demo->count)
            rc = pr_demo_submit(demo, error);
        if (rc == PR_OK && pr_clock_mono_ms() >= look_ms) {
            rc = look(demo, "traffic", &counts, error);
            look_ms = pr_clock_mono_ms() + demo->look_ms;
        }
    }
    return rc;
}

pr_rc_t pr_demo_settle(pr_demo_t *demo, const char *act, bool held_too, int64_t most_ms,
                       pr_error_t *error)
{
    int64_t until_ms = pr_clock_mono_ms() + most_ms;
    pr_demo_counts_t counts;
    for (;;) {
        pr_rc_t rc = look(demo, act, &counts, error);
        if (rc != PR_OK)
            return rc;
        if (counts.waiting <= (held_too ? 0 : counts.held) && demo->payments_open == 0)
            return PR_OK;
        if (pr_demo_interrupted())
            return pr_error_set(error, PR_AGAIN, "demo", "", "interrupted");
        if (pr_clock_mono_ms() > until_ms)
            return pr_error_set(error, PR_AGAIN, "demo", "",
                                "%lld deliveries and %lld payments still wait after %lld s",
                                (long long)counts.waiting, (long long)demo->payments_open,
                                (long long)most_ms / 1000);
        poll(NULL, 0, (int)demo->look_ms / 2);
    }
}
