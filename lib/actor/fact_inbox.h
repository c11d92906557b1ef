/* SPDX-License-Identifier: Apache-2.0
 *
 * The facts that brokers pass on to one kind of actor: a PULL socket to each broker of
 * bus.brokers, all on the actor's loop. What does not decode is logged and dropped: a fact is a
 * hint, whoever needs it can do without. Each socket is read with a budget, so that none starves
 * another.
 */
#ifndef PR_ACTOR_FACT_INBOX_H
#define PR_ACTOR_FACT_INBOX_H

#include "actor/actor.h"

typedef struct pr_fact_inbox_t pr_fact_inbox_t;

/* One decoded fact; borrowed for the call. */
typedef void pr_fact_fn(void *arg, const Postrider__V1__Envelope *envelope);

/* socket: "breaker" or "dead", as in pr_bus_address(). Every fact handed on counts as handled
 * (pr_actor_count). PR_BAD with *error and *out NULL: an address that cannot be connected to. */
PR_CHECK pr_rc_t pr_fact_inbox_open(pr_actor_t *actor, const char *socket, pr_fact_fn *fn,
                                    void *arg, pr_fact_inbox_t **out, pr_error_t *error);
void pr_fact_inbox_destroy(pr_fact_inbox_t **self);

#endif
