/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files that perform: worker_bus.c (turns, messages, life), worker_send.c (what goes
 * out to peers) and worker_schedulers.c (where schedulers may be found).
 */
#ifndef PR_WORKER_WORKER_BUS_PRIVATE_H
#define PR_WORKER_WORKER_BUS_PRIVATE_H

#include "worker/worker_bus.h"

typedef struct {
    pr_worker_bus_t *bus;
    uint32_t number;
    pr_socket_t *socket;                    /* NULL: not connected */
    void *outcomes[PR_WORKER_OUTCOMES_MAX]; /* payloads, all of one session, not sent yet */
    size_t outcome_count;
    uint8_t session[16];
} worker_peer_t;

/* Slots of jobs that were taken and not begun, oldest first; linked by pr_worker_bus_t.after. */
typedef struct {
    uint32_t first, last, count;
} worker_queue_t;

struct pr_worker_bus_t {
    pr_actor_t *actor;
    pr_worker_spec_t spec;
    pr_worker_t *step;
    worker_peer_t peers[PR_WORKER_PEERS_MAX];
    worker_queue_t to_start[PR_CLASSES];
    uint32_t after[PR_WORKER_SLOTS_MAX];
    int timer;       /* wakes the loop for the step's own times */
    int speak_timer; /* ... for what has gathered */
    int64_t spoke_at_ms;
    int64_t tick_at_ms;
    int64_t look_at_ms; /* for schedulers, while no broker is heard */
    const pr_held_t **held;
    Postrider__V1__HeldJob *held_jobs;
    Postrider__V1__HeldJob **held_pointers;
    Postrider__V1__Token *held_tokens;
};

void worker_send_hello(worker_peer_t *peer, uint32_t greeting);
void worker_send_held(worker_peer_t *peer);
void worker_send_credit(worker_peer_t *peer, const uint64_t total[PR_CLASSES]);
/* Puts the outcome into the batch that leaves at the end of the turn, or when it is full. */
void worker_gather_outcome(worker_peer_t *peer, const pr_worker_action_t *action);
void worker_flush_outcomes(worker_peer_t *peer);
/* Tells the step of every scheduler that listens where schedulers of this configuration may. */
void worker_look_for_schedulers(pr_worker_bus_t *self, int64_t now_ms);

#endif
