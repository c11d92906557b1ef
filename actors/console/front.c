/* SPDX-License-Identifier: Apache-2.0
 *
 * Each request twice: when its head is there (is there such a thing, can it come from our pages),
 * and when it is whole. What is turned away at its head costs no memory and no look at the database.
 */
#include "actors/console/assets.h"
#include "actors/console/console_private.h"
#include "base/alloc.h"
#include "base/log.h"
#include "httpd/door_error.h"

#include <string.h>

#define LOGIN_BODY_MAX_BYTES ((size_t)2 * 1024)
#define BODY_MAX_BYTES ((size_t)256 * 1024)
#define ARGUMENTS_MAX_BYTES ((size_t)512 * 1024)

int64_t console_now_ms(const console_t *self)
{
    return pr_loop_now_ms(pr_actor_loop(self->actor));
}

/* ---- headers of every answer ---- */

void console_set_headers(console_t *self)
{
    static const pr_header_t headers[] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
         "manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
         "require-trusted-types-for 'script'; trusted-types 'none'"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"},
    };
    _Static_assert(PR_COUNT(headers) < PR_COUNT(((console_t *)0)->always), "one more fits");
    memcpy(self->always, headers, sizeof headers);
    self->always_count = PR_COUNT(headers);
    if (self->secure)
        self->always[self->always_count++] =
            (pr_header_t){"Strict-Transport-Security", "max-age=31536000"};
}

/* ---- the head ---- */

static const pr_console_route_t *find(const pr_httpd_request_t *request, pr_route_match_t *match)
{
    pr_route_find(pr_console_routes, pr_console_routes_count, sizeof pr_console_routes[0],
                  pr_httpd_method(request), pr_httpd_path(request), match);
    return match->result == PR_ROUTE_MATCHED ? &pr_console_routes[match->index] : NULL;
}

static bool is_get(const pr_httpd_request_t *request)
{
    const char *method = pr_httpd_method(request);
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* "https://host:port" against Host: what another site's page sends has that site's origin. */
static bool same_origin(const pr_httpd_request_t *request)
{
    const char *site = pr_httpd_header(request, "Sec-Fetch-Site");
    const char *origin = pr_httpd_header(request, "Origin");
    const char *host = pr_httpd_header(request, "Host");
    if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return false;
    if (!origin)
        return true;
    const char *name = strstr(origin, "://");
    return name && host && strcmp(name + 3, host) == 0;
}

static void write_head(pr_httpd_request_t *request, const pr_console_route_t *route)
{
    if (!same_origin(request))
        pr_httpd_reply_problem(request, 403, "cross_site",
                               "The request comes from a page of another site.", 0);
    else if (pr_front_has_body(request) &&
             !pr_front_is_json(pr_httpd_header(request, "Content-Type")))
        pr_httpd_reply_problem(request, 415, "not_json", "Send application/json.", 0);
    else
        pr_httpd_limit_body(request, route->kind == PR_CONSOLE_LOGIN ? LOGIN_BODY_MAX_BYTES
                                                                     : BODY_MAX_BYTES);
}

void console_on_head(void *arg, pr_httpd_request_t *request)
{
    (void)arg;
    pr_route_match_t match;
    const pr_console_route_t *route = find(request, &match);
    if (!route) {
        if (match.result != PR_ROUTE_UNKNOWN || !is_get(request) ||
            !pr_asset_find(pr_httpd_path(request)))
            pr_front_reply_no_route(request, &match);
        else
            pr_httpd_limit_body(request, 0);
        return;
    }
    if (strcmp(route->route.method, "POST") == 0)
        write_head(request, route);
    else
        pr_httpd_limit_body(request, 0);
}

/* ---- the whole ---- */

static void reply_asset(console_t *self, pr_httpd_request_t *request)
{
    const pr_asset_t *asset = pr_asset_find(pr_httpd_path(request));
    pr_httpd_reply_t reply = {.status = 200,
                              .content_type = asset->type,
                              .caching =
                                  "no-cache", /* asked again each time, sent when it changed */
                              .body = pr_bytes(asset->data, asset->len),
                              .header_count = 1,
                              .headers = {{"ETag", asset->etag}}};
    if (pr_asset_known(asset, pr_httpd_header(request, "If-None-Match"))) {
        reply.status = 304;
        reply.content_type = NULL;
        reply.body = pr_bytes_text("");
    }
    pr_actor_count(self->actor, 1);
    pr_httpd_reply(request, &reply);
}

static console_call_t *new_call(console_t *self, pr_httpd_request_t *request,
                                const pr_console_route_t *route, const pr_route_match_t *match)
{
    console_call_t *call = PR_NEW(console_call_t);
    call->console = self;
    call->http = request;
    call->route = route;
    call->match = *match;
    pr_buffer_init(&call->arguments, ARGUMENTS_MAX_BYTES);
    pr_buffer_init(&call->csv, PR_HTTPD_REPLY_MAX_BYTES);
    return call;
}

static void reply_health(console_call_t *call)
{
    if (call->route->kind == PR_CONSOLE_HEALTH || pr_pool_ready(call->console->pool))
        console_reply_json(call, 200, pr_bytes_text("{\"status\":\"ok\"}"));
    else
        console_reply_problem(call, 503, "not_ready", "The database cannot be asked now.", 1);
}

void console_on_whole(void *arg, pr_httpd_request_t *request)
{
    console_t *self = arg;
    pr_route_match_t match;
    const pr_console_route_t *route = find(request, &match);
    if (!route) {
        reply_asset(self, request);
        return;
    }
    console_call_t *call = new_call(self, request, route, &match);
    switch (route->kind) {
    case PR_CONSOLE_HEALTH:
    case PR_CONSOLE_READY:
        reply_health(call);
        break;
    case PR_CONSOLE_METRICS:
        if (pr_allow_has(&self->metrics_networks, pr_httpd_client(request), 0))
            console_metrics(call);
        else
            console_admit(call);
        break;
    case PR_CONSOLE_LOGIN:
        console_login(call);
        break;
    default:
        console_admit(call);
        break;
    }
}

/* It is somebody who may. */
void console_admitted(console_call_t *call)
{
    switch (call->route->kind) {
    case PR_CONSOLE_METRICS:
        console_metrics(call);
        break;
    case PR_CONSOLE_LOGOUT:
        console_logout(call);
        break;
    case PR_CONSOLE_SESSION:
        console_session(call);
        break;
    case PR_CONSOLE_LIVE:
        console_live(call);
        break;
    default:
        console_door(call);
        break;
    }
}

/* ---- replies ---- */

static void free_call(console_call_t *call)
{
    if (call->login_password)
        explicit_bzero(call->login_password, strlen(call->login_password));
    pr_free(call->login_password);
    if (call->arguments.data)
        explicit_bzero(call->arguments.data, call->arguments.room); /* may hold secrets */
    pr_buffer_free(&call->arguments);
    pr_buffer_free(&call->csv);
    pr_csv_columns_free(&call->columns);
    json_decref(call->csv_arguments);
    explicit_bzero(call, sizeof *call);
    pr_free(call);
}

void console_reply(console_call_t *call, const pr_httpd_reply_t *reply)
{
    pr_actor_count(call->console->actor, 1);
    pr_httpd_reply(call->http, reply);
    free_call(call);
}

void console_reply_json(console_call_t *call, uint32_t status, pr_bytes_t body)
{
    console_reply(call, &(pr_httpd_reply_t){
                            .status = status, .content_type = "application/json", .body = body});
}

void console_reply_problem(console_call_t *call, uint32_t status, const char *code,
                           const char *detail, int64_t retry_after_s)
{
    pr_actor_count(call->console->actor, 1);
    pr_httpd_reply_problem(call->http, status, code, detail, retry_after_s);
    free_call(call);
}

/* To a person PR009 is "there is none"; what is another's does not exist here. */
static pr_door_error_t error_of(const char *sqlstate)
{
    if (strcmp(sqlstate, "PR009") == 0)
        return (pr_door_error_t){404, "not_found", true};
    if (strcmp(sqlstate, "PR003") == 0 || strcmp(sqlstate, "PR008") == 0)
        return (pr_door_error_t){422, "invalid_argument", true};
    return pr_door_error(sqlstate);
}

void console_reply_error(console_call_t *call, pr_rc_t rc, const pr_error_t *error)
{
    pr_door_error_t seen = error_of(error ? error->code : "");
    if (seen.status == 500)
        pr_log_error(PR_LOG_ERROR, "console.door_failed", error);
    else if (seen.status == 503)
        pr_log_limited(PR_LOG_WARN, "console.unavailable", error ? error->code : "",
                       "rc=%s code=%s", pr_rc_name(rc), error ? error->code : "");
    console_reply_problem(call, seen.status, seen.code, seen.told ? error->text : "",
                          seen.status == 503 ? 1 : 0);
}
