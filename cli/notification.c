/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/notification.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/command.h"
#include "sql/cli.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LOOK_AGAIN_MS 50
#define STATUS_COLUMN 6

/* clang-format off */
const pr_column_t pr_notification_columns[] = {
    {"notify_id", PR_COLUMN_UUID, false}, {"endpoint_id", PR_COLUMN_I64, false},
    {"merchant_id", PR_COLUMN_TEXT, true}, {"order_no", PR_COLUMN_TEXT, false},
    {"event", PR_COLUMN_TEXT, false}, {"priority", PR_COLUMN_I32, true},
    {"status", PR_COLUMN_TEXT, false}, {"phase", PR_COLUMN_TEXT, false},
    {"notify_url", PR_COLUMN_TEXT, true}, {"attempts", PR_COLUMN_I32, false},
    {"max_attempts", PR_COLUMN_I32, true}, {"retry_count", PR_COLUMN_I32, true},
    {"max_retry", PR_COLUMN_I32, true}, {"next_attempt_at", PR_COLUMN_TIME, false},
    {"last_http_code", PR_COLUMN_I32, false}, {"last_error", PR_COLUMN_TEXT, false},
    {"last_response", PR_COLUMN_TEXT, true}, {"version", PR_COLUMN_I64, true},
    {"created_at", PR_COLUMN_TIME, true}, {"updated_at", PR_COLUMN_TIME, true},
    {"delivered_at", PR_COLUMN_TIME, true}, {"reason", PR_COLUMN_TEXT, false},
    {NULL, PR_COLUMN_NONE, false},
};
const pr_column_t pr_attempt_columns[] = {
    {"endpoint_id", PR_COLUMN_I64, false}, {"attempt", PR_COLUMN_I32, false},
    {"started_at", PR_COLUMN_TIME, false}, {"duration_ms", PR_COLUMN_I32, false},
    {"outcome", PR_COLUMN_TEXT, false}, {"http_code", PR_COLUMN_I32, false},
    {"error", PR_COLUMN_TEXT, false}, {"response", PR_COLUMN_TEXT, false},
    {"worker", PR_COLUMN_TEXT, true}, {"next_attempt_at", PR_COLUMN_TIME, true},
    {NULL, PR_COLUMN_NONE, false},
};
/* clang-format on */

static int look(pr_console_t *console, const char *notify_id, pr_rows_t **rows)
{
    pr_params_add_text(console->params, notify_id);
    return pr_console_query(console, PR_SQL_CLI_NOTIFICATION_SHOW, rows);
}

static int count_status(const pr_rows_t *rows, const char *status)
{
    int count = 0;
    for (int row = 0; row < pr_rows_count(rows); row++) {
        count += strcmp(pr_rows_text(rows, row, STATUS_COLUMN), status) == 0;
    }
    return count;
}

int pr_notification_wait(pr_console_t *console, const char *notify_id, int64_t wait_ms)
{
    int64_t end_ms = pr_clock_mono_ms() + wait_ms;
    for (;;) {
        PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
        int code = look(console, notify_id, &rows);
        if (code != PR_EXIT_OK) {
            return code;
        }
        bool pending = pr_rows_count(rows) == 0 || count_status(rows, "pending") > 0;
        if (!pending || pr_clock_mono_ms() >= end_ms) {
            pr_console_print(console, rows, pr_notification_columns, "nothing is known of it");
            bool all = count_status(rows, "delivered") == pr_rows_count(rows);
            return wait_ms == 0 || (all && pr_rows_count(rows) > 0) ? PR_EXIT_OK : PR_EXIT_FAILED;
        }
        nanosleep(&(struct timespec){.tv_nsec = LOOK_AGAIN_MS * 1000000L}, NULL);
    }
}

int pr_notification_show(pr_console_t *console, const char *notify_id)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    PR_CLEANUP(pr_rows) pr_rows_t *attempts = NULL;
    int code = look(console, notify_id, &rows);
    if (code == PR_EXIT_OK && pr_rows_count(rows) == 0) {
        return pr_console_failed("there is no notification %s", notify_id);
    }
    if (code == PR_EXIT_OK) {
        pr_params_add_text(console->params, notify_id);
        pr_params_add_null(console->params);
        code = pr_console_query(console, PR_SQL_CLI_ATTEMPT_LIST, &attempts);
    }
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (console->json) {
        json_t *object = json_object();
        json_object_set_new(object, "deliveries", pr_console_array(rows, pr_notification_columns));
        json_object_set_new(object, "attempts", pr_console_array(attempts, pr_attempt_columns));
        pr_console_json(object);
        return code;
    }
    for (int row = 0; row < pr_rows_count(rows); row++) {
        pr_console_print_one(console, rows, row, pr_notification_columns);
        putchar('\n');
    }
    pr_console_print(console, attempts, pr_attempt_columns, "no attempts");
    return code;
}
