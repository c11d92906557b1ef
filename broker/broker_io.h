/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker as a process: seven sockets behind the first address of bus.brokers (docs/bus.md).
 */
#ifndef PR_BROKER_IO_H
#define PR_BROKER_IO_H

#include "actor/actor.h"

extern const pr_actor_spec_t pr_broker_spec;

#endif
