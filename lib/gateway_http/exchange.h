/* SPDX-License-Identifier: Apache-2.0
 *
 * lib/gateway's requests and answers on lib/http: what gateway-poller, charger (gateway_worker),
 * compensator and reconciler share. Nothing is sent here: these turn one shape into the other.
 */
#ifndef PR_GATEWAY_HTTP_EXCHANGE_H
#define PR_GATEWAY_HTTP_EXCHANGE_H

#include "core/address.h"
#include "gateway/gateway.h"
#include "http/http.h"

/* pr_gateway_build, now and with a nonce of its own. */
PR_CHECK pr_rc_t pr_exchange_build(const pr_channel_t *channel, pr_operation_t operation,
                                   const pr_payment_facts_t *facts, pr_gateway_request_t *out,
                                   pr_error_t *error);

/* PR_BAD: the base URL has a path, or no TLS though neither allow_plain nor its address on the
 * allow-list (the sandbox's) makes an exception. */
PR_CHECK pr_rc_t pr_exchange_check_url(const char *base_url, const pr_allow_list_t *allow,
                                       bool allow_plain, pr_error_t *error);

/* The caller's string: the base URL (a '/' at its end does not count) and the request's target. */
char *pr_exchange_url(const char *base_url, const pr_gateway_request_t *request);

/* "Name: value" lines for pr_http_request_t: lines[i] points into text, which is cleared first and
 * holds secrets afterwards. lines has room for PR_GATEWAY_HEADERS_MAX. PR_BAD: text is full. */
PR_CHECK pr_rc_t pr_exchange_lines(const pr_gateway_request_t *request, pr_buffer_t *text,
                                   const char **lines, pr_error_t *error);

#define PR_EXCHANGE_HEADERS_MAX 64 /* of an answer; more are not looked at */

/* The answer itself, which must have been asked for with keep_headers; borrows from response. */
void pr_exchange_answer(const pr_http_response_t *response,
                        pr_gateway_header_t headers[PR_EXCHANGE_HEADERS_MAX],
                        pr_gateway_answer_t *out);

/* pr_gateway_judge over that answer. */
void pr_exchange_judge(const pr_channel_t *channel, pr_operation_t operation,
                       const pr_payment_facts_t *facts, const pr_http_response_t *response,
                       int64_t now_us, pr_evidence_t *out);

#endif
