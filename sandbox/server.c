/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/server.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/timerq.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 256
#define READ_BYTES 65536
#define FILL_BYTES 16384          /* of a long body, made at a time */
#define OUT_MAX_BYTES (64U << 20) /* a statement; an answer of the control API has 6 MiB */
#define PIECES_MAX 32             /* sends in one turn: an endless body must not stop the others */
#define DRAIN_MS 1000             /* after FIN: until the sender has read the answer and closed */
#define TIMERS_MAX (1U << 20)

typedef enum {
    CONN_READING = 0, /* a request is coming */
    CONN_WAITING,     /* the answer is ready but not due (slow) */
    CONN_SENDING,     /* the answer is on its way */
    CONN_HOLDING,     /* no answer, ever (hang) */
    CONN_DRAINING,    /* FIN sent; what comes is thrown away until the sender closes */
    CONN_PARTING,     /* answered with keep-alive, will close all the same (leave) */
} conn_state_t;

typedef struct {
    int fd; /* -1: a free slot */
    uint32_t generation;
    conn_state_t state;
    uint32_t alarm; /* number of the timer that counts; older ones are ignored */
    bool readable, queued, gone;
    pr_buffer_t in;
    size_t in_at; /* bytes of in that are done with */
    pr_request_t request;
    pr_buffer_t out;
    size_t out_at;
    uint64_t fill_left;
    bool body_left; /* the body after the fill */
    bool has_exchange, recorded;
    pr_exchange_t exchange;
    pr_answer_how_t how; /* of an answer that is no exchange: control, a gateway's */
} conn_t;

struct pr_server_t {
    pr_server_options_t options;
    pr_sandbox_t *sandbox;
    int epoll;
    pr_timerq_t *timers;
    uint32_t alarms; /* numbers given so far */
    conn_t *conns;
    uint32_t *free_slots, free_count;
    uint32_t *queue, queue_count; /* slots that can go on this turn */
    uint32_t *again, again_count; /* and next turn */
    bool accepting, stopping;
    pr_now_t now;
    uint8_t scratch[READ_BYTES];
};

#define KEY_LISTENER UINT64_MAX
#define KEY_SIGNALS (UINT64_MAX - 1)
#define KEY_GATE (UINT64_MAX - 2)

static uint64_t key_of(const pr_server_t *self, const conn_t *conn)
{
    return ((uint64_t)conn->generation << 32) | (uint32_t)(conn - self->conns);
}

static void watch(pr_server_t *self, int fd, uint32_t events, uint64_t key)
{
    struct epoll_event event = {.events = events, .data.u64 = key};
    int rc = epoll_ctl(self->epoll, EPOLL_CTL_ADD, fd, &event);
    pr_assert(rc == 0);
}

pr_server_t *pr_server_new(const pr_server_options_t *options, pr_sandbox_t *sandbox)
{
    pr_server_t *self = PR_NEW(pr_server_t);
    uint32_t max = options->max_connections;
    self->options = *options;
    self->sandbox = sandbox;
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    pr_assert(self->epoll >= 0);
    self->timers = pr_timerq_new(TIMERS_MAX);
    self->conns = pr_calloc(max, sizeof(*self->conns));
    self->free_slots = pr_calloc(max, sizeof(*self->free_slots));
    self->queue = pr_calloc(max, sizeof(*self->queue));
    self->again = pr_calloc(max, sizeof(*self->again));
    for (uint32_t i = 0; i < max; i++) {
        self->conns[i].fd = -1;
        self->free_slots[self->free_count++] = max - 1 - i;
    }
    self->accepting = true;
    watch(self, options->listener, EPOLLIN, KEY_LISTENER);
    watch(self, pr_gate_fd(sandbox->gate), EPOLLIN, KEY_GATE);
    if (options->signals >= 0) {
        watch(self, options->signals, EPOLLIN, KEY_SIGNALS);
    }
    return self;
}

static void enqueue(pr_server_t *self, conn_t *conn)
{
    if (!conn->queued) {
        conn->queued = true;
        self->queue[self->queue_count++] = (uint32_t)(conn - self->conns);
    }
}

static void set_alarm(pr_server_t *self, conn_t *conn, int64_t delay_ms)
{
    conn->alarm = ++self->alarms;
    uint64_t id = ((uint64_t)conn->alarm << 32) | (uint32_t)(conn - self->conns);
    pr_rc_t rc = pr_timerq_add(self->timers, self->now.mono_ms + delay_ms, id);
    conn->gone = conn->gone || rc != PR_OK; /* a million timers: this sender goes */
}

static void go_on_next_turn(pr_server_t *self, conn_t *conn)
{
    conn->queued = true;
    self->again[self->again_count++] = (uint32_t)(conn - self->conns);
}

/* The exchange leaves: recorded at the latest now. */
static void end_exchange(pr_server_t *self, conn_t *conn)
{
    if (conn->has_exchange) {
        if (!conn->recorded) {
            pr_sandbox_record(self->sandbox, &conn->exchange, true, self->now.wall_us);
        }
        pr_sandbox_leave(&conn->exchange);
        conn->has_exchange = false;
    }
}

static void bury(pr_server_t *self, conn_t *conn)
{
    end_exchange(self, conn);
    close(conn->fd);
    pr_buffer_free(&conn->in);
    pr_buffer_free(&conn->out);
    uint32_t generation = conn->generation + 1;
    bool queued = conn->queued;
    *conn = (conn_t){.fd = -1, .generation = generation & 0x7fffffffU, .queued = queued};
    self->free_slots[self->free_count++] = (uint32_t)(conn - self->conns);
    self->sandbox->open--;
    if (!self->accepting && !self->stopping) {
        self->accepting = true;
        watch(self, self->options.listener, EPOLLIN, KEY_LISTENER);
    }
}

void pr_server_destroy(pr_server_t **self)
{
    if (*self) {
        pr_server_t *server = *self;
        server->stopping = true;
        for (uint32_t i = 0; i < server->options.max_connections; i++) {
            if (server->conns[i].fd >= 0) {
                bury(server, &server->conns[i]);
            }
        }
        close(server->options.listener);
        if (server->options.signals >= 0) {
            close(server->options.signals);
        }
        close(server->epoll);
        pr_timerq_destroy(&server->timers);
        pr_free(server->conns);
        pr_free(server->free_slots);
        pr_free(server->queue);
        pr_free(server->again);
        pr_free(server);
        *self = NULL;
    }
}

static void accept_all(pr_server_t *self)
{
    while (self->free_count > 0) {
        /* cppcheck-suppress nullPointer ; accept(2): NULL when the peer is of no interest */
        int fd = accept4(self->options.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
                pr_log_limited(PR_LOG_WARN, "accept.failed", "", "error=%s",
                               strerrorname_np(errno));
            }
            return;
        }
        conn_t *conn = &self->conns[self->free_slots[--self->free_count]];
        conn->fd = fd;
        pr_buffer_init(&conn->in, PR_REQUEST_HEAD_MAX + self->options.max_body + 2 * READ_BYTES);
        pr_buffer_init(&conn->out, OUT_MAX_BYTES);
        self->sandbox->connections++;
        self->sandbox->open++;
        watch(self, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, key_of(self, conn));
    }
    epoll_ctl(self->epoll, EPOLL_CTL_DEL, self->options.listener, NULL);
    self->accepting = false; /* full: the rest waits in the backlog until one leaves */
}

/* Reads once. False: nothing more now; conn->gone when the sender has closed. */
static bool read_some(pr_server_t *self, conn_t *conn, bool keep)
{
    if (!conn->readable) {
        return false;
    }
    ssize_t got = recv(conn->fd, self->scratch, sizeof(self->scratch), 0);
    if (got < 0 && errno == EINTR) {
        return true;
    }
    if (got <= 0) {
        conn->readable = false;
        conn->gone = got == 0 || errno != EAGAIN;
        return false;
    }
    if (keep) {
        pr_rc_t rc = pr_buffer_append(&conn->in, self->scratch, (size_t)got);
        pr_assert(rc == PR_OK); /* at most one request short of a byte, and one read more */
    }
    return true;
}

static const uint8_t *pending(const conn_t *conn, size_t *len)
{
    *len = conn->in.len - conn->in_at;
    return *len ? conn->in.data + conn->in_at : (const uint8_t *)"";
}

/* Forgets the request just answered; keeps what came behind it. */
static void consume(conn_t *conn)
{
    conn->in_at += pr_request_len(&conn->request);
    conn->request = (pr_request_t){0};
    if (conn->in_at >= conn->in.len) {
        pr_buffer_clear(&conn->in);
        conn->in_at = 0;
    } else if (conn->in_at > READ_BYTES / 2) {
        memmove(conn->in.data, conn->in.data + conn->in_at, conn->in.len - conn->in_at);
        conn->in.len -= conn->in_at;
        conn->in_at = 0;
    }
}

static void refuse(pr_server_t *self, conn_t *conn, int status, bool close)
{
    self->sandbox->refused++;
    pr_rc_t rc = pr_answer_plain(status, "text/plain", pr_bytes_text(pr_answer_reason(status)),
                                 close, &conn->out);
    pr_assert(rc == PR_OK);
    conn->request.close = conn->request.close || close;
    conn->state = CONN_SENDING;
}

/* The answer's time has come: on record, then (after the journal is written) out. */
static void release(pr_server_t *self, conn_t *conn)
{
    if (conn->has_exchange) { /* a gateway has recorded the call when it was made */
        pr_sandbox_record(self->sandbox, &conn->exchange, false, self->now.wall_us);
        conn->recorded = true;
    }
    conn->state = CONN_SENDING;
}

static void begin_exchange(pr_server_t *self, conn_t *conn)
{
    pr_answer_t *answer = &conn->exchange.answer;
    conn->has_exchange = true;
    conn->recorded = false;
    conn->fill_left = 0;
    conn->body_left = false;
    if (answer->how == PR_ANSWER_SEND || answer->how == PR_ANSWER_RAW) {
        /* `leave` closes without saying so, everything else says it */
        bool say = conn->request.close ||
                   (answer->close && conn->exchange.merchant->temper.kind != PR_TEMPER_LEAVE);
        pr_rc_t rc = pr_answer_render(answer, say, self->now.wall_us / 1000000, &conn->out);
        pr_assert(rc == PR_OK);
        conn->fill_left = answer->fill;
        conn->body_left = answer->fill > 0 && answer->body_len > 0;
    }
    if (answer->delay_ms > 0) {
        conn->state = CONN_WAITING;
        set_alarm(self, conn, answer->delay_ms);
        return;
    }
    if (answer->drip_ms > 0) {
        conn->state = CONN_SENDING; /* on record when its last byte has left */
        return;
    }
    release(self, conn);
    if (answer->how == PR_ANSWER_HOLD) {
        conn->state = CONN_HOLDING;
    }
}

static void begin_gateway_call(pr_server_t *self, conn_t *conn, const uint8_t *data)
{
    pr_gate_outcome_t outcome =
        pr_gate_receive(self->sandbox->gate, &conn->request, data, self->now, &conn->out);
    conn->how = outcome.how;
    conn->state = CONN_SENDING;
    if (outcome.how == PR_ANSWER_HOLD) {
        conn->state = CONN_HOLDING;
    } else if (outcome.how == PR_ANSWER_RAW) {
        conn->request.close = true;
    } else if (outcome.delay_ms > 0) {
        conn->state = CONN_WAITING;
        set_alarm(self, conn, outcome.delay_ms);
    }
}

static bool is_control(pr_bytes_t target)
{
    static const char *const prefixes[] = {"/control/", "/healthz"};
    for (size_t i = 0; i < PR_COUNT(prefixes); i++) {
        size_t len = strlen(prefixes[i]);
        if (target.len >= len && memcmp(target.data, prefixes[i], len) == 0) {
            return true;
        }
    }
    return false;
}

static void begin(pr_server_t *self, conn_t *conn, const uint8_t *data)
{
    pr_bytes_t target = pr_request_view(data, conn->request.target);
    conn->how = PR_ANSWER_SEND;
    if (is_control(target)) {
        pr_rc_t rc = pr_control_answer(self->sandbox, &conn->request, data, self->now, &conn->out);
        pr_assert(rc == PR_OK);
        conn->state = CONN_SENDING;
        return;
    }
    if (pr_gate_owns(target)) {
        begin_gateway_call(self, conn, data);
        return;
    }
    int status =
        pr_sandbox_receive(self->sandbox, &conn->request, data, self->now, &conn->exchange);
    if (status != 0) {
        refuse(self, conn, status, false);
    } else {
        begin_exchange(self, conn);
    }
}

/* Reads and decides until an answer is ready or nothing more has come. */
static void advance(pr_server_t *self, conn_t *conn)
{
    while (conn->state == CONN_READING) {
        size_t len = 0;
        const uint8_t *data = pending(conn, &len);
        switch (len ? pr_request_parse(&conn->request, data, len, self->options.max_body)
                    : PR_REQUEST_MORE) {
        case PR_REQUEST_READY:
            begin(self, conn, data);
            break;
        case PR_REQUEST_BAD:
            refuse(self, conn, conn->request.status, true);
            break;
        case PR_REQUEST_MORE:
            if (conn->request.expect && conn->request.head_len > 0) {
                static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
                (void)!send(conn->fd, go_on, sizeof(go_on) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
                conn->request.expect = false;
            }
            if (!read_some(self, conn, true)) {
                return;
            }
            break;
        }
    }
    while (conn->state == CONN_DRAINING && read_some(self, conn, false)) {
    }
}

/* Makes the next piece of a long body when all before it has left. */
static void refill(conn_t *conn)
{
    const pr_answer_t *answer = &conn->exchange.answer;
    pr_buffer_clear(&conn->out);
    conn->out_at = 0;
    if (!conn->has_exchange) {
        return;
    }
    uint8_t block[FILL_BYTES];
    size_t len = conn->fill_left < sizeof(block) ? (size_t)conn->fill_left : sizeof(block);
    pr_rc_t rc = PR_OK;
    if (answer->endless) {
        memset(block, 'x', sizeof(block));
        rc = pr_buffer_printf(&conn->out, "%x\r\n%.*s\r\n", FILL_BYTES, FILL_BYTES,
                              (const char *)block);
    } else if (len > 0) {
        memset(block, answer->fill_byte, len);
        rc = pr_buffer_append(&conn->out, block, len);
        conn->fill_left -= len;
    } else if (conn->body_left) {
        rc = pr_buffer_append(&conn->out, answer->body, answer->body_len);
        conn->body_left = false;
    }
    pr_assert(rc == PR_OK);
}

/* The whole answer has left: on to the next request, or to the end. */
static void finish(pr_server_t *self, conn_t *conn)
{
    bool close = conn->request.close;
    int64_t linger_ms = -1;
    if (conn->has_exchange) {
        close = close || conn->exchange.answer.close;
        if (!conn->recorded) {
            release(self, conn);
        }
        if (conn->exchange.merchant->temper.kind == PR_TEMPER_LEAVE) {
            linger_ms = conn->exchange.answer.linger_ms;
        }
    }
    end_exchange(self, conn);
    consume(conn);
    if (linger_ms == 0) {
        conn->gone = true;
    } else if (linger_ms > 0) {
        conn->state = CONN_PARTING;
        set_alarm(self, conn, linger_ms);
    } else if (close) {
        conn->state = CONN_DRAINING;
        shutdown(conn->fd, SHUT_WR);
        set_alarm(self, conn, DRAIN_MS);
    } else {
        conn->state = CONN_READING;
    }
    go_on_next_turn(self, conn); /* more may be waiting */
}

static bool ends_without_answer(conn_t *conn)
{
    pr_answer_how_t how = conn->has_exchange ? conn->exchange.answer.how : conn->how;
    if (how == PR_ANSWER_RESET) {
        const struct linger hard = {.l_onoff = 1, .l_linger = 0}; /* close sends RST */
        (void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
        return true;
    }
    return how == PR_ANSWER_CLOSE;
}

static void emit(pr_server_t *self, conn_t *conn)
{
    if (conn->state != CONN_SENDING) {
        return;
    }
    if (ends_without_answer(conn)) {
        conn->gone = true;
        return;
    }
    int64_t drip_ms = conn->has_exchange ? conn->exchange.answer.drip_ms : 0;
    for (int pieces = 0;; pieces++) {
        if (pieces == PIECES_MAX) {
            go_on_next_turn(self, conn);
            return;
        }
        if (conn->out_at == conn->out.len) {
            refill(conn);
            if (conn->out.len == 0) {
                finish(self, conn);
                return;
            }
        }
        size_t len = drip_ms > 0 ? 1 : conn->out.len - conn->out_at;
        ssize_t sent = send(conn->fd, conn->out.data + conn->out_at, len, MSG_NOSIGNAL);
        if (sent < 0) {
            conn->gone = errno != EAGAIN && errno != EINTR;
            return; /* EPOLLOUT or the next alarm goes on */
        }
        conn->out_at += (size_t)sent;
        if (drip_ms > 0) {
            set_alarm(self, conn, drip_ms);
            return;
        }
    }
}

static void on_event(pr_server_t *self, const struct epoll_event *event)
{
    uint32_t slot = (uint32_t)event->data.u64;
    conn_t *conn = &self->conns[slot];
    if (conn->fd < 0 || key_of(self, conn) != event->data.u64) {
        return; /* buried earlier in this turn */
    }
    conn->readable = conn->readable || (event->events & (EPOLLIN | EPOLLRDHUP)) != 0;
    /* a sender that hangs up while it is kept waiting has given up; one that has sent all and
     * half-closed still gets what is on its way */
    bool kept_waiting =
        conn->state == CONN_WAITING || conn->state == CONN_HOLDING || conn->state == CONN_PARTING;
    conn->gone = conn->gone || (event->events & (EPOLLHUP | EPOLLERR)) != 0 ||
                 (kept_waiting && (event->events & EPOLLRDHUP) != 0);
    bool dripping =
        conn->state == CONN_SENDING && conn->has_exchange && conn->exchange.answer.drip_ms > 0;
    if (!dripping || conn->gone) { /* a drip goes by its alarm alone */
        enqueue(self, conn);
    }
}

static void on_alarm(pr_server_t *self, uint64_t id)
{
    conn_t *conn = &self->conns[(uint32_t)id];
    if (conn->fd < 0 || conn->alarm != (uint32_t)(id >> 32)) {
        return;
    }
    if (conn->state == CONN_WAITING) {
        release(self, conn);
    } else if (conn->state == CONN_PARTING || conn->state == CONN_DRAINING) {
        conn->gone = true;
    }
    enqueue(self, conn);
}

static bool on_signal(pr_server_t *self)
{
    struct signalfd_siginfo info;
    while (read(self->options.signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        self->stopping = self->stopping || info.ssi_signo != SIGUSR1;
    }
    return self->stopping;
}

static int wait_ms(const pr_server_t *self, int max_wait_ms)
{
    if (self->again_count > 0) {
        return 0;
    }
    int64_t next = pr_timerq_next_ms(self->timers), gate = pr_gate_due_ms(self->sandbox->gate);
    next = gate < next ? gate : next;
    if (next == INT64_MAX) {
        return max_wait_ms;
    }
    int64_t left = next - pr_clock_mono_ms();
    left = left < 0 ? 0 : left;
    return max_wait_ms < 0 || left < max_wait_ms ? (int)(left > 60000 ? 60000 : left) : max_wait_ms;
}

static void take_again(pr_server_t *self)
{
    for (uint32_t i = 0; i < self->again_count; i++) {
        self->queue[self->queue_count++] = self->again[i];
    }
    self->again_count = 0;
}

pr_rc_t pr_server_turn(pr_server_t *self, int max_wait_ms, pr_error_t *error)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(self->epoll, events, EVENTS, wait_ms(self, max_wait_ms));
    if (count < 0 && errno != EINTR) {
        return pr_error_set(error, PR_FATAL, "sandbox", strerrorname_np(errno), "epoll failed");
    }
    self->now = (pr_now_t){pr_clock_mono_ms(), pr_clock_wall_us()};
    take_again(self);
    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 == KEY_LISTENER) {
            accept_all(self);
        } else if (events[i].data.u64 == KEY_SIGNALS) {
            on_signal(self);
        } else if (events[i].data.u64 != KEY_GATE) { /* the gateways have their turn below */
            on_event(self, &events[i]);
        }
    }
    pr_timer_t timer;
    while (pr_timerq_pop(self->timers, self->now.mono_ms, &timer)) {
        on_alarm(self, timer.id);
    }
    for (uint32_t i = 0; i < self->queue_count; i++) {
        conn_t *conn = &self->conns[self->queue[i]];
        if (conn->fd >= 0 && !conn->gone) {
            advance(self, conn);
        }
    }
    pr_gate_turn(self->sandbox->gate, self->now);
    pr_rc_t rc = pr_journal_flush(self->sandbox->journal, error);
    rc = rc == PR_OK ? pr_gate_flush(self->sandbox->gate, error) : rc;
    if (rc != PR_OK) {
        return rc;
    }
    uint32_t queued = self->queue_count;
    self->queue_count = 0;
    for (uint32_t i = 0; i < queued; i++) {
        conn_t *conn = &self->conns[self->queue[i]];
        conn->queued = false;
        if (conn->fd >= 0 && !conn->gone) {
            emit(self, conn);
        }
        if (conn->fd >= 0 && conn->gone) {
            bury(self, conn);
        }
    }
    return self->stopping ? PR_LOST : PR_OK;
}

pr_rc_t pr_server_run(pr_server_t *self, pr_error_t *error)
{
    for (;;) {
        pr_rc_t rc = pr_server_turn(self, -1, error);
        if (rc != PR_OK) {
            return rc == PR_LOST ? PR_OK : rc;
        }
    }
}
