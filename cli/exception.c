/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/exception.h"

#include "cli/command.h"
#include "cli/door.h"
#include "sql/console.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KINDS "payment|refund|task|difference|quarantine|dead|channel|endpoint"

/* clang-format off */
static const pr_arg_t list_options[] = {
    {"kind", PR_ARG_CHOICE, KINDS, "only of this kind", 0, 0},
    {"merchant-id", PR_ARG_TEXT, "ID", "only this merchant's", 0, 0},
    {"order-no", PR_ARG_TEXT, "TEXT", "only this order's", 0, 0},
    PR_ARG_OF_CHANNEL,
    {"reason", PR_ARG_TEXT, "TEXT", "only for this reason", 0, 0},
    {"overdue", PR_ARG_FLAG, NULL, "only those that have waited for too long", 0, 0},
    PR_ARG_PAGE,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t resolve_options[] = {
    {"kind", PR_ARG_CHOICE, KINDS, "of what kind they are (needed)", 0, 0},
    {"id", PR_ARG_REPEATED, "ID", "which ones (needed); as `exception list` has them", 0, 0},
    {"as", PR_ARG_TEXT, "ACTION", "redrive, close, rerun, poll, enable, resume; succeeded, failed, cancelled, refunded take two people (needed)", 0, 0},
    PR_ARG_REASON_NEEDED,
    {"detail", PR_ARG_TEXT, "JSON", "an object: the evidence, or the result of a test call", 0, 0},
    {"dry-run", PR_ARG_FLAG, NULL, "says what would come of each, and does nothing", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
/* clang-format on */
static const char *const list_fields[] = {"kind",        "id",       "age_s", "overdue", "reason",
                                          "merchant_id", "order_no", "title", NULL};
static const char *const kind_fields[] = {"kind",      "count", "more", "overdue",
                                          "oldest_at", "says",  NULL};
static const char *const result_fields[] = {"id",   "ok",    "says", "approval_id",
                                            "code", "error", NULL};

static int list(pr_console_t *console, const pr_args_t *args)
{
    static const char *const names[] = {"kind",   "merchant-id", "order-no", "channel",
                                        "reason", "limit",       "after",    NULL};
    json_t *arguments = pr_door_arguments(args, names);
    if (pr_args_given(args, "overdue")) {
        json_object_set_new(arguments, "overdue", json_true());
    }
    return pr_door_call(console, &pr_sql_console[PR_SQL_CONSOLE_EXCEPTIONS_LIST], arguments,
                        list_fields, "nothing waits for a person");
}

static int summary(pr_console_t *console, const pr_args_t *args)
{
    (void)args;
    json_t *answer = NULL;
    int code = pr_console_door(console, &pr_sql_console[PR_SQL_CONSOLE_EXCEPTIONS_SUMMARY],
                               json_object(), &answer);
    if (code == PR_EXIT_OK) {
        pr_door_print(console, console->json ? answer : json_object_get(answer, "kinds"),
                      kind_fields, "");
    }
    json_decref(answer);
    return code;
}

/* Prints the results; 1 when any was refused. */
static int print_results(const pr_console_t *console, const json_t *answer)
{
    int64_t done = json_integer_value(json_object_get(answer, "done"));
    int64_t refused = json_integer_value(json_object_get(answer, "refused"));
    pr_door_print(console, console->json ? answer : json_object_get(answer, "results"),
                  result_fields, "");
    if (!console->json) {
        bool dry = json_is_true(json_object_get(answer, "dry_run"));
        printf("%" PRId64 " %s, %" PRId64 " refused\n", done, dry ? "would be done" : "done",
               refused);
    }
    return refused == 0 ? PR_EXIT_OK : PR_EXIT_FAILED;
}

static int resolve(pr_console_t *console, const pr_args_t *args)
{
    const char *detail = pr_args_text(args, "detail");
    json_t *known = detail != NULL ? json_loads(detail, 0, NULL) : NULL;
    if (detail != NULL && !json_is_object(known)) {
        json_decref(known);
        return pr_console_usage("--detail is not a JSON object");
    }
    json_t *ids = json_array();
    const pr_arg_value_t *given = pr_args_get(args, "id");
    for (int i = 0; i < given->count; i++) {
        json_array_append_new(ids, json_string(given->items[i]));
    }
    json_t *arguments =
        json_pack("{s:s, s:o, s:s, s:s, s:b, s:o*}", "kind", pr_args_text(args, "kind"), "ids", ids,
                  "action", pr_args_text(args, "as"), "reason", pr_args_text(args, "reason"),
                  "dry_run", pr_args_given(args, "dry-run"), "detail", known);
    json_t *answer = NULL;
    int code = pr_console_door(console, &pr_sql_console[PR_SQL_CONSOLE_EXCEPTIONS_RESOLVE],
                               arguments, &answer);
    if (code == PR_EXIT_OK) {
        code = print_results(console, answer);
    }
    json_decref(answer);
    return code;
}

static int exception_list(const pr_args_t *args)
{
    return pr_console_with(args, list);
}

static int exception_summary(const pr_args_t *args)
{
    return pr_console_with(args, summary);
}

static int exception_resolve(const pr_args_t *args)
{
    static const char *const needed[] = {"kind", "id", "as", "reason", NULL};
    for (const char *const *name = needed; *name != NULL; name++) {
        if (!pr_args_given(args, *name)) {
            return pr_console_usage("--%s is needed", *name);
        }
    }
    return pr_console_with(args, resolve);
}

int pr_exception_main(int argc, char **argv)
{
    static const pr_arg_spec_t list_spec = {
        "exception list [OPTION...]",
        "What waits for a person, oldest first: payments, refunds, tasks, differences, rows of "
        "statements, dead letters, stopped channels, endpoints that are switched off.",
        list_options, 0, 0};
    static const pr_arg_spec_t summary_spec = {
        "exception summary", "How many wait of each kind, and how many for too long.", NULL, 0, 0};
    static const pr_arg_spec_t resolve_spec = {
        "exception resolve --kind KIND --id ID... --as ACTION --reason TEXT [OPTION...]",
        "Ends one or many, each by itself and with its own result. Exit 1: some were refused.",
        resolve_options, 0, 0};
    static const pr_subcommand_t table[] = {{"list", &list_spec, exception_list},
                                            {"summary", &summary_spec, exception_summary},
                                            {"resolve", &resolve_spec, exception_resolve},
                                            {NULL, NULL, NULL}};
    return pr_args_group("exception", table, argc, argv);
}
