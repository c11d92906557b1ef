/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements in tests: what is read out of bytes as lines of text, one for each record or bad
 * row, and one at the end; gzip and zip made here, and as evil as one likes.
 */
#ifndef PR_TESTS_STATEMENT_H
#define PR_TESTS_STATEMENT_H

#include "base/alloc.h"
#include "core/moment.h"
#include "statement/statement.h"

#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zip.h>
#include <zlib.h>

#define READ_MAX_BYTES ((size_t)8 << 20)

/* "3 refund SUCCEEDED REFUND/SUCCESS ref=42 no=O1 rref=50 rno=R1 CNY 100 fee=-1
 * 2026-11-29T04:00:00Z" */
static inline pr_rc_t statement_line(void *ctx, const pr_statement_record_t *r)
{
    char time[PR_MOMENT_TEXT_MAX] = "-", fee[32] = "-";
    if (r->occurred_us >= 0)
        pr_moment_format(r->occurred_us, PR_MOMENT_RFC3339, 0, time);
    if (r->has_fee)
        snprintf(fee, sizeof fee, "%" PRId64, r->fee_minor);
    return pr_buffer_printf(
        ctx, "%" PRIu64 " %s %s %s ref=%s no=%s rref=%s rno=%s %s %" PRId64 " fee=%s %s\n", r->line,
        pr_statement_kind_name(r->kind), pr_statement_state_name(r->state), r->native, r->reference,
        r->request_no, r->refund_reference, r->refund_no, r->currency, r->amount_minor, fee, time);
}

/* "4 BAD amount (malformed): the row" */
static inline pr_rc_t statement_bad_line(void *ctx, const pr_statement_bad_t *bad)
{
    return pr_buffer_printf(ctx, "%" PRIu64 " BAD %s (%s): %.*s\n", bad->line, bad->reason,
                            bad->detail, (int)bad->raw.len, (const char *)bad->raw.data);
}

typedef struct {
    pr_rc_t rc;
    pr_error_t error;
    pr_statement_totals_t totals;
    pr_buffer_t text;
} statement_read_t;

static inline void statement_read_free(statement_read_t *self)
{
    pr_buffer_free(&self->text);
}

/* Pushes bytes in pieces of that size (0: all at once). */
static inline statement_read_t statement_read(const pr_statement_spec_t *spec,
                                              const pr_statement_limits_t *limits, pr_bytes_t bytes,
                                              size_t piece)
{
    statement_read_t out = {.rc = PR_OK};
    pr_statement_reader_t *statement = NULL;
    pr_buffer_init(&out.text, READ_MAX_BYTES);
    pr_statement_sink_t sink = {statement_line, statement_bad_line, &out.text};
    pr_rc_t rc = pr_statement_new(spec, limits, &sink, &statement, &out.error);
    cr_assert_eq(rc, PR_OK, "%s", out.error.text);
    piece = piece ? piece : bytes.len + 1;
    for (size_t at = 0; out.rc == PR_OK && at < bytes.len; at += piece) {
        size_t len = bytes.len - at < piece ? bytes.len - at : piece;
        out.rc = pr_statement_push(statement, pr_bytes(bytes.data + at, len), &out.error);
    }
    out.rc = pr_statement_finish(statement, &out.totals, &out.error);
    pr_statement_destroy(&statement);
    return out;
}

/* Read in pieces of every kind, it is always that. */
static inline void statement_expect(const pr_statement_spec_t *spec, pr_bytes_t bytes,
                                    const char *wanted)
{
    static const size_t pieces[] = {0, 1, 7, 64, 1000};
    for (size_t i = 0; i < PR_COUNT(pieces); i++) {
        statement_read_t got = statement_read(spec, NULL, bytes, pieces[i]);
        cr_expect_eq(got.rc, PR_OK, "%s", got.error.text);
        pr_rc_t rc = pr_buffer_printf(
            &got.text, "rows %" PRIu64 " bad %" PRIu64 " %s %s\n", got.totals.rows, got.totals.bad,
            pr_statement_proof_name(got.totals.proof), got.totals.difference);
        cr_assert_eq(rc, PR_OK);
        cr_expect_str_eq(pr_buffer_text(&got.text), wanted, "pieces of %zu:\n%s\nwanted:\n%s",
                         pieces[i], pr_buffer_text(&got.text), wanted);
        statement_read_free(&got);
    }
}

/* The file is refused with that code. */
static inline void statement_refused(const pr_statement_spec_t *spec,
                                     const pr_statement_limits_t *limits, pr_bytes_t bytes,
                                     const char *code)
{
    static const size_t pieces[] = {0, 1000};
    for (size_t i = 0; i < PR_COUNT(pieces); i++) {
        statement_read_t got = statement_read(spec, limits, bytes, pieces[i]);
        cr_expect_eq(got.rc, PR_BAD, "%s is wanted, it was read", code);
        cr_expect_str_eq(got.error.code, code, "%s", got.error.text);
        statement_read_free(&got);
    }
}

/* ---- archives ---- */

static inline void gzip_of(pr_bytes_t text, pr_buffer_t *out)
{
    z_stream z = {0};
    uint8_t chunk[4096];
    int done = deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    cr_assert_eq(done, Z_OK);
    z.next_in = (Bytef *)(uintptr_t)text.data;
    z.avail_in = (uInt)text.len;
    do {
        z.next_out = chunk;
        z.avail_out = sizeof chunk;
        done = deflate(&z, Z_FINISH);
        pr_rc_t rc = pr_buffer_append(out, chunk, sizeof chunk - z.avail_out);
        cr_assert_eq(rc, PR_OK);
    } while (done == Z_OK);
    deflateEnd(&z);
}

/* count files with these names and texts; a zip of none has no bytes in libzip, so count > 0. */
static inline void zip_of(const char *const *names, const pr_bytes_t *texts, size_t count,
                          pr_buffer_t *out)
{
    zip_error_t why;
    zip_error_init(&why);
    zip_source_t *bytes = zip_source_buffer_create(NULL, 0, 0, &why);
    zip_source_keep(bytes);
    zip_t *archive = zip_open_from_source(bytes, ZIP_TRUNCATE, &why);
    cr_assert(archive);
    for (size_t i = 0; i < count; i++) {
        zip_source_t *source = zip_source_buffer(archive, texts[i].data, texts[i].len, 0);
        cr_assert(zip_file_add(archive, names[i], source, ZIP_FL_ENC_GUESS) >= 0);
    }
    cr_assert_eq(zip_close(archive), 0);
    cr_assert_eq(zip_source_open(bytes), 0);
    uint8_t chunk[4096];
    for (zip_int64_t got; (got = zip_source_read(bytes, chunk, sizeof chunk)) > 0;) {
        pr_rc_t rc = pr_buffer_append(out, chunk, (size_t)got);
        cr_assert_eq(rc, PR_OK);
    }
    zip_source_close(bytes);
    zip_source_free(bytes);
    zip_error_fini(&why);
}

#endif
