/* SPDX-License-Identifier: Apache-2.0
 *
 * The bare loop of libcurl. It includes curl/curl.h beside lib/http on purpose: lib/http is what it
 * is compared with.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "bench/bare.h"
#include "sign/sign.h"

#include <curl/curl.h>

#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#define AT_ONCE 64
#define CONNECTIONS 1024
#define EVENTS 64
#define STUCK_MS 10000
#define SET(easy, option, value) pr_assert(curl_easy_setopt(easy, option, value) == CURLE_OK)

static const char secret_text[] = "b3d1f29c5a7e4806913c2df0a8b7c6e5d4f3021b9c8a7e6f";

typedef struct {
    CURL *easy;
    struct curl_slist *headers;
} slot_t;

typedef struct {
    CURLM *multi;
    int epoll;
    int64_t due_ms; /* libcurl's one timer; INT64_MAX none */
    const pr_bare_request_t *requests;
    int64_t count, next, done;
    slot_t slots[AT_ONCE];
    pr_secret_t secret;
    pr_signed_t signature;
} bare_t;

static size_t swallow(char *data, size_t size, size_t count, void *arg)
{
    (void)data, (void)arg;
    return size * count;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
    bare_t *self = arg;
    struct epoll_event event = {.data.fd = fd};
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(self->epoll, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    event.events = what == CURL_POLL_IN    ? EPOLLIN
                   : what == CURL_POLL_OUT ? EPOLLOUT
                                           : EPOLLIN | EPOLLOUT;
    if (epoll_ctl(self->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) != 0)
        return -1;
    return known ? 0 : curl_multi_assign(self->multi, fd, self) == CURLM_OK ? 0 : -1;
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
    bare_t *self = arg;
    (void)multi;
    self->due_ms = timeout_ms < 0 ? INT64_MAX : pr_clock_mono_ms() + timeout_ms;
    return 0;
}

static void append(slot_t *slot, const char *name, const char *value)
{
    char line[400];
    (void)snprintf(line, sizeof line, "%s: %s", name, value);
    struct curl_slist *headers = curl_slist_append(slot->headers, line);
    pr_assert(headers != NULL);
    slot->headers = headers;
}

/* The headers of lib/sign, as the notifier sends them. */
static pr_rc_t sign(bare_t *self, slot_t *slot, const pr_bare_request_t *request, pr_error_t *error)
{
    pr_sign_request_t sign = {.scheme = PR_SCHEME_POSTRIDER,
                              .notify_id = request->notify_id,
                              .timestamp_s = pr_clock_wall_s(),
                              .body = pr_buffer_bytes(&request->body),
                              .secret = &self->secret};
    pr_rc_t rc = pr_sign(&sign, &self->signature, error);
    curl_slist_free_all(slot->headers);
    slot->headers = NULL;
    if (rc != PR_OK)
        return rc;
    append(slot, "Content-Type", self->signature.content_type);
    for (uint32_t i = 0; i < self->signature.count; i++)
        append(slot, self->signature.headers[i].name, self->signature.headers[i].value);
    return PR_OK;
}

static pr_rc_t send_next(bare_t *self, slot_t *slot, pr_error_t *error)
{
    if (self->next == self->count)
        return PR_OK;
    const pr_bare_request_t *request = &self->requests[self->next++];
    pr_rc_t rc = sign(self, slot, request, error);
    if (rc != PR_OK)
        return rc;
    SET(slot->easy, CURLOPT_URL, request->url);
    SET(slot->easy, CURLOPT_HTTPHEADER, slot->headers);
    SET(slot->easy, CURLOPT_POSTFIELDS, (const char *)request->body.data);
    SET(slot->easy, CURLOPT_POSTFIELDSIZE, (long)request->body.len);
    CURLMcode code = curl_multi_add_handle(self->multi, slot->easy);
    pr_assert(code == CURLM_OK);
    return PR_OK;
}

static pr_rc_t take_done(bare_t *self, pr_error_t *error)
{
    int left;
    CURLMsg *message;
    pr_rc_t rc = PR_OK;
    while (rc == PR_OK && (message = curl_multi_info_read(self->multi, &left)) != NULL) {
        CURL *easy = message->easy_handle;
        slot_t *slot = NULL;
        long code = 0;
        (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
        (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &slot);
        if (message->data.result != CURLE_OK || code != 200)
            return pr_error_set(error, PR_FATAL, "bench", "", "the bare loop: %s, HTTP %ld",
                                curl_easy_strerror(message->data.result), code);
        (void)curl_multi_remove_handle(self->multi, easy);
        self->done++;
        rc = send_next(self, slot, error);
    }
    return rc;
}

static pr_rc_t turn(bare_t *self, pr_error_t *error)
{
    struct epoll_event events[EVENTS];
    int running;
    int64_t wait_ms = self->due_ms == INT64_MAX ? STUCK_MS : self->due_ms - pr_clock_mono_ms();
    int ready = epoll_wait(self->epoll, events, EVENTS, wait_ms < 0 ? 0 : (int)wait_ms);
    for (int i = 0; i < ready; i++) {
        int mask = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        (void)curl_multi_socket_action(self->multi, events[i].data.fd, mask, &running);
    }
    if (self->due_ms <= pr_clock_mono_ms()) {
        self->due_ms = INT64_MAX;
        (void)curl_multi_socket_action(self->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    } else if (ready <= 0 && wait_ms >= STUCK_MS) {
        return pr_error_set(error, PR_FATAL, "bench", "", "the bare loop: nothing moves");
    }
    pr_rc_t rc = take_done(self, error);
    return rc != PR_OK ? rc : pr_bench_interrupted() ? PR_AGAIN : PR_OK;
}

static void open_slots(bare_t *self)
{
    for (int i = 0; i < AT_ONCE; i++) {
        slot_t *slot = &self->slots[i];
        slot->easy = curl_easy_init();
        pr_assert(slot->easy != NULL);
        SET(slot->easy, CURLOPT_PRIVATE, slot);
        SET(slot->easy, CURLOPT_NOSIGNAL, 1L);
        SET(slot->easy, CURLOPT_WRITEFUNCTION, swallow);
        SET(slot->easy, CURLOPT_PROXY, "");
        SET(slot->easy, CURLOPT_TIMEOUT_MS, (long)STUCK_MS);
    }
}

static void close_all(bare_t *self)
{
    for (int i = 0; i < AT_ONCE; i++) {
        (void)curl_multi_remove_handle(self->multi, self->slots[i].easy);
        curl_easy_cleanup(self->slots[i].easy);
        curl_slist_free_all(self->slots[i].headers);
    }
    (void)curl_multi_cleanup(self->multi);
    (void)close(self->epoll);
    pr_signed_free(&self->signature);
    pr_secret_wipe(&self->secret);
}

pr_rc_t pr_bare_http(const pr_bare_request_t *requests, int64_t count, pr_error_t *error)
{
    bare_t self = {.requests = requests, .count = count, .due_ms = INT64_MAX};
    pr_signed_init(&self.signature);
    pr_rc_t rc = pr_secret_parse(pr_bytes_text(secret_text), &self.secret, error);
    self.epoll = epoll_create1(EPOLL_CLOEXEC);
    self.multi = curl_multi_init();
    pr_assert(self.multi != NULL && self.epoll >= 0);
    (void)curl_multi_setopt(self.multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(self.multi, CURLMOPT_SOCKETDATA, &self);
    (void)curl_multi_setopt(self.multi, CURLMOPT_TIMERFUNCTION, on_timer);
    (void)curl_multi_setopt(self.multi, CURLMOPT_TIMERDATA, &self);
    (void)curl_multi_setopt(self.multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS);
    open_slots(&self);
    for (int i = 0; i < AT_ONCE && rc == PR_OK; i++)
        rc = send_next(&self, &self.slots[i], error);
    while (rc == PR_OK && self.done < count)
        rc = turn(&self, error);
    close_all(&self);
    return rc;
}
