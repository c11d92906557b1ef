/* SPDX-License-Identifier: Apache-2.0
 *
 * An HTTP server inside an actor: settings of one section ("ingress.listen", ...), a place in the
 * loop, listening again each second while the address is taken, drain. For ingress and console.
 *
 * Settings that the section must have: listen, certificate, key, trusted_proxies, max_connections,
 * max_per_address, max_header, max_body, body_memory, header_timeout, body_timeout, idle_timeout.
 */
#ifndef PR_FRONT_FRONT_H
#define PR_FRONT_FRONT_H

#include "actor/actor.h"
#include "httpd/httpd.h"
#include "httpd/route.h"

typedef struct pr_front_t pr_front_t;

typedef struct {
    pr_actor_t *actor;
    const char *section;               /* "ingress"; static */
    pr_httpd_request_fn *head, *whole; /* as in pr_httpd_options_t */
    void *arg;
    const pr_header_t *always; /* headers of every reply; borrowed */
    size_t always_count;
} pr_front_options_t;

/* Listens, or says in the log each second why not. PR_BAD: a setting cannot be used; *out is NULL
 * then. The events SECTION.listening (port=...) and SECTION.not_listening. */
PR_CHECK pr_rc_t pr_front_new(const pr_front_options_t *options, pr_front_t **out,
                              pr_error_t *error);
/* Whoever still waits gets 503. Accepts NULL. */
void pr_front_destroy(pr_front_t **self);

void pr_front_drain(pr_front_t *self);
bool pr_front_drained(const pr_front_t *self);
bool pr_front_has_tls(const pr_front_t *self);
pr_httpd_stats_t pr_front_stats(const pr_front_t *self); /* zeros while it does not listen */

/* 404, or 405 with Allow: for what pr_route_find did not match. */
void pr_front_reply_no_route(pr_httpd_request_t *request, const pr_route_match_t *match);
/* Whether a Content-Type is application/json; NULL is none. */
bool pr_front_is_json(const char *content_type);
/* Whether the head says that a body comes. */
bool pr_front_has_body(const pr_httpd_request_t *request);

#endif
