/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/webhook.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/console.h"
#include "sql/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const pr_arg_t list_options[] = {
    PR_ARG_OF_CHANNEL,
    {"status", PR_ARG_CHOICE, "refused|verified|applied|ignored|orphan|failed|task", "only in this state", 0, 0},
    {"payment", PR_ARG_TEXT, "PAYMENT_ID", "only about this payment", 0, 0},
    PR_ARG_LIMIT(100000),
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t redrive_options[] = {
    PR_ARG_REASON,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_column_t columns[] = {
    {"webhook_id", PR_COLUMN_I64, false}, {"channel", PR_COLUMN_TEXT, false},
    {"received_at", PR_COLUMN_TIME, false}, {"method", PR_COLUMN_TEXT, true},
    {"bytes", PR_COLUMN_I32, false}, {"verdict", PR_COLUMN_TEXT, false},
    {"reason", PR_COLUMN_TEXT, false}, {"status", PR_COLUMN_TEXT, false},
    {"result", PR_COLUMN_TEXT, false}, {"tries", PR_COLUMN_I32, true},
    {"items", PR_COLUMN_I32, true}, {"payment_id", PR_COLUMN_I64, false},
    {"merchant_id", PR_COLUMN_TEXT, false}, {"order_no", PR_COLUMN_TEXT, false},
    {"query", PR_COLUMN_TEXT, true}, {"updated_at", PR_COLUMN_TIME, true},
    {NULL, PR_COLUMN_NONE, false},
};
/* clang-format on */

static int list(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    const pr_arg_value_t *limit = pr_args_get(args, "limit");
    const char *payment = pr_args_text(args, "payment");
    int64_t payment_id = 0;
    int code = payment != NULL ? pr_console_id(payment, "payment", &payment_id) : (int)PR_EXIT_OK;
    if (code != PR_EXIT_OK) {
        return code;
    }
    pr_params_add_text(console->params, pr_args_text(args, "channel"));
    pr_params_add_text(console->params, pr_args_text(args, "status"));
    if (payment != NULL) {
        pr_params_add_i64(console->params, payment_id);
    } else {
        pr_params_add_null(console->params);
    }
    pr_params_add_i32(console->params, limit->given ? (int32_t)limit->integer : 100);
    code = pr_console_query(console, PR_SQL_CLI_WEBHOOK_LIST, &rows);
    if (code == PR_EXIT_OK) {
        pr_console_print(console, rows, columns, "no webhooks");
    }
    return code;
}

/* Bytes that are no text are shown as hex: a terminal obeys some of them. */
static bool is_text(pr_bytes_t body)
{
    for (size_t i = 0; i < body.len; i++) {
        uint8_t byte = body.data[i];
        if ((byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r') || byte == 0x7f) {
            return false;
        }
    }
    return true;
}

static json_t *body_of(pr_bytes_t body, const char **key)
{
    json_t *text = is_text(body) ? json_stringn((const char *)body.data, body.len) : NULL;
    *key = "body";
    if (text == NULL) { /* not UTF-8 either: GBK ... */
        PR_CLEANUP_FREE char *hex = pr_calloc(2 * body.len + 1, 1);
        pr_hex(body, hex);
        *key = "body_hex";
        text = json_string(hex);
    }
    return text;
}

static void print_webhook(const pr_console_t *console, const pr_rows_t *rows, const pr_rows_t *raw)
{
    const char *key = NULL;
    json_t *body = body_of(pr_rows_bytes(raw, 0, 1), &key);
    if (console->json) {
        json_t *object = pr_console_object(rows, 0, columns);
        json_object_set_new(object, "headers", json_loads(pr_rows_text(raw, 0, 0), 0, NULL));
        json_object_set_new(object, "read", json_loads(pr_rows_text(raw, 0, 2), 0, NULL));
        json_object_set_new(object, key, body);
        pr_console_json(object);
        return;
    }
    pr_console_print_one(console, rows, 0, columns);
    printf("headers: %s\nread: %s\n%s: %s\n", pr_rows_text(raw, 0, 0), pr_rows_text(raw, 0, 2), key,
           json_string_value(body));
    json_decref(body);
}

static int show(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    PR_CLEANUP(pr_rows) pr_rows_t *raw = NULL;
    int64_t id = 0;
    int code = pr_console_id(args->positional[0], "webhook", &id);
    if (code != PR_EXIT_OK) {
        return code;
    }
    pr_params_add_i64(console->params, id);
    code = pr_console_query(console, PR_SQL_CLI_WEBHOOK_SHOW, &rows);
    if (code == PR_EXIT_OK) {
        pr_params_add_i64(console->params, id);
        code = pr_console_query(console, PR_SQL_CLI_WEBHOOK_RAW, &raw);
    }
    if (code == PR_EXIT_OK && (pr_rows_count(rows) == 0 || pr_rows_count(raw) == 0)) {
        return pr_console_failed("there is no webhook %" PRId64, id);
    }
    if (code == PR_EXIT_OK) {
        print_webhook(console, rows, raw);
    }
    return code;
}

static int redrive(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    int64_t id = 0;
    int code = pr_console_id(args->positional[0], "webhook", &id);
    if (code != PR_EXIT_OK) {
        return code;
    }
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_i64(console->params, id);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    code = pr_console_query(console, PR_SQL_CLI_WEBHOOK_REDRIVE, &rows);
    if (code == PR_EXIT_OK && pr_rows_null(rows, 0, 0)) {
        return pr_console_failed("there is no webhook %" PRId64, id);
    }
    if (code != PR_EXIT_OK) {
        return code;
    }
    const char *state = pr_rows_text(rows, 0, 0);
    const char *result = pr_rows_null(rows, 0, 1) ? "" : pr_rows_text(rows, 0, 1);
    if (console->json) {
        pr_console_json(json_pack("{s:I, s:s, s:s}", "webhook_id", (json_int_t)id, "status", state,
                                  "result", result));
    } else {
        printf("webhook %" PRId64 " is %s%s%s\n", id, state, result[0] != '\0' ? ": " : "", result);
    }
    return code;
}

static int webhook_list(const pr_args_t *args)
{
    return pr_console_with(args, list);
}

static int webhook_show(const pr_args_t *args)
{
    return pr_console_with(args, show);
}

static int webhook_redrive(const pr_args_t *args)
{
    return pr_console_with(args, redrive);
}

int pr_webhook_main(int argc, char **argv)
{
    static const pr_arg_spec_t list_spec = {
        "webhook list [OPTION...]", "Webhooks as they came, newest first.", list_options, 0, 0};
    static const pr_arg_spec_t show_spec = {"webhook show WEBHOOK_ID",
                                            "Its headers, its bytes, and what was read in them.",
                                            NULL, 1, 1};
    static const pr_arg_spec_t redrive_spec = {
        "webhook redrive WEBHOOK_ID [--reason TEXT]",
        "Applies one that could not be applied, as it was judged at receipt; what is applied or\n"
        "refused stays so.",
        redrive_options, 1, 1};
    static const pr_subcommand_t table[] = {{"list", &list_spec, webhook_list},
                                            {"show", &show_spec, webhook_show},
                                            {"redrive", &redrive_spec, webhook_redrive},
                                            {NULL, NULL, NULL}};
    return pr_args_group("webhook", table, argc, argv);
}
