/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the answer to a request: done is called exactly once, within the bounds of what is
 * read and kept, and the connection count is right afterwards. The receiver is a socket in this
 * same thread. libcurl itself is not instrumented; our callbacks and bookkeeping are.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "http/http.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define READ_MAX 4096u
#define HEADERS_MAX 8192u

static pr_http_t *http;
static int listener;
static char url[64];
static int done;

static void on_done(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    (void)arg, (void)now_ms;
    done++;
    pr_assert(response->body.len <= READ_MAX);
    pr_assert(!response->truncated || response->body.len == READ_MAX);
    pr_assert(strlen(response->retry_after) < 128);
    pr_assert(response->error != PR_HTTP_OK || response->code >= 100);
    pr_assert(pr_http_error_name(response->error) != NULL);
}

static void begin(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
    socklen_t len = sizeof(address);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    pr_assert(bind(listener, (struct sockaddr *)&address, len) == 0 && listen(listener, 8) == 0);
    pr_assert(getsockname(listener, (struct sockaddr *)&address, &len) == 0);
    PR_CLEANUP_FREE char *text = pr_asprintf("http://127.0.0.1:%d/", ntohs(address.sin_port));
    memcpy(url, text, strlen(text) + 1);
    pr_http_limits_t limits = {.max_read_bytes = READ_MAX,
                               .max_header_bytes = HEADERS_MAX,
                               .first_byte_ms = 200,
                               .total_ms = 300};
    http = pr_http_new(&limits);
}

/* The receiver's side: takes each connection, reads what is there, answers, closes. */
static void receive(const uint8_t *data, size_t size)
{
    char request[4096];
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (poll(&ready, 1, 0) > 0)
        (void)!read(fd, request, sizeof(request));
    struct timeval patience = {.tv_usec = 1000};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    (void)send(fd, data, size, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    if (poll(&ready, 1, 0) > 0)
        (void)!read(fd, request, sizeof(request));
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (http == NULL)
        begin();
    done = 0;
    pr_http_request_t request = {.url = url, .body = pr_bytes_text("{}"), .done = on_done};
    pr_assert(pr_http_start(http, &request, pr_clock_mono_ms(), NULL) == PR_OK);
    while (done == 0) {
        struct pollfd fds[] = {{.fd = pr_http_fd(http), .events = POLLIN},
                               {.fd = listener, .events = POLLIN}};
        pr_http_run(http, pr_clock_mono_ms());
        poll(fds, 2, pr_http_due_at_ms(http) <= pr_clock_mono_ms() ? 0 : 1);
        receive(data, size);
    }
    pr_http_stats_t stats = pr_http_stats(http);
    pr_assert(done == 1 && stats.in_flight == 0);
    pr_assert(stats.sockets >= 0 && stats.sockets <= 21);
    return 0;
}
