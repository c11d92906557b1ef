/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_request_t: one HTTP/1.1 request, found in the bytes that have arrived so far. Small and
 * strict: what a sender of notifications may send, everything else is refused with a status.
 *
 * The model: the caller keeps the bytes of one request from its first byte on, and calls
 * pr_request_parse after each read. Nothing is copied: spans are offsets from that first byte,
 * so the caller's buffer may move. Request line and fields are judged once, when the head is
 * whole; after that a call only compares lengths. Bytes after the request (pipelining) are not
 * looked at; the next request begins at head_len + content_len.
 *
 * Refused: chunked and other encoded bodies (501), heads over PR_REQUEST_HEAD_MAX (431), bodies over
 * max_body (413), bare LF, folded fields, NULs, two different lengths (400), HTTP/2 (505).
 */
#ifndef PR_SANDBOX_REQUEST_H
#define PR_SANDBOX_REQUEST_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_REQUEST_HEAD_MAX 16384U

typedef struct {
    uint32_t at, len; /* offset from the request's first byte; len 0: not there or empty */
} pr_span_t;

typedef struct {
    uint32_t head_len;    /* bytes up to and with the empty line; 0 until the head is whole */
    uint32_t content_len; /* bytes of the body */
    uint32_t scanned;     /* bytes known not to hold the head's end */
    pr_span_t method, target;
    pr_span_t content_type, user_agent;
    pr_span_t notify_id, timestamp, signature, signature_next; /* X-Notify-ID, X-Timestamp ... */
    pr_span_t webhook_id, webhook_timestamp, webhook_signature;
    bool close;  /* the sender asks for it, or speaks HTTP/1.0 */
    bool expect; /* waits for 100 Continue before the body */
    bool has_length;
    uint16_t status; /* what to answer when the parse said BAD */
} pr_request_t;

typedef enum {
    PR_REQUEST_MORE = 0, /* read on */
    PR_REQUEST_READY,    /* head and body are there */
    PR_REQUEST_BAD,      /* answer .status and close */
} pr_request_state_t;

/* Looks at the first len bytes of a request; *self is zeroed before the first call for it. */
pr_request_state_t pr_request_parse(pr_request_t *self, const uint8_t *data, size_t len,
                                    uint32_t max_body);

static inline size_t pr_request_len(const pr_request_t *self)
{
    return (size_t)self->head_len + self->content_len;
}

static inline pr_bytes_t pr_request_view(const uint8_t *data, pr_span_t span)
{
    return pr_bytes(data + span.at, span.len);
}

#endif
