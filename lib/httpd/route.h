/* SPDX-License-Identifier: Apache-2.0
 *
 * From method and path to one row of a table. Pure.
 *
 * A pattern is a path with {names}: "/v1/merchants/{merchant_id}/orders/{order_no}". A name takes
 * one whole segment, not empty; the path is split first and its segments are decoded then, so an
 * order number may hold an escaped slash. "." and ".." mean nothing: no file is behind this. HEAD
 * is served where GET is.
 */
#ifndef PR_HTTPD_ROUTE_H
#define PR_HTTPD_ROUTE_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>

#define PR_ROUTE_PARAMETERS_MAX 2
#define PR_ROUTE_NAME_BYTES 32       /* of a parameter, with the NUL */
#define PR_ROUTE_PARAMETER_BYTES 256 /* decoded, with the NUL */

typedef struct {
    const char *method;
    const char *pattern;
} pr_route_t; /* the first member of the owner's rows */

typedef enum {
    PR_ROUTE_MATCHED = 1,
    PR_ROUTE_UNKNOWN, /* 404; also a segment that does not decode to UTF-8, or is too long */
    PR_ROUTE_METHOD,  /* 405: the path is there, with other methods: allow */
} pr_route_result_t;

typedef struct {
    pr_route_result_t result;
    size_t index; /* of the row, when matched */
    size_t count;
    char parameters[PR_ROUTE_PARAMETERS_MAX][PR_ROUTE_PARAMETER_BYTES];
    char allow[64]; /* "GET, HEAD" */
} pr_route_match_t;

/* rows: `count` rows, `stride` bytes each, that begin with a pr_route_t. */
void pr_route_find(const void *rows, size_t count, size_t stride, const char *method,
                   pr_bytes_t path, pr_route_match_t *out);

/* The names of a pattern's parameters, in the order of pr_route_match_t.parameters; gives their
 * count. */
size_t pr_route_names(const char *pattern, char out[PR_ROUTE_PARAMETERS_MAX][PR_ROUTE_NAME_BYTES]);

/* Percent-decodes text into out (size with the NUL). False: a broken escape, a NUL, no UTF-8, or
 * it does not fit. */
bool pr_route_decode(pr_bytes_t text, char *out, size_t size);

#endif
