/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider breaker: which endpoints are held back, and a person's word on it. The circuit-breaker
 * actor is asked; when it is away forces are written to the database, where the schedulers see them
 * within 2 s.
 */
#include "cli/breaker.h"

#include "base/alloc.h"
#include "cli/breaker_client.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/endpoint.h"
#include "sql/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WAIT_MS 2000

/* clang-format off */
static const pr_arg_t list_options[] = {
    {"endpoint", PR_ARG_TEXT, "ID|MERCHANT/NAME", "only this one", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t reason_options[] = {
    PR_ARG_REASON_NEEDED,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
/* clang-format on */

static const char *state_name(Postrider__V1__BreakerState state)
{
    static const char *const names[] = {"unknown",   "closed",      "open",
                                        "half_open", "forced_open", "forced_closed"};
    return (unsigned)state < PR_COUNT(names) ? names[state] : names[0];
}

/* ---- list ---- */

/* The endpoints that the database holds back (switched off, forced), by id. */
static json_t *find_breaker(json_t *list, int64_t endpoint_id)
{
    size_t index;
    json_t *one;
    json_array_foreach(list, index, one)
    {
        if (json_integer_value(json_object_get(one, "endpoint_id")) == endpoint_id) {
            return one;
        }
    }
    return NULL;
}

static void put_moved(json_t *list, const Postrider__V1__BreakerMoved *moved)
{
    char at[PR_CONSOLE_TIME_MAX];
    pr_console_time(moved->at_us, at);
    json_array_append_new(list, json_pack("{s:I, s:s, s:s, s:I, s:I, s:o, s:I}", "endpoint_id",
                                          (json_int_t)moved->endpoint_id, "merchant_id",
                                          moved->merchant_id, "breaker", state_name(moved->to),
                                          "failures", (json_int_t)moved->failures, "held_jobs",
                                          (json_int_t)moved->held_jobs, "moved_at",
                                          moved->at_us != 0 ? json_string(at) : json_null(),
                                          "open_ms", (json_int_t)moved->open_ms));
}

/* Rows of breaker_list: endpoint_id, merchant_id, name, url, state, state_reason, state_at,
 * forced. */
static void put_row(json_t *list, const pr_rows_t *rows, int row)
{
    json_t *one = find_breaker(list, pr_rows_i64(rows, row, 0));
    if (one == NULL) {
        const char *forced = pr_rows_text(rows, row, 7);
        one = json_pack("{s:I, s:s, s:s}", "endpoint_id", (json_int_t)pr_rows_i64(rows, row, 0),
                        "merchant_id", pr_rows_text(rows, row, 1), "breaker",
                        pr_rows_null(rows, row, 7)    ? "unknown"
                        : strcmp(forced, "open") == 0 ? "forced_open"
                                                      : "forced_closed");
        json_array_append_new(list, one);
    }
    json_object_set_new(one, "endpoint_state", json_string(pr_rows_text(rows, row, 4)));
    if (!pr_rows_null(rows, row, 5)) {
        json_object_set_new(one, "endpoint_state_reason", json_string(pr_rows_text(rows, row, 5)));
    }
}

static void print_list(json_t *list)
{
    if (json_array_size(list) == 0) {
        puts("all breakers are closed, no endpoint is switched off");
        return;
    }
    printf("%-20s  %-20s  %-13s  %8s  %9s  %s\n", "endpoint_id", "merchant_id", "breaker",
           "failures", "held_jobs", "endpoint_state");
    size_t index;
    json_t *one;
    json_array_foreach(list, index, one)
    {
        const char *state = json_string_value(json_object_get(one, "endpoint_state"));
        const char *reason = json_string_value(json_object_get(one, "endpoint_state_reason"));
        printf("%-20" JSON_INTEGER_FORMAT "  %-20s  %-13s  %8" JSON_INTEGER_FORMAT
               "  %9" JSON_INTEGER_FORMAT "  %s%s%s\n",
               json_integer_value(json_object_get(one, "endpoint_id")),
               json_string_value(json_object_get(one, "merchant_id")),
               json_string_value(json_object_get(one, "breaker")),
               json_integer_value(json_object_get(one, "failures")),
               json_integer_value(json_object_get(one, "held_jobs")),
               state != NULL ? state : "active", reason != NULL ? ": " : "",
               reason != NULL ? reason : "");
    }
}

/* What the actor says joined with what the database says; an actor that is away is told of, not
 * fatal. */
static int list_breakers(pr_console_t *console, int64_t endpoint_id)
{
    Postrider__V1__BreakerQuery query = POSTRIDER__V1__BREAKER_QUERY__INIT;
    query.endpoint_id = endpoint_id;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_BREAKER_QUERY;
    envelope.breaker_query = &query;
    Postrider__V1__Envelope *answer = NULL;
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_error_t error;
    int code = pr_console_query(console, PR_SQL_CLI_BREAKER_LIST, &rows);
    if (code != PR_EXIT_OK) {
        return code;
    }
    bool asked = pr_breaker_ask(console->config, &envelope, WAIT_MS, &answer, &error) == PR_OK;
    json_t *list = json_array();
    for (size_t i = 0; asked && i < answer->breaker_snapshot->n_breakers; i++) {
        put_moved(list, answer->breaker_snapshot->breakers[i]);
    }
    for (int row = 0; row < pr_rows_count(rows); row++) {
        if (endpoint_id == 0 || pr_rows_i64(rows, row, 0) == endpoint_id) {
            put_row(list, rows, row);
        }
    }
    pr_envelope_destroy(&answer);
    if (!asked) {
        fprintf(stderr, "postrider: %s; only what the database knows is shown\n", error.text);
    }
    if (console->json) {
        pr_console_json(list);
    } else {
        print_list(list);
        json_decref(list);
    }
    return PR_EXIT_OK;
}

static int breaker_list(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    int64_t endpoint_id = 0;
    if (code == PR_EXIT_OK && pr_args_given(args, "endpoint")) {
        code = pr_endpoint_resolve(&console, pr_args_text(args, "endpoint"), &endpoint_id);
    }
    if (code == PR_EXIT_OK) {
        code = list_breakers(&console, endpoint_id);
    }
    pr_console_close(&console);
    return code;
}

/* ---- reset, force ---- */

typedef struct {
    Postrider__V1__BreakerCommand__Verb verb;
    const char *forced; /* for the database */
    const char *state;  /* what it is afterwards */
} wish_t;

static int print_done(const pr_console_t *console, int64_t endpoint_id, const wish_t *wish,
                      const char *by)
{
    if (console->json) {
        pr_console_json(json_pack("{s:I, s:s, s:s}", "endpoint_id", (json_int_t)endpoint_id,
                                  "breaker", wish->state, "by", by));
    } else {
        printf("breaker of endpoint %" PRId64 ": %s\n", endpoint_id, wish->state);
    }
    return PR_EXIT_OK;
}

static int write_directly(pr_console_t *console, int64_t endpoint_id, const wish_t *wish,
                          const char *reason)
{
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_i64(console->params, endpoint_id);
    pr_params_add_text(console->params, wish->forced);
    pr_params_add_text(console->params, reason);
    int code = pr_console_query(console, PR_SQL_CLI_BREAKER_FORCE, NULL);
    if (code != PR_EXIT_OK) {
        return code;
    }
    fputs(wish->forced != NULL
              ? "postrider: circuit-breaker is away: written to the database, where the schedulers "
                "see it within 2 s\n"
              : "postrider: circuit-breaker is away: a force, if any, is lifted; a breaker that is "
                "open by itself closes by its own probe\n",
          stderr);
    return print_done(console, endpoint_id, wish, "database");
}

static int command(pr_console_t *console, const pr_args_t *args, const wish_t *wish)
{
    int64_t endpoint_id = 0;
    int code = pr_endpoint_resolve(console, args->positional[0], &endpoint_id);
    if (code != PR_EXIT_OK) {
        return code;
    }
    const char *reason = pr_args_text(args, "reason");
    Postrider__V1__BreakerCommand body = POSTRIDER__V1__BREAKER_COMMAND__INIT;
    body.verb = wish->verb;
    body.endpoint_id = endpoint_id;
    body.operator_ = (char *)console->operator_name; /* protobuf-c has no const; only read */
    body.reason = (char *)reason;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_BREAKER_COMMAND;
    envelope.breaker_command = &body;
    Postrider__V1__Envelope *answer = NULL;
    pr_error_t error;
    pr_rc_t rc = pr_breaker_ask(console->config, &envelope, WAIT_MS, &answer, &error);
    if (rc == PR_AGAIN) {
        return write_directly(console, endpoint_id, wish, reason);
    }
    if (rc != PR_OK) {
        return pr_console_failed("%s", error.text);
    }
    const char *refusal = answer->breaker_snapshot->error;
    code = refusal[0] != '\0' ? pr_console_failed("%s", refusal)
                              : print_done(console, endpoint_id, wish, "circuit-breaker");
    pr_envelope_destroy(&answer);
    return code;
}

static int with_reason(const pr_args_t *args, const wish_t *wish)
{
    const char *reason = pr_args_text(args, "reason");
    if (reason == NULL || reason[0] == '\0') {
        return pr_console_usage("--reason is needed: the audit asks why");
    }
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code == PR_EXIT_OK) {
        code = command(&console, args, wish);
        pr_console_close(&console);
    }
    return code;
}

static int breaker_reset(const pr_args_t *args)
{
    return with_reason(args,
                       &(wish_t){POSTRIDER__V1__BREAKER_COMMAND__VERB__VERB_RESET, NULL, "closed"});
}

static int breaker_force_open(const pr_args_t *args)
{
    return with_reason(args, &(wish_t){POSTRIDER__V1__BREAKER_COMMAND__VERB__VERB_FORCE_OPEN,
                                       "open", "forced_open"});
}

static int breaker_force_close(const pr_args_t *args)
{
    return with_reason(args, &(wish_t){POSTRIDER__V1__BREAKER_COMMAND__VERB__VERB_FORCE_CLOSED,
                                       "closed", "forced_closed"});
}

int pr_breaker_main(int argc, char **argv)
{
    static const pr_arg_spec_t list = {
        "breaker list [--endpoint ID|MERCHANT/NAME]",
        "Breakers that are not closed, and endpoints that are switched off.", list_options, 0, 0};
    static const pr_arg_spec_t reset = {"breaker reset ID|MERCHANT/NAME --reason TEXT",
                                        "To closed, counters to 0; lifts a force.", reason_options,
                                        1, 1};
    static const pr_arg_spec_t open_spec = {"breaker force-open ID|MERCHANT/NAME --reason TEXT",
                                            "Nothing goes to this endpoint until reset.",
                                            reason_options, 1, 1};
    static const pr_arg_spec_t close_spec = {
        "breaker force-close ID|MERCHANT/NAME --reason TEXT",
        "Everything goes, failures are not counted, until reset.", reason_options, 1, 1};
    static const pr_subcommand_t table[] = {{"list", &list, breaker_list},
                                            {"reset", &reset, breaker_reset},
                                            {"force-open", &open_spec, breaker_force_open},
                                            {"force-close", &close_spec, breaker_force_close},
                                            {NULL, NULL, NULL}};
    return pr_args_group("breaker", table, argc, argv);
}
