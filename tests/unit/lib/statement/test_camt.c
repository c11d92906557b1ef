/* SPDX-License-Identifier: Apache-2.0
 *
 * camt.053: entries, batches, reversals, balances; and XML that means harm.
 */
#include "tests/support/statement.h"

TestSuite(statement_camt, .timeout = 300);

static const pr_statement_spec_t camt = {.format = PR_STATEMENT_CAMT053, .zone_min = 60};

#define OPEN \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" \
    "<Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.053.001.08\"><BkToCstmrStmt>" \
    "<GrpHdr><MsgId>m</MsgId></GrpHdr><Stmt><Id>s</Id>" \
    "<Acct><Id><IBAN>DE02120300000000202051</IBAN></Id><Ccy>EUR</Ccy></Acct>"
#define BALANCE(kind, amount, way) \
    "<Bal><Tp><CdOrPrtry><Cd>" kind "</Cd></CdOrPrtry></Tp><Amt Ccy=\"EUR\">" amount \
    "</Amt><CdtDbtInd>" way "</CdtDbtInd><Dt><Dt>2026-11-29</Dt></Dt></Bal>"
#define CLOSE "</Stmt></BkToCstmrStmt></Document>"
#define ENTRY(amount, way, more) \
    "<Ntry><Amt Ccy=\"EUR\">" amount "</Amt><CdtDbtInd>" way \
    "</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-11-29</Dt></BookgDt>" \
    "<AcctSvcrRef>b1</AcctSvcrRef>" more "</Ntry>"
#define PARTS(more) "<NtryDtls>" more "</NtryDtls>"
#define PART(refs, more) "<TxDtls><Refs>" refs "</Refs>" more "</TxDtls>"
#define E2E(number) "<EndToEndId>" number "</EndToEndId>"

Test(statement_camt, entries_by_what_they_are)
{
    statement_expect(
        &camt,
        pr_bytes_text(OPEN BALANCE("OPBD", "100.00", "CRDT") BALANCE(
            "CLBD", "141.50",
            "CRDT") "<TxsSummry><TtlNtries><NbOfNtries>4</NbOfNtries></TtlNtries>"
                    "<TtlCdtNtries><NbOfNtries>1</NbOfNtries><Sum>58.00</Sum></TtlCdtNtries>"
                    "<TtlDbtNtries><NbOfNtries>3</NbOfNtries><Sum>16.5</Sum></TtlDbtNtries></TxsSummry>\n" ENTRY(
                        "58.00", "CRDT",
                        PARTS(PART(
                            E2E("O-1"),
                            ""))) "\n" ENTRY("8.00", "DBIT",
                                             PARTS(PART(
                                                 E2E("R-1") "<AcctSvcrRef>b2</AcctSvcrRef>",
                                                 "<RmtInf><Strd><CdtrRefInf><Ref>O-1</Ref></CdtrRefInf></Strd>"
                                                 "</RmtInf>"))) "\n"
                                                                "<Ntry><Amt Ccy=\"EUR\">5.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><RvslInd>true</RvslInd>"
                                                                "<Sts>BOOK</Sts><ValDt><DtTm>2026-11-29T10:00:00+02:00</DtTm></ValDt>"
                                                                "<NtryDtls><TxDtls><Refs>" E2E("O-0") "</Refs></TxDtls></NtryDtls></Ntry>\n" ENTRY(
                                                                    "3.50", "DBIT",
                                                                    "<BkTxCd><Domn><Cd>ACMT</Cd><Fmly><Cd>MDOP</Cd><SubFmlyCd>CHRG</SubFmlyCd></Fmly>"
                                                                    "</Domn></BkTxCd>") CLOSE),
        "3 payment SUCCEEDED BOOK ref=b1 no=O-1 rref= rno= EUR 5800 fee=- 2026-11-28T23:00:00Z\n"
        "4 refund SUCCEEDED BOOK ref= no=O-1 rref=b2 rno=R-1 EUR 800 fee=- 2026-11-28T23:00:00Z\n"
        "5 refund SUCCEEDED BOOK ref= no=O-0 rref= rno= EUR 500 fee=- 2026-11-29T08:00:00Z\n"
        "6 fee SUCCEEDED BOOK ref=b1 no= rref= rno= EUR 350 fee=- 2026-11-28T23:00:00Z\n"
        "rows 4 bad 0 proved \n");
}

Test(statement_camt, a_batch_is_its_transactions_and_they_must_make_its_amount)
{
    statement_expect(
        &camt,
        pr_bytes_text(OPEN ENTRY(
            "3.00", "CRDT",
            PARTS(PART(E2E("A"), "<Amt Ccy=\"EUR\">1.00</Amt>")
                      PART(E2E("NOTPROVIDED"), "<AmtDtls><TxAmt><Amt Ccy=\"EUR\">2.00</Amt></TxAmt>"
                                               "</AmtDtls>")))
                          ENTRY("9.00", "CRDT",
                                PARTS(PART(E2E("C"), "<Amt Ccy=\"EUR\">1.00</Amt>")
                                          PART(E2E("D"), "<Amt Ccy=\"EUR\">2.00</Amt>"))) CLOSE),
        "2 payment SUCCEEDED BOOK ref=b1 no=A rref= rno= EUR 100 fee=- 2026-11-28T23:00:00Z\n"
        "2 payment SUCCEEDED BOOK ref=b1 no= rref= rno= EUR 200 fee=- 2026-11-28T23:00:00Z\n"
        "2 payment SUCCEEDED BOOK ref=b1 no=C rref= rno= EUR 100 fee=- 2026-11-28T23:00:00Z\n"
        "2 payment SUCCEEDED BOOK ref=b1 no=D rref= rno= EUR 200 fee=- 2026-11-28T23:00:00Z\n"
        "2 BAD sum (the transactions are not the entry's amount): Amt=9.00 CdtDbtInd=CRDT Cd=BOOK "
        "Dt=2026-11-29 AcctSvcrRef=b1 EndToEndId=C Amt=1.00 EndToEndId=D Amt=2.00\n"
        "rows 5 bad 1 not_given \n");
}

Test(statement_camt, entries_that_cannot_be_read)
{
    statement_expect(
        &camt,
        pr_bytes_text(OPEN ENTRY("1,00", "CRDT", "") "\n" ENTRY("-1.00", "CRDT", "") "\n" ENTRY(
            "1.00", "",
            "") "\n"
                "<Ntry><Amt Ccy=\"XYZ\">1</Amt><CdtDbtInd>CRDT</CdtDbtInd></Ntry>\n"
                "<Ntry><Amt Ccy=\"EUR\">1</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>PDNG</Sts>"
                "</Ntry>\n"
                "<Ntry><Amt Ccy=\"EUR\">1</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>PDNG</Sts>"
                "<BookgDt><Dt>2026-11-29</Dt></BookgDt></Ntry>" CLOSE),
        "2 BAD amount (Amt): Amt=1,00 CdtDbtInd=CRDT Cd=BOOK Dt=2026-11-29 AcctSvcrRef=b1\n"
        "3 BAD amount (Amt): Amt=-1.00 CdtDbtInd=CRDT Cd=BOOK Dt=2026-11-29 AcctSvcrRef=b1\n"
        "4 BAD kind (CdtDbtInd is wanted): Amt=1.00 Cd=BOOK Dt=2026-11-29 AcctSvcrRef=b1\n"
        "5 BAD currency (Amt/@Ccy): Amt=1 CdtDbtInd=CRDT\n"
        "6 BAD time (BookgDt or ValDt is wanted): Amt=1 CdtDbtInd=CRDT Sts=PDNG\n"
        "7 payment PENDING PDNG ref= no= rref= rno= EUR 100 fee=- 2026-11-28T23:00:00Z\n"
        "rows 6 bad 5 not_given \n");
}

Test(statement_camt, balances_and_summaries_that_differ)
{
    static const struct {
        const char *text, *difference;
    } cases[] = {
        {OPEN BALANCE("OPBD", "1.00", "DBIT") BALANCE("CLBD", "1.01", "CRDT")
             ENTRY("2.00", "CRDT", "") CLOSE,
         "closing balance: 101 said, 100 read"},
        {OPEN "<TxsSummry><TtlNtries><NbOfNtries>2</NbOfNtries></TtlNtries></TxsSummry>" ENTRY(
             "2.00", "CRDT", "") CLOSE,
         "entries: 2 said, 1 read"},
        {OPEN "<TxsSummry><TtlDbtNtries><Sum>2.50</Sum></TtlDbtNtries></TxsSummry>" ENTRY(
             "2.00", "DBIT", "") CLOSE,
         "sum of debits: 250 said, 200 read"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        statement_read_t got = statement_read(&camt, NULL, pr_bytes_text(cases[i].text), 0);
        cr_expect_eq(got.rc, PR_OK, "%s", got.error.text);
        cr_expect_eq(got.totals.proof, PR_STATEMENT_DIFFERS);
        cr_expect_str_eq(got.totals.difference, cases[i].difference);
        cr_expect_str_eq(got.totals.account, "DE02120300000000202051");
        statement_read_free(&got);
    }
}

Test(statement_camt, a_closing_balance_without_an_opening_one_proves_nothing)
{
    statement_expect(&camt,
                     pr_bytes_text(OPEN BALANCE("CLBD", "1.00", "CRDT")
                                       ENTRY("2.00", "CRDT", PARTS(PART(E2E("A"), ""))) CLOSE),
                     "2 payment SUCCEEDED BOOK ref=b1 no=A rref= rno= EUR 200 fee=- "
                     "2026-11-28T23:00:00Z\n"
                     "rows 1 bad 0 not_given \n");
}

Test(statement_camt, prefixes_of_namespaces_and_a_zip_around_it_change_nothing)
{
    static const char text[] =
        "<c:Document xmlns:c=\"urn:x\"><c:BkToCstmrStmt><c:Stmt><c:Ntry><c:Amt Ccy=\"EUR\">1.00"
        "</c:Amt><c:CdtDbtInd>CRDT</c:CdtDbtInd><c:Sts>BOOK</c:Sts><c:BookgDt><c:Dt>2026-11-29"
        "</c:Dt></c:BookgDt></c:Ntry></c:Stmt></c:BkToCstmrStmt></c:Document>";
    const char *names[] = {"a.xml", "b.xml"};
    pr_bytes_t texts[] = {pr_bytes_text(text), pr_bytes_text(text)};
    pr_buffer_t archive;
    pr_buffer_init(&archive, 65536);
    zip_of(names, texts, 2, &archive);
#define ONE "1 payment SUCCEEDED BOOK ref= no= rref= rno= EUR 100 fee=- 2026-11-28T23:00:00Z\n"
    statement_expect(&camt, pr_bytes_text(text), ONE "rows 1 bad 0 not_given \n");
    statement_expect(&camt, pr_buffer_bytes(&archive), ONE ONE "rows 2 bad 0 not_given \n");
    pr_buffer_free(&archive);
}

Test(statement_camt, cut_off_anywhere_it_is_no_file)
{
    static const char whole[] = OPEN ENTRY("2.00", "CRDT", "") CLOSE;
    for (size_t len = 0; len < sizeof whole - 1; len++) {
        statement_read_t got = statement_read(&camt, NULL, pr_bytes(whole, len), 0);
        cr_expect_eq(got.rc, PR_BAD, "cut at %zu", len);
        statement_read_free(&got);
    }
    statement_refused(&camt, NULL, pr_bytes(whole, sizeof whole - 20), "truncated");
}

Test(statement_camt, other_documents_are_refused)
{
    statement_refused(&camt, NULL, pr_bytes_text("<html><body/></html>"), "header");
    statement_refused(&camt, NULL, pr_bytes_text("<Document><BkToCstmrDbtCdtNtfctn/></Document>"),
                      "header");
    statement_refused(&camt, NULL, pr_bytes_text(OPEN "<a></b>" CLOSE), "xml");
    statement_refused(&camt, NULL, pr_bytes_text("no xml at all, but text"), "xml");
    statement_refused(&camt, NULL, pr_bytes_text(OPEN "&unknown;" CLOSE), "xml");
    static const char wide[] =
        "\0\0<\0t><Id"; /* libxml2 takes it for UCS-4, and stops without a word */
    statement_refused(&camt, NULL, pr_bytes(wide, sizeof wide - 1), "xml");
    statement_refused(&camt, NULL, pr_bytes_text("\xff\xfe<\1"), "xml");
}
