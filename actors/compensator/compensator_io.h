/* SPDX-License-Identifier: Apache-2.0
 *
 * compensator, the process: what main() runs.
 */
#ifndef PR_COMPENSATOR_IO_H
#define PR_COMPENSATOR_IO_H

#include "actor/actor.h"

extern const pr_actor_spec_t pr_compensator_spec;

#endif
