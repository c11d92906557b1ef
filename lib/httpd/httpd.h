/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP/1.1, incoming, on libmicrohttpd: the only library that includes microhttpd.h. One thread, one
 * epoll descriptor that the owner watches; a request that waits for something (Postgres) costs a
 * suspended connection and no turn of the loop.
 *
 * Model. The owner watches pr_httpd_fd() for reading, sleeps no longer than pr_httpd_due_at_ms(),
 * and calls pr_httpd_run(). A request comes in two steps:
 *
 *   head    the head is complete and its framing is sound: reply at once (then the body is not
 *           read), or let the body come
 *   whole   the body is there too: reply at once, or later
 *
 * A request lives until its reply was sent. The owner may keep it from `whole` on until it calls
 * pr_httpd_reply, exactly once; the client's going away does not end it earlier.
 *
 * What a client may cost. A connection has a deadline in each phase, which activity does not move:
 *
 *   opened  no whole head yet             header_ms
 *   body    head read, body not           body_ms
 *   work    the owner has it              none: bounded by what it waits for
 *   send    the reply is on its way       send_ms
 *   idle    answered, kept                idle_ms + header_ms, the next head included
 *
 * past it the socket is shut. At max_connections a new connection displaces the one that has been
 * opened, else idle, else in body, else in send for longest; never one in work. So somebody who
 * holds all places holds them for as long as it takes others to come, and a client that sends its request in one piece
 * gets through. An address has at most max_per_address connections; trusted proxies have no such
 * limit. Heads, bodies and all bodies together are bounded.
 *
 * Refused with application/problem+json: framing.h, bodies too large (413), no room for a body
 * (503). What libmicrohttpd itself refuses (a head that is no HTTP, 400; a head that does not fit,
 * 413, 414 or 431) has its own short HTML text and closes.
 */
#ifndef PR_HTTPD_HTTPD_H
#define PR_HTTPD_HTTPD_H

#include "base/buffer.h"
#include "base/error.h"
#include "core/address.h"
#include "httpd/header.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_HTTPD_HEADERS_MAX 64  /* of a request */
#define PR_HTTPD_TARGET_MAX 8192 /* bytes of path and query */
#define PR_HTTPD_REPLY_MAX_BYTES ((size_t)8 * 1024 * 1024)
#define PR_HTTPD_REPLY_HEADERS_MAX 16

typedef struct pr_httpd_t pr_httpd_t;
typedef struct pr_httpd_request_t pr_httpd_request_t;

typedef void pr_httpd_request_fn(void *arg, pr_httpd_request_t *request);

typedef struct {
    const char *listen;          /* "127.0.0.1:8080", "[::1]:8080"; port 0: any */
    const char *certificate_pem; /* NULL or "": plain HTTP */
    const char *key_pem;
    size_t max_header_bytes;  /* of a whole head */
    size_t max_body_bytes;    /* of a body; head may ask for less */
    size_t body_memory_bytes; /* of all bodies together */
    int max_connections, max_per_address;
    int64_t header_ms, body_ms, send_ms, idle_ms;
    const pr_header_t *always; /* headers of every reply of ours; borrowed */
    size_t always_count;
    const pr_allow_list_t *trusted; /* proxies whose X-Forwarded-For is believed; borrowed */
    pr_httpd_request_fn *head, *whole;
    void *arg;
} pr_httpd_options_t;

typedef struct {
    uint64_t accepted, refused_address, displaced, expired; /* connections */
    uint64_t requests, replies;
    int connections, working; /* now */
    size_t body_bytes;        /* held now */
} pr_httpd_stats_t;

typedef struct {
    uint32_t status;
    const char *content_type; /* NULL or "": none */
    const char *caching;      /* Cache-Control; NULL: "no-store" */
    pr_bytes_t body;          /* copied; at most PR_HTTPD_REPLY_MAX_BYTES */
    size_t header_count;
    pr_header_t headers[PR_HTTPD_REPLY_HEADERS_MAX]; /* copied */
    bool close;
} pr_httpd_reply_t;

/* Binds and listens. PR_AGAIN: the address is taken or not there (yet). PR_BAD: what was given is
 * malformed, or the certificate does not fit its key. Texts are borrowed only for the call. */
PR_CHECK pr_rc_t pr_httpd_new(const pr_httpd_options_t *options, pr_httpd_t **out,
                              pr_error_t *error);
/* Whoever still waits gets 503. The owner has forgotten its requests before. Accepts NULL. */
void pr_httpd_destroy(pr_httpd_t **self);

int pr_httpd_fd(const pr_httpd_t *self);
int64_t pr_httpd_due_at_ms(const pr_httpd_t *self);
void pr_httpd_run(pr_httpd_t *self, int64_t now_ms);
int pr_httpd_port(const pr_httpd_t *self);
pr_httpd_stats_t pr_httpd_stats(const pr_httpd_t *self);

/* Listens no more, closes connections without a request, answers the others and closes them. */
void pr_httpd_drain(pr_httpd_t *self);
bool pr_httpd_drained(const pr_httpd_t *self);

/* ---- one request: texts live as long as it does ---- */
const char *pr_httpd_method(const pr_httpd_request_t *self);
const char *pr_httpd_target(const pr_httpd_request_t *self); /* as it came: path?query */
pr_bytes_t pr_httpd_path(const pr_httpd_request_t *self);    /* as it came, without the query */
pr_bytes_t pr_httpd_query(const pr_httpd_request_t *self);   /* behind the '?' */
const pr_header_t *pr_httpd_headers(const pr_httpd_request_t *self, size_t *count);
const char *pr_httpd_header(const pr_httpd_request_t *self, const char *name); /* NULL: none */
pr_bytes_t pr_httpd_body(const pr_httpd_request_t *self);                      /* from `whole` on */
/* Whom it is from: the peer, or, through trusted proxies, whom they name. */
const pr_ip_t *pr_httpd_client(const pr_httpd_request_t *self);
/* The owner's own. */
void pr_httpd_set_context(pr_httpd_request_t *self, void *context);
void *pr_httpd_context(const pr_httpd_request_t *self);
/* In `head` only: less than max_body_bytes. A larger body gets 413. */
void pr_httpd_limit_body(pr_httpd_request_t *self, size_t max_bytes);

void pr_httpd_reply(pr_httpd_request_t *self, const pr_httpd_reply_t *reply);
/* application/problem+json (RFC 9457); retry_after_s 0: no such header. */
void pr_httpd_reply_problem(pr_httpd_request_t *self, uint32_t status, const char *code,
                            const char *detail, int64_t retry_after_s);

#endif
