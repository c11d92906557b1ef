/* SPDX-License-Identifier: Apache-2.0
 *
 * The notifier's sockets, calls and timers: turns messages and responses into the events of
 * notifier.h and carries its actions out. No policy.
 */
#ifndef PR_NOTIFIER_IO_H
#define PR_NOTIFIER_IO_H

#include "actor/actor.h"

extern const pr_actor_spec_t pr_notifier_spec;

#endif
