/* SPDX-License-Identifier: Apache-2.0
 *
 * dead-letter, the webhook: each new alert as one JSON POST to alerts.webhook. Answered 2xx: done;
 * anything else is tried again by the step's list. The operator chose the address, so it may be a
 * private one.
 */
#include "actors/dead-letter/dead_letter_private.h"
#include "base/alloc.h"
#include "base/log.h"
#include "outgoing/outgoing.h"

#include <jansson.h>

#include <poll.h>
#include <string.h>

static void watch_deadline(dead_t *self)
{
    pr_loop_timer_at(pr_actor_loop(self->actor), self->http_timer, pr_http_due_at_ms(self->http));
}

static void on_http(void *arg, int64_t now_ms)
{
    dead_t *self = arg;
    pr_http_run(self->http, now_ms);
    watch_deadline(self);
}

void dead_hook_open(dead_t *self, const pr_config_t *config)
{
    pr_http_limits_t limits = pr_outgoing_limits(config, PR_DEAD_POSTS_MAX);
    self->http = pr_http_new(&limits);
    self->http_timer = pr_loop_add_timer(pr_actor_loop(self->actor), INT64_MAX, 0, on_http, self);
    pr_loop_add_fd(pr_actor_loop(self->actor), pr_http_fd(self->http), POLLIN, on_http, self);
}

void dead_hook_close(dead_t *self)
{
    if (self->http != NULL) {
        pr_loop_remove_fd(pr_actor_loop(self->actor), pr_http_fd(self->http));
        pr_http_destroy(&self->http);
    }
    for (int i = 0; i < PR_DEAD_POSTS_MAX; i++) {
        dead_hook_forget(self, i);
    }
}

void dead_hook_forget(dead_t *self, int slot)
{
    pr_free(self->posts[slot].body);
    self->posts[slot] = (dead_post_body_t){0};
}

/* The caller's bytes, or NULL (a text that is no UTF-8: the database gave it, so never). */
static char *body_of(const dead_alert_t *alert)
{
    json_t *object =
        json_pack("{s:I, s:s, s:s, s:s, s:s, s:I}", "id", (json_int_t)alert->id, "kind",
                  alert->kind, "subject", alert->subject, "severity", alert->severity, "message",
                  alert->message, "count", (json_int_t)alert->count);
    size_t len = object != NULL ? json_dumpb(object, NULL, 0, JSON_COMPACT) : 0;
    char *copy = len > 0 ? pr_calloc(len + 1, 1) : NULL;
    if (copy != NULL) {
        json_dumpb(object, copy, len, JSON_COMPACT);
    }
    json_decref(object);
    return copy;
}

void dead_hook_queue(dead_t *self, const dead_alert_t *alert)
{
    if (self->webhook[0] == '\0') {
        return;
    }
    char *body = body_of(alert);
    int slot = body != NULL
                   ? pr_dead_post_new(&self->step, pr_loop_now_ms(pr_actor_loop(self->actor)))
                   : -1;
    if (slot < 0) {
        pr_free(body);
        pr_log_limited(PR_LOG_ERROR, "alert.webhook_full", "", "alert=%lld", (long long)alert->id);
        return;
    }
    self->posts[slot] =
        (dead_post_body_t){.body = body, .len = strlen(body), .alert_id = alert->id};
    dead_give(self, &(pr_dead_event_t){.kind = PR_DEAD_POST, .slot = slot});
}

static void on_posted(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    (void)now_ms;
    const dead_ref_t *ref = arg;
    bool good = response->error == PR_HTTP_OK && response->code >= 200 && response->code < 300;
    if (!good) {
        pr_log_limited(PR_LOG_WARN, "alert.webhook_failed", "", "alert=%lld code=%d error=%s",
                       (long long)ref->dead->posts[ref->number].alert_id, response->code,
                       pr_http_error_name(response->error));
    }
    dead_give(ref->dead,
              &(pr_dead_event_t){.kind = PR_DEAD_POSTED, .slot = ref->number, .good = good});
}

void dead_hook_send(dead_t *self, int slot)
{
    static const char *const headers[] = {"Content-Type: application/json"};
    const dead_post_body_t *post = &self->posts[slot];
    pr_http_request_t request = {.url = self->webhook,
                                 .headers = headers,
                                 .header_count = (int)PR_COUNT(headers),
                                 .body = pr_bytes(post->body, post->len),
                                 .http2 = true,
                                 .done = on_posted,
                                 .arg = &self->post_refs[slot]};
    pr_error_t error;
    int64_t now_ms = pr_loop_now_ms(pr_actor_loop(self->actor));
    pr_rc_t rc = pr_http_start(self->http, &request, now_ms, &error);
    if (rc != PR_OK) {
        pr_log_error(PR_LOG_ERROR, "alert.webhook_not_sent", &error);
        dead_give(self, &(pr_dead_event_t){.kind = PR_DEAD_POSTED, .slot = slot});
        return;
    }
    watch_deadline(self);
}
