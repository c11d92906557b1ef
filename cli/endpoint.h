/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider endpoint list|enable|disable, and how other commands name an endpoint.
 */
#ifndef PR_CLI_ENDPOINT_H
#define PR_CLI_ENDPOINT_H

#include "cli/console.h"

int pr_endpoint_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

extern const pr_column_t pr_endpoint_columns[]; /* of endpoint_list */

/* Endpoints of a merchant (NULL = all) in a state (NULL = both); gives *rows. */
PR_CHECK int pr_endpoint_rows(pr_console_t *console, const char *merchant_id, const char *state,
                              pr_rows_t **rows);
/* The id of a merchant's endpoint; failed, and printed, when there is none. */
PR_CHECK int pr_endpoint_find(pr_console_t *console, const char *merchant_id, const char *name,
                              int64_t *endpoint_id);
/* "42", "-17", "MERCHANT/NAME", or "MERCHANT" for its default. */
PR_CHECK int pr_endpoint_resolve(pr_console_t *console, const char *text, int64_t *endpoint_id);

#endif
