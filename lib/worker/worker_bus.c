/* SPDX-License-Identifier: Apache-2.0
 *
 * See worker_bus.h. A turn: messages -> step -> actions; then what the owner finished; then some jobs
 * are started, credit is offered, and what was gathered for each peer leaves in as few messages as may
 * be.
 *
 * A turn is short, so that a job of P0 need not wait until all that came before it was begun: messages
 * are all read, then jobs are started a few a turn, P0's first.
 */
#include "worker/worker_bus.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "worker/worker_bus_private.h"

#include <string.h>

#define TICK_MS 50
#define CALM_TICK_MS 250 /* while nothing can come of it but a heartbeat */
#define LOOK_MS 1000
#define RECEIVE_BUDGET 32 /* messages of one peer a turn */
#define GATHER_MS 2 /* while jobs run: a message costs each of the three on its way some 10 us */

/* A start costs some 40 us, so they last less than a millisecond. */
#define STARTS_A_TURN 16
static const int starts_a_turn[PR_CLASSES] = {8, 4,
                                              2}; /* each class its own, by the shares of N6 */

static void perform(pr_worker_bus_t *self);

void pr_job_batch_release(pr_job_batch_t **self)
{
    pr_job_batch_t *batch = PR_STEAL(*self);
    if (batch == NULL || --batch->users > 0)
        return;
    pr_envelope_destroy(&batch->envelope);
    pr_free(batch);
}

/* ---- peers ---- */

static void on_readable(void *arg, int64_t now_ms);

static pr_rc_t connect_peer(pr_worker_bus_t *self, uint32_t number, const char *address,
                            pr_error_t *error)
{
    worker_peer_t *peer = &self->peers[number];
    peer->socket = pr_socket_new(pr_actor_bus(self->actor), PR_SOCKET_DEALER, NULL);
    pr_rc_t rc = pr_socket_connect(peer->socket, address, error);
    if (rc != PR_OK) {
        pr_socket_destroy(&peer->socket);
        return rc;
    }
    pr_loop_add_socket(pr_actor_loop(self->actor), peer->socket, on_readable, peer);
    return PR_OK;
}

static void disconnect_peer(pr_worker_bus_t *self, uint32_t number)
{
    worker_peer_t *peer = &self->peers[number];
    peer->outcome_count = 0; /* still owed: the step sends them by another road */
    if (peer->socket == NULL)
        return;
    pr_loop_remove_socket(pr_actor_loop(self->actor), peer->socket);
    pr_socket_destroy(&peer->socket);
}

static void connect_direct(pr_worker_bus_t *self, uint32_t number, const char *address)
{
    pr_error_t error;
    pr_log_limited(PR_LOG_WARN, "direct.connect", address, "address=%s", address);
    if (connect_peer(self, number, address, &error) != PR_OK)
        pr_log_error(PR_LOG_WARN, "direct.refused", &error);
}

/* ---- receiving ---- */

static void on_job_batch(worker_peer_t *peer, Postrider__V1__Envelope **envelope, int64_t now_ms)
{
    pr_worker_bus_t *self = peer->bus;
    const Postrider__V1__JobBatch *jobs = (*envelope)->job_batch;
    if (jobs->class_ >= PR_CLASSES || jobs->session.len != 16)
        return;
    pr_worker_batch_t event = {
        .session = jobs->session.data, .cls = jobs->class_, .jobs = (uint32_t)jobs->n_jobs};
    pr_worker_batch(self->step, peer->number, &event);
    pr_job_batch_t *batch = PR_NEW(pr_job_batch_t);
    batch->envelope = PR_STEAL(*envelope);
    batch->users = 1; /* ours, until the end of this function */
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        const Postrider__V1__Job *job = jobs->jobs[i];
        if (job->token == NULL)
            continue;
        pr_token_t token = {job->token->salt, job->token->attempt, job->token->seq};
        void *payload = self->spec.take(self->spec.arg, batch, job);
        pr_worker_took_t took =
            pr_worker_job(self->step, peer->number, &event, token, job->shard, payload, now_ms);
        if (took != PR_WORKER_TAKEN)
            self->spec.free(payload);
        if (took == PR_WORKER_FULL)
            pr_log_limited(PR_LOG_ERROR, "job.no_slot", "peer", "peer=%u", peer->number);
        perform(self);
    }
    pr_job_batch_release(&batch);
}

static void on_ack(pr_worker_bus_t *self, const Postrider__V1__OutcomeAck *ack)
{
    for (size_t i = 0; i < ack->n_tokens; i++) {
        const Postrider__V1__Token *token = ack->tokens[i];
        pr_worker_acked(self->step, (pr_token_t){token->salt, token->attempt, token->seq});
    }
    perform(self);
}

static void on_scheduler_hello(worker_peer_t *peer, const Postrider__V1__SchedulerHello *hello,
                               int64_t now_ms)
{
    if (hello->session.len != 16 || hello->shards.len != 32)
        return;
    const uint8_t *replaces[64];
    size_t count = 0;
    for (size_t i = 0; i < hello->n_replaces && count < PR_COUNT(replaces); i++) {
        if (hello->replaces[i].len == 16)
            replaces[count++] = hello->replaces[i].data;
    }
    pr_worker_scheduler_hello_t event = {.session = hello->session.data,
                                         .shards = hello->shards.data,
                                         .replaces = replaces,
                                         .replaces_count = count,
                                         .address = hello->address};
    pr_worker_scheduler_hello(peer->bus->step, peer->number, &event, now_ms);
}

static void on_broker_hello(worker_peer_t *peer, const Postrider__V1__BrokerHello *hello,
                            int64_t now_ms)
{
    if (hello->instance.len != 16)
        return;
    pr_worker_broker_hello_t event = {.instance = hello->instance.data,
                                      .greeting = hello->greeting,
                                      .greet_anew = hello->greet_anew};
    pr_worker_broker_hello(peer->bus->step, peer->number, &event, now_ms);
}

static void on_message(worker_peer_t *peer, pr_bytes_t frame, int64_t now_ms)
{
    Postrider__V1__Envelope *envelope = NULL;
    pr_error_t error;
    if (pr_envelope_unpack(frame, &envelope, &error) != PR_OK) {
        pr_log_error(PR_LOG_WARN, "message.refused", &error);
        return;
    }
    pr_worker_heard(peer->bus->step, peer->number, now_ms);
    switch (envelope->body_case) {
    case POSTRIDER__V1__ENVELOPE__BODY_JOB_BATCH:
        on_job_batch(peer, &envelope, now_ms);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_OUTCOME_ACK:
        on_ack(peer->bus, envelope->outcome_ack);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_SCHEDULER_HELLO:
        on_scheduler_hello(peer, envelope->scheduler_hello, now_ms);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_BROKER_HELLO:
        on_broker_hello(peer, envelope->broker_hello, now_ms);
        break;
    default: /* not for workers */
        break;
    }
    perform(peer->bus);
    pr_envelope_destroy(&envelope);
}

static void on_readable(void *arg, int64_t now_ms)
{
    worker_peer_t *peer = arg;
    pr_incoming_t incoming;
    for (int i = 0; i < RECEIVE_BUDGET && peer->socket != NULL; i++) {
        if (pr_socket_receive(peer->socket, &incoming) != PR_OK)
            return;
        on_message(peer, incoming.frame, now_ms);
    }
}

/* ---- actions ---- */

/* A job that runs, for the step, is freed only after its end: so its slot may wait here. */
static void put_off(pr_worker_bus_t *self, uint32_t slot)
{
    worker_queue_t *queue = &self->to_start[pr_worker_slot(self->step, slot)->cls];
    if (queue->count++ == 0)
        queue->first = slot;
    else
        self->after[queue->last] = slot;
    queue->last = slot;
}

static int start_some(pr_worker_bus_t *self, worker_queue_t *queue, int most, int64_t now_ms)
{
    int started = 0;
    for (; started < most && queue->count > 0; started++) {
        uint32_t slot = queue->first;
        queue->first = self->after[slot];
        queue->count--;
        void *payload = pr_worker_slot(self->step, slot)->payload;
        if (!self->spec.start(self->spec.arg, payload, slot, now_ms))
            pr_worker_finished(self->step, slot, false, now_ms);
    }
    return started;
}

/* Each class has its share (N6) of a turn; what is left goes to the highest that has more. */
static void start_jobs(pr_worker_bus_t *self, int64_t now_ms)
{
    int room = STARTS_A_TURN;
    uint32_t waiting = 0;
    for (int c = 0; c < PR_CLASSES; c++)
        room -= start_some(self, &self->to_start[c], starts_a_turn[c], now_ms);
    for (int c = 0; c < PR_CLASSES; c++) {
        room -= start_some(self, &self->to_start[c], room, now_ms);
        waiting += self->to_start[c].count;
    }
    if (waiting > 0)
        pr_loop_again(pr_actor_loop(self->actor));
}

/* An outcome may be acknowledged (by a late ack to its first copy) while it waits here to leave. */
static void forget_job(pr_worker_bus_t *self, void *payload)
{
    for (uint32_t i = 0; i < PR_WORKER_PEERS_MAX; i++) {
        worker_peer_t *peer = &self->peers[i];
        for (size_t k = 0; k < peer->outcome_count; k++) {
            if (peer->outcomes[k] == payload)
                peer->outcomes[k--] = peer->outcomes[--peer->outcome_count];
        }
    }
    self->spec.free(payload);
}

static void perform(pr_worker_bus_t *self)
{
    for (pr_worker_action_t action; pr_worker_action(self->step, &action);) {
        worker_peer_t *peer = &self->peers[action.peer];
        switch (action.kind) {
        case PR_WORKER_START:
            put_off(self, action.slot);
            break;
        case PR_WORKER_RETURN:
            self->spec.give_back(action.payload);
            break;
        case PR_WORKER_REPEAT:
            self->spec.repeat(action.payload);
            break;
        case PR_WORKER_SEND:
            worker_gather_outcome(peer, &action);
            break;
        case PR_WORKER_FREE:
            forget_job(self, action.payload);
            break;
        case PR_WORKER_GREET:
            worker_send_hello(peer, action.greeting);
            break;
        case PR_WORKER_CREDIT:
            worker_send_credit(peer, action.total);
            break;
        case PR_WORKER_HELD:
            worker_send_held(peer);
            break;
        case PR_WORKER_CONNECT:
            connect_direct(self, action.peer, action.address);
            break;
        case PR_WORKER_DISCONNECT:
            pr_log_info("direct.left", "peer=%u", action.peer);
            disconnect_peer(self, action.peer);
            break;
        case PR_WORKER_NONE:
            break;
        }
    }
}

void pr_worker_bus_finished(pr_worker_bus_t *self, uint32_t slot, bool made, int64_t now_ms)
{
    pr_actor_count(self->actor, 1);
    pr_worker_finished(self->step, slot, made, now_ms);
    perform(self);
}

/* At multiples of the period, as the loop's own timers go off. */
static void tick(pr_worker_bus_t *self, int64_t now_ms)
{
    int64_t period_ms = pr_worker_calm(self->step) ? CALM_TICK_MS : TICK_MS;
    pr_loop_timer_at(pr_actor_loop(self->actor), self->timer, (now_ms / period_ms + 1) * period_ms);
    if (now_ms < self->tick_at_ms)
        return;
    self->tick_at_ms = (now_ms / TICK_MS + 1) * TICK_MS;
    pr_worker_tick(self->step, now_ms);
}

void pr_worker_bus_turn(pr_worker_bus_t *self, int64_t now_ms)
{
    start_jobs(self, now_ms);
    tick(self, now_ms);
    if (now_ms >= self->look_at_ms && pr_worker_brokers_away(self->step, now_ms)) {
        self->look_at_ms = now_ms + LOOK_MS;
        worker_look_for_schedulers(self, now_ms);
    }
    if (pr_worker_busy(self->step) && now_ms < self->spoke_at_ms + GATHER_MS) {
        pr_loop_timer_at(pr_actor_loop(self->actor), self->speak_timer,
                         self->spoke_at_ms + GATHER_MS);
        return;
    }
    self->spoke_at_ms = now_ms;
    pr_worker_offer(self->step);
    perform(self);
    for (uint32_t i = 0; i < PR_WORKER_PEERS_MAX; i++)
        worker_flush_outcomes(&self->peers[i]);
}

/* ---- life ---- */

static void on_timer(void *arg, int64_t now_ms)
{
    (void)arg, (void)now_ms; /* the turn does it all */
}

static pr_worker_bus_t *new_bus(pr_actor_t *actor, const pr_worker_spec_t *spec)
{
    pr_worker_bus_t *self = PR_NEW(pr_worker_bus_t);
    pr_assert(spec->outcomes >= 1 && spec->outcomes <= PR_WORKER_OUTCOMES_MAX);
    self->actor = actor;
    self->spec = *spec;
    for (uint32_t i = 0; i < PR_WORKER_PEERS_MAX; i++)
        self->peers[i] = (worker_peer_t){.bus = self, .number = i};
    self->held = pr_calloc(PR_LANES_KEEP_MAX, sizeof(*self->held));
    self->held_jobs = pr_calloc(PR_LANES_KEEP_MAX, sizeof(*self->held_jobs));
    self->held_pointers = pr_calloc(PR_LANES_KEEP_MAX, sizeof(*self->held_pointers));
    self->held_tokens = pr_calloc(PR_LANES_KEEP_MAX, sizeof(*self->held_tokens));
    return self;
}

pr_rc_t pr_worker_bus_new(pr_actor_t *actor, const pr_worker_spec_t *spec,
                          const pr_worker_config_t *config, pr_worker_bus_t **out,
                          pr_error_t *error)
{
    const char *const *bases = NULL;
    int count = pr_config_list(pr_actor_config(actor), "bus.brokers", &bases);
    if (count < 1 || count > PR_WORKER_BROKERS_MAX)
        return pr_error_set(error, PR_BAD, "config", "", "bus.brokers: 1 to %d are wanted",
                            PR_WORKER_BROKERS_MAX);
    PR_CLEANUP(pr_worker_bus) pr_worker_bus_t *self = new_bus(actor, spec);
    pr_worker_config_t step = *config;
    step.brokers = (uint32_t)count;
    int64_t now_ms = pr_clock_mono_ms();
    self->step = pr_worker_new(&step, pr_random_u64(), now_ms);
    for (int i = 0; i < count; i++) {
        PR_CLEANUP_FREE char *address = pr_bus_address(bases[i], spec->desk);
        pr_rc_t rc = connect_peer(self, (uint32_t)i, address, error);
        if (rc != PR_OK)
            return rc;
    }
    pr_loop_t *loop = pr_actor_loop(actor);
    self->timer = pr_loop_add_timer(loop, now_ms, 0, on_timer, self);
    self->speak_timer = pr_loop_add_timer(loop, INT64_MAX, 0, on_timer, self);
    perform(self);
    *out = PR_STEAL(self);
    return PR_OK;
}

void pr_worker_bus_destroy(pr_worker_bus_t **self)
{
    pr_worker_bus_t *bus = PR_STEAL(*self);
    if (bus == NULL)
        return;
    pr_worker_destroy(&bus->step, bus->spec.free);
    for (uint32_t i = 0; i < PR_WORKER_PEERS_MAX; i++)
        disconnect_peer(bus, i);
    pr_free(bus->held);
    pr_free(bus->held_jobs);
    pr_free(bus->held_pointers);
    pr_free(bus->held_tokens);
    pr_free(bus);
}

void pr_worker_bus_drain(pr_worker_bus_t *self, int64_t now_ms)
{
    pr_worker_drain(self->step, now_ms);
    perform(self);
}

bool pr_worker_bus_drained(const pr_worker_bus_t *self)
{
    return pr_worker_drained(self->step);
}
