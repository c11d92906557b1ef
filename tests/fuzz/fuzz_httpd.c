/* SPDX-License-Identifier: Apache-2.0
 *
 * What the HTTP front itself reads of a head: framing, routing, X-Forwarded-For, problem texts. The input is a
 * request line and fields, one a line. Asserted: what passes the framing has no NUL, no blank and one
 * length; a matched parameter is UTF-8; whoever is not trusted speaks for itself; a problem is JSON.
 */
#include "base/json_scan.h"
#include "httpd/forwarded.h"
#include "httpd/framing.h"
#include "httpd/problem.h"
#include "httpd/route.h"
#include "tests/fuzz/fuzz.h"
#include "wire/limits.h"

#include <string.h>
#include <strings.h>

#define FIELDS_MAX 16

static const pr_route_t rows[] = {{"GET", "/v1/merchants/{merchant_id}/orders/{order_no}"},
                                  {"POST", "/v1/webhooks/{channel}"},
                                  {"GET", "/{a}"}};

static char *cut(char **rest, const char *separators)
{
    return strsep(rest, separators);
}

static void check_framing(const pr_framing_head_t *head)
{
    pr_framing_t seen = pr_framing_check(head);
    if (seen.status != 0)
        return;
    size_t lengths = 0;
    for (size_t i = 0; i < head->header_count; i++)
        lengths += strcasecmp(head->headers[i].name, "Content-Length") == 0;
    FUZZ_CHECK(lengths <= 1 && !(seen.chunked && seen.has_length));
    FUZZ_CHECK(head->target[0] == '/' && !strpbrk(head->target, " \t#") &&
               !strstr(head->target, "%00"));
}

static void check_route(const pr_framing_head_t *head)
{
    pr_route_match_t match;
    size_t len = strcspn(head->target, "?");
    pr_route_find(rows, sizeof rows / sizeof rows[0], sizeof rows[0], head->method,
                  pr_bytes(head->target, len), &match);
    for (size_t i = 0; match.result == PR_ROUTE_MATCHED && i < match.count; i++)
        FUZZ_CHECK(match.parameters[i][0] != '\0' &&
                   pr_utf8_valid(pr_bytes_text(match.parameters[i])));
}

static void check_forwarded(const pr_framing_head_t *head)
{
    pr_allow_list_t none = {0}, all;
    pr_ip_t peer = {.bytes = {203, 0, 113, 1}};
    pr_ip_t client = pr_forwarded_client(&peer, &none, head->headers, head->header_count);
    FUZZ_CHECK(memcmp(&client, &peer, sizeof client) == 0);
    if (pr_allow_parse("0.0.0.0/0,::/0", &all, NULL) == PR_OK)
        (void)pr_forwarded_client(&peer, &all, head->headers, head->header_count);
}

static void check_problem(const char *text)
{
    pr_buffer_t out;
    pr_json_t value;
    pr_buffer_init(&out, 65536);
    if (pr_problem_write(400, "x", text, &out) == PR_OK)
        FUZZ_CHECK(pr_json_check(pr_buffer_bytes(&out), &value) == PR_OK);
    pr_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[4096];
    pr_header_t headers[FIELDS_MAX];
    size_t len = size < sizeof text - 1 ? size : sizeof text - 1;
    memcpy(text, data, len);
    text[len] = '\0';
    check_problem(text);
    char *rest = text;
    char *line = cut(&rest, "\n");
    const char *method = cut(&line, " ");
    const char *target = line ? cut(&line, " ") : "";
    pr_framing_head_t head = {method, target, line ? line : "HTTP/1.1", headers, 0};
    while (rest && head.header_count < FIELDS_MAX) {
        char *field = cut(&rest, "\n");
        headers[head.header_count].name = cut(&field, ":");
        headers[head.header_count++].value = field ? field : "";
    }
    check_framing(&head);
    check_route(&head);
    check_forwarded(&head);
    return 0;
}
