/* SPDX-License-Identifier: Apache-2.0
 *
 * Alipay's bills: GBK, comments, a zip of details and summary.
 */
#include "gateway/charset.h"
#include "tests/support/statement.h"

TestSuite(statement_alipay, .timeout = 300);

static const pr_statement_spec_t trade = {.format = PR_STATEMENT_ALIPAY_TRADE};
static const pr_statement_spec_t account = {.format = PR_STATEMENT_ALIPAY_ACCOUNT};

static void gbk(const char *text, pr_buffer_t *out)
{
    pr_buffer_init(out, 65536);
    pr_rc_t rc = pr_charset_from_utf8("GBK", pr_bytes_text(text), out);
    cr_assert_eq(rc, PR_OK);
}

static const char details[] =
    "#支付宝业务明细查询\r\n"
    "#账号：[20881234567890120156]\r\n"
    "#起始日期：[2026年11月29日 00:00:00]   终止日期：[2026年11月30日 00:00:00]\r\n"
    "#-----------------------------------------业务明细列表-------------------------------------\r\n"
    "支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,门店编号,门店名称,操作员,"
    "终端号,对方账户,订单金额（元）,商家实收（元）,支付宝红包（元）,集分宝（元）,"
    "支付宝优惠（元）,商家优惠（元）,券核销金额（元）,券名称,商家红包消费金额（元）,"
    "卡消费金额（元）,退款批次号/请求号,服务费（元）,分润（元）,备注\r\n"
    "2026112922001\t,O-1\t,交易\t,茶\t,2026-11-29 12:00:00\t,2026-11-29 12:00:05\t,\t,\t,\t,\t,"
    "p***@x.example\t,58.00,57.00,0.00,0.00,1.00,0.00,0.00,\t,0.00,0.00,\t,-0.35,0.00,\t\r\n"
    "2026112922001\t,O-1\t,退款\t,茶\t,2026-11-29 12:00:00\t,2026-11-29 13:00:05\t,\t,\t,\t,\t,"
    "p***@x.example\t,-8.00,-8.00,0.00,0.00,0.00,0.00,0.00,\t,0.00,0.00,R-1\t,0.05,0.00,\t\r\n"
    "#-----------------------------------------业务明细列表结束---------------------------------\r\n"
    "#交易合计：1笔，商家实收共57.00元，商家优惠共0.00元\r\n"
    "#退款合计：1笔，商家实收退款共-8.00元，商家优惠退款共0.00元\r\n"
    "#导出时间：[2026年11月30日 09:10:11]\r\n";

static const char summary[] =
    "#支付宝业务汇总查询\r\n"
    "#-----------------------------------------业务汇总列表-------------------------------------\r\n"
    "门店编号,门店名称,交易订单总笔数,退款订单总笔数,订单金额（元）,商家实收（元）\r\n"
    "\t,\t,1,1,50.00,49.00\r\n"
    "合计\t,\t,1,1,50.00,49.00\r\n"
    "#-----------------------------------------业务汇总列表结束---------------------------------\r\n";

static const char wanted[] =
    "6 payment SUCCEEDED 交易 ref=2026112922001 no=O-1 rref= rno= CNY 5800 fee=35 "
    "2026-11-29T04:00:05Z\n"
    "7 refund SUCCEEDED 退款 ref=2026112922001 no=O-1 rref= rno=R-1 CNY 800 fee=-5 "
    "2026-11-29T05:00:05Z\n"
    "rows 2 bad 0 proved \n";

Test(statement_alipay, details_in_gbk)
{
    pr_buffer_t text;
    gbk(details, &text);
    statement_expect(&trade, pr_buffer_bytes(&text), wanted);
    statement_read_t got = statement_read(&trade, NULL, pr_buffer_bytes(&text), 0);
    cr_expect_str_eq(got.totals.account, "20881234567890120156");
    statement_read_free(&got);
    pr_buffer_free(&text);
}

Test(statement_alipay, a_zip_of_details_and_summary_in_either_order)
{
    pr_buffer_t parts[2];
    gbk(details, &parts[0]);
    gbk(summary, &parts[1]);
    for (size_t first = 0; first < 2; first++) {
        /* file names in GBK, as they come */
        const char *names[] = {"2088_20261129_\xd2\xb5\xce\xf1\xc3\xf7\xcf\xb8.csv", "sum.csv"};
        pr_bytes_t texts[] = {pr_buffer_bytes(&parts[first]), pr_buffer_bytes(&parts[1 - first])};
        pr_buffer_t archive;
        pr_buffer_init(&archive, 65536);
        zip_of(names, texts, 2, &archive);
        statement_expect(&trade, pr_buffer_bytes(&archive), wanted);
        for (size_t len = 0; len < archive.len; len += 3) {
            statement_read_t cut = statement_read(&trade, NULL, pr_bytes(archive.data, len), 0);
            cr_expect_eq(cut.rc, PR_BAD, "cut at %zu", len);
            statement_read_free(&cut);
        }
        pr_buffer_free(&archive);
    }
    pr_buffer_free(&parts[0]);
    pr_buffer_free(&parts[1]);
}

/* details with one text in the place of another */
static void with(const char *old, const char *new, pr_buffer_t *out)
{
    char text[8192];
    const char *at = strstr(details, old);
    cr_assert(at, "%s", old);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - details), details, new, at + strlen(old));
    gbk(text, out);
}

Test(statement_alipay, what_is_wrong_has_a_name)
{
    static const struct {
        const char *old, *new, *reason;
    } cases[] = {
        {"58.00,57.00", "58.0.0,57.00", "amount"},
        {"58.00,57.00", "-58.00,57.00", "amount"},
        {"58.00,57.00", ",57.00", "amount"},
        {"-8.00,-8.00", "8.00,-8.00", "amount"},
        {"交易\t", "转账\t", "kind"},
        {"2026-11-29 12:00:05", "2026-13-29 12:00:05", "time"},
        {"2026112922001\t,O-1\t,交易", "\t,\t,交易", "number"},
        {"57.00,0.00,0.00,1.00", "57.00,0.00,1.00", "columns"},
        {"#交易合计：1笔", "#交易合计：笔", "sum"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_buffer_t text;
        char sought[64];
        with(cases[i].old, cases[i].new, &text);
        statement_read_t got = statement_read(&trade, NULL, pr_buffer_bytes(&text), 0);
        snprintf(sought, sizeof sought, " BAD %s (", cases[i].reason);
        cr_expect_eq(got.rc, PR_OK, "%s: %s", cases[i].new, got.error.text);
        cr_expect(strstr(pr_buffer_text(&got.text), sought), "%s:\n%s", cases[i].new,
                  pr_buffer_text(&got.text));
        cr_expect_eq(got.totals.bad, 1, "%s", cases[i].new);
        statement_read_free(&got);
        pr_buffer_free(&text);
    }
}

Test(statement_alipay, totals_that_differ)
{
    static const struct {
        const char *old, *new, *difference;
    } cases[] = {
        {"交易合计：1笔", "交易合计：2笔", "payments: 2 said, 1 read"},
        {"共57.00元", "共57.01元", "received: 5701 said, 5700 read"},
        {"退款合计：1笔", "退款合计：0笔", "refunds: 0 said, 1 read"},
        {"共-8.00元", "共-9.00元", "returned: -900 said, -800 read"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_buffer_t text;
        with(cases[i].old, cases[i].new, &text);
        statement_read_t got = statement_read(&trade, NULL, pr_buffer_bytes(&text), 0);
        cr_expect_eq(got.totals.proof, PR_STATEMENT_DIFFERS);
        cr_expect_str_eq(got.totals.difference, cases[i].difference);
        statement_read_free(&got);
        pr_buffer_free(&text);
    }
}

Test(statement_alipay, bytes_that_are_no_gbk_are_one_bad_row)
{
    pr_buffer_t text;
    gbk(details, &text);
    uint8_t *tea = memmem(text.data, text.len, "\xb2\xe8\t", 3); /* the tea of the first row */
    cr_assert(tea);
    tea[0] = 0xff;
    tea[1] = 0xff;
    statement_read_t got = statement_read(&trade, NULL, pr_buffer_bytes(&text), 0);
    cr_expect_eq(got.rc, PR_OK);
    cr_expect_eq(got.totals.bad, 1);
    cr_expect_eq(got.totals.records, 1);
    cr_expect(strncmp(pr_buffer_text(&got.text), "6 BAD charset (): 2026112922001\t,O-1\t,", 36) ==
              0);
    cr_expect_eq(got.totals.proof, PR_STATEMENT_OPEN);
    statement_read_free(&got);
    pr_buffer_free(&text);
}

Test(statement_alipay, without_its_last_lines_it_was_cut_off)
{
    pr_buffer_t text;
    with("结束", "", &text);
    statement_refused(&trade, NULL, pr_buffer_bytes(&text), "truncated");
    pr_buffer_free(&text);
}

Test(statement_alipay, movements_of_the_account)
{
    pr_buffer_t text;
    gbk("#支付宝账务明细查询\n#账号：[2088]\n#-----账务明细列表-----\n"
        "账务流水号,业务流水号,商户订单号,商品名称,发生时间,对方账号,收入金额（+元）,"
        "支出金额（-元）,账户余额（元）,交易渠道,业务类型,备注\n"
        "1\t,20261\t,O-1\t,茶,2026-11-29 12:00:00\t,p,58.00,,58.00,支付宝,在线支付,\n"
        "2\t,20261\t,O-1\t,茶,2026-11-29 12:00:00\t,p,,-0.35,57.65,支付宝,收费,\n"
        "3\t,20261\t,O-1\t,茶,2026-11-29 13:00:00\t,p,,-8.00,49.65,支付宝,交易退款,\n"
        "4\t,20269\t,\t,,2026-11-29 14:00:00\t,p,,-40.00,9.65,支付宝,提现,\n"
        "5\t,20269\t,\t,,2026-11-29 14:00:00\t,p,1.00,-40.00,9.65,支付宝,提现,\n"
        "#-----账务明细列表结束-----\n"
        "#支出合计：3笔，共-48.35元\n#收入合计：1笔，共58.00元\n",
        &text);
    statement_expect(
        &account, pr_buffer_bytes(&text),
        "5 payment SUCCEEDED 在线支付 ref=20261 no=O-1 rref= rno= CNY 5800 fee=- "
        "2026-11-29T04:00:00Z\n"
        "6 fee SUCCEEDED 收费 ref=20261 no=O-1 rref= rno= CNY 35 fee=- 2026-11-29T04:00:00Z\n"
        "7 refund SUCCEEDED 交易退款 ref=20261 no=O-1 rref= rno= CNY 800 fee=- "
        "2026-11-29T05:00:00Z\n"
        "8 other SUCCEEDED 提现 ref=20269 no= rref= rno= CNY -4000 fee=- 2026-11-29T06:00:00Z\n"
        "9 BAD amount (one of income and expense is wanted): 5\t,20269\t,\t,,2026-11-29 14:00:00\t"
        ",p,1.00,-40.00,9.65,支付宝,提现,\n"
        "rows 5 bad 1 proved \n");
    pr_buffer_free(&text);
}
