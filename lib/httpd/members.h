/* SPDX-License-Identifier: Apache-2.0
 *
 * From a request to the arguments of a door in SQL: one JSON object of what its path, its query and
 * its body say, checked against what the operation takes. Values of a body go on as they were
 * written (a payload keeps its numbers); those of path and query become JSON by their kind. What
 * they mean is the door's to judge. Pure.
 *
 * A query is name=value&name=value, percent-encoded; an empty value is none; a list is split at
 * commas.
 *
 * Where the door itself knows what it takes, members is NULL: then every member of a query goes on
 * as a text, every member of a body as it was written.
 */
#ifndef PR_HTTPD_MEMBERS_H
#define PR_HTTPD_MEMBERS_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_MEMBERS_PATH_MAX 3
#define PR_MEMBERS_MAX 32

typedef enum {
    PR_MEMBER_TEXT = 1,
    PR_MEMBER_INTEGER, /* at most 16 digits */
    PR_MEMBER_BOOL,
    PR_MEMBER_OBJECT, /* in bodies only */
    PR_MEMBER_LIST,
    /* an integer in a body that is not among the arguments: its text is pr_members_t.apart; one at most */
    PR_MEMBER_APART,
} pr_member_kind_t;

typedef struct {
    const char *name;
    pr_member_kind_t kind;
    bool required;
} pr_member_t;

typedef struct {
    const pr_member_t *members; /* ends with name NULL; at most PR_MEMBERS_MAX; or NULL */
    pr_bytes_t query;           /* behind the '?'; empty: none */
    pr_bytes_t body;            /* empty counts as {} */
    /* What the path says, as members of their own; NULL names end the list. Query and body must not
     * say them. */
    const char *names[PR_MEMBERS_PATH_MAX];
    const char *values[PR_MEMBERS_PATH_MAX];
} pr_members_request_t;

typedef struct {
    pr_bytes_t apart; /* as written in the body */
    const char *code; /* PR_BAD: static, "malformed_json", "unknown_member" ... */
    char member[64];  /* ... and which member it is about; "" = none */
} pr_members_t;

/* Appends the object to out. PR_BAD: see code. */
PR_CHECK pr_rc_t pr_members_read(const pr_members_request_t *request, pr_buffer_t *out,
                                 pr_members_t *result);

/* Appends a JSON string. Bytes that are no UTF-8 are taken for Latin-1, a NUL for U+FFFD: Postgres
 * takes what comes out. PR_BAD: out is full. */
PR_CHECK pr_rc_t pr_members_write_text(pr_buffer_t *out, pr_bytes_t text);

#endif
