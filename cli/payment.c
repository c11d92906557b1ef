/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/payment.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/door.h"
#include "cli/payment_exchanges.h"
#include "sql/application.h"
#include "sql/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define BIRTH_OPTIONS \
    {"channel", PR_ARG_TEXT, "ID", "the gateway channel (needed)", 0, 0}, \
    {"amount", PR_ARG_INT, "MINOR", "in the currency's minor unit (needed)", 0, 9007199254740991.0}, \
    {"currency", PR_ARG_TEXT, "CODE", "three capitals (needed)", 0, 0}, \
    {"expires", PR_ARG_DURATION, "D", "how long it may stay open; else the channel's", 1, 7776000000.0}, \
    {"on-expiry", PR_ARG_CHOICE, "close|manual", "what then (default close)", 0, 0}, \
    {"notify-url", PR_ARG_TEXT, "URL", "instead of the merchant's endpoints", 0, 0}, \
    {"priority", PR_ARG_INT, "N", "of its notification: 0, 1 or 2", 0, 2}, \
    {"app-ref", PR_ARG_TEXT, "TEXT", "your own number of it", 0, 0}, \
    {"extra", PR_ARG_TEXT, "JSON", "an object, passed on in every body", 0, 0}

static const pr_arg_t submit_options[] = {
    BIRTH_OPTIONS,
    {"intent", PR_ARG_TEXT, "TEXT", "another one after this order's first has failed", 0, 0},
    {"request", PR_ARG_TEXT, "JSON", "an object: what the channel's profile takes from the application (default {})", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t track_options[] = {
    BIRTH_OPTIONS,
    {"reference", PR_ARG_TEXT, "TEXT", "the number by which the gateway knows it (needed)", 0, 0},
    {"number", PR_ARG_CHOICE, "ours|gateway", "whose number that is: the merchant's there, or the gateway's own (default)", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t list_options[] = {
    PR_ARG_OF_MERCHANT,
    {"order", PR_ARG_TEXT, "ORDER_NO", "only this order's", 0, 0},
    PR_ARG_OF_CHANNEL,
    {"status", PR_ARG_TEXT, "WORD", "only with this status: processing, succeeded ...", 0, 0},
    {"manual", PR_ARG_FLAG, NULL, "only those that a person has", 0, 0},
    PR_ARG_LIMIT(100000),
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t refund_options[] = {
    {"amount", PR_ARG_INT, "MINOR", "in the currency's minor unit (needed: nothing does not mean all)", 1, 9007199254740991.0},
    {"refund-no", PR_ARG_TEXT, "TEXT", "your number of this refund; the same again is the same refund (needed)", 0, 0},
    {"reason", PR_ARG_TEXT, "TEXT", "the channel is told", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t cancel_options[] = {
    PR_ARG_REASON_NEEDED,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t show_options[] = {
    {"exchanges", PR_ARG_FLAG, NULL, "also what was sent to the channel and what came back, without secrets", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t poll_options[] = {
    PR_ARG_REASON,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t report_options[] = {
    {"state", PR_ARG_CHOICE, "pending|succeeded|failed|cancelled|refunded|partially_refunded", "what you have heard (needed)", 0, 0},
    {"evidence", PR_ARG_TEXT, "JSON", "an object: amount, currency, reference ...; what it names is compared (default {})", 0, 0},
    {"event-id", PR_ARG_TEXT, "TEXT", "the same again is ignored", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_column_t columns[] = {
    {"payment_id", PR_COLUMN_I64, false}, {"merchant_id", PR_COLUMN_TEXT, false},
    {"order_no", PR_COLUMN_TEXT, false}, {"channel", PR_COLUMN_TEXT, false},
    {"state", PR_COLUMN_TEXT, false}, {"status", PR_COLUMN_TEXT, false},
    {"amount_minor", PR_COLUMN_I64, false}, {"currency", PR_COLUMN_TEXT, false},
    {"captured_minor", PR_COLUMN_I64, false}, {"refunded_minor", PR_COLUMN_I64, false},
    {"manual_reason", PR_COLUMN_TEXT, false}, {"failure_code", PR_COLUMN_TEXT, false},
    {"failure_message", PR_COLUMN_TEXT, true}, {"gateway_reference", PR_COLUMN_TEXT, true},
    {"request_no", PR_COLUMN_TEXT, true}, {"app_ref", PR_COLUMN_TEXT, true},
    {"next_action", PR_COLUMN_OBJECT, true}, {"next_operation", PR_COLUMN_TEXT, true},
    {"next_reason", PR_COLUMN_TEXT, true}, {"next_poll_at", PR_COLUMN_TIME, false},
    {"attempts", PR_COLUMN_I32, false}, {"ended_by", PR_COLUMN_TEXT, true},
    {"livemode", PR_COLUMN_BOOL, true}, {"version", PR_COLUMN_I64, true},
    {"created_at", PR_COLUMN_TIME, true}, {"updated_at", PR_COLUMN_TIME, true},
    {"expires_at", PR_COLUMN_TIME, true}, {"paid_at", PR_COLUMN_TIME, true},
    {"final_at", PR_COLUMN_TIME, true}, {NULL, PR_COLUMN_NONE, false},
};
static const pr_column_t refund_columns[] = {
    {"refund_id", PR_COLUMN_I64, false}, {"refund_no", PR_COLUMN_TEXT, false},
    {"amount_minor", PR_COLUMN_I64, false}, {"currency", PR_COLUMN_TEXT, false},
    {"state", PR_COLUMN_TEXT, false}, {"status", PR_COLUMN_TEXT, false},
    {"origin", PR_COLUMN_TEXT, false}, {"reason", PR_COLUMN_TEXT, true},
    {"failure_code", PR_COLUMN_TEXT, false}, {"manual_reason", PR_COLUMN_TEXT, false},
    {"gateway_reference", PR_COLUMN_TEXT, true}, {"created_at", PR_COLUMN_TIME, false},
    {"final_at", PR_COLUMN_TIME, true}, {"next_poll_at", PR_COLUMN_TIME, true},
    {NULL, PR_COLUMN_NONE, false},
};
static const pr_column_t evidence_columns[] = {
    {"at", PR_COLUMN_TIME, false}, {"source", PR_COLUMN_TEXT, false},
    {"verdict", PR_COLUMN_TEXT, false}, {"from", PR_COLUMN_TEXT, false},
    {"to", PR_COLUMN_TEXT, false}, {"refund_id", PR_COLUMN_I64, false},
    {"event_id", PR_COLUMN_TEXT, true}, {"version", PR_COLUMN_I64, true},
    {"evidence", PR_COLUMN_OBJECT, false}, {NULL, PR_COLUMN_NONE, false},
};
/* clang-format on */

/* ---- submit, track ---- */

static const char *or_empty(const char *json)
{
    return json != NULL ? json : "{}";
}

static void put_text(json_t *options, const char *key, const pr_args_t *args, const char *option)
{
    if (pr_args_given(args, option)) {
        json_object_set_new(options, key, json_string(pr_args_text(args, option)));
    }
}

/* Gives *text, the caller's: the options as SQL takes them. */
static int make_options(const pr_args_t *args, bool intent, char **text)
{
    json_t *options = json_object();
    put_text(options, "on_expiry", args, "on-expiry");
    put_text(options, "notify_url", args, "notify-url");
    put_text(options, "app_ref", args, "app-ref");
    if (intent) {
        put_text(options, "intent", args, "intent");
    } else {
        put_text(options, "number", args, "number");
    }
    if (pr_args_given(args, "priority")) {
        json_object_set_new(options, "priority",
                            json_integer(pr_args_get(args, "priority")->integer));
    }
    if (pr_args_given(args, "expires")) {
        char at[PR_CONSOLE_TIME_MAX];
        pr_console_time(pr_clock_wall_us() + pr_args_get(args, "expires")->integer * 1000, at);
        json_object_set_new(options, "expires_at", json_string(at));
    }
    int code = PR_EXIT_OK;
    if (pr_args_given(args, "extra")) {
        json_t *extra = json_loads(pr_args_text(args, "extra"), JSON_REJECT_DUPLICATES, NULL);
        if (json_is_object(extra)) {
            json_object_set_new(options, "extra", extra);
        } else {
            json_decref(extra);
            code = pr_console_usage("--extra is not a JSON object");
        }
    }
    *text = json_dumps(options, JSON_COMPACT);
    json_decref(options);
    return code;
}

static int print_id(const pr_console_t *console, const char *key, int64_t id)
{
    if (console->json) {
        pr_console_json(json_pack("{s:I}", key, (json_int_t)id));
    } else {
        printf("%" PRId64 "\n", id);
    }
    return PR_EXIT_OK;
}

static int bear(pr_console_t *console, const pr_args_t *args, bool submit)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    PR_CLEANUP_FREE char *options = NULL;
    int code = make_options(args, submit, &options);
    if (code != PR_EXIT_OK) {
        return code;
    }
    pr_params_t *params = console->params;
    pr_params_add_text(params, args->positional[0]);
    pr_params_add_text(params, args->positional[1]);
    pr_params_add_text(params, pr_args_text(args, "channel"));
    if (!submit) {
        pr_params_add_text(params, pr_args_text(args, "reference"));
    }
    pr_params_add_i64(params, pr_args_get(args, "amount")->integer);
    pr_params_add_text(params, pr_args_text(args, "currency"));
    if (submit) {
        pr_params_add_text(params, or_empty(pr_args_text(args, "request")));
    }
    pr_params_add_text(params, options);
    int statement = submit ? PR_SQL_APPLICATION_PAYMENT_SUBMIT : PR_SQL_APPLICATION_PAYMENT_TRACK;
    code = pr_console_run(console, &pr_sql_application[statement], &rows);
    return code == PR_EXIT_OK ? print_id(console, "payment_id", pr_rows_i64(rows, 0, 0)) : code;
}

static int bear_submitted(pr_console_t *console, const pr_args_t *args)
{
    return bear(console, args, true);
}

static int bear_tracked(pr_console_t *console, const pr_args_t *args)
{
    return bear(console, args, false);
}

static int check_needed(const pr_args_t *args, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (!pr_args_given(args, *names)) {
            return pr_console_usage("--%s is needed", *names);
        }
    }
    return PR_EXIT_OK;
}

static int payment_submit(const pr_args_t *args)
{
    static const char *const needed[] = {"channel", "amount", "currency", NULL};
    int code = check_needed(args, needed);
    return code == PR_EXIT_OK ? pr_console_with_application(args, bear_submitted) : code;
}

static int payment_track(const pr_args_t *args)
{
    static const char *const needed[] = {"channel", "reference", "amount", "currency", NULL};
    int code = check_needed(args, needed);
    return code == PR_EXIT_OK ? pr_console_with_application(args, bear_tracked) : code;
}

/* ---- list, show ---- */

static int list(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    const pr_arg_value_t *limit = pr_args_get(args, "limit");
    pr_params_add_text(console->params, pr_args_text(args, "merchant"));
    pr_params_add_text(console->params, pr_args_text(args, "order"));
    pr_params_add_text(console->params, pr_args_text(args, "channel"));
    pr_params_add_text(console->params, pr_args_text(args, "status"));
    pr_params_add_bool(console->params, pr_args_given(args, "manual"));
    pr_params_add_i32(console->params, limit->given ? (int32_t)limit->integer : 100);
    int code = pr_console_query(console, PR_SQL_CLI_PAYMENT_LIST, &rows);
    if (code == PR_EXIT_OK) {
        pr_console_print(console, rows, columns, "no payments");
    }
    return code;
}

static int payment_list(const pr_args_t *args)
{
    return pr_console_with(args, list);
}

static int query_by_id(pr_console_t *console, int statement, int64_t id, pr_rows_t **rows)
{
    pr_params_add_i64(console->params, id);
    return pr_console_query(console, statement, rows);
}

static int show(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    PR_CLEANUP(pr_rows) pr_rows_t *refunds = NULL;
    PR_CLEANUP(pr_rows) pr_rows_t *evidence = NULL;
    json_t *calls = NULL;
    int64_t id = 0;
    int code = pr_console_id(args->positional[0], "payment", &id);
    if (code == PR_EXIT_OK) {
        code = query_by_id(console, PR_SQL_CLI_PAYMENT_SHOW, id, &rows);
    }
    if (code == PR_EXIT_OK && pr_rows_count(rows) == 0) {
        return pr_console_failed("there is no payment %" PRId64, id);
    }
    if (code == PR_EXIT_OK) {
        code = query_by_id(console, PR_SQL_CLI_PAYMENT_REFUNDS, id, &refunds);
    }
    if (code == PR_EXIT_OK) {
        code = query_by_id(console, PR_SQL_CLI_PAYMENT_EVIDENCE, id, &evidence);
    }
    if (code == PR_EXIT_OK && pr_args_given(args, "exchanges")) {
        code = pr_payment_exchanges(console, id, &calls);
    }
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (console->json) {
        json_t *object = pr_console_object(rows, 0, columns);
        json_object_set_new(object, "refunds", pr_console_array(refunds, refund_columns));
        json_object_set_new(object, "evidence", pr_console_array(evidence, evidence_columns));
        if (calls) {
            json_object_set_new(object, "calls", calls);
        }
        pr_console_json(object);
        return code;
    }
    pr_console_print_one(console, rows, 0, columns);
    putchar('\n');
    pr_console_print(console, refunds, refund_columns, "no refunds");
    putchar('\n');
    pr_console_print(console, evidence, evidence_columns, "no evidence");
    if (calls) {
        pr_payment_exchanges_print(calls);
        json_decref(calls);
    }
    return code;
}

static int payment_show(const pr_args_t *args)
{
    return pr_console_with(args, show);
}

/* ---- refund, cancel, poll, report ---- */

static int ask(pr_console_t *console, const pr_args_t *args, const char *action, json_t *content)
{
    return pr_door_ask_approval(console, action, args->positional[0], content,
                                pr_args_text(args, "reason"));
}

static int ask_refund(pr_console_t *console, const pr_args_t *args)
{
    json_t *content = json_pack("{s:s, s:I}", "refund_no", pr_args_text(args, "refund-no"),
                                "amount", (json_int_t)pr_args_get(args, "amount")->integer);
    return ask(console, args, "payment.refund", content);
}

static int refund(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    int64_t id = 0;
    int code = pr_console_id(args->positional[0], "payment", &id);
    if (code != PR_EXIT_OK) {
        return code;
    }
    pr_params_add_i64(console->params, id);
    pr_params_add_text(console->params, pr_args_text(args, "refund-no"));
    pr_params_add_i64(console->params, pr_args_get(args, "amount")->integer);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    code = pr_console_run(console, &pr_sql_application[PR_SQL_APPLICATION_PAYMENT_REFUND], &rows);
    return code == PR_EXIT_OK ? print_id(console, "refund_id", pr_rows_i64(rows, 0, 0)) : code;
}

/* As an operator asks_for, where there are operators; else as the application does. */
static int by_two(const pr_args_t *args, int (*asks_for)(pr_console_t *, const pr_args_t *),
                  int (*does)(pr_console_t *, const pr_args_t *))
{
    pr_console_t console;
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    int64_t id = 0;
    int code = pr_console_id(args->positional[0], "payment", &id);
    if (code != PR_EXIT_OK || (code = pr_console_open(&console, args)) != PR_EXIT_OK) {
        return code;
    }
    bool operators = false;
    code = pr_console_query(&console, PR_SQL_CLI_OPERATOR_ANY, &rows);
    if (code == PR_EXIT_OK) {
        operators = pr_rows_bool(rows, 0, 0);
    }
    if (operators) {
        code = asks_for(&console, args);
    }
    pr_console_close(&console);
    return code == PR_EXIT_OK && !operators ? pr_console_with_application(args, does) : code;
}

static int payment_refund(const pr_args_t *args)
{
    static const char *const needed[] = {"refund-no", "amount", NULL};
    int code = check_needed(args, needed);
    return code == PR_EXIT_OK ? by_two(args, ask_refund, refund) : code;
}

/* {"payment_id": 7, "KEY": "said"}, or the word alone. */
static int print_said(const pr_console_t *console, int64_t id, const char *key, const char *said)
{
    if (console->json) {
        pr_console_json(json_pack("{s:I, s:s}", "payment_id", (json_int_t)id, key, said));
    } else {
        puts(said);
    }
    return PR_EXIT_OK;
}

static int ask_cancel(pr_console_t *console, const pr_args_t *args)
{
    return ask(console, args, "payment.cancel", json_object());
}

static int cancel(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    int64_t id = 0;
    int code = pr_console_id(args->positional[0], "payment", &id);
    if (code != PR_EXIT_OK) {
        return code;
    }
    pr_params_add_i64(console->params, id);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    code = pr_console_run(console, &pr_sql_application[PR_SQL_APPLICATION_PAYMENT_CANCEL], &rows);
    return code == PR_EXIT_OK ? print_said(console, id, "said", pr_rows_text(rows, 0, 0)) : code;
}

static int payment_cancel(const pr_args_t *args)
{
    const char *reason = pr_args_text(args, "reason");
    if (reason == NULL || reason[0] == '\0') {
        return pr_console_usage("--reason is needed: it is written down");
    }
    return by_two(args, ask_cancel, cancel);
}

static int poll_now(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    int64_t id = 0;
    int code = pr_console_id(args->positional[0], "payment", &id);
    if (code != PR_EXIT_OK) {
        return code;
    }
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_i64(console->params, id);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    code = pr_console_query(console, PR_SQL_CLI_PAYMENT_POLL, &rows);
    if (code != PR_EXIT_OK) {
        return code;
    }
    return print_said(console, id, "said",
                      pr_rows_bool(rows, 0, 0) ? "asked for" : "under way already");
}

static int payment_poll(const pr_args_t *args)
{
    return pr_console_with(args, poll_now);
}

static int report(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    int64_t id = 0;
    int code = pr_console_id(args->positional[0], "payment", &id);
    if (code != PR_EXIT_OK) {
        return code;
    }
    pr_params_add_i64(console->params, id);
    pr_params_add_text(console->params, pr_args_text(args, "state"));
    pr_params_add_text(console->params, or_empty(pr_args_text(args, "evidence")));
    pr_params_add_text(console->params, pr_args_text(args, "event-id"));
    code = pr_console_run(console, &pr_sql_application[PR_SQL_APPLICATION_PAYMENT_REPORT], &rows);
    if (code != PR_EXIT_OK) {
        return code;
    }
    const char *verdict = pr_rows_text(rows, 0, 0);
    code = print_said(console, id, "verdict", verdict);
    return code == PR_EXIT_OK && strncmp(verdict, "held", 4) == 0 ? PR_EXIT_FAILED : code;
}

static int payment_report(const pr_args_t *args)
{
    static const char *const needed[] = {"state", NULL};
    int code = check_needed(args, needed);
    return code == PR_EXIT_OK ? pr_console_with_application(args, report) : code;
}

int pr_payment_main(int argc, char **argv)
{
    static const pr_arg_spec_t submit_spec = {
        "payment submit MERCHANT ORDER_NO --channel ID --amount MINOR --currency CODE [OPTION...]",
        "Charges, once whatever happens, and finds out how that ends. Prints its payment_id.",
        submit_options, 2, 2};
    static const pr_arg_spec_t track_spec = {
        "payment track MERCHANT ORDER_NO --channel ID --reference TEXT --amount MINOR --currency "
        "CODE [OPTION...]",
        "Finds out how a payment ends that was charged elsewhere. Prints its payment_id.",
        track_options, 2, 2};
    static const pr_arg_spec_t list_spec = {"payment list [OPTION...]", "Payments, newest first.",
                                            list_options, 0, 0};
    static const pr_arg_spec_t show_spec = {
        "payment show PAYMENT_ID [--exchanges]",
        "Where it stands, its refunds, and every piece of evidence.", show_options, 1, 1};
    static const pr_arg_spec_t refund_spec = {
        "payment refund PAYMENT_ID --refund-no TEXT --amount MINOR [--reason TEXT]",
        "Sends money back. Prints the refund_id; where there are operators, the request that "
        "another person approves.",
        refund_options, 1, 1};
    static const pr_arg_spec_t cancel_spec = {
        "payment cancel PAYMENT_ID --reason TEXT",
        "Closes it at the channel, whose answer decides: cancelled, failed or closing. Where there "
        "are operators, another person approves it first.",
        cancel_options, 1, 1};
    static const pr_arg_spec_t poll_spec = {"payment poll PAYMENT_ID [--reason TEXT]",
                                            "Asks the channel now, within its rate.", poll_options,
                                            1, 1};
    static const pr_arg_spec_t report_spec = {
        "payment report PAYMENT_ID --state WORD [--evidence JSON] [--event-id TEXT]",
        "Tells what the application has heard itself. Prints the verdict. Exit code 1 when it is held "
        "for a person: kept, and not applied.",
        report_options, 1, 1};
    static const pr_subcommand_t table[] = {{"submit", &submit_spec, payment_submit},
                                            {"track", &track_spec, payment_track},
                                            {"list", &list_spec, payment_list},
                                            {"show", &show_spec, payment_show},
                                            {"refund", &refund_spec, payment_refund},
                                            {"cancel", &cancel_spec, payment_cancel},
                                            {"poll", &poll_spec, payment_poll},
                                            {"report", &report_spec, payment_report},
                                            {NULL, NULL, NULL}};
    return pr_args_group("payment", table, argc, argv);
}
