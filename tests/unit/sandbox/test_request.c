/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "sandbox/request.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(request, .timeout = 300);

#define MAX_BODY 100

static const char whole[] = "POST /m/m1?a=b HTTP/1.1\r\n"
                            "Host: x\r\n"
                            "x-notify-id:  abc \r\n"
                            "X-Signature: \t\r\n"
                            "Content-Length: 5\r\n"
                            "\r\n"
                            "hello"
                            "POST /next";

static void expect_span(pr_span_t span, const char *text)
{
    cr_expect_eq(span.len, strlen(text), "%s", text);
    cr_expect_eq(memcmp(whole + span.at, text, span.len), 0, "%s", text);
}

Test(request, finds_the_parts_and_leaves_what_follows)
{
    pr_request_t request = {0};
    cr_assert_eq(pr_request_parse(&request, (const uint8_t *)whole, strlen(whole), MAX_BODY),
                 PR_REQUEST_READY);
    expect_span(request.method, "POST");
    expect_span(request.target, "/m/m1?a=b");
    expect_span(request.notify_id, "abc");
    cr_expect_eq(request.signature.len, 0);
    cr_expect_eq(request.content_len, 5);
    cr_expect_not(request.close);
    cr_expect_str_eq(whole + pr_request_len(&request), "POST /next");
}

Test(request, comes_out_the_same_however_it_is_cut)
{
    size_t end = strlen(whole) - strlen("POST /next");
    for (size_t first = 0; first < end; first++) {
        for (size_t second = first; second < end; second += 7) {
            pr_request_t request = {0};
            const uint8_t *data = (const uint8_t *)whole;
            cr_assert_eq(pr_request_parse(&request, data, first, MAX_BODY), PR_REQUEST_MORE);
            cr_assert_eq(pr_request_parse(&request, data, second, MAX_BODY), PR_REQUEST_MORE);
            cr_assert_eq(pr_request_parse(&request, data, end, MAX_BODY), PR_REQUEST_READY,
                         "cut at %zu and %zu", first, second);
            cr_assert_eq(pr_request_len(&request), end);
        }
    }
}

Test(request, refuses_with_the_right_status)
{
#define HEAD "POST /m/a HTTP/1.1\r\n"
    static const struct {
        const char *text, *why;
        uint16_t status;
    } cases[] = {
        {HEAD "Transfer-Encoding: chunked\r\n\r\n", "chunked bodies are not read", 501},
        {HEAD "Content-Length: 101\r\n\r\n", "over the maximum", 413},
        {HEAD "Content-Length: 99999999999\r\n\r\n", "over any number", 413},
        {HEAD "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "two lengths", 400},
        {HEAD "Content-Length: -5\r\n\r\n", "a sign", 400},
        {HEAD "Content-Length: 5x\r\n\r\n", "a letter", 400},
        {HEAD "Content-Length:\r\n\r\n", "empty", 400},
        {HEAD "Host: x\n\r\n\r\n", "a bare LF", 400},
        {HEAD " folded: x\r\n\r\n", "a folded line", 400},
        {HEAD "Host : x\r\n\r\n", "a space before the colon", 400},
        {HEAD "nonsense\r\n\r\n", "no colon", 400},
        {HEAD "Expect: miracles\r\n\r\n", "an expectation nobody can meet", 417},
        {"POST /m/a HTTP/2.0\r\n\r\n", "another version", 505},
        {"POST /m/a\r\n\r\n", "no version", 400},
        {"PRI * HTTP/2.0\r\n\r\n", "an HTTP/2 preface", 505},
        {"\r\n\r\n", "nothing at all", 400},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_request_t request = {0};
        cr_expect_eq(pr_request_parse(&request, (const uint8_t *)cases[i].text,
                                      strlen(cases[i].text), MAX_BODY),
                     PR_REQUEST_BAD, "%s", cases[i].why);
        cr_expect_eq(request.status, cases[i].status, "%s: %u", cases[i].why, request.status);
    }
    static const char with_nul[] = HEAD "Host: a\0b\r\n\r\n";
    pr_request_t request = {0};
    cr_expect_eq(pr_request_parse(&request, (const uint8_t *)with_nul, sizeof(with_nul) - 1, 9),
                 PR_REQUEST_BAD);
}

Test(request, a_head_without_end_is_cut_off)
{
    PR_CLEANUP_FREE uint8_t *data = pr_calloc(PR_REQUEST_HEAD_MAX, 1);
    memset(data, 'a', PR_REQUEST_HEAD_MAX);
    pr_request_t request = {0};
    cr_expect_eq(pr_request_parse(&request, data, PR_REQUEST_HEAD_MAX - 1, 9), PR_REQUEST_MORE);
    cr_expect_eq(pr_request_parse(&request, data, PR_REQUEST_HEAD_MAX, 9), PR_REQUEST_BAD);
    cr_expect_eq(request.status, 431);
}

Test(request, knows_when_the_sender_wants_to_close_or_to_be_asked)
{
    static const struct {
        const char *text;
        bool close, expect;
    } cases[] = {
        {"POST / HTTP/1.1\r\nConnection: Close\r\n\r\n", true, false},
        {"POST / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n", false, false},
        {"POST / HTTP/1.0\r\n\r\n", true, false},
        {"POST / HTTP/1.1\r\nExpect: 100-Continue\r\n\r\n", false, true},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_request_t request = {0};
        cr_expect_eq(pr_request_parse(&request, (const uint8_t *)cases[i].text,
                                      strlen(cases[i].text), MAX_BODY),
                     PR_REQUEST_READY);
        cr_expect_eq(request.close, cases[i].close, "%s", cases[i].text);
        cr_expect_eq(request.expect, cases[i].expect, "%s", cases[i].text);
    }
}
