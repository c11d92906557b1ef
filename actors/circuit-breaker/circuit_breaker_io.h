/* SPDX-License-Identifier: Apache-2.0
 *
 * circuit-breaker, the effects. Sockets: PULL from every broker (BreakerMoved, AttemptFact,
 * EndpointGone); a ROUTER of its own at bus.breaker (BreakerQuery, BreakerCommand ->
 * BreakerSnapshot); facts to the brokers (Alert, BreakerCommand). One connection to Postgres as
 * postrider_breaker. No policy here.
 */
#ifndef PR_CIRCUIT_BREAKER_IO_H
#define PR_CIRCUIT_BREAKER_IO_H

#include "actor/actor.h"

extern const pr_actor_spec_t pr_watch_spec;

#endif
