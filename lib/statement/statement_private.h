/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of lib/statement. The stages, each with its file, from the bytes up:
 *
 *   unpack.c     gzip, zip or neither        -> pr_plain_open, pr_plain_push, pr_plain_close
 *   lines.c      bytes to lines in UTF-8     -> parser->line
 *   table.c      lines to rows with columns  -> dialect->row
 *   wechat.c alipay.c stripe.c mapped.c      -> pr_emit, pr_emit_bad
 *   camt.c       XML                         -> the same
 *   statement.c  the object, sums, proof, digests, and the sink
 *
 * Every stage gives back pr_rc_t: PR_OK, or what ended the reading (self->error says why).
 */
#ifndef PR_STATEMENT_STATEMENT_PRIVATE_H
#define PR_STATEMENT_STATEMENT_PRIVATE_H

#include "statement/statement.h"

#include <openssl/evp.h>

#define PR_FIELDS_MAX 128      /* columns of a table */
#define PR_RECORD_LINES_MAX 64 /* of one row with line breaks in quotes */
#define PR_CLAIMS_MAX 24       /* what a file may say about itself */
#define PR_DECODED_PER_BYTE 3  /* a GBK character of two bytes has at most three in UTF-8 */

typedef struct pr_unpack_t pr_unpack_t;
typedef struct pr_lines_t pr_lines_t;
typedef struct pr_table_t pr_table_t;
typedef struct pr_camt_t pr_camt_t;

/* What the file says of itself, and what was read, side by side: sums in the minor unit, or counts. */
typedef struct {
    const char *name; /* static; for people */
    bool said, is_count;
    int64_t want, have;
} pr_claim_t;

struct pr_statement_reader_t {
    const pr_statement_spec_t *spec;
    pr_statement_limits_t limits;
    pr_statement_sink_t sink;
    pr_statement_totals_t totals;
    pr_rc_t rc; /* what ended it */
    pr_error_t error;
    EVP_MD_CTX *sha256, *sha1;

    /* where we are */
    uint64_t line;
    char entry[256];
    pr_bytes_t raw; /* the row in work */

    size_t claim_count;
    pr_claim_t claims[PR_CLAIMS_MAX];

    pr_unpack_t *unpack;
    pr_lines_t *lines; /* NULL: XML */
    pr_table_t *table;
    pr_camt_t *camt; /* NULL: lines */
};

/* ---- statement.c ---- */

/* The file is refused. code: at most 15 characters, listed at pr_statement_push. */
pr_rc_t pr_refuse(pr_statement_reader_t *self, const char *code, const char *fmt, ...)
    PR_PRINTF(3, 4);
/* Fills what is the same for all: line, entry, raw. */
void pr_record_init(const pr_statement_reader_t *self, pr_statement_record_t *record);
pr_rc_t pr_emit(pr_statement_reader_t *self, const pr_statement_record_t *record);
pr_rc_t pr_emit_bad(pr_statement_reader_t *self, const char *reason, const char *detail);
/* What the file says, and what adds up to it; by name, the same name is the same claim. */
void pr_claim_said(pr_statement_reader_t *self, const char *name, int64_t value);
void pr_claim_said_count(pr_statement_reader_t *self, const char *name, int64_t value);
void pr_claim_add(pr_statement_reader_t *self, const char *name, int64_t value);
/* The unpacked bytes of one file after another. */
pr_rc_t pr_plain_open(pr_statement_reader_t *self, const char *entry);
pr_rc_t pr_plain_push(pr_statement_reader_t *self, pr_bytes_t bytes);
pr_rc_t pr_plain_close(pr_statement_reader_t *self);

/* ---- unpack.c ---- */
pr_unpack_t *pr_unpack_new(void);
void pr_unpack_destroy(pr_unpack_t **self);
pr_rc_t pr_unpack_push(pr_statement_reader_t *self, pr_bytes_t bytes);
pr_rc_t pr_unpack_finish(pr_statement_reader_t *self);

/* ---- lines.c ---- */
/* charset for iconv; NULL: this machine lacks it. */
pr_lines_t *pr_lines_new(const char *charset, uint32_t line_max);
void pr_lines_destroy(pr_lines_t **self);
void pr_lines_open(pr_lines_t *self);
pr_rc_t pr_lines_push(pr_statement_reader_t *self, pr_bytes_t bytes);
pr_rc_t pr_lines_close(pr_statement_reader_t *self);

/* ---- text.c ---- */
bool pr_text_is_utf8(pr_bytes_t text);
/* As much of text as fits, cut at a character; what is none and NULs become U+FFFD. */
void pr_text_clean(pr_bytes_t text, pr_buffer_t *out);
/* Spaces and tabs off both ends, in place (writes a NUL behind it). */
char *pr_text_trim(char *text, size_t len);
/* Full-width ':' '(' ')' to ASCII, in place. */
void pr_text_narrow(char *text);

/* ---- values.c ---- */
/* "-1,234.50" in major units (or minor) of currency; NULL: read, else why not (for people). */
const char *pr_value_amount(const pr_statement_spec_t *spec, const char *text, pr_money_unit_t unit,
                            char decimal, const char *currency, int64_t *minor);
/* Dates and times as files write them; "" gives -1. False: no time. */
bool pr_value_time(const char *text, int zone_min, int64_t *us);
/* Capitals; false: not three letters, or money that nobody here knows. */
bool pr_value_currency(const pr_statement_spec_t *spec, const char *text, char out[4]);
bool pr_value_is_number(const char *text); /* fits PR_STATEMENT_NUMBER_MAX, no control characters */
/* 0: no word holds. *known tells a meaning of 0 from it. */
int pr_value_word(const pr_statement_words_t *words, const char *native, bool *known);

/* ---- table.c ---- */

/* A column by its role in a dialect: index into its names. */
typedef struct {
    const char *names[6]; /* ASCII parentheses; any of them */
    bool wanted;          /* no table without it */
} pr_column_spec_t;

typedef struct {
    size_t count;
    char *at[PR_FIELDS_MAX]; /* trimmed */
} pr_fields_t;

/* How a family of files is laid out, as the table sees it. */
typedef struct {
    bool quotes;  /* RFC 4180, by libcsv; false: cells begin with a backtick (WeChat) */
    char comment; /* first byte of lines that go to `note`; 0 = none */
    const pr_column_spec_t *columns;
    size_t column_count;
    bool wants_end; /* a file without its last lines (table->ended) was cut off */
    pr_rc_t (*row)(pr_statement_reader_t *self);
    pr_rc_t (*note)(pr_statement_reader_t *self, const char *line);
    /* Looks at a first line that is no header of ours: true, when this file of the archive is known
     * to hold no rows (Alipay's summary). Later its rows go to `aside`. */
    bool (*is_aside)(const pr_fields_t *header);
    pr_rc_t (*aside)(pr_statement_reader_t *self);
    /* WeChat: a second table at the end. */
    const char *totals_mark; /* the first cell of its header; NULL = none */
    pr_rc_t (*totals)(pr_statement_reader_t *self);
} pr_dialect_t;

extern const pr_dialect_t pr_dialect_wechat_trade, pr_dialect_wechat_funds, pr_dialect_alipay_trade,
    pr_dialect_alipay_account, pr_dialect_stripe, pr_dialect_mapped;

#define PR_COLUMNS_MAX 24
#define PR_MAPPED_COLUMNS 12

/* check.c: the columns of a map, borrowed from csv. */
void pr_mapped_columns(const pr_statement_csv_t *csv,
                       const pr_statement_column_t *out[PR_MAPPED_COLUMNS]);

struct pr_table_t {
    const pr_dialect_t *dialect;
    const pr_statement_csv_t *csv; /* of the mapped dialect */
    struct pr_csv_t *reader;       /* NULL: backticks */
    bool headed, ended;            /* the header was seen; the end was */
    bool aside;                    /* a file of the archive that holds no rows */
    uint64_t lines;                /* of this file, before the header */
    size_t width;                  /* columns of the header */
    size_t column_count;           /* of the dialect, or of csv */
    pr_column_spec_t columns[PR_COLUMNS_MAX];
    int places[PR_COLUMNS_MAX]; /* in the row; -1: not there */
    pr_fields_t header, row;    /* row: the one in work, or a totals line */
    pr_fields_t totals;         /* header of the second table */
    pr_buffer_t header_text, row_text, totals_text;
    bool totals_headed;
};

pr_table_t *pr_table_new(const pr_dialect_t *dialect, const pr_statement_spec_t *spec,
                         uint32_t line_max);
void pr_table_destroy(pr_table_t **self);
void pr_table_open(pr_table_t *self);
pr_rc_t pr_table_line(pr_statement_reader_t *self, pr_bytes_t line); /* UTF-8 */
pr_rc_t pr_table_close(pr_statement_reader_t *self);
/* The cell of the row in work in that column, "" when there is no such column. */
const char *pr_cell(const pr_table_t *self, size_t column);
bool pr_has_column(const pr_table_t *self, size_t column);

/* ---- csv_reader.c: libcsv over lines ---- */
typedef struct pr_csv_t pr_csv_t;
pr_csv_t *pr_csv_new(char delimiter, uint32_t line_max);
void pr_csv_destroy(pr_csv_t **self);
/* on_row: each whole row is in *fields; on_bad: self->raw and self->line are those of the bad line. */
typedef pr_rc_t pr_csv_row_fn(pr_statement_reader_t *self, const char *reason);
pr_rc_t pr_csv_line(pr_csv_t *csv, pr_statement_reader_t *self, pr_bytes_t line,
                    pr_csv_row_fn *on_row);
pr_rc_t pr_csv_close(pr_csv_t *csv, pr_statement_reader_t *self, pr_csv_row_fn *on_row);
bool pr_csv_is_inside(const pr_csv_t *csv); /* a row is not whole yet */

/* ---- camt.c ---- */
pr_camt_t *pr_camt_new(void);
void pr_camt_destroy(pr_camt_t **self);
pr_rc_t pr_camt_open(pr_statement_reader_t *self);
pr_rc_t pr_camt_push(pr_statement_reader_t *self, pr_bytes_t bytes);
pr_rc_t pr_camt_close(pr_statement_reader_t *self);

#endif
