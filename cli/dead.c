/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider dead: deliveries that will not be tried again, until a person says so. A redrive keeps
 * id and bytes, begins the retry list anew, and goes on counting attempts.
 */
#include "cli/dead.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/duration.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/endpoint.h"
#include "cli/notification.h"
#include "sql/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REDRIVE_BATCH 1000 /* letters of one transaction */
#define CLOSE_MAX 100000000

/* clang-format off */
#define FILTER_OPTIONS \
    PR_ARG_OF_MERCHANT, \
    {"endpoint", PR_ARG_TEXT, "ID|MERCHANT/NAME", "only this endpoint's", 0, 0}, \
    {"order", PR_ARG_TEXT, "ORDER_NO", "only this order's", 0, 0}, \
    {"died-of", PR_ARG_CHOICE, "retries_exhausted|expired|rejected", "only those that died of this", 0, 0}

static const pr_arg_t list_options[] = {
    FILTER_OPTIONS,
    {"state", PR_ARG_CHOICE, "open|redriven|closed|all", "in which state (default open)", 0, 0},
    PR_ARG_LIMIT(100000),
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t redrive_options[] = {
    FILTER_OPTIONS,
    {"event", PR_ARG_TEXT, "EVENT", "only of this event", 0, 0},
    {"since", PR_ARG_TEXT, "TIME", "dead since: RFC 3339, or a duration ago such as 2h", 0, 0},
    {"until", PR_ARG_TEXT, "TIME", "dead before", 0, 0},
    {"all", PR_ARG_FLAG, NULL, "all open ones", 0, 0},
    {"rate", PR_ARG_REAL, "N", "so many per second; the dead-letter actor feeds them, also after this command has ended", 0.001, 1000000},
    {"dry-run", PR_ARG_FLAG, NULL, "only count", 0, 0},
    PR_ARG_REASON,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t close_options[] = {
    FILTER_OPTIONS,
    {"event", PR_ARG_TEXT, "EVENT", "only of this event", 0, 0},
    {"since", PR_ARG_TEXT, "TIME", "dead since: RFC 3339, or a duration ago such as 2h", 0, 0},
    {"until", PR_ARG_TEXT, "TIME", "dead before", 0, 0},
    {"all", PR_ARG_FLAG, NULL, "all open ones", 0, 0},
    {"dry-run", PR_ARG_FLAG, NULL, "only count", 0, 0},
    {"reason", PR_ARG_TEXT, "TEXT", "why nobody will be told (needed)", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};

static const pr_column_t columns[] = {
    {"notify_id", PR_COLUMN_UUID, false}, {"endpoint_id", PR_COLUMN_I64, false},
    {"merchant_id", PR_COLUMN_TEXT, false}, {"order_no", PR_COLUMN_TEXT, false},
    {"event", PR_COLUMN_TEXT, false}, {"priority", PR_COLUMN_I32, true},
    {"died_of", PR_COLUMN_TEXT, false}, {"attempts", PR_COLUMN_I32, false},
    {"dead_at", PR_COLUMN_TIME, false}, {"state", PR_COLUMN_TEXT, false},
    {"closed_by", PR_COLUMN_TEXT, true}, {"closed_reason", PR_COLUMN_TEXT, true},
    {"closed_at", PR_COLUMN_TIME, true}, {"notify_url", PR_COLUMN_TEXT, true},
    {"last_http_code", PR_COLUMN_I32, false}, {"last_error", PR_COLUMN_TEXT, false},
    {NULL, PR_COLUMN_NONE, false},
};
/* clang-format on */

/* ---- list, show ---- */

static int list_letters(pr_console_t *console, const pr_args_t *args)
{
    int64_t endpoint_id = 0;
    const char *endpoint = pr_args_text(args, "endpoint");
    const char *state = pr_args_text(args, "state");
    if (endpoint != NULL) {
        int code = pr_endpoint_resolve(console, endpoint, &endpoint_id);
        if (code != PR_EXIT_OK) {
            return code;
        }
    }
    pr_params_t *params = console->params;
    state = state == NULL ? "open" : strcmp(state, "all") == 0 ? NULL : state;
    pr_params_add_text(params, state);
    pr_params_add_text(params, pr_args_text(args, "merchant"));
    pr_params_add_text(params, pr_args_text(args, "order"));
    pr_params_add_text(params, pr_args_text(args, "died-of"));
    if (endpoint != NULL) {
        pr_params_add_i64(params, endpoint_id);
    } else {
        pr_params_add_null(params);
    }
    const pr_arg_value_t *limit = pr_args_get(args, "limit");
    pr_params_add_i32(params, limit->given ? (int32_t)limit->integer : 100);
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    int code = pr_console_query(console, PR_SQL_CLI_DEAD_LIST, &rows);
    if (code == PR_EXIT_OK) {
        pr_console_print(console, rows, columns, "no dead letters");
    }
    return code;
}

static int dead_list(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code == PR_EXIT_OK) {
        code = list_letters(&console, args);
        pr_console_close(&console);
    }
    return code;
}

static int dead_show(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code == PR_EXIT_OK) {
        code = pr_notification_show(&console, args->positional[0]);
        pr_console_close(&console);
    }
    return code;
}

/* ---- which ones ---- */

/* "2h" becomes the time two hours ago; everything else is left to the database to judge. */
static void put_time(json_t *filter, const char *key, const char *text)
{
    int64_t ago_ms = 0;
    char absolute[PR_CONSOLE_TIME_MAX];
    if (pr_duration_parse(text, strlen(text), &ago_ms)) {
        pr_console_time(pr_clock_wall_us() - ago_ms * 1000, absolute);
        text = absolute;
    }
    json_object_set_new(filter, key, json_string(text));
}

static void put_text(json_t *filter, const char *key, const pr_args_t *args, const char *option)
{
    if (pr_args_given(args, option)) {
        json_object_set_new(filter, key, json_string(pr_args_text(args, option)));
    }
}

/* The filter as the database takes it, in *text, the caller's. */
static int make_filter(pr_console_t *console, const pr_args_t *args, char **text)
{
    json_t *filter = json_object();
    int code = PR_EXIT_OK;
    put_text(filter, "merchant_id", args, "merchant");
    put_text(filter, "order_no", args, "order");
    put_text(filter, "reason", args, "died-of");
    put_text(filter, "event", args, "event");
    if (pr_args_given(args, "since")) {
        put_time(filter, "since", pr_args_text(args, "since"));
    }
    if (pr_args_given(args, "until")) {
        put_time(filter, "until", pr_args_text(args, "until"));
    }
    if (args->positional_count > 0) {
        json_object_set_new(filter, "notify_id", json_string(args->positional[0]));
    }
    if (pr_args_given(args, "endpoint")) {
        int64_t endpoint_id = 0;
        code = pr_endpoint_resolve(console, pr_args_text(args, "endpoint"), &endpoint_id);
        json_object_set_new(filter, "endpoint_id", json_integer(endpoint_id));
    }
    size_t len = json_dumpb(filter, NULL, 0, JSON_COMPACT);
    *text = pr_calloc(len + 1, 1);
    json_dumpb(filter, *text, len, JSON_COMPACT);
    json_decref(filter);
    return code;
}

/* "All" must be said: a filter that was forgotten would drive everything. */
static int check_scope(const pr_args_t *args)
{
    static const char *const filters[] = {"merchant", "endpoint", "order", "died-of",
                                          "event",    "since",    "until"};
    bool named = args->positional_count > 0;
    for (size_t i = 0; i < PR_COUNT(filters); i++) {
        named = named || pr_args_given(args, filters[i]);
    }
    bool all = pr_args_given(args, "all");
    if (named == all) {
        return pr_console_usage(all ? "--all and a filter exclude each other"
                                    : "which ones? A NOTIFY_ID, a filter such as --merchant, or "
                                      "--all");
    }
    return PR_EXIT_OK;
}

/* ---- redrive, close ---- */

static int redrive_batch(pr_console_t *console, const pr_args_t *args, const char *filter,
                         int32_t most, bool dry_run, int64_t *count)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    pr_params_add_text(console->params, filter);
    pr_params_add_i32(console->params, most);
    pr_params_add_bool(console->params, dry_run);
    int code = pr_console_query(console, PR_SQL_CLI_DEAD_REDRIVE, &rows);
    *count = code == PR_EXIT_OK ? pr_rows_i64(rows, 0, 0) : 0;
    return code;
}

static int print_count(const pr_console_t *console, const char *key, const char *verb,
                       int64_t count)
{
    if (console->json) {
        pr_console_json(json_pack("{s:I}", key, (json_int_t)count));
    } else {
        printf("%" PRId64 " dead letter%s %s\n", count, count == 1 ? "" : "s", verb);
    }
    return PR_EXIT_OK;
}

static int count_matching(pr_console_t *console, const pr_args_t *args, const char *filter)
{
    int64_t count = 0;
    int code = redrive_batch(console, args, filter, CLOSE_MAX, true, &count);
    return code == PR_EXIT_OK
               ? print_count(console, "matching", "match; nothing was changed", count)
               : code;
}

/* In small transactions, oldest first, as many as there are now: one that dies again meanwhile is
 * the newest, so it is not driven twice. */
static int redrive_now(pr_console_t *console, const pr_args_t *args, const char *filter)
{
    int64_t left = 0, total = 0, count = 0;
    int code = redrive_batch(console, args, filter, CLOSE_MAX, true, &left);
    while (code == PR_EXIT_OK && left > 0) {
        int32_t most = left < REDRIVE_BATCH ? (int32_t)left : REDRIVE_BATCH;
        code = redrive_batch(console, args, filter, most, false, &count);
        total += count;
        left = count == most ? left - count : 0;
    }
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (total == 0 && args->positional_count > 0) {
        return pr_console_failed("no open dead letter of notification %s", args->positional[0]);
    }
    return print_count(console, "redriven", "driven again", total);
}

static int order_redrive(pr_console_t *console, const pr_args_t *args, const char *filter)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    pr_params_add_text(console->params, filter);
    pr_params_add_f64(console->params, pr_args_get(args, "rate")->real);
    int code = pr_console_query(console, PR_SQL_CLI_DEAD_REDRIVE_RATE, &rows);
    if (code != PR_EXIT_OK) {
        return code;
    }
    int64_t order = pr_rows_i64(rows, 0, 0), matching = pr_rows_i64(rows, 0, 1);
    if (console->json) {
        pr_console_json(
            json_pack("{s:I, s:I}", "order", (json_int_t)order, "matching", (json_int_t)matching));
    } else {
        printf("order %" PRId64 ": %" PRId64 " dead letters, %g per second, fed by dead-letter\n",
               order, matching, pr_args_get(args, "rate")->real);
    }
    return code;
}

static int redrive(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP_FREE char *filter = NULL;
    int code = make_filter(console, args, &filter);
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (pr_args_given(args, "dry-run")) {
        return count_matching(console, args, filter);
    }
    return pr_args_given(args, "rate") ? order_redrive(console, args, filter)
                                       : redrive_now(console, args, filter);
}

static int close_letters(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP_FREE char *filter = NULL;
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    int code = make_filter(console, args, &filter);
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (pr_args_given(args, "dry-run")) {
        return count_matching(console, args, filter);
    }
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    pr_params_add_text(console->params, filter);
    pr_params_add_i32(console->params, CLOSE_MAX);
    code = pr_console_query(console, PR_SQL_CLI_DEAD_CLOSE, &rows);
    if (code != PR_EXIT_OK) {
        return code;
    }
    int64_t count = pr_rows_i64(rows, 0, 0);
    if (count == 0 && args->positional_count > 0) {
        return pr_console_failed("no open dead letter of notification %s", args->positional[0]);
    }
    return print_count(console, "closed", "closed", count);
}

static int with_scope(const pr_args_t *args, int (*fn)(pr_console_t *, const pr_args_t *))
{
    int code = check_scope(args);
    pr_console_t console;
    if (code == PR_EXIT_OK) {
        code = pr_console_open(&console, args);
    }
    if (code == PR_EXIT_OK) {
        code = fn(&console, args);
        pr_console_close(&console);
    }
    return code;
}

static int dead_redrive(const pr_args_t *args)
{
    return with_scope(args, redrive);
}

static int dead_close(const pr_args_t *args)
{
    const char *reason = pr_args_text(args, "reason");
    if (!pr_args_given(args, "dry-run") && (reason == NULL || reason[0] == '\0')) {
        return pr_console_usage("--reason is needed: why nobody will be told");
    }
    return with_scope(args, close_letters);
}

int pr_dead_main(int argc, char **argv)
{
    static const pr_arg_spec_t list = {"dead list [OPTION...]", "Dead letters, newest first.",
                                       list_options, 0, 0};
    static const pr_arg_spec_t show = {
        "dead show NOTIFY_ID", "Where its deliveries stand, and every attempt.", NULL, 1, 1};
    static const pr_arg_spec_t redrive_spec = {
        "dead redrive NOTIFY_ID|FILTER...|--all [OPTION...]",
        "Drives dead letters again: same id, same bytes, fresh retry list, attempt numbers go on.",
        redrive_options, 0, 1};
    static const pr_arg_spec_t close_spec = {"dead close NOTIFY_ID|FILTER...|--all --reason TEXT",
                                             "Gives dead letters up: nobody will be told.",
                                             close_options, 0, 1};
    static const pr_subcommand_t table[] = {{"list", &list, dead_list},
                                            {"show", &show, dead_show},
                                            {"redrive", &redrive_spec, dead_redrive},
                                            {"close", &close_spec, dead_close},
                                            {NULL, NULL, NULL}};
    return pr_args_group("dead", table, argc, argv);
}
