/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker's sockets, the roads of facts, the tap, and its life.
 */
#include "broker/broker_io.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/broker_private.h"

#include <inttypes.h>

enum { BUDGET = 256, SECOND_MS = 1000 };

typedef Postrider__V1__Envelope envelope_t;

envelope_t *pr_broker_open(pr_broker_io_t *self, pr_bytes_t frame)
{
    envelope_t *envelope = NULL;
    pr_error_t error;
    if (pr_envelope_unpack(frame, &envelope, &error) != PR_OK) {
        self->malformed++;
        pr_log_limited(PR_LOG_WARN, "frame.malformed", "", "bytes=%zu total=%" PRIu64 " why=%s",
                       frame.len, self->malformed, error.text);
    }
    return envelope;
}

void pr_broker_misplaced(pr_broker_io_t *self, const envelope_t *envelope, const char *socket)
{
    self->misplaced++;
    pr_log_limited(PR_LOG_WARN, "frame.misplaced", pr_envelope_kind(envelope),
                   "kind=%s socket=%s total=%" PRIu64, pr_envelope_kind(envelope), socket,
                   self->misplaced);
}

/* ---- the tap ---- */

void pr_broker_tap(pr_broker_io_t *self, const envelope_t *envelope, pr_bytes_t frame)
{
    if (self->taps > 0) {
        pr_rc_t rc = pr_socket_send(self->tap, pr_bytes_text(pr_envelope_kind(envelope)), frame);
        self->tapped += rc == PR_OK;
    }
}

/* An XPUB tells of the first subscription to a topic and the end of the last. */
static void on_tap(void *arg, int64_t now_ms)
{
    (void)now_ms;
    pr_broker_io_t *self = arg;
    pr_incoming_t in;
    for (int i = 0; i < BUDGET && pr_socket_receive(self->tap, &in) == PR_OK; i++) {
        bool known = in.frame.len > 0 && in.frame.data[0] <= 1;
        if (known && in.frame.data[0] == 1) {
            self->taps++;
        } else if (known && self->taps > 0) {
            self->taps--;
        }
        pr_log_info("tap.changed", "topics=%u copies=%" PRIu64 " passed=%" PRIu64, self->taps,
                    self->tapped, self->passed);
    }
}

static void on_state(void *arg, int64_t now_ms) /* who subscribes there changes nothing for us */
{
    (void)now_ms;
    pr_broker_io_t *self = arg;
    pr_incoming_t in;
    for (int i = 0; i < BUDGET && pr_socket_receive(self->state, &in) == PR_OK; i++) {
    }
}

/* ---- facts ---- */

enum { TO_BREAKER = 1, TO_DEAD = 2, TO_STATE = 4 };

static unsigned road_of(const envelope_t *envelope)
{
    switch (envelope->body_case) {
    case POSTRIDER__V1__ENVELOPE__BODY_ATTEMPT_FACT:
    case POSTRIDER__V1__ENVELOPE__BODY_ENDPOINT_GONE:
        return TO_BREAKER;
    case POSTRIDER__V1__ENVELOPE__BODY_BREAKER_MOVED:
        return TO_BREAKER | TO_STATE;
    case POSTRIDER__V1__ENVELOPE__BODY_DEAD_FACT:
        return TO_DEAD;
    case POSTRIDER__V1__ENVELOPE__BODY_ALERT:
        return TO_DEAD | TO_STATE;
    case POSTRIDER__V1__ENVELOPE__BODY_HINT:
    case POSTRIDER__V1__ENVELOPE__BODY_BREAKER_COMMAND:
    case POSTRIDER__V1__ENVELOPE__BODY_ACTOR_HEALTH:
        return TO_STATE;
    default:
        return 0;
    }
}

static void pass_fact(pr_broker_io_t *self, const envelope_t *envelope, pr_bytes_t frame)
{
    unsigned road = road_of(envelope);
    pr_bytes_t topic = pr_bytes_text(pr_envelope_kind(envelope));
    if (road == 0) {
        pr_broker_misplaced(self, envelope, "facts");
    }
    if (road & TO_BREAKER) {
        self->refused += pr_socket_send(self->breaker, (pr_bytes_t){0}, frame) != PR_OK;
    }
    if (road & TO_DEAD) {
        self->refused += pr_socket_send(self->dead, (pr_bytes_t){0}, frame) != PR_OK;
    }
    if (road & TO_STATE) {
        self->refused += pr_socket_send(self->state, topic, frame) != PR_OK;
    }
}

static void on_facts(void *arg, int64_t now_ms)
{
    (void)now_ms;
    pr_broker_io_t *self = arg;
    pr_incoming_t in;
    for (int i = 0; i < BUDGET && pr_socket_receive(self->facts, &in) == PR_OK; i++) {
        self->passed++;
        PR_CLEANUP(pr_envelope) envelope_t *envelope = pr_broker_open(self, in.frame);
        if (envelope) {
            pr_broker_tap(self, envelope, in.frame);
            pass_fact(self, envelope, in.frame);
        }
    }
}

/* ---- life ---- */

typedef struct {
    const char *name;
    pr_socket_type_t type;
    size_t offset;  /* of the pr_socket_t * in pr_broker_io_t */
    pr_loop_fn *fn; /* NULL: never readable */
    size_t arg;     /* of what fn gets, in pr_broker_io_t */
} row_t;

static const row_t rows[] = {
    {"work", PR_SOCKET_ROUTER, offsetof(pr_broker_io_t, work.socket), pr_broker_on_work,
     offsetof(pr_broker_io_t, work)},
    {"calls", PR_SOCKET_ROUTER, offsetof(pr_broker_io_t, calls.socket), pr_broker_on_work,
     offsetof(pr_broker_io_t, calls)},
    {"facts", PR_SOCKET_PULL, offsetof(pr_broker_io_t, facts), on_facts, 0},
    {"breaker", PR_SOCKET_PUSH, offsetof(pr_broker_io_t, breaker), NULL, 0},
    {"dead", PR_SOCKET_PUSH, offsetof(pr_broker_io_t, dead), NULL, 0},
    {"state", PR_SOCKET_XPUB, offsetof(pr_broker_io_t, state), on_state, 0},
    {"tap", PR_SOCKET_XPUB, offsetof(pr_broker_io_t, tap), on_tap, 0},
};

static pr_socket_t **slot(pr_broker_io_t *self, const row_t *row)
{
    return (pr_socket_t **)(void *)((char *)self + row->offset);
}

static pr_rc_t open_sockets(pr_broker_io_t *self, const char *base, pr_error_t *error)
{
    for (size_t i = 0; i < PR_COUNT(rows); i++) {
        PR_CLEANUP_FREE char *address = pr_bus_address(base, rows[i].name);
        pr_socket_t *socket = pr_socket_new(pr_actor_bus(self->actor), rows[i].type, NULL);
        *slot(self, &rows[i]) = socket;
        pr_rc_t rc = pr_socket_bind(socket, address, error);
        if (rc != PR_OK) {
            return rc;
        }
        if (rows[i].fn) {
            pr_loop_add_socket(pr_actor_loop(self->actor), socket, rows[i].fn,
                               (char *)self + rows[i].arg);
        }
    }
    return PR_OK;
}

static void new_desk(pr_broker_io_t *io, pr_broker_desk_t *self, const char *name)
{
    *self = (pr_broker_desk_t){.io = io, .name = name, .broker = pr_broker_new()};
}

static void open_desk(pr_broker_desk_t *self)
{
    pr_loop_t *loop = pr_actor_loop(self->io->actor);
    pr_loop_add_turn(loop, pr_broker_on_turn, self);
    pr_loop_add_timer(loop, pr_clock_mono_ms() + SECOND_MS, SECOND_MS, pr_broker_on_second, self);
}

static void sum_up(const pr_broker_io_t *self)
{
    const pr_broker_counts_t *work = &self->work.broker->counts;
    const pr_broker_counts_t *calls = &self->calls.broker->counts;
    pr_log_info("broker.calls",
                "jobs=%" PRIu64 " outcomes=%" PRIu64 " undelivered=%" PRIu64 " overdrawn=%" PRIu64
                " ownerless=%" PRIu64,
                calls->jobs, calls->outcomes, calls->undelivered, calls->overdrawn,
                calls->ownerless);
    pr_log_info("broker.summary",
                "jobs=%" PRIu64 " whole=%" PRIu64 " split=%" PRIu64 " outcomes=%" PRIu64
                " undelivered=%" PRIu64 " overdrawn=%" PRIu64 " ownerless=%" PRIu64
                " malformed=%" PRIu64 " misplaced=%" PRIu64 " refused=%" PRIu64 " tapped=%" PRIu64,
                work->jobs, work->batches_whole, work->batches_split, work->outcomes,
                work->undelivered, work->overdrawn, work->ownerless, self->malformed,
                self->misplaced, self->refused, self->tapped);
}

static void stop(void **io)
{
    pr_broker_io_t *self = *io;
    for (size_t i = 0; i < PR_COUNT(rows); i++) {
        pr_socket_t **socket = slot(self, &rows[i]);
        if (*socket && rows[i].fn) {
            pr_loop_remove_socket(pr_actor_loop(self->actor), *socket);
        }
        pr_socket_destroy(socket);
    }
    sum_up(self);
    pr_broker_destroy(&self->work.broker);
    pr_broker_destroy(&self->calls.broker);
    pr_free(self);
    *io = NULL;
}

/* The skeleton calls stop even when start fails, as long as *io is set. */
static pr_rc_t start(pr_actor_t *actor, void **io, pr_error_t *error)
{
    pr_broker_io_t *self = PR_NEW(pr_broker_io_t);
    *io = self;
    self->actor = actor;
    new_desk(self, &self->work, "work");
    new_desk(self, &self->calls, "calls");
    pr_random_bytes(self->instance, sizeof self->instance);
    const char *const *bases;
    if (pr_config_list(pr_actor_config(actor), "bus.brokers", &bases) < 1) {
        return pr_error_set(error, PR_BAD, "config", "",
                            "bus.brokers: the broker serves its first address, and there is none");
    }
    pr_rc_t rc = open_sockets(self, bases[0], error);
    if (rc != PR_OK) {
        return rc;
    }
    open_desk(&self->work);
    open_desk(&self->calls);
    pr_log_info("broker.bound", "base=%s", bases[0]);
    pr_actor_ready(actor);
    return PR_OK;
}

const pr_actor_spec_t pr_broker_spec = {
    .name = "broker",
    .summary = "Routes work by credit and facts to their readers; holds nothing durable.",
    .start = start,
    .stop = stop,
};
