/* SPDX-License-Identifier: Apache-2.0
 *
 * Success rules: input is RULE, a line end, and a body. White space around the body never changes
 * the answer, nothing but a 2xx is a success, and what the default rule calls JSON success is JSON.
 */
#include "base/json_scan.h"
#include "core/judge.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_body(const pr_rule_t *rule, pr_bytes_t body)
{
    pr_buffer_t padded;
    pr_json_t json;
    bool holds = pr_rule_holds(rule, 200, body);
    pr_buffer_init(&padded, body.len + 4);
    FUZZ_CHECK(pr_buffer_append_text(&padded, " \t") == PR_OK &&
               pr_buffer_append(&padded, body.data, body.len) == PR_OK &&
               pr_buffer_append_text(&padded, "\r\n") == PR_OK);
    FUZZ_CHECK(pr_rule_holds(rule, 200, pr_buffer_bytes(&padded)) == holds);
    FUZZ_CHECK(!pr_rule_holds(rule, 500, body) && !pr_rule_holds(rule, 302, body));
    bool has_brace = body.len > 0 && memchr(body.data, '{', body.len);
    if (holds && rule->kind == PR_RULE_JSON)
        FUZZ_CHECK(has_brace);
    if (holds && rule->kind == PR_RULE_DEFAULT && has_brace)
        FUZZ_CHECK(memchr(body.data, '\v', body.len) || memchr(body.data, '\f', body.len) ||
                   pr_json_check(body, &json) == PR_OK);
    pr_buffer_free(&padded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t rule_len = end ? (size_t)(end - data) : size;
    pr_bytes_t body = pr_bytes(end ? end + 1 : data, end ? size - rule_len - 1 : 0);
    PR_CLEANUP_FREE char *text = fuzz_text(data, rule_len);
    pr_rule_t rule = {0}, usual = {.kind = PR_RULE_DEFAULT};
    pr_error_t error = {0};
    check_body(&usual, body);
    if (pr_rule_parse(text, &rule, &error) == PR_OK)
        check_body(&rule, body);
    else
        FUZZ_CHECK(rule.kind == PR_RULE_NONE && error.text[0] != '\0');
    return 0;
}
