/* SPDX-License-Identifier: Apache-2.0
 *
 * What broker_io.c (sockets, facts, tap, life) and broker_work.c (the work desks) share.
 */
#ifndef PR_BROKER_PRIVATE_H
#define PR_BROKER_PRIVATE_H

#include "actor/actor.h"
#include "broker/broker.h"

typedef struct pr_broker_io_t pr_broker_io_t;

/* A ROUTER where work is given out by credit, with decisions of its own: `work` has the
 * notifications, `calls` what is asked of gateways. Who stands at one knows nothing of the other. */
typedef struct {
    pr_broker_io_t *io;
    const char *name;
    pr_socket_t *socket;
    pr_broker_t *broker;
    pr_broker_counts_t told; /* counts at the last report */
} pr_broker_desk_t;

struct pr_broker_io_t {
    pr_actor_t *actor; /* borrowed */
    pr_broker_desk_t work, calls;
    pr_socket_t *facts, *breaker, *dead, *state, *tap;
    uint8_t instance[PR_SESSION_BYTES];
    uint32_t taps;      /* subscriptions on the tap socket; 0 = nobody listens */
    uint64_t malformed; /* frames that break a bound */
    uint64_t misplaced; /* good envelopes on a socket where they mean nothing */
    uint64_t refused;   /* sends that a full or lost peer refused */
    uint64_t tapped;    /* copies made for the tap */
    uint64_t passed;    /* messages taken from work, calls and facts */
};

/* Reads and checks one frame; NULL: malformed, counted and logged. The caller's. */
Postrider__V1__Envelope *pr_broker_open(pr_broker_io_t *self, pr_bytes_t frame);
/* A copy to whoever taps; costs one comparison when nobody does. */
void pr_broker_tap(pr_broker_io_t *self, const Postrider__V1__Envelope *envelope, pr_bytes_t frame);
void pr_broker_misplaced(pr_broker_io_t *self, const Postrider__V1__Envelope *envelope,
                         const char *socket);

/* Handlers of the loop; arg is a desk. */
void pr_broker_on_work(void *arg, int64_t now_ms);
void pr_broker_on_turn(void *arg, int64_t now_ms);
void pr_broker_on_second(void *arg, int64_t now_ms);

#endif
