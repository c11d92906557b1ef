/* SPDX-License-Identifier: Apache-2.0
 *
 * Each test runs in a process of its own: stderr is turned into a file, and read back.
 */
#include "base/alloc.h"
#include "base/log.h"

#include <criterion/criterion.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(log, .timeout = 300);

static int saved_stderr;
static int capture;
static char lines[65536];

static void begin_capture(void)
{
    char path[] = "/tmp/pr-test-log-XXXXXX";
    capture = mkstemp(path);
    unlink(path);
    saved_stderr = dup(STDERR_FILENO);
    dup2(capture, STDERR_FILENO);
}

static const char *end_capture(void)
{
    dup2(saved_stderr, STDERR_FILENO);
    ssize_t len = pread(capture, lines, sizeof lines - 1, 0);
    lines[len > 0 ? len : 0] = '\0';
    close(capture);
    close(saved_stderr);
    return lines;
}

static int count_of(const char *text, const char *piece)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, piece)); at += strlen(piece))
        count++;
    return count;
}

Test(log, writes_one_line_with_its_head_and_fields)
{
    pr_log_init("scheduler", PR_LOG_INFO);
    begin_capture();
    pr_log(PR_LOG_INFO, "session.started", "id=%s shards=%d seq=%" PRId64, "ab12", 3, INT64_MIN);
    const char *text = end_capture();
    cr_assert_not_null(strstr(text, " level=info actor=scheduler pid="), "%s", text);
    cr_assert_not_null(strstr(text, " event=session.started id=ab12 shards=3 "
                                    "seq=-9223372036854775808\n"),
                       "%s", text);
    cr_assert_eq(strncmp(text, "at=20", 5), 0);
    cr_assert_eq(text[26], 'Z', "RFC 3339 in milliseconds: %s", text);
    cr_assert_eq(count_of(text, "\n"), 1);
}

Test(log, escapes_values_so_that_no_value_can_forge_a_field_or_a_line)
{
    static const struct {
        const char *value, *written, *sentence;
    } cases[] = {
        {"plain-1.2:3/4", "v=plain-1.2:3/4\n", "what needs no quotes has none"},
        {"", "v=\"\"\n", "an empty value is visible"},
        {"a b", "v=\"a b\"\n", "spaces are quoted"},
        {"a=b", "v=\"a=b\"\n", "an equals sign is no new field"},
        {"x level=error", "v=\"x level=error\"\n", "a forged field stays inside"},
        {"a\nb", "v=\"a\\nb\"\n", "a forged line stays inside"},
        {"say \"hi\\\"", "v=\"say \\\"hi\\\\\\\"\"\n", "quotes and backslashes are escaped"},
        {"\x1b[31m", "v=\"\\x1b[31m\"\n", "terminal escapes do not reach the terminal"},
        {"\xc2\x9b", "v=\"\\xc2\\x9b\"\n", "nor do they as UTF-8"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        begin_capture();
        pr_log(PR_LOG_ERROR, "test.value", "v=%s", cases[i].value);
        const char *text = end_capture();
        cr_expect_not_null(strstr(text, cases[i].written), "%s: %s", cases[i].sentence, text);
    }
}

Test(log, knows_every_conversion_it_promises)
{
    begin_capture();
    pr_log(PR_LOG_ERROR, "test.all",
           "a=%d b=%u c=%lld d=%llu e=%zu f=%x g=%.2f h=%.3s i=%.*s j=%% k=%c", -1, 2u, -3LL, 4ULL,
           (size_t)5, 255u, 2.5, "abcdef", 2, "xyz", 'q');
    const char *text = end_capture();
    cr_assert_not_null(strstr(text, "a=-1 b=2 c=-3 d=4 e=5 f=ff g=2.50 h=abc i=xy j=% k=q\n"), "%s",
                       text);
}

Test(log, a_null_text_is_said_and_not_read)
{
    const char *volatile nothing = NULL;
    begin_capture();
    pr_log(PR_LOG_ERROR, "test.null", "v=%s", nothing);
    cr_assert_not_null(strstr(end_capture(), "v=(null)\n"));
}

Test(log, leaves_out_what_is_below_the_level)
{
    pr_log_init("x", PR_LOG_WARN);
    begin_capture();
    pr_log_info("test.info", "a=%d", 1);
    pr_log_debug("test.debug", "a=%d", 1);
    pr_log_warn("test.warn", "a=%d", 1);
    const char *text = end_capture();
    cr_assert_eq(count_of(text, "\n"), 1, "%s", text);
    cr_assert_not_null(strstr(text, "event=test.warn"));
}

Test(log, cuts_a_line_that_is_too_long_and_says_so)
{
    static char longer[10000];
    memset(longer, 'a', sizeof longer - 1);
    begin_capture();
    pr_log(PR_LOG_ERROR, "test.long", "v=%s w=%d", longer, 1);
    const char *text = end_capture();
    size_t len = strlen(text);
    cr_assert_leq(len, 4096, "a pipe takes it whole");
    cr_assert_str_eq(text + len - 5, "a...\n");
}

Test(log, numbers_its_lines_without_a_gap)
{
    begin_capture();
    for (int i = 0; i < 3; i++)
        pr_log(PR_LOG_ERROR, "test.seq", "i=%d", i);
    const char *text = end_capture();
    cr_assert_not_null(strstr(text, " seq=1 "));
    cr_assert_not_null(strstr(text, " seq=2 "));
    cr_assert_not_null(strstr(text, " seq=3 "));
}

Test(log, writes_a_repeat_once_but_each_key_for_itself)
{
    begin_capture();
    for (int i = 0; i < 100; i++)
        pr_log_limited(PR_LOG_ERROR, "test.flood", "a", "i=%d", i);
    pr_log_limited(PR_LOG_ERROR, "test.flood", "b", "i=%d", 0);
    pr_log_limited(PR_LOG_ERROR, "test.other", "a", "i=%d", 0);
    const char *text = end_capture();
    cr_assert_eq(count_of(text, "event=test.flood"), 2, "%s", text);
    cr_assert_eq(count_of(text, "event=test.other"), 1);
}

Test(log, counts_lines_that_stderr_refuses_and_tells_the_number)
{
    saved_stderr = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    pr_log(PR_LOG_ERROR, "test.lost", "i=%d", 1);
    pr_log(PR_LOG_ERROR, "test.lost", "i=%d", 2);
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    begin_capture();
    pr_log(PR_LOG_ERROR, "test.back", "i=%d", 3);
    pr_log(PR_LOG_ERROR, "test.back", "i=%d", 4);
    const char *text = end_capture();
    cr_assert_not_null(strstr(text, "i=3 dropped=2\n"), "%s", text);
    cr_assert_not_null(strstr(text, "i=4\n"), "%s", text);
}

Test(log, an_error_is_logged_with_its_details_and_limited_by_its_code)
{
    pr_error_t error;
    begin_capture();
    pr_error_set(&error, PR_AGAIN, "db", "08006", "connection lost");
    pr_log_error(PR_LOG_ERROR, "db.lost", &error);
    pr_log_error(PR_LOG_ERROR, "db.lost", &error);
    pr_error_set(&error, PR_AGAIN, "db", "57P01", "terminated");
    pr_log_error(PR_LOG_ERROR, "db.lost", &error);
    const char *text = end_capture();
    cr_assert_not_null(
        strstr(text, "event=db.lost source=db code=08006 text=\"connection lost\"\n"));
    cr_assert_eq(count_of(text, "\n"), 2, "%s", text);
}

Test(log, reads_level_names)
{
    cr_assert_eq(pr_log_level_parse("error"), PR_LOG_ERROR);
    cr_assert_eq(pr_log_level_parse("debug"), PR_LOG_DEBUG);
    cr_assert_eq(pr_log_level_parse("none"), PR_LOG_NONE);
    cr_assert_eq(pr_log_level_parse("loud"), PR_LOG_NONE);
}
