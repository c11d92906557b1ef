/* SPDX-License-Identifier: Apache-2.0
 *
 * The object, what is summed up, what leaves through the sink.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "statement/statement_private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const pr_statement_limits_t defaults = {
    .packed_max_bytes = UINT64_C(1) << 30,
    .plain_max_bytes = UINT64_C(16) << 30,
    .ratio_max = 200,
    .entries_max = 16,
    .line_max_bytes = 64 * 1024,
    .depth_max = 32,
    .bad_max = 100000,
    .temp_dir = "/tmp",
};

static const struct {
    const pr_dialect_t *dialect; /* NULL: XML */
    const char *charset;
} layouts[PR_STATEMENT_FORMATS] = {
    [PR_STATEMENT_WECHAT_TRADE] = {&pr_dialect_wechat_trade, "UTF-8"},
    [PR_STATEMENT_WECHAT_FUNDS] = {&pr_dialect_wechat_funds, "UTF-8"},
    [PR_STATEMENT_ALIPAY_TRADE] = {&pr_dialect_alipay_trade, "GBK"},
    [PR_STATEMENT_ALIPAY_ACCOUNT] = {&pr_dialect_alipay_account, "GBK"},
    [PR_STATEMENT_STRIPE_BALANCE] = {&pr_dialect_stripe, "UTF-8"},
    [PR_STATEMENT_CAMT053] = {NULL, NULL},
    [PR_STATEMENT_CSV] = {&pr_dialect_mapped, "UTF-8"},
};

/* ---- birth and death ---- */

#define FALLBACK(member) \
    if (self->limits.member == 0) \
    self->limits.member = defaults.member

static void set_limits(pr_statement_reader_t *self, const pr_statement_limits_t *limits)
{
    self->limits = limits ? *limits : defaults;
    FALLBACK(packed_max_bytes);
    FALLBACK(plain_max_bytes);
    FALLBACK(ratio_max);
    FALLBACK(entries_max);
    FALLBACK(line_max_bytes);
    FALLBACK(depth_max);
    FALLBACK(bad_max);
    FALLBACK(temp_dir);
}

static EVP_MD_CTX *start_digest(const EVP_MD *kind)
{
    EVP_MD_CTX *self = EVP_MD_CTX_new();
    pr_assert(self && EVP_DigestInit_ex(self, kind, NULL) == 1);
    return self;
}

static pr_rc_t start_stages(pr_statement_reader_t *self, pr_error_t *error)
{
    const pr_dialect_t *dialect = layouts[self->spec->format].dialect;
    const char *charset = layouts[self->spec->format].charset;
    if (self->spec->charset && self->spec->charset[0])
        charset = self->spec->charset;
    if (!dialect) {
        self->camt = pr_camt_new();
        return PR_OK;
    }
    self->table = pr_table_new(dialect, self->spec, self->limits.line_max_bytes);
    self->lines = pr_lines_new(charset, self->limits.line_max_bytes);
    return self->lines ? PR_OK
                       : pr_error_set(error, PR_BAD, "statement", "charset",
                                      "this machine has no tables for %s", charset);
}

pr_rc_t pr_statement_new(const pr_statement_spec_t *spec, const pr_statement_limits_t *limits,
                         const pr_statement_sink_t *sink, pr_statement_reader_t **out,
                         pr_error_t *error)
{
    *out = NULL;
    if (pr_statement_check(spec, error) != PR_OK)
        return PR_BAD;
    pr_statement_reader_t *self = PR_NEW(pr_statement_reader_t);
    self->spec = spec;
    self->sink = *sink;
    self->totals.first_us = self->totals.last_us = -1;
    set_limits(self, limits);
    self->sha256 = start_digest(EVP_sha256());
    self->sha1 = start_digest(EVP_sha1());
    self->unpack = pr_unpack_new();
    if (start_stages(self, error) != PR_OK) {
        pr_statement_destroy(&self);
        return PR_BAD;
    }
    *out = self;
    return PR_OK;
}

void pr_statement_destroy(pr_statement_reader_t **self_ptr)
{
    pr_statement_reader_t *self = *self_ptr;
    if (!self)
        return;
    pr_unpack_destroy(&self->unpack);
    pr_lines_destroy(&self->lines);
    pr_table_destroy(&self->table);
    pr_camt_destroy(&self->camt);
    EVP_MD_CTX_free(self->sha256);
    EVP_MD_CTX_free(self->sha1);
    pr_free(self);
    *self_ptr = NULL;
}

/* ---- bytes ---- */

pr_rc_t pr_refuse(pr_statement_reader_t *self, const char *code, const char *fmt, ...)
{
    char text[PR_ERROR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return pr_error_set(&self->error, PR_BAD, "statement", code, "%s", text);
}

static pr_rc_t end_with(pr_statement_reader_t *self, pr_rc_t rc, pr_error_t *error)
{
    self->rc = rc;
    if (rc != PR_OK && error)
        *error = self->error;
    return rc;
}

pr_rc_t pr_statement_push(pr_statement_reader_t *self, pr_bytes_t bytes, pr_error_t *error)
{
    if (self->rc != PR_OK)
        return end_with(self, self->rc, error);
    self->totals.bytes += bytes.len;
    if (self->totals.bytes > self->limits.packed_max_bytes)
        return end_with(
            self,
            pr_refuse(self, "size", "more than %" PRIu64 " bytes", self->limits.packed_max_bytes),
            error);
    pr_assert(EVP_DigestUpdate(self->sha256, bytes.data, bytes.len) == 1);
    return end_with(self, pr_unpack_push(self, bytes), error);
}

pr_rc_t pr_plain_open(pr_statement_reader_t *self, const char *entry)
{
    self->line = 0;
    (void)snprintf(self->entry, sizeof self->entry, "%s", entry);
    if (self->camt)
        return pr_camt_open(self);
    pr_lines_open(self->lines);
    pr_table_open(self->table);
    return PR_OK;
}

pr_rc_t pr_plain_push(pr_statement_reader_t *self, pr_bytes_t bytes)
{
    self->totals.plain_bytes += bytes.len;
    if (self->totals.plain_bytes > self->limits.plain_max_bytes)
        return pr_refuse(self, "size", "unpacks to more than %" PRIu64 " bytes",
                         self->limits.plain_max_bytes);
    pr_assert(EVP_DigestUpdate(self->sha1, bytes.data, bytes.len) == 1);
    return self->camt ? pr_camt_push(self, bytes) : pr_lines_push(self, bytes);
}

pr_rc_t pr_plain_close(pr_statement_reader_t *self)
{
    if (self->camt)
        return pr_camt_close(self);
    pr_rc_t rc = pr_lines_close(self);
    return rc == PR_OK ? pr_table_close(self) : rc;
}

/* ---- claims ---- */

static pr_claim_t *claim_named(pr_statement_reader_t *self, const char *name)
{
    for (size_t i = 0; i < self->claim_count; i++)
        if (strcmp(self->claims[i].name, name) == 0)
            return &self->claims[i];
    if (self->claim_count == PR_CLAIMS_MAX)
        return NULL; /* more than any format has: a claim that is not looked at proves nothing */
    pr_claim_t *claim = &self->claims[self->claim_count++];
    claim->name = name;
    return claim;
}

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

/* Twice the same claim (two files of one archive, two accounts of one message): they add up. */
void pr_claim_said(pr_statement_reader_t *self, const char *name, int64_t value)
{
    pr_claim_t *claim = claim_named(self, name);
    if (!claim)
        return;
    claim->said = true;
    claim->want = add(claim->want, value);
}

void pr_claim_said_count(pr_statement_reader_t *self, const char *name, int64_t value)
{
    pr_claim_said(self, name, value);
    pr_claim_t *claim = claim_named(self, name);
    if (claim)
        claim->is_count = true;
}

void pr_claim_add(pr_statement_reader_t *self, const char *name, int64_t value)
{
    pr_claim_t *claim = claim_named(self, name);
    if (claim)
        claim->have = add(claim->have, value);
}

/* A bad row is in the file's own counts and sums, and in none of ours: a count that lacks no more
 * rows than are bad, and any sum, may be right. */
static bool may_agree(const pr_claim_t *claim, uint64_t bad)
{
    int64_t missing = claim->is_count ? claim->want - claim->have : 0;
    return bad > 0 && missing >= 0 && (uint64_t)missing <= bad;
}

static pr_statement_proof_t proof_of(const pr_claim_t *claim, uint64_t bad)
{
    return !claim->said                 ? PR_STATEMENT_NOT_GIVEN
           : claim->want == claim->have ? PR_STATEMENT_PROVED
           : may_agree(claim, bad)      ? PR_STATEMENT_OPEN
                                        : PR_STATEMENT_DIFFERS;
}

/* The worst of all claims; nothing read is 0. */
static void prove(pr_statement_reader_t *self)
{
    static const uint8_t weight[] = {[PR_STATEMENT_NOT_GIVEN] = 0,
                                     [PR_STATEMENT_PROVED] = 1,
                                     [PR_STATEMENT_OPEN] = 2,
                                     [PR_STATEMENT_DIFFERS] = 3};
    pr_statement_totals_t *totals = &self->totals;
    totals->proof = PR_STATEMENT_NOT_GIVEN;
    for (size_t i = 0; i < self->claim_count; i++) {
        const pr_claim_t *claim = &self->claims[i];
        pr_statement_proof_t proof = proof_of(claim, totals->bad);
        if (weight[proof] <= weight[totals->proof])
            continue;
        totals->proof = proof;
        if (proof == PR_STATEMENT_OPEN || proof == PR_STATEMENT_DIFFERS)
            (void)snprintf(totals->difference, sizeof totals->difference,
                           "%s: %" PRId64 " said, %" PRId64 " read", claim->name, claim->want,
                           claim->have);
    }
}

/* ---- the sink ---- */

void pr_record_init(const pr_statement_reader_t *self, pr_statement_record_t *record)
{
    *record = (pr_statement_record_t){.kind = PR_STATEMENT_OTHER,
                                      .state = PR_STATEMENT_SUCCEEDED,
                                      .native = "",
                                      .reference = "",
                                      .request_no = "",
                                      .refund_reference = "",
                                      .refund_no = "",
                                      .occurred_us = -1,
                                      .line = self->line,
                                      .entry = self->entry,
                                      .raw = self->raw};
}

static void sum_up(pr_statement_totals_t *self, const pr_statement_record_t *record)
{
    size_t i = 0;
    while (i < self->sum_count && (self->sums[i].kind != record->kind ||
                                   strcmp(self->sums[i].currency, record->currency) != 0))
        i++;
    if (i == PR_STATEMENT_SUMS_MAX) {
        self->sums_full = true;
        return;
    }
    if (i == self->sum_count) {
        self->sums[i] = (pr_statement_sum_t){.kind = record->kind};
        memcpy(self->sums[i].currency, record->currency, sizeof record->currency);
        self->sum_count++;
    }
    self->sums[i].count++;
    self->sums[i].amount_minor = add(self->sums[i].amount_minor, record->amount_minor);
    if (record->has_fee)
        self->sums[i].fee_minor = add(self->sums[i].fee_minor, record->fee_minor);
}

static bool has_long_number(const pr_statement_record_t *record)
{
    return !pr_value_is_number(record->reference) || !pr_value_is_number(record->request_no) ||
           !pr_value_is_number(record->refund_reference) ||
           !pr_value_is_number(record->refund_no) || !pr_value_is_number(record->native);
}

/* As much of the row as is handed over, cut at a character. */
static pr_bytes_t cut_raw(pr_bytes_t raw)
{
    if (raw.len <= PR_STATEMENT_RAW_MAX)
        return raw;
    size_t len = PR_STATEMENT_RAW_MAX;
    while (len > 0 && (raw.data[len] & 0xc0) == 0x80)
        len--;
    return pr_bytes(raw.data, len);
}

pr_rc_t pr_emit(pr_statement_reader_t *self, const pr_statement_record_t *record)
{
    pr_statement_totals_t *totals = &self->totals;
    if (has_long_number(record))
        return pr_emit_bad(self, "number", "too long, or with control characters");
    totals->rows++;
    totals->records++;
    sum_up(totals, record);
    if (record->occurred_us >= 0) {
        if (totals->first_us < 0 || record->occurred_us < totals->first_us)
            totals->first_us = record->occurred_us;
        if (record->occurred_us > totals->last_us)
            totals->last_us = record->occurred_us;
    }
    pr_statement_record_t said = *record;
    said.raw = cut_raw(record->raw);
    return self->sink.record ? self->sink.record(self->sink.ctx, &said) : PR_OK;
}

pr_rc_t pr_emit_bad(pr_statement_reader_t *self, const char *reason, const char *detail)
{
    self->totals.rows++;
    self->totals.bad++;
    if (self->totals.bad > self->limits.bad_max)
        return pr_refuse(self, "bad_rows", "more than %" PRIu64 " bad rows (line %" PRIu64 ": %s)",
                         self->limits.bad_max, self->line, reason);
    pr_buffer_t clean;
    pr_buffer_init(&clean, PR_STATEMENT_RAW_MAX);
    pr_text_clean(self->raw, &clean);
    pr_statement_bad_t bad = {.line = self->line,
                              .entry = self->entry,
                              .raw = pr_buffer_bytes(&clean),
                              .reason = reason,
                              .detail = detail};
    pr_rc_t rc = self->sink.bad ? self->sink.bad(self->sink.ctx, &bad) : PR_OK;
    pr_buffer_free(&clean);
    return rc;
}

/* ---- the end ---- */

static void finish_digest(EVP_MD_CTX *digest, char *hex)
{
    uint8_t bytes[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    pr_assert(EVP_DigestFinal_ex(digest, bytes, &len) == 1);
    pr_hex(pr_bytes(bytes, len), hex);
}

pr_rc_t pr_statement_finish(pr_statement_reader_t *self, pr_statement_totals_t *totals,
                            pr_error_t *error)
{
    pr_assert(!self->totals.sha256[0]); /* once */
    if (self->rc == PR_OK)
        self->rc = pr_unpack_finish(self);
    prove(self);
    finish_digest(self->sha256, self->totals.sha256);
    finish_digest(self->sha1, self->totals.plain_sha1);
    *totals = self->totals;
    return end_with(self, self->rc, error);
}
