/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/order.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/console.h"
#include "sql/cli.h"

#include <stdio.h>

/* clang-format off */
static const pr_arg_t options[] = {
    {"merchant", PR_ARG_TEXT, "ID", "whose order (needed)", 0, 0},
    {"limit", PR_ARG_INT, "N", "at most so many entries, the oldest (default 1000)", 1, 100000},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_column_t columns[] = {
    {"at", PR_COLUMN_TIME, false}, {"kind", PR_COLUMN_TEXT, false},
    {"detail", PR_COLUMN_OBJECT, false}, {NULL, PR_COLUMN_NONE, false},
};
/* clang-format on */

/* What the merchant may see, with the timeline beside it; the caller's reference. */
static json_t *everything(const pr_rows_t *told, const pr_rows_t *timeline)
{
    json_t *object = json_loads(pr_rows_text(told, 0, 0), 0, NULL);
    if (object == NULL) {
        object = json_object();
    }
    json_object_set_new(object, "timeline", pr_console_array(timeline, columns));
    return object;
}

static int show(pr_console_t *console, const char *merchant_id, const char *order_no, int32_t most)
{
    PR_CLEANUP(pr_rows) pr_rows_t *told = NULL;
    PR_CLEANUP(pr_rows) pr_rows_t *timeline = NULL;
    pr_params_add_text(console->params, merchant_id);
    pr_params_add_text(console->params, order_no);
    pr_params_add_i32(console->params, most);
    int code = pr_console_query(console, PR_SQL_CLI_ORDER_TIMELINE, &timeline);
    if (code == PR_EXIT_OK && pr_rows_count(timeline) == 0) {
        return pr_console_failed("nothing is known of order %s of merchant %s", order_no,
                                 merchant_id);
    }
    if (code == PR_EXIT_OK && console->json) {
        pr_params_add_text(console->params, merchant_id);
        pr_params_add_text(console->params, order_no);
        code = pr_console_query(console, PR_SQL_CLI_MERCHANT_ORDER, &told);
    }
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (console->json) {
        pr_console_json(everything(told, timeline));
    } else {
        pr_console_print(console, timeline, columns, "");
    }
    return code;
}

static int order(const pr_args_t *args)
{
    if (!pr_args_given(args, "merchant")) {
        return pr_console_usage("--merchant is needed: an order's number is its merchant's");
    }
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code == PR_EXIT_OK) {
        const pr_arg_value_t *limit = pr_args_get(args, "limit");
        code = show(&console, pr_args_text(args, "merchant"), args->positional[0],
                    limit->given ? (int32_t)limit->integer : 1000);
        pr_console_close(&console);
    }
    return code;
}

int pr_order_main(int argc, char **argv)
{
    static const pr_arg_spec_t spec = {
        "order ORDER_NO --merchant ID",
        "Everything known of an order, on one timeline: payments, evidence, calls, webhooks,\n"
        "tasks, notifications and their tries.",
        options, 1, 1};
    static const pr_subcommand_t command = {"order", &spec, order};
    return pr_args_single(&command, argc, argv);
}
