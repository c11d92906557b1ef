/* SPDX-License-Identifier: Apache-2.0
 *
 * gateway-poller and charger are one worker with two roles: what moves money and what only asks
 * are separate processes with separate credit, so that a flood of polls never delays a charge,
 * and a poller never charges. These are the functions of their pr_actor_spec_t.
 */
#ifndef PR_GATEWAY_WORKER_GATEWAY_WORKER_H
#define PR_GATEWAY_WORKER_GATEWAY_WORKER_H

#include "actor/actor.h"

typedef struct {
    uint32_t operations; /* PR_OPERATION_BIT of gateway_call.h */
    uint32_t cls;        /* class on the calls socket: 0 money, 1 questions */
} pr_gateway_role_t;

pr_rc_t pr_gateway_worker_start(pr_actor_t *actor, const pr_gateway_role_t *role, void **io,
                                pr_error_t *error);
void pr_gateway_worker_drain(void *io, int64_t now_ms);
bool pr_gateway_worker_drained(void *io);
void pr_gateway_worker_stop(void **io);

#endif
