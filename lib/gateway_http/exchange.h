/* SPDX-License-Identifier: Apache-2.0
 *
 * lib/gateway's requests and answers on lib/http: what gateway-poller, charger (gateway_worker) and
 * compensator share. Nothing is sent here: these turn one shape into the other.
 */
#ifndef PR_GATEWAY_HTTP_EXCHANGE_H
#define PR_GATEWAY_HTTP_EXCHANGE_H

#include "gateway/gateway.h"
#include "http/http.h"

/* The caller's string: the base URL (a '/' at its end does not count) and the request's target. */
char *pr_exchange_url(const char *base_url, const pr_gateway_request_t *request);

/* "Name: value" lines for pr_http_request_t: lines[i] points into text, which is cleared first and
 * holds secrets afterwards. lines has room for PR_GATEWAY_HEADERS_MAX. PR_BAD: text is full. */
PR_CHECK pr_rc_t pr_exchange_lines(const pr_gateway_request_t *request, pr_buffer_t *text,
                                   const char **lines, pr_error_t *error);

/* pr_gateway_judge over the answer; it must have been asked for with keep_headers. */
void pr_exchange_judge(const pr_channel_t *channel, pr_operation_t operation,
                       const pr_payment_facts_t *facts, const pr_http_response_t *response,
                       int64_t now_us, pr_evidence_t *out);

#endif
