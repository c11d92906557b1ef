/* SPDX-License-Identifier: Apache-2.0
 *
 * Files made to hurt: each kind is refused, with memory that stays small: the
 * process's peak is looked at.
 */
#include "tests/support/statement.h"

#include <sys/resource.h>

TestSuite(statement_bombs, .timeout = 300);

#define MEGABYTE ((size_t)1 << 20)

static const pr_statement_spec_t stripe = {.format = PR_STATEMENT_STRIPE_BALANCE};
static const pr_statement_spec_t camt = {.format = PR_STATEMENT_CAMT053};
static const char header[] =
    "balance_transaction_id,created_utc,currency,gross,fee,net,reporting_category,source_id\n";

/* Peak of this process, in bytes: each test is a process of its own. */
static size_t peak(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss * 1024;
}

/* What a bomb may add to the memory that was in use before it. Sanitizers keep freed memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#ifdef SANITIZED
#define GROWTH_MAX (512 * MEGABYTE)
#else
#define GROWTH_MAX (48 * MEGABYTE)
#endif

static void refused_in_little_memory(const pr_statement_spec_t *spec,
                                     const pr_statement_limits_t *limits, pr_bytes_t bytes,
                                     const char *code)
{
    size_t before = peak();
    statement_refused(spec, limits, bytes, code);
    cr_expect(peak() - before < GROWTH_MAX, "%s: %zu bytes more", code, peak() - before);
}

/* A gzip of `megabytes` of 'a', about 1:1000. */
static void gzip_bomb(size_t megabytes, pr_buffer_t *out)
{
    static uint8_t as[MEGABYTE], chunk[65536];
    z_stream z = {0};
    memset(as, 'a', sizeof as);
    pr_buffer_init(out, 64 * MEGABYTE);
    cr_assert_eq(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    for (size_t i = 0; i <= megabytes; i++) {
        z.next_in = as;
        z.avail_in = i < megabytes ? (uInt)sizeof as : 0;
        do {
            z.next_out = chunk;
            z.avail_out = sizeof chunk;
            (void)deflate(&z, i < megabytes ? Z_NO_FLUSH : Z_FINISH);
            pr_rc_t rc = pr_buffer_append(out, chunk, sizeof chunk - z.avail_out);
            cr_assert_eq(rc, PR_OK);
        } while (z.avail_out == 0);
    }
    deflateEnd(&z);
}

Test(statement_bombs, gzip_by_its_ratio_and_by_its_size)
{
    static const pr_statement_limits_t small = {.plain_max_bytes = 8 * MEGABYTE};
    pr_buffer_t bomb;
    gzip_bomb(64, &bomb);
    refused_in_little_memory(&stripe, NULL, pr_buffer_bytes(&bomb), "ratio");
    refused_in_little_memory(&stripe, &small, pr_buffer_bytes(&bomb), "size");
    pr_buffer_free(&bomb);
}

Test(statement_bombs, gzip_in_a_thousand_members)
{
    pr_buffer_t one, many;
    pr_buffer_init(&one, 65536);
    pr_buffer_init(&many, 1 << 20);
    gzip_of(pr_bytes_text(header), &one);
    for (size_t i = 0; i < 1000; i++) {
        pr_rc_t rc = pr_buffer_append(&many, one.data, one.len);
        cr_assert_eq(rc, PR_OK);
    }
    statement_refused(&stripe, NULL, pr_buffer_bytes(&many), "entries");
    pr_buffer_free(&one);
    pr_buffer_free(&many);
}

Test(statement_bombs, zip_by_ratio_by_size_and_by_entries)
{
    static const pr_statement_limits_t small = {.plain_max_bytes = 8 * MEGABYTE};
    static const char *const names[20] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                          "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"};
    pr_bytes_t texts[20];
    size_t len = 64 * MEGABYTE;
    uint8_t *text = pr_calloc(len, 1);
    memset(text, '\n', len);
    memcpy(text, header, sizeof header - 1);
    texts[0] = pr_bytes(text, len);
    pr_buffer_t bomb;
    pr_buffer_init(&bomb, 64 * MEGABYTE);
    zip_of(names, texts, 1, &bomb);
    refused_in_little_memory(&stripe, NULL, pr_buffer_bytes(&bomb), "ratio");
    refused_in_little_memory(&stripe, &small, pr_buffer_bytes(&bomb), "size");
    pr_buffer_clear(&bomb);
    for (size_t i = 0; i < PR_COUNT(texts); i++)
        texts[i] = pr_bytes_text(header);
    zip_of(names, texts, PR_COUNT(texts), &bomb);
    statement_refused(&stripe, NULL, pr_buffer_bytes(&bomb), "entries");
    pr_buffer_free(&bomb);
    pr_free(text);
}

Test(statement_bombs, archives_inside_of_archives)
{
    pr_buffer_t inner, outer;
    pr_buffer_init(&inner, 65536);
    pr_buffer_init(&outer, 65536);
    const char *names[] = {"statement.csv"};
    pr_bytes_t texts[] = {pr_bytes_text(header)};
    zip_of(names, texts, 1, &inner);
    pr_bytes_t nested[] = {pr_buffer_bytes(&inner)};
    zip_of(names, nested, 1, &outer);
    statement_refused(&stripe, NULL, pr_buffer_bytes(&outer), "nested"); /* zip in zip */
    pr_buffer_clear(&outer);
    gzip_of(pr_buffer_bytes(&inner), &outer);
    statement_refused(&stripe, NULL, pr_buffer_bytes(&outer), "nested"); /* zip in gzip */
    pr_buffer_clear(&inner);
    gzip_of(pr_bytes_text(header), &inner);
    nested[0] = pr_buffer_bytes(&inner);
    pr_buffer_clear(&outer);
    zip_of(names, nested, 1, &outer);
    statement_refused(&stripe, NULL, pr_buffer_bytes(&outer), "nested"); /* gzip in zip */
    pr_buffer_clear(&outer);
    gzip_of(pr_buffer_bytes(&inner), &outer);
    statement_refused(&stripe, NULL, pr_buffer_bytes(&outer), "nested"); /* gzip in gzip */
    pr_buffer_free(&inner);
    pr_buffer_free(&outer);
}

Test(statement_bombs, a_damaged_zip_and_one_with_a_folder_only)
{
    pr_buffer_t archive;
    pr_buffer_init(&archive, 65536);
    const char *names[] = {"statement.csv"}, *folder[] = {"folder/"};
    pr_bytes_t texts[] = {pr_bytes_text(header)};
    zip_of(names, texts, 1, &archive);
    archive.data[60] ^= 0x55; /* in the data: the checksum finds it, if deflate does not */
    statement_refused(&stripe, NULL, pr_buffer_bytes(&archive), "zip");
    pr_buffer_clear(&archive);
    texts[0].len = 0;
    zip_of(folder, texts, 1, &archive);
    statement_refused(&stripe, NULL, pr_buffer_bytes(&archive), "zip");
    pr_buffer_free(&archive);
}

Test(statement_bombs, what_was_pushed_has_a_limit_of_its_own)
{
    static const pr_statement_limits_t limits = {.packed_max_bytes = 10};
    statement_refused(&stripe, &limits, pr_bytes_text(header), "size");
}

/* `count` times the same bytes between a beginning and an end, never in memory as a whole. */
static statement_read_t pushed_many_times(const pr_statement_spec_t *spec, const char *begin,
                                          pr_bytes_t middle, size_t count, const char *end)
{
    statement_read_t out = {.rc = PR_OK};
    pr_statement_reader_t *statement = NULL;
    pr_buffer_init(&out.text, READ_MAX_BYTES);
    pr_statement_sink_t sink = {statement_line, statement_bad_line, &out.text};
    cr_assert_eq(pr_statement_new(spec, NULL, &sink, &statement, &out.error), PR_OK);
    out.rc = pr_statement_push(statement, pr_bytes_text(begin), &out.error);
    for (size_t i = 0; out.rc == PR_OK && i < count; i++)
        out.rc = pr_statement_push(statement, middle, &out.error);
    if (out.rc == PR_OK)
        out.rc = pr_statement_push(statement, pr_bytes_text(end), &out.error);
    out.rc = pr_statement_finish(statement, &out.totals, &out.error);
    pr_statement_destroy(&statement);
    return out;
}

Test(statement_bombs, a_line_that_never_ends)
{
    static uint8_t as[4 * MEGABYTE];
    memset(as, 'a', sizeof as);
    size_t before = peak();
    statement_read_t got =
        pushed_many_times(&stripe, header, pr_bytes(as, sizeof as), 32,
                          "\nt,2026-11-29 12:00:00,usd,1.00,0.00,1.00,charge,c\n");
    cr_expect_eq(got.rc, PR_OK, "%s", got.error.text);
    cr_expect_eq(got.totals.plain_bytes >> 27, 1);
    cr_expect_eq(got.totals.bad, 1);
    cr_expect_eq(got.totals.records, 1);
    cr_expect(peak() - before < GROWTH_MAX, "%zu bytes more", peak() - before);
    statement_read_free(&got);
}

Test(statement_bombs, a_field_whose_quote_is_never_closed)
{
    static char lines[MEGABYTE];
    for (size_t i = 0; i < sizeof lines; i += 16)
        memcpy(lines + i, "1,2,3,4,5,6,7,8\n", 16);
    size_t before = peak();
    pr_statement_totals_t totals;
    pr_error_t error;
    pr_statement_reader_t *statement = NULL;
    pr_statement_sink_t sink = {0};
    pr_statement_limits_t limits = {.bad_max = UINT64_MAX};
    cr_assert_eq(pr_statement_new(&stripe, &limits, &sink, &statement, &error), PR_OK);
    pr_rc_t rc = pr_statement_push(statement, pr_bytes_text(header), &error);
    rc = rc == PR_OK ? pr_statement_push(statement, pr_bytes_text("x,\"open"), &error) : rc;
    for (size_t i = 0; rc == PR_OK && i < 8; i++)
        rc = pr_statement_push(statement, pr_bytes(lines, sizeof lines), &error);
    rc = rc == PR_OK ? pr_statement_finish(statement, &totals, &error) : rc;
    cr_assert_eq(rc, PR_OK, "%s", error.text);
    cr_expect_eq(totals.rows, 8 * sizeof lines / 16); /* every line is a row of its own */
    cr_expect(peak() - before < GROWTH_MAX, "%zu bytes more", peak() - before);
    pr_statement_destroy(&statement);
}

/* ---- XML ---- */

#define OPEN "<Document><BkToCstmrStmt><Stmt>"

Test(statement_bombs, entities_of_entities_of_entities)
{
    refused_in_little_memory(
        &camt, NULL,
        pr_bytes_text("<?xml version=\"1.0\"?><!DOCTYPE Document [<!ENTITY a \"aaaaaaaaaa\">"
                      "<!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">"
                      "<!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\">"
                      "<!ENTITY d \"&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;\">]>" OPEN
                      "<Id>&d;&d;&d;&d;&d;&d;&d;&d;</Id></Stmt></BkToCstmrStmt></Document>"),
        "doctype");
}

Test(statement_bombs, entities_from_outside_are_never_looked_at)
{
    static const char *const files[] = {
        "<!DOCTYPE Document SYSTEM \"http://127.0.0.1:1/x.dtd\">" OPEN,
        "<!DOCTYPE Document [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>" OPEN "<Id>&x;</Id>",
        "<!DOCTYPE Document [<!ENTITY % x SYSTEM \"file:///etc/passwd\"> %x;]>" OPEN,
    };
    for (size_t i = 0; i < PR_COUNT(files); i++)
        statement_refused(&camt, NULL, pr_bytes_text(files[i]), "doctype");
    /* an inclusion is an element like any other */
    statement_read_t got = statement_read(
        &camt, NULL,
        pr_bytes_text(OPEN "<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" "
                           "href=\"file:///etc/passwd\" parse=\"text\"/>"
                           "</Stmt></BkToCstmrStmt></Document>"),
        0);
    cr_expect_eq(got.rc, PR_OK, "%s", got.error.text);
    cr_expect_eq(got.totals.rows, 0);
    statement_read_free(&got);
}

static void refused_many_times(const char *begin, const char *middle, size_t count,
                               const char *code)
{
    pr_buffer_t piece;
    pr_buffer_init(&piece, MEGABYTE);
    while (pr_buffer_append_text(&piece, middle) == PR_OK)
        ;
    size_t before = peak();
    statement_read_t got = pushed_many_times(&camt, begin, pr_buffer_bytes(&piece), count, "");
    cr_expect_eq(got.rc, PR_BAD);
    cr_expect_str_eq(got.error.code, code, "%s", got.error.text);
    cr_expect(peak() - before < GROWTH_MAX, "%s: %zu bytes more", code, peak() - before);
    statement_read_free(&got);
    pr_buffer_free(&piece);
}

Test(statement_bombs, elements_without_an_end)
{
    refused_many_times(OPEN, "<a>", 16, "depth");
    refused_many_times(OPEN "<a b=\"", "aaaaaaaaaa", 16, "xml"); /* an attribute */
    refused_many_times(OPEN "<", "aaaaaaaaaa", 16, "xml");       /* a name */
    refused_many_times(OPEN "<!--", "aaaaaaaaaa", 16, "xml");    /* a comment */
    refused_many_times(OPEN "<?x ", "aaaaaaaaaa", 16, "xml");    /* an instruction */
    refused_many_times(OPEN "<a ", "a=\"1\" ", 16, "xml");       /* attributes */
}

Test(statement_bombs, a_text_of_many_megabytes_is_not_kept)
{
    static uint8_t as[MEGABYTE];
    memset(as, 'a', sizeof as);
    size_t before = peak();
    statement_read_t got = pushed_many_times(
        &camt, OPEN "<Ntry><Amt Ccy=\"EUR\">1.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><AcctSvcrRef>",
        pr_bytes(as, sizeof as), 64,
        "</AcctSvcrRef><BookgDt><Dt>2026-11-29</Dt></BookgDt></Ntry></Stmt></BkToCstmrStmt>"
        "</Document>");
    cr_expect_eq(got.rc, PR_OK, "%s", got.error.text);
    cr_expect_eq(got.totals.bad, 1);
    cr_expect(strncmp(pr_buffer_text(&got.text), "1 BAD too_long (a value): ", 26) == 0, "%s",
              pr_buffer_text(&got.text));
    cr_expect(peak() - before < GROWTH_MAX, "%zu bytes more", peak() - before);
    statement_read_free(&got);
}
