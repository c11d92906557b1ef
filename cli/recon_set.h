/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider recon set, recon delivery: how statements are read and expected, and whose goods are.
 */
#ifndef PR_CLI_RECON_SET_H
#define PR_CLI_RECON_SET_H

#include "cli/args.h"

extern const pr_arg_spec_t pr_recon_set_spec;
extern const pr_arg_spec_t pr_recon_delivery_spec;
int pr_recon_set(const pr_args_t *args); /* return exit codes (cli/command.h) */
int pr_recon_delivery(const pr_args_t *args);

#endif
