/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of lib/http only. A transfer is one request under way; its memory is used
 * again for the next, its easy handle is not (http_transfer.c says why).
 */
#ifndef PR_HTTP_HTTP_INTERNAL_H
#define PR_HTTP_HTTP_INTERNAL_H

#include "http/http.h"

#include <curl/curl.h>

#define RETRY_AFTER_MAX 128
#define OPENED_MAX 8
#define HOST_BUCKETS 1024 /* power of two */

/* The connections to one scheme+host+port. Lives while it has a socket or a request. */
typedef struct host_t {
    struct host_t *next; /* in its bucket */
    uint64_t hash;
    int sockets;  /* open, idle ones included */
    int busy;     /* requests that need a connection: no final headers came yet */
    int requests; /* all under way */
    char key[];   /* "https://host:port", as in the URL */
} host_t;

/* What epoll and we know of one descriptor, indexed by it. */
typedef struct {
    host_t *host;        /* NULL: not one of ours */
    uint32_t registered; /* events epoll watches; 0: not in the set */
    uint32_t wanted;     /* events libcurl wants */
    int local_port;      /* 0: no request went out on it yet */
} descriptor_t;

typedef enum {
    PHASE_IDLE = 0,
    PHASE_CONNECT, /* DNS and TCP; also waiting for an HTTP/2 connection that is being set up */
    PHASE_TLS,
    PHASE_WAIT, /* the request goes out, no byte came back */
    PHASE_BODY, /* bytes come; only the total bounds it */
} phase_t;

typedef struct transfer_t {
    pr_http_t *http;
    CURL *easy; /* of this request only; NULL between */
    struct transfer_t *next_free;
    int index; /* in http->active */
    host_t *host;
    bool busy; /* counted in host->busy */
    pr_http_sink_fn *sink;
    pr_http_done_fn *done;
    void *arg;
    int64_t started_us;
    int64_t started_at_ms;
    int64_t total_at_ms;
    int64_t phase_at_ms; /* when this phase has lasted too long */
    phase_t phase;
    int sends;
    int sockets_opened;
    int opened[OPENED_MAX]; /* the first of them */
    int addresses_refused;
    bool proxied;
    bool truncated;
    bool headers_too_large;
    bool headers_bad;   /* a length that is no number */
    bool headers_whole; /* the final response's headers came to their end */
    bool fresh;         /* asked for, or the second chance */
    bool spoiled;       /* libcurl chose a connection that must not be used again */
    bool keep_headers;
    size_t header_bytes;
    char retry_after[RETRY_AFTER_MAX];
    pr_buffer_t body;         /* of the response */
    pr_buffer_t headers;      /* of the response, where wanted: name, NUL, value, NUL */
    pr_buffer_t text;         /* header lines of the request, each ending in NUL */
    struct curl_slist *lines; /* PR_HTTP_HEADERS_MAX nodes that point into text */
} transfer_t;

struct pr_http_t {
    pr_http_limits_t limits;
    char *user_agent;
    CURLM *multi;
    CURL *template;
    int epoll_fd;
    int64_t now_ms;      /* of the present run or start */
    int64_t timer_at_ms; /* libcurl's wish; INT64_MAX: none */
    int64_t sweep_at_ms; /* next look at our own deadlines */
    transfer_t **active; /* dense, stats.in_flight of them */
    transfer_t *free_list;
    descriptor_t *descriptors;
    int descriptor_count;
    host_t *hosts[HOST_BUCKETS];
    pr_http_stats_t stats;
};

/* http_error.c */
pr_http_error_t transfer_error(const transfer_t *transfer, CURLcode code, long verify);
pr_http_error_t transfer_connect_timeout(const transfer_t *transfer);

/* http_transfer.c */
/* The handle that all others are copies of; never performed. */
CURL *transfer_template(pr_http_t *http);
transfer_t *transfer_new(pr_http_t *http);
void transfer_destroy(transfer_t **self);
PR_CHECK pr_rc_t transfer_prepare(transfer_t *self, const pr_http_request_t *request,
                                  pr_error_t *error);
void transfer_rest(transfer_t *self); /* after a request: lets go of what is large */

/* http_host.c */
host_t *host_take(pr_http_t *http, const char *url); /* counts a request, busy */
void host_release(pr_http_t *http, host_t **host);
void host_socket_opened(pr_http_t *http, host_t *host, int fd);
void host_socket_closed(pr_http_t *http, int fd);
void host_sockets_check(pr_http_t *http, const transfer_t *transfer);
void hosts_free(pr_http_t *http);
descriptor_t *descriptor_get(pr_http_t *http, int fd);

/* http_idle.c */
/* True: the kept connection that libcurl chose has input that no request asked for. */
bool idle_is_spoiled(const transfer_t *transfer, int local_port);

#endif
