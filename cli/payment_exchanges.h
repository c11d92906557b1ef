/* SPDX-License-Identifier: Apache-2.0
 *
 * payment show --exchanges: what was sent to a channel about a payment and what came back.
 */
#ifndef PR_CLI_PAYMENT_EXCHANGES_H
#define PR_CLI_PAYMENT_EXCHANGES_H

#include "cli/console.h"

/* Its calls, oldest first, each with its exchange where one is kept: a JSON array, the caller's. */
PR_CHECK int pr_payment_exchanges(pr_console_t *console, int64_t payment_id, json_t **calls);
/* As HTTP is written: > what was sent, < what came back. */
void pr_payment_exchanges_print(const json_t *calls);

#endif
