/* SPDX-License-Identifier: Apache-2.0
 *
 * lib/http against a scripted server on loopback: what comes back is what the table says. Times are
 * upper bounds only. tests/integration/hostile has the long list of what receivers do wrong.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "http/http.h"
#include "tests/support/egress_cases.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEADLINE_MS 120000
#define CONNECTIONS_MAX 64

/* ---- a server that answers every request with the same bytes ---- */

typedef struct {
    int fd;
    int port;
    const char *answer; /* NULL: reads and says nothing */
    size_t answer_len;  /* 0: strlen */
    bool close_after;   /* after each answer */
    int close_before;   /* the n-th request on a connection is read, and the connection closed */
    int accepted, requests;
    int connection;  /* the newest */
    char last[8192]; /* the last request as it came */
    pthread_t thread;
} server_t;

static bool request_complete(const char *text, size_t len)
{
    const char *head = memmem(text, len, "\r\n\r\n", 4);
    const char *field = memmem(text, len, "Content-Length: ", 16);
    if (head == NULL || (field == NULL && strncmp(text, "GET ", 4) != 0))
        return false;
    size_t body = field != NULL ? strtoul(field + 16, NULL, 10) : 0;
    return len >= (size_t)(head + 4 - text) + body;
}

/* One request on a connection; false: the connection ends. */
static bool serve_one(server_t *self, int fd, int nth)
{
    char text[sizeof(self->last)];
    size_t len = 0;
    while (!request_complete(text, len)) {
        ssize_t got = recv(fd, text + len, sizeof(text) - 1 - len, 0);
        if (got <= 0)
            return false;
        len += (size_t)got;
    }
    text[len] = '\0';
    memcpy(self->last, text, len + 1);
    self->requests++;
    if (self->close_before != 0 && nth >= self->close_before)
        return false;
    if (self->answer == NULL)
        return recv(fd, text, 1, 0) > 0; /* until the other side goes */
    size_t size = self->answer_len != 0 ? self->answer_len : strlen(self->answer);
    for (size_t sent = 0; sent < size;) {
        ssize_t count = send(fd, self->answer + sent, size - sent, MSG_NOSIGNAL);
        if (count <= 0)
            return false;
        sent += (size_t)count;
    }
    return !self->close_after;
}

static void *serve(void *arg)
{
    server_t *self = arg;
    struct pollfd fds[CONNECTIONS_MAX + 1] = {{.fd = self->fd, .events = POLLIN}};
    int nth[CONNECTIONS_MAX + 1] = {0};
    int count = 1;
    while (poll(fds, (nfds_t)count, -1) > 0) {
        if (fds[0].revents & (POLLERR | POLLHUP | POLLNVAL))
            break;
        if (fds[0].revents & POLLIN) {
            int fd = accept(self->fd, NULL, NULL);
            if (fd < 0 || count > CONNECTIONS_MAX)
                break;
            self->accepted++;
            self->connection = fd;
            nth[count] = 0;
            fds[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
        }
        for (int i = 1; i < count; i++) {
            if (fds[i].revents == 0 || serve_one(self, fds[i].fd, ++nth[i]))
                continue;
            close(fds[i].fd);
            fds[i] = fds[--count];
            nth[i] = nth[count];
            i--;
        }
    }
    for (int i = 1; i < count; i++)
        close(fds[i].fd);
    return NULL;
}

static void server_start(server_t *self)
{
    struct sockaddr_in address = {.sin_family = AF_INET}; /* all of 127.0.0.0/8 */
    socklen_t len = sizeof(address);
    self->fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(self->fd, (struct sockaddr *)&address, len), 0);
    cr_assert_eq(listen(self->fd, 64), 0);
    cr_assert_eq(getsockname(self->fd, (struct sockaddr *)&address, &len), 0);
    self->port = ntohs(address.sin_port);
    cr_assert_eq(pthread_create(&self->thread, NULL, serve, self), 0);
}

static void server_stop(server_t *self)
{
    shutdown(self->fd, SHUT_RDWR);
    pthread_join(self->thread, NULL);
    close(self->fd);
}

/* ---- the other side ---- */

typedef struct {
    int done;
    int code;
    pr_http_error_t error;
    char body[256];
    size_t body_len;
    bool truncated;
    char retry_after[128];
    int sends;
} seen_t;

static void on_done(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    (void)now_ms;
    seen_t *seen = arg;
    seen->done++;
    seen->code = response->code;
    seen->error = response->error;
    seen->body_len = response->body.len;
    size_t take =
        response->body.len < sizeof(seen->body) - 1 ? response->body.len : sizeof(seen->body) - 1;
    if (take > 0)
        memcpy(seen->body, response->body.data, take);
    seen->body[take] = '\0';
    seen->truncated = response->truncated;
    snprintf(seen->retry_after, sizeof(seen->retry_after), "%s", response->retry_after);
    seen->sends = response->sends;
}

static void run_until(pr_http_t *http, const int *done, int count)
{
    int64_t give_up_ms = pr_clock_mono_ms() + DEADLINE_MS;
    while (*done < count) {
        int64_t now_ms = pr_clock_mono_ms();
        cr_assert_lt(now_ms, give_up_ms, "no end of the request");
        pr_http_run(http, now_ms);
        int64_t wait_ms = pr_http_due_at_ms(http) - now_ms;
        if (*done >= count || wait_ms <= 0)
            continue;
        struct pollfd fd = {.fd = pr_http_fd(http), .events = POLLIN};
        poll(&fd, 1, wait_ms < 100 ? (int)wait_ms : 100);
    }
}

static seen_t post_url(pr_http_t *http, const char *url)
{
    static const char *const headers[] = {"Content-Type: application/json", "X-Empty: "};
    seen_t seen = {0};
    pr_http_request_t request = {.url = url,
                                 .headers = headers,
                                 .header_count = 2,
                                 .body = pr_bytes_text("{\"a\":1}"),
                                 .done = on_done,
                                 .arg = &seen};
    pr_error_t error;
    cr_assert_eq(pr_http_start(http, &request, pr_clock_mono_ms(), &error), PR_OK);
    cr_assert_eq(seen.done, 0, "done is never called from start");
    run_until(http, &seen.done, 1);
    return seen;
}

static seen_t post(pr_http_t *http, const server_t *server)
{
    PR_CLEANUP_FREE char *url = pr_asprintf("http://127.0.0.1:%d/notify?a=b", server->port);
    return post_url(http, url);
}

/* Where an answer is due, however busy the machine; and where a limit is what ends it. */
static const pr_http_limits_t patient = {
    .connect_ms = 30000, .tls_ms = 30000, .first_byte_ms = 30000, .total_ms = 60000};
static const pr_http_limits_t connect_soon = {
    .connect_ms = 300, .tls_ms = 30000, .first_byte_ms = 30000, .total_ms = 60000};
static const pr_http_limits_t first_byte_soon = {
    .connect_ms = 30000, .tls_ms = 30000, .first_byte_ms = 200, .total_ms = 60000};
static const pr_http_limits_t all_soon = {
    .connect_ms = 30000, .tls_ms = 30000, .first_byte_ms = 30000, .total_ms = 1000};

static const pr_http_limits_t *limits_for(pr_http_error_t error)
{
    return error == PR_HTTP_FIRST_BYTE_TIMEOUT ? &first_byte_soon
           : error == PR_HTTP_TOTAL_TIMEOUT    ? &all_soon
                                               : &patient;
}

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nSUCCESS"

TestSuite(http, .timeout = 300);

Test(http, answers_are_told_as_they_came)
{
    static const struct {
        const char *sentence, *answer;
        bool close_after;
        int code;
        pr_http_error_t error;
        const char *body, *retry_after;
    } cases[] = {
        {"a plain answer", OK_ANSWER, false, 200, PR_HTTP_OK, "SUCCESS", ""},
        {"no length, closed at the end", "HTTP/1.0 200 OK\r\n\r\nSUCCESS", true, 200, PR_HTTP_OK,
         "SUCCESS", ""},
        {"chunks",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nSUC\r\n4\r\nCESS\r\n"
         "0\r\n\r\n",
         false, 200, PR_HTTP_OK, "SUCCESS", ""},
        {"1xx before the answer", "HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\n" OK_ANSWER,
         false, 200, PR_HTTP_OK, "SUCCESS", ""},
        {"a redirect stays one",
         "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
         "Content-Length: 0\r\n\r\n",
         false, 302, PR_HTTP_OK, "", ""},
        {"two of Retry-After: the longer wait",
         "HTTP/1.1 429 x\r\nRetry-After: 120\r\n"
         "Retry-After: 5\r\nContent-Length: 0\r\n\r\n",
         false, 429, PR_HTTP_OK, "", "120"},
        {"in whichever order",
         "HTTP/1.1 429 x\r\nRetry-After: 5\r\n"
         "Retry-After: 120\r\nContent-Length: 0\r\n\r\n",
         false, 429, PR_HTTP_OK, "", "120"},
        {"one that says nothing counts less",
         "HTTP/1.1 429 x\r\nRetry-After: soon\r\n"
         "Retry-After: 0\r\nRetry-After: later\r\nContent-Length: 0\r\n\r\n",
         false, 429, PR_HTTP_OK, "", "0"},
        {"a trailer field is no header",
         "HTTP/1.1 429 x\r\nRetry-After: 5\r\n"
         "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nRetry-After: 600\r\n\r\n",
         false, 429, PR_HTTP_OK, "a", "5"},
        {"Retry-After in any case",
         "HTTP/1.1 503 Busy\r\nRETRY-after:  120 \r\n"
         "Content-Length: 0\r\n\r\n",
         false, 503, PR_HTTP_OK, "", "120"},
        {"HTTP/0.9", "SUCCESS", true, 0, PR_HTTP_BAD_RESPONSE, "", ""},
        {"closed at once", "", true, 0, PR_HTTP_EMPTY, "", ""},
        {"a body that is too short", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nSUCC", true, 200,
         PR_HTTP_SHORT_BODY, "SUCC", ""},
        {"a body that never comes", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nSUCC", false, 200,
         PR_HTTP_TOTAL_TIMEOUT, "SUCC", ""},
        {"no answer", NULL, false, 0, PR_HTTP_FIRST_BYTE_TIMEOUT, "", ""},
        {"half a status line", "HTTP/1.1 20", false, 0, PR_HTTP_TOTAL_TIMEOUT, "", ""},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        server_t server = {.answer = cases[i].answer, .close_after = cases[i].close_after};
        server_start(&server);
        pr_http_t *http = pr_http_new(limits_for(cases[i].error));
        seen_t seen = post(http, &server);
        cr_expect_eq(seen.code, cases[i].code, "%s: %d", cases[i].sentence, seen.code);
        cr_expect_eq(seen.error, cases[i].error, "%s: %s", cases[i].sentence,
                     pr_http_error_name(seen.error));
        cr_expect_str_eq(seen.body, cases[i].body, "%s", cases[i].sentence);
        cr_expect_str_eq(seen.retry_after, cases[i].retry_after, "%s", cases[i].sentence);
        pr_http_destroy(&http);
        server_stop(&server);
    }
}

typedef struct {
    seen_t seen;
    size_t taken, most;
    char text[64];
} sunk_t;

static bool take_piece(void *arg, pr_bytes_t piece)
{
    sunk_t *self = arg;
    size_t room = sizeof self->text - 1 - self->taken;
    size_t keep = piece.len < room ? piece.len : room;
    memcpy(self->text + self->taken, piece.data, keep);
    self->taken += piece.len;
    return self->taken <= self->most;
}

static void on_sunk(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    on_done(&((sunk_t *)arg)->seen, response, now_ms);
}

Test(http, a_sink_takes_what_was_asked_for_and_nothing_else)
{
    static const struct {
        const char *sentence, *answer;
        bool close_after;
        size_t most;
        pr_http_error_t error;
        bool truncated;
        const char *sunk, *body;
    } cases[] = {
        {"a body", OK_ANSWER, false, 64, PR_HTTP_OK, false, "SUCCESS", ""},
        {"more than is read into memory",
         "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n01234567890123456789", false, 64, PR_HTTP_OK,
         false, "01234567890123456789", ""},
        {"more than the sink takes", OK_ANSWER, false, 3, PR_HTTP_OK, true, "SUCCESS", ""},
        {"an error's text", "HTTP/1.1 404 x\r\nContent-Length: 4\r\n\r\nnone", false, 64,
         PR_HTTP_OK, false, "", "none"},
        {"cut short", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nSUCC", true, 64,
         PR_HTTP_SHORT_BODY, false, "SUCC", ""},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        server_t server = {.answer = cases[i].answer, .close_after = cases[i].close_after};
        pr_http_limits_t limits = patient;
        sunk_t sunk = {.most = cases[i].most};
        pr_error_t error;
        limits.max_read_bytes = 8;
        server_start(&server);
        pr_http_t *http = pr_http_new(&limits);
        PR_CLEANUP_FREE char *url = pr_asprintf("http://127.0.0.1:%d/file", server.port);
        const pr_http_request_t request = {
            .url = url, .method = "GET", .sink = take_piece, .done = on_sunk, .arg = &sunk};
        cr_assert_eq(pr_http_start(http, &request, pr_clock_mono_ms(), &error), PR_OK);
        run_until(http, &sunk.seen.done, 1);
        cr_expect_eq(sunk.seen.error, cases[i].error, "%s: %s", cases[i].sentence,
                     pr_http_error_name(sunk.seen.error));
        cr_expect_eq(sunk.seen.truncated, cases[i].truncated, "%s", cases[i].sentence);
        cr_expect_str_eq(sunk.text, cases[i].sunk, "%s", cases[i].sentence);
        cr_expect_str_eq(sunk.seen.body, cases[i].body, "%s", cases[i].sentence);
        pr_http_destroy(&http);
        server_stop(&server);
    }
}

Test(http, the_request_is_what_was_asked_for)
{
    server_t server = {.answer = OK_ANSWER};
    server_start(&server);
    pr_http_t *http = pr_http_new(&patient);
    post(http, &server);
    cr_expect(strncmp(server.last, "POST /notify?a=b HTTP/1.1\r\n", 27) == 0, "%s", server.last);
    cr_expect(strstr(server.last, "User-Agent: Postrider/" PR_VERSION "\r\n") != NULL);
    cr_expect(strstr(server.last, "Content-Type: application/json\r\n") != NULL);
    cr_expect(strstr(server.last, "X-Empty:\r\n") != NULL, "an empty header is sent");
    cr_expect(strstr(server.last, "Expect:") == NULL);
    cr_expect(strstr(server.last, "Accept-Encoding:") == NULL);
    cr_expect(strstr(server.last, "\r\n\r\n{\"a\":1}") != NULL);
    pr_http_destroy(&http);
    server_stop(&server);
}

/* Found by fuzz_http_response: libcurl 7.88 reads freed memory when a handle is used again and the
 * first header line of the answer looks folded. ASan sees it. */
Test(http, a_folded_first_header_after_another_answer)
{
    server_t server = {.answer = "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 0\r\n\r\n"};
    server_t folded = {.answer = "HTTP/.11 200\rMOTK\n folded: chunked\r\n\r\n4\r\nSUCC",
                       .close_after = true};
    server_start(&server);
    server_start(&folded);
    pr_http_t *http = pr_http_new(&patient);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(post(http, &server).code, 200);
        seen_t seen = post(http, &folded);
        cr_expect_eq(seen.error, PR_HTTP_BAD_RESPONSE, "%s", pr_http_error_name(seen.error));
    }
    pr_http_destroy(&http);
    server_stop(&server);
    server_stop(&folded);
}

Test(http, reading_stops_at_the_bound)
{
    PR_CLEANUP_FREE char *answer = pr_calloc(200001, 1);
    memset(answer, 'x', 200000);
    memcpy(answer, "HTTP/1.1 200 OK\r\n\r\n", 19);
    server_t server = {.answer = answer, .close_after = true};
    server_start(&server);
    pr_http_t *http = pr_http_new(&patient);
    seen_t seen = post(http, &server);
    cr_expect_eq(seen.code, 200);
    cr_expect_eq(seen.error, PR_HTTP_OK);
    cr_expect(seen.truncated);
    cr_expect_eq(seen.body_len, 64 * 1024);
    pr_http_destroy(&http);
    server_stop(&server);
}

Test(http, header_lines_are_bounded_in_all)
{
    PR_CLEANUP_FREE char *answer = pr_calloc(400000, 1);
    size_t len = 0;
    for (int i = 0; i < 10000; i++) /* an endless row of interim responses */
        len += (size_t)snprintf(answer + len, 64, "HTTP/1.1 103 Early Hints\r\n\r\n");
    server_t server = {.answer = answer};
    server_start(&server);
    pr_http_t *http = pr_http_new(&patient);
    cr_expect_eq(post(http, &server).error, PR_HTTP_HEADERS_TOO_LARGE);
    pr_http_destroy(&http);
    server_stop(&server);
}

Test(http, a_connection_is_used_again)
{
    server_t server = {.answer = OK_ANSWER};
    server_start(&server);
    pr_http_t *http = pr_http_new(&patient);
    for (int i = 0; i < 50; i++)
        cr_assert_eq(post(http, &server).code, 200);
    cr_expect_eq(server.accepted, 1);
    cr_expect_eq(pr_http_stats(http).connects, 1);
    pr_http_destroy(&http);
    server_stop(&server);
}

/* docs of http.h, "Repeats": found by a receiver that reads and hangs up. */
Test(http, a_repeat_by_libcurl_is_counted)
{
    server_t server = {.answer = OK_ANSWER, .close_before = 2};
    server_start(&server);
    pr_http_t *http = pr_http_new(&patient);
    cr_assert_eq(post(http, &server).sends, 1);
    seen_t seen = post(http, &server);
    cr_expect_eq(seen.code, 200);
    cr_expect_eq(seen.sends, 2);
    cr_expect_eq(server.requests, 3, "the second request was received twice");
    cr_expect_eq(pr_http_stats(http).resent, 1);
    pr_http_destroy(&http);
    server_stop(&server);
}

static seen_t send_one(pr_http_t *http, const server_t *server, pr_http_request_t request)
{
    PR_CLEANUP_FREE char *url = pr_asprintf("http://127.0.0.1:%d/pay", server->port);
    seen_t seen = {0};
    pr_error_t error;
    request.url = url;
    request.done = on_done;
    request.arg = &seen;
    cr_assert_eq(pr_http_start(http, &request, pr_clock_mono_ms(), &error), PR_OK);
    run_until(http, &seen.done, 1);
    return seen;
}

/* What moves money: however the connection ends, with kept ones at hand, the receiver sees it once. */
Test(http, a_fresh_request_is_never_sent_twice)
{
    server_t server = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"};
    server_start(&server);
    pr_http_t *http = pr_http_new(&patient);
    cr_assert_eq(post(http, &server).sends, 1);
    pr_http_request_t charge = {.body = pr_bytes_text("charge=1"), .fresh = true};
    server.close_before = 1;
    seen_t seen = send_one(http, &server, charge);
    cr_expect_eq(seen.error, PR_HTTP_EMPTY, "%s", pr_http_error_name(seen.error));
    cr_expect_eq(seen.sends, 1);
    cr_expect_eq(server.requests, 2, "the post before, and one charge");
    cr_expect_eq(server.accepted, 2, "on a connection of its own");
    charge.fresh = false; /* the same on a kept connection: the receiver charges again */
    server.close_before = 2;
    seen = send_one(http, &server, charge);
    cr_expect_eq(seen.sends, 2);
    cr_expect_eq(server.requests, 4);
    pr_http_destroy(&http);
    server_stop(&server);
}

Test(http, methods)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "DELETE"};
    server_t server = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"};
    server_start(&server);
    pr_http_t *http = pr_http_new(&patient);
    for (size_t i = 0; i < PR_COUNT(methods); i++) {
        pr_http_request_t request = {.method = methods[i]};
        if (i == 1 || i == 2)
            request.body = pr_bytes_text("{}");
        cr_assert_eq(send_one(http, &server, request).code, 200, "%s", methods[i]);
        PR_CLEANUP_FREE char *line = pr_asprintf("%s /pay HTTP/1.1\r\n", methods[i]);
        cr_expect_eq(strncmp(server.last, line, strlen(line)), 0, "%s", server.last);
        bool has_body = strstr(server.last, "\r\n\r\n{}") != NULL;
        cr_expect_eq(has_body, i == 1 || i == 2, "%s", server.last);
    }
    pr_http_destroy(&http);
    server_stop(&server);
}

static void on_headers(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    (void)now_ms;
    seen_t *seen = arg;
    size_t cursor = 0, len = 0;
    const char *name, *value;
    while (pr_http_header_next(response->headers, &cursor, &name, &value))
        len += (size_t)snprintf(seen->body + len, sizeof(seen->body) - len, "%s=%s;", name, value);
    seen->done++;
}

Test(http, the_final_answers_headers_are_kept_where_wanted)
{
    server_t server = {.answer = "HTTP/1.1 103 Early\r\nX-Early: 1\r\n\r\n"
                                 "HTTP/1.1 200 OK\r\nX-Signature:  a b \r\nX-Empty:\r\n"
                                 "X-Signature: second\r\nContent-Length: 2\r\n\r\nOK"};
    server_start(&server);
    pr_http_t *http = pr_http_new(&patient);
    PR_CLEANUP_FREE char *url = pr_asprintf("http://127.0.0.1:%d/", server.port);
    for (int keep = 0; keep < 2; keep++) {
        seen_t seen = {0};
        pr_error_t error;
        pr_http_request_t request = {
            .url = url, .method = "GET", .keep_headers = keep, .done = on_headers, .arg = &seen};
        cr_assert_eq(pr_http_start(http, &request, pr_clock_mono_ms(), &error), PR_OK);
        run_until(http, &seen.done, 1);
        cr_expect_str_eq(seen.body, keep ? "X-Signature=a b;X-Empty=;X-Signature=second;"
                                           "Content-Length=2;"
                                         : "");
    }
    pr_http_destroy(&http);
    server_stop(&server);
}

Test(http, idle_connections_are_bounded_per_host)
{
    server_t server = {.answer = OK_ANSWER};
    server_start(&server);
    pr_http_limits_t limits = patient;
    limits.pool_per_host = 3;
    pr_http_t *http = pr_http_new(&limits);
    PR_CLEANUP_FREE char *url = pr_asprintf("http://127.0.0.1:%d/", server.port);
    seen_t seen = {0};
    pr_http_request_t request = {.url = url, .done = on_done, .arg = &seen};
    for (int i = 0; i < 12; i++)
        cr_assert_eq(pr_http_start(http, &request, pr_clock_mono_ms(), NULL), PR_OK);
    run_until(http, &seen.done, 12);
    cr_expect_leq(pr_http_stats(http).sockets, 3);
    cr_expect_eq(pr_http_stats(http).in_flight, 0);
    pr_http_destroy(&http);
    server_stop(&server);
}

/* A burst to many hosts: none of them reaches the bound of its own. */
Test(http, idle_connections_are_bounded_in_all)
{
    server_t server = {.answer = OK_ANSWER};
    server_start(&server);
    pr_http_limits_t limits = patient;
    limits.pool_total = 5;
    pr_http_t *http = pr_http_new(&limits);
    seen_t seen = {0};
    for (int i = 0; i < 40; i++) {
        PR_CLEANUP_FREE char *url = pr_asprintf("http://127.0.1.%d:%d/", i + 1, server.port);
        pr_http_request_t request = {.url = url, .done = on_done, .arg = &seen};
        cr_assert_eq(pr_http_start(http, &request, pr_clock_mono_ms(), NULL), PR_OK);
    }
    run_until(http, &seen.done, 40);
    cr_expect_eq(seen.code, 200);
    cr_expect_leq(pr_http_stats(http).sockets, 5);
    pr_http_destroy(&http);
    server_stop(&server);
}

/* The accept queue is full: connecting hangs. libcurl closes such a socket without telling. */
Test(http, a_connect_that_hangs_is_given_up_and_leaves_nothing)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
    socklen_t len = sizeof(address);
    int fds[6];
    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(fds[0], (struct sockaddr *)&address, len), 0);
    cr_assert_eq(listen(fds[0], 0), 0);
    cr_assert_eq(getsockname(fds[0], (struct sockaddr *)&address, &len), 0);
    for (int i = 1; i < 6; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fds[i], (struct sockaddr *)&address, len);
    }
    pr_http_t *http = pr_http_new(&connect_soon);
    PR_CLEANUP_FREE char *url = pr_asprintf("http://127.0.0.1:%d/", ntohs(address.sin_port));
    cr_expect_eq(post_url(http, url).error, PR_HTTP_CONNECT_TIMEOUT);
    cr_expect_eq(pr_http_stats(http).sockets, 0);
    pr_http_destroy(&http);
    for (int i = 0; i < 6; i++)
        close(fds[i]);
}

/* Whatever a host may turn out to speak: without TLS nobody waits for another one's answer. */
Test(http, a_silent_answer_holds_up_nobody_else)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    cr_assert_eq(listen(fd, 16), 0); /* takes connections, reads nothing */
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    pr_http_t *http = pr_http_new(&first_byte_soon);
    PR_CLEANUP_FREE char *url = pr_asprintf("http://127.0.0.1:%d/", ntohs(address.sin_port));
    seen_t seen = {0};
    pr_http_request_t request = {.url = url, .http2 = true, .done = on_done, .arg = &seen};
    for (int i = 0; i < 5; i++)
        cr_assert_eq(pr_http_start(http, &request, pr_clock_mono_ms(), NULL), PR_OK);
    run_until(http, &seen.done, 5);
    cr_expect_eq(pr_http_stats(http).connects, 5);
    pr_http_destroy(&http);
    close(fd);
}

/* An answer that nobody asked for is not the next request's, and what was not sent is no try. */
Test(http, what_comes_while_idle_spoils_the_connection)
{
    static const struct {
        const char *sentence, *stray;
        bool end, noticed; /* noticed: the loop turns once more before the next request */
    } cases[] = {
        {"a second answer", OK_ANSWER, false, false},
        {"a second answer, noticed", OK_ANSWER, false, true},
        {"408 and the end", "HTTP/1.1 408 T\r\nContent-Length: 0\r\n\r\n", true, false},
        {"408 and the end, noticed", "HTTP/1.1 408 T\r\nContent-Length: 0\r\n\r\n", true, true},
        {"a line break", "\r\n", false, true},
        {"the end alone", "", true, true},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        server_t server = {.answer = OK_ANSWER};
        server_start(&server);
        pr_http_t *http = pr_http_new(&patient);
        cr_assert_eq(post(http, &server).code, 200);
        server.answer = "HTTP/1.1 500 X\r\nContent-Length: 2\r\n\r\nNO";
        size_t len = strlen(cases[i].stray);
        cr_assert_eq(send(server.connection, cases[i].stray, len, 0), (ssize_t)len);
        if (cases[i].end)
            shutdown(server.connection, SHUT_WR);
        struct pollfd arrived = {.fd = pr_http_fd(http), .events = POLLIN};
        cr_assert_eq(poll(&arrived, 1, DEADLINE_MS), 1);
        if (cases[i].noticed)
            pr_http_run(http, pr_clock_mono_ms());
        seen_t seen = post(http, &server);
        cr_expect_eq(seen.code, 500, "%s: %d", cases[i].sentence, seen.code);
        cr_expect_eq(seen.sends, 1, "%s: %d", cases[i].sentence, seen.sends);
        cr_expect_eq(server.requests, 2, "%s", cases[i].sentence);
        cr_expect_eq(server.accepted, 2, "%s", cases[i].sentence);
        cr_expect_eq(post(http, &server).code, 500, "%s", cases[i].sentence);
        cr_expect_eq(server.accepted, 2, "%s: the new one is kept", cases[i].sentence);
        cr_expect_eq(pr_http_stats(http).sockets, 1, "%s", cases[i].sentence);
        pr_http_destroy(&http);
        server_stop(&server);
    }
}

/* Each kept connection dies at its second request. */
Test(http, dead_kept_connections_are_no_failure)
{
    server_t server = {.answer = OK_ANSWER, .close_before = 2};
    server_start(&server);
    pr_http_limits_t limits = patient;
    pr_http_t *http = pr_http_new(&limits);
    PR_CLEANUP_FREE char *url = pr_asprintf("http://127.0.0.1:%d/", server.port);
    seen_t seen = {0};
    pr_http_request_t request = {
        .url = url, .body = pr_bytes_text("x"), .done = on_done, .arg = &seen};
    for (int i = 0; i < 10; i++) /* ten connections are kept */
        cr_assert_eq(pr_http_start(http, &request, pr_clock_mono_ms(), NULL), PR_OK);
    run_until(http, &seen.done, 10);
    seen_t again = post_url(http, url);
    cr_expect_eq(again.code, 200, "%s", pr_http_error_name(again.error));
    cr_expect_gt(again.sends, 2);
    pr_http_destroy(&http);
    server_stop(&server);
}

Test(http, more_than_the_bound_is_put_off)
{
    pr_http_limits_t limits = patient;
    limits.max_in_flight = 1;
    pr_http_t *http = pr_http_new(&limits);
    seen_t seen = {0};
    pr_http_request_t request = {.url = "http://127.0.0.1:1/", .done = on_done, .arg = &seen};
    cr_assert_eq(pr_http_start(http, &request, pr_clock_mono_ms(), NULL), PR_OK);
    cr_expect_eq(pr_http_start(http, &request, pr_clock_mono_ms(), NULL), PR_AGAIN);
    run_until(http, &seen.done, 1);
    cr_expect_eq(seen.error, PR_HTTP_CONNECT);
    pr_http_destroy(&http);
}

static bool refuse_all(void *arg, const struct sockaddr *address, socklen_t len)
{
    (void)len;
    *(int *)arg += address->sa_family == AF_INET || address->sa_family == AF_INET6;
    return false;
}

Test(http, the_guard_is_asked_after_name_lookup)
{
    int asked = 0;
    pr_http_limits_t limits = patient;
    limits.guard = refuse_all;
    limits.guard_arg = &asked;
    pr_http_t *http = pr_http_new(&limits);
    seen_t seen = post_url(http, "http://localhost:9/");
    cr_expect_eq(seen.error, PR_HTTP_ADDRESS_REFUSED);
    cr_expect_geq(asked, 1);
    cr_expect_eq(pr_http_error_fault(seen.error), PR_HTTP_FAULT_OWN);
    cr_expect_eq(pr_http_stats(http).connects, 0);
    pr_http_destroy(&http);
}

Test(http, malformed_requests_are_refused_or_told)
{
    static const struct {
        const char *sentence, *url, *header, *egress;
        pr_rc_t rc;
        pr_http_error_t error;
    } cases[] = {
        {"not http", "ftp://127.0.0.1/", NULL, NULL, PR_OK, PR_HTTP_BAD_URL},
        {"a file", "file:///etc/passwd", NULL, NULL, PR_OK, PR_HTTP_BAD_URL},
        {"no URL", "::::", NULL, NULL, PR_OK, PR_HTTP_BAD_URL},
        {"user and password", "http://a:b@127.0.0.1/", NULL, NULL, PR_OK, PR_HTTP_BAD_URL},
        {"a line break in a header", "http://127.0.0.1:1/", "A: b\r\nC: d", NULL, PR_BAD, 0},
        {"no header", "http://127.0.0.1:1/", "hello", NULL, PR_BAD, 0},
        {"an unknown egress", "http://127.0.0.1:1/", NULL, "gopher://x", PR_BAD, 0},
        {"a proxy that is not there", "http://192.0.2.1/", NULL, "http://127.0.0.1:1", PR_OK,
         PR_HTTP_PROXY},
        {"an address that is not ours", "http://127.0.0.1:1/", NULL, "address:192.0.2.77", PR_OK,
         PR_HTTP_PROXY},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_http_t *http = pr_http_new(&patient);
        seen_t seen = {0};
        pr_error_t error;
        pr_http_request_t request = {.url = cases[i].url,
                                     .headers = &cases[i].header,
                                     .header_count = cases[i].header != NULL,
                                     .egress = cases[i].egress,
                                     .done = on_done,
                                     .arg = &seen};
        pr_rc_t rc = pr_http_start(http, &request, pr_clock_mono_ms(), &error);
        cr_expect_eq(rc, cases[i].rc, "%s", cases[i].sentence);
        if (rc == PR_OK)
            run_until(http, &seen.done, 1);
        cr_expect_eq(seen.error, cases[i].error, "%s: %s", cases[i].sentence,
                     pr_http_error_name(seen.error));
        pr_http_destroy(&http);
    }
}

Test(http, takes_the_egresses_that_the_doors_take)
{
    for (size_t i = 0; i < PR_COUNT(egress_cases); i++) {
        pr_http_t *http = pr_http_new(&patient);
        seen_t seen = {0};
        pr_error_t error;
        pr_http_request_t request = {.url = "http://192.0.2.1/",
                                     .egress = egress_cases[i].text,
                                     .done = on_done,
                                     .arg = &seen};
        pr_rc_t rc = pr_http_start(http, &request, pr_clock_mono_ms(), &error);
        cr_expect_eq(rc, egress_cases[i].ok ? PR_OK : PR_BAD, "%s: %s", egress_cases[i].text,
                     egress_cases[i].sentence);
        pr_http_destroy(&http);
    }
}

Test(http, the_environments_proxy_is_not_used)
{
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("all_proxy", "http://127.0.0.1:1", 1);
    server_t server = {.answer = OK_ANSWER};
    server_start(&server);
    pr_http_t *http = pr_http_new(&patient);
    cr_expect_eq(post(http, &server).code, 200);
    pr_http_destroy(&http);
    server_stop(&server);
}

/* Stands in for libc's: a look-up that hangs must not hold up anything but its own request. */
static bool hang_lookups;
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
    (void)node, (void)service, (void)hints, (void)out;
    if (hang_lookups)
        pause(); /* for ever: the process ends before it does */
    return EAI_NONAME;
}

Test(http, a_hanging_name_lookup_delays_nobody)
{
    hang_lookups = true;
    server_t server = {.answer = OK_ANSWER};
    server_start(&server);
    pr_http_t *http = pr_http_new(&connect_soon);
    seen_t hanging = {0};
    pr_http_request_t request = {.url = "http://hangs.example/", .done = on_done, .arg = &hanging};
    cr_assert_eq(pr_http_start(http, &request, pr_clock_mono_ms(), NULL), PR_OK);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(post(http, &server).code, 200);
    run_until(http, &hanging.done, 1);
    cr_expect_eq(hanging.error, PR_HTTP_DNS_TIMEOUT, "%s", pr_http_error_name(hanging.error));
    cr_expect_eq(post(http, &server).code, 200);
    server_stop(&server);
    _exit(0); /* not destroyed: the look-up's thread never ends */
}

Test(http, a_name_that_does_not_exist)
{
    pr_http_t *http = pr_http_new(&patient);
    cr_expect_eq(post_url(http, "http://nobody.example/").error, PR_HTTP_DNS);
    pr_http_destroy(&http);
}

Test(http, requests_under_way_may_be_broken_off)
{
    server_t server = {.answer = NULL};
    server_start(&server);
    pr_http_t *http = pr_http_new(&patient);
    PR_CLEANUP_FREE char *url = pr_asprintf("http://127.0.0.1:%d/", server.port);
    seen_t seen = {0};
    pr_http_request_t request = {.url = url, .done = on_done, .arg = &seen};
    for (int i = 0; i < 5; i++)
        cr_assert_eq(pr_http_start(http, &request, pr_clock_mono_ms(), NULL), PR_OK);
    pr_http_run(http, pr_clock_mono_ms());
    pr_http_destroy(&http);
    cr_expect_eq(seen.done, 0);
    cr_expect_null(http);
    server_stop(&server);
}

Test(http, every_error_has_a_name_and_a_fault_and_is_judged_by_it)
{
    for (int i = 0; i < PR_HTTP_ERROR_COUNT; i++) {
        const char *name = pr_http_error_name((pr_http_error_t)i);
        cr_expect_leq(strlen(name), 32);
        cr_expect_eq(name[0] == '\0', i == PR_HTTP_OK, "%d", i);
        pr_http_fault_t fault = pr_http_error_fault((pr_http_error_t)i);
        cr_expect_eq(fault == PR_HTTP_FAULT_NONE, i == PR_HTTP_OK, "%s", name);
        pr_http_response_t response = {.error = (pr_http_error_t)i};
        pr_verdict_t verdict = pr_judge(&(pr_rule_t){.kind = PR_RULE_2XX},
                                        pr_http_transport(&response), 200, false, (pr_bytes_t){0});
        cr_expect_eq(verdict.outcome,
                     fault == PR_HTTP_FAULT_NONE  ? PR_OUTCOME_DELIVERED
                     : fault == PR_HTTP_FAULT_OWN ? PR_OUTCOME_OWN_FAULT
                                                  : PR_OUTCOME_UNREACHABLE,
                     "%s", name);
    }
}
