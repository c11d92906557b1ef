/* SPDX-License-Identifier: Apache-2.0 */
#include "recon/import.h"

#include "base/alloc.h"
#include "core/moment.h"
#include "sql/recon.h"

#include <jansson.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A COPY of so many bytes: some thousand rows, so that its statement costs nothing. */
#define BATCH_BYTES (1u << 20)
/* One row at most: raw text that is all escapes, and the numbers. */
#define ROW_BYTES_MAX (64u << 10)

static const char item_table[] = "postrider.recon_item";
static const char item_columns[] =
    "file_id, n, line, entry, kind, state, native, reference, request_no, refund_reference, "
    "refund_no, amount_minor, currency, fee_minor, occurred_at, raw";
static const char bad_table[] = "postrider.recon_bad_row";
static const char bad_columns[] = "file_id, line, reason, detail, raw";

struct pr_recon_import_t {
    pr_db_sync_t *db;
    pr_recon_import_options_t options;
    pr_statement_reader_t *statement;
    int64_t file_id;
    uint64_t rows; /* numbers the records */
    pr_buffer_t items, bad;
    pr_error_t db_error;       /* of a COPY under the reader's call */
    pr_rc_t db_rc;             /* PR_OK: none failed */
    bool unreadable;           /* the reader gave up ... */
    pr_error_t unreadable_why; /* ... because of this */
};

static pr_rc_t query(pr_recon_import_t *self, int index, const pr_params_t *params,
                     pr_rows_t **rows, pr_error_t *error)
{
    return pr_db_sync_query(self->db, pr_sql_recon[index].sql, params, rows, error);
}

/* ---- rows ---- */

static pr_rc_t flush(pr_recon_import_t *self, pr_buffer_t *rows, const char *table,
                     const char *columns)
{
    int64_t count = 0;
    if (rows->len > 0) {
        self->db_rc = pr_db_sync_copy(self->db, table, columns, pr_buffer_bytes(rows), &count,
                                      &self->db_error);
        pr_buffer_clear(rows);
    }
    return self->db_rc;
}

static pr_rc_t field(pr_buffer_t *out, const char *text)
{
    pr_rc_t rc = pr_buffer_append(out, "\t", 1);
    bool said = text != NULL && text[0] != '\0';
    return rc == PR_OK ? pr_db_copy_field(out, said ? text : NULL, said ? strlen(text) : 0) : rc;
}

static pr_rc_t bytes_field(pr_buffer_t *out, pr_bytes_t bytes)
{
    pr_rc_t rc = pr_buffer_append(out, "\t", 1);
    return rc == PR_OK ? pr_db_copy_field(out, (const char *)bytes.data, bytes.len) : rc;
}

static pr_rc_t number_field(pr_buffer_t *out, bool said, int64_t value)
{
    return said ? pr_buffer_printf(out, "\t%" PRId64, value) : pr_buffer_append(out, "\t\\N", 3);
}

/* As Postgres reads a timestamptz: seconds since 1970 are none of its forms, so a date. */
static pr_rc_t time_field(pr_buffer_t *out, int64_t us)
{
    char text[PR_MOMENT_TEXT_MAX];
    if (us < 0) {
        return pr_buffer_append(out, "\t\\N", 3);
    }
    pr_moment_format(us, PR_MOMENT_RFC3339, 0, text);
    return pr_buffer_printf(out, "\t%s", text);
}

static pr_rc_t append_record(pr_recon_import_t *self, const pr_statement_record_t *record)
{
    pr_buffer_t *out = &self->items;
    pr_rc_t rc = pr_buffer_printf(out, "%" PRId64 "\t%" PRIu64 "\t%" PRIu64, self->file_id,
                                  ++self->rows, record->line);
    const char *const texts[] = {record->entry,
                                 pr_statement_kind_name(record->kind),
                                 pr_statement_state_name(record->state),
                                 record->native,
                                 record->reference,
                                 record->request_no,
                                 record->refund_reference,
                                 record->refund_no};
    for (size_t i = 0; rc == PR_OK && i < PR_COUNT(texts); i++) {
        rc = field(out, texts[i]);
    }
    rc = rc == PR_OK ? number_field(out, true, record->amount_minor) : rc;
    rc = rc == PR_OK ? field(out, record->currency) : rc;
    rc = rc == PR_OK ? number_field(out, record->has_fee, record->fee_minor) : rc;
    rc = rc == PR_OK ? time_field(out, record->occurred_us) : rc;
    rc = rc == PR_OK ? bytes_field(out, record->raw) : rc;
    return rc == PR_OK ? pr_buffer_append(out, "\n", 1) : rc;
}

static pr_rc_t on_record(void *ctx, const pr_statement_record_t *record)
{
    pr_recon_import_t *self = ctx;
    pr_rc_t rc = append_record(self, record);
    if (rc == PR_OK && self->items.len >= BATCH_BYTES) {
        rc = flush(self, &self->items, item_table, item_columns);
    }
    return rc;
}

static pr_rc_t on_bad(void *ctx, const pr_statement_bad_t *bad)
{
    pr_recon_import_t *self = ctx;
    pr_buffer_t *out = &self->bad;
    pr_rc_t rc = pr_buffer_printf(out, "%" PRId64 "\t%" PRIu64, self->file_id, bad->line);
    rc = rc == PR_OK ? field(out, bad->reason) : rc;
    rc = rc == PR_OK ? field(out, bad->detail) : rc;
    rc = rc == PR_OK ? bytes_field(out, bad->raw) : rc;
    rc = rc == PR_OK ? pr_buffer_append(out, "\n", 1) : rc;
    if (rc == PR_OK && out->len >= BATCH_BYTES) {
        rc = flush(self, out, bad_table, bad_columns);
    }
    return rc;
}

/* ---- life ---- */

static pr_rc_t begin(pr_recon_import_t *self, const char *kind, pr_error_t *error)
{
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    const pr_recon_import_options_t *o = &self->options;
    const char *const texts[] = {o->who, o->channel, o->day, kind, o->name, o->source};
    for (size_t i = 0; i < PR_COUNT(texts); i++) {
        pr_params_add_text(params, texts[i]);
    }
    pr_params_add_bool(params, o->correct);
    pr_rc_t rc = query(self, PR_SQL_RECON_BEGIN_IMPORT, params, &rows, error);
    if (rc == PR_OK) {
        self->file_id = pr_rows_i64(rows, 0, 0);
        rc = pr_db_sync_query(self->db, "SAVEPOINT recon_rows", NULL, NULL, error);
    }
    return rc;
}

pr_rc_t pr_recon_import_new(pr_db_sync_t *db, const pr_recon_import_options_t *options,
                            const pr_statement_spec_t *spec, const pr_statement_limits_t *limits,
                            pr_recon_import_t **out, pr_error_t *error)
{
    *out = NULL;
    PR_CLEANUP(pr_recon_import) pr_recon_import_t *self = PR_NEW(pr_recon_import_t);
    self->db = db;
    self->options = *options;
    pr_buffer_init(&self->items, BATCH_BYTES + ROW_BYTES_MAX);
    pr_buffer_init(&self->bad, BATCH_BYTES + ROW_BYTES_MAX);
    const pr_statement_sink_t sink = {on_record, on_bad, self};
    pr_rc_t rc = pr_statement_new(spec, limits, &sink, &self->statement, error);
    if (rc == PR_OK) {
        rc = begin(self,
                   options->kind != NULL ? options->kind : pr_statement_format_name(spec->format),
                   error);
    }
    if (rc == PR_OK) {
        *out = PR_STEAL(self);
    }
    return rc;
}

void pr_recon_import_destroy(pr_recon_import_t **self)
{
    if (*self == NULL) {
        return;
    }
    pr_statement_destroy(&(*self)->statement);
    pr_buffer_free(&(*self)->items);
    pr_buffer_free(&(*self)->bad);
    pr_free(*self);
    *self = NULL;
}

/* What the reader's failure means: the database's own, or a file that cannot be trusted. */
static pr_rc_t judge(pr_recon_import_t *self, pr_rc_t rc, const pr_error_t *why, pr_error_t *error)
{
    if (rc == PR_OK) {
        return PR_OK;
    }
    if (self->db_rc != PR_OK) {
        *error = self->db_error;
        return self->db_rc;
    }
    if (rc != PR_BAD) {
        *error = *why;
        return rc;
    }
    self->unreadable = true;
    self->unreadable_why = *why;
    pr_buffer_clear(&self->items);
    pr_buffer_clear(&self->bad);
    return PR_OK;
}

pr_rc_t pr_recon_import_push(pr_recon_import_t *self, pr_bytes_t bytes, pr_error_t *error)
{
    pr_error_t why = {0};
    if (self->unreadable) {
        return PR_OK;
    }
    return judge(self, pr_statement_push(self->statement, bytes, &why), &why, error);
}

/* ---- the end ---- */

static json_t *sums_json(const pr_statement_totals_t *totals)
{
    json_t *sums = json_array();
    for (size_t i = 0; i < totals->sum_count; i++) {
        const pr_statement_sum_t *sum = &totals->sums[i];
        json_array_append_new(sums, json_pack("{s:s, s:s, s:I, s:I, s:I}", "kind",
                                              pr_statement_kind_name(sum->kind), "currency",
                                              sum->currency, "count", (json_int_t)sum->count,
                                              "amount_minor", (json_int_t)sum->amount_minor,
                                              "fee_minor", (json_int_t)sum->fee_minor));
    }
    return sums;
}

/* Numbers of times as text: recon_finish reads them as evidence has them. */
static char *facts_json(const pr_recon_import_t *self, const pr_statement_totals_t *totals)
{
    char first[24], last[24], error[PR_ERROR_TEXT_MAX + 24] = "";
    (void)snprintf(first, sizeof first, "%" PRId64, totals->first_us);
    (void)snprintf(last, sizeof last, "%" PRId64, totals->last_us);
    if (self->unreadable) {
        (void)snprintf(error, sizeof error, "%s: %s", self->unreadable_why.code,
                       self->unreadable_why.text);
    }
    json_t *facts = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:o, s:s, s:s, s:s, s:s, s:s}", "sha256", totals->sha256,
        "bytes", (json_int_t)totals->bytes, "rows", (json_int_t)totals->rows, "records",
        (json_int_t)totals->records, "bad", (json_int_t)totals->bad, "sums", sums_json(totals),
        "proof", totals->proof != 0 ? pr_statement_proof_name(totals->proof) : "", "difference",
        totals->difference, "first_us", first, "last_us", last, "account", totals->account);
    if (self->unreadable) {
        json_object_set_new(facts, "error", json_string(error));
    }
    char *text = json_dumps(facts, JSON_COMPACT);
    json_decref(facts);
    return text;
}

static pr_rc_t finish(pr_recon_import_t *self, pr_recon_imported_t *out, pr_error_t *error)
{
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    PR_CLEANUP_FREE char *facts = facts_json(self, &out->totals);
    pr_params_add_i64(params, self->file_id);
    pr_params_add_text(params, facts);
    pr_rc_t rc = query(self, PR_SQL_RECON_FINISH_IMPORT, params, &rows, error);
    if (rc == PR_OK) {
        out->file_id = self->file_id;
        out->held = strcmp(pr_rows_text(rows, 0, 0), "held") == 0;
        (void)snprintf(out->reason, sizeof out->reason, "%s", pr_rows_text(rows, 0, 1));
    }
    return rc;
}

pr_rc_t pr_recon_import_finish(pr_recon_import_t *self, pr_recon_imported_t *out, pr_error_t *error)
{
    pr_error_t why = {0};
    *out = (pr_recon_imported_t){0};
    pr_rc_t read = pr_statement_finish(self->statement, &out->totals, &why);
    pr_rc_t rc = self->unreadable ? PR_OK : judge(self, read, &why, error);
    if (rc != PR_OK) {
        return rc;
    }
    if (self->unreadable && !self->options.keep_unreadable) {
        *error = self->unreadable_why;
        return PR_BAD;
    }
    if (self->unreadable) {
        rc = pr_db_sync_query(self->db, "ROLLBACK TO SAVEPOINT recon_rows", NULL, NULL, error);
    } else if (flush(self, &self->items, item_table, item_columns) != PR_OK ||
               flush(self, &self->bad, bad_table, bad_columns) != PR_OK) {
        *error = self->db_error;
        rc = self->db_rc;
    }
    return rc == PR_OK ? finish(self, out, error) : rc;
}
