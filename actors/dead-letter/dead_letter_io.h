/* SPDX-License-Identifier: Apache-2.0
 *
 * dead-letter, the effects. Sockets: PULL from every broker (DeadFact, Alert); facts to the brokers
 * (Alert). One connection to Postgres as postrider_dead_letter; one HTTP client for alerts.webhook.
 * No policy here.
 */
#ifndef PR_DEAD_LETTER_IO_H
#define PR_DEAD_LETTER_IO_H

#include "actor/actor.h"

extern const pr_actor_spec_t pr_dead_spec;

#endif
