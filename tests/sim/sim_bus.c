/* SPDX-License-Identifier: Apache-2.0
 *
 * ZeroMQ, as far as lib/bus/bus.h shows it. A connection is two queues, one each way.
 *
 *   within a queue    FIFO; between queues any order: each message has a delay of its own
 *   high-water mark   a full queue refuses (DEALER, PUSH, ROUTER) or drops (XPUB)
 *   nobody there      DEALER and PUSH refuse (ZMQ_IMMEDIATE), ROUTER says PR_LOST (ZMQ_ROUTER_MANDATORY)
 *   a break           of what is on its way some first part still arrives, the rest is lost; the connecting side tries again
 *                     and gets a new route
 *   a dead peer       the same, but nothing arrives at it
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "bus/bus.h"
#include "sim.h"

#include <string.h>

#define CONNS_MAX 48 /* of one socket */
#define TOPICS_MAX 4
#define ROUTE_BYTES 5

typedef struct message_t {
    struct message_t *next;
    int64_t at_us; /* it can be received from then on */
    size_t topic_len, len;
    uint8_t bytes[]; /* topic, then frame */
} message_t;

typedef struct {
    message_t *first, *last;
    int count;
    int64_t last_at_us;
} queue_t;

typedef struct conn_t {
    struct conn_t *next;
    pr_socket_t *ends[2]; /* 0 connected, 1 bound; NULL: gone */
    queue_t to[2];
    uint8_t route[ROUTE_BYTES];
    bool broken;
} conn_t;

struct pr_socket_t {
    struct pr_socket_t *next;
    pr_actor_t *actor;
    pr_socket_type_t type;
    char bound[128], connects[128];
    bool connecting;
    int64_t retry_at_us;
    conn_t *conns[CONNS_MAX];
    int nconns, turn;
    char topics[TOPICS_MAX][32];
    int ntopics;
    message_t *received;
    uint8_t route[ROUTE_BYTES];
};

struct pr_bus_t {
    pr_actor_t *actor;
};

static pr_socket_t *sockets;
static conn_t *conns;
static uint64_t routes;
static int high_water;
static int slow_percent; /* of messages that take long */

void sim_bus_begin(void)
{
    routes = 0;
    high_water = sim_chance(70) || sim->strict ? 1000 : (int)sim_between(4, 40);
    slow_percent = sim_chance(60) || sim->strict ? 0 : (int)sim_between(1, 15);
}

pr_bus_t *pr_bus_new(void)
{
    pr_bus_t *self = PR_NEW(pr_bus_t);
    self->actor = sim->current;
    return self;
}

void pr_bus_destroy(pr_bus_t **self)
{
    pr_free(*self);
    *self = NULL;
}

/* ---- connections ---- */

static void queue_clear(queue_t *queue)
{
    while (queue->first) {
        message_t *message = queue->first;
        queue->first = message->next;
        pr_free(message);
    }
    *queue = (queue_t){0};
}

static void detach(pr_socket_t *socket, const conn_t *conn)
{
    for (int i = 0; i < socket->nconns; i++)
        if (socket->conns[i] == conn)
            socket->conns[i--] = socket->conns[--socket->nconns];
}

/* Frees connections that carry nothing any more. */
static void sweep(void)
{
    for (conn_t **at = &conns; *at;) {
        conn_t *conn = *at;
        for (int end = 0; end < 2 && conn->broken; end++) {
            if (conn->ends[end] && !conn->to[end].first) {
                detach(conn->ends[end], conn);
                conn->ends[end] = NULL;
            }
        }
        if (conn->broken && !conn->ends[0] && !conn->ends[1]) {
            *at = conn->next;
            queue_clear(&conn->to[0]);
            queue_clear(&conn->to[1]);
            pr_free(conn);
        } else {
            at = &conn->next;
        }
    }
}

/* keep[end]: what is on its way there may still arrive in part. */
static void break_conn(conn_t *conn, bool keep0, bool keep1, int64_t retry_at_us)
{
    const bool keep[2] = {keep0, keep1};
    if (conn->broken)
        return;
    conn->broken = true;
    for (int end = 0; end < 2; end++) {
        queue_t *queue = &conn->to[end];
        int left = keep[end] && queue->count > 0 ? (int)sim_between(0, queue->count) : 0;
        message_t **at = &queue->first;
        queue->last = NULL;
        for (; *at && left > 0; left--) {
            queue->last = *at;
            at = &(*at)->next;
        }
        while (*at) {
            message_t *lost = *at;
            *at = lost->next;
            pr_free(lost);
            queue->count--;
        }
    }
    if (conn->ends[0])
        conn->ends[0]->retry_at_us = retry_at_us;
}

static int64_t soon(void)
{
    return sim->now_us + sim_between(20 * SIM_MS, 400 * SIM_MS);
}

static void connect_now(pr_socket_t *socket, pr_socket_t *to)
{
    pr_assert(socket->nconns < CONNS_MAX && to->nconns < CONNS_MAX);
    conn_t *conn = PR_NEW(conn_t);
    conn->next = conns;
    conns = conn;
    conn->ends[0] = socket;
    conn->ends[1] = to;
    uint64_t number = ++routes;
    memcpy(conn->route + 1, &number, ROUTE_BYTES - 1);
    socket->conns[socket->nconns++] = conn;
    to->conns[to->nconns++] = conn;
    socket->retry_at_us = SIM_NEVER;
}

static void try_connect(pr_socket_t *socket)
{
    for (pr_socket_t *to = sockets; to; to = to->next) {
        if (to->bound[0] && strcmp(to->bound, socket->connects) == 0 && sim_alive(to->actor) &&
            !sim_paused(to->actor) && !sim_paused(socket->actor)) {
            connect_now(socket, to);
            return;
        }
    }
    socket->retry_at_us = soon();
}

int64_t sim_bus_wake_us(void)
{
    int64_t at_us = SIM_NEVER;
    for (const pr_socket_t *socket = sockets; socket; socket = socket->next)
        if (socket->connecting && socket->retry_at_us < at_us)
            at_us = socket->retry_at_us;
    return at_us;
}

void sim_bus_run(void)
{
    sweep();
    for (pr_socket_t *socket = sockets; socket; socket = socket->next)
        if (socket->connecting && socket->retry_at_us <= sim->now_us)
            try_connect(socket);
}

void sim_bus_break(pr_actor_t *actor, int percent, int64_t until_us)
{
    for (conn_t *conn = conns; conn; conn = conn->next) {
        bool ours = (conn->ends[0] && conn->ends[0]->actor == actor) ||
                    (conn->ends[1] && conn->ends[1]->actor == actor);
        if (ours && sim_chance(percent))
            break_conn(conn, true, true, until_us);
    }
}

/* What peers had sent to it lies in the kernel's buffers and is read when it wakes. */
void sim_bus_paused(pr_actor_t *actor)
{
    for (conn_t *conn = conns; conn; conn = conn->next)
        if ((conn->ends[0] && conn->ends[0]->actor == actor) ||
            (conn->ends[1] && conn->ends[1]->actor == actor))
            break_conn(conn, true, true, soon());
}

void sim_bus_gone(pr_actor_t *actor)
{
    for (conn_t *conn = conns; conn; conn = conn->next) {
        bool first = conn->ends[0] && conn->ends[0]->actor == actor;
        bool second = conn->ends[1] && conn->ends[1]->actor == actor;
        if (first || second)
            break_conn(conn, !first, !second, soon());
    }
}

/* ---- sockets ---- */

pr_socket_t *pr_socket_new(pr_bus_t *bus, pr_socket_type_t type, const char *identity)
{
    pr_assert(identity == NULL);
    pr_socket_t *self = PR_NEW(pr_socket_t);
    self->actor = bus->actor;
    self->type = type;
    self->retry_at_us = SIM_NEVER;
    self->next = sockets;
    sockets = self;
    return self;
}

void pr_socket_destroy(pr_socket_t **self_ptr)
{
    pr_socket_t *self = PR_STEAL(*self_ptr);
    if (!self)
        return;
    for (int i = 0; i < self->nconns; i++) {
        conn_t *conn = self->conns[i];
        int end = conn->ends[0] == self ? 0 : 1;
        break_conn(conn, end != 0, end != 1, soon());
        conn->ends[end] = NULL;
        queue_clear(&conn->to[end]);
    }
    for (pr_socket_t **at = &sockets; *at; at = &(*at)->next) {
        if (*at == self) {
            *at = self->next;
            break;
        }
    }
    pr_free(self->received);
    pr_free(self);
    sweep();
}

void sim_bus_end(void)
{
    sweep();
    pr_assert(sockets == NULL && conns == NULL);
}

pr_rc_t pr_socket_bind(pr_socket_t *self, const char *endpoint, pr_error_t *error)
{
    (void)error;
    for (const pr_socket_t *other = sockets; other; other = other->next)
        pr_assert(strcmp(other->bound, endpoint) != 0 || !sim_alive(other->actor));
    pr_assert(strlen(endpoint) < sizeof self->bound);
    memcpy(self->bound, endpoint, strlen(endpoint) + 1);
    return PR_OK;
}

pr_rc_t pr_socket_connect(pr_socket_t *self, const char *endpoint, pr_error_t *error)
{
    (void)error;
    pr_assert(strlen(endpoint) < sizeof self->connects && !self->connecting);
    memcpy(self->connects, endpoint, strlen(endpoint) + 1);
    self->connecting = true;
    self->retry_at_us = sim->now_us + sim_between(0, 2 * SIM_MS);
    return PR_OK;
}

pr_rc_t pr_socket_disconnect(pr_socket_t *self, const char *endpoint, pr_error_t *error)
{
    (void)error;
    pr_assert(strcmp(self->connects, endpoint) == 0);
    self->connecting = false;
    for (int i = 0; i < self->nconns; i++)
        break_conn(self->conns[i], true, true, SIM_NEVER);
    return PR_OK;
}

void pr_socket_subscribe(pr_socket_t *self, const char *topic)
{
    pr_assert(self->ntopics < TOPICS_MAX && strlen(topic) < sizeof self->topics[0]);
    memcpy(self->topics[self->ntopics++], topic, strlen(topic) + 1);
}

/* ---- sending ---- */

static void queue_add(queue_t *queue, pr_bytes_t topic, pr_bytes_t frame)
{
    message_t *message = pr_calloc(1, sizeof *message + topic.len + frame.len);
    int64_t delay_us = sim_between(30, 600);
    if (slow_percent > 0 && !sim->quiet && sim_chance(slow_percent))
        delay_us = sim_between(SIM_MS, 150 * SIM_MS);
    message->at_us = sim->now_us + delay_us;
    if (message->at_us < queue->last_at_us)
        message->at_us = queue->last_at_us;
    queue->last_at_us = message->at_us;
    message->topic_len = topic.len;
    message->len = frame.len;
    if (topic.len > 0)
        memcpy(message->bytes, topic.data, topic.len);
    memcpy(message->bytes + topic.len, frame.data, frame.len);
    if (queue->last)
        queue->last->next = message;
    else
        queue->first = message;
    queue->last = message;
    queue->count++;
}

/* The far end's queue of this connection. */
static pr_rc_t put(pr_socket_t *self, conn_t *conn, pr_bytes_t topic, pr_bytes_t frame)
{
    int far = conn->ends[0] == self ? 1 : 0;
    if (conn->to[far].count >= high_water)
        return PR_AGAIN;
    queue_add(&conn->to[far], topic, frame);
    sim_wake(conn->ends[far]->actor, conn->to[far].last_at_us + sim_between(0, 300));
    return PR_OK;
}

static bool wants(const pr_socket_t *socket, pr_bytes_t topic)
{
    for (int i = 0; i < socket->ntopics; i++) {
        size_t len = strlen(socket->topics[i]);
        if (len <= topic.len && memcmp(socket->topics[i], topic.data, len) == 0)
            return true;
    }
    return false;
}

static pr_rc_t send_in_turn(pr_socket_t *self, pr_bytes_t frame)
{
    for (int i = 0; i < self->nconns; i++) {
        conn_t *conn = self->conns[(self->turn + i) % self->nconns];
        if (!conn->broken && put(self, conn, (pr_bytes_t){0}, frame) == PR_OK) {
            self->turn = (self->turn + i + 1) % self->nconns;
            return PR_OK;
        }
    }
    return PR_AGAIN;
}

static pr_rc_t send_to(pr_socket_t *self, pr_bytes_t route, pr_bytes_t frame)
{
    for (int i = 0; i < self->nconns; i++) {
        conn_t *conn = self->conns[i];
        if (!conn->broken && route.len == ROUTE_BYTES &&
            memcmp(conn->route, route.data, ROUTE_BYTES) == 0)
            return put(self, conn, (pr_bytes_t){0}, frame);
    }
    return PR_LOST;
}

pr_rc_t pr_socket_send(pr_socket_t *self, pr_bytes_t route_or_topic, pr_bytes_t frame)
{
    if (!sim_effect())
        return PR_OK;
    switch (self->type) {
    case PR_SOCKET_ROUTER:
        return send_to(self, route_or_topic, frame);
    case PR_SOCKET_XPUB:
        for (int i = 0; i < self->nconns; i++)
            if (!self->conns[i]->broken && wants(self->conns[i]->ends[0], route_or_topic))
                (void)!put(self, self->conns[i], route_or_topic, frame);
        return PR_OK;
    default:
        return send_in_turn(self, frame);
    }
}

/* ---- receiving ---- */

static conn_t *first_ready(const pr_socket_t *self)
{
    conn_t *first = NULL;
    int64_t first_us = SIM_NEVER;
    for (int i = 0; i < self->nconns; i++) {
        conn_t *conn = self->conns[i];
        const message_t *head = conn->to[conn->ends[0] == self ? 0 : 1].first;
        if (head && head->at_us < first_us) {
            first_us = head->at_us;
            first = conn;
        }
    }
    return first;
}

int64_t sim_socket_ready_us(const pr_socket_t *self)
{
    const conn_t *conn = first_ready(self);
    return conn ? conn->to[conn->ends[0] == self ? 0 : 1].first->at_us : SIM_NEVER;
}

pr_rc_t pr_socket_receive(pr_socket_t *self, pr_incoming_t *out)
{
    conn_t *conn = first_ready(self);
    if (!conn || !sim_alive(self->actor))
        return PR_AGAIN;
    queue_t *queue = &conn->to[conn->ends[0] == self ? 0 : 1];
    message_t *message = queue->first;
    if (message->at_us > sim->now_us)
        return PR_AGAIN;
    queue->first = message->next;
    if (!queue->first)
        queue->last = NULL;
    queue->count--;
    pr_free(self->received);
    self->received = message;
    memcpy(self->route, conn->route, ROUTE_BYTES);
    out->route = self->type == PR_SOCKET_ROUTER ? pr_bytes(self->route, ROUTE_BYTES)
                                                : pr_bytes(message->bytes, message->topic_len);
    out->frame = pr_bytes(message->bytes + message->topic_len, message->len);
    return PR_OK;
}

bool pr_socket_wait(pr_socket_t *self, int timeout_ms)
{
    (void)timeout_ms;
    return sim_socket_ready_us(self) <= sim->now_us;
}

uint64_t pr_socket_dropped(const pr_socket_t *self)
{
    (void)self;
    return 0;
}

void *pr_socket_native(pr_socket_t *self)
{
    return self;
}

/* ---- a worker's look into the folder of the sockets (lib/worker/worker_schedulers.c) ---- */

/* Schedulers' own sockets are "s" and hexadecimal digits beside the first broker's. */
const char *sim_bus_scheduler_address(int index)
{
    for (const pr_socket_t *socket = sockets; socket; socket = socket->next) {
        const char *slash = strrchr(socket->bound, '/');
        if (slash && slash[1] == 's' &&
            strspn(slash + 2, "0123456789abcdef") == strlen(slash + 2) &&
            sim_alive(socket->actor) && index-- == 0)
            return socket->bound;
    }
    return NULL;
}
