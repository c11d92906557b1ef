/* SPDX-License-Identifier: Apache-2.0
 *
 * reconciler, the effects. One connection to Postgres as postrider_reconciler for the chores; while
 * a file comes in a second, blocking one, on which one piece of it is written a turn. No policy
 * here.
 */
#ifndef PR_RECONCILER_IO_H
#define PR_RECONCILER_IO_H

#include "actor/actor.h"

extern const pr_actor_spec_t pr_reconciler_spec;

#endif
