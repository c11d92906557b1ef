/* SPDX-License-Identifier: Apache-2.0
 *
 * The actor's life.
 */
#include "actors/ingress/ingress_io.h"

#include "actors/ingress/ingress_private.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "sql/ingress.h"
#include "sql/migrations.h"

#include <string.h>

#define CHANNELS_MS 1000
#define STATEMENT_TIMEOUT_MS 10000
#define KEYS_MAX 1024
#define LIMITER_KEYS_MAX 65536
#define WRITTEN_RATE_PER_S 10 /* refused webhooks of a channel that are journaled */
#define WRITTEN_BURST 100
#define PURGE_MS (3600 * 1000)

/* ---- configuration ---- */

static pr_rc_t take_config(ingress_t *self, const pr_config_t *config, pr_error_t *error)
{
    self->wrongs = pr_limiter_new(pr_config_real(config, "ingress.wrong_rate"),
                                  (uint32_t)pr_config_int(config, "ingress.wrong_burst"),
                                  LIMITER_KEYS_MAX, pr_random_u64());
    self->written =
        pr_limiter_new(WRITTEN_RATE_PER_S, WRITTEN_BURST, LIMITER_KEYS_MAX, pr_random_u64());
    self->waiting_max = (int)pr_config_int(config, "ingress.waiting");
    return pr_config_networks(config, "http.allow_addresses", &self->allow, error);
}

/* ---- Postgres ---- */

static void on_ready(void *arg)
{
    ingress_t *self = arg;
    ingress_channels_ask(self, ingress_now_ms(self));
}

static void open_pool(ingress_t *self, const pr_config_t *config)
{
    const pr_db_options_t options = {
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
    self->pool = pr_pool_new(self->actor, &options,
                             (int)pr_config_int(config, "ingress.database_connections"));
}

/* ---- upkeep ---- */

static void on_purged(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    (void)rows;
    const ingress_t *self = arg;
    if (rc != PR_OK && !self->stopping)
        pr_log_error(PR_LOG_WARN, "answers.not_purged", error);
}

static void purge(void *arg, int64_t now_ms)
{
    (void)now_ms;
    ingress_t *self = arg;
    pr_params_t *params = pr_pool_params(self->pool);
    pr_params_add_i32(params, 10000);
    (void)!pr_pool_query(self->pool, PR_SQL_INGRESS_UPKEEP, on_purged, self);
}

/* ---- life ---- */

static pr_rc_t start(pr_actor_t *actor, void **io, pr_error_t *error)
{
    const pr_config_t *config = pr_actor_config(actor);
    pr_loop_t *loop = pr_actor_loop(actor);
    ingress_t *self = PR_NEW(ingress_t);
    *io = self;
    self->actor = actor;
    self->keys = pr_map_new(KEYS_MAX, pr_random_u64());
    pr_rc_t rc = take_config(self, config, error);
    if (rc == PR_OK)
        rc = ingress_channels_open(self, config, error);
    if (rc != PR_OK)
        return rc;
    self->wait_timer = pr_loop_add_timer(loop, INT64_MAX, 0, ingress_api_ask_waiting, self);
    ingress_certificates_open(self, config);
    open_pool(self, config);
    pr_loop_add_timer(loop, pr_loop_now_ms(loop), CHANNELS_MS, ingress_channels_ask, self);
    pr_loop_add_timer(loop, pr_loop_now_ms(loop) + PURGE_MS, PURGE_MS, purge, self);
    const pr_front_options_t options = {.actor = actor,
                                        .section = "ingress",
                                        .head = ingress_on_head,
                                        .whole = ingress_on_whole,
                                        .arg = self};
    return pr_front_new(&options, &self->front, error);
}

static void drain(void *io, int64_t now_ms)
{
    (void)now_ms;
    ingress_t *self = io;
    pr_front_drain(self->front);
    ingress_api_give_up(self);
}

static bool drained(void *io)
{
    const ingress_t *self = io;
    return pr_front_drained(self->front);
}

/* First who may still answer a request, last who carries answers. */
static void stop(void **io)
{
    ingress_t *self = *io;
    *io = NULL;
    if (!self)
        return;
    self->stopping = true;
    ingress_api_give_up(self);
    ingress_certificates_close(self);
    pr_pool_destroy(&self->pool);
    pr_front_destroy(&self->front);
    ingress_channels_close(self);
    ingress_keys_close(self);
    pr_limiter_destroy(&self->wrongs);
    pr_limiter_destroy(&self->written);
    pr_free(self);
}

const pr_actor_spec_t pr_ingress_spec = {
    .name = "ingress",
    .summary = "The public door: gateways' webhooks, the payment API, merchants' questions.",
    .start = start,
    .drain = drain,
    .drained = drained,
    .stop = stop,
};
