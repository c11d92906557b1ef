/* SPDX-License-Identifier: Apache-2.0
 *
 * The server's life: listening, turning, draining, ending.
 */
#include "httpd/httpd.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "httpd/httpd_private.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024
#define POOL_EXTRA_BYTES \
    ((size_t)8 * 1024)       /* libmicrohttpd's records of 64 fields, and a reply's head */
#define CONNECTIONS_EXTRA 64 /* shut by us, not yet closed by libmicrohttpd */

/* ---- listening ---- */

/* "HOST:PORT" -> host without brackets, port. */
static bool split_address(const char *text, char host[256], const char **port)
{
    const char *colon = strrchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : 0;
    if (len == 0 || len >= 256 || colon[1] == '\0')
        return false;
    bool bracketed = text[0] == '[';
    if (bracketed && (len < 3 || text[len - 1] != ']'))
        return false;
    snprintf(host, 256, "%.*s", (int)(bracketed ? len - 2 : len), bracketed ? text + 1 : text);
    *port = colon + 1;
    return true;
}

static int listen_on(const struct addrinfo *address)
{
    int one = 1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int failure = errno;
    close(fd);
    errno = failure;
    return -1;
}

static pr_rc_t open_socket(const char *listen_text, int *fd, pr_error_t *error)
{
    char host[256];
    const char *port = NULL;
    struct addrinfo *found = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV};
    if (!split_address(listen_text, host, &port) || getaddrinfo(host, port, &hints, &found) != 0)
        return pr_error_set(error, PR_BAD, "httpd", "",
                            "%s is no address to listen on: IP:PORT or [IPv6]:PORT", listen_text);
    *fd = listen_on(found);
    int failure = errno;
    freeaddrinfo(found);
    if (*fd >= 0)
        return PR_OK;
    return pr_error_set(error, PR_AGAIN, "httpd", strerrorname_np(failure),
                        "cannot listen on %s: %s", listen_text, strerrordesc_np(failure));
}

static int port_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;
    uint16_t port = 0;
    pr_ip_t ip;
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0 ||
        !pr_ip_from_sockaddr(&address, len, &ip, &port))
        return 0;
    return port;
}

/* ---- libmicrohttpd's callbacks ---- */

static enum MHD_Result on_accept(void *arg, const struct sockaddr *address, socklen_t len)
{
    return httpd_may_connect(arg, address, len) ? MHD_YES : MHD_NO;
}

static void on_connection(void *arg, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    pr_httpd_t *self = arg;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *fd =
            MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
        const union MHD_ConnectionInfo *address =
            MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        *context = httpd_connected(self, fd->connect_fd, address ? address->client_addr : NULL);
    } else if (*context) {
        httpd_closed(self, *context);
        *context = NULL;
    }
}

/* Percent-escapes stay: the router decodes what it has split. */
static size_t keep_escapes(void *arg, struct MHD_Connection *mhd, char *text)
{
    (void)arg, (void)mhd;
    return strlen(text);
}

static void on_log(void *arg, const char *format, va_list values) PR_PRINTF(2, 0);

static void on_log(void *arg, const char *format, va_list values)
{
    (void)arg;
    char text[256];
    vsnprintf(text, sizeof text, format, values);
    text[strcspn(text, "\n")] = '\0';
    pr_log_limited(PR_LOG_DEBUG, "httpd.library", "", "text=%s", text);
}

/* ---- life ---- */

static struct MHD_Daemon *start_daemon(pr_httpd_t *self, const pr_httpd_options_t *options, int fd)
{
    bool tls = options->certificate_pem && options->certificate_pem[0] != '\0';
    unsigned flags =
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | (tls ? MHD_USE_TLS : 0U);
    const struct MHD_OptionItem tls_options[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)options->certificate_pem},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)options->key_pem},
        {MHD_OPTION_HTTPS_PRIORITIES, 0,
         (void *)(uintptr_t) "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL}};
    const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(
        flags, 0, on_accept, self, httpd_on_access, self, /* the log first: it takes the rest */
        MHD_OPTION_EXTERNAL_LOGGER, on_log, self,         //
        MHD_OPTION_LISTEN_SOCKET, fd,                     //
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)(options->max_connections + CONNECTIONS_EXTRA),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->max_header_bytes + POOL_EXTRA_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, 0U,                     /* deadlines are ours */
        MHD_OPTION_STRICT_FOR_CLIENT, 1,                       //
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, self,     //
        MHD_OPTION_NOTIFY_COMPLETED, httpd_on_completed, self, //
        MHD_OPTION_URI_LOG_CALLBACK, httpd_on_target, self,    //
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,      //
        MHD_OPTION_ARRAY, tls ? tls_options : none, MHD_OPTION_END);
}

pr_rc_t pr_httpd_new(const pr_httpd_options_t *options, pr_httpd_t **out, pr_error_t *error)
{
    int fd = -1;
    pr_rc_t rc = open_socket(options->listen, &fd, error);
    if (rc != PR_OK)
        return rc;
    pr_httpd_t *self = PR_NEW(pr_httpd_t);
    self->options = *options;
    self->options.listen = self->options.certificate_pem = self->options.key_pem = NULL;
    self->port = port_of(fd);
    self->now_ms = pr_clock_mono_ms();
    self->addresses =
        pr_map_new((size_t)options->max_connections + CONNECTIONS_EXTRA, pr_random_u64());
    self->daemon = start_daemon(self, options, fd);
    if (!self->daemon) {
        close(fd);
        pr_map_destroy(&self->addresses);
        pr_free(self);
        return pr_error_set(error, PR_BAD, "httpd", "",
                            "the server does not start: does the certificate fit its key?");
    }
    self->epoll_fd = MHD_get_daemon_info(self->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    *out = self;
    return PR_OK;
}

void pr_httpd_destroy(pr_httpd_t **self)
{
    pr_httpd_t *server = *self;
    *self = NULL;
    if (!server)
        return;
    /* libmicrohttpd does not stop with suspended connections */
    for (httpd_connection_t *one = server->lists[PHASE_WORK].first; one; one = one->after)
        if (one->request && one->request->suspended)
            pr_httpd_reply_problem(one->request, 503, "stopping",
                                   "This server is stopping: send the request again.", 1);
    MHD_run(server->daemon);
    MHD_stop_daemon(server->daemon);
    pr_map_destroy(&server->addresses);
    pr_free(server);
}

int pr_httpd_fd(const pr_httpd_t *self)
{
    return self->epoll_fd;
}

int64_t pr_httpd_due_at_ms(const pr_httpd_t *self)
{
    int64_t due_ms = self->resumed ? self->now_ms : httpd_next_deadline_ms(self);
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;
    if (MHD_get_timeout(self->daemon, &wait_ms) == MHD_YES) {
        int64_t library_ms = self->now_ms + (wait_ms < 60000 ? (int64_t)wait_ms : 60000);
        due_ms = library_ms < due_ms ? library_ms : due_ms;
    }
    return due_ms;
}

void pr_httpd_run(pr_httpd_t *self, int64_t now_ms)
{
    self->now_ms = now_ms;
    self->resumed = false;
    httpd_cut_expired(self);
    MHD_run(self->daemon);
}

int pr_httpd_port(const pr_httpd_t *self)
{
    return self->port;
}

pr_httpd_stats_t pr_httpd_stats(const pr_httpd_t *self)
{
    pr_httpd_stats_t stats = self->stats;
    for (int phase = 0; phase < PHASES; phase++)
        stats.connections += self->counts[phase];
    return stats;
}

void pr_httpd_drain(pr_httpd_t *self)
{
    if (self->draining)
        return;
    self->draining = true;
    MHD_socket fd = MHD_quiesce_daemon(self->daemon);
    if (fd != MHD_INVALID_SOCKET)
        close(fd);
    while (self->lists[PHASE_OPENED].first)
        httpd_cut(self, self->lists[PHASE_OPENED].first);
    while (self->lists[PHASE_IDLE].first)
        httpd_cut(self, self->lists[PHASE_IDLE].first);
}

bool pr_httpd_drained(const pr_httpd_t *self)
{
    return self->draining && self->counts[PHASE_BODY] == 0 && self->counts[PHASE_WORK] == 0 &&
           self->counts[PHASE_SEND] == 0;
}
