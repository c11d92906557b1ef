/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recon_run.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/recon.h"
#include "recon/import.h"
#include "recon/spec.h"
#include "sql/cli.h"
#include "sql/recon.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define PIECE_BYTES (256u << 10)
#define STEP_ROWS 10000 /* matched in one transaction: about a second */
#define ERRAND_MS (5 * 60 * 1000)
#define LOOK_MS 250

/* clang-format off */
static const pr_arg_t options[] = {
    {"channel", PR_ARG_TEXT, "ID", "whose statement (needed)", 0, 0},
    {"date", PR_ARG_TEXT, "YYYY-MM-DD", "which day, where the channel is (needed)", 0, 0},
    {"file", PR_ARG_TEXT, "FILE", "the statement, packed or not; without it the day's files are matched on", 0, 0},
    {"source", PR_ARG_CHOICE, "download|directory", "the reconciler fetches it now: from the channel, or from where files are dropped", 0, 0},
    {"wait", PR_ARG_DURATION, "DURATION", "with --source: so long for the reconciler (default 5m); it goes on all the same", 0, 24.0 * 3600 * 1000},
    {"format", PR_ARG_TEXT, "NAME", "a statement of the channel's profile, or wechat-trade, wechat-funds, alipay-trade, alipay-account, stripe-balance, camt053, postrider (default: the channel's)", 0, 0},
    {"kind", PR_ARG_TEXT, "NAME", "which of the day's statements it is (default: the format)", 0, 0},
    {"correct", PR_ARG_FLAG, NULL, "it takes the place of the statement that is there for this day", 0, 0},
    {"dry-run", PR_ARG_FLAG, NULL, "say what would come of it, write nothing", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
/* clang-format on */

const pr_arg_spec_t pr_recon_run_spec = {
    "recon run --channel ID --date D [--file F | --source S] [OPTION...]",
    "Imports a statement and matches it. Exit code 1 when it is refused, has not come, or is held for "
    "a person.",
    options, 0, 0};

typedef struct {
    pr_console_t *console;
    const pr_args_t *args;
    pr_profile_dir_t *profiles;
    bool dry; /* in one transaction, rolled back at the end */
    int64_t file_id;
} run_t;

static int control(const run_t *self, const char *statement)
{
    pr_error_t error;
    if (pr_db_sync_query(self->console->db, statement, NULL, NULL, &error) != PR_OK) {
        return pr_console_failed("%s", error.text);
    }
    return PR_EXIT_OK;
}

/* A statement of sql/queries/recon, with the console's parameters. */
static int query(const run_t *self, int index, pr_rows_t **rows)
{
    pr_error_t error;
    pr_rc_t rc = pr_db_sync_query(self->console->db, pr_sql_recon[index].sql, self->console->params,
                                  rows, &error);
    pr_params_clear(self->console->params);
    return rc == PR_OK ? PR_EXIT_OK : pr_console_failed("%s", error.text);
}

/* ---- reading ---- */

static int push_file(pr_recon_import_t *import, const char *path)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return pr_console_failed("%s: %s", path, strerrorname_np(errno));
    }
    PR_CLEANUP_FREE uint8_t *piece = pr_calloc(PIECE_BYTES, 1);
    pr_error_t error;
    pr_rc_t rc = PR_OK;
    size_t len = 0;
    while (rc == PR_OK && (len = fread(piece, 1, PIECE_BYTES, file)) > 0) {
        rc = pr_recon_import_push(import, pr_bytes(piece, len), &error);
    }
    bool unread = ferror(file) != 0;
    (void)fclose(file);
    if (rc != PR_OK) {
        return pr_console_failed("%s", error.text);
    }
    return unread ? pr_console_failed("%s cannot be read to its end", path) : PR_EXIT_OK;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int spec_of(const run_t *self, pr_statement_spec_t *spec, const char **kind)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    const char *channel = pr_args_text(self->args, "channel");
    const char *format = pr_args_text(self->args, "format");
    pr_params_add_text(self->console->params, channel);
    pr_params_add_text(self->console->params, pr_args_text(self->args, "date"));
    int code = query(self, PR_SQL_RECON_SETTINGS, &rows);
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (pr_rows_count(rows) == 0) {
        return pr_console_failed(
            "there is no channel %s; `postrider channel list` shows those that "
            "are",
            channel);
    }
    if (format == NULL && !pr_rows_null(rows, 0, 1)) {
        format = pr_rows_text(rows, 0, 1);
    }
    pr_error_t error;
    return pr_recon_spec_of(self->profiles, pr_rows_text(rows, 0, 0), format,
                            pr_rows_i32(rows, 0, 2), spec, kind, &error) == PR_OK
               ? PR_EXIT_OK
               : pr_console_usage("%s; --format NAME", error.text);
}

static int import_file(run_t *self, const char *path)
{
    pr_statement_spec_t spec;
    const char *kind = NULL;
    int code = spec_of(self, &spec, &kind);
    if (code != PR_EXIT_OK) {
        return code;
    }
    const pr_recon_import_options_t what = {
        .who = self->console->operator_name,
        .channel = pr_args_text(self->args, "channel"),
        .day = pr_args_text(self->args, "date"),
        .kind = pr_args_given(self->args, "kind") ? pr_args_text(self->args, "kind") : kind,
        .name = base_name(path),
        .source = "file",
        .correct = pr_args_given(self->args, "correct"),
        .keep_unreadable = true};
    PR_CLEANUP(pr_recon_import) pr_recon_import_t *import = NULL;
    pr_recon_imported_t imported;
    pr_error_t error;
    if (pr_recon_import_new(self->console->db, &what, &spec, NULL, &import, &error) != PR_OK) {
        return pr_console_failed("%s", error.text);
    }
    code = push_file(import, path);
    if (code == PR_EXIT_OK && pr_recon_import_finish(import, &imported, &error) != PR_OK) {
        code = pr_console_failed("%s", error.text);
    }
    self->file_id = code == PR_EXIT_OK ? imported.file_id : 0;
    return code;
}

/* ---- matching ---- */

/* Step by step, each in a transaction of its own (all in one in a dry run). */
static int match(const run_t *self)
{
    for (;;) {
        PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
        pr_params_add_i64(self->console->params, self->file_id);
        pr_params_add_i32(self->console->params, STEP_ROWS);
        int code = query(self, PR_SQL_RECON_MATCH_STEP, &rows);
        if (code != PR_EXIT_OK || strcmp(pr_rows_text(rows, 0, 0), "imported") != 0) {
            return code;
        }
    }
}

static void print_counts(json_t *object, const char *name)
{
    const char *class = NULL;
    json_t *count = NULL;
    const json_t *counts = json_object_get(object, name);
    printf("%s:%s", name, json_object_size(counts) == 0 ? " none" : "");
    json_object_foreach((json_t *)counts, class, count)
    {
        printf(" %s %" JSON_INTEGER_FORMAT, class, json_integer_value(count));
    }
    printf("\n");
}

static int64_t number(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static int report(const run_t *self)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_i64(self->console->params, self->file_id);
    int code = query(self, PR_SQL_RECON_REPORT, &rows);
    if (code != PR_EXIT_OK) {
        return code;
    }
    json_t *object = json_loads(pr_rows_text(rows, 0, 0), 0, NULL);
    if (object == NULL) {
        return pr_console_failed("statement %" PRId64 " has no report", self->file_id);
    }
    const char *status = json_string_value(json_object_get(object, "status"));
    code = strcmp(status, "matched") == 0 ? PR_EXIT_OK : PR_EXIT_FAILED;
    if (self->console->json) {
        json_object_set_new(object, "dry_run", json_boolean(self->dry));
        int told = self->dry ? pr_recon_print_differences(self->console, self->file_id, object) : 0;
        pr_console_json(object);
        return told == PR_EXIT_OK ? code : told;
    }
    printf("statement %" PRId64 "%s: %s%s%s\n", self->file_id, self->dry ? " (dry run)" : "",
           status, code == PR_EXIT_OK ? "" : ", ",
           json_string_value(json_object_get(object, "reason")));
    printf("rows %" PRId64 ", bad %" PRId64 ", agree %" PRId64 ", wait %" PRId64
           ", moved no money %" PRId64 ", totals %s\n",
           number(object, "rows"), number(object, "bad"), number(object, "matched"),
           number(object, "waiting"), number(object, "ignored"),
           json_string_value(json_object_get(object, "proof")));
    print_counts(object, "differences");
    json_decref(object);
    /* nobody can look them up afterwards */
    int told = self->dry ? pr_recon_print_differences(self->console, self->file_id, NULL) : 0;
    return told == PR_EXIT_OK ? code : told;
}

/* ---- the command ---- */

/* Without a file: what is there of the day goes on where it stopped. */
static int match_day(run_t *self)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(self->console->params, pr_args_text(self->args, "channel"));
    pr_params_add_text(self->console->params, pr_args_text(self->args, "date"));
    int code = pr_console_query(self->console, PR_SQL_CLI_RECON_OF_DAY, &rows);
    if (code == PR_EXIT_OK && pr_rows_count(rows) == 0) {
        return pr_console_failed("no statement has come for that day: --file F imports one, "
                                 "--source download fetches it from the channel");
    }
    for (int i = 0; code == PR_EXIT_OK && i < pr_rows_count(rows); i++) {
        self->file_id = pr_rows_i64(rows, i, 0);
        code = match(self);
        code = code == PR_EXIT_OK ? report(self) : code;
    }
    return code;
}

static int run_file(run_t *self, const char *path)
{
    int code = control(self, "BEGIN");
    code = code == PR_EXIT_OK ? import_file(self, path) : code;
    if (code == PR_EXIT_OK && !self->dry) {
        code = control(self, "COMMIT");
    }
    code = code == PR_EXIT_OK ? match(self) : code;
    return code == PR_EXIT_OK ? report(self) : code;
}

/* ---- the reconciler's errand ---- */

typedef struct {
    bool waits, taken; /* nobody has done it yet; somebody is at it */
    int64_t file_id;
    bool matched; /* or held: there is a report */
} answer_t;

/* Failed: it has not come, and that is said. */
static int look(const run_t *self, answer_t *out)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(self->console->params, pr_args_text(self->args, "channel"));
    pr_params_add_text(self->console->params, pr_args_text(self->args, "date"));
    int code = pr_console_query(self->console, PR_SQL_CLI_RECON_ANSWER, &rows);
    *out = (answer_t){.waits = true};
    if (code != PR_EXIT_OK || pr_rows_count(rows) == 0) {
        return code;
    }
    out->waits = pr_rows_bool(rows, 0, 0);
    out->taken = pr_rows_bool(rows, 0, 1);
    if (!out->waits && pr_rows_null(rows, 0, 2)) {
        return pr_console_failed("the statement has not come: %s", pr_rows_null(rows, 0, 3)
                                                                       ? "nobody knows why"
                                                                       : pr_rows_text(rows, 0, 3));
    }
    out->file_id = pr_rows_null(rows, 0, 2) ? 0 : pr_rows_i64(rows, 0, 2);
    out->matched = !pr_rows_null(rows, 0, 4) && strcmp(pr_rows_text(rows, 0, 4), "imported") != 0;
    return PR_EXIT_OK;
}

static int overdue(const answer_t *answer)
{
    return pr_console_failed(
        "%s; `postrider recon due --all` shows what comes of it",
        answer->taken    ? "the reconciler is at it still"
        : !answer->waits ? "it is here, and is being matched"
                         : "no reconciler has taken it yet: does one run, of this version?");
}

static int run_errand(run_t *self, const char *source)
{
    const pr_arg_value_t *wait = pr_args_get(self->args, "wait");
    int64_t until_ms = pr_clock_mono_ms() + (wait->given ? wait->integer : ERRAND_MS);
    pr_params_t *params = self->console->params;
    pr_params_add_text(params, self->console->operator_name);
    pr_params_add_text(params, pr_args_text(self->args, "channel"));
    pr_params_add_text(params, pr_args_text(self->args, "date"));
    pr_params_add_text(params, source);
    pr_params_add_text(params, pr_args_text(self->args, "format"));
    pr_params_add_bool(params, pr_args_given(self->args, "correct"));
    int code = pr_console_query(self->console, PR_SQL_CLI_RECON_ASK, NULL);
    answer_t answer = {.waits = true};
    while (code == PR_EXIT_OK && !answer.matched) {
        code = look(self, &answer);
        if (code == PR_EXIT_OK && !answer.matched && pr_clock_mono_ms() >= until_ms) {
            return overdue(&answer);
        }
        if (code == PR_EXIT_OK && !answer.matched) {
            (void)poll(NULL, 0, LOOK_MS);
        }
    }
    self->file_id = answer.file_id;
    return code == PR_EXIT_OK ? report(self) : code;
}

static int run(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_profile_dir)
    pr_profile_dir_t *profiles =
        pr_profile_dir_new(pr_config_text(console->config, "profiles_dir"));
    run_t self = {.console = console,
                  .args = args,
                  .profiles = profiles,
                  .dry = pr_args_given(args, "dry-run")};
    const char *path = pr_args_text(args, "file");
    const char *source = pr_args_text(args, "source");
    int code = path != NULL     ? run_file(&self, path)
               : source != NULL ? run_errand(&self, source)
                                : match_day(&self);
    if (path != NULL && self.dry) {
        int undone = control(&self, "ROLLBACK");
        code = code == PR_EXIT_OK ? undone : code;
    }
    return code; /* what a failure left open ends with the connection */
}

int pr_recon_run(const pr_args_t *args)
{
    if (!pr_args_given(args, "channel") || !pr_args_given(args, "date")) {
        return pr_console_usage("--channel and --date are needed: whose statement, of which day");
    }
    if (pr_args_given(args, "dry-run") && !pr_args_given(args, "file")) {
        return pr_console_usage("--dry-run needs --file");
    }
    if (pr_args_given(args, "source") &&
        (pr_args_given(args, "file") || pr_args_given(args, "kind"))) {
        return pr_console_usage("--source fetches the file and knows its kind: without --file and "
                                "--kind (--format names one of several)");
    }
    if (pr_args_given(args, "wait") && !pr_args_given(args, "source")) {
        return pr_console_usage("--wait is for --source");
    }
    return pr_console_with(args, run);
}
