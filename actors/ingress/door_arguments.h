/* SPDX-License-Identifier: Apache-2.0
 *
 * From a request's body to the arguments of a door: one JSON object checked against what the
 * operation takes. Values go on as they were written (a payload keeps its numbers); what they mean
 * is the door's to judge. Pure.
 */
#ifndef PR_INGRESS_DOOR_ARGUMENTS_H
#define PR_INGRESS_DOOR_ARGUMENTS_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_DOOR_WAIT_MAX_S 15

typedef struct {
    const char *operation; /* of routes.c */
    pr_bytes_t body;       /* empty counts as {} */
    /* What the path says, as members of their own; NULL names end the list. A body must not say
     * them. */
    const char *names[3];
    const char *values[3];
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

/* Appends a JSON string. Bytes that are no UTF-8 are taken for Latin-1, a NUL for U+FFFD: Postgres
 * takes what comes out. PR_BAD: out is full. */
PR_CHECK pr_rc_t pr_door_arguments_write_text(pr_buffer_t *out, pr_bytes_t text);

#endif
