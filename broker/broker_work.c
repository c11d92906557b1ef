/* SPDX-License-Identifier: Apache-2.0
 *
 * A work desk (the sockets `work` and `calls`): envelopes into events, actions into sends.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "broker/broker_private.h"

#include <inttypes.h>
#include <string.h>

enum { BUDGET = 256, KIND_BITS = 32 };

typedef Postrider__V1__Envelope envelope_t;

/* ---- actions into sends ---- */

static pr_bytes_t bytes_of(const pr_route_t *route)
{
    return pr_bytes(route->bytes, route->len);
}

/* Our own word to a peer, and to the tap. */
static pr_rc_t say(pr_broker_desk_t *self, const pr_route_t *route, envelope_t *envelope)
{
    if (self->io->taps > 0) {
        pr_rc_t rc = pr_actor_send(self->io->actor, self->io->tap,
                                   pr_bytes_text(pr_envelope_kind(envelope)), envelope);
        self->io->tapped += rc == PR_OK;
    }
    return pr_actor_send(self->io->actor, self->socket, bytes_of(route), envelope);
}

static pr_rc_t send_hello(pr_broker_desk_t *self, const pr_route_t *route, uint32_t greeting,
                          bool greet_anew, bool with_workers)
{
    const pr_roster_t *roster = self->broker->roster;
    char *schedulers[PR_ROSTER_SCHEDULERS_MAX];
    char *workers[PR_ROSTER_WORKERS_MAX];
    Postrider__V1__BrokerHello hello = POSTRIDER__V1__BROKER_HELLO__INIT;
    hello.instance = (ProtobufCBinaryData){sizeof self->io->instance, self->io->instance};
    hello.greeting = greeting;
    hello.greet_anew = greet_anew;
    hello.schedulers = schedulers; /* protobuf-c knows no const; it only reads */
    for (size_t i = 0; i < pr_roster_schedulers(roster); i++) {
        const char *address = pr_roster_scheduler_at(roster, i)->address;
        if (address[0] != '\0') {
            schedulers[hello.n_schedulers++] = (char *)(uintptr_t)address;
        }
    }
    hello.workers = workers;
    for (size_t i = 0; with_workers && i < pr_roster_workers(roster); i++) {
        workers[hello.n_workers++] = (char *)(uintptr_t)pr_roster_worker_at(roster, i)->id;
    }
    envelope_t envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_BROKER_HELLO;
    envelope.broker_hello = &hello;
    return say(self, route, &envelope);
}

static pr_rc_t send_grant(pr_broker_desk_t *self, const pr_broker_action_t *action)
{
    Postrider__V1__Grant grant = POSTRIDER__V1__GRANT__INIT;
    uint64_t total[PR_CLASSES];
    memcpy(total, action->total, sizeof total);
    grant.total = total;
    grant.n_total = PR_CLASSES;
    grant.contended = action->contended;
    envelope_t envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_GRANT;
    envelope.grant = &grant;
    return say(self, &action->route, &envelope);
}

/* Some of a batch: the list is packed again with the items whose bits are set. */
static pr_rc_t send_jobs(pr_broker_desk_t *self, const pr_broker_action_t *action,
                         const envelope_t *envelope)
{
    pr_assert(envelope != NULL); /* jobs are passed on in the turn in which they came */
    Postrider__V1__Job *some[PR_BROKER_BATCH_MAX];
    Postrider__V1__JobBatch part = *envelope->job_batch;
    part.jobs = some;
    part.n_jobs = 0;
    for (size_t i = 0; i < envelope->job_batch->n_jobs; i++) {
        if (action->items >> i & 1) {
            some[part.n_jobs++] = envelope->job_batch->jobs[i];
        }
    }
    envelope_t out = *envelope;
    out.job_batch = &part;
    return pr_actor_send(self->io->actor, self->socket, bytes_of(&action->route), &out);
}

static pr_rc_t send_outcomes(pr_broker_desk_t *self, const pr_broker_action_t *action,
                             const envelope_t *envelope)
{
    pr_assert(envelope != NULL);
    Postrider__V1__Outcome *some[PR_BROKER_BATCH_MAX];
    Postrider__V1__OutcomeBatch part = *envelope->outcome_batch;
    part.outcomes = some;
    part.n_outcomes = 0;
    for (size_t i = 0; i < envelope->outcome_batch->n_outcomes; i++) {
        if (action->items >> i & 1) {
            some[part.n_outcomes++] = envelope->outcome_batch->outcomes[i];
        }
    }
    envelope_t out = *envelope;
    out.outcome_batch = &part;
    return pr_actor_send(self->io->actor, self->socket, bytes_of(&action->route), &out);
}

/* To everybody of one sort. Who is gone shows by its silence; who is full hears the next. */
static void send_all(pr_broker_desk_t *self, bool workers, pr_bytes_t frame)
{
    const pr_roster_t *roster = self->broker->roster;
    size_t count = workers ? pr_roster_workers(roster) : pr_roster_schedulers(roster);
    for (size_t i = 0; i < count; i++) {
        const pr_route_t *route = workers ? &pr_roster_worker_at(roster, i)->route
                                          : &pr_roster_scheduler_at(roster, i)->route;
        self->io->refused += pr_socket_send(self->socket, bytes_of(route), frame) != PR_OK;
    }
}

static pr_rc_t perform(pr_broker_desk_t *self, const pr_broker_action_t *action,
                       const envelope_t *envelope, pr_bytes_t frame)
{
    switch (action->verb) {
    case PR_BROKER_JOBS:
        return action->whole ? pr_socket_send(self->socket, bytes_of(&action->route), frame)
                             : send_jobs(self, action, envelope);
    case PR_BROKER_OUTCOMES:
        return action->whole ? pr_socket_send(self->socket, bytes_of(&action->route), frame)
                             : send_outcomes(self, action, envelope);
    case PR_BROKER_FORWARD:
        return pr_socket_send(self->socket, bytes_of(&action->route), frame);
    case PR_BROKER_TO_SCHEDULERS:
        send_all(self, false, frame);
        return PR_OK;
    case PR_BROKER_TO_WORKERS:
        send_all(self, true, frame);
        return PR_OK;
    case PR_BROKER_HELLO:
        return send_hello(self, &action->route, action->greeting, action->greet_anew,
                          action->fresh);
    case PR_BROKER_GRANT:
        return send_grant(self, action);
    case PR_BROKER_NONE:
        break;
    }
    return PR_OK;
}

/* The list may grow while it is performed: a refused send is planned anew. */
static void perform_all(pr_broker_desk_t *self, const envelope_t *envelope, pr_bytes_t frame)
{
    pr_broker_t *broker = self->broker;
    for (size_t i = 0; i < broker->actions_count; i++) {
        pr_broker_action_t action = broker->actions[i];
        pr_rc_t rc = perform(self, &action, envelope, frame);
        if (rc != PR_OK) {
            self->io->refused++;
            pr_log_limited(PR_LOG_WARN, "send.refused", pr_rc_name(rc), "rc=%s verb=%d",
                           pr_rc_name(rc), (int)action.verb);
            pr_broker_refused(broker, &action, rc);
        }
    }
}

/* ---- envelopes into events ---- */

static uint32_t kind_bit(Postrider__V1__JobKind kind)
{
    return (uint32_t)kind < KIND_BITS ? (uint32_t)1 << kind : 0;
}

static void on_worker_hello(pr_broker_desk_t *self, pr_bytes_t route,
                            const Postrider__V1__WorkerHello *body, int64_t now_ms)
{
    pr_roster_hello_t hello = {.route = route,
                               .id = body->worker_id,
                               .greeting = body->greeting,
                               .again = body->again,
                               .draining = body->draining};
    for (size_t i = 0; i < body->n_kinds; i++) {
        hello.kinds |= kind_bit(body->kinds[i]);
    }
    bool known = pr_roster_worker_by_id(self->broker->roster, body->worker_id) != NULL;
    pr_broker_worker_hello(self->broker, &hello, now_ms);
    if (!known || body->draining) {
        pr_log_info("worker.greeted", "worker=%s held=%zu draining=%d", body->worker_id,
                    body->n_held, (int)body->draining);
    }
}

static void on_scheduler_hello(pr_broker_desk_t *self, pr_bytes_t route,
                               const Postrider__V1__SchedulerHello *body, int64_t now_ms)
{
    pr_roster_session_t hello = {.route = route,
                                 .session = body->session.data,
                                 .shards = body->shards.data,
                                 .address = body->address,
                                 .greeting = body->greeting,
                                 .again = body->again};
    const uint8_t *replaces[64]; /* the proto file's bound */
    for (size_t i = 0; i < body->n_replaces; i++) {
        replaces[i] = body->replaces[i].data;
    }
    bool known = pr_roster_scheduler_by_route(self->broker->roster, route) != NULL;
    pr_broker_scheduler_hello(self->broker, &hello, replaces, body->n_replaces, now_ms);
    if (!known && !body->again) {
        char id[2 * PR_SESSION_BYTES + 1];
        pr_hex(pr_bytes(body->session.data, PR_SESSION_BYTES), id);
        pr_log_info("scheduler.greeted", "session=%s address=%s", id, body->address);
    }
}

static void on_demand(pr_broker_desk_t *self, pr_bytes_t route, const Postrider__V1__Demand *body,
                      int64_t now_ms)
{
    pr_roster_demand_t demand; /* the bounds say: exactly three of each */
    memcpy(demand.want, body->want, sizeof demand.want);
    memcpy(demand.sent, body->sent, sizeof demand.sent);
    memcpy(demand.returned, body->returned, sizeof demand.returned);
    pr_broker_demand(self->broker, route, &demand, now_ms);
}

static void on_jobs(pr_broker_desk_t *self, pr_bytes_t route, const Postrider__V1__JobBatch *body,
                    int64_t now_ms)
{
    uint32_t kinds = 0;
    for (size_t i = 0; i < body->n_jobs; i++) {
        kinds |= kind_bit(body->jobs[i]->kind);
    }
    pr_broker_jobs(self->broker, route, body->class_, kinds, (uint32_t)body->n_jobs, now_ms);
    pr_actor_count(self->io->actor, body->n_jobs);
}

static void on_outcomes(pr_broker_desk_t *self, pr_bytes_t route,
                        const Postrider__V1__OutcomeBatch *body, int64_t now_ms)
{
    uint32_t shards[PR_BROKER_BATCH_MAX];
    for (size_t i = 0; i < body->n_outcomes; i++) {
        shards[i] = body->outcomes[i]->shard;
    }
    pr_broker_outcomes(self->broker, route, shards, (uint32_t)body->n_outcomes, now_ms);
}

/* False: nothing that belongs on this socket. */
static bool decide(pr_broker_desk_t *self, pr_bytes_t route, const envelope_t *envelope,
                   int64_t now_ms)
{
    pr_broker_t *broker = self->broker;
    switch (envelope->body_case) {
    case POSTRIDER__V1__ENVELOPE__BODY_WORKER_HELLO:
        on_worker_hello(self, route, envelope->worker_hello, now_ms);
        return true;
    case POSTRIDER__V1__ENVELOPE__BODY_WORKER_HELD:
        pr_broker_worker_held(broker, route, now_ms);
        return true;
    case POSTRIDER__V1__ENVELOPE__BODY_WORKER_CREDIT:
        pr_broker_worker_credit(broker, route, envelope->worker_credit->total, now_ms);
        return true;
    case POSTRIDER__V1__ENVELOPE__BODY_SCHEDULER_HELLO:
        on_scheduler_hello(self, route, envelope->scheduler_hello, now_ms);
        return true;
    case POSTRIDER__V1__ENVELOPE__BODY_DEMAND:
        on_demand(self, route, envelope->demand, now_ms);
        return true;
    case POSTRIDER__V1__ENVELOPE__BODY_JOB_BATCH:
        on_jobs(self, route, envelope->job_batch, now_ms);
        return true;
    case POSTRIDER__V1__ENVELOPE__BODY_OUTCOME_BATCH:
        on_outcomes(self, route, envelope->outcome_batch, now_ms);
        return true;
    case POSTRIDER__V1__ENVELOPE__BODY_OUTCOME_ACK:
        pr_broker_ack(broker, route, envelope->outcome_ack->worker_id, now_ms);
        return true;
    default:
        return false;
    }
}

void pr_broker_on_work(void *arg, int64_t now_ms)
{
    pr_broker_desk_t *self = arg;
    pr_incoming_t in;
    for (int i = 0; i < BUDGET && pr_socket_receive(self->socket, &in) == PR_OK; i++) {
        self->io->passed++;
        PR_CLEANUP(pr_envelope) envelope_t *envelope = pr_broker_open(self->io, in.frame);
        if (!envelope) {
            continue;
        }
        pr_broker_tap(self->io, envelope, in.frame);
        if (decide(self, in.route, envelope, now_ms)) {
            perform_all(self, envelope, in.frame);
        } else {
            pr_broker_misplaced(self->io, envelope, self->name);
        }
    }
}

void pr_broker_on_turn(void *arg, int64_t now_ms)
{
    (void)now_ms;
    pr_broker_desk_t *self = arg;
    pr_broker_turn(self->broker);
    perform_all(self, NULL, (pr_bytes_t){0});
}

static void forget_silent(pr_broker_desk_t *self, int64_t now_ms)
{
    pr_roster_gone_t gone;
    while (pr_roster_expire(self->broker->roster, now_ms, &gone)) {
        pr_log_warn(gone.worker ? "worker.silent" : "scheduler.silent", "id=%s after_ms=%d",
                    gone.id, PR_ROSTER_SILENCE_MS);
    }
}

/* BrokerHello to every peer: our heartbeat. Schedulers learn from it whom to wait for after a
 * takeover; workers need not know each other. */
static void beat(pr_broker_desk_t *self)
{
    const pr_roster_t *roster = self->broker->roster;
    for (size_t i = 0; i < pr_roster_workers(roster); i++) {
        const pr_roster_worker_t *worker = pr_roster_worker_at(roster, i);
        self->io->refused +=
            send_hello(self, &worker->route, worker->greeting, false, false) != PR_OK;
    }
    for (size_t i = 0; i < pr_roster_schedulers(roster); i++) {
        const pr_roster_scheduler_t *it = pr_roster_scheduler_at(roster, i);
        self->io->refused += send_hello(self, &it->route, it->greeting, false, true) != PR_OK;
    }
}

/* Says once what went wrong since the last second. */
static void report(pr_broker_desk_t *self)
{
    const pr_broker_counts_t *now = &self->broker->counts;
    bool worse = now->undelivered != self->told.undelivered ||
                 now->overdrawn != self->told.overdrawn || now->ownerless != self->told.ownerless;
    if (worse) {
        pr_log_limited(PR_LOG_WARN, "work.unplaced", self->name,
                       "socket=%s undelivered=%" PRIu64 " overdrawn=%" PRIu64 " ownerless=%" PRIu64
                       " strangers=%" PRIu64,
                       self->name, now->undelivered, now->overdrawn, now->ownerless,
                       now->strangers);
    }
    self->told = *now;
}

void pr_broker_on_second(void *arg, int64_t now_ms)
{
    pr_broker_desk_t *self = arg;
    forget_silent(self, now_ms);
    beat(self);
    pr_broker_repeat_grants(self->broker);
    report(self);
}
