/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recon.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/recon_run.h"
#include "cli/recon_set.h"
#include "sql/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LIMIT_DEFAULT 100

/* clang-format off */
static const pr_arg_t list_options[] = {
    PR_ARG_OF_CHANNEL,
    {"status", PR_ARG_CHOICE, "imported|held|matched|replaced|closed", "only in this state", 0, 0},
    {"before", PR_ARG_INT, "FILE", "older than this one: the next page", 1, 0},
    PR_ARG_LIMIT(1000),
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t difference_options[] = {
    PR_ARG_OF_CHANNEL,
    {"class", PR_ARG_CHOICE, "missing_here|unpaid_here|missing_there|state|amount|duplicate|not_delivered", "only of this class", 0, 0},
    {"status", PR_ARG_CHOICE, "open|explained|repaired|closed|all", "in which state (default open)", 0, 0},
    PR_ARG_OF_MERCHANT,
    {"order", PR_ARG_TEXT, "ORDER_NO", "only of this order", 0, 0},
    {"file", PR_ARG_INT, "FILE", "only of this statement", 1, 0},
    {"before", PR_ARG_INT, "DIFFERENCE", "older than this one: the next page", 1, 0},
    PR_ARG_LIMIT(1000),
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t rows_options[] = {
    {"file", PR_ARG_INT, "FILE", "only of this statement", 1, 0},
    {"all", PR_ARG_FLAG, NULL, "those that are closed, too", 0, 0},
    {"before", PR_ARG_INT, "ROW", "older than this one: the next page", 1, 0},
    PR_ARG_LIMIT(1000),
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t pool_options[] = {
    PR_ARG_OF_CHANNEL,
    PR_ARG_LIMIT(1000),
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t due_options[] = {
    PR_ARG_OF_CHANNEL,
    {"all", PR_ARG_FLAG, NULL, "those that have come, too", 0, 0},
    PR_ARG_LIMIT(1000),
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t reason_options[] = {
    PR_ARG_REASON_NEEDED,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_column_t file_columns[] = {
    {"file_id", PR_COLUMN_I64, false}, {"channel", PR_COLUMN_TEXT, false}, {"date", PR_COLUMN_TEXT, false}, {"kind", PR_COLUMN_TEXT, false},
    {"name", PR_COLUMN_TEXT, true}, {"source", PR_COLUMN_TEXT, false}, {"status", PR_COLUMN_TEXT, false}, {"reason", PR_COLUMN_TEXT, false},
    {"rows", PR_COLUMN_I64, false}, {"bad", PR_COLUMN_I64, false}, {"matched", PR_COLUMN_I64, false}, {"differences", PR_COLUMN_I64, false},
    {"waiting", PR_COLUMN_I64, false}, {"ignored", PR_COLUMN_I64, true}, {"proof", PR_COLUMN_TEXT, false}, {"created_at", PR_COLUMN_TIME, false},
    {"matched_at", PR_COLUMN_TIME, true}, {"who", PR_COLUMN_TEXT, true}, {"corrects", PR_COLUMN_I64, true}, {"sha256", PR_COLUMN_TEXT, true},
    {"bytes", PR_COLUMN_I64, true}, {"sums", PR_COLUMN_OBJECT, true}, {"facts", PR_COLUMN_OBJECT, true}, {NULL, PR_COLUMN_NONE, false},
};
static const pr_column_t difference_columns[] = {
    {"difference_id", PR_COLUMN_I64, false}, {"class", PR_COLUMN_TEXT, false}, {"reason", PR_COLUMN_TEXT, false}, {"status", PR_COLUMN_TEXT, false},
    {"channel", PR_COLUMN_TEXT, false}, {"date", PR_COLUMN_TEXT, false}, {"file_id", PR_COLUMN_I64, true}, {"line", PR_COLUMN_I64, false},
    {"merchant_id", PR_COLUMN_TEXT, true}, {"order_no", PR_COLUMN_TEXT, false}, {"payment_id", PR_COLUMN_I64, false}, {"refund_id", PR_COLUMN_I64, true},
    {"reference", PR_COLUMN_TEXT, false}, {"task_no", PR_COLUMN_TEXT, false}, {"task_type", PR_COLUMN_TEXT, true}, {"task_status", PR_COLUMN_TEXT, false},
    {"opened_at", PR_COLUMN_TIME, true}, {"ended_at", PR_COLUMN_TIME, true}, {"ended_by", PR_COLUMN_TEXT, true}, {"conclusion", PR_COLUMN_TEXT, true},
    {"theirs", PR_COLUMN_OBJECT, true}, {"ours", PR_COLUMN_OBJECT, true}, {NULL, PR_COLUMN_NONE, false},
};
static const pr_column_t row_columns[] = {
    {"row_id", PR_COLUMN_I64, false}, {"file_id", PR_COLUMN_I64, false}, {"channel", PR_COLUMN_TEXT, false}, {"date", PR_COLUMN_TEXT, false},
    {"line", PR_COLUMN_I64, false}, {"reason", PR_COLUMN_TEXT, false}, {"detail", PR_COLUMN_TEXT, false}, {"raw", PR_COLUMN_TEXT, false},
    {"created_at", PR_COLUMN_TIME, true}, {"closed_at", PR_COLUMN_TIME, true}, {"closed_by", PR_COLUMN_TEXT, true}, {"conclusion", PR_COLUMN_TEXT, true},
    {NULL, PR_COLUMN_NONE, false},
};
static const pr_column_t pool_columns[] = {
    {"side", PR_COLUMN_TEXT, false}, {"channel", PR_COLUMN_TEXT, false}, {"file_id", PR_COLUMN_I64, false}, {"row", PR_COLUMN_I64, false},
    {"payment_id", PR_COLUMN_I64, false}, {"refund_id", PR_COLUMN_I64, false}, {"since", PR_COLUMN_TIME, false}, {"until", PR_COLUMN_TIME, false},
    {NULL, PR_COLUMN_NONE, false},
};
static const pr_column_t due_columns[] = {
    {"channel", PR_COLUMN_TEXT, false}, {"date", PR_COLUMN_TEXT, false}, {"due_at", PR_COLUMN_TIME, false}, {"next_at", PR_COLUMN_TIME, false},
    {"tries", PR_COLUMN_I32, false}, {"last_error", PR_COLUMN_TEXT, false}, {"last_at", PR_COLUMN_TIME, true}, {"done_at", PR_COLUMN_TIME, false},
    {NULL, PR_COLUMN_NONE, false},
};
/* clang-format on */

static void add_id(pr_params_t *params, const pr_args_t *args, const char *name)
{
    const pr_arg_value_t *value = pr_args_get(args, name);
    if (value->given) {
        pr_params_add_i64(params, value->integer);
    } else {
        pr_params_add_null(params);
    }
}

static void add_limit(pr_params_t *params, const pr_args_t *args)
{
    const pr_arg_value_t *limit = pr_args_get(args, "limit");
    pr_params_add_i32(params, limit->given ? (int32_t)limit->integer : LIMIT_DEFAULT);
}

static int print(pr_console_t *console, int statement, const pr_column_t *columns,
                 const char *nothing)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    int code = pr_console_query(console, statement, &rows);
    if (code == PR_EXIT_OK) {
        pr_console_print(console, rows, columns, nothing);
    }
    return code;
}

/* ---- looking ---- */

static int list(pr_console_t *console, const pr_args_t *args)
{
    pr_params_add_text(console->params, pr_args_text(args, "channel"));
    pr_params_add_text(console->params, pr_args_text(args, "status"));
    add_id(console->params, args, "before");
    add_limit(console->params, args);
    pr_params_add_null(console->params);
    return print(console, PR_SQL_CLI_RECON_FILES, file_columns, "no statements");
}

static void difference_params(pr_console_t *console, int64_t file_id)
{
    for (int i = 0; i < 5; i++) {
        pr_params_add_null(console->params);
    }
    pr_params_add_i64(console->params, file_id);
    pr_params_add_null(console->params);
    pr_params_add_i32(console->params, 1000);
}

static json_t *array_of(pr_console_t *console, int statement, const pr_column_t *columns, int *code)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    *code = pr_console_query(console, statement, &rows);
    return *code == PR_EXIT_OK ? pr_console_array(rows, columns) : NULL;
}

int pr_recon_print_differences(pr_console_t *console, int64_t file_id, json_t *into)
{
    difference_params(console, file_id);
    if (into == NULL) {
        return print(console, PR_SQL_CLI_RECON_DIFFERENCES, difference_columns, "no differences");
    }
    int code = PR_EXIT_OK;
    json_t *found = array_of(console, PR_SQL_CLI_RECON_DIFFERENCES, difference_columns, &code);
    if (found != NULL) {
        json_object_set_new(into, "found", found);
    }
    return code;
}

/* The file, its differences and its bad rows. */
static int show(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    int64_t file_id = 0;
    int code = pr_console_id(args->positional[0], "statement", &file_id);
    if (code != PR_EXIT_OK) {
        return code;
    }
    pr_params_add_null(console->params);
    pr_params_add_null(console->params);
    pr_params_add_null(console->params);
    pr_params_add_i32(console->params, 1);
    pr_params_add_i64(console->params, file_id);
    code = pr_console_query(console, PR_SQL_CLI_RECON_FILES, &rows);
    if (code == PR_EXIT_OK && pr_rows_count(rows) == 0) {
        return pr_console_failed("there is no statement %s", args->positional[0]);
    }
    if (code != PR_EXIT_OK) {
        return code;
    }
    json_t *object = console->json ? pr_console_object(rows, 0, file_columns) : NULL;
    if (object == NULL) {
        pr_console_print_one(console, rows, 0, file_columns);
        printf("\n");
    }
    code = pr_recon_print_differences(console, file_id, object);
    pr_params_add_i64(console->params, file_id);
    pr_params_add_bool(console->params, false);
    pr_params_add_null(console->params);
    pr_params_add_i32(console->params, 1000);
    if (object == NULL) {
        printf("\n");
        return code == PR_EXIT_OK
                   ? print(console, PR_SQL_CLI_RECON_ROWS, row_columns, "no bad rows")
                   : code;
    }
    json_t *bad =
        code == PR_EXIT_OK ? array_of(console, PR_SQL_CLI_RECON_ROWS, row_columns, &code) : NULL;
    if (bad != NULL) {
        json_object_set_new(object, "bad_rows", bad);
    }
    pr_console_json(object);
    return code;
}

static int differences(pr_console_t *console, const pr_args_t *args)
{
    const char *status = pr_args_text(args, "status");
    status = status == NULL ? "open" : strcmp(status, "all") == 0 ? NULL : status;
    pr_params_add_text(console->params, pr_args_text(args, "channel"));
    pr_params_add_text(console->params, pr_args_text(args, "class"));
    pr_params_add_text(console->params, status);
    pr_params_add_text(console->params, pr_args_text(args, "merchant"));
    pr_params_add_text(console->params, pr_args_text(args, "order"));
    add_id(console->params, args, "file");
    add_id(console->params, args, "before");
    add_limit(console->params, args);
    return print(console, PR_SQL_CLI_RECON_DIFFERENCES, difference_columns, "no differences");
}

static int bad_rows(pr_console_t *console, const pr_args_t *args)
{
    add_id(console->params, args, "file");
    pr_params_add_bool(console->params, !pr_args_given(args, "all"));
    add_id(console->params, args, "before");
    add_limit(console->params, args);
    return print(console, PR_SQL_CLI_RECON_ROWS, row_columns, "no quarantined rows");
}

static int pool(pr_console_t *console, const pr_args_t *args)
{
    pr_params_add_text(console->params, pr_args_text(args, "channel"));
    add_limit(console->params, args);
    return print(console, PR_SQL_CLI_RECON_POOL, pool_columns, "nothing waits");
}

static int due(pr_console_t *console, const pr_args_t *args)
{
    pr_params_add_text(console->params, pr_args_text(args, "channel"));
    pr_params_add_bool(console->params, !pr_args_given(args, "all"));
    add_limit(console->params, args);
    return print(console, PR_SQL_CLI_RECON_RUNS, due_columns, "no statement is awaited");
}

/* ---- acting ---- */

static int act(pr_console_t *console, const pr_args_t *args, int statement, const char *what,
               const char *done)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    int64_t id = 0;
    int code = pr_console_id(args->positional[0], what, &id);
    if (code != PR_EXIT_OK) {
        return code;
    }
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_i64(console->params, id);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    code = pr_console_query(console, statement, &rows);
    if (code == PR_EXIT_OK && console->json) {
        pr_console_json(json_pack("{s:I, s:s}", "id", (json_int_t)id, "done", done));
    } else if (code == PR_EXIT_OK) {
        printf("%s %" PRId64 " is %s\n", what, id, done);
    }
    return code;
}

static int release(pr_console_t *console, const pr_args_t *args)
{
    return act(console, args, PR_SQL_CLI_RECON_RELEASE, "statement", "released");
}

static int close_file(pr_console_t *console, const pr_args_t *args)
{
    return act(console, args, PR_SQL_CLI_RECON_CLOSE, "statement", "closed");
}

static int close_row(pr_console_t *console, const pr_args_t *args)
{
    return act(console, args, PR_SQL_CLI_RECON_CLOSE_ROW, "row", "closed");
}

static int with_reason(const pr_args_t *args, int (*fn)(pr_console_t *, const pr_args_t *))
{
    const char *reason = pr_args_text(args, "reason");
    if (reason == NULL || reason[0] == '\0') {
        return pr_console_usage("--reason is needed: it is written down");
    }
    return pr_console_with(args, fn);
}

/* ---- the table ---- */

static int do_list(const pr_args_t *args)
{
    return pr_console_with(args, list);
}
static int do_show(const pr_args_t *args)
{
    return pr_console_with(args, show);
}
static int do_differences(const pr_args_t *args)
{
    return pr_console_with(args, differences);
}
static int do_rows(const pr_args_t *args)
{
    return pr_console_with(args, bad_rows);
}
static int do_pool(const pr_args_t *args)
{
    return pr_console_with(args, pool);
}
static int do_due(const pr_args_t *args)
{
    return pr_console_with(args, due);
}
static int do_release(const pr_args_t *args)
{
    return with_reason(args, release);
}
static int do_close(const pr_args_t *args)
{
    return with_reason(args, close_file);
}
static int do_close_row(const pr_args_t *args)
{
    return with_reason(args, close_row);
}

int pr_recon_main(int argc, char **argv)
{
    static const pr_arg_spec_t list_spec = {
        "recon list [OPTION...]", "Statements that came, newest first.", list_options, 0, 0};
    static const pr_arg_spec_t show_spec = {
        "recon show FILE", "One statement: what came of it, its differences, its bad rows.", NULL,
        1, 1};
    static const pr_arg_spec_t differences_spec = {
        "recon differences [OPTION...]", "What differs, newest first, with the task of each.",
        difference_options, 0, 0};
    static const pr_arg_spec_t rows_spec = {
        "recon rows [OPTION...]", "Rows that could not be read, newest first.", rows_options, 0, 0};
    static const pr_arg_spec_t pool_spec = {
        "recon pool [OPTION...]", "What waits for its counterpart at a day's edge, oldest first.",
        pool_options, 0, 0};
    static const pr_arg_spec_t due_spec = {"recon due [OPTION...]",
                                           "Days whose statements are awaited.", due_options, 0, 0};
    static const pr_arg_spec_t release_spec = {
        "recon release FILE --reason TEXT", "Trusts a statement that is held: it is matched next.",
        reason_options, 1, 1};
    static const pr_arg_spec_t close_spec = {
        "recon close FILE --reason TEXT",
        "Gives up a statement that is held: as if it had never come.", reason_options, 1, 1};
    static const pr_arg_spec_t close_row_spec = {"recon close-row ROW --reason TEXT",
                                                 "Ends a row that could not be read.",
                                                 reason_options, 1, 1};
    static const pr_subcommand_t table[] = {
        {"run", &pr_recon_run_spec, pr_recon_run},
        {"list", &list_spec, do_list},
        {"show", &show_spec, do_show},
        {"differences", &differences_spec, do_differences},
        {"rows", &rows_spec, do_rows},
        {"pool", &pool_spec, do_pool},
        {"due", &due_spec, do_due},
        {"release", &release_spec, do_release},
        {"close", &close_spec, do_close},
        {"close-row", &close_row_spec, do_close_row},
        {"set", &pr_recon_set_spec, pr_recon_set},
        {"delivery", &pr_recon_delivery_spec, pr_recon_delivery},
        {NULL, NULL, NULL}};
    return pr_args_group("recon", table, argc, argv);
}
