/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/endpoint.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "sql/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX 100000

/* clang-format off */
const pr_column_t pr_endpoint_columns[] = {
    {"endpoint_id", PR_COLUMN_I64, false}, {"merchant_id", PR_COLUMN_TEXT, false},
    {"name", PR_COLUMN_TEXT, false}, {"url", PR_COLUMN_TEXT, false},
    {"events", PR_COLUMN_LIST, false}, {"scheme", PR_COLUMN_TEXT, false},
    {"success_rule", PR_COLUMN_TEXT, true}, {"retry", PR_COLUMN_TEXT, true},
    {"max_age_ms", PR_COLUMN_I64, true}, {"concurrency", PR_COLUMN_I32, true},
    {"rate_per_s", PR_COLUMN_REAL, true}, {"headers", PR_COLUMN_LIST, true},
    {"private_ca", PR_COLUMN_BOOL, true}, {"egress", PR_COLUMN_TEXT, true},
    {"http2", PR_COLUMN_BOOL, true}, {"state", PR_COLUMN_TEXT, false},
    {"state_reason", PR_COLUMN_TEXT, false}, {"state_at", PR_COLUMN_TIME, true},
    {"forced", PR_COLUMN_TEXT, false}, {"rotate_until", PR_COLUMN_TIME, true},
    {NULL, PR_COLUMN_NONE, false},
};
static const pr_arg_t list_options[] = {
    PR_ARG_OF_MERCHANT,
    {"state", PR_ARG_CHOICE, "active|disabled", "only those in this state", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t reason_options[] = {
    PR_ARG_REASON_NEEDED,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
/* clang-format on */

int pr_endpoint_rows(pr_console_t *console, const char *merchant_id, const char *state,
                     pr_rows_t **rows)
{
    pr_params_add_text(console->params, merchant_id);
    pr_params_add_text(console->params, state);
    pr_params_add_i32(console->params, LIST_MAX);
    return pr_console_query(console, PR_SQL_CLI_ENDPOINT_LIST, rows);
}

int pr_endpoint_find(pr_console_t *console, const char *merchant_id, const char *name,
                     int64_t *endpoint_id)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(console->params, merchant_id);
    pr_params_add_text(console->params, name);
    int code = pr_console_query(console, PR_SQL_CLI_ENDPOINT_FIND, &rows);
    if (code == PR_EXIT_OK && pr_rows_count(rows) == 0) {
        return pr_console_failed("merchant %s has no endpoint \"%s\"; `postrider endpoint list` "
                                 "shows all",
                                 merchant_id, name);
    }
    if (code == PR_EXIT_OK) {
        *endpoint_id = pr_rows_i64(rows, 0, 0);
    }
    return code;
}

int pr_endpoint_resolve(pr_console_t *console, const char *text, int64_t *endpoint_id)
{
    char *end = NULL;
    errno = 0;
    int64_t number = strtoll(text, &end, 10);
    if (end != text && *end == '\0') {
        if (errno != 0 || number == 0) {
            return pr_console_usage("\"%s\" is no endpoint's id", text);
        }
        *endpoint_id = number;
        return PR_EXIT_OK;
    }
    const char *slash = strchr(text, '/');
    if (slash == NULL) {
        return pr_endpoint_find(console, text, "default", endpoint_id);
    }
    PR_CLEANUP_FREE char *merchant_id = pr_strndup(text, (size_t)(slash - text));
    return pr_endpoint_find(console, merchant_id, slash + 1, endpoint_id);
}

static int endpoint_list(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code != PR_EXIT_OK) {
        return code;
    }
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    code = pr_endpoint_rows(&console, pr_args_text(args, "merchant"), pr_args_text(args, "state"),
                            &rows);
    if (code == PR_EXIT_OK) {
        pr_console_print(&console, rows, pr_endpoint_columns, "no endpoints");
    }
    pr_console_close(&console);
    return code;
}

static int change_state(pr_console_t *console, const pr_args_t *args, bool enable)
{
    int64_t endpoint_id = 0;
    int code = pr_endpoint_resolve(console, args->positional[0], &endpoint_id);
    if (code != PR_EXIT_OK) {
        return code;
    }
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_i64(console->params, endpoint_id);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    code = pr_console_query(
        console, enable ? PR_SQL_CLI_ENDPOINT_ENABLE : PR_SQL_CLI_ENDPOINT_DISABLE, &rows);
    if (code != PR_EXIT_OK) {
        return code;
    }
    bool changed = pr_rows_bool(rows, 0, 0);
    const char *state = enable ? "active" : "disabled";
    if (console->json) {
        pr_console_json(json_pack("{s:I, s:s, s:b}", "endpoint_id", (json_int_t)endpoint_id,
                                  "state", state, "changed", (int)changed));
    } else {
        printf("endpoint %" PRId64 " %s %s\n", endpoint_id, changed ? "is now" : "was already",
               state);
    }
    return code;
}

static int change(const pr_args_t *args, bool enable)
{
    const char *reason = pr_args_text(args, "reason");
    if (reason == NULL || reason[0] == '\0') {
        return pr_console_usage("--reason is needed: the audit asks why");
    }
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code == PR_EXIT_OK) {
        code = change_state(&console, args, enable);
        pr_console_close(&console);
    }
    return code;
}

static int endpoint_enable(const pr_args_t *args)
{
    return change(args, true);
}

static int endpoint_disable(const pr_args_t *args)
{
    return change(args, false);
}

int pr_endpoint_main(int argc, char **argv)
{
    static const pr_arg_spec_t list = {"endpoint list [OPTION...]",
                                       "Endpoints and their settings; never a secret.",
                                       list_options, 0, 0};
    static const pr_arg_spec_t enable = {"endpoint enable ID|MERCHANT/NAME --reason TEXT",
                                         "Lets its jobs go again, at a limited rate.",
                                         reason_options, 1, 1};
    static const pr_arg_spec_t disable = {"endpoint disable ID|MERCHANT/NAME --reason TEXT",
                                          "Holds its jobs; those older than max_age die.",
                                          reason_options, 1, 1};
    static const pr_subcommand_t table[] = {{"list", &list, endpoint_list},
                                            {"enable", &enable, endpoint_enable},
                                            {"disable", &disable, endpoint_disable},
                                            {NULL, NULL, NULL}};
    return pr_args_group("endpoint", table, argc, argv);
}
