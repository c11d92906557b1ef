/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/task.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/door.h"
#include "sql/cli.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const pr_arg_t list_options[] = {
    {"status", PR_ARG_CHOICE, "open|WAITING|PROCESSING|RETRY|MANUAL|FAILED|SUCCESS|CLOSED|all", "in which state (default open)", 0, 0},
    {"kind", PR_ARG_TEXT, "BIZ_TYPE", "only of this kind: payment_review, refund_review ...", 0, 0},
    PR_ARG_OF_MERCHANT,
    {"order", PR_ARG_TEXT, "ORDER_NO", "only about this order of the merchant", 0, 0},
    {"payment", PR_ARG_TEXT, "PAYMENT_ID", "only about this payment", 0, 0},
    PR_ARG_LIMIT(100000),
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t resolve_options[] = {
    {"as", PR_ARG_CHOICE, "succeeded|failed|cancelled|refunded|rerun", "how its payment ended, or again from the start (needed)", 0, 0},
    {"reason", PR_ARG_TEXT, "TEXT", "how you know (needed)", 0, 0},
    {"evidence", PR_ARG_TEXT, "JSON", "an object: amount, currency, reference ...; what it names is compared (default {})", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t close_options[] = {
    {"reason", PR_ARG_TEXT, "TEXT", "what you concluded (needed)", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_column_t columns[] = {
    {"task_no", PR_COLUMN_TEXT, false}, {"biz_type", PR_COLUMN_TEXT, false},
    {"biz_id", PR_COLUMN_TEXT, false}, {"merchant_id", PR_COLUMN_TEXT, false},
    {"order_no", PR_COLUMN_TEXT, false}, {"payment_id", PR_COLUMN_I64, false},
    {"status", PR_COLUMN_TEXT, false}, {"source", PR_COLUMN_TEXT, true},
    {"retry_count", PR_COLUMN_I32, true}, {"retry_limit", PR_COLUMN_I32, true},
    {"next_run_at", PR_COLUMN_TIME, true}, {"last_run_at", PR_COLUMN_TIME, true},
    {"last_error_code", PR_COLUMN_TEXT, false}, {"last_error_message", PR_COLUMN_TEXT, false},
    {"closed_by", PR_COLUMN_TEXT, true}, {"conclusion", PR_COLUMN_TEXT, true},
    {"follows", PR_COLUMN_TEXT, true}, {"created_at", PR_COLUMN_TIME, false},
    {"updated_at", PR_COLUMN_TIME, true}, {"request", PR_COLUMN_OBJECT, true},
    {"result", PR_COLUMN_OBJECT, true}, {"before", PR_COLUMN_OBJECT, true},
    {"after", PR_COLUMN_OBJECT, true}, {"difference_id", PR_COLUMN_I64, true},
    {"lock_owner", PR_COLUMN_TEXT, true}, {"locked_at", PR_COLUMN_TIME, true},
    {NULL, PR_COLUMN_NONE, false},
};
static const pr_column_t run_columns[] = {
    {"run", PR_COLUMN_I32, false}, {"started_at", PR_COLUMN_TIME, false},
    {"ended_at", PR_COLUMN_TIME, false}, {"ended", PR_COLUMN_TEXT, false},
    {"code", PR_COLUMN_TEXT, false}, {"message", PR_COLUMN_TEXT, false},
    {"worker", PR_COLUMN_TEXT, false}, {NULL, PR_COLUMN_NONE, false},
};
/* clang-format on */

static int list(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    const pr_arg_value_t *limit = pr_args_get(args, "limit");
    const char *status = pr_args_text(args, "status");
    const char *payment = pr_args_text(args, "payment");
    int64_t payment_id = 0;
    int code = payment != NULL ? pr_console_id(payment, "payment", &payment_id) : (int)PR_EXIT_OK;
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (pr_args_given(args, "order") && !pr_args_given(args, "merchant")) {
        return pr_console_usage("--merchant is needed: an order's number is its merchant's");
    }
    status = status == NULL ? "open" : strcmp(status, "all") == 0 ? NULL : status;
    pr_params_add_text(console->params, status);
    pr_params_add_text(console->params, pr_args_text(args, "kind"));
    pr_params_add_text(console->params, pr_args_text(args, "merchant"));
    if (payment != NULL) {
        pr_params_add_i64(console->params, payment_id);
    } else {
        pr_params_add_null(console->params);
    }
    pr_params_add_text(console->params, pr_args_text(args, "order"));
    pr_params_add_i32(console->params, limit->given ? (int32_t)limit->integer : 100);
    code = pr_console_query(console, PR_SQL_CLI_TASK_LIST, &rows);
    if (code == PR_EXIT_OK) {
        pr_console_print(console, rows, columns, "no tasks");
    }
    return code;
}

static void print_task(const pr_console_t *console, const pr_rows_t *task, const pr_rows_t *runs)
{
    if (console->json) {
        json_t *object = pr_console_object(task, 0, columns);
        json_object_set_new(object, "runs", pr_console_array(runs, run_columns));
        pr_console_json(object);
        return;
    }
    pr_console_print_one(console, task, 0, columns);
    putchar('\n');
    pr_console_print(console, runs, run_columns, "it has not run yet");
}

static int show(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *task = NULL;
    PR_CLEANUP(pr_rows) pr_rows_t *runs = NULL;
    pr_params_add_text(console->params, args->positional[0]);
    int code = pr_console_query(console, PR_SQL_CLI_TASK_SHOW, &task);
    if (code == PR_EXIT_OK && pr_rows_count(task) == 0) {
        return pr_console_failed("there is no task %s", args->positional[0]);
    }
    if (code == PR_EXIT_OK) {
        pr_params_add_text(console->params, args->positional[0]);
        code = pr_console_query(console, PR_SQL_CLI_TASK_RUNS, &runs);
    }
    if (code == PR_EXIT_OK) {
        print_task(console, task, runs);
    }
    return code;
}

static int rerun(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_text(console->params, args->positional[0]);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    int code = pr_console_query(console, PR_SQL_CLI_TASK_RERUN, &rows);
    if (code != PR_EXIT_OK) {
        return code;
    }
    const char *next = pr_rows_text(rows, 0, 0);
    if (console->json) {
        pr_console_json(
            json_pack("{s:s, s:s}", "task_no", args->positional[0], "next_task_no", next));
    } else {
        printf("task %s is closed: its rerun is %s\n", args->positional[0], next);
    }
    return code;
}

/* It changes a payment: another person approves it (docs/people.md). */
static int ask_resolve(pr_console_t *console, const pr_args_t *args)
{
    const char *evidence = pr_args_text(args, "evidence");
    json_t *known = json_loads(evidence != NULL ? evidence : "{}", 0, NULL);
    if (!json_is_object(known)) {
        json_decref(known);
        return pr_console_usage("--evidence is not a JSON object");
    }
    return pr_door_ask_approval(
        console, "task.resolve", args->positional[0],
        json_pack("{s:s, s:o}", "as", pr_args_text(args, "as"), "evidence", known),
        pr_args_text(args, "reason"));
}

static int resolve(pr_console_t *console, const pr_args_t *args)
{
    bool again = strcmp(pr_args_text(args, "as"), "rerun") == 0;
    return again ? rerun(console, args) : ask_resolve(console, args);
}

static int close_task(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_text(console->params, args->positional[0]);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    int code = pr_console_query(console, PR_SQL_CLI_TASK_CLOSE, &rows);
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (console->json) {
        pr_console_json(
            json_pack("{s:s, s:s}", "task_no", args->positional[0], "status", "CLOSED"));
    } else {
        printf("task %s is closed\n", args->positional[0]);
    }
    return code;
}

static bool has_reason(const pr_args_t *args)
{
    const char *reason = pr_args_text(args, "reason");
    return reason != NULL && reason[0] != '\0';
}

static int task_list(const pr_args_t *args)
{
    return pr_console_with(args, list);
}

static int task_show(const pr_args_t *args)
{
    return pr_console_with(args, show);
}

static int task_resolve(const pr_args_t *args)
{
    if (!pr_args_given(args, "as")) {
        return pr_console_usage("--as is needed: how its payment ended, or rerun");
    }
    if (!has_reason(args)) {
        return pr_console_usage("--reason is needed: how you know");
    }
    return pr_console_with(args, resolve);
}

static int task_close(const pr_args_t *args)
{
    if (!has_reason(args)) {
        return pr_console_usage("--reason is needed: what you concluded");
    }
    return pr_console_with(args, close_task);
}

int pr_task_main(int argc, char **argv)
{
    static const pr_arg_spec_t list_spec = {"task list [OPTION...]",
                                            "Tasks, oldest first; MANUAL ones wait for a person.",
                                            list_options, 0, 0};
    static const pr_arg_spec_t show_spec = {
        "task show TASK_NO", "One task: why it is there and what came of each run.", NULL, 1, 1};
    static const pr_arg_spec_t resolve_spec = {
        "task resolve TASK_NO --as WORD --reason TEXT [--evidence JSON]",
        "Asks to end it by saying how its payment ended: another person approves that. rerun closes "
        "it and opens it anew, at once.",
        resolve_options, 1, 1};
    static const pr_arg_spec_t close_spec = {"task close TASK_NO --reason TEXT",
                                             "Ends a task that is with a person.", close_options, 1,
                                             1};
    static const pr_subcommand_t table[] = {{"list", &list_spec, task_list},
                                            {"show", &show_spec, task_show},
                                            {"resolve", &resolve_spec, task_resolve},
                                            {"close", &close_spec, task_close},
                                            {NULL, NULL, NULL}};
    return pr_args_group("task", table, argc, argv);
}
