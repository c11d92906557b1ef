/* SPDX-License-Identifier: Apache-2.0
 *
 * A few connections, each a pipeline: one commit at a time on each, so several are what lets
 * Postgres gather commits into one flush.
 */
#include "actors/ingress/ingress_private.h"
#include "base/assert.h"
#include "base/log.h"
#include "sql/ingress.h"
#include "sql/migrations.h"

#define PENDING_MAX 256 /* queries under way on one connection: a second's worth */
#define STATEMENT_TIMEOUT_MS 10000

static void on_ready(void *arg)
{
    ingress_t *self = arg;
    ingress_channels_ask(self, ingress_now_ms(self));
}

void ingress_db_open(ingress_t *self, const pr_config_t *config)
{
    pr_db_options_t options = {
        .url = pr_config_text(config, "database.url"),
        .application_name = "postrider ingress",
        .role = "postrider_ingress",
        .index_plans = true,
        .statement_timeout_ms = STATEMENT_TIMEOUT_MS,
        .statements = pr_sql_ingress,
        .nstatements = PR_SQL_INGRESS_COUNT,
        .schema_version = pr_migrations_count,
        .on_ready = on_ready,
        .arg = self,
    };
    self->params = pr_params_new();
    self->db_count = (int)pr_config_int(config, "ingress.database_connections");
    pr_assert(self->db_count <= INGRESS_DATABASES_MAX);
    for (int i = 0; i < self->db_count; i++) {
        self->dbs[i] = pr_db_new(&options);
        pr_loop_add_db(pr_actor_loop(self->actor), self->dbs[i]);
    }
}

void ingress_db_close(ingress_t *self)
{
    for (int i = 0; i < self->db_count; i++) {
        if (!self->dbs[i])
            continue;
        pr_loop_remove_db(pr_actor_loop(self->actor), self->dbs[i]);
        pr_db_destroy(&self->dbs[i]);
    }
    pr_params_destroy(&self->params);
}

static pr_db_t *least_busy(const ingress_t *self)
{
    pr_db_t *best = NULL;
    for (int i = 0; i < self->db_count; i++) {
        pr_db_t *one = self->dbs[i];
        if (one && pr_db_ready(one) && pr_db_pending(one) < PENDING_MAX &&
            (!best || pr_db_pending(one) < pr_db_pending(best)))
            best = one;
    }
    return best;
}

bool ingress_db_ready(const ingress_t *self)
{
    return least_busy(self) != NULL;
}

pr_rc_t ingress_query(ingress_t *self, int statement, pr_db_result_fn *fn, void *arg)
{
    pr_db_t *db = self->stopping ? NULL : least_busy(self);
    return db ? pr_db_query(db, statement, self->params, fn, arg) : PR_AGAIN;
}
