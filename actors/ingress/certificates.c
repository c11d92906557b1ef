/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates that a webhook names by URL (PayPal). The profile pins their host, lib/gateway checks
 * that before it asks for one; here they are fetched once, by https, and kept for a day. Webhooks
 * that come meanwhile wait for the same answer; a failure counts for half a minute, so nobody can
 * make us ask more often. For a suspect (webhooks.c) nothing is fetched: what is kept serves.
 */
#include "actors/ingress/ingress_private.h"
#include "base/alloc.h"
#include "base/log.h"

#include <poll.h>
#include <string.h>

#define KEPT_MS ((int64_t)24 * 3600 * 1000)
#define FAILURE_MS 30000
#define MAX_BYTES ((size_t)64 * 1024)

static void watch_deadline(ingress_t *self)
{
    pr_loop_timer_at(pr_actor_loop(self->actor), self->http_timer, pr_http_due_at_ms(self->http));
}

static void on_http(void *arg, int64_t now_ms)
{
    ingress_t *self = arg;
    pr_http_run(self->http, now_ms);
    watch_deadline(self);
}

static bool may_connect(void *arg, const struct sockaddr *address, socklen_t len)
{
    pr_ip_t ip;
    uint16_t port = 0;
    return pr_ip_from_sockaddr(address, len, &ip, &port) && !pr_address_refused(arg, &ip, port);
}

void ingress_certificates_open(ingress_t *self, const pr_config_t *config)
{
    pr_http_limits_t limits = {
        .connect_ms = pr_config_duration_ms(config, "http.connect_timeout"),
        .tls_ms = pr_config_duration_ms(config, "http.tls_timeout"),
        .first_byte_ms = pr_config_duration_ms(config, "http.first_byte_timeout"),
        .total_ms = pr_config_duration_ms(config, "http.total_timeout"),
        .max_read_bytes = MAX_BYTES,
        .max_in_flight = INGRESS_CERTIFICATES_MAX,
        .user_agent = "Postrider/" PR_VERSION,
        .guard = may_connect,
        .guard_arg = &self->allow,
    };
    self->http = pr_http_new(&limits);
    self->http_timer = pr_loop_add_timer(pr_actor_loop(self->actor), INT64_MAX, 0, on_http, self);
    pr_loop_add_fd(pr_actor_loop(self->actor), pr_http_fd(self->http), POLLIN, on_http, self);
}

static void forget(ingress_certificate_t *one)
{
    pr_free(one->url);
    pr_free(one->pem);
    *one = (ingress_certificate_t){0};
}

/* Everybody who waits for it goes on, with or without. */
static void wake(ingress_certificate_t *one)
{
    ingress_call_t *waiting = one->waiting;
    one->waiting = NULL;
    while (waiting) {
        ingress_call_t *next = waiting->next;
        ingress_webhook_go_on(waiting);
        waiting = next;
    }
}

void ingress_certificates_close(ingress_t *self)
{
    if (!self->http)
        return;
    pr_loop_remove_fd(pr_actor_loop(self->actor), pr_http_fd(self->http));
    pr_http_destroy(&self->http);
    for (size_t i = 0; i < INGRESS_CERTIFICATES_MAX; i++) {
        self->certificates[i].fetching = false;
        self->certificates[i].until_ms = INT64_MAX; /* a failure, for those who ask again */
        wake(&self->certificates[i]);
        forget(&self->certificates[i]);
    }
}

static void on_fetched(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    ingress_certificate_t *one = arg;
    bool good = response->error == PR_HTTP_OK && response->code == 200 && !response->truncated &&
                response->body.len > 0;
    one->fetching = false;
    one->until_ms = now_ms + (good ? KEPT_MS : FAILURE_MS);
    if (good)
        one->pem = pr_strndup((const char *)response->body.data, response->body.len);
    else
        pr_log_limited(PR_LOG_WARN, "certificate.not_fetched", one->url, "url=%s code=%d error=%s",
                       one->url, response->code, pr_http_error_name(response->error));
    wake(one);
}

static void fetch(ingress_t *self, ingress_certificate_t *one, int64_t now_ms)
{
    pr_error_t error = {0};
    pr_http_request_t request = {.url = one->url, .method = "GET", .done = on_fetched, .arg = one};
    one->fetching = strncmp(one->url, "https://", 8) == 0 &&
                    pr_http_start(self->http, &request, now_ms, &error) == PR_OK;
    one->until_ms = now_ms + FAILURE_MS;
    watch_deadline(self);
}

/* The place of url: its own, else (may_fetch) a free one, else the one that ends first. NULL: none. */
static ingress_certificate_t *place_of(ingress_t *self, const char *url, bool may_fetch,
                                       int64_t now_ms)
{
    ingress_certificate_t *best = NULL;
    for (size_t i = 0; i < INGRESS_CERTIFICATES_MAX; i++) {
        ingress_certificate_t *one = &self->certificates[i];
        if (one->url && strcmp(one->url, url) == 0 && (one->fetching || one->until_ms > now_ms))
            return one;
        if (!one->fetching && (!best || one->until_ms < best->until_ms))
            best = one;
    }
    if (!may_fetch)
        return NULL;
    if (best) {
        forget(best);
        best->url = pr_strdup(url);
        fetch(self, best, now_ms);
    }
    return best;
}

pr_rc_t ingress_certificate_get(ingress_t *self, const char *url, ingress_call_t *call,
                                const char **pem)
{
    *pem = NULL;
    ingress_certificate_t *one =
        self->http ? place_of(self, url, !call->suspect, ingress_now_ms(self)) : NULL;
    if (!one || !one->fetching) {
        *pem = one ? one->pem : NULL;
        return PR_OK;
    }
    call->next = one->waiting;
    one->waiting = call;
    return PR_AGAIN;
}
