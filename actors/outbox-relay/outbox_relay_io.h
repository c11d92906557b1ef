/* SPDX-License-Identifier: Apache-2.0
 *
 * outbox-relay, the effects: one connection to Postgres, one fact (Hint) to the brokers. No policy
 * here.
 */
#ifndef PR_OUTBOX_RELAY_IO_H
#define PR_OUTBOX_RELAY_IO_H

#include "actor/actor.h"

extern const pr_actor_spec_t pr_relay_spec; /* for main and for tests */

#endif
