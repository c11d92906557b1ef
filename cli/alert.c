/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider alert: what Postrider wants a person to know.
 */
#include "cli/alert.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/console.h"
#include "sql/cli.h"

#include <inttypes.h>
#include <stdio.h>

/* clang-format off */
static const pr_arg_t list_options[] = {
    {"all", PR_ARG_FLAG, NULL, "resolved ones too", 0, 0},
    PR_ARG_LIMIT(100000),
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t test_options[] = {
    {"severity", PR_ARG_CHOICE, "info|warn|page", "how loud (default warn)", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_column_t columns[] = {
    {"alert_id", PR_COLUMN_I64, false}, {"kind", PR_COLUMN_TEXT, false},
    {"subject", PR_COLUMN_TEXT, false}, {"severity", PR_COLUMN_TEXT, false},
    {"message", PR_COLUMN_TEXT, false}, {"count", PR_COLUMN_I64, false},
    {"first_at", PR_COLUMN_TIME, true}, {"last_at", PR_COLUMN_TIME, false},
    {"resolved_at", PR_COLUMN_TIME, false}, {NULL, PR_COLUMN_NONE, false},
};
/* clang-format on */

static int alert_list(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code != PR_EXIT_OK) {
        return code;
    }
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    const pr_arg_value_t *limit = pr_args_get(args, "limit");
    pr_params_add_bool(console.params, pr_args_given(args, "all"));
    pr_params_add_i32(console.params, limit->given ? (int32_t)limit->integer : 100);
    code = pr_console_query(&console, PR_SQL_CLI_ALERT_LIST, &rows);
    if (code == PR_EXIT_OK) {
        pr_console_print(&console, rows, columns, "no open alerts");
    }
    pr_console_close(&console);
    return code;
}

static int alert_test(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code != PR_EXIT_OK) {
        return code;
    }
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    const char *severity = pr_args_text(args, "severity");
    pr_params_add_text(console.params, "test");
    pr_params_add_text(console.params, console.operator_name);
    pr_params_add_text(console.params, severity != NULL ? severity : "warn");
    pr_params_add_text(console.params, "a test of the alerts: nothing is wrong");
    code = pr_console_query(&console, PR_SQL_CLI_ALERT_RAISE, &rows);
    if (code == PR_EXIT_OK && console.json) {
        pr_console_json(
            json_pack("{s:I, s:b, s:I}", "alert_id", (json_int_t)pr_rows_i64(rows, 0, 0), "fresh",
                      (int)pr_rows_bool(rows, 0, 1), "count", (json_int_t)pr_rows_i64(rows, 0, 2)));
    } else if (code == PR_EXIT_OK) {
        printf("alert %" PRId64 " raised; %s\n", pr_rows_i64(rows, 0, 0),
               pr_rows_bool(rows, 0, 1)
                   ? "dead-letter announces it"
                   : "it is open already: it is counted, not announced again (alert resolve)");
    }
    pr_console_close(&console);
    return code;
}

static int alert_resolve(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code != PR_EXIT_OK) {
        return code;
    }
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(console.params, args->positional[0]);
    pr_params_add_text(console.params, args->positional[1]);
    code = pr_console_query(&console, PR_SQL_CLI_ALERT_RESOLVE, &rows);
    bool changed = code == PR_EXIT_OK && pr_rows_bool(rows, 0, 0);
    if (code == PR_EXIT_OK && !changed) {
        code =
            pr_console_failed("no open alert %s of %s", args->positional[0], args->positional[1]);
    } else if (code == PR_EXIT_OK && console.json) {
        pr_console_json(json_pack("{s:b}", "resolved", 1));
    } else if (code == PR_EXIT_OK) {
        puts("resolved");
    }
    pr_console_close(&console);
    return code;
}

int pr_alert_main(int argc, char **argv)
{
    static const pr_arg_spec_t list = {"alert list [--all] [--limit N]",
                                       "Open alerts, newest first; repeats are counted.",
                                       list_options, 0, 0};
    static const pr_arg_spec_t test = {"alert test [--severity S]",
                                       "Raises one, so that its way to people can be seen.",
                                       test_options, 0, 0};
    static const pr_arg_spec_t resolve = {"alert resolve KIND SUBJECT",
                                          "Closes an open alert; the next of its kind is new.",
                                          NULL, 2, 2};
    static const pr_subcommand_t table[] = {{"list", &list, alert_list},
                                            {"test", &test, alert_test},
                                            {"resolve", &resolve, alert_resolve},
                                            {NULL, NULL, NULL}};
    return pr_args_group("alert", table, argc, argv);
}
