/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider merchant: who is told, where, and how. Each change goes through a function of the
 * database that also writes the audit; the schedulers act on it within 2 s.
 */
#include "cli/merchant.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/endpoint.h"
#include "cli/merchant_secret.h"
#include "cli/merchant_settings.h"
#include "cli/notification.h"
#include "cli/plain_http.h"
#include "sql/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS (24.0 * 3600 * 1000)

/* clang-format off */
static const pr_arg_t add_options[] = {
    {"url", PR_ARG_TEXT, "URL", "where notifications go (needed)", 0, 0},
    {"secret", PR_ARG_TEXT, "FILE", "file with the signing secret, - for standard input; without it one is made and shown once", 0, 0},
    {"tier", PR_ARG_CHOICE, "vip|normal|small", "its class of service (default normal)", 0, 0},
    {"email", PR_ARG_TEXT, "ADDRESS", "whom to write to", 0, 0},
    {"endpoint", PR_ARG_TEXT, "NAME", "the endpoint's name (default \"default\"); of a known merchant: one more endpoint", 0, 0},
    PR_ENDPOINT_OPTIONS,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t set_options[] = {
    {"tier", PR_ARG_CHOICE, "vip|normal|small", "its class of service", 0, 0},
    {"email", PR_ARG_TEXT, "ADDRESS", "whom to write to; \"\" removes it", 0, 0},
    {"endpoint", PR_ARG_TEXT, "NAME", "whose settings follow (default \"default\")", 0, 0},
    {"url", PR_ARG_TEXT, "URL", "where notifications go", 0, 0},
    PR_ARG_REASON,
    PR_ENDPOINT_OPTIONS,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t list_options[] = {
    {"after", PR_ARG_TEXT, "ID", "begin behind this merchant", 0, 0},
    {"limit", PR_ARG_INT, "N", "at most so many (default 1000)", 1, 100000},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t rotate_options[] = {
    {"endpoint", PR_ARG_TEXT, "NAME", "whose secret (default \"default\")", 0, 0},
    {"secret", PR_ARG_TEXT, "FILE", "file with the new secret, - for standard input; without it one is made and shown once", 0, 0},
    {"overlap", PR_ARG_DURATION, "D", "how long both count (default 24h); 0: the old one ends now", 0, 90 * DAY_MS},
    PR_ARG_REASON,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t test_options[] = {
    {"wait", PR_ARG_DURATION, "D", "how long to wait for the outcome (default 15s)", 0, 3600000},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};

static const pr_column_t list_columns[] = {
    {"merchant_id", PR_COLUMN_TEXT, false}, {"tier", PR_COLUMN_TEXT, false},
    {"email", PR_COLUMN_TEXT, false}, {"endpoints", PR_COLUMN_I32, false},
    {"disabled", PR_COLUMN_I32, false}, {"created_at", PR_COLUMN_TIME, false},
    {NULL, PR_COLUMN_NONE, false},
};
static const pr_column_t show_columns[] = {
    {"merchant_id", PR_COLUMN_TEXT, false}, {"tier", PR_COLUMN_TEXT, false},
    {"email", PR_COLUMN_TEXT, false}, {"shard", PR_COLUMN_I16, false},
    {"created_at", PR_COLUMN_TIME, false}, {NULL, PR_COLUMN_NONE, false},
};
/* clang-format on */

static void warn_if_refused(const pr_console_t *console, const char *text)
{
    if (text == NULL || !pr_plain_http_refused(console, text)) {
        return;
    }
    fputs(
        "postrider: warning: deliveries to an http:// URL are refused: use https://, or allow\n"
        "plain HTTP (http.allow_plain: true, or POSTRIDER_HTTP_ALLOW_PLAIN=true) and restart the\n"
        "notifiers\n",
        stderr);
}

/* Whether the merchant is known: *known. */
static int look_up(pr_console_t *console, const char *merchant_id, bool *known)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(console->params, merchant_id);
    int code = pr_console_query(console, PR_SQL_CLI_MERCHANT_SHOW, &rows);
    *known = code == PR_EXIT_OK && pr_rows_count(rows) == 1;
    return code;
}

static void print_added(const pr_console_t *console, const char *merchant_id, int64_t endpoint_id,
                        const pr_cli_secret_t *secret)
{
    const char *name = secret->is_public ? "public_key" : "secret";
    if (console->json) {
        json_t *object = json_pack("{s:s, s:I}", "merchant_id", merchant_id, "endpoint_id",
                                   (json_int_t)endpoint_id);
        if (secret->shown[0] != '\0') {
            json_object_set_new(object, name, json_string(secret->shown));
        }
        pr_console_json(object);
        return;
    }
    printf("merchant %s: endpoint %" PRId64 "\n", merchant_id, endpoint_id);
    if (secret->is_public) {
        printf("public key, for the merchant: %s\n", secret->shown);
    } else if (secret->made) {
        printf("secret, for the merchant; shown this once: %s\n", secret->shown);
    }
}

static int insert(pr_console_t *console, const pr_args_t *args, bool known, json_t *settings,
                  const pr_cli_secret_t *secret)
{
    const char *id = args->positional[0], *name = pr_args_text(args, "endpoint");
    pr_params_t *params = console->params;
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    PR_CLEANUP_FREE char *text = NULL;
    size_t len = json_dumpb(settings, NULL, 0, JSON_COMPACT);
    text = pr_calloc(len + 1, 1);
    json_dumpb(settings, text, len, JSON_COMPACT);
    pr_params_add_text(params, console->operator_name);
    pr_params_add_text(params, id);
    if (known) {
        pr_params_add_text(params, name);
    } else {
        pr_params_add_text(params, pr_args_text(args, "tier"));
        pr_params_add_text(params, pr_args_text(args, "email"));
    }
    pr_params_add_text(params, pr_args_text(args, "url"));
    pr_params_add_bytes(params, pr_buffer_bytes(&secret->sealed));
    pr_params_add_text(params, text);
    if (!known) {
        pr_params_add_text(params, name != NULL ? name : "default");
    }
    int code =
        pr_console_query(console, known ? PR_SQL_CLI_ENDPOINT_ADD : PR_SQL_CLI_MERCHANT_ADD, &rows);
    if (code == PR_EXIT_OK) {
        print_added(console, id, pr_rows_i64(rows, 0, 0), secret);
        warn_if_refused(console, pr_args_text(args, "url"));
    }
    return code;
}

static int add_with_settings(pr_console_t *console, const pr_args_t *args, json_t *settings)
{
    const char *id = args->positional[0];
    bool known = false;
    int code = look_up(console, id, &known);
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (known && !pr_args_given(args, "endpoint")) {
        return pr_console_failed("merchant %s is known already: --endpoint NAME adds an address, "
                                 "`postrider merchant set %s` changes it",
                                 id, id);
    }
    if (known && (pr_args_given(args, "tier") || pr_args_given(args, "email"))) {
        return pr_console_usage(
            "merchant %s is known: `postrider merchant set %s` changes tier and "
            "email",
            id, id);
    }
    const char *scheme = pr_args_text(args, "scheme");
    pr_cli_secret_t secret;
    code = pr_cli_secret_get(&secret, console, id, scheme != NULL ? scheme : "postrider",
                             pr_args_text(args, "secret"));
    if (code == PR_EXIT_OK) {
        code = insert(console, args, known, settings, &secret);
    }
    pr_cli_secret_wipe(&secret);
    return code;
}

static int merchant_add(const pr_args_t *args)
{
    if (!pr_args_given(args, "url")) {
        return pr_console_usage("--url is needed: where %s is to be told", args->positional[0]);
    }
    json_t *settings = NULL;
    int code = pr_endpoint_settings(args, &settings);
    pr_console_t console = {0};
    if (code == PR_EXIT_OK) {
        code = pr_console_open(&console, args);
    }
    if (code == PR_EXIT_OK) {
        code = add_with_settings(&console, args, settings);
    }
    pr_console_close(&console);
    json_decref(settings);
    return code;
}

static int merchant_list(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code != PR_EXIT_OK) {
        return code;
    }
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    const char *after = pr_args_text(args, "after");
    pr_params_add_text(console.params, after != NULL ? after : "");
    pr_params_add_i32(console.params, pr_args_given(args, "limit")
                                          ? (int32_t)pr_args_get(args, "limit")->integer
                                          : 1000);
    code = pr_console_query(&console, PR_SQL_CLI_MERCHANT_LIST, &rows);
    if (code == PR_EXIT_OK) {
        pr_console_print(&console, rows, list_columns, "no merchants");
    }
    pr_console_close(&console);
    return code;
}

static int print_merchant(pr_console_t *console, const char *id)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    PR_CLEANUP(pr_rows) pr_rows_t *endpoints = NULL;
    pr_params_add_text(console->params, id);
    int code = pr_console_query(console, PR_SQL_CLI_MERCHANT_SHOW, &rows);
    if (code == PR_EXIT_OK && pr_rows_count(rows) == 0) {
        return pr_console_failed("merchant %s is not known; `postrider merchant list` shows those "
                                 "that are",
                                 id);
    }
    if (code == PR_EXIT_OK) {
        code = pr_endpoint_rows(console, id, NULL, &endpoints);
    }
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (console->json) {
        json_t *object = pr_console_object(rows, 0, show_columns);
        json_object_set_new(object, "endpoints", pr_console_array(endpoints, pr_endpoint_columns));
        pr_console_json(object);
        return code;
    }
    pr_console_print_one(console, rows, 0, show_columns);
    for (int row = 0; row < pr_rows_count(endpoints); row++) {
        putchar('\n');
        pr_console_print_one(console, endpoints, row, pr_endpoint_columns);
    }
    return code;
}

static int merchant_show(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code == PR_EXIT_OK) {
        code = print_merchant(&console, args->positional[0]);
        pr_console_close(&console);
    }
    return code;
}

/* ---- set ---- */

static int set_merchant(pr_console_t *console, const pr_args_t *args)
{
    json_t *settings = json_object();
    const char *email = pr_args_text(args, "email");
    if (pr_args_given(args, "tier")) {
        json_object_set_new(settings, "tier", json_string(pr_args_text(args, "tier")));
    }
    if (email != NULL) {
        json_object_set_new(settings, "email", email[0] != '\0' ? json_string(email) : json_null());
    }
    char text[1024] = "";
    size_t len = json_dumpb(settings, text, sizeof text - 1, JSON_COMPACT);
    json_decref(settings);
    if (len >= sizeof text) {
        return pr_console_usage("--email is too long");
    }
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_text(console->params, args->positional[0]);
    pr_params_add_text(console->params, text);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    return pr_console_query(console, PR_SQL_CLI_MERCHANT_SET, NULL);
}

static int set_endpoint(pr_console_t *console, const pr_args_t *args, const json_t *settings)
{
    const char *name = pr_args_text(args, "endpoint");
    int64_t endpoint_id = 0;
    int code = pr_endpoint_find(console, args->positional[0], name != NULL ? name : "default",
                                &endpoint_id);
    if (code != PR_EXIT_OK) {
        return code;
    }
    size_t len = json_dumpb(settings, NULL, 0, JSON_COMPACT);
    PR_CLEANUP_FREE char *text = pr_calloc(len + 1, 1);
    json_dumpb(settings, text, len, JSON_COMPACT);
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_i64(console->params, endpoint_id);
    pr_params_add_text(console->params, text);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    return pr_console_query(console, PR_SQL_CLI_ENDPOINT_SET, NULL);
}

static int merchant_set(const pr_args_t *args)
{
    json_t *settings = NULL;
    int code = pr_endpoint_settings(args, &settings);
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (pr_args_given(args, "url")) {
        json_object_set_new(settings, "url", json_string(pr_args_text(args, "url")));
    }
    bool of_merchant = pr_args_given(args, "tier") || pr_args_given(args, "email");
    bool of_endpoint = json_object_size(settings) > 0;
    pr_console_t console = {0};
    if (!of_merchant && !of_endpoint) {
        code = pr_console_usage("nothing to set; --help lists what can be");
    } else {
        code = pr_console_open(&console, args);
    }
    if (code == PR_EXIT_OK && of_merchant) {
        code = set_merchant(&console, args);
    }
    if (code == PR_EXIT_OK && of_endpoint) {
        code = set_endpoint(&console, args, settings);
    }
    if (code == PR_EXIT_OK) {
        code = print_merchant(&console, args->positional[0]);
        warn_if_refused(&console, pr_args_text(args, "url"));
    }
    pr_console_close(&console);
    json_decref(settings);
    return code;
}

/* ---- rotate-secret ---- */

/* The endpoint's id and scheme by merchant and name. */
static int find_scheme(pr_console_t *console, const pr_args_t *args, int64_t *endpoint_id,
                       char scheme[32])
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    const char *name = pr_args_text(args, "endpoint");
    int code = pr_endpoint_find(console, args->positional[0], name != NULL ? name : "default",
                                endpoint_id);
    if (code == PR_EXIT_OK) {
        code = pr_endpoint_rows(console, args->positional[0], NULL, &rows);
    }
    for (int row = 0; code == PR_EXIT_OK && row < pr_rows_count(rows); row++) {
        if (pr_rows_i64(rows, row, 0) == *endpoint_id) {
            snprintf(scheme, 32, "%s", pr_rows_text(rows, row, 5));
        }
    }
    return code;
}

static int rotate(pr_console_t *console, const pr_args_t *args, int64_t endpoint_id,
                  const pr_cli_secret_t *secret)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    const pr_arg_value_t *overlap = pr_args_get(args, "overlap");
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_i64(console->params, endpoint_id);
    pr_params_add_bytes(console->params, pr_buffer_bytes(&secret->sealed));
    pr_params_add_i64(console->params, overlap->given ? overlap->integer : (int64_t)DAY_MS);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    int code = pr_console_query(console, PR_SQL_CLI_ENDPOINT_ROTATE_SECRET, &rows);
    if (code != PR_EXIT_OK) {
        return code;
    }
    char until[PR_CONSOLE_TIME_MAX];
    pr_console_time(pr_rows_time_us(rows, 0, 0), until);
    if (console->json) {
        json_t *object = json_pack("{s:s, s:I, s:s}", "merchant_id", args->positional[0],
                                   "endpoint_id", (json_int_t)endpoint_id, "old_until", until);
        if (secret->shown[0] != '\0') {
            json_object_set_new(object, secret->is_public ? "public_key" : "secret",
                                json_string(secret->shown));
        }
        pr_console_json(object);
        return code;
    }
    printf("endpoint %" PRId64 ": the old secret counts until %s\n", endpoint_id, until);
    if (secret->shown[0] != '\0') {
        printf("%s, for the merchant%s: %s\n", secret->is_public ? "public key" : "secret",
               secret->is_public ? "" : "; shown this once", secret->shown);
    }
    return code;
}

static int merchant_rotate_secret(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code != PR_EXIT_OK) {
        return code;
    }
    int64_t endpoint_id = 0;
    char scheme[32] = "postrider";
    code = find_scheme(&console, args, &endpoint_id, scheme);
    if (code == PR_EXIT_OK) {
        pr_cli_secret_t secret;
        code = pr_cli_secret_get(&secret, &console, args->positional[0], scheme,
                                 pr_args_text(args, "secret"));
        if (code == PR_EXIT_OK) {
            code = rotate(&console, args, endpoint_id, &secret);
        }
        pr_cli_secret_wipe(&secret);
    }
    pr_console_close(&console);
    return code;
}

/* ---- test ---- */

static int merchant_test(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code != PR_EXIT_OK) {
        return code;
    }
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    const pr_arg_value_t *wait = pr_args_get(args, "wait");
    pr_params_add_text(console.params, console.operator_name);
    pr_params_add_text(console.params, args->positional[0]);
    code = pr_console_query(&console, PR_SQL_CLI_MERCHANT_TEST, &rows);
    if (code == PR_EXIT_OK) {
        PR_CLEANUP_FREE char *notify_id = pr_console_cell(rows, 0, 0, PR_COLUMN_UUID);
        code = pr_notification_wait(&console, notify_id, wait->given ? wait->integer : 15000);
    }
    pr_console_close(&console);
    return code;
}

int pr_merchant_main(int argc, char **argv)
{
    static const pr_arg_spec_t add = {
        "merchant add ID --url URL [OPTION...]",
        "Adds a merchant and its first endpoint; with --endpoint one more endpoint.", add_options,
        1, 1};
    static const pr_arg_spec_t list = {"merchant list [OPTION...]", "Merchants by id.",
                                       list_options, 0, 0};
    static const pr_arg_spec_t show = {"merchant show ID",
                                       "A merchant and its endpoints; never a secret.", NULL, 1, 1};
    static const pr_arg_spec_t set = {"merchant set ID OPTION...",
                                      "Changes a merchant, or one of its endpoints.", set_options,
                                      1, 1};
    static const pr_arg_spec_t rotate_spec = {
        "merchant rotate-secret ID [OPTION...]",
        "Puts a new secret beside the old one: both sign until the overlap ends.", rotate_options,
        1, 1};
    static const pr_arg_spec_t test = {
        "merchant test ID [--wait D]",
        "Sends an endpoint.test notification and tells what came of it.", test_options, 1, 1};
    static const pr_subcommand_t table[] = {
        {"add", &add, merchant_add},
        {"list", &list, merchant_list},
        {"show", &show, merchant_show},
        {"set", &set, merchant_set},
        {"rotate-secret", &rotate_spec, merchant_rotate_secret},
        {"test", &test, merchant_test},
        {NULL, NULL, NULL},
    };
    return pr_args_group("merchant", table, argc, argv);
}
