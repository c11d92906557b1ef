/* SPDX-License-Identifier: Apache-2.0
 *
 * CSV with columns that a profile names; amounts and times as people write them.
 */
#include "statement/statement_private.h"
#include "tests/support/statement.h"

TestSuite(statement_mapped, .timeout = 300);

/* A semicolon, decimal commas, two amount columns, words and a totals line. */
static const pr_statement_spec_t european = {
    .format = PR_STATEMENT_CSV,
    .currency = "EUR",
    .zone_min = 60,
    .csv = {.delimiter = ';',
            .comment = '!',
            .decimal = ',',
            .skip_lines = 1,
            .kind = {1, {"Type"}},
            .state = {1, {"State"}},
            .reference = {1, {"Reference"}},
            .request_no = {2, {"Order number", "Order"}},
            .refund_no = {1, {"Refund"}},
            .credit = {1, {"Credit"}},
            .debit = {1, {"Debit"}},
            .fee = {1, {"Fee"}},
            .occurred_at = {1, {"Date"}},
            .kinds = {4,
                      {{"Sale*", PR_STATEMENT_PAYMENT},
                       {"Refund", PR_STATEMENT_REFUND},
                       {"Fee", PR_STATEMENT_FEE},
                       {"Memo", 0}}},
            .states = {2, {{"ok", PR_STATEMENT_SUCCEEDED}, {"open", PR_STATEMENT_PENDING}}},
            .totals = {"TOTAL", 2, 7}}};

Test(statement_mapped, columns_words_and_totals_as_the_map_says)
{
    statement_expect(
        &european,
        pr_bytes_text("Report of 2026-11-29\n"
                      "Type;State;Reference;Order;Refund;Date;Credit;Debit;Fee\n"
                      "! a remark\n"
                      "Sale (card);ok;c1;O1;;2026-11-29;1.234,50;;0,30\n"
                      "Refund;open;c1;O1;R1;2026/11/29 12:00;;34,50;\n"
                      "Fee;ok;;O1;;2026-11-29T12:00:00Z;;1,00;\n"
                      "Memo;ok;;;;;;;\n"
                      "Sale;gone;c2;O2;;2026-11-29 12:00:00 +0100;2;;\n"
                      "Gift;ok;c3;O3;;2026-11-29;1;;\n"
                      "Sale;ok;c4;O4;;2026-11-29;1;1;\n"
                      "Sale;ok;c4;O4;;2026-11-29;12.34;;\n"
                      "Sale;ok;c4;O4;;2026-11-29;;5;\n"
                      "TOTAL;4;;;;;1201,00;;\n"),
        "4 payment SUCCEEDED Sale (card)/ok ref=c1 no=O1 rref= rno= EUR 123450 fee=30 "
        "2026-11-28T23:00:00Z\n"
        "5 refund PENDING Refund/open ref=c1 no=O1 rref= rno=R1 EUR 3450 fee=- "
        "2026-11-29T11:00:00Z\n"
        "6 fee SUCCEEDED Fee/ok ref= no=O1 rref= rno= EUR 100 fee=- 2026-11-29T12:00:00Z\n"
        "8 payment UNKNOWN Sale/gone ref=c2 no=O2 rref= rno= EUR 200 fee=- 2026-11-29T11:00:00Z\n"
        "9 BAD unmapped (Gift): Gift;ok;c3;O3;;2026-11-29;1;;\n"
        "10 BAD amount (one of credit and debit is wanted): Sale;ok;c4;O4;;2026-11-29;1;1;\n"
        "11 BAD amount (malformed): Sale;ok;c4;O4;;2026-11-29;12.34;;\n"
        "12 BAD amount (a payment is not negative): Sale;ok;c4;O4;;2026-11-29;;5;\n"
        "rows 8 bad 4 proved \n");
}

Test(statement_mapped, without_its_totals_line_it_was_cut_off)
{
    statement_refused(&european, NULL,
                      pr_bytes_text("r\nType;State;Reference;Order;Refund;Date;Credit;Debit;Fee\n"),
                      "truncated");
}

Test(statement_mapped, columns_by_place_and_minor_units)
{
    static const pr_statement_spec_t spec = {.format = PR_STATEMENT_CSV,
                                             .csv = {.no_header = true,
                                                     .unit = PR_MONEY_UNIT_MINOR,
                                                     .time_format = PR_MOMENT_UNIX,
                                                     .reference = {1, {"#1"}},
                                                     .amount = {1, {"#2"}},
                                                     .currency = {1, {"#3"}},
                                                     .occurred_at = {1, {"#4"}}}};
    statement_expect(&spec,
                     pr_bytes_text("a,100,jpy,1795000000\nb,-1,KWD,\nc,1,USD\nd,,USD,1\n"
                                   "e,1.0,USD,1\nf,1,USD,x\n"),
                     "1 payment SUCCEEDED  ref=a no= rref= rno= JPY 100 fee=- "
                     "2026-11-18T11:06:40Z\n"
                     "2 refund SUCCEEDED  ref=b no= rref= rno= KWD 1 fee=- -\n"
                     "3 BAD columns (another number of them than the header has): c,1,USD\n"
                     "4 BAD amount (empty): d,,USD,1\n"
                     "5 BAD amount (malformed): e,1.0,USD,1\n"
                     "6 BAD time (): f,1,USD,x\n"
                     "rows 6 bad 4 not_given \n");
}

Test(statement_mapped, a_map_that_cannot_work_is_refused)
{
    static const struct {
        pr_statement_csv_t csv;
        const char *text;
    } cases[] = {
        {{.reference = {1, {"r"}}}, "csv: amount, or credit and debit, are wanted"},
        {{.reference = {1, {"r"}}, .credit = {1, {"c"}}},
         "csv: amount, or credit and debit, are wanted"},
        {{.amount = {1, {"a"}}}, "csv: reference or request_no is wanted"},
        {{.amount = {1, {"a"}}, .reference = {1, {"r"}}, .kind = {1, {"k"}}},
         "csv: kind (a column) and kinds (its words) go together"},
        {{.amount = {1, {"a"}}, .reference = {1, {"r"}}, .state = {1, {"k"}}},
         "csv: state (a column) and states (its words) go together"},
        {{.amount = {1, {"a"}}, .reference = {1, {"r"}}, .decimal = ';'},
         "csv: decimal: . or , is wanted"},
        {{.amount = {1, {"a"}}, .reference = {1, {"#0"}}, .no_header = true},
         "csv: without a header columns are named by place: \"#3\""},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_error_t error = {0};
        pr_statement_reader_t *statement = NULL;
        pr_statement_sink_t sink = {0};
        pr_statement_spec_t spec = {.format = PR_STATEMENT_CSV, .csv = cases[i].csv};
        pr_rc_t rc = pr_statement_new(&spec, NULL, &sink, &statement, &error);
        cr_expect_eq(rc, PR_BAD);
        cr_expect_str_eq(error.text, cases[i].text);
    }
    pr_error_t error = {0};
    pr_statement_reader_t *statement = NULL;
    pr_statement_sink_t sink = {0};
    pr_statement_spec_t spec = {.format = PR_STATEMENT_STRIPE_BALANCE, .charset = "no-such"};
    pr_rc_t rc = pr_statement_new(&spec, NULL, &sink, &statement, &error);
    cr_expect_eq(rc, PR_BAD);
    cr_expect_str_eq(error.code, "charset");
    spec.format = PR_STATEMENT_FORMAT_NONE;
    rc = pr_statement_new(&spec, NULL, &sink, &statement, &error);
    cr_expect_eq(rc, PR_BAD);
}

/* ---- values ---- */

Test(statement_mapped, amounts_are_read_or_refused_never_guessed)
{
    static const struct {
        const char *text;
        char decimal;
        int64_t minor; /* -1: refused */
    } cases[] = {
        {"0", '.', 0},
        {"12.34", '.', 1234},
        {"+12.34", '.', 1234},
        {"1,234.50", '.', 123450},
        {"1 234.50", '.', 123450},
        {"1'234'567.00", '.', 123456700},
        {"1.234,50", ',', 123450},
        {"1234,5", ',', 123450},
        {"90071992547409.91", '.', INT64_C(9007199254740991)},
        {"90071992547409.92", '.', -1},
        {"", '.', -1},
        {"--1", '.', -1},
        {"1,23.00", '.', -1},
        {"1234,567.00", '.', -1},
        {"1,234,56", '.', -1},
        {"1.234.50", ',', -1},
        {"1.2.3", '.', -1},
        {"1e3", '.', -1},
        {"0x10", '.', -1},
        {"1.", '.', -1},
        {".5", '.', -1},
        {"007", '.', -1},
        {"12.345", '.', -1},
        {"NaN", '.', -1},
        {"\xef\xbc\x91", '.', -1}, /* a full-width one */
        {"111111111111111111111111111111111111111111111111111111", '.', -1},
    };
    static const pr_statement_spec_t spec = {0};
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        int64_t minor = -1;
        const char *why = pr_value_amount(&spec, cases[i].text, PR_MONEY_UNIT_MAJOR,
                                          cases[i].decimal, "EUR", &minor);
        cr_expect_eq(!why, cases[i].minor >= 0, "\"%s\"", cases[i].text);
        cr_expect_eq(minor, cases[i].minor, "\"%s\": %" PRId64, cases[i].text, minor);
    }
    int64_t minor = 0;
    cr_expect_null(pr_value_amount(&spec, "-0.01", PR_MONEY_UNIT_MAJOR, '.', "EUR", &minor));
    cr_expect_eq(minor, -1);
}

Test(statement_mapped, times_are_read_or_refused)
{
    static const struct {
        const char *text, *wanted; /* NULL: refused */
    } cases[] = {
        {"2026-11-29 12:00:00", "2026-11-29T04:00:00Z"},
        {"2026-11-29T12:00:00", "2026-11-29T04:00:00Z"},
        {"2026-11-29T12:00:00Z", "2026-11-29T12:00:00Z"},
        {"2026-11-29T12:00:00.123+01:00", "2026-11-29T11:00:00Z"},
        {"2026-11-29 12:00:00 -0800", "2026-11-29T20:00:00Z"},
        {"2026/11/29 12:00:00", "2026-11-29T04:00:00Z"},
        {"2026-11-29 12:00", "2026-11-29T04:00:00Z"},
        {"2026-11-29", "2026-11-28T16:00:00Z"},
        {"2026-02-29", NULL},
        {"2026-1-2", NULL},
        {"29.11.2026", NULL},
        {"20261129", NULL},
        {"2026-11-29x12:00:00", NULL},
        {"2026-11-29 25:00:00", NULL},
        {"2026-11-29 12:00:00 and a text that is longer than any time", NULL},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        int64_t us;
        char text[PR_MOMENT_TEXT_MAX] = "";
        bool read = pr_value_time(cases[i].text, 480, &us);
        cr_expect_eq(read, cases[i].wanted != NULL, "\"%s\"", cases[i].text);
        if (read)
            pr_moment_format(us, PR_MOMENT_RFC3339, 0, text);
        cr_expect_str_eq(text, cases[i].wanted ? cases[i].wanted : "", "\"%s\"", cases[i].text);
    }
}

Test(statement_mapped, names_go_there_and_back)
{
    for (pr_statement_format_t i = 1; i < PR_STATEMENT_FORMATS; i++)
        cr_expect_eq(pr_statement_format_find(pr_statement_format_name(i)), i);
    for (pr_statement_kind_t i = 1; i < PR_STATEMENT_KINDS; i++)
        cr_expect_eq(pr_statement_kind_find(pr_statement_kind_name(i)), i);
    for (pr_statement_state_t i = 1; i < PR_STATEMENT_STATES; i++)
        cr_expect_eq(pr_statement_state_find(pr_statement_state_name(i)), i);
    cr_expect_eq(pr_statement_format_find("none"), PR_STATEMENT_FORMAT_NONE);
    cr_expect_str_eq(pr_statement_kind_name(0), "none");
}
