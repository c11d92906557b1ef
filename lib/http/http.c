/* SPDX-License-Identifier: Apache-2.0
 *
 * The multi handle: sockets through epoll, libcurl's timer, our own deadlines, and the end of
 * requests.
 *
 * Deadlines of connect, TLS and first byte are ours: libcurl knows only connect-with-TLS and the
 * total. All requests under way are looked through every SWEEP_MS; one comparison each.
 */
#include "http/http.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "http/http_internal.h"

#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SWEEP_MS 20
#define EVENTS_A_RUN 16 /* then the rest of the loop has its turn: about 1 ms */

static int64_t or_default(int64_t value, int64_t fallback)
{
    return value > 0 ? value : fallback;
}

static void fill_limits(pr_http_t *self, const pr_http_limits_t *given)
{
    pr_http_limits_t limits = given != NULL ? *given : (pr_http_limits_t){0};
    limits.pool_per_host = (int)or_default(limits.pool_per_host, 20);
    limits.pool_total = (int)or_default(limits.pool_total, 200);
    limits.idle_ms = or_default(limits.idle_ms, 90000);
    limits.tcp_keepalive_s = or_default(limits.tcp_keepalive_s, 30);
    limits.connect_ms = or_default(limits.connect_ms, 3000);
    limits.tls_ms = or_default(limits.tls_ms, 3000);
    limits.first_byte_ms = or_default(limits.first_byte_ms, 5000);
    limits.total_ms = or_default(limits.total_ms, 10000);
    limits.max_read_bytes = limits.max_read_bytes > 0 ? limits.max_read_bytes : 64 * 1024;
    limits.max_header_bytes = limits.max_header_bytes > 0 ? limits.max_header_bytes : 32 * 1024;
    limits.max_in_flight = (int)or_default(limits.max_in_flight, 4096);
    self->user_agent =
        pr_strdup(limits.user_agent != NULL ? limits.user_agent : "Postrider/" PR_VERSION);
    limits.user_agent = self->user_agent;
    self->limits = limits;
}

static uint32_t events_of(int what)
{
    uint32_t events = 0;
    if (what & CURL_POLL_IN)
        events |= EPOLLIN;
    if (what & CURL_POLL_OUT)
        events |= EPOLLOUT;
    return events;
}

static void forget_descriptor(pr_http_t *self, descriptor_t *descriptor, int fd)
{
    if (descriptor->registered != 0)
        epoll_ctl(self->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    descriptor->registered = 0;
}

/* libcurl lets go of a socket after each request and takes it up for the next. So a connection it
 * no longer wants stays in the epoll set, and leaves it only when it has something to tell. Not so
 * the resolver threads' descriptors (no host): libcurl closes those without telling us. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    (void)easy, (void)socket_arg;
    pr_http_t *self = arg;
    descriptor_t *descriptor = descriptor_get(self, fd);
    descriptor->wanted = what == CURL_POLL_REMOVE ? 0 : events_of(what);
    if (descriptor->wanted == 0 && descriptor->host == NULL)
        forget_descriptor(self, descriptor, fd);
    if (descriptor->wanted == 0 || descriptor->wanted == descriptor->registered)
        return 0;
    struct epoll_event event = {.events = descriptor->wanted, .data.fd = fd};
    int op = descriptor->registered == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    pr_assert(epoll_ctl(self->epoll_fd, op, fd, &event) == 0);
    descriptor->registered = descriptor->wanted;
    return 0;
}

/* The clock is read anew: counted from the turn's reading, which is a little old, the timer would
 * fire before libcurl's own clock agrees, and libcurl does not ask twice for one and the same
 * time. */
static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
    (void)multi;
    pr_http_t *self = arg;
    if (timeout_ms < 0)
        self->timer_at_ms = INT64_MAX;
    else if (timeout_ms == 0)
        self->timer_at_ms = self->now_ms;
    else
        self->timer_at_ms = pr_clock_mono_ms() + timeout_ms + 1;
    return 0;
}

pr_http_t *pr_http_new(const pr_http_limits_t *limits)
{
    static bool global;
    if (!global)
        pr_assert(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    global = true;
    pr_http_t *self = PR_NEW(pr_http_t);
    fill_limits(self, limits);
    self->active = pr_calloc((size_t)self->limits.max_in_flight, sizeof(transfer_t *));
    self->timer_at_ms = self->sweep_at_ms = INT64_MAX;
    self->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    self->multi = curl_multi_init();
    self->template = transfer_template(self);
    pr_assert(self->epoll_fd >= 0 && self->multi != NULL);
    curl_multi_setopt(self->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(self->multi, CURLMOPT_SOCKETDATA, self);
    curl_multi_setopt(self->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(self->multi, CURLMOPT_TIMERDATA, self);
    curl_multi_setopt(self->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    return self;
}

void pr_http_destroy(pr_http_t **self)
{
    pr_http_t *http = *self;
    *self = NULL;
    if (http == NULL)
        return;
    for (int i = 0; i < http->stats.in_flight; i++) {
        transfer_t *transfer = http->active[i];
        curl_multi_remove_handle(http->multi, transfer->easy);
        host_release(http, &transfer->host);
        transfer_destroy(&transfer);
    }
    while (http->free_list != NULL) {
        transfer_t *transfer = http->free_list;
        http->free_list = transfer->next_free;
        transfer_destroy(&transfer);
    }
    curl_multi_cleanup(http->multi);
    curl_easy_cleanup(http->template);
    hosts_free(http);
    close(http->epoll_fd);
    pr_free(http->active);
    pr_free(http->descriptors);
    pr_free(http->user_agent);
    pr_free(http);
}

/* libcurl's bound counts busy connections too, ours is for idle ones. libcurl looks at its bound when
 * a request ends, with that one's connection idle already, and closes the oldest idle one: one a
 * time. So the bound must be right at every end, not only at the next start. */
static void bound_pool(pr_http_t *self)
{
    int others = self->stats.in_flight > 0 ? self->stats.in_flight - 1 : 0;
    curl_multi_setopt(self->multi, CURLMOPT_MAXCONNECTS, (long)(self->limits.pool_total + others));
}

static transfer_t *take_transfer(pr_http_t *self)
{
    transfer_t *transfer = self->free_list;
    if (transfer == NULL)
        return transfer_new(self);
    self->free_list = transfer->next_free;
    return transfer;
}

static void give_back(pr_http_t *self, transfer_t *transfer)
{
    transfer_rest(transfer);
    transfer->next_free = self->free_list;
    self->free_list = transfer;
}

pr_rc_t pr_http_start(pr_http_t *self, const pr_http_request_t *request, int64_t now_ms,
                      pr_error_t *error)
{
    pr_assert(request->done != NULL && request->url != NULL);
    if (self->stats.in_flight >= self->limits.max_in_flight)
        return pr_error_set(error, PR_AGAIN, "http", "", "%d requests are under way",
                            self->stats.in_flight);
    self->now_ms = now_ms;
    transfer_t *transfer = take_transfer(self);
    pr_rc_t rc = transfer_prepare(transfer, request, error);
    if (rc != PR_OK) {
        give_back(self, transfer);
        return rc;
    }
    transfer->host = host_take(self, request->url);
    transfer->busy = true;
    transfer->phase = PHASE_CONNECT;
    transfer->started_us = pr_clock_mono_us();
    transfer->started_at_ms = now_ms;
    transfer->phase_at_ms = now_ms + self->limits.connect_ms;
    transfer->index = self->stats.in_flight;
    self->active[self->stats.in_flight++] = transfer;
    self->stats.started++;
    bound_pool(self);
    pr_assert(curl_multi_add_handle(self->multi, transfer->easy) == CURLM_OK);
    if (self->sweep_at_ms == INT64_MAX)
        self->sweep_at_ms = now_ms + SWEEP_MS;
    return PR_OK;
}

static int version_of(CURL *easy)
{
    long version = 0;
    curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
    return version == CURL_HTTP_VERSION_2_0   ? 20
           : version == CURL_HTTP_VERSION_1_1 ? 11
           : version == CURL_HTTP_VERSION_1_0 ? 10
                                              : 0;
}

static void fill_response(transfer_t *transfer, pr_http_response_t *out)
{
    long code = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &code);
    int64_t us = pr_clock_mono_us() - transfer->started_us;
    out->code = (int)code;
    out->duration_ms = (uint32_t)(us > 0 ? us / 1000 : 0);
    out->body = pr_buffer_bytes(&transfer->body);
    out->truncated = transfer->truncated;
    out->retry_after = transfer->retry_after;
    out->headers = pr_buffer_bytes(&transfer->headers);
    out->sends = transfer->sends;
    out->http_version = version_of(transfer->easy);
    if (out->error == PR_HTTP_OK)
        return;
    long os_errno = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_SSL_VERIFYRESULT, &out->tls_verify);
    curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &os_errno);
    out->os_errno = (int)os_errno;
}

/* The end of a request: out of libcurl first, then the owner is told, then the memory rests. */
static void finish(pr_http_t *self, transfer_t *transfer, pr_http_error_t error)
{
    pr_http_response_t response = {.error = error};
    fill_response(transfer, &response);
    curl_multi_remove_handle(self->multi, transfer->easy);
    if (transfer->busy)
        transfer->host->busy--;
    if (error != PR_HTTP_OK)
        host_sockets_check(self, transfer);
    host_release(self, &transfer->host);
    transfer_t *last = self->active[--self->stats.in_flight];
    last->index = transfer->index;
    self->active[transfer->index] = last;
    bound_pool(self);
    self->stats.finished++;
    self->stats.failed += error != PR_HTTP_OK;
    if (self->stats.in_flight == 0)
        self->sweep_at_ms = INT64_MAX;
    transfer->done(transfer->arg, &response, self->now_ms);
    give_back(self, transfer);
}

/* Kept connections that the receiver had closed or closes now: libcurl has tried up to five of
 * them. None gave a byte, so the request goes once more, on a connection of its own; else a
 * receiver that closes idle connections would be charged with failures. See "Repeats" in http.h.
 * The same for one that was spoiled while it was idle (http_idle.c): nothing was sent on it. */
static bool second_chance(pr_http_t *self, transfer_t *transfer, pr_http_error_t error)
{
    bool broken = error == PR_HTTP_SEND || error == PR_HTTP_RECEIVE || error == PR_HTTP_EMPTY;
    broken = broken && transfer->sockets_opened == 0 && transfer->header_bytes == 0;
    if (transfer->fresh || (!broken && !transfer->spoiled))
        return false;
    transfer->fresh = true;
    transfer->phase = PHASE_CONNECT;
    transfer->phase_at_ms = self->now_ms + self->limits.connect_ms;
    curl_multi_remove_handle(self->multi, transfer->easy);
    curl_easy_setopt(transfer->easy, CURLOPT_FRESH_CONNECT, 1L);
    pr_assert(curl_multi_add_handle(self->multi, transfer->easy) == CURLM_OK);
    return true;
}

static void reap(pr_http_t *self)
{
    int left = 0;
    for (CURLMsg *msg; (msg = curl_multi_info_read(self->multi, &left)) != NULL;) {
        if (msg->msg != CURLMSG_DONE)
            continue;
        CURLcode code = msg->data.result; /* msg dies when its handle is removed */
        transfer_t *transfer = NULL;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        long verify = 0;
        if (code == CURLE_PEER_FAILED_VERIFICATION)
            curl_easy_getinfo(transfer->easy, CURLINFO_SSL_VERIFYRESULT, &verify);
        pr_http_error_t error = transfer_error(transfer, code, verify);
        if (!second_chance(self, transfer, error))
            finish(self, transfer, error);
    }
}

/* A phase has lasted too long: either the next one has begun unseen, or the request has failed. */
static pr_http_error_t overdue(transfer_t *transfer)
{
    if (transfer->phase != PHASE_WAIT)
        return transfer_connect_timeout(transfer);
    curl_off_t us = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_STARTTRANSFER_TIME_T, &us);
    if (us <= 0)
        return PR_HTTP_FIRST_BYTE_TIMEOUT;
    transfer->phase = PHASE_BODY; /* bytes came, but no whole line yet */
    transfer->phase_at_ms = INT64_MAX;
    return PR_HTTP_OK;
}

static void sweep(pr_http_t *self)
{
    self->sweep_at_ms = self->now_ms + SWEEP_MS;
    /* Backwards: finish() fills the gap with the last, which has been looked at. A transfer that a
     * done function starts meanwhile is newer than any deadline. */
    for (int i = self->stats.in_flight - 1; i >= 0; i--) {
        if (i >= self->stats.in_flight)
            continue;
        transfer_t *transfer = self->active[i];
        pr_http_error_t error = PR_HTTP_OK;
        if (self->now_ms >= transfer->total_at_ms)
            error = transfer->phase >= PHASE_WAIT ? PR_HTTP_TOTAL_TIMEOUT
                                                  : transfer_connect_timeout(transfer);
        else if (self->now_ms >= transfer->phase_at_ms)
            error = overdue(transfer);
        if (error != PR_HTTP_OK)
            finish(self, transfer, error);
    }
}

static void fire_timer(pr_http_t *self)
{
    int running = 0;
    self->timer_at_ms = INT64_MAX;
    curl_multi_socket_action(self->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

static void serve(pr_http_t *self, const struct epoll_event *event)
{
    int fd = event->data.fd;
    descriptor_t *descriptor = descriptor_get(self, fd);
    if (descriptor->wanted ==
        0) { /* an idle connection: the peer spoke (http_idle.c) or closed it */
        forget_descriptor(self, descriptor, fd);
        return;
    }
    int bits = 0;
    if (event->events & EPOLLIN)
        bits |= CURL_CSELECT_IN;
    if (event->events & EPOLLOUT)
        bits |= CURL_CSELECT_OUT;
    if (event->events & (EPOLLERR | EPOLLHUP))
        bits |= CURL_CSELECT_IN | CURL_CSELECT_OUT | CURL_CSELECT_ERR;
    int running = 0;
    curl_multi_socket_action(self->multi, fd, bits, &running);
}

void pr_http_run(pr_http_t *self, int64_t now_ms)
{
    self->now_ms = now_ms;
    if (self->timer_at_ms <= now_ms)
        fire_timer(self);
    struct epoll_event events[EVENTS_A_RUN];
    int count = epoll_wait(self->epoll_fd, events, EVENTS_A_RUN, 0);
    reap(self);
    for (int i = 0; i < count; i++) {
        serve(self, &events[i]);
        reap(self); /* one by one: see bound_pool() */
    }
    if (self->sweep_at_ms <= now_ms) {
        fire_timer(self); /* a timer of libcurl's that was missed costs 20 ms, not a request */
        reap(self);
        sweep(self);
    }
}

int pr_http_fd(const pr_http_t *self)
{
    return self->epoll_fd;
}

int64_t pr_http_due_at_ms(const pr_http_t *self)
{
    return self->timer_at_ms < self->sweep_at_ms ? self->timer_at_ms : self->sweep_at_ms;
}

pr_http_stats_t pr_http_stats(const pr_http_t *self)
{
    return self->stats;
}
