/* SPDX-License-Identifier: Apache-2.0
 *
 * A scheduler's side of the brokers' work sockets (docs/protocol.md section 5, docs/bus.md): greets, counts grants, states
 * demand, sends jobs, takes outcomes, says acknowledgements. What is counted is lib/core/allowance.h; here are the sockets and
 * the messages. One DEALER to each broker of bus.brokers, on the socket that is named ("calls").
 *
 * Before pr_work_desk_session() nothing is said; after the end of a session nothing is sent until the next one.
 */
#ifndef PR_ACTOR_WORK_DESK_H
#define PR_ACTOR_WORK_DESK_H

#include "actor/actor.h"
#include "core/classes.h"

#define PR_WORK_JOBS \
    16 /* in one JobBatch: enough to share its cost, few enough to go to one worker */

typedef struct pr_work_desk_t pr_work_desk_t;

typedef struct {
    pr_actor_t *actor;
    const char *socket; /* "calls" */
    /* link: give it back with the acknowledgement. */
    void (*on_outcome)(void *arg, int link, const Postrider__V1__Outcome *outcome);
    void *arg;
} pr_work_desk_options_t;

/* PR_BAD: an address in bus.brokers. */
PR_CHECK pr_rc_t pr_work_desk_new(const pr_work_desk_options_t *options, pr_work_desk_t **out,
                                  pr_error_t *error);
void pr_work_desk_destroy(pr_work_desk_t **self);

/* This session owns these shards from now on (32 bytes, bit n). Another session than before greets anew; session NULL: none. */
void pr_work_desk_session(pr_work_desk_t *self, const uint8_t *session, const uint8_t *shards);

/* How many jobs of the class may be sent now, to all brokers together. */
uint64_t pr_work_desk_room(const pr_work_desk_t *self, uint32_t cls);
/* Sends up to PR_WORK_JOBS jobs that room allows to one broker; how many left, always the first ones. 0: none can now. */
size_t pr_work_desk_send(pr_work_desk_t *self, uint32_t cls, Postrider__V1__Job **jobs,
                         size_t count);
/* Each turn: what could leave, were there room. Says so when it changed, and gives back what is not used. */
void pr_work_desk_demand(pr_work_desk_t *self, const uint32_t want[PR_CLASSES]);
/* When pr_work_desk_demand has something to say by itself; INT64_MAX: never. */
int64_t pr_work_desk_deadline_ms(const pr_work_desk_t *self);

/* Gathered until the flush. */
void pr_work_desk_ack(pr_work_desk_t *self, int link, const char *worker_id,
                      const Postrider__V1__Token *token);
void pr_work_desk_flush_acks(pr_work_desk_t *self);

/* No broker was heard for 1.5 s: nothing that is said reaches anybody. */
bool pr_work_desk_deaf(const pr_work_desk_t *self);

#endif
