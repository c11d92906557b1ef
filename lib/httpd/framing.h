/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a head says one thing only: what a proxy in front of us and we might read differently is
 * refused, so that no request can hide in another (request smuggling). Pure.
 *
 * libmicrohttpd has split the head into lines already; it takes the first of two lengths, ends a
 * value at a NUL, and knows nothing of what its caller does with a method or a target. Here: method and names are tokens,
 * values have no control bytes, one Host with HTTP/1.1, one Content-Length of digits at most and not
 * beside Transfer-Encoding, which is exactly "chunked"; the target is a path of visible ASCII
 * whose percent-escapes are whole and none of which is a NUL (RFC 9110, 9112 sections 3 and 6).
 */
#ifndef PR_HTTPD_FRAMING_H
#define PR_HTTPD_FRAMING_H

#include "base/buffer.h"
#include "httpd/header.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *method, *target, *version;
    const pr_header_t *headers;
    size_t header_count;
} pr_framing_head_t;

typedef struct {
    uint32_t status;  /* 0: sound */
    const char *code; /* static: "bad_content_length" ...; "" when sound */
    bool has_length, chunked;
    uint64_t length;
} pr_framing_t;

pr_framing_t pr_framing_check(const pr_framing_head_t *head);

/* RFC 9110 section 5.6.2; the empty text is none. */
bool pr_token_ok(const char *text);

#endif
