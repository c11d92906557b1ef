/* SPDX-License-Identifier: Apache-2.0
 *
 * WeChat's bills, row by row.
 */
#include "tests/support/statement.h"

TestSuite(statement_wechat, .timeout = 300);

static const pr_statement_spec_t trade = {.format = PR_STATEMENT_WECHAT_TRADE};
static const pr_statement_spec_t funds = {.format = PR_STATEMENT_WECHAT_FUNDS};

#define ALL_HEADER \
    "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型," \
    "交易状态,付款银行,货币种类,应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额," \
    "充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,申请退款金额," \
    "费率备注\r\n"
#define ALL_TOTALS \
    "总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额," \
    "申请退款总金额\r\n"

#define PAID \
    "`2026-11-29 12:00:00,`wx1,`1900,`0,`,`4200001,`O-1,`u,`NATIVE,`SUCCESS,`OTHERS,`CNY," \
    "`58.00,`0.00,`0,`0,`0.00,`0.00,`,`,`tea, green,`,`0.35,`0.60%,`58.00,`0.00,`\r\n"
#define GIVEN_BACK \
    "`2026-11-29 13:00:00,`wx1,`1900,`0,`,`4200001,`O-1,`u,`NATIVE,`REFUND,`OTHERS,`CNY," \
    "`0.00,`0.00,`5030001,`R-1,`8.00,`0.00,`ORIGINAL,`SUCCESS,`tea,`,`-0.05,`0.60%,`0.00," \
    "`8.00,`\r\n"

Test(statement_wechat, a_payment_and_its_refund_with_totals_that_are_proved)
{
    statement_expect(&trade,
                     pr_bytes_text(ALL_HEADER PAID GIVEN_BACK ALL_TOTALS
                                   "`2,`58.00,`8.00,`0.00,`0.30,`58.00,`8.00\r\n"),
                     "2 payment SUCCEEDED SUCCESS ref=4200001 no=O-1 rref= rno= CNY 5800 fee=35 "
                     "2026-11-29T04:00:00Z\n"
                     "3 refund SUCCEEDED REFUND/SUCCESS ref=4200001 no=O-1 rref=5030001 rno=R-1 "
                     "CNY 800 fee=-5 2026-11-29T05:00:00Z\n"
                     "rows 2 bad 0 proved \n");
}

Test(statement_wechat, totals_that_differ_are_named_whichever_it_is)
{
    static const struct {
        const char *line, *difference;
    } cases[] = {
        {"`3,`58.00,`8.00,`0.00,`0.30,`58.00,`8.00\r\n", "rows: 3 said, 2 read"},
        {"`2,`58.01,`8.00,`0.00,`0.30,`58.00,`8.00\r\n", "settled: 5801 said, 5800 read"},
        {"`2,`58.00,`8.10,`0.00,`0.30,`58.00,`8.00\r\n", "refunded: 810 said, 800 read"},
        {"`2,`58.00,`8.00,`0.00,`0.40,`58.00,`8.00\r\n", "fees: 40 said, 30 read"},
        {"`2,`58.00,`8.00,`0.00,`0.30,`57.00,`8.00\r\n", "orders: 5700 said, 5800 read"},
        {"`2,`58.00,`8.00,`0.00,`0.30,`58.00,`9.00\r\n", "refunds asked for: 900 said, 800 read"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        char text[4096];
        snprintf(text, sizeof text, "%s%s", ALL_HEADER PAID GIVEN_BACK ALL_TOTALS, cases[i].line);
        statement_read_t got = statement_read(&trade, NULL, pr_bytes_text(text), 0);
        cr_expect_eq(got.rc, PR_OK);
        cr_expect_eq(got.totals.proof, PR_STATEMENT_DIFFERS);
        cr_expect_str_eq(got.totals.difference, cases[i].difference);
        cr_expect_str_eq(got.totals.account, "1900");
        statement_read_free(&got);
    }
}

Test(statement_wechat, the_narrow_sets_without_refund_and_without_fee_columns)
{
    statement_expect(
        &trade,
        pr_bytes_text("交易时间,商户号,微信订单号,商户订单号,交易状态,货币种类,应结订单金额\n"
                      "`2026-11-29 00:00:00,`1900,`42,`A,`SUCCESS,`CNY,`0.01\n"
                      "`2026-11-29 23:59:59,`1900,`43,`B,`REVOKED,`CNY,`1.00\n"
                      "`2026-11-29 23:59:59,`1900,`44,`C,`WHATEVER,`CNY,`1.00\n"
                      "总交易单数,应结订单总金额\n`3,`2.01\n"),
        "2 payment SUCCEEDED SUCCESS ref=42 no=A rref= rno= CNY 1 fee=- 2026-11-28T16:00:00Z\n"
        "3 payment CANCELLED REVOKED ref=43 no=B rref= rno= CNY 100 fee=- 2026-11-29T15:59:59Z\n"
        "4 payment UNKNOWN WHATEVER ref=44 no=C rref= rno= CNY 100 fee=- 2026-11-29T15:59:59Z\n"
        "rows 3 bad 0 proved \n");
}

Test(statement_wechat, the_refund_set_has_times_of_its_own_and_states)
{
    statement_expect(
        &trade,
        pr_bytes_text(
            "交易时间,微信订单号,商户订单号,交易状态,货币种类,应结订单金额,退款申请时间,"
            "退款成功时间,微信退款单号,商户退款单号,退款金额,退款状态,申请退款金额\n"
            "`2026-11-20 10:00:00,`42,`A,`REFUND,`CNY,`0.00,`2026-11-29 10:00:00,"
            "`2026-11-29 10:00:05,`50,`R1,`0.90,`SUCCESS,`1.00\n"
            "`2026-11-20 10:00:00,`42,`A,`REFUND,`CNY,`0.00,`2026-11-29 10:00:00,`,`51,`R2,"
            "`1.00,`PROCESSING,`1.00\n"
            "`2026-11-20 10:00:00,`42,`A,`REFUND,`CNY,`0.00,`2026-11-29 10:00:00,`,`52,`R3,"
            "`1.00,`CHANGE,`1.00\n"
            "总交易单数,退款总金额\n`3,`2.90\n"),
        "2 refund SUCCEEDED REFUND/SUCCESS ref=42 no=A rref=50 rno=R1 CNY 100 fee=- "
        "2026-11-29T02:00:05Z\n"
        "3 refund PENDING REFUND/PROCESSING ref=42 no=A rref=51 rno=R2 CNY 100 fee=- "
        "2026-11-20T02:00:00Z\n"
        "4 refund FAILED REFUND/CHANGE ref=42 no=A rref=52 rno=R3 CNY 100 fee=- "
        "2026-11-20T02:00:00Z\n"
        "rows 3 bad 0 proved \n");
}

#define NARROW "交易时间,微信订单号,商户订单号,交易状态,货币种类,应结订单金额\n"
#define END(count, sum) "总交易单数,应结订单总金额\n`" count ",`" sum "\n"

Test(statement_wechat, rows_that_cannot_be_read_are_named_and_the_rest_is_read)
{
    statement_expect(
        &trade,
        pr_bytes_text("\xef\xbb\xbf" NARROW "`2026-11-29 12:00:00,`42,`A,`SUCCESS,`CNY,`1e3\n"
                      "`2026-11-31 12:00:00,`42,`A,`SUCCESS,`CNY,`1.00\n"
                      "`2026-11-29 12:00:00,`42,`A,`SUCCESS,`XXZ,`1.00\n"
                      "`2026-11-29 12:00:00,`42,`A,`SUCCESS,`CNY\n"
                      "`2026-11-29 12:00:00,`,`,`SUCCESS,`CNY,`1.00\n"
                      "2026-11-29 12:00:00,42,A,SUCCESS,CNY,1.00\n"
                      "`2026-11-29 12:00:00,`42,`A,`SUCCESS,`CNY,`-1.00\n"
                      "`2026-11-29 12:00:00,`42,`\xff,`SUCCESS,`CNY,`1.00\n"
                      "`2026-11-29 12：00：05,`43,`B,`SUCCESS,`CNY,`1.00\n" END("9", "9.00")),
        "2 BAD amount (malformed): `2026-11-29 12:00:00,`42,`A,`SUCCESS,`CNY,`1e3\n"
        "3 BAD time (yyyy-mm-dd hh:mm:ss is wanted): `2026-11-31 12:00:00,`42,`A,`SUCCESS,`CNY,"
        "`1.00\n"
        "4 BAD currency (XXZ): `2026-11-29 12:00:00,`42,`A,`SUCCESS,`XXZ,`1.00\n"
        "5 BAD columns (another number of them than the header has): `2026-11-29 12:00:00,`42,`A,"
        "`SUCCESS,`CNY\n"
        "6 BAD number (neither WeChat's nor ours): `2026-11-29 12:00:00,`,`,`SUCCESS,`CNY,`1.00\n"
        "7 BAD columns (cells begin with a backtick): 2026-11-29 12:00:00,42,A,SUCCESS,CNY,1.00\n"
        "8 BAD amount (negative): `2026-11-29 12:00:00,`42,`A,`SUCCESS,`CNY,`-1.00\n"
        "9 BAD charset (): `2026-11-29 12:00:00,`42,`\xef\xbf\xbd,`SUCCESS,`CNY,`1.00\n"
        "10 payment SUCCEEDED SUCCESS ref=43 no=B rref= rno= CNY 100 fee=- 2026-11-29T04:00:05Z\n"
        "rows 9 bad 8 open rows: 9 said, 1 read\n");
}

Test(statement_wechat, a_day_without_trades_is_a_file_all_the_same)
{
    statement_expect(&trade, pr_bytes_text(NARROW END("0", "0.00")), "rows 0 bad 0 proved \n");
}

Test(statement_wechat, cut_off_anywhere_it_is_no_file)
{
    static const char whole[] = NARROW "`2026-11-29 12:00:00,`42,`A,`SUCCESS,`CNY,`1.00\n"
                                       "`2026-11-29 12:00:00,`43,`B,`SUCCESS,`CNY,`2.00\n";
    for (size_t len = 0; len < sizeof whole; len++) {
        statement_read_t got = statement_read(&trade, NULL, pr_bytes(whole, len), 0);
        cr_expect_eq(got.rc, PR_BAD, "cut at %zu", len);
        statement_read_free(&got);
    }
    statement_refused(&trade, NULL, pr_bytes(whole, sizeof whole - 1), "truncated");
}

Test(statement_wechat, another_format_is_refused_at_its_first_line)
{
    statement_refused(&trade, NULL, pr_bytes_text("a,b,c\n1,2,3\n"), "header");
    statement_refused(&trade, NULL, pr_bytes_text("{\"code\":\"NO_STATEMENT_EXIST\"}"), "header");
    statement_refused(&trade, NULL, pr_bytes_text("`1,`2\n"), "header");
    statement_refused(&trade, NULL, pr_bytes_text(""), "header");
    statement_refused(&funds, NULL, pr_bytes_text(NARROW END("0", "0.00")), "header");
}

Test(statement_wechat, gzip_around_it_is_taken_off_and_its_hash_is_that_of_the_text)
{
    static const char text[] = NARROW END("0", "0.00");
    pr_buffer_t packed;
    pr_buffer_init(&packed, 65536);
    gzip_of(pr_bytes_text(text), &packed);
    statement_expect(&trade, pr_buffer_bytes(&packed), "rows 0 bad 0 proved \n");
    statement_read_t plain = statement_read(&trade, NULL, pr_bytes_text(text), 0);
    statement_read_t got = statement_read(&trade, NULL, pr_buffer_bytes(&packed), 3);
    cr_expect_str_eq(got.totals.plain_sha1, plain.totals.plain_sha1);
    cr_expect_str_neq(got.totals.sha256, plain.totals.sha256);
    cr_expect_eq(got.totals.plain_bytes, sizeof text - 1);
    for (size_t len = 0; len < packed.len; len++) {
        statement_read_t cut = statement_read(&trade, NULL, pr_bytes(packed.data, len), 0);
        cr_expect_eq(cut.rc, PR_BAD, "cut at %zu", len);
        statement_read_free(&cut);
    }
    statement_read_free(&plain);
    statement_read_free(&got);
    pr_buffer_free(&packed);
}

Test(statement_wechat, movements_of_the_account)
{
    statement_expect(
        &funds,
        pr_bytes_text("记账时间,微信支付业务单号,资金流水单号,业务名称,业务类型,收支类型,"
                      "收支金额（元）,账户结余（元）,资金变更提交申请人,备注,业务凭证号\n"
                      "`2026-11-29 10:00:00,`42,`f1,`交易,`交易,`收入,`58.00,`58.00,`sys,`,`A\n"
                      "`2026-11-29 10:00:00,`42,`f2,`交易,`扣除交易手续费,`支出,`0.35,`57.65,"
                      "`sys,`,`A\n"
                      "`2026-11-29 11:00:00,`50,`f3,`退款,`退款,`支出,`8.00,`49.65,`me,`,`R\n"
                      "`2026-11-29 12:00:00,`60,`f4,`提现,`提现,`支出,`40.00,`9.65,`me,`,`\n"
                      "`2026-11-29 12:00:00,`60,`f4,`提现,`提现,`?,`40.00,`9.65,`me,`,`\n"
                      "资金流水总笔数,收入笔数,收入金额,支出笔数,支出金额\n"
                      "`4,`1,`58.00,`3,`48.35\n"),
        "2 payment SUCCEEDED 交易/交易 ref=42 no=A rref= rno= CNY 5800 fee=- "
        "2026-11-29T02:00:00Z\n"
        "3 fee SUCCEEDED 交易/扣除交易手续费 ref=42 no=A rref= rno= CNY 35 fee=- "
        "2026-11-29T02:00:00Z\n"
        "4 refund SUCCEEDED 退款/退款 ref= no= rref=50 rno=R CNY 800 fee=- 2026-11-29T03:00:00Z\n"
        "5 other SUCCEEDED 提现/提现 ref=60 no= rref= rno= CNY -4000 fee=- 2026-11-29T04:00:00Z\n"
        "6 BAD kind (收入 or 支出 is wanted): `2026-11-29 12:00:00,`60,`f4,`提现,`提现,`?,`40.00,"
        "`9.65,`me,`,`\n"
        "rows 5 bad 1 proved \n");
}
