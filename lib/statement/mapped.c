/* SPDX-License-Identifier: Apache-2.0
 *
 * A CSV whose columns a profile names.
 */
#include "base/alloc.h"
#include "core/moment.h"
#include "statement/statement_private.h"

#include <stdio.h>
#include <string.h>

/* As take_mapped_columns in table.c fills them. */
enum {
    KIND,
    STATE,
    REFERENCE,
    REQUEST_NO,
    REFUND_REFERENCE,
    REFUND_NO,
    CURRENCY,
    AMOUNT,
    CREDIT,
    DEBIT,
    FEE,
    OCCURRED_AT,
};

static const char rows_claim[] = "rows", sum_claim[] = "net sum";

/* ---- rows ---- */

static const char *read_amount(const pr_statement_reader_t *self, size_t column,
                               const char *currency, int64_t *minor)
{
    const pr_statement_csv_t *csv = self->table->csv;
    const char *text = pr_cell(self->table, column);
    *minor = 0;
    return text[0] ? pr_value_amount(self->spec, text, csv->unit ? csv->unit : PR_MONEY_UNIT_MAJOR,
                                     csv->decimal ? csv->decimal : '.', currency, minor)
                   : NULL;
}

/* By its effect on our balance: credit is positive. */
static const char *read_effect(const pr_statement_reader_t *self, const char *currency,
                               int64_t *effect)
{
    int64_t credit, debit;
    if (self->table->csv->amount.count > 0)
        return pr_cell(self->table, AMOUNT)[0] ? read_amount(self, AMOUNT, currency, effect)
                                               : "empty";
    const char *why = read_amount(self, CREDIT, currency, &credit);
    why = why ? why : read_amount(self, DEBIT, currency, &debit);
    if (why)
        return why;
    if (credit < 0 || (credit != 0 && debit != 0) ||
        (!pr_cell(self->table, CREDIT)[0] && !pr_cell(self->table, DEBIT)[0]))
        return "one of credit and debit is wanted";
    *effect = credit - (debit < 0 ? -debit : debit);
    return NULL;
}

static bool read_time(const pr_statement_reader_t *self, int64_t *us)
{
    const char *text = pr_cell(self->table, OCCURRED_AT);
    int format = self->table->csv->time_format;
    if (format == PR_MOMENT_UNIX || format == PR_MOMENT_UNIX_MS)
        return !text[0] || pr_moment_parse(pr_bytes_text(text), (pr_moment_format_t)format, 0, us);
    return pr_value_time(text, self->spec->zone_min, us);
}

/* False: such rows are left out. *why: it is bad. */
static bool set_kind(const pr_statement_reader_t *self, int64_t effect,
                     pr_statement_record_t *record, const char **why)
{
    const pr_statement_csv_t *csv = self->table->csv;
    bool known = true;
    record->native = pr_cell(self->table, KIND);
    if (csv->kinds.count == 0)
        record->kind = effect < 0 ? PR_STATEMENT_REFUND : PR_STATEMENT_PAYMENT;
    else
        record->kind = (pr_statement_kind_t)pr_value_word(&csv->kinds, record->native, &known);
    if (!known)
        *why = "unmapped";
    return !known || record->kind != 0;
}

static void set_state(const pr_statement_reader_t *self, pr_statement_record_t *record)
{
    bool known = true;
    const pr_statement_words_t *states = &self->table->csv->states;
    if (states->count == 0)
        return;
    int state = pr_value_word(states, pr_cell(self->table, STATE), &known);
    record->state = known && state ? (pr_statement_state_t)state : PR_STATEMENT_UNKNOWN;
}

static const char *set_amounts(const pr_statement_reader_t *self, int64_t effect,
                               pr_statement_record_t *record)
{
    const char *why = read_amount(self, FEE, record->currency, &record->fee_minor);
    record->has_fee = pr_cell(self->table, FEE)[0] != '\0';
    switch (record->kind) {
    case PR_STATEMENT_PAYMENT:
        record->amount_minor = effect;
        return effect < 0 ? "a payment is not negative" : why;
    case PR_STATEMENT_REFUND:
        record->amount_minor = effect < 0 ? -effect : effect; /* written either way */
        return why;
    case PR_STATEMENT_FEE:
        record->amount_minor = -effect;
        return why;
    default:
        record->amount_minor = effect;
        return why;
    }
}

static pr_rc_t row(pr_statement_reader_t *self)
{
    int64_t effect = 0;
    const char *why = NULL;
    char native[2 * PR_STATEMENT_NUMBER_MAX];
    pr_statement_record_t record;
    const pr_table_t *table = self->table;
    pr_record_init(self, &record);
    const char *currency = pr_cell(table, CURRENCY);
    if (!currency[0] && self->spec->currency)
        currency = self->spec->currency;
    if (!pr_value_currency(self->spec, currency, record.currency))
        return pr_emit_bad(self, "currency", currency);
    const char *no_amount = read_effect(self, record.currency, &effect);
    if (!set_kind(self, effect, &record, &why))
        return PR_OK;
    if (why)
        return pr_emit_bad(self, why, record.native);
    why = no_amount ? no_amount : set_amounts(self, effect, &record);
    if (why)
        return pr_emit_bad(self, "amount", why);
    if (!read_time(self, &record.occurred_us))
        return pr_emit_bad(self, "time", "");
    set_state(self, &record);
    const char *state = pr_cell(table, STATE);
    (void)snprintf(native, sizeof native, record.native[0] && state[0] ? "%s/%s" : "%s%s",
                   record.native, state);
    record.native = native;
    record.reference = pr_cell(table, REFERENCE);
    record.request_no = pr_cell(table, REQUEST_NO);
    record.refund_reference = pr_cell(table, REFUND_REFERENCE);
    record.refund_no = pr_cell(table, REFUND_NO);
    pr_claim_add(self, rows_claim, 1);
    pr_claim_add(self, sum_claim, effect);
    return pr_emit(self, &record);
}

/* ---- the totals line ---- */

static const char *total_at(const pr_statement_reader_t *self, uint32_t place)
{
    const pr_fields_t *row_ = &self->table->row;
    return place > 0 && place <= row_->count ? row_->at[place - 1] : "";
}

/* That of rows without one, or that of the first row; "": not one was read, there is nothing to
 * prove. */
static const char *total_currency(const pr_statement_reader_t *self)
{
    const char *currency = self->spec->currency;
    return currency && currency[0]      ? currency
           : self->totals.sum_count > 0 ? self->totals.sums[0].currency
                                        : "";
}

static pr_rc_t totals(pr_statement_reader_t *self)
{
    const pr_statement_csv_t *csv = self->table->csv;
    const char *count = total_at(self, csv->totals.count);
    const char *amount = total_at(self, csv->totals.amount);
    const char *currency = total_currency(self);
    int64_t sum = 0, rows = 0;
    self->table->ended = true;
    if (csv->totals.count > 0) {
        size_t len = strlen(count);
        if (len == 0 || len > 17 || strspn(count, "0123456789") != len)
            return pr_emit_bad(self, "sum", "the row count is no number");
        for (; *count; count++)
            rows = rows * 10 + (*count - '0');
        pr_claim_said_count(self, rows_claim, rows);
    }
    if (csv->totals.amount > 0 && currency[0]) {
        const char *why =
            pr_value_amount(self->spec, amount, csv->unit ? csv->unit : PR_MONEY_UNIT_MAJOR,
                            csv->decimal ? csv->decimal : '.', currency, &sum);
        if (why)
            return pr_emit_bad(self, "sum", why);
        pr_claim_said(self, sum_claim, sum);
    }
    return PR_OK;
}

const pr_dialect_t pr_dialect_mapped = {
    .quotes = true,
    .row = row,
    .totals = totals,
};
