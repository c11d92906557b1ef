/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP, outgoing: many requests at once on one thread. The only library that includes curl/curl.h.
 *
 * Model: one pr_http_t per process holds one libcurl multi handle and one epoll descriptor. The
 * owner watches pr_http_fd() for reading, sleeps no longer than pr_http_due_at_ms(), and calls
 * pr_http_run(). A request is started with pr_http_start() and ends with exactly one call of its
 * done function, made from pr_http_run() and from nowhere else.
 *
 * Bounds (N12): connect (DNS and TCP), TLS handshake, first response byte, and a total in which
 * the body is included; at most max_read_bytes of a body and max_header_bytes of all header lines
 * (1xx included) are read. What is larger is cut: the response then says `truncated`, and its
 * connection is closed. A request with a sink reads as much as its sink takes. Redirects are not followed, HTTP/0.9 is refused, content is not
 * decompressed, the environment's proxies, netrc and cookies are not used, credentials in a URL
 * are refused.
 *
 * Keep-alive: idle connections are kept for idle_ms, pool_per_host to one scheme+host+port
 * and pool_total in all. The bounds are for idle connections, not for requests under way: how many
 * of those there may be is the caller's decision, because a wait in here would count against the
 * request's timeout and let one slow receiver delay its neighbours on the same host.
 *
 * Stray input: what arrives on an idle HTTP/1.1 connection, an end included, belongs to no request
 * and spoils the connection: it is closed before anything is sent on it, and the request takes
 * a new one. An answer that comes once a request is out cannot be told from that request's own.
 *
 * Repeats: when a REUSED connection closes before a single response byte, libcurl 7.88 sends the
 * request again by itself on another connection, POST too, up to five times; when those were all
 * kept ones, we do so once more on a fresh one. That is right for notifications (same id, same
 * bytes; the receiver deduplicates) and wrong for calls that move money: those set `fresh`.
 * Response.sends and stats.resent count such repeats.
 *
 * Guard: `guard` is asked about the address that is about to be connected to, after DNS, for
 * each address tried. A request that had no other address ends as PR_HTTP_ADDRESS_REFUSED. With
 * a proxy the proxy's address is not asked about: the operator set it.
 *
 * Name look-ups run in libcurl's resolver threads; a hanging one is abandoned, not joined.
 */
#ifndef PR_HTTP_HTTP_H
#define PR_HTTP_HTTP_H

#include "base/buffer.h"
#include "base/error.h"
#include "core/judge.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct pr_http_t pr_http_t;

/* True: connecting to this address is allowed. */
typedef bool pr_http_guard_fn(void *arg, const struct sockaddr *address, socklen_t len);

/* 0 takes the default in brackets. */
typedef struct {
    int pool_per_host;       /* idle connections kept per scheme+host+port [20] */
    int pool_total;          /* idle connections kept in all [200] */
    int64_t idle_ms;         /* an idle connection older than this is not used again [90 000] */
    int64_t tcp_keepalive_s; /* [30] */
    int64_t connect_ms;      /* DNS and TCP [3 000] */
    int64_t tls_ms;          /* [3 000] */
    int64_t first_byte_ms;   /* from the connection's readiness to the first byte [5 000] */
    int64_t total_ms;        /* everything; a request may ask for less or more [10 000] */
    size_t max_read_bytes;   /* of a body [64 KiB] */
    size_t max_header_bytes; /* of all header lines of a response [32 KiB] */
    int max_in_flight;       /* pr_http_start answers PR_AGAIN beyond [4096] */
    const char *user_agent;  /* copied ["Postrider/VERSION"] */
    pr_http_guard_fn *guard; /* NULL: every address is allowed */
    void *guard_arg;
} pr_http_limits_t;

/* Why there is no complete response. Names (pr_http_error_name) are stable: they are stored. */
typedef enum {
    PR_HTTP_OK = 0, /* a complete response, or one cut at max_read_bytes */
    PR_HTTP_DNS,
    PR_HTTP_DNS_TIMEOUT,
    PR_HTTP_CONNECT,
    PR_HTTP_CONNECT_TIMEOUT,
    PR_HTTP_TLS,
    PR_HTTP_TLS_TIMEOUT,
    PR_HTTP_TLS_EXPIRED,
    PR_HTTP_TLS_SELF_SIGNED,
    PR_HTTP_TLS_UNTRUSTED,
    PR_HTTP_TLS_WRONG_HOST,
    PR_HTTP_FIRST_BYTE_TIMEOUT,
    PR_HTTP_TOTAL_TIMEOUT,
    PR_HTTP_SEND,
    PR_HTTP_RECEIVE,
    PR_HTTP_EMPTY,
    PR_HTTP_SHORT_BODY,
    PR_HTTP_BAD_RESPONSE,
    PR_HTTP_HEADERS_TOO_LARGE,
    PR_HTTP_HTTP2,
    PR_HTTP_PROXY,
    PR_HTTP_ADDRESS_REFUSED,
    PR_HTTP_BAD_URL,
    PR_HTTP_BAD_CA,
    PR_HTTP_OWN_FAULT,
    PR_HTTP_ERROR_COUNT,
} pr_http_error_t;

typedef enum {
    PR_HTTP_FAULT_NONE = 0,
    PR_HTTP_FAULT_RECEIVER, /* theirs: counts for the breaker */
    PR_HTTP_FAULT_OWN,      /* egress, refused address, configuration, this machine */
} pr_http_fault_t;

typedef struct {
    int code;              /* final status, 0: no status line came */
    pr_http_error_t error; /* with an error, code may be set too: the response began */
    uint32_t duration_ms;
    pr_bytes_t body;         /* what was read; dies with the callback */
    bool truncated;          /* the body was longer than max_read_bytes */
    const char *retry_after; /* the header's value as it came, cut at 127 bytes; "" = none */
    pr_bytes_t headers; /* of the final response, with keep_headers: for pr_http_header_next; dies
                           with the callback */
    long tls_verify;    /* OpenSSL's X509_V_ERR_..., 0 = fine or no TLS */
    int http_version;   /* 10, 11, 20; 0: no response */
    int sends;          /* times the request was begun; 2 or more: libcurl sent it again */
    int os_errno;       /* of the last failed system call, 0 = none */
} pr_http_response_t;

/* The owner's done function: may start requests; must not destroy the pr_http_t. */
typedef void pr_http_done_fn(void *arg, const pr_http_response_t *response, int64_t now_ms);

/* A piece of a 2xx response's body, as it comes. False: the request ends, and its response says
 * `truncated`. Must not start or end requests. */
typedef bool pr_http_sink_fn(void *arg, pr_bytes_t piece);

typedef struct {
    const char *url;            /* http or https; copied */
    const char *method;         /* NULL: POST; a GET has no body; copied */
    const char *const *headers; /* "Name: value" lines, copied; at most PR_HTTP_HEADERS_MAX */
    int header_count;
    pr_bytes_t body;    /* BORROWED until done is called */
    int64_t total_ms;   /* 0: the limit's */
    const char *ca_pem; /* trust these certificates only; NULL or "": the system's; copied */
    const char *egress; /* NULL or what pr_egress_ok (core/egress.h) takes; copied */
    bool http2;         /* offer HTTP/2 in TLS (ALPN); else HTTP/1.1 */
    bool fresh;         /* a connection of its own, not used again: never sent twice */
    bool keep_headers;  /* the answer's, for response.headers */
    /* Where a 2xx body goes instead of response.body, whatever its size: a file that does not fit in
     * memory. NULL: kept. The bodies of other answers are kept either way. */
    pr_http_sink_fn *sink;
    pr_http_done_fn *done;
    void *arg;
} pr_http_request_t;

#define PR_HTTP_HEADERS_MAX 64

typedef struct {
    uint64_t started, finished, failed; /* requests */
    uint64_t connects;                  /* sockets opened */
    uint64_t resent;                    /* repeats made by libcurl itself */
    uint64_t spoiled;                   /* kept connections not used again, for stray input */
    uint64_t refused_addresses;         /* by the guard */
    int in_flight;
    int sockets; /* open now, idle ones included */
} pr_http_stats_t;

pr_http_t *pr_http_new(const pr_http_limits_t *limits); /* NULL: all defaults */
/* Breaks off what is under way WITHOUT calling its done functions. Accepts NULL. */
void pr_http_destroy(pr_http_t **self);

/* PR_AGAIN: max_in_flight requests are under way, nothing was started. PR_BAD: the request itself
 * is malformed (too many headers, a line break in one, an unknown egress), nothing was started.
 * Everything else, a bad URL included, is reported to done. */
PR_CHECK pr_rc_t pr_http_start(pr_http_t *self, const pr_http_request_t *request, int64_t now_ms,
                               pr_error_t *error);
/* Everything that is ready: sockets, deadlines, done functions. Cheap when nothing is. */
void pr_http_run(pr_http_t *self, int64_t now_ms);

int pr_http_fd(const pr_http_t *self);            /* epoll descriptor; poll it for reading */
int64_t pr_http_due_at_ms(const pr_http_t *self); /* INT64_MAX: nothing to wait for */
pr_http_stats_t pr_http_stats(const pr_http_t *self);

/* The next header of a response, in the order in which they came; *cursor is 0 at the start. False:
 * no more. Folded lines and those without a name are not there. */
bool pr_http_header_next(pr_bytes_t headers, size_t *cursor, const char **name, const char **value);

/* "connect_timeout" ...; "" for PR_HTTP_OK. At most 32 bytes. */
const char *pr_http_error_name(pr_http_error_t error);
pr_http_fault_t pr_http_error_fault(pr_http_error_t error);
/* How it went, for who judges the answer. */
pr_transport_t pr_http_transport(const pr_http_response_t *response);

#endif
