/* SPDX-License-Identifier: Apache-2.0
 *
 * Stripe's itemised reports (balance_change_from_activity.itemized,
 * payout_reconciliation.itemized): one row for each balance transaction, decimals in major units,
 * times in UTC where the column says so. A report says nothing about itself, but each row does:
 * gross less fee is net. Our numbers are there when the report was asked for with the columns
 * payment_metadata[request_no] and refund_metadata[refund_no].
 */
#include "base/alloc.h"
#include "statement/statement_private.h"

#include <string.h>

enum {
    ID,
    CREATED_UTC,
    CREATED,
    CURRENCY,
    GROSS,
    FEE,
    NET,
    CATEGORY,
    SOURCE,
    INTENT,
    CHARGE,
    REQUEST_NO,
    REFUND_NO,
};

static const pr_column_spec_t columns[] = {
    [ID] = {{"balance_transaction_id"}, true},
    [CREATED_UTC] = {{"created_utc"}, false},
    [CREATED] = {{"created"}, false},
    [CURRENCY] = {{"currency"}, true},
    [GROSS] = {{"gross"}, true},
    [FEE] = {{"fee"}, true},
    [NET] = {{"net"}, true},
    [CATEGORY] = {{"reporting_category"}, true},
    [SOURCE] = {{"source_id"}, true},
    [INTENT] = {{"payment_intent_id"}, false},
    [CHARGE] = {{"charge_id"}, false},
    [REQUEST_NO] = {{"payment_metadata[request_no]"}, false},
    [REFUND_NO] = {{"refund_metadata[refund_no]"}, false},
};

static const struct {
    const char *category;
    pr_statement_kind_t kind;
    pr_statement_state_t state;
} categories[] = {
    {"charge", PR_STATEMENT_PAYMENT, PR_STATEMENT_SUCCEEDED},
    {"payment", PR_STATEMENT_PAYMENT, PR_STATEMENT_SUCCEEDED},
    {"charge_failure", PR_STATEMENT_PAYMENT, PR_STATEMENT_FAILED},
    {"refund", PR_STATEMENT_REFUND, PR_STATEMENT_SUCCEEDED},
    {"partial_capture_reversal", PR_STATEMENT_REFUND, PR_STATEMENT_SUCCEEDED},
    {"refund_failure", PR_STATEMENT_REFUND, PR_STATEMENT_FAILED},
    {"fee", PR_STATEMENT_FEE, PR_STATEMENT_SUCCEEDED},
    {"network_cost", PR_STATEMENT_FEE, PR_STATEMENT_SUCCEEDED},
    {"tax", PR_STATEMENT_FEE, PR_STATEMENT_SUCCEEDED},
};

static void set_kind(pr_statement_record_t *record)
{
    for (size_t i = 0; i < PR_COUNT(categories); i++) {
        if (strcmp(categories[i].category, record->native) == 0) {
            record->kind = categories[i].kind;
            record->state = categories[i].state;
        }
    }
}

/* Out of the balance is negative there: a payment is positive, a refund and a fee are not, and what
 * failed is the other way round. */
static int64_t amount_of(const pr_statement_record_t *record, int64_t gross)
{
    bool out = record->kind == PR_STATEMENT_REFUND || record->kind == PR_STATEMENT_FEE;
    bool turned = record->state == PR_STATEMENT_FAILED;
    return out != turned ? -gross : gross;
}

static bool set_time(const pr_table_t *table, const pr_statement_spec_t *spec, int64_t *us)
{
    const char *utc = pr_cell(table, CREATED_UTC);
    return pr_value_time(utc[0] ? utc : pr_cell(table, CREATED), utc[0] ? 0 : spec->zone_min, us) &&
           *us >= 0;
}

static void set_numbers(const pr_table_t *table, pr_statement_record_t *record)
{
    const char *source = pr_cell(table, SOURCE), *intent = pr_cell(table, INTENT);
    const char *charge = pr_cell(table, CHARGE);
    bool refund = record->kind == PR_STATEMENT_REFUND;
    record->reference = intent[0] ? intent : charge[0] ? charge : refund ? "" : source;
    record->request_no = pr_cell(table, REQUEST_NO);
    record->refund_reference = refund ? source : "";
    record->refund_no = refund ? pr_cell(table, REFUND_NO) : "";
}

static pr_rc_t row(pr_statement_reader_t *self)
{
    int64_t amounts[3]; /* gross, fee, net */
    static const size_t places[] = {GROSS, FEE, NET};
    pr_statement_record_t record;
    const pr_table_t *table = self->table;
    pr_record_init(self, &record);
    record.native = pr_cell(table, CATEGORY);
    set_kind(&record);
    if (!pr_value_currency(self->spec, pr_cell(table, CURRENCY), record.currency))
        return pr_emit_bad(self, "currency", pr_cell(table, CURRENCY));
    for (size_t i = 0; i < PR_COUNT(places); i++) {
        const char *why = pr_value_amount(self->spec, pr_cell(table, places[i]),
                                          PR_MONEY_UNIT_MAJOR, '.', record.currency, &amounts[i]);
        if (why)
            return pr_emit_bad(self, "amount", why);
    }
    if (amounts[0] - amounts[1] != amounts[2])
        return pr_emit_bad(self, "sum", "gross less fee is not net");
    if (!set_time(table, self->spec, &record.occurred_us))
        return pr_emit_bad(self, "time", "yyyy-mm-dd hh:mm:ss is wanted");
    record.amount_minor = amount_of(&record, amounts[0]);
    if (record.amount_minor < 0 &&
        (record.kind == PR_STATEMENT_PAYMENT || record.kind == PR_STATEMENT_REFUND))
        return pr_emit_bad(self, "amount", "the sign is not that of its kind");
    record.has_fee = true;
    record.fee_minor = amounts[1];
    set_numbers(table, &record);
    return pr_emit(self, &record);
}

const pr_dialect_t pr_dialect_stripe = {
    .quotes = true,
    .columns = columns,
    .column_count = PR_COUNT(columns),
    .row = row,
};
