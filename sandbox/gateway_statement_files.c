/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements as each gateway writes them: columns, padding, totals and all.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "sandbox/gateway_protocol.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CHINA_MIN (8 * 60)

/* A file in the making, and what its last lines will say. */
typedef struct {
    const pr_gate_call_t *call;
    pr_buffer_t *out;
    bool full;
    const char *only_currency; /* of the camt; NULL: all */
    uint64_t rows, payments, refunds;
    int64_t paid, refunded, fees; /* minor */
} file_t;

#define ADD(file, ...) add(file, pr_buffer_printf((file)->out, __VA_ARGS__))

static void add(file_t *file, pr_rc_t rc)
{
    file->full = file->full || rc != PR_OK;
}

/* Half a file is none. */
static void finish(const file_t *file, pr_buffer_t *out)
{
    if (file->full) {
        pr_buffer_clear(out);
    }
}

static void count(file_t *file, const pr_gate_row_t *row)
{
    file->rows++;
    file->fees += row->fee;
    if (row->is_refund) {
        file->refunds++;
        file->refunded += row->amount;
    } else {
        file->payments++;
        file->paid += row->amount;
    }
}

static bool is_usual(const pr_gate_row_t *row)
{
    return strcmp(row->state, "succeeded") == 0;
}

/* A sum in the currency of Chinese bills. */
static const char *yuan(int64_t minor, char out[PR_GATE_ROW_MONEY_MAX])
{
    const pr_gate_row_t sum = {.currency = "CNY"};
    return pr_gate_row_money(&sum, minor, out);
}

static const char *china_time(int64_t us, char out[PR_MOMENT_TEXT_MAX])
{
    return pr_gate_time(us, PR_MOMENT_LOCAL, CHINA_MIN, out);
}

/* ---- WeChat ---- */

static void trade_row(void *ctx, const pr_gate_row_t *row)
{
    file_t *file = ctx;
    char amount[PR_GATE_ROW_MONEY_MAX], fee[PR_GATE_ROW_MONEY_MAX], time[PR_MOMENT_TEXT_MAX];
    const pr_gate_account_t *account = file->call->account;
    const char *money = pr_gate_row_money(row, row->amount, amount);
    bool refund = row->is_refund;
    count(file, row);
    ADD(file,
        "`%s,`%s,`%s,`0,`,`%s,`%s,`o0000000000000000000,`NATIVE,`%s,`OTHERS,`%s,`%s,`0.00,`%s,`%s,"
        "`%s,`0.00,`%s,`%s,`order, with a comma,`,`%s,`0.60%%,`%s,`%s,`\r\n",
        china_time(row->at_us, time), pr_gate_parameter(account, "appid"),
        pr_gate_parameter(account, "mchid"), row->reference, row->request_no,
        refund          ? "REFUND"
        : is_usual(row) ? "SUCCESS"
                        : row->state,
        row->currency, refund ? "0.00" : money, refund ? row->refund_reference : "0",
        refund ? row->refund_no : "0", refund ? money : "0.00", refund ? "ORIGINAL" : "",
        !refund         ? ""
        : is_usual(row) ? "SUCCESS"
                        : row->state,
        pr_gate_row_money(&(pr_gate_row_t){.currency = row->currency}, row->fee, fee),
        refund ? "0.00" : money, refund ? money : "0.00");
}

static void trade_bill(file_t *file)
{
    char paid[PR_GATE_ROW_MONEY_MAX], refunded[PR_GATE_ROW_MONEY_MAX], fees[PR_GATE_ROW_MONEY_MAX];
    ADD(file, "\xef\xbb\xbf交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,"
              "用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额,微信退款单号,"
              "商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,"
              "费率,订单金额,申请退款金额,费率备注\r\n");
    (void)pr_gate_rows(file->call, trade_row, file);
    (void)yuan(file->paid, paid);
    (void)yuan(file->refunded, refunded);
    ADD(file,
        "总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,"
        "申请退款总金额\r\n`%" PRIu64 ",`%s,`%s,`0.00,`%s,`%s,`%s\r\n",
        file->rows, paid, refunded, yuan(file->fees, fees), paid, refunded);
}

static void funds_row(void *ctx, const pr_gate_row_t *row)
{
    file_t *file = ctx;
    char amount[PR_GATE_ROW_MONEY_MAX], time[PR_MOMENT_TEXT_MAX];
    bool refund = row->is_refund;
    count(file, row);
    ADD(file, "`%s,`%s,`F%s,`%s,`%s,`%s,`%s,`0.00,`system,`,`%s\r\n", china_time(row->at_us, time),
        refund ? row->refund_reference : row->reference,
        refund ? row->refund_reference : row->reference, refund ? "退款" : "交易",
        refund ? "退款" : "交易", refund ? "支出" : "收入",
        pr_gate_row_money(row, row->amount, amount), refund ? row->refund_no : row->request_no);
}

static void funds_bill(file_t *file)
{
    char paid[PR_GATE_ROW_MONEY_MAX], refunded[PR_GATE_ROW_MONEY_MAX];
    ADD(file, "记账时间,微信支付业务单号,资金流水单号,业务名称,业务类型,收支类型,收支金额（元）,"
              "账户结余（元）,资金变更提交申请人,备注,业务凭证号\r\n");
    (void)pr_gate_rows(file->call, funds_row, file);
    ADD(file,
        "资金流水总笔数,收入笔数,收入金额,支出笔数,支出金额\r\n`%" PRIu64 ",`%" PRIu64
        ",`%s,`%" PRIu64 ",`%s\r\n",
        file->rows, file->payments, yuan(file->paid, paid), file->refunds,
        yuan(file->refunded, refunded));
}

void pr_gate_wechat_bill(const pr_gate_call_t *call, pr_buffer_t *out)
{
    file_t file = {.call = call, .out = out};
    if (strncmp(call->day.kind, "funds", 5) == 0) {
        funds_bill(&file);
    } else {
        trade_bill(&file);
    }
    finish(&file, out);
}

/* ---- Alipay ---- */

static void details_row(void *ctx, const pr_gate_row_t *row)
{
    file_t *file = ctx;
    char amount[PR_GATE_ROW_MONEY_MAX], fee[PR_GATE_ROW_MONEY_MAX], time[PR_MOMENT_TEXT_MAX];
    bool refund = row->is_refund;
    const char *money = pr_gate_row_money(row, refund ? -row->amount : row->amount, amount);
    const char *usual = refund ? "退款" : "交易";
    count(file, row);
    (void)china_time(row->at_us, time);
    ADD(file,
        "%s\t,%s\t,%s\t,订单\t,%s\t,%s\t,\t,\t,\t,\t,***@example.com\t,%s,%s,0.00,0.00,0.00,0.00,"
        "0.00,\t,0.00,0.00,%s\t,%s,0.00,\t\r\n",
        row->reference, row->request_no, is_usual(row) ? usual : row->state, time, time, money,
        money, row->refund_no,
        pr_gate_row_money(&(pr_gate_row_t){.currency = row->currency}, -row->fee, fee));
}

static void details(file_t *file)
{
    char paid[PR_GATE_ROW_MONEY_MAX], refunded[PR_GATE_ROW_MONEY_MAX];
    ADD(file,
        "#支付宝业务明细查询\r\n#账号：[%s]\r\n#起始日期：[%s 00:00:00]\r\n"
        "#-----------------------------------------业务明细列表------------------------------\r\n"
        "支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,门店编号,门店名称,操作员,"
        "终端号,对方账户,订单金额（元）,商家实收（元）,支付宝红包（元）,集分宝（元）,"
        "支付宝优惠（元）,商家优惠（元）,券核销金额（元）,券名称,商家红包消费金额（元）,"
        "卡消费金额（元）,退款批次号/请求号,服务费（元）,分润（元）,备注\r\n",
        pr_gate_parameter(file->call->account, "app_id"), file->call->day.date);
    (void)pr_gate_rows(file->call, details_row, file);
    ADD(file,
        "#-----------------------------------------业务明细列表结束--------------------------\r\n"
        "#交易合计：%" PRIu64 "笔，商家实收共%s元，商家优惠共0.00元\r\n"
        "#退款合计：%" PRIu64 "笔，商家实收退款共%s元，商家优惠退款共0.00元\r\n",
        file->payments, yuan(file->paid, paid), file->refunds, yuan(-file->refunded, refunded));
}

static void summary(file_t *file)
{
    ADD(file,
        "#支付宝业务汇总查询\r\n"
        "#-----------------------------------------业务汇总列表------------------------------\r\n"
        "门店编号,门店名称,交易订单总笔数,退款订单总笔数\r\n"
        "合计\t,\t,%" PRIu64 ",%" PRIu64 "\r\n"
        "#-----------------------------------------业务汇总列表结束--------------------------\r\n",
        file->payments, file->refunds);
}

static void movement(void *ctx, const pr_gate_row_t *row)
{
    file_t *file = ctx;
    char amount[PR_GATE_ROW_MONEY_MAX], time[PR_MOMENT_TEXT_MAX];
    bool refund = row->is_refund;
    const char *money = pr_gate_row_money(row, refund ? -row->amount : row->amount, amount);
    count(file, row);
    ADD(file, "F%" PRIu64 "\t,%s\t,%s\t,订单\t,%s\t,***\t,%s,%s,0.00,支付宝\t,%s\t,\t\r\n",
        file->rows, row->reference, row->request_no, china_time(row->at_us, time),
        refund ? "" : money, refund ? money : "", refund ? "交易退款" : "在线支付");
}

static void movements(file_t *file)
{
    char paid[PR_GATE_ROW_MONEY_MAX], refunded[PR_GATE_ROW_MONEY_MAX];
    ADD(file,
        "#支付宝账务明细查询\r\n#账号：[%s]\r\n#-----账务明细列表-----\r\n"
        "账务流水号,业务流水号,商户订单号,商品名称,发生时间,对方账号,收入金额（+元）,"
        "支出金额（-元）,账户余额（元）,交易渠道,业务类型,备注\r\n",
        pr_gate_parameter(file->call->account, "app_id"));
    (void)pr_gate_rows(file->call, movement, file);
    ADD(file,
        "#-----账务明细列表结束-----\r\n#支出合计：%" PRIu64 "笔，共%s元\r\n#收入合计：%" PRIu64
        "笔，共%s元\r\n",
        file->refunds, yuan(-file->refunded, refunded), file->payments, yuan(file->paid, paid));
}

static void to_gbk(pr_buffer_t *file)
{
    pr_buffer_t gbk;
    pr_buffer_init(&gbk, PR_GATE_ANSWER_MAX);
    pr_gate_to_gbk(pr_buffer_bytes(file), &gbk);
    pr_buffer_free(file);
    *file = gbk;
}

void pr_gate_alipay_bill(const pr_gate_call_t *call, pr_buffer_t *details_out,
                         pr_buffer_t *summary_out)
{
    file_t file = {.call = call, .out = details_out};
    if (strcmp(call->day.kind, "trade") == 0) {
        details(&file);
        file.out = summary_out;
        summary(&file);
        to_gbk(summary_out);
    } else {
        movements(&file);
    }
    finish(&file, details_out);
    to_gbk(details_out);
}

/* ---- Stripe ---- */

static void report_row(void *ctx, const pr_gate_row_t *row)
{
    file_t *file = ctx;
    char gross[PR_GATE_ROW_MONEY_MAX], fee[PR_GATE_ROW_MONEY_MAX], net[PR_GATE_ROW_MONEY_MAX];
    char time[PR_MOMENT_TEXT_MAX], currency[8];
    bool refund = row->is_refund;
    bool against = refund || strcmp(row->state, "charge_failure") == 0;
    int64_t signed_amount = against ? -row->amount : row->amount;
    int64_t cost = refund ? 0 : row->fee; /* Stripe keeps its fee when a payment is refunded */
    count(file, row);
    snprintf(currency, sizeof(currency), "%s", row->currency);
    for (char *at = currency; *at; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    const char *usual = refund ? "refund" : "charge";
    ADD(file, "txn_%s,%s,%s,%s,%s,%s,%s,%s,%s,ch_%s,%s,%s\n",
        refund ? row->refund_reference : row->reference,
        pr_gate_time(row->at_us, PR_MOMENT_LOCAL, 0, time), currency,
        pr_gate_row_money(row, signed_amount, gross),
        pr_gate_row_money(&(pr_gate_row_t){.currency = row->currency}, cost, fee),
        pr_gate_row_money(row, signed_amount - cost, net), is_usual(row) ? usual : row->state,
        refund ? row->refund_reference : row->reference, row->reference, row->reference,
        row->request_no, row->refund_no);
}

void pr_gate_stripe_report(const pr_gate_call_t *call, pr_buffer_t *out)
{
    file_t file = {.call = call, .out = out};
    ADD(&file, "balance_transaction_id,created_utc,currency,gross,fee,net,reporting_category,"
               "source_id,payment_intent_id,charge_id,payment_metadata[request_no],"
               "refund_metadata[refund_no]\n");
    (void)pr_gate_rows(call, report_row, &file);
    finish(&file, out);
}

/* ---- the sandbox's own ---- */

static void csv_row(void *ctx, const pr_gate_row_t *row)
{
    file_t *file = ctx;
    char time[PR_MOMENT_TEXT_MAX], amount[32];
    count(file, row);
    snprintf(amount, sizeof(amount), "%" PRId64, row->is_refund ? -row->amount : row->amount);
    ADD(file, "%s,%s,%s,%s,%s,%s,%s,%s,%" PRId64 ",%s\r\n", row->is_refund ? "refund" : "payment",
        row->state, row->request_no, row->reference, row->refund_no, row->refund_reference,
        row->is_bad ? "#REF!" : amount, row->currency, row->fee,
        pr_gate_time(row->at_us, PR_MOMENT_RFC3339, 0, time));
}

void pr_gate_sandbox_csv(const pr_gate_call_t *call, pr_buffer_t *out)
{
    file_t file = {.call = call, .out = out};
    ADD(&file, "kind,state,request_no,payment,refund_no,refund,amount,currency,fee,at\r\n");
    (void)pr_gate_rows(call, csv_row, &file);
    ADD(&file, "TOTAL,%" PRIu64 ",,,,,%" PRId64 ",,,\r\n", file.rows, file.paid - file.refunded);
    finish(&file, out);
}

#define CURRENCIES_MAX 16

typedef struct {
    size_t count;
    char names[CURRENCIES_MAX][8];
} currencies_t;

static void note_currency(void *ctx, const pr_gate_row_t *row)
{
    currencies_t *self = ctx;
    for (size_t i = 0; i < self->count; i++) {
        if (strcmp(self->names[i], row->currency) == 0) {
            return;
        }
    }
    if (self->count < CURRENCIES_MAX) {
        snprintf(self->names[self->count++], sizeof(self->names[0]), "%s", row->currency);
    }
}

static void sum_entry(void *ctx, const pr_gate_row_t *row)
{
    file_t *file = ctx;
    if (strcmp(row->currency, file->only_currency) == 0) {
        count(file, row);
    }
}

static void entry(void *ctx, const pr_gate_row_t *row)
{
    file_t *file = ctx;
    char amount[PR_GATE_ROW_MONEY_MAX], time[PR_MOMENT_TEXT_MAX];
    bool refund = row->is_refund;
    if (strcmp(row->currency, file->only_currency) != 0) {
        return;
    }
    ADD(file,
        "<Ntry><Amt Ccy=\"%s\">%s</Amt><CdtDbtInd>%s</CdtDbtInd><Sts><Cd>%s</Cd></Sts>"
        "<BookgDt><DtTm>%s</DtTm></BookgDt><AcctSvcrRef>%s</AcctSvcrRef><NtryDtls><TxDtls><Refs>"
        "<EndToEndId>%s</EndToEndId></Refs>",
        row->currency, pr_gate_row_money(row, row->amount, amount), refund ? "DBIT" : "CRDT",
        is_usual(row) ? "BOOK" : row->state, pr_gate_time(row->at_us, PR_MOMENT_RFC3339, 0, time),
        refund ? row->refund_reference : row->reference, refund ? row->refund_no : row->request_no);
    if (refund) {
        ADD(file, "<RmtInf><Strd><CdtrRefInf><Ref>%s</Ref></CdtrRefInf></Strd></RmtInf>",
            row->request_no);
    }
    ADD(file, "</TxDtls></NtryDtls></Ntry>\n");
}

/* An account of one currency: opened at 0. */
static void statement_of(file_t *file)
{
    const pr_gate_row_t sum = {.currency = file->only_currency};
    char close[PR_GATE_ROW_MONEY_MAX], in[PR_GATE_ROW_MONEY_MAX], back[PR_GATE_ROW_MONEY_MAX];
    char zero[PR_GATE_ROW_MONEY_MAX];
    file->rows = file->payments = file->refunds = 0;
    file->paid = file->refunded = file->fees = 0;
    (void)pr_gate_rows(file->call, sum_entry, file);
    int64_t net = file->paid - file->refunded;
    ADD(file,
        "<Stmt><Id>%s-%s</Id><Acct><Id><Othr><Id>%s</Id></Othr></Id><Ccy>%s</Ccy></Acct>"
        "<Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy=\"%s\">%s</Amt>"
        "<CdtDbtInd>CRDT</CdtDbtInd></Bal>"
        "<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy=\"%s\">%s</Amt>"
        "<CdtDbtInd>%s</CdtDbtInd></Bal><TxsSummry><TtlNtries><NbOfNtries>%" PRIu64
        "</NbOfNtries></TtlNtries><TtlCdtNtries><NbOfNtries>%" PRIu64
        "</NbOfNtries><Sum>%s</Sum></TtlCdtNtries><TtlDbtNtries><NbOfNtries>%" PRIu64
        "</NbOfNtries><Sum>%s</Sum></TtlDbtNtries></TxsSummry>\n",
        file->call->day.date, file->only_currency, file->call->account->name, file->only_currency,
        file->only_currency, pr_gate_row_money(&sum, 0, zero), file->only_currency,
        pr_gate_row_money(&sum, net < 0 ? -net : net, close), net < 0 ? "DBIT" : "CRDT", file->rows,
        file->payments, pr_gate_row_money(&sum, file->paid, in), file->refunds,
        pr_gate_row_money(&sum, file->refunded, back));
    (void)pr_gate_rows(file->call, entry, file);
    ADD(file, "</Stmt>");
}

void pr_gate_sandbox_camt(const pr_gate_call_t *call, pr_buffer_t *out)
{
    currencies_t currencies = {0};
    file_t file = {.call = call, .out = out};
    (void)pr_gate_rows(call, note_currency, &currencies);
    ADD(&file, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.053.001.08\"><BkToCstmrStmt>"
               "<GrpHdr><MsgId>sandbox</MsgId></GrpHdr>");
    for (size_t i = 0; i < currencies.count; i++) {
        file.only_currency = currencies.names[i];
        statement_of(&file);
    }
    ADD(&file, "</BkToCstmrStmt></Document>\n");
    finish(&file, out);
}
