/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/channel_change.h"

#include "base/alloc.h"
#include "channel/profile_dir.h"
#include "cli/channel_parameters.h"
#include "cli/channel_settings.h"
#include "cli/channel_test.h"
#include "cli/command.h"
#include "cli/plain_http.h"
#include "sql/cli.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const pr_arg_t add_options[] = {
    {"profile", PR_ARG_TEXT, "NAME", "the gateway's protocol: stripe, alipay ... (needed)", 0, 0},
    PR_CHANNEL_OPTIONS,
    {"test-mode", PR_ARG_FLAG, NULL, "its money is pretended: livemode false in everything told", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t set_options[] = {
    {"profile", PR_ARG_TEXT, "NAME", "takes what this profile says, over what was set before", 0, 0},
    PR_CHANNEL_OPTIONS,
    {"no-exponents", PR_ARG_FLAG, NULL, "ISO 4217 for every currency", 0, 0},
    {"remove-param", PR_ARG_REPEATED, "NAME", "forget an optional parameter", 0, 0},
    PR_ARG_REASON,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t list_options[] = {
    {"state", PR_ARG_CHOICE, "active|paused|stopped|maintenance", "only those in this state", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t pause_options[] = {
    PR_ARG_REASON_NEEDED,
    {"maintenance", PR_ARG_FLAG, NULL, "the gateway rests: shown so", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t resume_options[] = {
    PR_ARG_REASON_NEEDED,
    {"tested", PR_ARG_TEXT, "TEXT", "instead of the test call of a stopped channel: how you tried the credential yourself", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_column_t columns[] = {
    {"channel", PR_COLUMN_TEXT, false}, {"profile", PR_COLUMN_TEXT, false},
    {"state", PR_COLUMN_TEXT, false}, {"livemode", PR_COLUMN_BOOL, false},
    {"base_url", PR_COLUMN_TEXT, false}, {"account", PR_COLUMN_TEXT, false},
    {"rate_per_s", PR_COLUMN_REAL, false}, {"burst", PR_COLUMN_I32, false},
    {"concurrency", PR_COLUMN_I32, false}, {"state_reason", PR_COLUMN_TEXT, false},
    {"state_at", PR_COLUMN_TIME, true}, {"version", PR_COLUMN_I64, true},
    {"private_ca", PR_COLUMN_BOOL, true}, {"notify_url", PR_COLUMN_TEXT, true},
    {"match", PR_COLUMN_LIST, true}, {"failure_final", PR_COLUMN_BOOL, true},
    {"unit", PR_COLUMN_TEXT, true}, {"exponents", PR_COLUMN_OBJECT, true},
    {"not_found", PR_COLUMN_TEXT, true}, {"not_found_grace_ms", PR_COLUMN_I64, true},
    {"settle_ms", PR_COLUMN_I64, true}, {"polls", PR_COLUMN_TEXT, true},
    {"max_polls", PR_COLUMN_I32, true}, {"first_poll_ms", PR_COLUMN_I64, true},
    {"charge_retry", PR_COLUMN_TEXT, true}, {"charge_tries", PR_COLUMN_I32, true},
    {"operations", PR_COLUMN_LIST, true}, {"number_max", PR_COLUMN_I32, true},
    {"expires_ms", PR_COLUMN_I64, true}, {"order_policy", PR_COLUMN_TEXT, true},
    {"late_money", PR_COLUMN_TEXT, true}, {"risk", PR_COLUMN_TEXT, true},
    {"parameter_names", PR_COLUMN_LIST, true}, {"created_at", PR_COLUMN_TIME, true},
    {"updated_at", PR_COLUMN_TIME, true}, {NULL, PR_COLUMN_NONE, false},
};
enum { COLUMN_PROFILE = 1, COLUMN_STATE = 2, COLUMN_BASE_URL = 4 };

const pr_arg_spec_t pr_channel_add_spec = {
    "channel add ID --profile NAME [--base-url URL] --param-file NAME=FILE [OPTION...]",
    "An account at a gateway. Its profile (docs/profiles.md) says which parameters it takes;\n"
    "they are checked, sealed with the master key, and never shown again.",
    add_options, 1, 1};
const pr_arg_spec_t pr_channel_set_spec = {
    "channel set ID OPTION...",
    "Changes settings, or replaces the parameters that are named. Acts within 2 s.", set_options,
    1, 1};
const pr_arg_spec_t pr_channel_list_spec = {"channel list [--state S]", "Channels and where they stand.",
                                            list_options, 0, 0};
const pr_arg_spec_t pr_channel_show_spec = {
    "channel show ID", "One channel and its settings; its parameters by name, never a value.", NULL,
    1, 1};
const pr_arg_spec_t pr_channel_pause_spec = {
    "channel pause ID --reason TEXT [--maintenance]",
    "Its calls wait until it is resumed; webhooks are taken all the same.", pause_options, 1, 1};
const pr_arg_spec_t pr_channel_resume_spec = {
    "channel resume ID --reason TEXT [--tested TEXT]",
    "Its calls go again. One that was stopped because the gateway refused its credential is asked\n"
    "first, with a query for a payment that does not exist.", resume_options, 1, 1};
/* clang-format on */

/* ---- add, set ---- */

/* What one of these commands holds while it runs. */
typedef struct {
    pr_console_t *console;
    const pr_args_t *args;
    const char *id;
    pr_profile_dir_t *profiles;
    const pr_profile_t *profile;
    pr_master_key_t key;
    pr_cli_parameters_t parameters;
    json_t *settings, *sealed;
} change_t;

static int find_profile(change_t *self, const char *name)
{
    pr_error_t error;
    self->profiles = pr_profile_dir_new(pr_config_text(self->console->config, "profiles_dir"));
    if (pr_profile_dir_get(self->profiles, name, &self->profile, &error) != PR_OK) {
        return pr_console_usage("%s", error.text);
    }
    return PR_EXIT_OK;
}

/* Before anything is written: do the parameters make a channel? Then its account is known, too. */
static int check_parameters(change_t *self)
{
    pr_channel_t *channel = NULL;
    int code = pr_cli_parameters_open(&self->parameters, self->profile, &channel);
    if (code == PR_EXIT_OK) {
        json_object_set_new(self->settings, "account", json_string(pr_channel_account(channel)));
        pr_channel_destroy(&channel);
        code = pr_cli_parameters_seal(&self->parameters, &self->key, self->id, self->sealed);
    }
    return code;
}

static int write_change(change_t *self, int statement, bool reason)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    PR_CLEANUP_FREE char *settings = json_dumps(self->settings, JSON_COMPACT);
    PR_CLEANUP_FREE char *sealed = json_dumps(self->sealed, JSON_COMPACT);
    pr_params_t *params = self->console->params;
    pr_params_add_text(params, self->console->operator_name);
    pr_params_add_text(params, self->id);
    pr_params_add_text(params, settings);
    pr_params_add_text(params, sealed);
    if (reason) {
        pr_params_add_text(params, pr_args_text(self->args, "reason"));
    }
    return pr_console_query(self->console, statement, &rows);
}

static int add(change_t *self)
{
    int code = find_profile(self, pr_args_text(self->args, "profile"));
    if (code != PR_EXIT_OK) {
        return code;
    }
    const pr_profile_facts_t *facts = pr_profile_facts(self->profile);
    pr_channel_put_facts(self->settings, facts);
    json_object_set_new(self->settings, "base_url", json_string(facts->base_url));
    json_object_set_new(self->settings, "livemode",
                        json_boolean(!pr_args_given(self->args, "test-mode")));
    if (facts->base_url[0] == '\0' && !pr_args_given(self->args, "base-url")) {
        return pr_console_usage("--base-url is needed: profile %s names no address", facts->name);
    }
    code = pr_channel_put_options(self->settings, self->args);
    if (code == PR_EXIT_OK) {
        code = pr_cli_parameters_given(&self->parameters, self->args);
    }
    if (code == PR_EXIT_OK) {
        code = pr_cli_master_key(self->console, &self->key);
    }
    if (code == PR_EXIT_OK) {
        code = check_parameters(self);
    }
    return code == PR_EXIT_OK ? write_change(self, PR_SQL_CLI_CHANNEL_ADD, false) : code;
}

static int look(pr_console_t *console, const char *id, pr_rows_t **rows)
{
    pr_params_add_text(console->params, id);
    pr_params_add_null(console->params);
    int code = pr_console_query(console, PR_SQL_CLI_CHANNEL_LIST, rows);
    if (code == PR_EXIT_OK && pr_rows_count(*rows) == 0) {
        return pr_console_failed("channel \"%s\" is not known; `postrider channel list` shows "
                                 "those that are",
                                 id);
    }
    return code;
}

/* {"name", "sealed": null} takes a parameter away. */
static void remove_parameters(json_t *sealed, const char *const *names)
{
    for (; *names != NULL; names++) {
        json_t *one = json_pack("{s:s, s:n}", "name", *names, "sealed");
        if (one != NULL) {
            json_array_append_new(sealed, one);
        }
    }
}

/* The parameters change, or the profile that reads them. */
static int set_parameters(change_t *self)
{
    const char *const *removed = pr_args_get(self->args, "remove-param")->items;
    int code = pr_cli_master_key(self->console, &self->key);
    if (code == PR_EXIT_OK) {
        code = pr_cli_parameters_kept(&self->parameters, self->console, &self->key, self->id,
                                      removed, NULL);
    }
    if (code == PR_EXIT_OK) {
        code = check_parameters(self);
        remove_parameters(self->sealed, removed);
    }
    return code;
}

static int set(change_t *self)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    bool other_profile = pr_args_given(self->args, "profile");
    int code = look(self->console, self->id, &rows);
    if (code == PR_EXIT_OK) {
        code = find_profile(self, other_profile ? pr_args_text(self->args, "profile")
                                                : pr_rows_text(rows, 0, COLUMN_PROFILE));
    }
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (other_profile) {
        pr_channel_put_facts(self->settings, pr_profile_facts(self->profile));
    }
    code = pr_channel_put_options(self->settings, self->args);
    if (pr_args_given(self->args, "no-exponents")) {
        json_object_set_new(self->settings, "exponents", json_object());
    }
    if (code == PR_EXIT_OK) {
        code = pr_cli_parameters_given(&self->parameters, self->args);
    }
    bool parameters = self->parameters.count > 0 || pr_args_given(self->args, "remove-param");
    if (code == PR_EXIT_OK && (parameters || other_profile)) {
        code = set_parameters(self);
    }
    if (code == PR_EXIT_OK && !parameters && json_object_size(self->settings) == 0) {
        code = pr_console_usage("nothing to change; `postrider channel set --help` lists what can "
                                "be");
    }
    return code == PR_EXIT_OK ? write_change(self, PR_SQL_CLI_CHANNEL_SET, true) : code;
}

static void warn_if_refused(const change_t *self)
{
    const char *url = json_string_value(json_object_get(self->settings, "base_url"));
    if (url != NULL && pr_plain_http_refused(self->console, url)) {
        fputs("postrider: warning: calls to an http:// URL are refused: use https://, or allow\n"
              "plain HTTP (http.allow_plain) or the address (http.allow_addresses)\n",
              stderr);
    }
}

static int change(const pr_args_t *args, int (*fn)(change_t *), const char *verb)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code != PR_EXIT_OK) {
        return code;
    }
    change_t self = {.console = &console,
                     .args = args,
                     .id = args->positional[0],
                     .settings = json_object(),
                     .sealed = json_array()};
    code = fn(&self);
    if (code == PR_EXIT_OK) {
        warn_if_refused(&self);
        const char *profile = pr_profile_facts(self.profile)->name;
        if (console.json) {
            pr_console_json(
                json_pack("{s:s, s:s, s:b}", "channel", self.id, "profile", profile, verb, 1));
        } else {
            printf("channel %s %s: profile %s; its webhooks come to /v1/webhooks/%s\n", self.id,
                   verb, profile, self.id);
        }
    }
    pr_cli_parameters_wipe(&self.parameters);
    pr_master_key_wipe(&self.key);
    pr_profile_dir_destroy(&self.profiles);
    json_decref(self.settings);
    json_decref(self.sealed);
    pr_console_close(&console);
    return code;
}

int pr_channel_add(const pr_args_t *args)
{
    if (!pr_args_given(args, "profile")) {
        return pr_console_usage("--profile is needed: the name of a file in profiles/, such as "
                                "stripe");
    }
    return change(args, add, "added");
}

int pr_channel_set(const pr_args_t *args)
{
    return change(args, set, "changed");
}

/* ---- list, show ---- */

int pr_channel_list(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code != PR_EXIT_OK) {
        return code;
    }
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_null(console.params);
    pr_params_add_text(console.params, pr_args_text(args, "state"));
    code = pr_console_query(&console, PR_SQL_CLI_CHANNEL_LIST, &rows);
    if (code == PR_EXIT_OK) {
        pr_console_print(&console, rows, columns, "no channels");
    }
    pr_console_close(&console);
    return code;
}

int pr_channel_show(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code != PR_EXIT_OK) {
        return code;
    }
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    code = look(&console, args->positional[0], &rows);
    if (code == PR_EXIT_OK) {
        pr_console_print_one(&console, rows, 0, columns);
    }
    pr_console_close(&console);
    return code;
}

/* ---- pause, resume ---- */

static int move(pr_console_t *console, const pr_args_t *args, int statement, const char *test,
                const char *state)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_text(console->params, args->positional[0]);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    if (statement == PR_SQL_CLI_CHANNEL_RESUME) {
        pr_params_add_text(console->params, test);
    }
    int code = pr_console_query(console, statement, &rows);
    if (code != PR_EXIT_OK) {
        return code;
    }
    bool changed = pr_rows_bool(rows, 0, 0);
    if (console->json) {
        pr_console_json(json_pack("{s:s, s:s, s:b}", "channel", args->positional[0], "state", state,
                                  "changed", (int)changed));
    } else {
        printf("channel %s %s %s\n", args->positional[0], changed ? "is now" : "was already",
               state);
    }
    return code;
}

static int with_reason(const pr_args_t *args, int (*fn)(pr_console_t *, const pr_args_t *))
{
    const char *reason = pr_args_text(args, "reason");
    if (reason == NULL || reason[0] == '\0') {
        return pr_console_usage("--reason is needed: the audit asks why");
    }
    return pr_console_with(args, fn);
}

static int pause_channel(pr_console_t *console, const pr_args_t *args)
{
    return pr_args_given(args, "maintenance")
               ? move(console, args, PR_SQL_CLI_CHANNEL_MAINTAIN, NULL, "maintenance")
               : move(console, args, PR_SQL_CLI_CHANNEL_PAUSE, NULL, "paused");
}

int pr_channel_pause(const pr_args_t *args)
{
    return with_reason(args, pause_channel);
}

/* The test's result in *test, the caller's text. */
static int prove(pr_console_t *console, const pr_args_t *args, const pr_rows_t *rows, char **test)
{
    PR_CLEANUP_FREE char *ca = NULL;
    change_t self = {.console = console, .args = args, .id = args->positional[0]};
    int code = find_profile(&self, pr_rows_text(rows, 0, COLUMN_PROFILE));
    if (code == PR_EXIT_OK) {
        code = pr_cli_master_key(console, &self.key);
    }
    if (code == PR_EXIT_OK) {
        code = pr_cli_parameters_kept(&self.parameters, console, &self.key, self.id, NULL, &ca);
    }
    pr_channel_t *channel = NULL;
    if (code == PR_EXIT_OK) {
        code = pr_cli_parameters_open(&self.parameters, self.profile, &channel);
    }
    if (code == PR_EXIT_OK) {
        code = pr_channel_test(console, channel, pr_profile_facts(self.profile),
                               pr_rows_text(rows, 0, COLUMN_BASE_URL), ca, test);
    }
    pr_channel_destroy(&channel);
    pr_cli_parameters_wipe(&self.parameters);
    pr_master_key_wipe(&self.key);
    pr_profile_dir_destroy(&self.profiles);
    return code;
}

static int resume(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    PR_CLEANUP_FREE char *test = NULL;
    int code = look(console, args->positional[0], &rows);
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (pr_args_given(args, "tested")) {
        json_t *said = json_pack("{s:n, s:s, s:s}", "http_status", "by", "person", "note",
                                 pr_args_text(args, "tested"));
        test = json_dumps(said, JSON_COMPACT);
        json_decref(said);
    } else if (strcmp(pr_rows_text(rows, 0, COLUMN_STATE), "stopped") == 0) {
        code = prove(console, args, rows, &test);
    }
    return code == PR_EXIT_OK ? move(console, args, PR_SQL_CLI_CHANNEL_RESUME, test, "active")
                              : code;
}

int pr_channel_resume(const pr_args_t *args)
{
    return with_reason(args, resume);
}
