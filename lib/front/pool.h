/* SPDX-License-Identifier: Apache-2.0
 *
 * A few connections to Postgres, each a pipeline: one commit at a time on each, so several are what
 * lets Postgres gather commits into one flush. A query goes to the one that has least to do.
 */
#ifndef PR_FRONT_POOL_H
#define PR_FRONT_POOL_H

#include "actor/actor.h"
#include "db/db.h"

#define PR_POOL_MAX 32 /* connections */

typedef struct pr_pool_t pr_pool_t;

/* count connections with these options (borrowed as in pr_db_new), in the actor's loop. */
pr_pool_t *pr_pool_new(pr_actor_t *actor, const pr_db_options_t *options, int count);
/* Callbacks of queries under way are called with PR_AGAIN; new ones are refused while they run.
 * Accepts NULL. */
void pr_pool_destroy(pr_pool_t **self);
bool pr_pool_ready(const pr_pool_t *self);
/* Cleared: for the next query. One set for all. */
pr_params_t *pr_pool_params(pr_pool_t *self);
/* One execution with what pr_pool_params was given. PR_AGAIN: none is ready, or all are too far
 * behind. */
PR_CHECK pr_rc_t pr_pool_query(pr_pool_t *self, int statement, pr_db_result_fn *fn, void *arg);

#endif
