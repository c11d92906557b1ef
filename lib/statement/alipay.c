/* SPDX-License-Identifier: Apache-2.0
 *
 * Alipay's bills: GBK, comment lines with '#' before and after the table, cells padded with tabs,
 * yuan. A zip holds the details and a summary; both carry totals, and all of them are proved.
 *
 * trade: one row for a payment or a refund, whose amounts are negative. signcustomer: one row for
 * each movement of the account, with its fees.
 */
#include "base/alloc.h"
#include "statement/statement_private.h"

#include <stdio.h>
#include <string.h>

#define ZONE_MIN (8 * 60)
#define NOTE_NUMBERS_MAX 2

static const char payments[] = "payments", refunds[] = "refunds";
static const char summed_payments[] = "payments of the summary",
                  summed_refunds[] = "refunds of the summary";
static const char payments_received[] = "received", refunds_returned[] = "returned";

/* ---- comment lines ---- */

/* The numbers of "N笔, 共X元" as they come: a count, then an amount. False: not both. */
static bool numbers_of(pr_statement_reader_t *self, const char *note, int64_t *count,
                       int64_t *amount)
{
    char texts[NOTE_NUMBERS_MAX][32] = {{0}};
    size_t found = 0;
    while (*note && found < NOTE_NUMBERS_MAX) {
        size_t len = strspn(note, "0123456789.-");
        if (len > 0 && len < sizeof texts[0])
            memcpy(texts[found++], note, len);
        note += len > 0 ? len : 1;
    }
    if (found < NOTE_NUMBERS_MAX || strlen(texts[0]) > 17 ||
        strspn(texts[0], "0123456789") != strlen(texts[0]))
        return false;
    *count = 0;
    for (const char *at = texts[0]; *at; at++)
        *count = *count * 10 + (*at - '0');
    return !pr_value_amount(self->spec, texts[1], PR_MONEY_UNIT_MAJOR, '.', "CNY", amount);
}

static pr_rc_t claim(pr_statement_reader_t *self, const char *note, const char *rows,
                     const char *sum)
{
    int64_t count, amount;
    if (!numbers_of(self, note, &count, &amount)) {
        self->raw = pr_bytes_text(note);
        return pr_emit_bad(self, "sum", "a total that is no number");
    }
    pr_claim_said_count(self, rows, count);
    pr_claim_said(self, sum, amount);
    return PR_OK;
}

/* "#账号:[20889...0156]" */
static void take_account(pr_statement_reader_t *self, const char *note)
{
    const char *from = strchr(note, '['), *to = from ? strchr(from, ']') : NULL;
    if (to && !self->totals.account[0] && (size_t)(to - from) < sizeof self->totals.account)
        (void)snprintf(self->totals.account, sizeof self->totals.account, "%.*s",
                       (int)(to - from - 1), from + 1);
}

static pr_rc_t note(pr_statement_reader_t *self, const char *line)
{
    if (strncmp(line, "#账号", strlen("#账号")) == 0)
        take_account(self, line);
    if (strstr(line, "列表结束"))
        self->table->ended = true;
    if (strncmp(line, "#交易合计", strlen("#交易合计")) == 0)
        return claim(self, line, payments, payments_received);
    if (strncmp(line, "#退款合计", strlen("#退款合计")) == 0)
        return claim(self, line, refunds, refunds_returned);
    if (strncmp(line, "#支出合计", strlen("#支出合计")) == 0)
        return claim(self, line, "expense rows", "expense");
    if (strncmp(line, "#收入合计", strlen("#收入合计")) == 0)
        return claim(self, line, "income rows", "income");
    return PR_OK;
}

/* ---- trade: details ---- */

enum { REFERENCE, REQUEST_NO, TYPE, ENDED_AT, ORDER_AMOUNT, RECEIVED, REFUND_NO, FEE };

static const pr_column_spec_t trade_columns[] = {
    [REFERENCE] = {{"支付宝交易号"}, true},
    [REQUEST_NO] = {{"商户订单号"}, true},
    [TYPE] = {{"业务类型"}, true},
    [ENDED_AT] = {{"完成时间"}, true},
    [ORDER_AMOUNT] = {{"订单金额(元)", "订单金额"}, true},
    [RECEIVED] = {{"商家实收(元)", "商家实收"}, true},
    [REFUND_NO] = {{"退款批次号/请求号", "退款批次号"}, false},
    [FEE] = {{"服务费(元)", "服务费"}, false},
};

/* Reads a cell as an amount; an empty one is 0. */
static bool cell_amount(pr_statement_reader_t *self, size_t column, int64_t *minor)
{
    const char *text = pr_cell(self->table, column);
    *minor = 0;
    return !text[0] || !pr_value_amount(self->spec, text, PR_MONEY_UNIT_MAJOR, '.', "CNY", minor);
}

static pr_rc_t trade_row(pr_statement_reader_t *self)
{
    int64_t received;
    pr_statement_record_t record;
    pr_table_t *table = self->table;
    pr_record_init(self, &record);
    memcpy(record.currency, "CNY", 4);
    record.native = pr_cell(table, TYPE);
    bool refund = strncmp(record.native, "退款", strlen("退款")) == 0;
    if (!refund && strcmp(record.native, "交易") != 0)
        return pr_emit_bad(self, "kind", "交易 or 退款 is wanted");
    if (!pr_cell(table, ORDER_AMOUNT)[0] ||
        !cell_amount(self, ORDER_AMOUNT, &record.amount_minor) ||
        !cell_amount(self, RECEIVED, &received) || !cell_amount(self, FEE, &record.fee_minor))
        return pr_emit_bad(self, "amount", "yuan with two digits are wanted");
    if (refund ? record.amount_minor > 0 : record.amount_minor < 0)
        return pr_emit_bad(self, "amount", "the sign is not that of its kind");
    if (!pr_value_time(pr_cell(table, ENDED_AT), ZONE_MIN, &record.occurred_us) ||
        record.occurred_us < 0)
        return pr_emit_bad(self, "time", "yyyy-mm-dd hh:mm:ss is wanted");
    record.kind = refund ? PR_STATEMENT_REFUND : PR_STATEMENT_PAYMENT;
    record.amount_minor = refund ? -record.amount_minor : record.amount_minor;
    record.has_fee = pr_has_column(table, FEE);
    record.fee_minor = -record.fee_minor; /* there -0.06 is what it costs */
    record.reference = pr_cell(table, REFERENCE);
    record.request_no = pr_cell(table, REQUEST_NO);
    record.refund_no = refund ? pr_cell(table, REFUND_NO) : "";
    if (!record.reference[0] && !record.request_no[0])
        return pr_emit_bad(self, "number", "neither Alipay's nor ours");
    pr_claim_add(self, refund ? refunds : payments, 1);
    pr_claim_add(self, refund ? summed_refunds : summed_payments, 1);
    pr_claim_add(self, refund ? refunds_returned : payments_received, received);
    return pr_emit(self, &record);
}

/* ---- trade: the summary by shop ---- */

static bool is_summary(const pr_fields_t *header)
{
    for (size_t i = 0; i < header->count; i++)
        if (strcmp(header->at[i], "交易订单总笔数") == 0)
            return true;
    return false;
}

static bool is_count(const char *text)
{
    size_t len = strlen(text);
    return len > 0 && len < 18 && strspn(text, "0123456789") == len;
}

static pr_rc_t summary_count(pr_statement_reader_t *self, const char *text, const char *name)
{
    int64_t value = 0;
    if (!is_count(text))
        return pr_emit_bad(self, "sum", "a total that is no number");
    for (; *text; text++)
        value = value * 10 + (*text - '0');
    pr_claim_said_count(self, name, value);
    return PR_OK;
}

/* Its last row, 合计, says again how many there were. */
static pr_rc_t summary_row(pr_statement_reader_t *self)
{
    const pr_table_t *table = self->table;
    pr_rc_t rc = PR_OK;
    if (strcmp(table->row.at[0], "合计") != 0)
        return PR_OK;
    for (size_t i = 0; rc == PR_OK && i < table->row.count && i < table->header.count; i++) {
        if (strcmp(table->header.at[i], "交易订单总笔数") == 0)
            rc = summary_count(self, table->row.at[i], summed_payments);
        else if (strcmp(table->header.at[i], "退款订单总笔数") == 0)
            rc = summary_count(self, table->row.at[i], summed_refunds);
    }
    return rc;
}

const pr_dialect_t pr_dialect_alipay_trade = {
    .quotes = true,
    .comment = '#',
    .columns = trade_columns,
    .column_count = PR_COUNT(trade_columns),
    .wants_end = true,
    .row = trade_row,
    .note = note,
    .is_aside = is_summary,
    .aside = summary_row,
};

/* ---- signcustomer ---- */

enum { A_FLOW, A_REFERENCE, A_REQUEST_NO, A_TIME, A_INCOME, A_EXPENSE, A_TYPE };

static const pr_column_spec_t account_columns[] = {
    [A_FLOW] = {{"账务流水号"}, true},
    [A_REFERENCE] = {{"业务流水号"}, true},
    [A_REQUEST_NO] = {{"商户订单号"}, true},
    [A_TIME] = {{"发生时间"}, true},
    [A_INCOME] = {{"收入金额(+元)", "收入金额(元)"}, true},
    [A_EXPENSE] = {{"支出金额(-元)", "支出金额(元)"}, true},
    [A_TYPE] = {{"业务类型"}, true},
};

static pr_statement_kind_t account_kind(const char *type, bool income)
{
    if (strstr(type, "退款"))
        return income ? PR_STATEMENT_OTHER : PR_STATEMENT_REFUND;
    if (strstr(type, "收费") || strstr(type, "服务费") || strstr(type, "退费"))
        return PR_STATEMENT_FEE;
    if (strstr(type, "支付") && income)
        return PR_STATEMENT_PAYMENT;
    return PR_STATEMENT_OTHER;
}

static pr_rc_t account_row(pr_statement_reader_t *self)
{
    int64_t in, out;
    pr_statement_record_t record;
    pr_table_t *table = self->table;
    pr_record_init(self, &record);
    memcpy(record.currency, "CNY", 4);
    if (!cell_amount(self, A_INCOME, &in) || !cell_amount(self, A_EXPENSE, &out) || in < 0 ||
        out > 0 || (in == 0) == (out == 0))
        return pr_emit_bad(self, "amount", "one of income and expense is wanted");
    if (!pr_value_time(pr_cell(table, A_TIME), ZONE_MIN, &record.occurred_us) ||
        record.occurred_us < 0)
        return pr_emit_bad(self, "time", "yyyy-mm-dd hh:mm:ss is wanted");
    record.native = pr_cell(table, A_TYPE);
    record.kind = account_kind(record.native, in > 0);
    record.reference = pr_cell(table, A_REFERENCE);
    record.request_no = pr_cell(table, A_REQUEST_NO);
    bool turned = record.kind == PR_STATEMENT_REFUND || record.kind == PR_STATEMENT_FEE;
    record.amount_minor = turned ? -(in + out) : in + out;
    pr_claim_add(self, in > 0 ? "income rows" : "expense rows", 1);
    pr_claim_add(self, in > 0 ? "income" : "expense", in + out);
    return pr_emit(self, &record);
}

const pr_dialect_t pr_dialect_alipay_account = {
    .quotes = true,
    .comment = '#',
    .columns = account_columns,
    .column_count = PR_COUNT(account_columns),
    .wants_end = true,
    .row = account_row,
    .note = note,
};
