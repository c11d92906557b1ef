/* SPDX-License-Identifier: Apache-2.0
 *
 * The actor `console`: see README.md.
 */
#ifndef PR_CONSOLE_CONSOLE_IO_H
#define PR_CONSOLE_CONSOLE_IO_H

#include "actor/actor.h"

extern const pr_actor_spec_t pr_console_spec;

#endif
