/* SPDX-License-Identifier: Apache-2.0
 *
 * lib/httpd against hostile clients, on real sockets, in one thread: the test turns the server
 * itself and gives it the time, so deadlines pass when the test says so. Nothing waits for a clock.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "httpd/httpd.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 60000 /* a test that is this late has failed */
#define TEXT_MAX 65536

typedef struct {
    pr_httpd_t *httpd;
    int64_t now_ms;
    int heads, wholes;
    pr_httpd_request_t *kept; /* by /later */
    char body[4096], target[512], client[64];
} server_t;

typedef struct {
    int fd;
    bool ended;
    size_t len;
    char text[TEXT_MAX];
} client_t;

/* ---- the owner: what it does with each path ---- */

static void reply_text(pr_httpd_request_t *request, uint32_t status, const char *text)
{
    pr_httpd_reply(request, &(pr_httpd_reply_t){.status = status,
                                                .content_type = "text/plain",
                                                .body = pr_bytes_text(text)});
}

static void on_head(void *arg, pr_httpd_request_t *request)
{
    server_t *self = arg;
    self->heads++;
    if (strcmp(pr_httpd_target(request), "/refused") == 0)
        pr_httpd_reply_problem(request, 429, "rate_limited", "Slow down.", 7);
    if (strcmp(pr_httpd_target(request), "/small") == 0)
        pr_httpd_limit_body(request, 8);
}

static void on_whole(void *arg, pr_httpd_request_t *request)
{
    server_t *self = arg;
    pr_bytes_t body = pr_httpd_body(request);
    const uint8_t *ip = pr_httpd_client(request)->bytes;
    self->wholes++;
    snprintf(self->body, sizeof self->body, "%.*s", (int)body.len, (const char *)body.data);
    snprintf(self->target, sizeof self->target, "%s", pr_httpd_target(request));
    snprintf(self->client, sizeof self->client, "%u.%u.%u.%u", ip[0], ip[1], ip[2], ip[3]);
    if (strcmp(pr_httpd_target(request), "/later") == 0)
        self->kept = request;
    else
        reply_text(request, 200, "done");
}

static pr_httpd_options_t options_of(server_t *self)
{
    return (pr_httpd_options_t){.listen = "127.0.0.1:0",
                                .max_header_bytes = 8192,
                                .max_body_bytes = 1024,
                                .body_memory_bytes = 4096,
                                .max_connections = 16,
                                .max_per_address = 16,
                                .header_ms = 1000,
                                .body_ms = 2000,
                                .send_ms = 3000,
                                .idle_ms = 4000,
                                .head = on_head,
                                .whole = on_whole,
                                .arg = self};
}

static server_t *start_with(server_t *self, const pr_httpd_options_t *options)
{
    pr_error_t error = {0};
    cr_assert_eq(pr_httpd_new(options, &self->httpd, &error), PR_OK, "%s", error.text);
    self->now_ms = pr_clock_mono_ms();
    return self;
}

static server_t *start(void)
{
    server_t *self = PR_NEW(server_t);
    pr_httpd_options_t options = options_of(self);
    return start_with(self, &options);
}

static void stop(server_t *self)
{
    pr_httpd_destroy(&self->httpd);
    pr_free(self);
}

/* ---- a client ---- */

static client_t *connect_from(server_t *server, const char *address)
{
    client_t *self = PR_NEW(client_t);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)pr_httpd_port(server->httpd)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in from = {.sin_family = AF_INET};
    cr_assert_eq(inet_pton(AF_INET, address, &from.sin_addr), 1);
    self->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(self->fd, (struct sockaddr *)&from, sizeof from), 0);
    cr_assert_eq(connect(self->fd, (struct sockaddr *)&to, sizeof to), 0);
    cr_assert_eq(fcntl(self->fd, F_SETFL, O_NONBLOCK), 0);
    return self;
}

static client_t *connect_to(server_t *server)
{
    return connect_from(server, "127.0.0.1");
}

static void hang_up(client_t *self)
{
    close(self->fd);
    pr_free(self);
}

static void send_bytes(client_t *self, const char *bytes, size_t len)
{
    (void)!send(self->fd, bytes, len, MSG_NOSIGNAL); /* the server may have hung up already */
}

static void send_text(client_t *self, const char *text)
{
    send_bytes(self, text, strlen(text));
}

static void receive(client_t *self)
{
    ssize_t got = recv(self->fd, self->text + self->len, TEXT_MAX - 1 - self->len, 0);
    if (got > 0)
        self->len += (size_t)got;
    else if (got == 0 || errno != EAGAIN)
        self->ended = true;
}

/* One turn of the server at its own time, then what the client has. */
static void turn(server_t *server, client_t *client, int wait_ms)
{
    struct pollfd fds[] = {{pr_httpd_fd(server->httpd), POLLIN, 0},
                           {client ? client->fd : -1, POLLIN, 0}};
    bool due = pr_httpd_due_at_ms(server->httpd) <= server->now_ms;
    poll(fds, 2, due ? 0 : wait_ms);
    if (due || fds[0].revents != 0) /* as an owner's loop does */
        pr_httpd_run(server->httpd, server->now_ms);
    if (client && !client->ended)
        receive(client);
}

static int answers(const client_t *self)
{
    int count = 0;
    for (const char *at = self->text; (at = strstr(at, "HTTP/1.1 ")) != NULL; at += 9)
        count += strncmp(at + 9, "100", 3) != 0;
    return count;
}

static void await_answers(server_t *server, client_t *client, int wanted)
{
    int64_t deadline_ms = pr_clock_mono_ms() + PATIENCE_MS;
    while (answers(client) < wanted && !client->ended && pr_clock_mono_ms() < deadline_ms)
        turn(server, client, 100);
}

static void await_end(server_t *server, client_t *client)
{
    int64_t deadline_ms = pr_clock_mono_ms() + PATIENCE_MS;
    while (!client->ended && pr_clock_mono_ms() < deadline_ms)
        turn(server, client, 100);
    cr_expect(client->ended, "the server does not hang up: %s", client->text);
}

/* Until the server has seen everything that was sent: nothing moves any more. */
static void settle(server_t *server)
{
    for (int quiet = 0; quiet < 3; quiet++)
        turn(server, NULL, 20);
}

static int status_of(const client_t *self)
{
    const char *at = self->text;
    while (strncmp(at, "HTTP/1.1 100", 12) == 0 && (at = strstr(at, "\r\n\r\n")) != NULL)
        at += 4;
    return at && strncmp(at, "HTTP/1.1 ", 9) == 0 ? (int)strtol(at + 9, NULL, 10) : 0;
}

/* ---- what is answered ---- */

#define HOST "Host: a\r\n"

typedef struct {
    const char *what;
    const char *bytes;
    size_t len; /* 0: strlen */
    int status; /* 0: hung up without a word */
    bool hangs_up;
    const char *says; /* in the answer */
} exchange_t;

#define WITH_NUL(text) text, sizeof(text) - 1

static const exchange_t exchanges[] = {
    {"a good request", "GET /a HTTP/1.1\r\n" HOST "\r\n", 0, 200, false, "done"},
    {"HEAD has no body", "HEAD /a HTTP/1.1\r\n" HOST "\r\n", 0, 200, false, "Content-Length: 4"},
    {"HTTP/1.0 is closed", "GET /a HTTP/1.0\r\n\r\n", 0, 200, true, "done"},
    {"a body", "POST /a HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nhi", 0, 200, false, "done"},
    {"a chunked body",
     "POST /a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", 0, 200,
     false, "done"},
    {"refused at the head", "GET /refused HTTP/1.1\r\n" HOST "\r\n", 0, 429, false,
     "Retry-After: 7"},
    {"a problem is a problem", "GET /refused HTTP/1.1\r\n" HOST "\r\n", 0, 429, false,
     "\"code\":\"rate_limited\""},
    {"an unknown method is the owner's to refuse", "BREW /a HTTP/1.1\r\n" HOST "\r\n", 0, 200,
     false, "done"},
    {"a method that is no token", "G@T /a HTTP/1.1\r\n" HOST "\r\n", 0, 400, true, "bad_method"},
    {"an absolute target", "GET http://a/ HTTP/1.1\r\n" HOST "\r\n", 0, 400, true, "bad_target"},
    {"a broken escape", "GET /%zz HTTP/1.1\r\n" HOST "\r\n", 0, 400, true, "bad_target"},
    {"half an escape", "GET /a% HTTP/1.1\r\n" HOST "\r\n", 0, 400, true, "bad_target"},
    {"an escaped NUL", "GET /a%00b HTTP/1.1\r\n" HOST "\r\n", 0, 400, true, "bad_target"},
    {"bytes above ASCII", "GET /\xff HTTP/1.1\r\n" HOST "\r\n", 0, 400, true, "bad_target"},
    {"two lengths", "POST /a HTTP/1.1\r\n" HOST "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
     0, 400, true, "bad_content_length"},
    {"one length twice",
     "POST /a HTTP/1.1\r\n" HOST "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi", 0, 400, true,
     "bad_content_length"},
    {"a length and chunks",
     "POST /a HTTP/1.1\r\n" HOST
     "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
     0, 400, true, ""},
    {"a signed length", "POST /a HTTP/1.1\r\n" HOST "Content-Length: +2\r\n\r\nhi", 0, 400, true,
     ""},
    {"a negative length", "POST /a HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\nhi", 0, 400, true,
     ""},
    {"a length beyond 64 bits",
     "POST /a HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\nhi", 0, 413, true,
     ""},
    {"another coding", "POST /a HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", 0,
     400, true, ""},
    {"chunks with HTTP/1.0", "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0,
     400, true, "bad_transfer_encoding"},
    {"a chunk size that is none",
     "POST /a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nzz\r\nhi\r\n", 0, 400, true,
     ""},
    {"no host", "GET /a HTTP/1.1\r\n\r\n", 0, 400, true, ""},
    {"two hosts", "GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 0, 400, true, "bad_host"},
    {"a name that is no token", "GET /a HTTP/1.1\r\n" HOST "a b: c\r\n\r\n", 0, 400, true,
     "bad_header"},
    {"a NUL ends a value", WITH_NUL("GET /a HTTP/1.1\r\n" HOST "x: a\0b\r\n\r\n"), 200, false,
     "done"},
    {"a NUL in the target", WITH_NUL("GET /a\0b HTTP/1.1\r\n" HOST "\r\n"), 400, true, ""},
    {"a body that is announced too large",
     "POST /a HTTP/1.1\r\n" HOST "Content-Length: 1025\r\n\r\n", 0, 413, true, "body_too_large"},
    {"a body that is too large for its resource",
     "POST /small HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\n123456789", 0, 413, true,
     "body_too_large"},
    {"HTTP/2 by prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0, 505, true, ""},
    {"no HTTP at all", WITH_NUL("\x16\x03\x01\x02\x00\x01\r\n\r\n"), 0, true, ""},
};

Test(httpd, answers_each_exchange)
{
    for (size_t i = 0; i < PR_COUNT(exchanges); i++) {
        const exchange_t *one = &exchanges[i];
        server_t *server = start();
        client_t *client = connect_to(server);
        send_bytes(client, one->bytes, one->len > 0 ? one->len : strlen(one->bytes));
        await_answers(server, client, 1);
        cr_expect_eq(status_of(client), one->status, "%s: %d, wanted %d: %s", one->what,
                     status_of(client), one->status, client->text);
        if (one->says)
            cr_expect(strstr(client->text, one->says) != NULL, "%s: no \"%s\" in: %s", one->what,
                      one->says, client->text);
        if (one->hangs_up)
            await_end(server, client);
        else
            cr_expect(!client->ended, "%s: hung up", one->what);
        hang_up(client);
        stop(server);
    }
}

Test(httpd, pipelined_requests_are_answered_in_order)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    send_text(client, "POST /1 HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nhi"
                      "GET /refused HTTP/1.1\r\n" HOST "\r\n"
                      "GET /3 HTTP/1.1\r\n" HOST "\r\n");
    await_answers(server, client, 3);
    cr_expect_eq(answers(client), 3, "%s", client->text);
    const char *second = strstr(client->text, " 429 ");
    cr_assert(second != NULL);
    cr_expect(strstr(second, " 200 ") != NULL, "%s", client->text);
    cr_expect_str_eq(server->target, "/3");
    hang_up(client);
    stop(server);
}

Test(httpd, the_target_is_kept_as_it_came)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    send_text(client, "GET /a%2Fb?x=%41&x=&=y?z HTTP/1.1\r\n" HOST "\r\n");
    await_answers(server, client, 1);
    cr_expect_str_eq(server->target, "/a%2Fb?x=%41&x=&=y?z");
    hang_up(client);
    stop(server);
}

Test(httpd, expect_100_is_answered_when_the_head_is_good)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    send_text(client,
              "POST /a HTTP/1.1\r\n" HOST "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    while (client->len == 0 && !client->ended)
        turn(server, client, 100);
    cr_expect_eq(strncmp(client->text, "HTTP/1.1 100", 12), 0, "%s", client->text);
    send_text(client, "hi");
    await_answers(server, client, 1);
    cr_expect_eq(status_of(client), 200);
    cr_expect_str_eq(server->body, "hi");
    hang_up(client);
    stop(server);
}

Test(httpd, expect_100_is_refused_at_once_when_it_is_not)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    send_text(client,
              "POST /a HTTP/1.1\r\n" HOST "Content-Length: 5000\r\nExpect: 100-continue\r\n\r\n");
    await_answers(server, client, 1);
    cr_expect_eq(status_of(client), 413, "%s", client->text);
    cr_expect(strstr(client->text, "100 Continue") == NULL);
    hang_up(client);
    stop(server);
}

Test(httpd, a_head_without_end_is_bounded)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    send_text(client, "GET /a HTTP/1.1\r\n" HOST);
    for (int i = 0; i < 20000 && !client->ended && client->len == 0; i++) {
        send_text(client, "x-filler: 0123456789012345678901234567890123456789\r\n");
        turn(server, client, 0);
    }
    await_end(server, client);
    int status = status_of(client);
    cr_expect(status == 431 || status == 413 || status == 0, "%d", status);
    cr_expect_eq(server->heads, 0);
    hang_up(client);
    stop(server);
}

Test(httpd, more_fields_than_anybody_needs)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    send_text(client, "GET /a HTTP/1.1\r\n" HOST);
    for (int i = 0; i < PR_HTTPD_HEADERS_MAX; i++)
        send_text(client, "a: b\r\n");
    send_text(client, "\r\n");
    await_answers(server, client, 1);
    cr_expect_eq(status_of(client), 431, "%s", client->text);
    hang_up(client);
    stop(server);
}

Test(httpd, a_chunked_body_without_end_is_dropped_and_hung_up_on)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    send_text(client, "POST /a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 100000 && !client->ended; i++) {
        send_text(client, "20\r\n01234567890123456789012345678901\r\n");
        turn(server, client, 0);
        cr_assert_leq(pr_httpd_stats(server->httpd).body_bytes, 1024);
    }
    await_end(server, client);
    cr_expect_eq(server->wholes, 0);
    cr_expect_eq(pr_httpd_stats(server->httpd).body_bytes, 0);
    hang_up(client);
    stop(server);
}

Test(httpd, a_chunked_body_a_little_too_large_is_told_so)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    send_text(client, "POST /small HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
                      "9\r\n123456789\r\n0\r\n\r\n");
    await_answers(server, client, 1);
    cr_expect_eq(status_of(client), 413, "%s", client->text);
    cr_expect_eq(server->wholes, 0);
    hang_up(client);
    stop(server);
}

Test(httpd, all_bodies_together_are_bounded)
{
    enum { MANY = 6 };
    server_t *server = start();
    client_t *clients[MANY];
    char part[1000];
    memset(part, 'x', sizeof part);
    for (int i = 0; i < MANY; i++) { /* each holds a thousand bytes and does not end */
        clients[i] = connect_to(server);
        send_text(clients[i], "POST /a HTTP/1.1\r\n" HOST "Content-Length: 1001\r\n\r\n");
        send_bytes(clients[i], part, sizeof part);
        settle(server);
    }
    cr_expect_leq(pr_httpd_stats(server->httpd).body_bytes, 4096);
    send_text(clients[MANY - 1], "x");
    await_answers(server, clients[MANY - 1], 1);
    cr_expect_eq(status_of(clients[MANY - 1]), 503, "%s", clients[MANY - 1]->text);
    cr_expect(strstr(clients[MANY - 1]->text, "Retry-After") != NULL);
    send_text(clients[0], "x");
    await_answers(server, clients[0], 1);
    cr_expect_eq(status_of(clients[0]), 200, "%s", clients[0]->text);
    for (int i = 0; i < MANY; i++)
        hang_up(clients[i]);
    stop(server);
}

/* ---- time ---- */

Test(httpd, a_head_that_drips_ends_at_its_deadline)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    settle(server);
    const char *text = "GET /a HTTP/1.1\r\nHost: a\r\nx: 1234567890";
    for (int i = 0; i < 30; i++) { /* a byte each 33 ms: never idle */
        send_bytes(client, text + i, 1);
        server->now_ms += 33;
        turn(server, client, 0);
        cr_expect(!client->ended, "hung up too early");
    }
    server->now_ms += 33;
    await_end(server, client);
    cr_expect_eq(client->len, 0);
    cr_expect_eq(pr_httpd_stats(server->httpd).expired, 1);
    hang_up(client);
    stop(server);
}

Test(httpd, a_body_that_drips_ends_at_its_deadline)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    send_text(client, "POST /a HTTP/1.1\r\n" HOST "Content-Length: 500\r\n\r\n");
    while (server->heads == 0)
        turn(server, client, 100);
    for (int i = 0; i < 19; i++) {
        send_text(client, "x");
        server->now_ms += 100;
        turn(server, client, 0);
        cr_expect(!client->ended, "hung up too early");
    }
    server->now_ms += 100;
    await_end(server, client);
    cr_expect_eq(server->wholes, 0);
    hang_up(client);
    stop(server);
}

Test(httpd, an_idle_connection_ends)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    send_text(client, "GET /a HTTP/1.1\r\n" HOST "\r\n");
    await_answers(server, client, 1);
    settle(server);
    server->now_ms += 4999;
    settle(server);
    turn(server, client, 0);
    cr_expect(!client->ended, "hung up too early");
    server->now_ms += 1;
    await_end(server, client);
    hang_up(client);
    stop(server);
}

Test(httpd, work_has_no_deadline_and_is_answered_later)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    send_text(client, "GET /later HTTP/1.1\r\n" HOST "\r\n");
    while (!server->kept)
        turn(server, client, 100);
    server->now_ms += 3600 * 1000;
    settle(server);
    cr_expect_eq(client->len, 0);
    reply_text(server->kept, 200, "later");
    await_answers(server, client, 1);
    cr_expect(strstr(client->text, "later") != NULL, "%s", client->text);
    hang_up(client);
    stop(server);
}

Test(httpd, a_body_that_comes_behind_its_head_is_answered_later_too)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    send_text(client, "POST /later HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\n");
    settle(server);
    send_text(client, "body");
    while (!server->kept)
        turn(server, client, 100);
    cr_expect_str_eq(server->body, "body");
    settle(server);
    reply_text(server->kept, 200, "later");
    await_answers(server, client, 1);
    cr_expect(strstr(client->text, "later") != NULL, "%s", client->text);
    hang_up(client);
    stop(server);
}

Test(httpd, a_client_that_left_does_not_end_its_request)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    send_text(client, "GET /later HTTP/1.1\r\n" HOST "\r\n");
    while (!server->kept)
        turn(server, client, 100);
    hang_up(client);
    settle(server);
    cr_expect_str_eq(pr_httpd_target(server->kept), "/later");
    reply_text(server->kept, 200, "later");
    int64_t deadline_ms = pr_clock_mono_ms() + PATIENCE_MS;
    while (pr_httpd_stats(server->httpd).connections > 0 && pr_clock_mono_ms() < deadline_ms)
        turn(server, NULL, 100);
    cr_expect_eq(pr_httpd_stats(server->httpd).connections, 0);
    stop(server);
}

/* ---- many ---- */

Test(httpd, a_full_house_makes_room_for_the_next)
{
    enum { MANY = 64 };
    server_t *server = start();
    client_t *clients[MANY];
    for (int i = 0; i < MANY; i++) { /* four times as many as there are places, all silent */
        char address[32];
        snprintf(address, sizeof address, "127.0.1.%d", i + 1);
        clients[i] = connect_from(server, address);
        settle(server);
    }
    client_t *good = connect_to(server);
    send_text(good, "GET /a HTTP/1.1\r\n" HOST "\r\n");
    await_answers(server, good, 1);
    cr_expect_eq(status_of(good), 200, "%s", good->text);
    cr_expect_leq(pr_httpd_stats(server->httpd).connections, 16 + 1);
    cr_expect_geq(pr_httpd_stats(server->httpd).displaced, MANY - 16);
    hang_up(good);
    for (int i = 0; i < MANY; i++)
        hang_up(clients[i]);
    stop(server);
}

Test(httpd, one_address_has_its_share_and_no_more)
{
    enum { MANY = 8 };
    server_t *server = PR_NEW(server_t);
    pr_httpd_options_t options = options_of(server);
    options.max_per_address = 3;
    start_with(server, &options);
    client_t *clients[MANY];
    for (int i = 0; i < MANY; i++) {
        clients[i] = connect_from(server, "127.0.1.1");
        settle(server);
    }
    cr_expect_eq(pr_httpd_stats(server->httpd).connections, 3);
    cr_expect_eq(pr_httpd_stats(server->httpd).refused_address, MANY - 3);
    client_t *other = connect_from(server, "127.0.1.2");
    send_text(other, "GET /a HTTP/1.1\r\n" HOST "\r\n");
    await_answers(server, other, 1);
    cr_expect_eq(status_of(other), 200);
    for (int i = 0; i < MANY; i++)
        hang_up(clients[i]);
    settle(server);
    client_t *again = connect_from(server, "127.0.1.1");
    send_text(again, "GET /a HTTP/1.1\r\n" HOST "\r\n");
    await_answers(server, again, 1);
    cr_expect_eq(status_of(again), 200, "its places came back");
    hang_up(other);
    hang_up(again);
    stop(server);
}

Test(httpd, a_trusted_proxy_says_whom_it_is_from)
{
    server_t *server = PR_NEW(server_t);
    pr_httpd_options_t options = options_of(server);
    pr_allow_list_t trusted;
    pr_error_t error = {0};
    cr_assert_eq(pr_allow_parse("127.0.1.0/24", &trusted, &error), PR_OK);
    options.trusted = &trusted;
    options.max_per_address = 0; /* holds for others only */
    start_with(server, &options);
    client_t *proxy = connect_from(server, "127.0.1.1");
    send_text(proxy, "GET /a HTTP/1.1\r\n" HOST "X-Forwarded-For: 1.1.1.1, 203.0.113.9\r\n\r\n");
    await_answers(server, proxy, 1);
    cr_expect_str_eq(server->client, "203.0.113.9");
    hang_up(proxy);
    stop(server);
}

Test(httpd, a_draining_server_answers_and_takes_no_more)
{
    server_t *server = start();
    client_t *idle = connect_to(server);
    client_t *busy = connect_to(server);
    send_text(busy, "GET /later HTTP/1.1\r\n" HOST "\r\n");
    while (!server->kept)
        turn(server, busy, 100);
    settle(server);
    pr_httpd_drain(server->httpd);
    await_end(server, idle);
    cr_expect(!pr_httpd_drained(server->httpd));
    reply_text(server->kept, 200, "later");
    await_end(server, busy);
    cr_expect(strstr(busy->text, "later") != NULL, "%s", busy->text);
    settle(server);
    cr_expect(pr_httpd_drained(server->httpd));
    hang_up(idle);
    hang_up(busy);
    stop(server);
}

Test(httpd, the_end_answers_whoever_waits)
{
    server_t *server = start();
    client_t *client = connect_to(server);
    send_text(client, "GET /later HTTP/1.1\r\n" HOST "\r\n");
    while (!server->kept)
        turn(server, client, 100);
    stop(server);
    receive(client);
    cr_expect_eq(status_of(client), 503, "%s", client->text);
    hang_up(client);
}

Test(httpd, an_address_in_use_is_for_later)
{
    server_t *server = start();
    char taken[64];
    pr_error_t error = {0};
    pr_httpd_t *second = NULL;
    pr_httpd_options_t options = options_of(server);
    snprintf(taken, sizeof taken, "127.0.0.1:%d", pr_httpd_port(server->httpd));
    options.listen = taken;
    cr_expect_eq(pr_httpd_new(&options, &second, &error), PR_AGAIN, "%s", error.text);
    static const char *const malformed[] = {
        "", "127.0.0.1", ":80", "[::1:80", "localhost:80", "127.0.0.1:", "127.0.0.1:http", "[]:80"};
    for (size_t i = 0; i < PR_COUNT(malformed); i++) {
        options.listen = malformed[i];
        cr_expect_eq(pr_httpd_new(&options, &second, &error), PR_BAD, "%s", malformed[i]);
    }
    stop(server);
}
