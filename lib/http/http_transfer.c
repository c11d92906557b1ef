/* SPDX-License-Identifier: Apache-2.0
 *
 * One transfer: its easy handle, what libcurl calls back about it, and its options.
 *
 * Each request has a handle of its own, a copy of one template that has all options which never
 * differ and is never performed itself. A handle must NOT be used twice with libcurl 7.88: it keeps
 * a pointer to the last header of the response before (state.prevhead), and an answer whose first
 * header line begins with a space, as if it were folded, makes it read freed memory. Any
 * receiver can send that; tests/fuzz/fuzz_http_response.c found it. curl_easy_reset does not help.
 * Connections are kept all the same: they belong to the multi handle.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "core/egress.h"
#include "core/retry_after.h"
#include "http/http_internal.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define REQUEST_TEXT_MAX (96u * 1024u) /* all header lines of a request */
#define KEEP_ROOM_BYTES 8192u          /* a buffer that grew beyond is given back after use */
#define RECEIVE_BUFFER_BYTES 8192L
#define SEND_BUFFER_BYTES 16384L /* libcurl's least; TLS sends through it */

/* Setting an option fails only for a full heap (a bug by our rules) or an unknown option (a bug).
 * */
#define SET(easy, option, value) pr_assert(curl_easy_setopt(easy, option, value) == CURLE_OK)

/* Of what the request asked for: an error's text is small, and for its judge. */
static bool is_for_sink(const transfer_t *self)
{
    long code = 0;
    return self->sink != NULL &&
           curl_easy_getinfo(self->easy, CURLINFO_RESPONSE_CODE, &code) == CURLE_OK &&
           code >= 200 && code <= 299;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    transfer_t *self = arg;
    size_t len = size * count;
    if (is_for_sink(self)) {
        self->truncated = !self->sink(self->arg, pr_bytes(bytes, len));
        return self->truncated ? 0 : len;
    }
    size_t room = self->body.max_bytes - self->body.len;
    size_t take = len < room ? len : room;
    if (take > 0 && pr_buffer_append(&self->body, bytes, take) != PR_OK)
        return 0; /* cannot be: take fits */
    if (take == len)
        return len;
    self->truncated = true;
    return 0; /* ends the transfer with CURLE_WRITE_ERROR; its connection is closed */
}

/* libcurl takes a length that it cannot read for none at all, and the body for whole when the
 * connection closes. We do not: a length is digits, and fits. */
static bool length_is_bad(const char *line, size_t len)
{
    static const char name[] = "content-length:";
    const size_t name_len = sizeof(name) - 1;
    if (len < name_len || strncasecmp(line, name, name_len) != 0)
        return false;
    size_t digits = 0;
    for (size_t i = name_len; i < len; i++) {
        if (line[i] >= '0' && line[i] <= '9')
            digits++;
        else if (strchr(" \t\r\n", line[i]) == NULL || line[i] == '\0')
            return true;
    }
    return digits == 0 || digits > 18;
}

/* -1: nothing that can be read. */
static int64_t asked_ms(const char *value)
{
    int64_t ms = -1;
    int64_t now_s = pr_clock_wall_us() / 1000000;
    return pr_retry_after_parse(pr_bytes_text(value), now_s, INT64_MAX, &ms) ? ms : -1;
}

/* Of several the longest wait counts. */
static void keep_retry_after(transfer_t *self, const char *line, size_t len)
{
    static const char name[] = "retry-after:";
    const size_t name_len = sizeof(name) - 1;
    if (len <= name_len || strncasecmp(line, name, name_len) != 0)
        return;
    const char *value = line + name_len;
    const char *end = line + len;
    char found[RETRY_AFTER_MAX];
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' '))
        end--;
    size_t take = (size_t)(end - value);
    take = take < RETRY_AFTER_MAX - 1 ? take : RETRY_AFTER_MAX - 1;
    memcpy(found, value, take);
    found[take] = '\0';
    if (self->retry_after[0] == '\0' || asked_ms(found) > asked_ms(self->retry_after))
        memcpy(self->retry_after, found, take + 1);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* What has no name of its own (a folded line, no colon) or holds a NUL is left out. */
static void keep_header(transfer_t *self, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    if (colon == NULL || colon == line || is_space(line[0]) || memchr(line, '\0', len) != NULL)
        return;
    const char *value = colon + 1;
    const char *end = line + len;
    while (value < end && is_space(*value))
        value++;
    while (end > value && is_space(end[-1]))
        end--;
    size_t before = self->headers.len;
    if (pr_buffer_append(&self->headers, line, (size_t)(colon - line)) != PR_OK ||
        pr_buffer_append(&self->headers, "", 1) != PR_OK ||
        pr_buffer_append(&self->headers, value, (size_t)(end - value)) != PR_OK ||
        pr_buffer_append(&self->headers, "", 1) != PR_OK)
        self->headers.len = before; /* cannot be: all lines together are bounded */
}

bool pr_http_header_next(pr_bytes_t headers, size_t *cursor, const char **name, const char **value)
{
    if (*cursor >= headers.len)
        return false;
    *name = (const char *)headers.data + *cursor;
    *value = *name + strlen(*name) + 1;
    *cursor = (size_t)(*value + strlen(*value) + 1 - (const char *)headers.data);
    return true;
}

/* Headers are over: this connection is idle in a moment. If the pool is full it is not to join it.
 * (After a 1xx that is too early by a moment, and no harm.) */
static void decide_reuse(transfer_t *self)
{
    host_t *host = self->host;
    if (self->busy)
        host->busy--;
    self->busy = false;
    if (host->sockets - host->busy > self->http->limits.pool_per_host)
        SET(self->easy, CURLOPT_FORBID_REUSE, 1L);
}

static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
    transfer_t *self = arg;
    size_t len = size * count;
    self->header_bytes += len;
    if (self->header_bytes > self->http->limits.max_header_bytes) {
        self->headers_too_large = true;
        return 0;
    }
    if (self->phase != PHASE_BODY) {
        self->phase = PHASE_BODY;
        self->phase_at_ms = INT64_MAX;
    }
    if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        self->retry_after[0] = '\0'; /* the final response's counts, not a 1xx one's */
        self->headers_whole = false;
        pr_buffer_clear(&self->headers);
        return len;
    }
    if (self->headers_whole)
        return len; /* a trailer field: no header (RFC 9110, 6.5.1) */
    if (self->keep_headers)
        keep_header(self, line, len);
    if (len <= 2) {
        self->headers_whole = true;
        decide_reuse(self);
    } else if ((line[0] | 0x20) == 'r') {
        keep_retry_after(self, line, len);
    } else if ((line[0] | 0x20) == 'c' && length_is_bad(line, len)) {
        self->headers_bad = true;
        return 0;
    }
    return len;
}

/* TCP is connected, the TLS handshake begins. */
static CURLcode on_tls(CURL *easy, void *context, void *arg)
{
    (void)easy, (void)context;
    transfer_t *self = arg;
    self->phase = PHASE_TLS;
    self->phase_at_ms = self->http->now_ms + self->http->limits.tls_ms;
    return CURLE_OK;
}

/* The connection is ready, the request is about to go out. More than once: libcurl repeats it.
 * A spoiled connection is closed by the refusal; second_chance() in http.c takes a new one. */
static int on_request(void *arg, char *peer, char *local, int peer_port, int local_port)
{
    (void)peer, (void)local, (void)peer_port;
    transfer_t *self = arg;
    if (idle_is_spoiled(self, local_port)) {
        self->spoiled = true;
        self->http->stats.spoiled++;
        return CURL_PREREQFUNC_ABORT;
    }
    self->phase = PHASE_WAIT;
    self->phase_at_ms = self->http->now_ms + self->http->limits.first_byte_ms;
    if (++self->sends > 1)
        self->http->stats.resent++;
    return CURL_PREREQFUNC_OK;
}

static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    transfer_t *self = arg;
    pr_http_t *http = self->http;
    if (purpose != CURLSOCKTYPE_IPCXN)
        return CURL_SOCKET_BAD;
    if (!self->proxied && http->limits.guard != NULL &&
        !http->limits.guard(http->limits.guard_arg, &address->addr, (socklen_t)address->addrlen)) {
        self->addresses_refused++;
        http->stats.refused_addresses++;
        return CURL_SOCKET_BAD;
    }
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd < 0)
        return CURL_SOCKET_BAD;
    if (self->sockets_opened < OPENED_MAX)
        self->opened[self->sockets_opened] = fd;
    self->sockets_opened++;
    host_socket_opened(http, self->host, fd);
    return fd;
}

static int on_close(void *arg, curl_socket_t fd)
{
    host_socket_closed(arg, fd);
    return close(fd);
}

/* What a copy of the template has of its own. */
static void set_owner(transfer_t *self)
{
    CURL *easy = self->easy;
    SET(easy, CURLOPT_PRIVATE, self);
    SET(easy, CURLOPT_WRITEDATA, self);
    SET(easy, CURLOPT_HEADERDATA, self);
    SET(easy, CURLOPT_PREREQDATA, self);
    SET(easy, CURLOPT_SSL_CTX_DATA, self);
    SET(easy, CURLOPT_OPENSOCKETDATA, self);
}

static void set_callbacks(pr_http_t *http, CURL *easy)
{
    SET(easy, CURLOPT_WRITEFUNCTION, on_body);
    SET(easy, CURLOPT_HEADERFUNCTION, on_header);
    SET(easy, CURLOPT_PREREQFUNCTION, on_request);
    SET(easy, CURLOPT_SSL_CTX_FUNCTION, on_tls);
    SET(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    /* A connection outlives the transfer that made it: its close belongs to the whole. */
    SET(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    SET(easy, CURLOPT_CLOSESOCKETDATA, http);
}

/* The system's bundle goes in by file name and without a directory: only so does libcurl keep the
 * parsed store for the next connection; parsing it takes 20 ms. */
static void set_system_ca(CURL *easy)
{
    const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
    SET(easy, CURLOPT_CAINFO, info->cainfo);
    SET(easy, CURLOPT_CAPATH, info->cainfo != NULL ? NULL : info->capath);
}

static void set_constants(const pr_http_limits_t *limits, CURL *easy)
{
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    SET(easy, CURLOPT_QUICK_EXIT, 1L); /* else a hanging look-up is joined, and blocks us all */
    SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
    SET(easy, CURLOPT_HTTP09_ALLOWED, 0L);
    SET(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    SET(easy, CURLOPT_PATH_AS_IS, 1L);
    SET(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(easy, CURLOPT_PROXY, ""); /* "" shuts the environment out */
    SET(easy, CURLOPT_NOPROXY, "");
    SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(easy, CURLOPT_ACCEPT_ENCODING, NULL);
    SET(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    SET(easy, CURLOPT_USERAGENT, limits->user_agent);
    SET(easy, CURLOPT_BUFFERSIZE, RECEIVE_BUFFER_BYTES);
    SET(easy, CURLOPT_UPLOAD_BUFFERSIZE, SEND_BUFFER_BYTES);
    SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    SET(easy, CURLOPT_TCP_KEEPIDLE, (long)limits->tcp_keepalive_s);
    SET(easy, CURLOPT_TCP_KEEPINTVL, (long)limits->tcp_keepalive_s);
    SET(easy, CURLOPT_MAXAGE_CONN, (long)((limits->idle_ms + 999) / 1000));
    SET(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    SET(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    /* http.c's sweep tells the two waits apart; this is the floor under it. */
    SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(limits->connect_ms + limits->tls_ms + 500));
    SET(easy, CURLOPT_POST, 1L);
}

CURL *transfer_template(pr_http_t *http)
{
    CURL *easy = curl_easy_init();
    pr_assert(easy != NULL);
    set_callbacks(http, easy);
    set_constants(&http->limits, easy);
    set_system_ca(easy);
    return easy;
}

transfer_t *transfer_new(pr_http_t *http)
{
    transfer_t *self = PR_NEW(transfer_t);
    self->http = http;
    self->lines = pr_calloc(PR_HTTP_HEADERS_MAX, sizeof(*self->lines));
    pr_buffer_init(&self->body, http->limits.max_read_bytes);
    pr_buffer_init(&self->headers, http->limits.max_header_bytes + 64);
    pr_buffer_init(&self->text, REQUEST_TEXT_MAX);
    return self;
}

void transfer_rest(transfer_t *self)
{
    if (self->easy != NULL)
        curl_easy_cleanup(self->easy);
    self->easy = NULL;
    self->phase = PHASE_IDLE;
    self->done = NULL;
    if (self->body.room > KEEP_ROOM_BYTES)
        pr_buffer_free(&self->body);
    if (self->text.room > KEEP_ROOM_BYTES)
        pr_buffer_free(&self->text);
    pr_buffer_free(&self->headers); /* few want them */
}

void transfer_destroy(transfer_t **self)
{
    transfer_t *transfer = *self;
    *self = NULL;
    if (transfer == NULL)
        return;
    transfer_rest(transfer);
    pr_buffer_free(&transfer->body);
    pr_buffer_free(&transfer->text);
    pr_free(transfer->lines);
    pr_free(transfer);
}

static bool line_ok(const char *line)
{
    const char *colon = strchr(line, ':');
    return colon != NULL && colon != line && strpbrk(line, "\r\n") == NULL;
}

/* A name without a value would make libcurl leave the header out; "Name;" sends it empty. */
static void mark_empty_value(char *line)
{
    char *colon = strchr(line, ':');
    if (colon[1 + strspn(colon + 1, " \t")] == '\0') {
        colon[0] = ';';
        colon[1] = '\0';
    }
}

/* libcurl wants a linked list of C strings; ours points into one buffer, so nothing is allocated.
 * */
static pr_rc_t link_headers(transfer_t *self, const pr_http_request_t *request, pr_error_t *error)
{
    if (request->header_count > PR_HTTP_HEADERS_MAX)
        return pr_error_set(error, PR_BAD, "http", "", "more than %d headers", PR_HTTP_HEADERS_MAX);
    pr_buffer_clear(&self->text);
    for (int i = 0; i < request->header_count; i++) {
        const char *line = request->headers[i];
        if (!line_ok(line))
            return pr_error_set(error, PR_BAD, "http", "", "header %d is not a header line", i);
        if (pr_buffer_append(&self->text, line, strlen(line) + 1) != PR_OK)
            return pr_error_set(error, PR_BAD, "http", "", "headers larger than %u bytes",
                                REQUEST_TEXT_MAX);
    }
    char *text = (char *)self->text.data;
    for (int i = 0; i < request->header_count; i++) {
        self->lines[i].data = text;
        self->lines[i].next = i + 1 < request->header_count ? &self->lines[i + 1] : NULL;
        text += strlen(text) + 1;
        mark_empty_value(self->lines[i].data);
    }
    SET(self->easy, CURLOPT_HTTPHEADER, request->header_count > 0 ? self->lines : NULL);
    return PR_OK;
}

static const char *after_prefix(const char *text, const char *prefix)
{
    size_t len = strlen(prefix);
    return strncmp(text, prefix, len) == 0 && text[len] != '\0' ? text + len : NULL;
}

static bool is_proxy(const char *egress)
{
    return after_prefix(egress, "http://") != NULL || after_prefix(egress, "https://") != NULL ||
           after_prefix(egress, "socks5://") != NULL || after_prefix(egress, "socks5h://") != NULL;
}

static pr_rc_t set_egress(transfer_t *self, const char *egress, pr_error_t *error)
{
    egress = egress == NULL ? "" : egress;
    if (!pr_egress_ok(egress))
        return pr_error_set(error, PR_BAD, "http", "",
                            "egress must be http://, https://, socks5://, socks5h://, "
                            "address:IP or interface:NAME");
    const char *address = after_prefix(egress, "address:");
    const char *name = after_prefix(egress, "interface:");
    PR_CLEANUP_FREE char *from = address != NULL ? pr_asprintf("host!%s", address)
                                 : name != NULL  ? pr_asprintf("if!%s", name)
                                                 : NULL;
    self->proxied = is_proxy(egress);
    if (self->proxied)
        SET(self->easy, CURLOPT_PROXY, egress);
    if (from != NULL)
        SET(self->easy, CURLOPT_INTERFACE, from);
    return PR_OK;
}

static void set_ca(transfer_t *self, const char *ca_pem)
{
    if (ca_pem == NULL || ca_pem[0] == '\0')
        return;
    struct curl_blob blob = {(void *)(uintptr_t)ca_pem, strlen(ca_pem), CURL_BLOB_COPY};
    SET(self->easy, CURLOPT_CAINFO_BLOB, &blob); /* instead of the system's bundle */
    SET(self->easy, CURLOPT_CAPATH, NULL);
}

static void set_method(transfer_t *self, const pr_http_request_t *request)
{
    CURL *easy = self->easy;
    if (request->method != NULL && strcmp(request->method, "GET") == 0) {
        SET(easy, CURLOPT_HTTPGET, 1L);
        return;
    }
    SET(easy, CURLOPT_POSTFIELDSIZE, (long)request->body.len);
    SET(easy, CURLOPT_POSTFIELDS, request->body.len > 0 ? (const char *)request->body.data : "");
    if (request->method != NULL && strcmp(request->method, "POST") != 0)
        SET(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

/* In TLS only: without ALPN libcurl learns from the first answer that a connection serves one
 * request at a time, and all others to that host would wait for it. */
static void set_http2(transfer_t *self, const char *url)
{
    if (strncasecmp(url, "https:", 6) != 0)
        return;
    SET(self->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    /* One connection serves many: wait for it rather than open another beside it. */
    SET(self->easy, CURLOPT_PIPEWAIT, 1L);
}

pr_rc_t transfer_prepare(transfer_t *self, const pr_http_request_t *request, pr_error_t *error)
{
    self->easy = curl_easy_duphandle(self->http->template);
    pr_assert(self->easy != NULL);
    set_owner(self);
    pr_rc_t rc = link_headers(self, request, error);
    if (rc == PR_OK)
        rc = set_egress(self, request->egress, error);
    if (rc != PR_OK)
        return rc;
    set_ca(self, request->ca_pem);
    if (request->http2)
        set_http2(self, request->url);
    int64_t total_ms = request->total_ms > 0 ? request->total_ms : self->http->limits.total_ms;
    total_ms = total_ms < INT_MAX ? total_ms : INT_MAX;
    CURL *easy = self->easy;
    SET(easy, CURLOPT_URL, request->url);
    set_method(self, request);
    if (request->fresh) {
        SET(easy, CURLOPT_FRESH_CONNECT, 1L);
        SET(easy, CURLOPT_FORBID_REUSE, 1L);
    }
    SET(easy, CURLOPT_TIMEOUT_MS, (long)total_ms + 500); /* the floor under http.c's sweep */
    self->total_at_ms = self->http->now_ms + total_ms;
    self->done = request->done;
    self->arg = request->arg;
    self->sends = self->sockets_opened = self->addresses_refused = 0;
    self->truncated = self->headers_too_large = false;
    self->headers_bad = self->headers_whole = self->spoiled = false;
    self->fresh = request->fresh;
    self->keep_headers = request->keep_headers;
    self->sink = request->sink;
    self->header_bytes = 0;
    self->retry_after[0] = '\0';
    pr_buffer_clear(&self->body);
    pr_buffer_clear(&self->headers);
    return PR_OK;
}
