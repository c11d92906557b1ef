/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files that perform: notifier_io.c (turns, messages, life), notifier_send.c
 * (what goes out to peers) and notifier_schedulers.c (where schedulers may be found).
 */
#ifndef PR_NOTIFIER_IO_PRIVATE_H
#define PR_NOTIFIER_IO_PRIVATE_H

#include "actor/actor.h"
#include "call.h"
#include "notifier.h"

#define OUTCOMES_A_BATCH 64

typedef struct io_t io_t;

typedef struct {
    io_t *io;
    uint32_t number;
    pr_socket_t *socket;                   /* NULL: not connected */
    pr_call_t *outcomes[OUTCOMES_A_BATCH]; /* all of one session, not sent yet */
    size_t outcome_count;
    uint8_t session[16];
} peer_io_t;

struct io_t {
    pr_actor_t *actor;
    pr_notifier_t *step;
    pr_call_shared_t shared;
    peer_io_t peers[PR_NOTIFIER_PEERS_MAX];
    int http_timer;
    bool http_ready;
    int64_t tick_at_ms;
    int64_t look_at_ms; /* for schedulers, while no broker is heard */
    const pr_held_t **held;
    Postrider__V1__HeldJob *held_jobs;
    Postrider__V1__HeldJob **held_pointers;
    Postrider__V1__Token *held_tokens;
};

void notifier_send_hello(peer_io_t *peer, uint32_t greeting);
void notifier_send_held(peer_io_t *peer);
void notifier_send_credit(peer_io_t *peer, const uint64_t total[PR_CLASSES]);
/* Puts the outcome into the batch that leaves at the end of the turn, or when it is full. */
void notifier_gather_outcome(peer_io_t *peer, const pr_notifier_action_t *action);
void notifier_flush_outcomes(peer_io_t *peer);
/* Tells the step of every scheduler that listens where schedulers of this configuration may. */
void notifier_look_for_schedulers(io_t *self, int64_t now_ms);

#endif
