/* SPDX-License-Identifier: Apache-2.0
 *
 * One question to the circuit-breaker's door (bus.breaker), one answer.
 */
#ifndef PR_CLI_BREAKER_CLIENT_H
#define PR_CLI_BREAKER_CLIENT_H

#include "actor/options.h"
#include "wire/envelope.h"

/* Sends *envelope (a BreakerQuery or BreakerCommand; the rest is filled in) and waits up to
 * wait_ms.
 * PR_OK: *answer holds a BreakerSnapshot, the caller's. PR_AGAIN: nobody answered. PR_BAD: a bad
 * address. */
PR_CHECK pr_rc_t pr_breaker_ask(const pr_config_t *config, Postrider__V1__Envelope *envelope,
                                int64_t wait_ms, Postrider__V1__Envelope **answer,
                                pr_error_t *error);

#endif
