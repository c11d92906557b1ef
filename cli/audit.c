/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit.h"

#include "audit/audit.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "cli/command.h"
#include "cli/door.h"
#include "sql/cli.h"
#include "sql/console.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 2000
#define FINDINGS_SHOWN 100

/* clang-format off */
static const pr_arg_t list_options[] = {
    {"who", PR_ARG_TEXT, "NAME", "only this operator's", 0, 0},
    {"action", PR_ARG_TEXT, "ACTION", "only channel.pause, payment.decide ...", 0, 0},
    {"subject", PR_ARG_TEXT, "TEXT", "only about this", 0, 0},
    {"merchant-id", PR_ARG_TEXT, "ID", "only about an order of this merchant's (with --order-no)", 0, 0},
    {"order-no", PR_ARG_TEXT, "TEXT", "only about this order", 0, 0},
    PR_ARG_PAGE,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t verify_options[] = {
    {"head", PR_ARG_TEXT, "N:HEX", "a head that was noted earlier: the log must still lead through it", 0, 0},
    {"file", PR_ARG_TEXT, "FILE", "an export instead of the database; - for stdin", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t export_options[] = {
    {"file", PR_ARG_TEXT, "FILE", "a new file instead of stdout", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
/* clang-format on */
static const char *const list_fields[] = {"n", "at", "actor", "action", "subject", "reason", NULL};

/* ---- verify ---- */

typedef struct {
    pr_audit_chain_t chain, head; /* head: as given; n 0: none was */
    bool head_seen;
    int64_t entries, found;
    json_t *findings; /* the first FINDINGS_SHOWN */
} verify_t;

static void note(verify_t *self, int64_t n, int64_t id, const char *what)
{
    if (self->found++ < FINDINGS_SHOWN) {
        json_array_append_new(self->findings, json_pack("{s:I, s:I, s:s}", "n", (json_int_t)n, "id",
                                                        (json_int_t)id, "what", what));
    }
}

static void follow(verify_t *self, int64_t n, int64_t id, const pr_audit_entry_t *entry,
                   const uint8_t *hash)
{
    pr_audit_finding_t finding = pr_audit_follow(&self->chain, n, entry, hash);
    self->entries++;
    if (finding != PR_AUDIT_GOOD) {
        note(self, n, id, pr_audit_finding_text(finding));
    }
    if (n == self->head.n) {
        self->head_seen = true;
        if (memcmp(hash, self->head.hash, sizeof self->head.hash) != 0) {
            note(self, n, id, "it is not the entry whose head was noted");
        }
    }
}

static const char *text_or_null(const pr_rows_t *rows, int row, int column)
{
    return pr_rows_null(rows, row, column) ? NULL : pr_rows_text(rows, row, column);
}

/* Columns of cli.audit_entries. */
static pr_audit_entry_t entry_of(const pr_rows_t *rows, int row)
{
    return (pr_audit_entry_t){
        .n = pr_rows_i64(rows, row, 0),
        .id = pr_rows_i64(rows, row, 3),
        .at_us = pr_rows_i64(rows, row, 4),
        .actor = pr_rows_text(rows, row, 5),
        .action = pr_rows_text(rows, row, 6),
        .subject = pr_rows_text(rows, row, 7),
        .reason = text_or_null(rows, row, 8),
        .detail = pr_rows_text(rows, row, 9),
        .login = pr_rows_text(rows, row, 10),
        .merchant_id = text_or_null(rows, row, 11),
        .order_no = text_or_null(rows, row, 12),
    };
}

static int page_of(pr_console_t *console, int64_t after, pr_rows_t **rows)
{
    pr_params_add_i64(console->params, after);
    pr_params_add_i32(console->params, PAGE);
    return pr_console_query(console, PR_SQL_CLI_AUDIT_ENTRIES, rows);
}

/* From the first entry to the end that there was when it began; later ones are looked at next time. */
static int verify_rows(pr_console_t *console, verify_t *self, int64_t upto)
{
    while (self->chain.n < upto) {
        PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
        int code = page_of(console, self->chain.n, &rows);
        if (code != PR_EXIT_OK) {
            return code;
        }
        if (pr_rows_count(rows) == 0) {
            break;
        }
        for (int row = 0; row < pr_rows_count(rows) && pr_rows_i64(rows, row, 0) <= upto; row++) {
            pr_audit_entry_t entry = entry_of(rows, row);
            bool gone = pr_rows_null(rows, row, 3);
            follow(self, entry.n, pr_rows_i64(rows, row, 2), gone ? NULL : &entry,
                   pr_rows_bytes(rows, row, 1).data);
        }
    }
    return PR_EXIT_OK;
}

static int verify_database(pr_console_t *console, verify_t *self)
{
    PR_CLEANUP(pr_rows) pr_rows_t *end = NULL;
    int code = pr_console_query(console, PR_SQL_CLI_AUDIT_END, &end);
    if (code != PR_EXIT_OK) {
        return code;
    }
    int64_t upto = pr_rows_i64(end, 0, 0);
    code = verify_rows(console, self, upto);
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (self->chain.n < upto ||
        memcmp(self->chain.hash, pr_rows_bytes(end, 0, 1).data, sizeof self->chain.hash) != 0) {
        note(self, upto, 0, "the log ends before its end");
    }
    if (pr_rows_i64(end, 0, 2) > 0) {
        note(self, 0, 0, "there are rows that never went through the chain");
    }
    return code;
}

static const char *text_in(const json_t *line, const char *key)
{
    return json_string_value(json_object_get(line, key));
}

/* A line of an export. */
static void verify_line(verify_t *self, const json_t *line)
{
    pr_audit_entry_t entry = {
        .n = json_integer_value(json_object_get(line, "n")),
        .id = json_integer_value(json_object_get(line, "id")),
        .at_us = json_integer_value(json_object_get(line, "at_us")),
        .actor = text_in(line, "actor"),
        .action = text_in(line, "action"),
        .subject = text_in(line, "subject"),
        .reason = text_in(line, "reason"),
        .detail = text_in(line, "detail"),
        .login = text_in(line, "login"),
        .merchant_id = text_in(line, "merchant_id"),
        .order_no = text_in(line, "order_no"),
    };
    uint8_t hash[PR_AUDIT_HASH_BYTES] = {0};
    const char *hex = text_in(line, "hash");
    if (hex == NULL || strlen(hex) != 2 * sizeof hash || !pr_unhex(hex, strlen(hex), hash)) {
        note(self, entry.n, entry.id, "its line has no hash");
        return;
    }
    follow(self, entry.n, entry.id, entry.actor != NULL ? &entry : NULL, hash);
}

static int verify_file(const char *path, verify_t *self)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");
    if (file == NULL) {
        return pr_console_failed("%s cannot be read", path);
    }
    int64_t number = 0;
    json_error_t error;
    json_t *line = NULL;
    while ((line = json_loadf(file, JSON_DISABLE_EOF_CHECK, &error)) != NULL) {
        number++;
        verify_line(self, line);
        json_decref(line);
    }
    bool whole = feof(file) != 0 && json_error_code(&error) != json_error_invalid_syntax;
    if (file != stdin) {
        fclose(file);
    }
    if (!whole || number == 0) {
        note(self, self->chain.n + 1, 0, "the file ends within a line, or is none");
    }
    return PR_EXIT_OK;
}

static int report(const pr_args_t *args, verify_t *self)
{
    char head[PR_AUDIT_HEAD_MAX];
    if (self->head.n > 0 && !self->head_seen) {
        note(self, self->head.n, 0, "the entry whose head was noted is not there");
    }
    pr_audit_head_print(&self->chain, head);
    if (pr_args_given(args, "json")) {
        pr_console_json(json_pack("{s:b, s:I, s:s, s:I, s:O}", "whole", self->found == 0, "entries",
                                  (json_int_t)self->entries, "head", head, "found",
                                  (json_int_t)self->found, "findings", self->findings));
    } else {
        size_t i = 0;
        json_t *finding = NULL;
        json_array_foreach(self->findings, i, finding)
        {
            printf("entry %" JSON_INTEGER_FORMAT " (row %" JSON_INTEGER_FORMAT "): %s\n",
                   json_integer_value(json_object_get(finding, "n")),
                   json_integer_value(json_object_get(finding, "id")), text_in(finding, "what"));
        }
        printf("%" PRId64 " entries, %" PRId64 " findings; head %s\n", self->entries, self->found,
               head);
    }
    return self->found == 0 ? PR_EXIT_OK : PR_EXIT_FAILED;
}

/* False: it was told what is wrong. */
static bool begin(const pr_args_t *args, verify_t *self)
{
    const char *head = pr_args_text(args, "head");
    *self = (verify_t){0};
    if (head != NULL && !pr_audit_head_parse(head, &self->head)) {
        (void)pr_console_usage("--head is not N:HEX, as `audit verify` prints it");
        return false;
    }
    self->findings = json_array();
    return true;
}

/* code: of what was done so far. */
static int end(const pr_args_t *args, verify_t *self, int code)
{
    if (code == PR_EXIT_OK) {
        code = report(args, self);
    }
    json_decref(self->findings);
    return code;
}

static int verify_log(pr_console_t *console, const pr_args_t *args)
{
    verify_t self;
    if (!begin(args, &self)) {
        return PR_EXIT_USAGE;
    }
    return end(args, &self, verify_database(console, &self));
}

static int audit_verify(const pr_args_t *args)
{
    verify_t self;
    const char *path = pr_args_text(args, "file");
    if (path == NULL) {
        return pr_console_with(args, verify_log);
    }
    if (!begin(args, &self)) {
        return PR_EXIT_USAGE;
    }
    return end(args, &self, verify_file(path, &self));
}

/* ---- export ---- */

/* One line; false: it cannot be written. */
static bool write_entry(FILE *out, const pr_rows_t *rows, int row)
{
    pr_audit_entry_t entry = entry_of(rows, row);
    char at[PR_CONSOLE_TIME_MAX], hex[2 * PR_AUDIT_HASH_BYTES + 1];
    bool gone = pr_rows_null(rows, row, 3);
    pr_console_time(entry.at_us, at);
    pr_hex(pr_rows_bytes(rows, row, 1), hex);
    json_t *line =
        gone ? json_pack("{s:I, s:I, s:s}", "n", (json_int_t)entry.n, "id",
                         (json_int_t)pr_rows_i64(rows, row, 2), "hash", hex)
             : json_pack("{s:I, s:I, s:s, s:I, s:s, s:s, s:s, s:s?, s:s, s:s, s:s?, s:s?, s:s}",
                         "n", (json_int_t)entry.n, "id", (json_int_t)entry.id, "at", at, "at_us",
                         (json_int_t)entry.at_us, "actor", entry.actor, "action", entry.action,
                         "subject", entry.subject, "reason", entry.reason, "detail", entry.detail,
                         "login", entry.login, "merchant_id", entry.merchant_id, "order_no",
                         entry.order_no, "hash", hex);
    bool good = line != NULL && json_dumpf(line, out, JSON_COMPACT) == 0 && fputc('\n', out) >= 0;
    json_decref(line);
    return good;
}

static int export_rows(pr_console_t *console, FILE *out, int64_t *entries)
{
    for (int64_t after = 0;;) {
        PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
        int code = page_of(console, after, &rows);
        int count = code == PR_EXIT_OK ? pr_rows_count(rows) : 0;
        for (int row = 0; row < count; row++) {
            if (!write_entry(out, rows, row)) {
                return pr_console_failed("the export cannot be written");
            }
            after = pr_rows_i64(rows, row, 0);
        }
        *entries += count;
        if (count < PAGE) {
            return code;
        }
    }
}

static int export_log(pr_console_t *console, const pr_args_t *args)
{
    const char *path = pr_args_text(args, "file");
    FILE *out = path != NULL ? fopen(path, "wbxe") : stdout;
    if (out == NULL) {
        return pr_console_failed("%s cannot be made, or is there already", path);
    }
    int64_t entries = 0;
    int code = export_rows(console, out, &entries);
    bool written = fflush(out) == 0 && ferror(out) == 0;
    if (path != NULL) {
        written = fclose(out) == 0 && written;
    }
    if (code == PR_EXIT_OK && !written) {
        code = pr_console_failed("the export cannot be written");
    }
    if (code == PR_EXIT_OK && path != NULL && console->json) {
        pr_console_json(json_pack("{s:I}", "entries", (json_int_t)entries));
    } else if (code == PR_EXIT_OK && path != NULL) {
        printf("%" PRId64 " entries\n", entries);
    }
    return code;
}

static int audit_export(const pr_args_t *args)
{
    return pr_console_with(args, export_log);
}

/* ---- list ---- */

static int list(pr_console_t *console, const pr_args_t *args)
{
    static const char *const names[] = {"who",      "action", "subject", "merchant-id",
                                        "order-no", "limit",  "after",   NULL};
    return pr_door_call(console, &pr_sql_console[PR_SQL_CONSOLE_AUDIT_LIST],
                        pr_door_arguments(args, names), list_fields, "nothing was done");
}

static int audit_list(const pr_args_t *args)
{
    return pr_console_with(args, list);
}

int pr_audit_main(int argc, char **argv)
{
    static const pr_arg_spec_t list_spec = {"audit list [OPTION...]",
                                            "What people did, newest first.", list_options, 0, 0};
    static const pr_arg_spec_t verify_spec = {
        "audit verify [--head N:HEX] [--file EXPORT]",
        "Whether the log is what was written: computes every hash of its chain anew. Prints the head "
        "to note elsewhere: only against an earlier one a cut end shows. Exit 1: it is not.",
        verify_options, 0, 0};
    static const pr_arg_spec_t export_spec = {
        "audit export [--file FILE]",
        "The whole log, a JSON object a line, for `audit verify --file`.", export_options, 0, 0};
    static const pr_subcommand_t table[] = {{"list", &list_spec, audit_list},
                                            {"verify", &verify_spec, audit_verify},
                                            {"export", &export_spec, audit_export},
                                            {NULL, NULL, NULL}};
    return pr_args_group("audit", table, argc, argv);
}
