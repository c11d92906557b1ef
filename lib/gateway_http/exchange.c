/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway_http/exchange.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "core/url.h"

#include <string.h>

#define NONCE_BYTES 16

pr_rc_t pr_exchange_build(const pr_channel_t *channel, pr_operation_t operation,
                          const pr_payment_facts_t *facts, pr_gateway_request_t *out,
                          pr_error_t *error)
{
    uint8_t random[NONCE_BYTES];
    char nonce[2 * NONCE_BYTES + 1];
    pr_random_bytes(random, sizeof(random));
    pr_hex(pr_bytes(random, sizeof(random)), nonce);
    return pr_gateway_build(channel, operation, facts, pr_clock_wall_us(), nonce, out, error);
}

pr_rc_t pr_exchange_check_url(const char *base_url, const pr_allow_list_t *allow, bool allow_plain,
                              pr_error_t *error)
{
    pr_url_t url;
    pr_ip_t ip;
    pr_rc_t rc = pr_url_parse(base_url, &url, error);
    if (rc != PR_OK)
        return rc;
    if (strcmp(url.target, "/") != 0)
        return pr_error_set(error, PR_BAD, "gateway", "", "the base URL has a path");
    if (url.https || allow_plain)
        return PR_OK;
    if ((url.host_is_ipv4 || url.host_is_ipv6) && pr_ip_parse(url.host, strlen(url.host), &ip) &&
        pr_allow_has(allow, &ip, url.port))
        return PR_OK;
    return pr_error_set(error, PR_BAD, "http", "", "http:// is refused: set http.allow_plain");
}

char *pr_exchange_url(const char *base_url, const pr_gateway_request_t *request)
{
    size_t len = strlen(base_url);
    len -= len > 0 && base_url[len - 1] == '/';
    return pr_asprintf("%.*s%s", (int)len, base_url, pr_buffer_text(&request->target));
}

pr_rc_t pr_exchange_lines(const pr_gateway_request_t *request, pr_buffer_t *text,
                          const char **lines, pr_error_t *error)
{
    size_t offset[PR_GATEWAY_HEADERS_MAX];
    pr_buffer_clear(text);
    for (size_t i = 0; i < request->header_count; i++) {
        offset[i] = text->len;
        if (pr_buffer_printf(text, "%s: %s", request->headers[i].name,
                             pr_buffer_text(&request->headers[i].value)) != PR_OK ||
            pr_buffer_append(text, "", 1) != PR_OK)
            return pr_error_set(error, PR_BAD, "http", "", "the headers are too large");
    }
    for (size_t i = 0; i < request->header_count; i++)
        lines[i] = (const char *)text->data + offset[i];
    return PR_OK;
}

void pr_exchange_answer(const pr_http_response_t *response,
                        pr_gateway_header_t headers[PR_EXCHANGE_HEADERS_MAX],
                        pr_gateway_answer_t *out)
{
    size_t count = 0, cursor = 0;
    while (count < PR_EXCHANGE_HEADERS_MAX &&
           pr_http_header_next(response->headers, &cursor, &headers[count].name,
                               &headers[count].value))
        count++;
    *out = (pr_gateway_answer_t){.transport = pr_http_transport(response),
                                 .http_status = (uint32_t)response->code,
                                 .headers = headers,
                                 .header_count = count,
                                 .body = response->body};
}

void pr_exchange_judge(const pr_channel_t *channel, pr_operation_t operation,
                       const pr_payment_facts_t *facts, const pr_http_response_t *response,
                       int64_t now_us, pr_evidence_t *out)
{
    pr_gateway_header_t headers[PR_EXCHANGE_HEADERS_MAX];
    pr_gateway_answer_t answer;
    pr_exchange_answer(response, headers, &answer);
    pr_gateway_judge(channel, operation, facts, &answer, now_us, out);
}
