/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider recon run: one statement in, matched, reported. With --dry-run in one transaction that
 * is rolled back: what is reported is what a run would write.
 */
#ifndef PR_CLI_RECON_RUN_H
#define PR_CLI_RECON_RUN_H

#include "cli/args.h"

extern const pr_arg_spec_t pr_recon_run_spec;
int pr_recon_run(const pr_args_t *args); /* returns an exit code (cli/command.h) */

#endif
