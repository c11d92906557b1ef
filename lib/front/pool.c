/* SPDX-License-Identifier: Apache-2.0 */
#include "front/pool.h"

#include "base/alloc.h"
#include "base/assert.h"

#define PENDING_MAX 256 /* queries under way on one connection: a second's worth */

struct pr_pool_t {
    pr_loop_t *loop;
    pr_db_t *dbs[PR_POOL_MAX];
    int count;
    pr_params_t *params;
    bool closing;
};

pr_pool_t *pr_pool_new(pr_actor_t *actor, const pr_db_options_t *options, int count)
{
    pr_assert(count > 0 && count <= PR_POOL_MAX);
    pr_pool_t *self = PR_NEW(pr_pool_t);
    self->loop = pr_actor_loop(actor);
    self->params = pr_params_new();
    self->count = count;
    for (int i = 0; i < count; i++) {
        self->dbs[i] = pr_db_new(options);
        pr_loop_add_db(self->loop, self->dbs[i]);
    }
    return self;
}

void pr_pool_destroy(pr_pool_t **self)
{
    pr_pool_t *pool = *self;
    if (!pool)
        return;
    pool->closing = true;
    for (int i = 0; i < pool->count; i++) {
        pr_loop_remove_db(pool->loop, pool->dbs[i]);
        pr_db_destroy(&pool->dbs[i]);
    }
    *self = NULL; /* only now: callbacks may still ask */
    pr_params_destroy(&pool->params);
    pr_free(pool);
}

static pr_db_t *least_busy(const pr_pool_t *self)
{
    pr_db_t *best = NULL;
    for (int i = 0; !self->closing && i < self->count; i++) {
        pr_db_t *one = self->dbs[i];
        if (pr_db_ready(one) && pr_db_pending(one) < PENDING_MAX &&
            (!best || pr_db_pending(one) < pr_db_pending(best)))
            best = one;
    }
    return best;
}

bool pr_pool_ready(const pr_pool_t *self)
{
    return least_busy(self) != NULL;
}

pr_params_t *pr_pool_params(pr_pool_t *self)
{
    pr_params_clear(self->params);
    return self->params;
}

pr_rc_t pr_pool_query(pr_pool_t *self, int statement, pr_db_result_fn *fn, void *arg)
{
    pr_db_t *db = least_busy(self);
    return db ? pr_db_query(db, statement, self->params, fn, arg) : PR_AGAIN;
}
