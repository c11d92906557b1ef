/* SPDX-License-Identifier: Apache-2.0
 *
 * The bus: ZeroMQ sockets that carry one Envelope (lib/wire/envelope.h) a message. The only library that includes zmq.h.
 *
 * Frames on the wire, by socket type:
 *   DEALER, PUSH, PULL  [envelope]
 *   ROUTER              [route][envelope]          route = the peer's ZeroMQ identity
 *   XPUB, SUB           [topic][envelope]          topic = the body's field name ("hint", "breaker_moved"), for filters
 * Every socket: bounded linger, bounded high-water marks, ZMQ_MAXMSGSIZE, ZMTP heartbeats (1 s, TTL 3 s; ipc 3 and 9 s), TCP keepalive,
 * ROUTER_MANDATORY, non-blocking send and receive. A message that cannot leave at once is refused with PR_AGAIN and
 * nothing is queued by us: messages are hints, whoever sent it sends again by its own timer. One thread.
 */
#ifndef PR_BUS_BUS_H
#define PR_BUS_BUS_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pr_bus_t pr_bus_t;       /* one per process: the ZeroMQ context */
typedef struct pr_socket_t pr_socket_t; /* borrows its bus */

typedef enum {
    PR_SOCKET_NONE = 0,
    PR_SOCKET_ROUTER,
    PR_SOCKET_DEALER,
    PR_SOCKET_PUSH,
    PR_SOCKET_PULL,
    PR_SOCKET_XPUB,
    PR_SOCKET_SUB,
} pr_socket_type_t;

#define PR_ROUTE_MAX 64 /* bytes of a ROUTER identity; ZeroMQ's own are 5 */

pr_bus_t *pr_bus_new(void);
void pr_bus_destroy(pr_bus_t **self); /* destroy all sockets first */

/* identity: for DEALER, may be NULL. Never fails on a valid type. */
pr_socket_t *pr_socket_new(pr_bus_t *bus, pr_socket_type_t type, const char *identity);
void pr_socket_destroy(pr_socket_t **self); /* linger 1 s at most */

/* endpoint: "ipc:///path" (directory must exist, file mode 0600 after bind, stale file replaced) or "tcp://host:port".
 * PR_BAD with the reason and what to do: bad endpoint, address in use, path longer than 107 bytes. */
PR_CHECK pr_rc_t pr_socket_bind(pr_socket_t *self, const char *endpoint, pr_error_t *error);
PR_CHECK pr_rc_t pr_socket_connect(pr_socket_t *self, const char *endpoint, pr_error_t *error);
PR_CHECK pr_rc_t pr_socket_disconnect(pr_socket_t *self, const char *endpoint, pr_error_t *error);
/* SUB only. topic "" = all. */
void pr_socket_subscribe(pr_socket_t *self, const char *topic);

/* route: for ROUTER (PR_LOST: that peer is gone); topic: for XPUB; else ignored. PR_AGAIN: high-water mark, try later.
 * frame is copied. */
PR_CHECK pr_rc_t pr_socket_send(pr_socket_t *self, pr_bytes_t route_or_topic, pr_bytes_t frame);

/* One received message; valid until the next receive on this socket. */
typedef struct {
    pr_bytes_t
        route; /* ROUTER: the peer; SUB: the topic; else empty. XPUB receives subscriptions: frame = [1|0]topic */
    pr_bytes_t frame; /* the envelope's bytes */
} pr_incoming_t;

/* PR_OK and *out, or PR_AGAIN when nothing waits. Messages with a wrong number of frames are dropped and counted. */
PR_CHECK pr_rc_t pr_socket_receive(pr_socket_t *self, pr_incoming_t *out);
/* Waits until something can be received, at most timeout_ms; false: nothing came. For tools with one socket; actors have
 * lib/actor's loop. */
bool pr_socket_wait(pr_socket_t *self, int timeout_ms);
uint64_t pr_socket_dropped(const pr_socket_t *self); /* malformed messages so far */
void *pr_socket_native(pr_socket_t *self);           /* for lib/actor's zmq_poll only */

#endif
