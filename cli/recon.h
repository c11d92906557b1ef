/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider recon: statements of channels against our payments, and what differs.
 */
#ifndef PR_CLI_RECON_H
#define PR_CLI_RECON_H

#include "cli/console.h"

int pr_recon_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

/* Differences of a file: printed, or as "found" of an object. */
int pr_recon_print_differences(pr_console_t *console, int64_t file_id, json_t *into);

#endif
