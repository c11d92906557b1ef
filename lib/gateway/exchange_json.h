/* SPDX-License-Identifier: Apache-2.0
 *
 * One exchange with a gateway as one JSON object, for people who ask later what exactly was sent and
 * what came back (C8): what workers send as Outcome.exchange.
 *
 *   {"request": {"method", "url", "headers": [[name, value] ...], "body", "bytes"},
 *    "response": {"status", "headers", "body", "bytes"},      (left out: no answer came)
 *    "sent_at_us", "duration_ms", "error", "masked"}
 *
 * A body is a text, or {"base64": ...} where it is none; "bytes" is how long it was. What is longer
 * than may be kept is cut, and says "cut": true; headers that have no room are left out, and
 * "headers_cut": true. Of the request's headers, those are here that the profile makes: lib/http adds
 * Host, User-Agent, Content-Length.
 *
 * Masked, as "***", and counted in "masked":
 *   - every secret parameter of the channel, wherever it stands, and the access token;
 *   - headers with credentials, cookies and signatures (of Authorization the scheme stays);
 *   - the values of members and form fields that hold signatures, passwords, keys, tokens, card
 *     numbers and security codes, by their names;
 *   - card numbers, by their digits: all but the first six and last four.
 * All else is byte for byte as it was. Pure.
 */
#ifndef PR_GATEWAY_EXCHANGE_JSON_H
#define PR_GATEWAY_EXCHANGE_JSON_H

#include "gateway/gateway.h"

#define PR_EXCHANGE_KEEP_MAX ((size_t)12 * 1024)       /* of a body, as it stands in the JSON */
#define PR_EXCHANGE_JSON_MAX_BYTES ((size_t)36 * 1024) /* the largest exchange fits */

typedef struct {
    const pr_channel_t *channel;
    const char *token; /* NULL or "": none */
    const char *url;
    const pr_gateway_request_t *request;
    const pr_gateway_answer_t *answer; /* http_status 0: none */
    const char *error;                 /* lib/http's word; NULL or "": none */
    int64_t sent_at_us;
    uint32_t duration_ms;
    size_t keep; /* of each body; at most PR_EXCHANGE_KEEP_MAX */
} pr_exchange_t;

/* Appends to out, which needs room for PR_EXCHANGE_JSON_MAX_BYTES. PR_BAD: it has not; out is as it
 * was. */
PR_CHECK pr_rc_t pr_exchange_to_json(const pr_exchange_t *exchange, pr_buffer_t *out);

#endif
