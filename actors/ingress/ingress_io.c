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

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define CHANNELS_MS 1000
#define LISTEN_AGAIN_MS 1000
#define KEYS_MAX 1024
#define LIMITER_KEYS_MAX 65536
#define WRITTEN_RATE_PER_S 10 /* refused webhooks of a channel that are journaled */
#define WRITTEN_BURST 100
#define DESCRIPTORS_KEPT 64 /* for everything that is no client */
#define PEM_MAX_BYTES ((size_t)256 * 1024)
#define PURGE_MS (3600 * 1000)

/* ---- listening ---- */

static void watch_httpd(ingress_t *self)
{
    if (self->httpd)
        pr_loop_timer_at(pr_actor_loop(self->actor), self->httpd_timer,
                         pr_httpd_due_at_ms(self->httpd));
}

static void on_httpd(void *arg, int64_t now_ms)
{
    ingress_t *self = arg;
    if (self->httpd)
        pr_httpd_run(self->httpd, now_ms);
}

/* Replies of this turn leave in this turn. */
static void on_turn(void *arg, int64_t now_ms)
{
    ingress_t *self = arg;
    if (self->httpd && pr_httpd_due_at_ms(self->httpd) <= now_ms)
        pr_httpd_run(self->httpd, now_ms);
    watch_httpd(self);
}

/* An address that is taken does not keep the rest from running: it is tried again. */
static pr_rc_t listen_now(ingress_t *self, pr_error_t *error)
{
    pr_rc_t rc = pr_httpd_new(&self->httpd_options, &self->httpd, error);
    if (rc == PR_OK) {
        pr_loop_add_fd(pr_actor_loop(self->actor), pr_httpd_fd(self->httpd), POLLIN, on_httpd,
                       self);
        pr_log_info("ingress.listening", "port=%d tls=%s connections=%d",
                    pr_httpd_port(self->httpd), self->certificate_pem[0] ? "yes" : "no",
                    self->httpd_options.max_connections);
    } else if (rc == PR_AGAIN) {
        pr_log_error(PR_LOG_ERROR, "ingress.not_listening", error);
        pr_loop_timer_at(pr_actor_loop(self->actor), self->listen_timer,
                         ingress_now_ms(self) + LISTEN_AGAIN_MS);
    }
    return rc;
}

static void on_listen_timer(void *arg, int64_t now_ms)
{
    (void)now_ms;
    ingress_t *self = arg;
    pr_error_t error = {0};
    if (!self->httpd && !pr_actor_draining(self->actor) && listen_now(self, &error) == PR_BAD)
        pr_actor_fail(self->actor, PR_BAD, &error);
}

/* ---- configuration ---- */

static pr_rc_t read_pem(const char *path, char **out, pr_error_t *error)
{
    *out = pr_calloc(PEM_MAX_BYTES + 1, 1);
    if (path[0] == '\0')
        return PR_OK;
    FILE *file = fopen(path, "rbe");
    size_t len = file ? fread(*out, 1, PEM_MAX_BYTES + 1, file) : 0;
    int failure = errno;
    if (file)
        fclose(file);
    if (len > 0 && len <= PEM_MAX_BYTES)
        return PR_OK;
    return pr_error_set(error, PR_BAD, "config", "", "%s cannot be used as PEM: %s", path,
                        file ? "it is empty or too large" : strerrordesc_np(failure));
}

static pr_rc_t read_networks(const pr_config_t *config, const char *key, pr_allow_list_t *out,
                             pr_error_t *error)
{
    const char *const *items = NULL;
    int count = pr_config_list(config, key, &items);
    for (int i = 0; i < count; i++)
        if (pr_allow_add(out, items[i], strlen(items[i]), error) != PR_OK)
            return PR_BAD;
    return PR_OK;
}

/* As many descriptors as there may be; fewer connections where there are not enough. */
static int connections_possible(int wanted)
{
    struct rlimit limit = {0};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return wanted;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return wanted;
    /* libmicrohttpd gets 64 more than we count: shut, not yet closed */
    int64_t room = (int64_t)limit.rlim_cur - DESCRIPTORS_KEPT - 64;
    if (room >= wanted)
        return wanted;
    pr_log_warn("ingress.few_descriptors", "wanted=%d possible=%lld", wanted, (long long)room);
    return room < 16 ? 16 : (int)room;
}

static pr_rc_t take_config(ingress_t *self, const pr_config_t *config, pr_error_t *error)
{
    pr_rc_t rc = read_networks(config, "ingress.trusted_proxies", &self->trusted, error);
    if (rc == PR_OK)
        rc = read_networks(config, "http.allow_addresses", &self->allow, error);
    if (rc == PR_OK)
        rc = read_pem(pr_config_text(config, "ingress.certificate"), &self->certificate_pem, error);
    if (rc == PR_OK)
        rc = read_pem(pr_config_text(config, "ingress.key"), &self->key_pem, error);
    if (rc != PR_OK)
        return rc;
    self->httpd_options = (pr_httpd_options_t){
        .listen = pr_config_text(config, "ingress.listen"),
        .certificate_pem = self->certificate_pem,
        .key_pem = self->key_pem,
        .max_header_bytes = (size_t)pr_config_size(config, "ingress.max_header"),
        .max_body_bytes = (size_t)pr_config_size(config, "ingress.max_body"),
        .body_memory_bytes = (size_t)pr_config_size(config, "ingress.body_memory"),
        .max_connections =
            connections_possible((int)pr_config_int(config, "ingress.max_connections")),
        .max_per_address = (int)pr_config_int(config, "ingress.max_per_address"),
        .header_ms = pr_config_duration_ms(config, "ingress.header_timeout"),
        .body_ms = pr_config_duration_ms(config, "ingress.body_timeout"),
        .send_ms = pr_config_duration_ms(config, "ingress.body_timeout"),
        .idle_ms = pr_config_duration_ms(config, "ingress.idle_timeout"),
        .trusted = self->trusted.count > 0 ? &self->trusted : NULL,
        .head = ingress_on_head,
        .whole = ingress_on_whole,
        .arg = self};
    self->wrongs = pr_limiter_new(pr_config_real(config, "ingress.wrong_rate"),
                                  (uint32_t)pr_config_int(config, "ingress.wrong_burst"),
                                  LIMITER_KEYS_MAX, pr_random_u64());
    self->written =
        pr_limiter_new(WRITTEN_RATE_PER_S, WRITTEN_BURST, LIMITER_KEYS_MAX, pr_random_u64());
    self->waiting_max = (int)pr_config_int(config, "ingress.waiting");
    return PR_OK;
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
    pr_params_clear(self->params);
    pr_params_add_i32(self->params, 10000);
    (void)!ingress_query(self, PR_SQL_INGRESS_UPKEEP, on_purged, self);
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
    self->httpd_timer = pr_loop_add_timer(loop, INT64_MAX, 0, on_httpd, self);
    self->listen_timer = pr_loop_add_timer(loop, INT64_MAX, 0, on_listen_timer, self);
    self->wait_timer = pr_loop_add_timer(loop, INT64_MAX, 0, ingress_api_ask_waiting, self);
    pr_loop_add_turn(loop, on_turn, self);
    ingress_certificates_open(self, config);
    ingress_db_open(self, config);
    pr_loop_add_timer(loop, pr_loop_now_ms(loop), CHANNELS_MS, ingress_channels_ask, self);
    pr_loop_add_timer(loop, pr_loop_now_ms(loop) + PURGE_MS, PURGE_MS, purge, self);
    rc = listen_now(self, error);
    return rc == PR_AGAIN ? PR_OK : rc;
}

static void drain(void *io, int64_t now_ms)
{
    (void)now_ms;
    ingress_t *self = io;
    if (self->httpd)
        pr_httpd_drain(self->httpd);
    ingress_api_give_up(self);
}

static bool drained(void *io)
{
    const ingress_t *self = io;
    return !self->httpd || pr_httpd_drained(self->httpd);
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
    ingress_db_close(self);
    if (self->httpd) {
        pr_loop_remove_fd(pr_actor_loop(self->actor), pr_httpd_fd(self->httpd));
        pr_httpd_destroy(&self->httpd);
    }
    ingress_channels_close(self);
    ingress_keys_close(self);
    pr_limiter_destroy(&self->wrongs);
    pr_limiter_destroy(&self->written);
    pr_free(self->certificate_pem);
    if (self->key_pem)
        explicit_bzero(self->key_pem, PEM_MAX_BYTES);
    pr_free(self->key_pem);
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
