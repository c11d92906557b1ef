/* SPDX-License-Identifier: Apache-2.0
 *
 * The actor's life.
 */
#include "actors/console/console_io.h"

#include "actor/master_key.h"
#include "actors/console/console_private.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "sql/console.h"
#include "sql/migrations.h"

#include <string.h>

#define STATEMENT_TIMEOUT_MS 10000
#define LIVE_MS 500
#define LIVE_MAX_BYTES ((size_t)1024 * 1024)
#define PURGE_MS (60 * 1000)
#define PURGE_MOST 1000
#define LIMITER_KEYS_MAX 65536
#define TRIES_AT_ONCE 4 /* times the rate */

/* ---- upkeep ---- */

static void on_purged(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    (void)rows;
    const console_t *self = arg;
    if (rc != PR_OK && !self->stopping)
        pr_log_error(PR_LOG_WARN, "console.not_purged", error);
}

/* Sessions and requests that are over. */
static void purge(void *arg, int64_t now_ms)
{
    (void)now_ms;
    console_t *self = arg;
    pr_params_add_i32(pr_pool_params(self->pool), PURGE_MOST);
    (void)!pr_pool_query(self->pool, PR_SQL_CONSOLE_PEOPLE_PURGE, on_purged, self);
}

/* ---- life ---- */

static void on_ready(void *arg)
{
    const console_t *self = arg;
    pr_actor_ready(self->actor); /* the first time; later it is so already */
}

static void open_pool(console_t *self, const pr_config_t *config)
{
    const pr_db_options_t options = {
        .url = pr_config_text(config, "database.url"),
        .application_name = "postrider console",
        .role = "postrider_console",
        .index_plans = true,
        .statement_timeout_ms = STATEMENT_TIMEOUT_MS,
        .statements = pr_sql_console,
        .nstatements = PR_SQL_CONSOLE_COUNT,
        .schema_version = pr_migrations_count,
        .on_ready = on_ready,
        .arg = self,
    };
    self->pool = pr_pool_new(self->actor, &options,
                             (int)pr_config_int(config, "console.database_connections"));
}

static pr_rc_t take_second_factor(console_t *self, const pr_config_t *config, pr_error_t *error)
{
    const char *from = pr_config_text(config, "console.second_factor");
    bool nobody = strcmp(from, "nobody") == 0;
    self->second_factor = nobody ? PR_CONSOLE_NOBODY : pr_console_role(from);
    if (nobody || self->second_factor != PR_CONSOLE_NOBODY)
        return PR_OK;
    return pr_error_set(error, PR_BAD, "config", "",
                        "console.second_factor is nobody, viewer, operator, approver or admin");
}

static pr_rc_t take_config(console_t *self, const pr_config_t *config, pr_error_t *error)
{
    const char *master = pr_config_text(config, "master_key_file");
    self->secure = pr_config_bool(config, "console.behind_tls") ||
                   pr_config_text(config, "console.certificate")[0] != '\0';
    self->idle_s = pr_config_duration_ms(config, "console.session_idle") / 1000;
    self->absolute_s = pr_config_duration_ms(config, "console.session_max") / 1000;
    double rate = pr_config_real(config, "console.login_rate");
    self->tries = pr_limiter_new(rate, (uint32_t)(rate * TRIES_AT_ONCE) + 1, LIMITER_KEYS_MAX,
                                 pr_random_u64());
    pr_buffer_init(&self->live, LIVE_MAX_BYTES);
    console_set_headers(self);
    pr_rc_t rc =
        pr_config_networks(config, "console.metrics_networks", &self->metrics_networks, error);
    if (rc == PR_OK && master[0] != '\0') {
        rc = pr_master_key_load(master, &self->master, error);
        self->has_master = rc == PR_OK;
    }
    return rc == PR_OK ? take_second_factor(self, config, error) : rc;
}

static pr_rc_t start(pr_actor_t *actor, void **io, pr_error_t *error)
{
    const pr_config_t *config = pr_actor_config(actor);
    pr_loop_t *loop = pr_actor_loop(actor);
    int64_t now_ms = pr_loop_now_ms(loop);
    console_t *self = PR_NEW(console_t);
    *io = self;
    self->actor = actor;
    pr_rc_t rc = take_config(self, config, error);
    if (rc != PR_OK)
        return rc;
    open_pool(self, config);
    pr_loop_add_timer(loop, now_ms + PURGE_MS, PURGE_MS, purge, self);
    self->live_timer = pr_loop_add_timer(loop, now_ms + LIVE_MS, LIVE_MS, console_live_tick, self);
    const pr_front_options_t options = {.actor = actor,
                                        .section = "console",
                                        .head = console_on_head,
                                        .whole = console_on_whole,
                                        .always = self->always,
                                        .always_count = self->always_count,
                                        .arg = self};
    return pr_front_new(&options, &self->front, error);
}

static void drain(void *io, int64_t now_ms)
{
    (void)now_ms;
    console_t *self = io;
    pr_front_drain(self->front);
    console_live_give_up(self);
}

static bool drained(void *io)
{
    const console_t *self = io;
    return pr_front_drained(self->front);
}

/* First who may still answer a request, last who carries answers. */
static void stop(void **io)
{
    console_t *self = *io;
    *io = NULL;
    if (!self)
        return;
    self->stopping = true;
    console_live_give_up(self);
    pr_pool_destroy(&self->pool);
    pr_front_destroy(&self->front);
    pr_limiter_destroy(&self->tries);
    pr_master_key_wipe(&self->master);
    pr_buffer_free(&self->live);
    pr_free(self);
}

const pr_actor_spec_t pr_console_spec = {
    .name = "console",
    .summary = "The operators' door: web console, operations API, /metrics.",
    .start = start,
    .drain = drain,
    .drained = drained,
    .stop = stop,
};
