/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of the console actor.
 */
#ifndef PR_CONSOLE_PRIVATE_H
#define PR_CONSOLE_PRIVATE_H

#include "actors/console/cookies.h"
#include "actors/console/csv.h"
#include "actors/console/makers.h"
#include "actors/console/routes.h"
#include "front/front.h"
#include "front/pool.h"
#include "httpd/limiter.h"
#include "sign/digest.h"
#include "sign/totp.h"

#include <jansson.h>

#define CONSOLE_NAME_BYTES 65 /* of an operator, with the NUL */

typedef struct console_t console_t;

/* Who asks, as the database said for this request. */
typedef struct {
    char name[CONSOLE_NAME_BYTES];
    pr_console_role_t role;
    char role_name[16];
    char expires_at[40];
    bool by_token; /* a program's bearer token: no cookie, so nobody can ride on it */
} console_person_t;

/* A request whose answer takes a look at the database, or several. Made when it is whole. */
typedef struct console_call_t {
    console_t *console;
    pr_httpd_request_t *http;
    const pr_console_route_t *route;
    pr_route_match_t match;
    console_person_t person;
    char token[PR_SESSION_TOKEN_BYTES]; /* the cookie's; "" = none */
    /* doors */
    pr_buffer_t arguments;
    pr_made_t made;
    /* CSV: pages of a list, one after the other */
    bool as_csv;
    json_t *csv_arguments;
    pr_csv_columns_t columns;
    pr_buffer_t csv;
    size_t csv_rows;
    /* log-in */
    char login_name[CONSOLE_NAME_BYTES], login_address[64];
    char *login_password;
    char fresh[PR_SESSION_TOKEN_BYTES];
    char login_code[PR_TOTP_DIGITS + 1]; /* "" = none was sent */
    bool login_good;
    int64_t login_step; /* of the code; -1 = none */
    /* live */
    struct console_call_t *next;
    uint64_t seen;
    int64_t until_ms;
} console_call_t;

struct console_t {
    pr_actor_t *actor;
    pr_front_t *front;
    pr_pool_t *pool;
    bool secure; /* TLS, ours or a proxy's: the cookie is Secure */
    int64_t idle_s, absolute_s;
    pr_console_role_t second_factor; /* from this role on nobody logs in without; NOBODY: all may */
    pr_allow_list_t metrics_networks;
    pr_master_key_t master;
    bool has_master;
    pr_limiter_t *tries; /* log-ins that cost a hash: by address, and of everybody */
    pr_header_t always[10];
    size_t always_count;
    /* live: one look at the figures for everybody who waits */
    console_call_t *waiting;
    int waiting_count, live_timer;
    bool live_asked;
    uint64_t live_seq;
    int64_t live_at_ms;
    pr_buffer_t live;
    uint64_t logins, logins_failed, denied;
    bool stopping;
};

/* ---- front.c: each request, before and after its body ---- */
void console_on_head(void *arg, pr_httpd_request_t *request);
void console_on_whole(void *arg, pr_httpd_request_t *request);
/* Headers that every answer has. */
void console_set_headers(console_t *self);
/* The reply of a call, and its end. */
void console_reply(console_call_t *call, const pr_httpd_reply_t *reply);
void console_reply_json(console_call_t *call, uint32_t status, pr_bytes_t body);
void console_reply_problem(console_call_t *call, uint32_t status, const char *code,
                           const char *detail, int64_t retry_after_s);
void console_reply_error(console_call_t *call, pr_rc_t rc, const pr_error_t *error);
int64_t console_now_ms(const console_t *self);

/* ---- sessions.c ---- */
/* Who it is; goes on with console_admitted, or has answered. */
void console_admit(console_call_t *call);
void console_admitted(console_call_t *call);
void console_login(console_call_t *call);
void console_logout(console_call_t *call);
void console_session(console_call_t *call);

/* ---- doors.c ---- */
void console_door(console_call_t *call);

/* ---- live.c ---- */
void console_live(console_call_t *call);
void console_live_tick(void *arg, int64_t now_ms);
void console_live_give_up(console_t *self); /* answers all that wait with what is known */

/* ---- metrics.c ---- */
void console_metrics(console_call_t *call);

#endif
