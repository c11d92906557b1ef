/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider check: looks whether what must always hold does hold (sql: check_invariants). A broken
 * invariant is a bug or a damaged database; a lag is something that stands still, such as an actor
 * that does not run.
 */
#include "cli/check.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/console.h"
#include "sql/cli.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const pr_arg_t options[] = {
    {"since", PR_ARG_DURATION, "D", "look at notifications enqueued in the last D (default: all of them)", 1, 0x1p52},
    {"strict", PR_ARG_FLAG, NULL, "a lag fails too", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_column_t columns[] = {
    {"name", PR_COLUMN_TEXT, false}, {"kind", PR_COLUMN_TEXT, false},
    {"broken", PR_COLUMN_I64, false}, {"detail", PR_COLUMN_TEXT, false},
    {NULL, PR_COLUMN_NONE, false},
};
/* clang-format on */

static int64_t count_broken(const pr_rows_t *rows, const char *kind)
{
    int64_t count = 0;
    for (int row = 0; row < pr_rows_count(rows); row++) {
        if (strcmp(pr_rows_text(rows, row, 1), kind) == 0) {
            count += pr_rows_i64(rows, row, 2) != 0;
        }
    }
    return count;
}

static int check(const pr_args_t *args)
{
    pr_console_t console;
    int code = pr_console_open(&console, args);
    if (code != PR_EXIT_OK) {
        return code;
    }
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    const pr_arg_value_t *since = pr_args_get(args, "since");
    pr_params_add_i64(console.params,
                      since->given ? pr_clock_wall_us() - since->integer * 1000 : 0);
    code = pr_console_query(&console, PR_SQL_CLI_CHECK_INVARIANTS, &rows);
    if (code == PR_EXIT_OK) {
        int64_t broken = count_broken(rows, "invariant"), lags = count_broken(rows, "lag");
        bool good = broken == 0 && (lags == 0 || !pr_args_given(args, "strict"));
        if (console.json) {
            pr_console_json(json_pack("{s:b, s:I, s:I, s:o}", "ok", (int)good, "broken",
                                      (json_int_t)broken, "lags", (json_int_t)lags, "checks",
                                      pr_console_array(rows, columns)));
        } else {
            pr_console_print(&console, rows, columns, "nothing was checked");
        }
        code = good ? PR_EXIT_OK : PR_EXIT_FAILED;
    }
    pr_console_close(&console);
    return code;
}

int pr_check_main(int argc, char **argv)
{
    static const pr_arg_spec_t spec = {
        "check [--since D] [--strict]",
        "Looks whether what must always hold does hold: no notification without a job or an end,\n"
        "no job without an endpoint, nothing overdue. Exit 1 when an invariant is broken.",
        options, 0, 0};
    static const pr_subcommand_t command = {"check", &spec, check};
    return pr_args_single(&command, argc, argv);
}
