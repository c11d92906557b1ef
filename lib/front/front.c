/* SPDX-License-Identifier: Apache-2.0 */
#include "front/front.h"

#include "base/alloc.h"
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

#define LISTEN_AGAIN_MS 1000
#define DESCRIPTORS_KEPT 64 /* for everything that is no client */
#define PEM_MAX_BYTES ((size_t)256 * 1024)
#define KEY_BYTES 64 /* of a setting's name */

struct pr_front_t {
    pr_front_options_t options;
    pr_loop_t *loop;
    pr_httpd_t *httpd; /* NULL: the address was taken, tried again each second */
    pr_httpd_options_t httpd_options;
    pr_allow_list_t trusted;
    char *certificate_pem, *key_pem;
    int httpd_timer, listen_timer;
    bool draining;
    char listening[KEY_BYTES], not_listening[KEY_BYTES];
};

/* ---- the loop ---- */

static void on_httpd(void *arg, int64_t now_ms)
{
    pr_front_t *self = arg;
    if (self->httpd)
        pr_httpd_run(self->httpd, now_ms);
}

/* Replies of this turn leave in this turn. */
static void on_turn(void *arg, int64_t now_ms)
{
    pr_front_t *self = arg;
    if (!self->httpd)
        return;
    if (pr_httpd_due_at_ms(self->httpd) <= now_ms)
        pr_httpd_run(self->httpd, now_ms);
    pr_loop_timer_at(self->loop, self->httpd_timer, pr_httpd_due_at_ms(self->httpd));
}

/* An address that is taken does not keep the rest from running: it is tried again. */
static pr_rc_t listen_now(pr_front_t *self, pr_error_t *error)
{
    pr_rc_t rc = pr_httpd_new(&self->httpd_options, &self->httpd, error);
    if (rc == PR_OK) {
        pr_loop_add_fd(self->loop, pr_httpd_fd(self->httpd), POLLIN, on_httpd, self);
        pr_log_info(self->listening, "port=%d tls=%s connections=%d", pr_httpd_port(self->httpd),
                    pr_front_has_tls(self) ? "yes" : "no", self->httpd_options.max_connections);
    } else if (rc == PR_AGAIN) {
        pr_log_error(PR_LOG_ERROR, self->not_listening, error);
        pr_loop_timer_at(self->loop, self->listen_timer,
                         pr_loop_now_ms(self->loop) + LISTEN_AGAIN_MS);
    }
    return rc;
}

static void on_listen_timer(void *arg, int64_t now_ms)
{
    (void)now_ms;
    pr_front_t *self = arg;
    pr_error_t error = {0};
    if (!self->httpd && !self->draining && listen_now(self, &error) == PR_BAD)
        pr_actor_fail(self->options.actor, PR_BAD, &error);
}

/* ---- settings ---- */

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

/* As many descriptors as there may be; fewer connections where there are not enough. */
static int connections_possible(const char *event, int wanted)
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
    pr_log_warn(event, "wanted=%d possible=%lld", wanted, (long long)room);
    return room < 16 ? 16 : (int)room;
}

/* "listen" -> "ingress.listen" */
static const char *in_section(const pr_front_t *self, const char *name, char out[KEY_BYTES])
{
    snprintf(out, KEY_BYTES, "%s.%s", self->options.section, name);
    return out;
}

static void take_limits(pr_front_t *self, const pr_config_t *config)
{
    char key[KEY_BYTES], event[KEY_BYTES];
    int connections = (int)pr_config_int(config, in_section(self, "max_connections", key));
    pr_httpd_options_t *options = &self->httpd_options;
    options->max_connections =
        connections_possible(in_section(self, "few_descriptors", event), connections);
    options->max_per_address = (int)pr_config_int(config, in_section(self, "max_per_address", key));
    options->max_header_bytes = (size_t)pr_config_size(config, in_section(self, "max_header", key));
    options->max_body_bytes = (size_t)pr_config_size(config, in_section(self, "max_body", key));
    options->body_memory_bytes =
        (size_t)pr_config_size(config, in_section(self, "body_memory", key));
    options->header_ms = pr_config_duration_ms(config, in_section(self, "header_timeout", key));
    options->body_ms = pr_config_duration_ms(config, in_section(self, "body_timeout", key));
    options->send_ms = options->body_ms;
    options->idle_ms = pr_config_duration_ms(config, in_section(self, "idle_timeout", key));
}

static pr_rc_t take_config(pr_front_t *self, pr_error_t *error)
{
    char key[KEY_BYTES];
    const pr_config_t *config = pr_actor_config(self->options.actor);
    pr_rc_t rc =
        pr_config_networks(config, in_section(self, "trusted_proxies", key), &self->trusted, error);
    if (rc == PR_OK)
        rc = read_pem(pr_config_text(config, in_section(self, "certificate", key)),
                      &self->certificate_pem, error);
    if (rc == PR_OK)
        rc = read_pem(pr_config_text(config, in_section(self, "key", key)), &self->key_pem, error);
    if (rc != PR_OK)
        return rc;
    in_section(self, "listening", self->listening);
    in_section(self, "not_listening", self->not_listening);
    take_limits(self, config);
    self->httpd_options.listen = pr_config_text(config, in_section(self, "listen", key));
    self->httpd_options.certificate_pem = self->certificate_pem;
    self->httpd_options.key_pem = self->key_pem;
    self->httpd_options.trusted = self->trusted.count > 0 ? &self->trusted : NULL;
    self->httpd_options.head = self->options.head;
    self->httpd_options.whole = self->options.whole;
    self->httpd_options.arg = self->options.arg;
    self->httpd_options.always = self->options.always;
    self->httpd_options.always_count = self->options.always_count;
    return PR_OK;
}

/* ---- life ---- */

pr_rc_t pr_front_new(const pr_front_options_t *options, pr_front_t **out, pr_error_t *error)
{
    pr_front_t *self = PR_NEW(pr_front_t);
    *out = self;
    self->options = *options;
    self->loop = pr_actor_loop(options->actor);
    pr_rc_t rc = take_config(self, error);
    if (rc == PR_OK) {
        self->httpd_timer = pr_loop_add_timer(self->loop, INT64_MAX, 0, on_httpd, self);
        self->listen_timer = pr_loop_add_timer(self->loop, INT64_MAX, 0, on_listen_timer, self);
        pr_loop_add_turn(self->loop, on_turn, self);
        rc = listen_now(self, error);
    }
    if (rc == PR_OK || rc == PR_AGAIN)
        return PR_OK;
    return rc;
}

void pr_front_destroy(pr_front_t **self)
{
    pr_front_t *front = *self;
    *self = NULL;
    if (!front)
        return;
    if (front->httpd) {
        pr_loop_remove_fd(front->loop, pr_httpd_fd(front->httpd));
        pr_httpd_destroy(&front->httpd);
    }
    pr_free(front->certificate_pem);
    if (front->key_pem)
        explicit_bzero(front->key_pem, PEM_MAX_BYTES);
    pr_free(front->key_pem);
    pr_free(front);
}

void pr_front_drain(pr_front_t *self)
{
    self->draining = true;
    if (self->httpd)
        pr_httpd_drain(self->httpd);
}

bool pr_front_drained(const pr_front_t *self)
{
    return !self->httpd || pr_httpd_drained(self->httpd);
}

bool pr_front_has_tls(const pr_front_t *self)
{
    return self->certificate_pem[0] != '\0';
}

pr_httpd_stats_t pr_front_stats(const pr_front_t *self)
{
    return self->httpd ? pr_httpd_stats(self->httpd) : (pr_httpd_stats_t){0};
}

/* ---- heads ---- */

void pr_front_reply_no_route(pr_httpd_request_t *request, const pr_route_match_t *match)
{
    static const char text[] =
        "{\"title\":\"Method Not Allowed\",\"status\":405,\"code\":\"method_not_allowed\"}";
    if (match->result != PR_ROUTE_METHOD) {
        pr_httpd_reply_problem(request, 404, "not_found", "There is nothing here.", 0);
        return;
    }
    pr_httpd_reply(request, &(pr_httpd_reply_t){.status = 405,
                                                .content_type = "application/problem+json",
                                                .body = pr_bytes_text(text),
                                                .header_count = 1,
                                                .headers = {{"Allow", match->allow}}});
}

bool pr_front_is_json(const char *content_type)
{
    static const char json[] = "application/json";
    size_t len = sizeof json - 1;
    return content_type && strncasecmp(content_type, json, len) == 0 &&
           (content_type[len] == '\0' || content_type[len] == ';' || content_type[len] == ' ');
}

bool pr_front_has_body(const pr_httpd_request_t *request)
{
    const char *length = pr_httpd_header(request, "Content-Length");
    return (length && strcmp(length, "0") != 0) || pr_httpd_header(request, "Transfer-Encoding");
}
