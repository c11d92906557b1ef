/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of lib/httpd: connections with their phases and deadlines, and requests. One thread.
 */
#ifndef PR_HTTPD_PRIVATE_H
#define PR_HTTPD_PRIVATE_H

#include "base/map.h"
#include "httpd/httpd.h"

#include <microhttpd.h>

typedef enum {
    PHASE_OPENED = 0,
    PHASE_IDLE,
    PHASE_BODY,
    PHASE_SEND,
    PHASE_WORK, /* from here on: no deadline, never displaced */
    PHASE_CUT,  /* its socket is shut; libmicrohttpd will notice and close it */
    PHASES,
} phase_t;

typedef struct httpd_connection_t {
    struct httpd_connection_t *before, *after; /* in the list of its phase */
    phase_t phase;
    int64_t deadline_ms;
    int fd; /* libmicrohttpd's */
    pr_ip_t peer;
    bool trusted;
    struct pr_httpd_request_t *request; /* the one under way */
} httpd_connection_t;

/* Oldest first: one phase has one length, so its deadlines are in order too. */
typedef struct {
    httpd_connection_t *first, *last;
} connection_list_t;

struct pr_httpd_request_t {
    pr_httpd_t *owner;
    httpd_connection_t *connection;
    struct MHD_Connection *mhd;
    void *context;
    char *method, *target; /* copies */
    size_t path_len;
    size_t header_count;
    pr_header_t headers[PR_HTTPD_HEADERS_MAX]; /* borrowed of libmicrohttpd */
    const char *target_at;                     /* where libmicrohttpd has it */
    bool has_body;
    bool headers_bad; /* more than fit, or a NUL in one */
    pr_ip_t client;
    size_t max_body;
    pr_buffer_t body;
    size_t charged;        /* of the owner's body memory */
    uint32_t body_refused; /* 413, 503: the rest is dropped, the end gets this */
    size_t body_dropped;
    bool head_seen, whole_seen, suspended, queued;
    struct MHD_Response *response; /* given; NULL: none yet */
    uint32_t status;
};

struct pr_httpd_t {
    pr_httpd_options_t options; /* texts of listen and certificate are gone */
    struct MHD_Daemon *daemon;
    int epoll_fd, port;
    int64_t now_ms;
    bool draining;
    bool resumed; /* since the last run: with our loop, nothing wakes libmicrohttpd */
    connection_list_t lists[PHASES];
    int counts[PHASES];
    pr_map_t *addresses; /* hash of the address -> connections it has */
    pr_httpd_stats_t stats;
};

/* ---- httpd_connections.c ---- */
bool httpd_may_connect(pr_httpd_t *self, const struct sockaddr *address, size_t len);
httpd_connection_t *httpd_connected(pr_httpd_t *self, int fd, const struct sockaddr *address);
void httpd_closed(pr_httpd_t *self, httpd_connection_t *connection);
void httpd_enter(pr_httpd_t *self, httpd_connection_t *connection, phase_t phase);
void httpd_cut(pr_httpd_t *self, httpd_connection_t *connection);
void httpd_cut_expired(pr_httpd_t *self);
int64_t httpd_next_deadline_ms(const pr_httpd_t *self);

/* ---- httpd_request.c ---- */
httpd_connection_t *httpd_connection_of(struct MHD_Connection *mhd);
void httpd_request_free(pr_httpd_request_t *self);
void *httpd_on_target(void *arg, const char *target, struct MHD_Connection *mhd);
enum MHD_Result httpd_on_access(void *arg, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **context);
void httpd_on_completed(void *arg, struct MHD_Connection *mhd, void **context,
                        enum MHD_RequestTerminationCode code);

#endif
