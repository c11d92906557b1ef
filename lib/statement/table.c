/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines as a table: comments, a header, rows, and totals where a format has them. Columns are
 * found by their names in the header, never by place: channels add some, and leave some out, by
 * account.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "core/moment.h"
#include "statement/statement_private.h"

#include <string.h>

#define NOTE_MAX_BYTES 1024 /* of a comment line that is looked at */

static void take_mapped_columns(pr_table_t *self, const pr_statement_csv_t *csv)
{
    const pr_statement_column_t *columns[PR_MAPPED_COLUMNS];
    pr_mapped_columns(csv, columns);
    for (size_t i = 0; i < PR_COUNT(columns); i++) {
        for (size_t j = 0; j < columns[i]->count; j++)
            self->columns[i].names[j] = columns[i]->names[j];
        self->columns[i].wanted = columns[i]->count > 0;
    }
    self->column_count = PR_COUNT(columns);
}

pr_table_t *pr_table_new(const pr_dialect_t *dialect, const pr_statement_spec_t *spec,
                         uint32_t line_max)
{
    pr_table_t *self = PR_NEW(pr_table_t);
    size_t room = (size_t)line_max * PR_DECODED_PER_BYTE + PR_FIELDS_MAX + 1;
    self->dialect = dialect;
    if (dialect == &pr_dialect_mapped)
        self->csv = &spec->csv;
    if (dialect->quotes)
        self->reader =
            pr_csv_new(self->csv && self->csv->delimiter ? self->csv->delimiter : ',', line_max);
    if (self->csv) {
        take_mapped_columns(self, self->csv);
    } else {
        pr_assert(dialect->column_count <= PR_COLUMNS_MAX);
        self->column_count = dialect->column_count;
        memcpy(self->columns, dialect->columns, dialect->column_count * sizeof *self->columns);
    }
    pr_buffer_init(&self->header_text, room);
    pr_buffer_init(&self->row_text, room);
    pr_buffer_init(&self->totals_text, room);
    return self;
}

void pr_table_destroy(pr_table_t **self_ptr)
{
    pr_table_t *self = *self_ptr;
    if (!self)
        return;
    pr_csv_destroy(&self->reader);
    pr_buffer_free(&self->header_text);
    pr_buffer_free(&self->row_text);
    pr_buffer_free(&self->totals_text);
    pr_free(self);
    *self_ptr = NULL;
}

const char *pr_cell(const pr_table_t *self, size_t column)
{
    int place = self->places[column];
    return place >= 0 && (size_t)place < self->row.count ? self->row.at[place] : "";
}

bool pr_has_column(const pr_table_t *self, size_t column)
{
    return self->places[column] >= 0;
}

/* ---- the header ---- */

static int place_by_name(const pr_table_t *self, const char *name)
{
    if (name[0] == '#') { /* "#3" */
        int place = 0;
        for (const char *at = name + 1; *at >= '0' && *at <= '9' && place < PR_FIELDS_MAX; at++)
            place = place * 10 + (*at - '0');
        return place - 1;
    }
    for (size_t i = 0; i < self->header.count; i++)
        if (strcmp(self->header.at[i], name) == 0)
            return (int)i;
    return -1;
}

/* The first wanted column that is not there; NULL: all are. */
static const char *find_columns(pr_table_t *self)
{
    const char *missing = NULL;
    for (size_t i = 0; i < self->column_count; i++) {
        const pr_column_spec_t *column = &self->columns[i];
        self->places[i] = -1;
        for (size_t j = 0; j < PR_COUNT(column->names) && column->names[j]; j++)
            if (self->places[i] < 0)
                self->places[i] = place_by_name(self, column->names[j]);
        if (self->places[i] < 0 && column->wanted && !missing)
            missing = column->names[0];
    }
    return missing;
}

/* Copies the row in work, with ASCII parentheses. */
static void copy_fields(const pr_fields_t *row, pr_fields_t *to, pr_buffer_t *text)
{
    pr_buffer_clear(text);
    to->count = row->count;
    size_t starts[PR_FIELDS_MAX];
    for (size_t i = 0; i < row->count; i++) {
        starts[i] = text->len;
        pr_rc_t rc = pr_buffer_append(text, row->at[i], strlen(row->at[i]) + 1);
        pr_assert(rc == PR_OK); /* it fitted before */
    }
    for (size_t i = 0; i < row->count; i++) {
        to->at[i] = (char *)text->data + starts[i];
        pr_text_narrow(to->at[i]);
    }
}

static pr_rc_t take_header(pr_statement_reader_t *self)
{
    pr_table_t *table = self->table;
    copy_fields(&table->row, &table->header, &table->header_text);
    table->headed = true;
    table->width = table->header.count;
    const char *missing = find_columns(table);
    if (!missing)
        return PR_OK;
    if (table->dialect->is_aside && table->dialect->is_aside(&table->header)) {
        table->aside = true;
        return PR_OK;
    }
    return pr_refuse(self, "header", "line %llu has no column \"%s\"",
                     (unsigned long long)self->line, missing);
}

void pr_table_open(pr_table_t *self)
{
    self->headed = self->ended = self->aside = self->totals_headed = false;
    self->lines = 0;
    self->width = 0;
    if (self->csv && self->csv->no_header) {
        self->header.count = 0;
        self->headed = true;
        (void)find_columns(self); /* by place: pr_statement_check saw to that */
    }
}

/* ---- rows ---- */

/* Some write one more comma at the end of rows than of the header. */
static bool has_right_width(pr_table_t *self)
{
    pr_fields_t *row = &self->row;
    if (self->width == 0)
        self->width = row->count; /* no header: the first row sets it */
    if (row->count > 1 && row->count == self->width + 1 && !row->at[row->count - 1][0])
        row->count--;
    return row->count == self->width;
}

static bool has_marker(const pr_table_t *self)
{
    return self->csv && self->csv->totals.marker && self->csv->totals.marker[0];
}

/* The line of totals of a mapped table. */
static bool is_marked(const pr_table_t *self)
{
    return has_marker(self) && self->row.count > 0 &&
           strcmp(self->row.at[0], self->csv->totals.marker) == 0;
}

static pr_rc_t take_row(pr_statement_reader_t *self, const char *reason)
{
    pr_table_t *table = self->table;
    if (!table->headed)
        return reason ? pr_refuse(self, "header", "line %llu is no header (%s)",
                                  (unsigned long long)self->line, reason)
                      : take_header(self);
    if (reason)
        return pr_emit_bad(self, reason, "");
    if (table->aside)
        return table->dialect->aside(self);
    if (is_marked(table))
        return table->dialect->totals(self);
    if (!has_right_width(table))
        return pr_emit_bad(self, "columns", "another number of them than the header has");
    return table->dialect->row(self);
}

/* ---- WeChat's lines: `a,`b,`c ---- */

/* Splits at every separator, in place; false: more than a table may have. */
static bool split(char *text, const char *separator, pr_fields_t *out)
{
    size_t step = strlen(separator);
    out->count = 0;
    for (char *at = text; at;) {
        char *next = strstr(at, separator);
        if (out->count == PR_FIELDS_MAX)
            return false;
        out->at[out->count++] = pr_text_trim(at, next ? (size_t)(next - at) : strlen(at));
        at = next ? next + step : NULL;
    }
    return true;
}

static pr_rc_t take_totals(pr_statement_reader_t *self)
{
    pr_table_t *table = self->table;
    if (table->ended || table->row.count != table->totals.count)
        return pr_emit_bad(self, "columns", "a line behind the totals");
    table->ended = true;
    return table->dialect->totals(self);
}

static pr_rc_t backtick_line(pr_statement_reader_t *self, pr_bytes_t line)
{
    pr_table_t *table = self->table;
    bool is_row = line.data[0] == '`';
    self->raw = line;
    pr_buffer_clear(&table->row_text);
    pr_rc_t rc = pr_buffer_append(&table->row_text, line.data, line.len);
    pr_assert(rc == PR_OK);
    char *text = (char *)table->row_text.data;
    if (!split(is_row ? text + 1 : text, is_row ? ",`" : ",", &table->row))
        return take_row(self, "columns");
    if (is_row)
        return table->totals_headed ? take_totals(self)
               : table->headed      ? take_row(self, NULL)
                                    : take_row(self, "columns");
    if (!table->headed)
        return take_header(self);
    if (!table->totals_headed && strcmp(table->row.at[0], table->dialect->totals_mark) == 0) {
        copy_fields(&table->row, &table->totals, &table->totals_text);
        table->totals_headed = true;
        return PR_OK;
    }
    return pr_emit_bad(self, "columns", "cells begin with a backtick");
}

/* ---- lines ---- */

static bool is_blank(pr_bytes_t line)
{
    for (size_t i = 0; i < line.len; i++)
        if (line.data[i] != ' ' && line.data[i] != '\t')
            return false;
    return true;
}

static pr_rc_t take_note(pr_statement_reader_t *self, pr_bytes_t line)
{
    char note[NOTE_MAX_BYTES];
    if (!self->table->dialect->note || line.len >= sizeof note)
        return PR_OK;
    memcpy(note, line.data, line.len);
    note[line.len] = '\0';
    pr_text_narrow(note);
    return self->table->dialect->note(self, note);
}

pr_rc_t pr_table_line(pr_statement_reader_t *self, pr_bytes_t line)
{
    pr_table_t *table = self->table;
    bool inside = table->reader && pr_csv_is_inside(table->reader);
    char comment = table->csv ? table->csv->comment : table->dialect->comment;
    if (table->csv && table->lines < table->csv->skip_lines) {
        table->lines++;
        return PR_OK;
    }
    if (!inside && is_blank(line))
        return PR_OK;
    if (!inside && comment && line.data[0] == (uint8_t)comment)
        return take_note(self, line);
    return table->reader ? pr_csv_line(table->reader, self, line, take_row)
                         : backtick_line(self, line);
}

pr_rc_t pr_table_close(pr_statement_reader_t *self)
{
    pr_table_t *table = self->table;
    pr_rc_t rc = table->reader ? pr_csv_close(table->reader, self, take_row) : PR_OK;
    if (rc != PR_OK)
        return rc;
    if (!table->headed)
        return pr_refuse(self, "header", "no header line");
    if ((table->dialect->wants_end || has_marker(table)) && !table->ended)
        return pr_refuse(self, "truncated", "the lines at its end are missing");
    return PR_OK;
}
