/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes out to a broker or scheduler. Nothing is kept here for a second try: the step says
 * everything again by its own timers until it is answered.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "worker/worker_bus_private.h"

#include <string.h>

static void send_body(worker_peer_t *peer, Postrider__V1__Envelope *envelope)
{
    if (peer->socket == NULL)
        return;
    /* A refusal (high-water mark) is nothing to act on: greetings, credit, heartbeats and outcomes
     * are all said again by their own timers. */
    if (pr_actor_send(peer->bus->actor, peer->socket, pr_bytes(NULL, 0), envelope) != PR_OK)
        pr_log_limited(PR_LOG_DEBUG, "send.refused", "peer", "peer=%u", peer->number);
}

static char *worker_id(pr_worker_bus_t *self)
{
    return (char *)(uintptr_t)pr_actor_id(self->actor);
}

/* Fills the scratch arrays with all that is held; gives the count. */
static size_t list_held(pr_worker_bus_t *self)
{
    size_t count = pr_worker_held(self->step, self->held, PR_LANES_KEEP_MAX);
    for (size_t i = 0; i < count; i++) {
        const pr_held_t *held = self->held[i];
        Postrider__V1__HeldJob *job = &self->held_jobs[i];
        Postrider__V1__Token *token = &self->held_tokens[i];
        postrider__v1__token__init(token);
        token->salt = held->token.salt;
        token->attempt = held->token.attempt;
        token->seq = held->token.seq;
        postrider__v1__held_job__init(job);
        job->token = token;
        job->shard = held->shard;
        job->session.data = (uint8_t *)(uintptr_t)held->session;
        job->session.len = sizeof(held->session);
        job->finished = held->state == PR_HELD_OWED;
        self->held_pointers[i] = job;
    }
    return count;
}

void worker_send_hello(worker_peer_t *peer, uint32_t greeting)
{
    pr_worker_bus_t *self = peer->bus;
    Postrider__V1__JobKind kinds[] = {self->spec.kind};
    Postrider__V1__WorkerHello hello = POSTRIDER__V1__WORKER_HELLO__INIT;
    hello.worker_id = worker_id(self);
    hello.kinds = kinds;
    hello.n_kinds = PR_COUNT(kinds);
    hello.n_held = list_held(self);
    hello.held = self->held_pointers;
    hello.draining = pr_worker_draining(self->step);
    hello.greeting = greeting;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_WORKER_HELLO;
    envelope.worker_hello = &hello;
    send_body(peer, &envelope);
}

void worker_send_held(worker_peer_t *peer)
{
    pr_worker_bus_t *self = peer->bus;
    Postrider__V1__WorkerHeld held = POSTRIDER__V1__WORKER_HELD__INIT;
    held.worker_id = worker_id(self);
    held.n_held = list_held(self);
    held.held = self->held_pointers;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_WORKER_HELD;
    envelope.worker_held = &held;
    send_body(peer, &envelope);
}

void worker_send_credit(worker_peer_t *peer, const uint64_t total[PR_CLASSES])
{
    Postrider__V1__WorkerCredit credit = POSTRIDER__V1__WORKER_CREDIT__INIT;
    credit.total = (uint64_t *)(uintptr_t)total;
    credit.n_total = PR_CLASSES;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_WORKER_CREDIT;
    envelope.worker_credit = &credit;
    send_body(peer, &envelope);
}

void worker_flush_outcomes(worker_peer_t *peer)
{
    if (peer->outcome_count == 0)
        return;
    Postrider__V1__Outcome outcomes[PR_WORKER_OUTCOMES_MAX];
    Postrider__V1__Outcome *pointers[PR_WORKER_OUTCOMES_MAX];
    for (size_t i = 0; i < peer->outcome_count; i++) {
        peer->bus->spec.outcome(peer->outcomes[i], worker_id(peer->bus), &outcomes[i]);
        pointers[i] = &outcomes[i];
    }
    Postrider__V1__OutcomeBatch batch = POSTRIDER__V1__OUTCOME_BATCH__INIT;
    batch.outcomes = pointers;
    batch.n_outcomes = peer->outcome_count;
    batch.session.data = peer->session;
    batch.session.len = sizeof(peer->session);
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_OUTCOME_BATCH;
    envelope.outcome_batch = &batch;
    send_body(peer, &envelope);
    peer->outcome_count = 0;
}

void worker_gather_outcome(worker_peer_t *peer, const pr_worker_action_t *action)
{
    const pr_held_t *held = pr_worker_slot(peer->bus->step, action->slot);
    if (peer->outcome_count == peer->bus->spec.outcomes ||
        memcmp(peer->session, held->session, sizeof(peer->session)) != 0)
        worker_flush_outcomes(peer);
    memcpy(peer->session, held->session, sizeof(peer->session));
    peer->outcomes[peer->outcome_count++] = action->payload;
}
