/* SPDX-License-Identifier: Apache-2.0
 *
 * WeChat Pay's bills. Every cell of a row begins with a backtick, so that spreadsheets leave
 * numbers alone; the header has none; names may hold commas without quotes, so cells end at ",`".
 * Amounts are in yuan, although the API counts fen. The last two lines are a header and a line of
 * totals.
 *
 * Trade bill: column sets differ by bill_type and by account (with or without fee columns and
 * vouchers). A refunded order comes again, as a row of its own, on the day of the refund.
 */
#include "base/alloc.h"
#include "statement/statement_private.h"

#include <stdio.h>
#include <string.h>

#define ZONE_MIN (8 * 60)

/* The row count at the bottom of a bill, and sums by the names of their columns there. */
static const char said_rows[] = "rows";

static pr_rc_t bad_amount(pr_statement_reader_t *self, const char *why)
{
    return pr_emit_bad(self, "amount", why);
}

static bool is_number(const char *text)
{
    size_t len = strlen(text);
    return len > 0 && len < 18 && strspn(text, "0123456789") == len;
}

static int64_t number_of(const char *text)
{
    int64_t value = 0;
    for (; *text; text++)
        value = value * 10 + (*text - '0');
    return value;
}

typedef struct {
    const char *total; /* as the last header says */
    const char *claim; /* static name of ours */
    bool is_count;
} total_t;

/* The line of totals against the header above it. A total that is not in the list is not ours to
 * prove. */
static pr_rc_t read_totals(pr_statement_reader_t *self, const total_t *totals, size_t count)
{
    const pr_table_t *table = self->table;
    for (size_t i = 0; i < table->row.count; i++) {
        for (size_t j = 0; j < count; j++) {
            int64_t value = 0;
            if (strcmp(totals[j].total, table->totals.at[i]) != 0)
                continue;
            const char *text = table->row.at[i];
            if (totals[j].is_count ? !is_number(text)
                                   : pr_value_amount(self->spec, text, PR_MONEY_UNIT_MAJOR, '.',
                                                     "CNY", &value) != NULL)
                return pr_emit_bad(self, "sum", "a total that is no number");
            if (totals[j].is_count)
                pr_claim_said_count(self, totals[j].claim, number_of(text));
            else
                pr_claim_said(self, totals[j].claim, value);
        }
    }
    return PR_OK;
}

/* ---- trade bill ---- */

enum {
    TIME,
    ACCOUNT,
    REFERENCE,
    REQUEST_NO,
    STATE,
    CURRENCY,
    SETTLED,
    REFUND_REFERENCE,
    REFUND_NO,
    REFUNDED,
    REFUNDED_VOUCHER,
    REFUND_STATE,
    REFUNDED_AT,
    FEE,
    ORDER_AMOUNT,
    REFUND_ASKED,
};

static const pr_column_spec_t trade_columns[] = {
    [TIME] = {{"交易时间"}, true},
    [ACCOUNT] = {{"商户号"}, false},
    [REFERENCE] = {{"微信订单号"}, true},
    [REQUEST_NO] = {{"商户订单号"}, true},
    [STATE] = {{"交易状态"}, true},
    [CURRENCY] = {{"货币种类"}, false},
    [SETTLED] = {{"应结订单金额", "总金额"}, true},
    [REFUND_REFERENCE] = {{"微信退款单号"}, false},
    [REFUND_NO] = {{"商户退款单号"}, false},
    [REFUNDED] = {{"退款金额"}, false},
    [REFUNDED_VOUCHER] = {{"充值券退款金额", "代金券或立减优惠退款金额"}, false},
    [REFUND_STATE] = {{"退款状态"}, false},
    [REFUNDED_AT] = {{"退款成功时间"}, false},
    [FEE] = {{"手续费"}, false},
    [ORDER_AMOUNT] = {{"订单金额"}, false},
    [REFUND_ASKED] = {{"申请退款金额"}, false},
};

static const total_t trade_totals[] = {
    {"总交易单数", said_rows, true},
    {"应结订单总金额", "settled", false},
    {"总交易额", "settled", false},
    {"退款总金额", "refunded", false},
    {"总退款金额", "refunded", false},
    {"充值券退款总金额", "refunded vouchers", false},
    {"手续费总金额", "fees", false},
    {"订单总金额", "orders", false},
    {"申请退款总金额", "refunds asked for", false},
};

static const struct {
    size_t column;
    const char *claim;
} trade_sums[] = {
    {SETTLED, "settled"}, {REFUNDED, "refunded"},   {REFUNDED_VOUCHER, "refunded vouchers"},
    {FEE, "fees"},        {ORDER_AMOUNT, "orders"}, {REFUND_ASKED, "refunds asked for"},
};

typedef struct {
    int64_t by_column[PR_COLUMNS_MAX]; /* of those in trade_sums */
} trade_amounts_t;

static const char *read_amounts(const pr_statement_reader_t *self, const char *currency,
                                trade_amounts_t *out)
{
    for (size_t i = 0; i < PR_COUNT(trade_sums); i++) {
        const char *text = pr_cell(self->table, trade_sums[i].column);
        int64_t *value = &out->by_column[trade_sums[i].column];
        const char *why = NULL;
        *value = 0;
        if (text[0])
            why = pr_value_amount(self->spec, text, PR_MONEY_UNIT_MAJOR, '.', currency, value);
        if (why)
            return why;
    }
    return NULL;
}

static pr_statement_state_t refund_state(const char *text)
{
    static const struct {
        const char *native;
        pr_statement_state_t state;
    } words[] = {{"SUCCESS", PR_STATEMENT_SUCCEEDED}, {"PROCESSING", PR_STATEMENT_PENDING},
                 {"FAIL", PR_STATEMENT_FAILED},       {"CHANGE", PR_STATEMENT_FAILED},
                 {"ABNORMAL", PR_STATEMENT_FAILED},   {"CLOSED", PR_STATEMENT_CANCELLED}};
    for (size_t i = 0; i < PR_COUNT(words); i++)
        if (strcmp(words[i].native, text) == 0)
            return words[i].state;
    return PR_STATEMENT_UNKNOWN;
}

static const char *number_or_none(const char *text)
{
    return strcmp(text, "0") == 0 ? "" : text; /* payments have a refund number of 0 in some sets */
}

static void as_refund(const pr_table_t *table, const trade_amounts_t *amounts,
                      pr_statement_record_t *record)
{
    record->kind = PR_STATEMENT_REFUND;
    record->state = refund_state(pr_cell(table, REFUND_STATE));
    record->refund_reference = number_or_none(pr_cell(table, REFUND_REFERENCE));
    record->refund_no = number_or_none(pr_cell(table, REFUND_NO));
    /* asked for is what our refund says; with vouchers less goes back in cash */
    record->amount_minor =
        amounts->by_column[pr_has_column(table, REFUND_ASKED) ? REFUND_ASKED : REFUNDED];
}

static void as_payment(const pr_table_t *table, const trade_amounts_t *amounts,
                       pr_statement_record_t *record)
{
    const char *state = pr_cell(table, STATE);
    record->kind = PR_STATEMENT_PAYMENT;
    record->state = strcmp(state, "SUCCESS") == 0   ? PR_STATEMENT_SUCCEEDED
                    : strcmp(state, "REVOKED") == 0 ? PR_STATEMENT_CANCELLED
                                                    : PR_STATEMENT_UNKNOWN;
    record->amount_minor =
        amounts->by_column[pr_has_column(table, ORDER_AMOUNT) ? ORDER_AMOUNT : SETTLED];
}

static void add_trade_sums(pr_statement_reader_t *self, const trade_amounts_t *amounts)
{
    pr_claim_add(self, said_rows, 1);
    for (size_t i = 0; i < PR_COUNT(trade_sums); i++)
        pr_claim_add(self, trade_sums[i].claim, amounts->by_column[trade_sums[i].column]);
}

static bool trade_time(const pr_table_t *table, bool refund, int64_t *us)
{
    char text[64];
    const char *cell = pr_cell(table, refund ? REFUNDED_AT : TIME);
    (void)snprintf(text, sizeof text, "%s", cell[0] ? cell : pr_cell(table, TIME));
    pr_text_narrow(text); /* some bills have full-width colons */
    return pr_value_time(text, ZONE_MIN, us) && *us >= 0;
}

static pr_rc_t trade_row(pr_statement_reader_t *self)
{
    char native[2 * PR_STATEMENT_NUMBER_MAX];
    trade_amounts_t amounts;
    pr_statement_record_t record;
    pr_table_t *table = self->table;
    pr_record_init(self, &record);
    const char *currency = pr_cell(table, CURRENCY), *refund = pr_cell(table, REFUND_STATE);
    if (!pr_value_currency(self->spec, currency[0] ? currency : "CNY", record.currency))
        return pr_emit_bad(self, "currency", currency);
    const char *why = read_amounts(self, record.currency, &amounts);
    if (why)
        return bad_amount(self, why);
    bool is_refund = strcmp(pr_cell(table, STATE), "REFUND") == 0 ||
                     number_or_none(pr_cell(table, REFUND_REFERENCE))[0];
    if (!trade_time(table, is_refund, &record.occurred_us))
        return pr_emit_bad(self, "time", "yyyy-mm-dd hh:mm:ss is wanted");
    if (is_refund)
        as_refund(table, &amounts, &record);
    else
        as_payment(table, &amounts, &record);
    if (record.amount_minor < 0)
        return bad_amount(self, "negative");
    (void)snprintf(native, sizeof native, is_refund && refund[0] ? "%s/%s" : "%s",
                   pr_cell(table, STATE), refund);
    record.native = native;
    record.reference = pr_cell(table, REFERENCE);
    record.request_no = pr_cell(table, REQUEST_NO);
    record.has_fee = pr_has_column(table, FEE);
    record.fee_minor = amounts.by_column[FEE];
    if (!record.reference[0] && !record.request_no[0])
        return pr_emit_bad(self, "number", "neither WeChat's nor ours");
    if (!self->totals.account[0])
        (void)snprintf(self->totals.account, sizeof self->totals.account, "%s",
                       pr_cell(table, ACCOUNT));
    add_trade_sums(self, &amounts);
    return pr_emit(self, &record);
}

static pr_rc_t trade_end(pr_statement_reader_t *self)
{
    return read_totals(self, trade_totals, PR_COUNT(trade_totals));
}

const pr_dialect_t pr_dialect_wechat_trade = {
    .columns = trade_columns,
    .column_count = PR_COUNT(trade_columns),
    .wants_end = true,
    .row = trade_row,
    .totals_mark = "总交易单数",
    .totals = trade_end,
};

/* ---- fund flow bill ---- */

enum { F_TIME, F_REFERENCE, F_FLOW, F_NAME, F_TYPE, F_DIRECTION, F_AMOUNT, F_BALANCE, F_VOUCHER };

static const pr_column_spec_t funds_columns[] = {
    [F_TIME] = {{"记账时间"}, true},
    [F_REFERENCE] = {{"微信支付业务单号"}, true},
    [F_FLOW] = {{"资金流水单号"}, true},
    [F_NAME] = {{"业务名称"}, true},
    [F_TYPE] = {{"业务类型"}, true},
    [F_DIRECTION] = {{"收支类型"}, true},
    [F_AMOUNT] = {{"收支金额(元)", "收支金额"}, true},
    [F_BALANCE] = {{"账户结余(元)", "账户结余"}, false},
    [F_VOUCHER] = {{"业务凭证号"}, false},
};

static const total_t funds_totals[] = {
    {"资金流水总笔数", said_rows, true}, {"收入笔数", "income rows", true},
    {"收入金额", "income", false},       {"支出笔数", "expense rows", true},
    {"支出金额", "expense", false},
};

static pr_statement_kind_t funds_kind(const char *type)
{
    if (strcmp(type, "交易") == 0)
        return PR_STATEMENT_PAYMENT;
    if (strcmp(type, "退款") == 0)
        return PR_STATEMENT_REFUND;
    if (strstr(type, "手续费"))
        return PR_STATEMENT_FEE;
    return PR_STATEMENT_OTHER;
}

static pr_rc_t funds_row(pr_statement_reader_t *self)
{
    char native[2 * PR_STATEMENT_NUMBER_MAX], time[64];
    int64_t amount;
    pr_statement_record_t record;
    pr_table_t *table = self->table;
    pr_record_init(self, &record);
    memcpy(record.currency, "CNY", 4);
    bool income = strcmp(pr_cell(table, F_DIRECTION), "收入") == 0;
    if (!income && strcmp(pr_cell(table, F_DIRECTION), "支出") != 0)
        return pr_emit_bad(self, "kind", "收入 or 支出 is wanted");
    const char *why = pr_value_amount(self->spec, pr_cell(table, F_AMOUNT), PR_MONEY_UNIT_MAJOR,
                                      '.', "CNY", &amount);
    if (why || amount < 0)
        return bad_amount(self, why ? why : "negative");
    (void)snprintf(time, sizeof time, "%s", pr_cell(table, F_TIME));
    pr_text_narrow(time);
    if (!pr_value_time(time, ZONE_MIN, &record.occurred_us) || record.occurred_us < 0)
        return pr_emit_bad(self, "time", "yyyy-mm-dd hh:mm:ss is wanted");
    record.kind = funds_kind(pr_cell(table, F_TYPE));
    bool refund = record.kind == PR_STATEMENT_REFUND;
    if ((record.kind == PR_STATEMENT_PAYMENT && !income) || (refund && income))
        record.kind =
            PR_STATEMENT_OTHER; /* a payment taken back, a refund that failed: for people */
    (void)snprintf(native, sizeof native, "%s/%s", pr_cell(table, F_NAME), pr_cell(table, F_TYPE));
    record.native = native;
    *(refund ? &record.refund_reference : &record.reference) = pr_cell(table, F_REFERENCE);
    *(refund ? &record.refund_no : &record.request_no) = pr_cell(table, F_VOUCHER);
    bool against = record.kind == PR_STATEMENT_FEE     ? income /* a fee that came back */
                   : record.kind == PR_STATEMENT_OTHER ? !income
                                                       : false;
    record.amount_minor = against ? -amount : amount;
    pr_claim_add(self, said_rows, 1);
    pr_claim_add(self, income ? "income rows" : "expense rows", 1);
    pr_claim_add(self, income ? "income" : "expense", amount);
    return pr_emit(self, &record);
}

static pr_rc_t funds_end(pr_statement_reader_t *self)
{
    return read_totals(self, funds_totals, PR_COUNT(funds_totals));
}

const pr_dialect_t pr_dialect_wechat_funds = {
    .columns = funds_columns,
    .column_count = PR_COUNT(funds_columns),
    .wants_end = true,
    .row = funds_row,
    .totals_mark = "资金流水总笔数",
    .totals = funds_end,
};
