/* SPDX-License-Identifier: Apache-2.0
 *
 * Stripe's itemised report, and CSV as libcsv reads it for us: quotes, and quotes that go wrong.
 */
#include "tests/support/statement.h"

TestSuite(statement_stripe, .timeout = 300);

static const pr_statement_spec_t stripe = {.format = PR_STATEMENT_STRIPE_BALANCE};

#define HEADER \
    "balance_transaction_id,created_utc,created,currency,gross,fee,net,reporting_category," \
    "source_id,description,payment_intent_id,charge_id,payment_metadata[request_no]," \
    "refund_metadata[refund_no]\n"

Test(statement_stripe, what_moves_the_balance)
{
    statement_expect(
        &stripe,
        pr_bytes_text(
            HEADER
            "txn_1,2026-11-29 12:00:00,2026-11-29 20:00:00,usd,58.00,2.00,56.00,charge,ch_1,"
            "\"tea, \"\"green\"\"\",pi_1,ch_1,O-1,\n"
            "txn_2,2026-11-29 13:00:00,,usd,-8.00,0.00,-8.00,refund,re_1,,pi_1,ch_1,O-1,R-1\n"
            "txn_3,2026-11-29 13:00:00,,usd,8.00,0.00,8.00,refund_failure,re_1,,pi_1,ch_1,O-1,R-1\n"
            "txn_4,2026-11-29 14:00:00,,jpy,-500,0,-500,fee,fee_1,,,,,\n"
            "txn_5,2026-11-29 15:00:00,,usd,-40.00,0.00,-40.00,payout,po_1,,,,,\n"
            "txn_6,2026-11-29 15:00:00,,usd,-9.00,15.00,-24.00,dispute,dp_1,,pi_1,ch_1,O-1,\n"
            "txn_7,,2026-11-29 20:00:00,usd,1.00,0.00,1.00,charge,ch_9,,,,,\n"
            "txn_8,2026-11-29 12:00:00,,usd,-3.00,0.00,-3.00,charge_failure,py_1,,pi_8,,O-8,\n"),
        "2 payment SUCCEEDED charge ref=pi_1 no=O-1 rref= rno= USD 5800 fee=200 "
        "2026-11-29T12:00:00Z\n"
        "3 refund SUCCEEDED refund ref=pi_1 no=O-1 rref=re_1 rno=R-1 USD 800 fee=0 "
        "2026-11-29T13:00:00Z\n"
        "4 refund FAILED refund_failure ref=pi_1 no=O-1 rref=re_1 rno=R-1 USD 800 fee=0 "
        "2026-11-29T13:00:00Z\n"
        "5 fee SUCCEEDED fee ref=fee_1 no= rref= rno= JPY 500 fee=0 2026-11-29T14:00:00Z\n"
        "6 other SUCCEEDED payout ref=po_1 no= rref= rno= USD -4000 fee=0 2026-11-29T15:00:00Z\n"
        "7 other SUCCEEDED dispute ref=pi_1 no=O-1 rref= rno= USD -900 fee=1500 "
        "2026-11-29T15:00:00Z\n"
        "8 payment SUCCEEDED charge ref=ch_9 no= rref= rno= USD 100 fee=0 2026-11-29T20:00:00Z\n"
        "9 payment FAILED charge_failure ref=pi_8 no=O-8 rref= rno= USD 300 fee=0 "
        "2026-11-29T12:00:00Z\n"
        "rows 8 bad 0 not_given \n");
}

Test(statement_stripe, each_row_proves_itself)
{
    statement_expect(
        &stripe,
        pr_bytes_text(HEADER "t,2026-11-29 12:00:00,,usd,58.00,2.00,55.00,charge,c,,,,,\n"
                             "t,2026-11-29 12:00:00,,us,58.00,2.00,56.00,charge,c,,,,,\n"
                             "t,2026-11-29 12:00:00,,usd,58.001,2.00,56.00,charge,c,,,,,\n"
                             "t,29.11.2026 12:00:00,,usd,58.00,2.00,56.00,charge,c,,,,,\n"
                             "t,,,usd,58.00,2.00,56.00,charge,c,,,,,\n"
                             "t,2026-11-29 12:00:00,,usd,-58.00,2.00,-60.00,charge,c,,,,,\n"),
        "2 BAD sum (gross less fee is not net): t,2026-11-29 12:00:00,,usd,58.00,2.00,55.00,charge,"
        "c,,,,,\n"
        "3 BAD currency (us): t,2026-11-29 12:00:00,,us,58.00,2.00,56.00,charge,c,,,,,\n"
        "4 BAD amount (fraction): t,2026-11-29 12:00:00,,usd,58.001,2.00,56.00,charge,c,,,,,\n"
        "5 BAD time (yyyy-mm-dd hh:mm:ss is wanted): t,29.11.2026 12:00:00,,usd,58.00,2.00,56.00,"
        "charge,c,,,,,\n"
        "6 BAD time (yyyy-mm-dd hh:mm:ss is wanted): t,,,usd,58.00,2.00,56.00,charge,c,,,,,\n"
        "7 BAD amount (the sign is not that of its kind): t,2026-11-29 12:00:00,,usd,-58.00,2.00,"
        "-60.00,charge,c,,,,,\n"
        "rows 6 bad 6 not_given \n");
}

/* ---- quotes ---- */

#define ROW(id) id ",2026-11-29 12:00:00,,usd,1.00,0.00,1.00,charge,c,,pi_" id ",,,\n"
#define READ(line, id) \
    line " payment SUCCEEDED charge ref=pi_" id \
         " no= rref= rno= USD 100 fee=0 2026-11-29T12:00:00Z\n"

Test(statement_stripe, a_row_may_have_line_breaks_in_quotes)
{
    statement_expect(&stripe,
                     pr_bytes_text(HEADER
                                   "1,2026-11-29 12:00:00,,usd,1.00,0.00,1.00,charge,c,\"two\n\n"
                                   "lines\",pi_1,,,\n\n" ROW("2")),
                     READ("2", "1") READ("6", "2") "rows 2 bad 0 not_given \n");
}

Test(statement_stripe, a_quote_that_is_never_closed_costs_its_own_row_only)
{
    statement_expect(&stripe, pr_bytes_text(HEADER ROW("1") "x,\"open,,,\n" ROW("3") ROW("4")),
                     READ("2", "1") "3 BAD quote (): x,\"open,,,\n" READ("4", "3")
                         READ("5", "4") "rows 4 bad 1 not_given \n");
}

Test(statement_stripe, nor_does_it_when_another_quote_follows)
{
    statement_expect(
        &stripe,
        pr_bytes_text(HEADER "x,\"open,,,\n"
                             "1,2026-11-29 12:00:00,,usd,1.00,0.00,1.00,charge,c,\"good\",pi_1,,,\n"
                             "y,a\"b,,,\n" ROW("2") "z,\"open\n"),
        "2 BAD quote (): x,\"open,,,\n" READ("3", "1") "4 BAD quote (): y,a\"b,,,\n" READ(
            "5", "2") "6 BAD quote (): z,\"open\n"
                      "rows 5 bad 3 not_given \n");
}

Test(statement_stripe, after_many_lines_a_quote_is_given_up)
{
    pr_buffer_t text;
    pr_buffer_init(&text, 1 << 20);
    pr_rc_t rc = pr_buffer_append_text(&text, HEADER "x,\"open,,,\n");
    for (size_t i = 0; rc == PR_OK && i < 1000; i++)
        rc = pr_buffer_append_text(&text, ROW("1"));
    cr_assert_eq(rc, PR_OK);
    statement_read_t got = statement_read(&stripe, NULL, pr_buffer_bytes(&text), 0);
    cr_expect_eq(got.totals.records, 1000);
    cr_expect_eq(got.totals.bad, 1);
    statement_read_free(&got);
    pr_buffer_free(&text);
}

Test(statement_stripe, a_line_that_is_too_long_is_bad_and_not_kept)
{
    pr_buffer_t text;
    pr_buffer_init(&text, 1 << 20);
    pr_rc_t rc = pr_buffer_append_text(&text, HEADER ROW("1"));
    for (size_t i = 0; rc == PR_OK && i < 200; i++)
        rc = pr_buffer_append_text(&text, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    rc = rc == PR_OK ? pr_buffer_append_text(&text, "\n" ROW("3")) : rc;
    cr_assert_eq(rc, PR_OK);
    static const pr_statement_limits_t limits = {.line_max_bytes = 400};
    for (size_t piece = 0; piece < 1000; piece += 333) {
        statement_read_t got = statement_read(&stripe, &limits, pr_buffer_bytes(&text), piece);
        cr_expect_eq(got.totals.records, 2);
        cr_expect_eq(got.totals.bad, 1);
        cr_expect(strstr(pr_buffer_text(&got.text), "3 BAD too_long (): aaaa"));
        cr_expect(got.text.len < 1000);
        statement_read_free(&got);
    }
    pr_buffer_free(&text);
}

Test(statement_stripe, a_nul_makes_a_row_bad_and_is_not_handed_on)
{
    static const char text[] = HEADER ROW("1") "a\0b,c\n" ROW("3");
    statement_expect(&stripe, pr_bytes(text, sizeof text - 1),
                     READ("2", "1") "3 BAD nul (): a\xef\xbf\xbd"
                                    "b,c\n" READ("4", "3") "rows 3 bad 1 not_given \n");
}

Test(statement_stripe, too_many_bad_rows_are_no_file)
{
    static const pr_statement_limits_t limits = {.bad_max = 2};
    statement_refused(&stripe, &limits, pr_bytes_text(HEADER "a\nb\nc\n"), "bad_rows");
}

Test(statement_stripe, a_number_that_is_too_long_is_a_bad_row)
{
    char text[1024];
    snprintf(text, sizeof text, "%st,2026-11-29 12:00:00,,usd,1.00,0.00,1.00,charge,c,,%0200d,,,\n",
             HEADER, 7);
    statement_read_t got = statement_read(&stripe, NULL, pr_bytes_text(text), 0);
    cr_expect_eq(got.totals.bad, 1);
    cr_expect(strncmp(pr_buffer_text(&got.text), "2 BAD number (", 14) == 0);
    statement_read_free(&got);
}

static pr_rc_t refuse_record(void *ctx, const pr_statement_record_t *record)
{
    (void)ctx, (void)record;
    return PR_AGAIN;
}

Test(statement_stripe, what_the_sink_says_ends_it)
{
    pr_error_t error;
    pr_statement_reader_t *statement = NULL;
    pr_statement_totals_t totals;
    pr_statement_sink_t sink = {refuse_record, NULL, NULL};
    pr_rc_t rc = pr_statement_new(&stripe, NULL, &sink, &statement, &error);
    cr_assert_eq(rc, PR_OK);
    rc = pr_statement_push(statement, pr_bytes_text(HEADER ROW("1")), &error);
    cr_expect_eq(rc, PR_AGAIN);
    rc = pr_statement_push(statement, pr_bytes_text(ROW("1")), &error);
    cr_expect_eq(rc, PR_AGAIN);
    rc = pr_statement_finish(statement, &totals, &error);
    cr_expect_eq(rc, PR_AGAIN);
    pr_statement_destroy(&statement);
    pr_statement_destroy(&statement);
}
