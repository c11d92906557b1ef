/* SPDX-License-Identifier: Apache-2.0
 *
 * libcsv over lines. libcsv is strict here (a quote in the wrong place is an error), and fed with
 * one line at a time: a row that is whole after its first line, and nearly all are, is never
 * copied. A quote that is never closed would swallow the rest of the file: after
 * PR_RECORD_LINES_MAX lines, or the longest row, only the line with the quote is bad, and reading
 * begins again behind it.
 */
#include "base/alloc.h"
#include "statement/statement_private.h"

#include <csv.h>
#include <string.h>

#define ENTRY_BLOCK_BYTES 4096

struct pr_csv_t {
    struct csv_parser parser;
    char delimiter;
    size_t line_max;
    pr_fields_t *fields; /* the table's, while a row is read */
    pr_buffer_t *text;   /* their bytes */
    size_t starts[PR_FIELDS_MAX];
    size_t count;
    bool whole, broken; /* a row ended; more than fits, or two rows in one line */
    pr_buffer_t held;   /* lines of a row that is not whole, each with its feed */
    size_t held_lines;
    uint64_t held_from; /* number of the first */
};

static void start_parser(pr_csv_t *self)
{
    (void)csv_init(&self->parser, CSV_STRICT | CSV_STRICT_FINI);
    csv_set_delim(&self->parser, (unsigned char)self->delimiter);
    csv_set_blk_size(&self->parser, ENTRY_BLOCK_BYTES);
}

pr_csv_t *pr_csv_new(char delimiter, uint32_t line_max)
{
    pr_csv_t *self = PR_NEW(pr_csv_t);
    self->delimiter = delimiter;
    self->line_max = line_max;
    start_parser(self);
    /* one line more than a row may have: it is found too long when it is in */
    pr_buffer_init(&self->held, (size_t)line_max * PR_DECODED_PER_BYTE * 2 + 2);
    return self;
}

void pr_csv_destroy(pr_csv_t **self_ptr)
{
    pr_csv_t *self = *self_ptr;
    if (!self)
        return;
    csv_free(&self->parser);
    pr_buffer_free(&self->held);
    pr_free(self);
    *self_ptr = NULL;
}

bool pr_csv_is_inside(const pr_csv_t *csv)
{
    return csv->held.len > 0;
}

static void on_field(void *data, size_t len, void *ctx)
{
    pr_csv_t *self = ctx;
    if (self->whole || self->count == PR_FIELDS_MAX) {
        self->broken = true;
        return;
    }
    self->starts[self->count++] = self->text->len;
    if (pr_buffer_append(self->text, data, len) != PR_OK ||
        pr_buffer_append(self->text, "", 1) != PR_OK)
        self->broken = true;
}

static void on_row(int terminator, void *ctx)
{
    pr_csv_t *self = ctx;
    (void)terminator;
    self->broken = self->broken || self->whole;
    self->whole = true;
}

static void forget_row(pr_csv_t *self)
{
    self->count = 0;
    self->whole = self->broken = false;
    pr_buffer_clear(self->text);
}

static void begin_again(pr_csv_t *self)
{
    csv_free(&self->parser);
    start_parser(self);
    forget_row(self);
}

/* Feeds one line with its feed; false: a quote stands where none may. */
static bool feed(pr_csv_t *self, const uint8_t *line, size_t len)
{
    return csv_parse(&self->parser, line, len, on_field, on_row, self) == len;
}

static pr_rc_t give_row(pr_csv_t *csv, pr_statement_reader_t *self, pr_csv_row_fn *on_whole)
{
    const char *reason = csv->broken ? "columns" : NULL;
    for (size_t i = 0; i < csv->count && !reason; i++) {
        char *at = (char *)csv->text->data + csv->starts[i];
        csv->fields->at[i] = pr_text_trim(at, strlen(at));
    }
    csv->fields->count = csv->count;
    pr_rc_t rc = on_whole(self, reason);
    forget_row(csv);
    return rc;
}

/* Drops the first len bytes of what is held, which are `lines` lines. */
static void drop(pr_csv_t *csv, size_t len, size_t lines)
{
    memmove(csv->held.data, csv->held.data + len, csv->held.len - len);
    csv->held.len -= len;
    csv->held_lines -= lines;
    csv->held_from += lines;
}

static size_t line_at(const pr_csv_t *csv, size_t at)
{
    const uint8_t *feed_at = memchr(csv->held.data + at, '\n', csv->held.len - at);
    return (size_t)(feed_at - (csv->held.data + at)) + 1;
}

/* The first held line is bad by itself; the others are looked at anew. */
static pr_rc_t give_up_first(pr_csv_t *csv, pr_statement_reader_t *self, pr_csv_row_fn *on_whole)
{
    size_t len = line_at(csv, 0);
    self->line = csv->held_from;
    self->raw = pr_bytes(csv->held.data, len - 1);
    pr_rc_t rc = on_whole(self, "quote");
    begin_again(csv);
    drop(csv, len, 1);
    return rc;
}

static bool is_blank(const uint8_t *line, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\n')
            return false;
    return true;
}

/* Reads what is held from byte `at` on, where the parser stands in line number `line` of it.
 * last: no line follows. */
static pr_rc_t read_held(pr_csv_t *csv, pr_statement_reader_t *self, size_t at, bool last,
                         pr_csv_row_fn *on_whole)
{
    pr_rc_t rc = PR_OK;
    uint64_t here = self->line;
    size_t lines = csv->held_lines - (at < csv->held.len ? 1 : 0);
    while (rc == PR_OK && csv->held.len > 0) {
        if (at == csv->held.len && !last)
            break; /* inside of a row */
        bool good = at < csv->held.len;
        size_t len = good ? line_at(csv, at) : 0;
        if (good && at == 0 && is_blank(csv->held.data, len)) {
            drop(csv, len, 1); /* between rows */
            continue;
        }
        if (good) {
            good = feed(csv, csv->held.data + at, len) && ++lines <= PR_RECORD_LINES_MAX &&
                   (csv->whole || at + len <= csv->line_max);
            at += len;
        }
        if (!good) {
            rc = give_up_first(csv, self, on_whole);
            at = lines = 0;
        } else if (csv->whole) {
            self->line = csv->held_from;
            self->raw = pr_bytes(csv->held.data, at - 1);
            rc = give_row(csv, self, on_whole);
            drop(csv, at, lines);
            at = lines = 0;
        }
    }
    self->line = here;
    return rc;
}

pr_rc_t pr_csv_line(pr_csv_t *csv, pr_statement_reader_t *self, pr_bytes_t line,
                    pr_csv_row_fn *on_whole)
{
    csv->fields = &self->table->row;
    csv->text = &self->table->row_text;
    size_t at = csv->held.len;
    if (at == 0) {
        bool good = feed(csv, line.data, line.len) && feed(csv, (const uint8_t *)"\n", 1);
        self->raw = line;
        if (good && csv->whole)
            return give_row(csv, self, on_whole);
        if (!good) {
            begin_again(csv);
            return on_whole(self, "quote");
        }
        csv->held_from = self->line;
    }
    if (pr_buffer_append(&csv->held, line.data, line.len) != PR_OK ||
        pr_buffer_append(&csv->held, "\n", 1) != PR_OK)
        return on_whole(self, "too_long"); /* cannot be: held has room for one more */
    csv->held_lines++;
    return at == 0 ? PR_OK : read_held(csv, self, at, false, on_whole);
}

pr_rc_t pr_csv_close(pr_csv_t *csv, pr_statement_reader_t *self, pr_csv_row_fn *on_whole)
{
    csv->fields = &self->table->row;
    csv->text = &self->table->row_text;
    return csv->held.len > 0 ? read_held(csv, self, csv->held.len, true, on_whole) : PR_OK;
}
