/* SPDX-License-Identifier: Apache-2.0 */
#include "bus/bus.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "bus/address.h"
#include "wire/envelope.h"

#include <zmq.h>

#include <errno.h>
#include <string.h>

enum {
    LINGER_MS = 1000,
    HIGH_WATER = 1000, /* messages a peer, each way */
    HEARTBEAT_MS = 1000,
    HEARTBEAT_IPC_MS = 3000, /* the kernel tells of a peer's death; this finds a stopped one */
    HEARTBEAT_TTLS = 3,      /* without a word for so many: gone */
    HANDSHAKE_MS = 3000,
    CONNECT_MS = 3000,
    RECONNECT_MS = 50,
    RECONNECT_MAX_MS = 1000,
    KEEPALIVE_IDLE_S = 10,
    KEEPALIVE_EVERY_S = 3,
    KEEPALIVE_TRIES = 3,
    SOCKETS_MAX = 1024,
    SKIP_MAX = 64, /* malformed messages passed over in one receive */
};

/* A frame over the contract's limit is dropped and counted; twice that closes its connection
 * before it is read, so that a stranger cannot fill our memory. */
#define MESSAGE_MAX ((int64_t)2 * PR_WIRE_FRAME_MAX)

struct pr_bus_t {
    void *context;
};

struct pr_socket_t {
    void *native;
    pr_socket_type_t type;
    uint64_t dropped;
    zmq_msg_t route; /* both hold the last message until the next receive */
    zmq_msg_t frame;
};

pr_bus_t *pr_bus_new(void)
{
    pr_bus_t *self = PR_NEW(pr_bus_t);
    self->context = zmq_ctx_new();
    pr_assert(self->context);
    int rc = zmq_ctx_set(self->context, ZMQ_BLOCKY, 0);
    rc |= zmq_ctx_set(self->context, ZMQ_MAX_SOCKETS, SOCKETS_MAX);
    pr_assert(rc == 0);
    return self;
}

void pr_bus_destroy(pr_bus_t **self)
{
    if (*self) {
        while (zmq_ctx_term((*self)->context) != 0 && errno == EINTR) {
        }
        pr_free(*self);
        *self = NULL;
    }
}

static int native_type(pr_socket_type_t type)
{
    switch (type) {
    case PR_SOCKET_ROUTER:
        return ZMQ_ROUTER;
    case PR_SOCKET_DEALER:
        return ZMQ_DEALER;
    case PR_SOCKET_PUSH:
        return ZMQ_PUSH;
    case PR_SOCKET_PULL:
        return ZMQ_PULL;
    case PR_SOCKET_XPUB:
        return ZMQ_XPUB;
    case PR_SOCKET_SUB:
        return ZMQ_SUB;
    case PR_SOCKET_NONE:
        break;
    }
    return -1;
}

static void set_int(pr_socket_t *self, int option, int value)
{
    int rc = zmq_setsockopt(self->native, option, &value, sizeof value);
    pr_assert(rc == 0);
}

static void set_options(pr_socket_t *self, const char *identity)
{
    int64_t message_max = MESSAGE_MAX;
    int rc = zmq_setsockopt(self->native, ZMQ_MAXMSGSIZE, &message_max, sizeof message_max);
    pr_assert(rc == 0);
    set_int(self, ZMQ_LINGER, LINGER_MS);
    set_int(self, ZMQ_SNDHWM, HIGH_WATER);
    set_int(self, ZMQ_RCVHWM, HIGH_WATER);
    set_int(self, ZMQ_IPV6, 1);
    set_int(self, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS);
    set_int(self, ZMQ_CONNECT_TIMEOUT, CONNECT_MS);
    set_int(self, ZMQ_RECONNECT_IVL, RECONNECT_MS);
    set_int(self, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS);
    set_int(self, ZMQ_TCP_KEEPALIVE, 1);
    set_int(self, ZMQ_TCP_KEEPALIVE_IDLE, KEEPALIVE_IDLE_S);
    set_int(self, ZMQ_TCP_KEEPALIVE_INTVL, KEEPALIVE_EVERY_S);
    set_int(self, ZMQ_TCP_KEEPALIVE_CNT, KEEPALIVE_TRIES);
    if (self->type == PR_SOCKET_ROUTER) {
        set_int(self, ZMQ_ROUTER_MANDATORY, 1); /* an unroutable message is told, not dropped */
        set_int(self, ZMQ_ROUTER_HANDOVER, 1);  /* a peer that reconnects replaces its old self */
    }
    if (self->type == PR_SOCKET_DEALER || self->type == PR_SOCKET_PUSH) {
        set_int(self, ZMQ_IMMEDIATE, 1); /* nothing queues for a peer that is not there */
    }
    if (self->type == PR_SOCKET_DEALER && identity) {
        pr_bytes_t id = pr_bytes_text(identity);
        pr_assert(id.len > 0 && id.len <= PR_ROUTE_MAX);
        rc = zmq_setsockopt(self->native, ZMQ_ROUTING_ID, id.data, id.len);
        pr_assert(rc == 0);
    }
}

pr_socket_t *pr_socket_new(pr_bus_t *bus, pr_socket_type_t type, const char *identity)
{
    pr_socket_t *self = PR_NEW(pr_socket_t);
    self->type = type;
    self->native = zmq_socket(bus->context, native_type(type));
    pr_assert(self->native);
    set_options(self, identity);
    zmq_msg_init(&self->route);
    zmq_msg_init(&self->frame);
    return self;
}

void pr_socket_destroy(pr_socket_t **self)
{
    if (*self) {
        zmq_msg_close(&(*self)->route);
        zmq_msg_close(&(*self)->frame);
        zmq_close((*self)->native);
        pr_free(*self);
        *self = NULL;
    }
}

static pr_rc_t refused(pr_error_t *error, const char *verb, const char *endpoint)
{
    return pr_error_set(error, PR_BAD, "bus", "", "cannot %s %s: %s", verb, endpoint,
                        zmq_strerror(errno));
}

/* Each heartbeat wakes both sides' I/O threads, and most sockets of a machine are ipc. Holds for endpoints from here on. */
static void set_heartbeat(pr_socket_t *self, const char *endpoint)
{
    int every_ms = strncmp(endpoint, "ipc://", 6) == 0 ? HEARTBEAT_IPC_MS : HEARTBEAT_MS;
    set_int(self, ZMQ_HEARTBEAT_IVL, every_ms);
    set_int(self, ZMQ_HEARTBEAT_TTL, HEARTBEAT_TTLS * every_ms);
    set_int(self, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TTLS * every_ms);
}

pr_rc_t pr_socket_bind(pr_socket_t *self, const char *endpoint, pr_error_t *error)
{
    pr_rc_t rc = pr_address_check(endpoint, error);
    if (rc == PR_OK) {
        rc = pr_address_vacant(endpoint, error);
    }
    if (rc != PR_OK) {
        return rc;
    }
    set_heartbeat(self, endpoint);
    pr_umask_t mask = pr_umask_private();
    int bound = zmq_bind(self->native, endpoint);
    pr_umask_restore(mask);
    return bound == 0 ? PR_OK : refused(error, "bind", endpoint);
}

pr_rc_t pr_socket_connect(pr_socket_t *self, const char *endpoint, pr_error_t *error)
{
    pr_rc_t rc = pr_address_check(endpoint, error);
    if (rc != PR_OK) {
        return rc;
    }
    set_heartbeat(self, endpoint);
    return zmq_connect(self->native, endpoint) == 0 ? PR_OK
                                                    : refused(error, "connect to", endpoint);
}

pr_rc_t pr_socket_disconnect(pr_socket_t *self, const char *endpoint, pr_error_t *error)
{
    return zmq_disconnect(self->native, endpoint) == 0
               ? PR_OK
               : refused(error, "disconnect from", endpoint);
}

void pr_socket_subscribe(pr_socket_t *self, const char *topic)
{
    pr_assert(self->type == PR_SOCKET_SUB);
    pr_bytes_t prefix = pr_bytes_text(topic);
    int rc = zmq_setsockopt(self->native, ZMQ_SUBSCRIBE, prefix.data, prefix.len);
    pr_assert(rc == 0);
}

static bool has_route(pr_socket_type_t type)
{
    return type == PR_SOCKET_ROUTER || type == PR_SOCKET_XPUB;
}

static pr_rc_t send_part(pr_socket_t *self, pr_bytes_t part, int more)
{
    while (zmq_send(self->native, part.data, part.len, ZMQ_DONTWAIT | more) < 0) {
        switch (errno) {
        case EINTR:
            continue;
        case EAGAIN:
            return PR_AGAIN;
        case EHOSTUNREACH:
            return PR_LOST;
        default:
            pr_assert(errno == EAGAIN); /* closed socket, ended context: only a bug */
        }
    }
    return PR_OK;
}

pr_rc_t pr_socket_send(pr_socket_t *self, pr_bytes_t route_or_topic, pr_bytes_t frame)
{
    pr_assert(frame.len <= PR_WIRE_FRAME_MAX);
    if (!has_route(self->type)) {
        return send_part(self, frame, 0);
    }
    pr_rc_t rc = send_part(self, route_or_topic, ZMQ_SNDMORE);
    if (rc != PR_OK) {
        return rc;
    }
    /* The peer can still vanish between the two parts: libzmq then takes the second and forgets
     * both, as it would a moment later. */
    rc = send_part(self, frame, 0);
    pr_assert(rc == PR_OK);
    return PR_OK;
}

/* PR_AGAIN: nothing waits. */
static pr_rc_t receive_part(pr_socket_t *self, zmq_msg_t *part)
{
    while (zmq_msg_recv(part, self->native, ZMQ_DONTWAIT) < 0) {
        if (errno == EAGAIN) {
            return PR_AGAIN;
        }
        pr_assert(errno == EINTR);
    }
    return PR_OK;
}

/* The rest of a message with too many parts. */
static void skip_parts(pr_socket_t *self)
{
    bool more = true;
    while (more && receive_part(self, &self->frame) == PR_OK) {
        more = zmq_msg_more(&self->frame);
    }
}

static pr_bytes_t view(zmq_msg_t *part)
{
    return pr_bytes(zmq_msg_data(part), zmq_msg_size(part));
}

/* PR_OK: a message of the right shape in route and frame. PR_BAD: one of another shape was
 * passed over. */
static pr_rc_t receive_message(pr_socket_t *self)
{
    bool two = self->type == PR_SOCKET_ROUTER || self->type == PR_SOCKET_SUB;
    zmq_msg_t *first = two ? &self->route : &self->frame;
    if (receive_part(self, first) != PR_OK) {
        return PR_AGAIN;
    }
    bool more = zmq_msg_more(first);
    if (two && more && receive_part(self, &self->frame) == PR_OK) {
        two = false;
        more = zmq_msg_more(&self->frame);
    }
    if (two || more) {
        skip_parts(self);
        return PR_BAD;
    }
    bool fits = zmq_msg_size(&self->frame) <= PR_WIRE_FRAME_MAX &&
                zmq_msg_size(&self->route) <= PR_ROUTE_MAX;
    return fits ? PR_OK : PR_BAD;
}

pr_rc_t pr_socket_receive(pr_socket_t *self, pr_incoming_t *out)
{
    for (int i = 0; i < SKIP_MAX; i++) {
        pr_rc_t rc = receive_message(self);
        if (rc == PR_OK) {
            out->route = view(&self->route);
            out->frame = view(&self->frame);
            return PR_OK;
        }
        if (rc == PR_AGAIN) {
            return PR_AGAIN;
        }
        self->dropped++;
    }
    return PR_AGAIN; /* the socket stays readable: the loop comes back */
}

bool pr_socket_wait(pr_socket_t *self, int timeout_ms)
{
    zmq_pollitem_t item = {.socket = self->native, .events = ZMQ_POLLIN};
    return zmq_poll(&item, 1, timeout_ms) > 0;
}

uint64_t pr_socket_dropped(const pr_socket_t *self)
{
    return self->dropped;
}

void *pr_socket_native(pr_socket_t *self)
{
    return self->native;
}
