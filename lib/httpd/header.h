/* SPDX-License-Identifier: Apache-2.0
 *
 * A header field of a message, borrowed.
 */
#ifndef PR_HTTPD_HEADER_H
#define PR_HTTPD_HEADER_H

#include <stddef.h>

typedef struct {
    const char *name;
    const char *value;
} pr_header_t;

/* The value of the first field with this name, in any case; NULL: none. */
const char *pr_headers_find(const pr_header_t *headers, size_t count, const char *name);

#endif
