/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recon_set.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/console.h"
#include "sql/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS (24.0 * 3600 * 1000)

/* clang-format off */
static const pr_arg_t set_options[] = {
    {"zone", PR_ARG_TEXT, "NAME", "whose days its statements are about: Asia/Shanghai, UTC ... (default UTC)", 0, 0},
    {"format", PR_ARG_TEXT, "NAME", "a statement of its profile, wechat-trade, alipay-trade, camt053, postrider ... (default: the profile's daily one)", 0, 0},
    {"source", PR_ARG_CHOICE, "none|directory|download", "where each day's statement is expected from (default none)", 0, 0},
    {"ready", PR_ARG_DURATION, "DURATION", "due so long after the day's end, by the clock there (default 10h)", 0, 5 * DAY_MS},
    {"late", PR_ARG_DURATION, "DURATION", "overdue for so long: an alert (default 4h)", 0, 30 * DAY_MS},
    {"starts", PR_ARG_TEXT, "YYYY-MM-DD", "the first day that is expected (default: today)", 0, 0},
    {"proves", PR_ARG_TEXT, "LIST", "what must stand in it: payment,refund, or one of them, or - (default payment,refund)", 0, 0},
    {"pool-age", PR_ARG_DURATION, "DURATION", "younger than this at the day's edge is no difference yet (default 2h)", 0, 7 * DAY_MS},
    {"tolerance", PR_ARG_TEXT, "JSON", "minor units by which amounts may differ: {\"CNY\": 1} (default {})", 0, 0},
    {"max-differences", PR_ARG_INT, "N", "more in one statement, and a person looks first (default 1000)", 1, 1000000},
    PR_ARG_REASON,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t delivery_options[] = {
    {"grace", PR_ARG_DURATION, "DURATION", "how long after the payment the goods are out at the latest", 0, 90 * DAY_MS},
    {"off", PR_ARG_FLAG, NULL, "it reports no deliveries", 0, 0},
    PR_ARG_REASON,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
/* clang-format on */

const pr_arg_spec_t pr_recon_set_spec = {"recon set CHANNEL [OPTION...]",
                                         "Says how a channel's statements are read and expected.",
                                         set_options, 1, 1};
const pr_arg_spec_t pr_recon_delivery_spec = {
    "recon delivery MERCHANT --grace DURATION | --off",
    "Says when a merchant's goods are out; paid and not delivered by then is a difference.",
    delivery_options, 1, 1};

static void put_text(json_t *settings, const pr_args_t *args, const char *option, const char *name)
{
    if (pr_args_given(args, option)) {
        json_object_set_new(settings, name, json_string(pr_args_text(args, option)));
    }
}

/* Durations as Postgres reads an interval. */
static void put_duration(json_t *settings, const pr_args_t *args, const char *option,
                         const char *name)
{
    const pr_arg_value_t *value = pr_args_get(args, option);
    if (value->given) {
        json_object_set_new(settings, name, json_sprintf("%" PRId64 " ms", value->integer));
    }
}

/* "payment,refund" -> ["payment", "refund"]; "-" -> []. */
static void put_proves(json_t *settings, const pr_args_t *args)
{
    const char *text = pr_args_text(args, "proves");
    if (text == NULL) {
        return;
    }
    json_t *list = json_array();
    PR_CLEANUP_FREE char *copy = pr_strdup(text);
    char *rest = copy;
    for (char *word = strsep(&rest, ","); word != NULL; word = strsep(&rest, ",")) {
        if (strcmp(word, "-") != 0) {
            json_array_append_new(list, json_string(word));
        }
    }
    json_object_set_new(settings, "proves", list);
}

static json_t *settings_of(const pr_args_t *args)
{
    json_t *settings = json_object();
    put_text(settings, args, "zone", "zone");
    put_text(settings, args, "format", "format");
    put_text(settings, args, "source", "source");
    put_duration(settings, args, "ready", "ready");
    put_duration(settings, args, "late", "late");
    put_text(settings, args, "starts", "starts");
    put_proves(settings, args);
    put_duration(settings, args, "pool-age", "pool_age");
    if (pr_args_given(args, "tolerance")) {
        json_t *tolerance = json_loads(pr_args_text(args, "tolerance"), 0, NULL);
        json_object_set_new(settings, "tolerance", tolerance != NULL ? tolerance : json_null());
    }
    if (pr_args_given(args, "max-differences")) {
        json_object_set_new(settings, "max_differences",
                            json_integer(pr_args_get(args, "max-differences")->integer));
    }
    return settings;
}

static int said(const pr_console_t *console, const char *what, const char *id)
{
    if (console->json) {
        pr_console_json(json_pack("{s:s}", what, id));
    } else {
        printf("%s %s is set\n", what, id);
    }
    return PR_EXIT_OK;
}

static int set(pr_console_t *console, const pr_args_t *args)
{
    json_t *settings = settings_of(args);
    if (json_object_size(settings) == 0) {
        json_decref(settings);
        return pr_console_usage("nothing to set: recon set --help");
    }
    PR_CLEANUP_FREE char *text = json_dumps(settings, JSON_COMPACT);
    json_decref(settings);
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_text(console->params, args->positional[0]);
    pr_params_add_text(console->params, text);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    int code = pr_console_query(console, PR_SQL_CLI_RECON_SET, NULL);
    return code == PR_EXIT_OK ? said(console, "channel", args->positional[0]) : code;
}

static int delivery(pr_console_t *console, const pr_args_t *args)
{
    const pr_arg_value_t *grace = pr_args_get(args, "grace");
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_text(console->params, args->positional[0]);
    if (grace->given) {
        pr_params_add_i64(console->params, grace->integer);
    } else {
        pr_params_add_null(console->params);
    }
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    int code = pr_console_query(console, PR_SQL_CLI_RECON_DELIVERY, NULL);
    return code == PR_EXIT_OK ? said(console, "merchant", args->positional[0]) : code;
}

int pr_recon_set(const pr_args_t *args)
{
    return pr_console_with(args, set);
}

int pr_recon_delivery(const pr_args_t *args)
{
    if (pr_args_given(args, "grace") == pr_args_given(args, "off")) {
        return pr_console_usage("either --grace or --off is needed");
    }
    return pr_console_with(args, delivery);
}
