/* SPDX-License-Identifier: Apache-2.0
 *
 * What each operation of ingress takes (httpd/members.h). Pure.
 */
#ifndef PR_INGRESS_DOOR_ARGUMENTS_H
#define PR_INGRESS_DOOR_ARGUMENTS_H

#include "httpd/members.h"

#define PR_DOOR_WAIT_MAX_S 15

typedef struct {
    const char *operation; /* of routes.c */
    pr_bytes_t body;       /* empty counts as {} */
    /* as in pr_members_request_t */
    const char *names[PR_MEMBERS_PATH_MAX];
    const char *values[PR_MEMBERS_PATH_MAX];
} pr_door_arguments_request_t;

typedef struct {
    const char
        *operation;   /* may have become another: a payment with gateway_reference is tracked */
    int64_t wait_s;   /* of the body, not among the arguments */
    const char *code; /* PR_BAD: static, "malformed_json", "unknown_member" ... */
    char member[64];  /* ... and which member it is about; "" = none */
} pr_door_arguments_t;

/* Appends the object to out. PR_BAD: see code. */
PR_CHECK pr_rc_t pr_door_arguments_read(const pr_door_arguments_request_t *request,
                                        pr_buffer_t *out, pr_door_arguments_t *result);

#endif
