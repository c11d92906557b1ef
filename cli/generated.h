/* SPDX-License-Identifier: Apache-2.0
 *
 * What `up` makes because the configuration leaves it open: a private Postgres (started and
 * migrated), bus addresses, the master key. Values are written to STATE/run/env, one environment
 * variable a file (s6-envdir), mode 0600, for the actors and for the other commands.
 */
#ifndef PR_CLI_GENERATED_H
#define PR_CLI_GENERATED_H

#include "base/error.h"
#include "cli/topology.h"

/* Checks the configuration, then makes what is missing. PR_BAD: the configuration. */
PR_CHECK pr_rc_t pr_generated_make(const pr_topology_options_t *options, pr_error_t *error);
/* Stops the private Postgres (its data stay) and forgets run/env. */
PR_CHECK pr_rc_t pr_generated_clear(const char *state_dir, bool lost, pr_error_t *error);
/* Address of the n-th broker (from 1), the caller's; NULL: there are fewer. */
char *pr_generated_broker(const char *state_dir, int n);

#endif
