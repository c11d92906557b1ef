/* SPDX-License-Identifier: Apache-2.0
 *
 * What must hold for any bytes as a statement: in pieces or at once it is the same, what is handed
 * over keeps to the header's word, and the counts add up.
 */
#ifndef PR_TESTS_FUZZ_STATEMENT_RELATIONS_H
#define PR_TESTS_FUZZ_STATEMENT_RELATIONS_H

#include "statement/statement_private.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

typedef struct {
    pr_rc_t rc;
    uint64_t records, bad;
    pr_statement_totals_t totals;
} fuzz_statement_t;

static inline void fuzz_text_is_clean(const char *text)
{
    FUZZ_CHECK(strlen(text) <= PR_STATEMENT_NUMBER_MAX);
    FUZZ_CHECK(pr_text_is_utf8(pr_bytes_text(text)));
}

static inline pr_rc_t fuzz_record(void *ctx, const pr_statement_record_t *r)
{
    fuzz_statement_t *self = ctx;
    self->records++;
    FUZZ_CHECK(r->kind > 0 && r->kind < PR_STATEMENT_KINDS);
    FUZZ_CHECK(r->state > 0 && r->state < PR_STATEMENT_STATES);
    FUZZ_CHECK(r->amount_minor >= 0 || r->kind == PR_STATEMENT_FEE ||
               r->kind == PR_STATEMENT_OTHER);
    FUZZ_CHECK(pr_money_is_currency(r->currency));
    fuzz_text_is_clean(r->native);
    fuzz_text_is_clean(r->reference);
    fuzz_text_is_clean(r->request_no);
    fuzz_text_is_clean(r->refund_reference);
    fuzz_text_is_clean(r->refund_no);
    FUZZ_CHECK(r->raw.len <= PR_STATEMENT_RAW_MAX && pr_text_is_utf8(r->raw));
    FUZZ_CHECK(pr_text_is_utf8(pr_bytes_text(r->entry)));
    return PR_OK;
}

static inline pr_rc_t fuzz_bad(void *ctx, const pr_statement_bad_t *bad)
{
    fuzz_statement_t *self = ctx;
    self->bad++;
    FUZZ_CHECK(bad->reason[0] && bad->detail);
    FUZZ_CHECK(pr_text_is_utf8(pr_bytes_text(bad->detail)));
    FUZZ_CHECK(bad->raw.len <= PR_STATEMENT_RAW_MAX && pr_text_is_utf8(bad->raw));
    return PR_OK;
}

static inline void fuzz_statement_read(const pr_statement_spec_t *spec, pr_bytes_t bytes,
                                       size_t piece, fuzz_statement_t *out)
{
    static const pr_statement_limits_t limits = {.plain_max_bytes = 1 << 20, .line_max_bytes = 512};
    pr_error_t error = {0};
    pr_statement_reader_t *statement = NULL;
    pr_statement_sink_t sink = {fuzz_record, fuzz_bad, out};
    *out = (fuzz_statement_t){.rc = PR_OK};
    FUZZ_CHECK(pr_statement_new(spec, &limits, &sink, &statement, &error) == PR_OK);
    for (size_t at = 0; out->rc == PR_OK && at < bytes.len; at += piece) {
        size_t len = bytes.len - at < piece ? bytes.len - at : piece;
        out->rc = pr_statement_push(statement, pr_bytes(bytes.data + at, len), &error);
    }
    out->rc = pr_statement_finish(statement, &out->totals, &error);
    FUZZ_CHECK(out->rc == PR_OK || (out->rc == PR_BAD && error.code[0] && error.text[0]));
    FUZZ_CHECK(out->totals.rows == out->totals.records + out->totals.bad);
    FUZZ_CHECK(out->totals.records == out->records);
    pr_statement_destroy(&statement);
}

static inline void fuzz_statement(const pr_statement_spec_t *spec, pr_bytes_t bytes, size_t piece)
{
    fuzz_statement_t whole, pieces;
    fuzz_statement_read(spec, bytes, bytes.len + 1, &whole);
    fuzz_statement_read(spec, bytes, piece, &pieces);
    FUZZ_CHECK(whole.rc == pieces.rc);
    if (whole.rc != PR_OK)
        return; /* how far it came until then may differ */
    FUZZ_CHECK(whole.records == pieces.records && whole.bad == pieces.bad);
    FUZZ_CHECK(whole.totals.proof == pieces.totals.proof);
    FUZZ_CHECK(strcmp(whole.totals.sha256, pieces.totals.sha256) == 0);
    FUZZ_CHECK(strcmp(whole.totals.plain_sha1, pieces.totals.plain_sha1) == 0);
}

/* The first byte of the input says how long the pieces are, the second one which of the specs it is. */
static inline void fuzz_statement_one_of(const pr_statement_spec_t *specs, size_t count,
                                         const uint8_t *data, size_t size)
{
    if (size >= 2)
        fuzz_statement(&specs[data[1] % count], pr_bytes(data + 2, size - 2), 1 + data[0]);
}

#endif
