/* SPDX-License-Identifier: Apache-2.0
 *
 * What there is behind the operators' door: one table, which docs/openapi.yaml describes and a test
 * compares with it. Each row says the least role that it is for; the server looks before it does
 * anything, and the door in SQL looks again. Pure.
 */
#ifndef PR_CONSOLE_ROUTES_H
#define PR_CONSOLE_ROUTES_H

#include "httpd/route.h"

#include <stdint.h>

typedef enum {
    PR_CONSOLE_NOBODY = 0, /* needs no log-in */
    PR_CONSOLE_VIEWER,
    PR_CONSOLE_OPERATOR,
    PR_CONSOLE_APPROVER,
    PR_CONSOLE_ADMIN,
} pr_console_role_t;

typedef enum {
    PR_CONSOLE_HEALTH = 1,
    PR_CONSOLE_READY,
    PR_CONSOLE_METRICS,
    PR_CONSOLE_LOGIN,
    PR_CONSOLE_LOGOUT,
    PR_CONSOLE_SESSION,
    PR_CONSOLE_LIVE,
    PR_CONSOLE_READ,  /* one call of its statement; its JSON is the answer */
    PR_CONSOLE_LIST,  /* the same; with format=csv all its pages as CSV */
    PR_CONSOLE_WHOLE, /* a short list, that always comes whole: limit and after say nothing */
    PR_CONSOLE_ACT,   /* the same, after the session's CSRF token was shown */
} pr_console_kind_t;

/* What the server makes itself and puts among the arguments: makers.h. */
typedef enum {
    PR_MAKE_NOTHING = 0,
    PR_MAKE_PASSWORD, /* "password" becomes "password_hash" */
    PR_MAKE_TOKEN,    /* "hash" of a token for a program; the answer shows it once */
    PR_MAKE_KEY,      /* the same, for the public door */
    PR_MAKE_SECRET,   /* "secret", sealed for "merchant_id"; the answer shows it once */
    PR_MAKE_SEALED,   /* the values of "parameters" are sealed for "channel" */
} pr_console_make_t;

typedef struct {
    pr_route_t route;
    pr_console_kind_t kind;
    pr_console_role_t role;
    int statement; /* of pr_sql_console; READ, LIST, ACT */
    pr_console_make_t make;
} pr_console_route_t;

extern const pr_console_route_t pr_console_routes[];
extern const size_t pr_console_routes_count;

/* "operator" -> PR_CONSOLE_OPERATOR; NOBODY: unknown. */
pr_console_role_t pr_console_role(const char *name);

#endif
