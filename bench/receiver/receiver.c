/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/receiver/receiver.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "sandbox/answer.h"
#include "sandbox/request.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 512
#define READ_BYTES 65536U
#define BODY_MAX 65536U
#define ANSWERS 64U /* of one send */
#define KEY_LISTENER UINT32_MAX
#define KEY_SIGNALS (UINT32_MAX - 1)

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nSUCCESS";
#define ANSWER_LEN (sizeof(answer) - 1)

typedef struct {
    int fd; /* -1: free */
    bool hung;
    pr_buffer_t rest; /* the start of a request whose end has not come */
    uint64_t owed;    /* bytes of answers still to send */
    uint64_t sent;    /* of the answers so far; its remainder says where in one we are */
} conn_t;

struct pr_receiver_t {
    pr_receiver_options_t options;
    pr_receiver_counts_t counts;
    pr_ledger_t *ledger; /* target 1: answered; 2: of a hanging merchant */
    int epoll;
    conn_t *conns;
    uint32_t *free_slots, free_count;
    bool stopping;
    char answers[ANSWERS * ANSWER_LEN];
    uint8_t scratch[READ_BYTES];
};

static void watch(pr_receiver_t *self, int fd, uint32_t events, uint32_t key)
{
    struct epoll_event event = {.events = events, .data.u32 = key};
    int rc = epoll_ctl(self->epoll, EPOLL_CTL_ADD, fd, &event);
    pr_assert(rc == 0);
}

pr_receiver_t *pr_receiver_new(const pr_receiver_options_t *options)
{
    pr_receiver_t *self = PR_NEW(pr_receiver_t);
    self->options = *options;
    self->ledger = pr_ledger_new(options->expected_ids, options->max_ids);
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    pr_assert(self->epoll >= 0);
    self->conns = pr_calloc(options->max_connections, sizeof(*self->conns));
    self->free_slots = pr_calloc(options->max_connections, sizeof(*self->free_slots));
    for (uint32_t i = 0; i < options->max_connections; i++) {
        self->conns[i].fd = -1;
        self->free_slots[self->free_count++] = options->max_connections - 1 - i;
    }
    for (size_t i = 0; i < ANSWERS; i++) {
        memcpy(self->answers + i * ANSWER_LEN, answer, ANSWER_LEN);
    }
    watch(self, options->listener, EPOLLIN, KEY_LISTENER);
    watch(self, options->signals, EPOLLIN, KEY_SIGNALS);
    return self;
}

static void bury(pr_receiver_t *self, conn_t *conn)
{
    close(conn->fd);
    pr_buffer_free(&conn->rest);
    *conn = (conn_t){.fd = -1};
    self->free_slots[self->free_count++] = (uint32_t)(conn - self->conns);
}

void pr_receiver_destroy(pr_receiver_t **self)
{
    if (*self) {
        pr_receiver_t *receiver = *self;
        for (uint32_t i = 0; i < receiver->options.max_connections; i++) {
            if (receiver->conns[i].fd >= 0) {
                bury(receiver, &receiver->conns[i]);
            }
        }
        close(receiver->options.listener);
        close(receiver->options.signals);
        close(receiver->epoll);
        pr_ledger_destroy(&receiver->ledger);
        pr_free(receiver->conns);
        pr_free(receiver->free_slots);
        pr_free(receiver);
        *self = NULL;
    }
}

static void accept_all(pr_receiver_t *self)
{
    for (;;) {
        /* cppcheck-suppress nullPointer ; accept(2): NULL when the peer is of no interest */
        int fd = accept4(self->options.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            return;
        }
        if (self->free_count == 0) {
            self->counts.refused++;
            close(fd); /* a bench that opens more than it said is wrong: let it see that */
            continue;
        }
        uint32_t slot = self->free_slots[--self->free_count];
        conn_t *conn = &self->conns[slot];
        conn->fd = fd;
        pr_buffer_init(&conn->rest, PR_REQUEST_HEAD_MAX + BODY_MAX + READ_BYTES);
        watch(self, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, slot);
    }
}

bool pr_receiver_hangs(const pr_receiver_options_t *options, const char *name, size_t len)
{
    if (options->hang && len > 0 && len < 128) {
        char wanted[132];
        snprintf(wanted, sizeof(wanted), ",%.*s,", (int)len, name);
        if (strstr(options->hang, wanted)) {
            return true;
        }
    }
    if (options->hang_permille == 0) {
        return false;
    }
    const pr_notify_id_t hash = pr_notify_id_from(pr_bytes(name, len));
    return pr_notify_id_mix(&hash, 0) % 1000 < options->hang_permille;
}

/* "/m/NAME" -> NAME. */
static pr_bytes_t merchant_of(pr_bytes_t target)
{
    size_t skip = target.len > 3 && memcmp(target.data, "/m/", 3) == 0 ? 3 : 0;
    return pr_bytes(target.data + skip, target.len - skip);
}

static bool find_id(const pr_request_t *request, const uint8_t *data, pr_notify_id_t *out)
{
    static const char key[] = "\"notify_id\":\"";
    pr_span_t span = request->notify_id.len ? request->notify_id : request->webhook_id;
    if (span.len > 0) {
        *out = pr_notify_id_from(pr_request_view(data, span));
        return true;
    }
    const uint8_t *body = data + request->head_len;
    const uint8_t *at = memmem(body, request->content_len, key, sizeof(key) - 1);
    if (!at || (size_t)(body + request->content_len - at) < sizeof(key) - 1 + 36) {
        return false;
    }
    return pr_notify_id_parse_uuid(pr_bytes(at + sizeof(key) - 1, 36), out);
}

static void receive(pr_receiver_t *self, conn_t *conn, const pr_request_t *request,
                    const uint8_t *data, int64_t now_us)
{
    pr_notify_id_t id;
    bool watched = self->options.hang || self->options.hang_permille > 0;
    pr_bytes_t name = merchant_of(pr_request_view(data, request->target));
    conn->hung = watched && pr_receiver_hangs(&self->options, (const char *)name.data, name.len);
    self->counts.requests++;
    self->counts.hung += conn->hung;
    self->counts.first_us = self->counts.first_us ? self->counts.first_us : now_us;
    self->counts.last_us = now_us;
    pr_ledger_entry_t *entry =
        find_id(request, data, &id) ? pr_ledger_touch(self->ledger, &id, conn->hung ? 2 : 1) : NULL;
    if (!entry) {
        self->counts.unnamed++;
    } else if (entry->receipts++ == 0) {
        entry->first_us = now_us;
        self->counts.distinct++;
    } else {
        self->counts.repeated++;
    }
    conn->owed += conn->hung ? 0 : ANSWER_LEN;
}

/* GET /control/stats; false: not a request of ours. Small enough for one send. */
static bool control(pr_receiver_t *self, conn_t *conn, const pr_request_t *request,
                    const uint8_t *data)
{
    const pr_receiver_counts_t *counts = &self->counts;
    if (pr_bytes_equal(pr_request_view(data, request->method), pr_bytes_text("POST"))) {
        return false;
    }
    pr_buffer_t body, out;
    pr_buffer_init(&body, 4096);
    pr_buffer_init(&out, 8192);
    bool known =
        pr_bytes_equal(pr_request_view(data, request->target), pr_bytes_text("/control/stats"));
    pr_rc_t rc =
        pr_buffer_printf(&body,
                         "{\"requests\":%" PRIu64 ",\"distinct\":%" PRIu64 ",\"repeated\":%" PRIu64
                         ",\"hung\":%" PRIu64 ",\"unnamed\":%" PRIu64 ",\"refused\":%" PRIu64
                         ",\"first_us\":%" PRId64 ",\"last_us\":%" PRId64 "}",
                         counts->requests, counts->distinct, counts->repeated, counts->hung,
                         counts->unnamed, counts->refused, counts->first_us, counts->last_us);
    rc = rc == PR_OK ? pr_answer_plain(known ? 200 : 404, "application/json",
                                       pr_buffer_bytes(&body), false, &out)
                     : rc;
    pr_assert(rc == PR_OK);
    bool whole = send(conn->fd, out.data, out.len, MSG_NOSIGNAL) == (ssize_t)out.len;
    pr_buffer_free(&body);
    pr_buffer_free(&out);
    return whole;
}

/* Takes every whole request in data. Returns the bytes used, or -1: this sender is not HTTP. */
static ssize_t take_requests(pr_receiver_t *self, conn_t *conn, const uint8_t *data, size_t len,
                             int64_t now_us)
{
    size_t used = 0;
    while (used < len && !conn->hung) {
        pr_request_t request = {0};
        pr_request_state_t state = pr_request_parse(&request, data + used, len - used, BODY_MAX);
        if (state == PR_REQUEST_MORE) {
            static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
            bool asks = request.expect && len - used == request.head_len;
            if (asks && send(conn->fd, go_on, sizeof(go_on) - 1, MSG_NOSIGNAL) < 0) {
                return -1;
            }
            break;
        }
        if (state == PR_REQUEST_BAD) {
            self->counts.refused++;
            return -1;
        }
        if (!control(self, conn, &request, data + used)) {
            receive(self, conn, &request, data + used, now_us);
        }
        used += pr_request_len(&request);
    }
    return conn->hung ? (ssize_t)len : (ssize_t)used;
}

/* False: the connection is over. */
static bool read_all(pr_receiver_t *self, conn_t *conn)
{
    for (;;) {
        ssize_t got = recv(conn->fd, self->scratch, READ_BYTES, 0);
        if (got <= 0) {
            return got < 0 && (errno == EAGAIN || errno == EINTR);
        }
        int64_t now_us = pr_clock_wall_us();
        const uint8_t *data = self->scratch;
        size_t len = (size_t)got;
        bool joined = conn->rest.len > 0;
        if (joined) {
            pr_rc_t rc = pr_buffer_append(&conn->rest, self->scratch, len);
            pr_assert(rc == PR_OK);
            data = conn->rest.data;
            len = conn->rest.len;
        }
        ssize_t used = take_requests(self, conn, data, len, now_us);
        if (used < 0) {
            return false;
        }
        if (joined) {
            conn->rest.len -= (size_t)used;
            memmove(conn->rest.data, conn->rest.data + used, conn->rest.len);
        } else if ((size_t)used < len) {
            pr_rc_t rc = pr_buffer_append(&conn->rest, data + used, len - (size_t)used);
            pr_assert(rc == PR_OK);
        }
        if ((size_t)got < READ_BYTES) {
            return true; /* edge-triggered: a short read emptied the socket; the next byte wakes us */
        }
    }
}

static bool write_owed(pr_receiver_t *self, conn_t *conn)
{
    while (conn->owed > 0) {
        size_t at = (size_t)(conn->sent % ANSWER_LEN);
        size_t room = sizeof(self->answers) - at;
        ssize_t sent = send(conn->fd, self->answers + at,
                            conn->owed < room ? (size_t)conn->owed : room, MSG_NOSIGNAL);
        if (sent < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        conn->owed -= (uint64_t)sent;
        conn->sent += (uint64_t)sent;
    }
    return true;
}

static pr_rc_t on_signal(pr_receiver_t *self, pr_error_t *error)
{
    struct signalfd_siginfo info;
    while (read(self->options.signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        self->stopping = self->stopping || info.ssi_signo != SIGUSR1;
    }
    return self->options.dump ? pr_receiver_dump(self, self->options.dump, error) : PR_OK;
}

static void on_conn(pr_receiver_t *self, uint32_t slot, uint32_t events)
{
    conn_t *conn = &self->conns[slot];
    if (conn->fd < 0) {
        return; /* buried earlier in this turn */
    }
    bool alive = (events & (EPOLLHUP | EPOLLERR)) == 0;
    if (alive && (events & (EPOLLIN | EPOLLRDHUP)) != 0) {
        alive = read_all(self, conn) && (events & EPOLLRDHUP) == 0;
    }
    if (!write_owed(self, conn) || !alive) {
        bury(self, conn);
    }
}

pr_rc_t pr_receiver_run(pr_receiver_t *self, pr_error_t *error)
{
    struct epoll_event events[EVENTS];
    while (!self->stopping) {
        int count = epoll_wait(self->epoll, events, EVENTS, -1);
        if (count < 0 && errno != EINTR) {
            return pr_error_set(error, PR_FATAL, "receiver", strerrorname_np(errno),
                                "epoll failed");
        }
        for (int i = 0; i < count; i++) {
            if (events[i].data.u32 == KEY_LISTENER) {
                accept_all(self);
            } else if (events[i].data.u32 == KEY_SIGNALS) {
                pr_rc_t rc = on_signal(self, error);
                if (rc != PR_OK) {
                    return rc;
                }
            } else {
                on_conn(self, events[i].data.u32, events[i].events);
            }
        }
    }
    return PR_OK;
}

pr_receiver_counts_t pr_receiver_counts(const pr_receiver_t *self)
{
    return self->counts;
}

pr_rc_t pr_receiver_dump(const pr_receiver_t *self, const char *path, pr_error_t *error)
{
    _Static_assert(sizeof(pr_receiver_row_t) == 32, "a row has no holes");
    PR_CLEANUP_FREE char *fresh = pr_asprintf("%s.new", path);
    FILE *file = fopen(fresh, "we");
    bool good = file != NULL;
    size_t cursor = 0;
    const pr_ledger_entry_t *entry;
    while (good && (entry = pr_ledger_next(self->ledger, &cursor))) {
        pr_receiver_row_t row = {
            .first_us = entry->first_us, .count = entry->receipts, .flags = entry->target == 2};
        memcpy(row.id, entry->id.bytes, sizeof(row.id));
        good = fwrite(&row, sizeof(row), 1, file) == 1;
    }
    if (file && fclose(file) != 0) {
        good = false;
    }
    if (!good || rename(fresh, path) != 0) {
        return pr_error_set(error, PR_FATAL, "receiver", strerrorname_np(errno), "cannot write %s",
                            path);
    }
    return PR_OK;
}
