/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider submit: one notification, as an application would enqueue it.
 */
#include "cli/submit.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/notification.h"
#include "sql/application.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const pr_arg_t options[] = {
    {"event", PR_ARG_TEXT, "EVENT", "default payment.succeeded", 0, 0},
    {"amount", PR_ARG_INT, "MINOR", "in the currency's minor unit", 0, 9007199254740991.0},
    {"currency", PR_ARG_TEXT, "CODE", "three capitals", 0, 0},
    {"priority", PR_ARG_INT, "N", "0, 1 or 2; else derived from amount and tier", 0, 2},
    {"notify-url", PR_ARG_TEXT, "URL", "instead of the merchant's endpoints", 0, 0},
    {"key", PR_ARG_TEXT, "KEY", "idempotency key", 0, 0},
    {"status", PR_ARG_TEXT, "WORD", "else the event's last word", 0, 0},
    {"payload", PR_ARG_TEXT, "JSON", "an object, \"data\" in the body (default {})", 0, 0},
    {"wait", PR_ARG_DURATION, "D", "wait for the outcome", 0, 3600000},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
/* clang-format on */

static void add_number(pr_console_t *console, const pr_args_t *args, const char *name, bool wide)
{
    const pr_arg_value_t *value = pr_args_get(args, name);
    if (!value->given) {
        pr_params_add_null(console->params);
    } else if (wide) {
        pr_params_add_i64(console->params, value->integer);
    } else {
        pr_params_add_i32(console->params, (int32_t)value->integer);
    }
}

static int enqueue(pr_console_t *console, const pr_args_t *args, pr_rows_t **rows)
{
    const char *event = pr_args_text(args, "event");
    const char *payload = pr_args_text(args, "payload");
    pr_params_t *params = console->params;
    pr_params_add_text(params, args->positional[0]);
    pr_params_add_text(params, args->positional[1]);
    pr_params_add_text(params, event != NULL ? event : "payment.succeeded");
    pr_params_add_text(params, payload != NULL ? payload : "{}");
    add_number(console, args, "amount", true);
    pr_params_add_text(params, pr_args_text(args, "currency"));
    add_number(console, args, "priority", false);
    pr_params_add_text(params, pr_args_text(args, "notify-url"));
    pr_params_add_text(params, pr_args_text(args, "key"));
    pr_params_add_text(params, pr_args_text(args, "status"));
    return pr_console_run(console, &pr_sql_application[PR_SQL_APPLICATION_SUBMIT_NOTIFICATION],
                          rows);
}

static int submit(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open_application(&console, args);
    if (code != PR_EXIT_OK) {
        return code;
    }
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    code = enqueue(&console, args, &rows);
    if (code == PR_EXIT_OK) {
        PR_CLEANUP_FREE char *notify_id = pr_console_cell(rows, 0, 0, PR_COLUMN_UUID);
        if (pr_args_given(args, "wait")) {
            code = pr_notification_wait(&console, notify_id, pr_args_get(args, "wait")->integer);
        } else if (console.json) {
            pr_console_json(json_pack("{s:s}", "notify_id", notify_id));
        } else {
            puts(notify_id);
        }
    }
    pr_console_close(&console);
    return code;
}

int pr_submit_main(int argc, char **argv)
{
    static const pr_arg_spec_t spec = {"submit MERCHANT ORDER_NO [OPTION...]",
                                       "Enqueues one notification in a transaction of its own.",
                                       options, 2, 2};
    static const pr_subcommand_t command = {"submit", &spec, submit};
    return pr_args_single(&command, argc, argv);
}
