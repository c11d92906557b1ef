/* SPDX-License-Identifier: Apache-2.0 */
#include "core/judge.h"

#include "base/alloc.h"
#include "base/json_scan.h"

#include <string.h>

#define PATH_DEPTH_MAX 8

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static pr_bytes_t trim(pr_bytes_t text)
{
    while (text.len > 0 && is_space(text.data[0])) {
        text.data++;
        text.len--;
    }
    while (text.len > 0 && is_space(text.data[text.len - 1]))
        text.len--;
    return text;
}

/* ---- rules ---- */

static pr_rc_t bad(pr_error_t *error, const char *why)
{
    return pr_error_set(error, PR_BAD, "rule", "", "%s", why);
}

static pr_rc_t parse_body(const char *text, pr_rule_t *out, pr_error_t *error)
{
    pr_bytes_t value = trim(pr_bytes_text(text));
    if (value.len == 0 || value.len >= sizeof out->value)
        return bad(error, "body: wants 1 to 255 bytes of text");
    out->kind = PR_RULE_BODY;
    memcpy(out->value, value.data, value.len);
    return PR_OK;
}

static bool is_path(const char *field, size_t len)
{
    size_t depth = 1;
    if (len == 0 || field[0] == '.' || field[len - 1] == '.')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (field[i] != '.')
            continue;
        if (field[i + 1] == '.')
            return false;
        depth++;
    }
    return depth <= PATH_DEPTH_MAX;
}

static pr_rc_t parse_json(const char *text, pr_rule_t *out, pr_error_t *error)
{
    size_t field_len = strcspn(text, "=");
    if (text[field_len] != '=')
        return bad(error, "json: wants FIELD=VALUE");
    size_t value_len = strlen(text + field_len + 1);
    if (field_len >= sizeof out->field || !is_path(text, field_len))
        return bad(error, "json: the field wants 1 to 8 names joined by dots, 127 bytes at most");
    if (value_len >= sizeof out->value)
        return bad(error, "json: the value is longer than 255 bytes");
    out->kind = PR_RULE_JSON;
    memcpy(out->field, text, field_len);
    memcpy(out->value, text + field_len + 1, value_len);
    return PR_OK;
}

pr_rc_t pr_rule_parse(const char *text, pr_rule_t *out, pr_error_t *error)
{
    pr_rule_t made = {0};
    pr_rc_t rc = PR_OK;
    if (text[0] == '\0' || strcmp(text, "default") == 0)
        made.kind = PR_RULE_DEFAULT;
    else if (strcmp(text, "2xx") == 0)
        made.kind = PR_RULE_2XX;
    else if (strncmp(text, "body:", 5) == 0)
        rc = parse_body(text + 5, &made, error);
    else if (strncmp(text, "json:", 5) == 0)
        rc = parse_json(text + 5, &made, error);
    else
        rc = bad(error, "not one of default, 2xx, body:TEXT, json:FIELD=VALUE");
    if (rc == PR_OK)
        *out = made;
    return rc;
}

static bool is_2xx(uint32_t http_code)
{
    return http_code >= 200 && http_code <= 299;
}

static bool default_holds(pr_bytes_t body)
{
    pr_json_t document, code;
    if (pr_bytes_equal(body, pr_bytes_text("SUCCESS")))
        return true;
    if (pr_json_check(body, &document) != PR_OK ||
        pr_json_find(document, "code", 4, &code) != PR_OK)
        return false;
    return pr_json_is_text(code, "SUCCESS", 7) || pr_json_is_text(code, "OK", 2);
}

static bool value_is(pr_json_t value, const char *wanted)
{
    if (value.type == PR_JSON_STRING)
        return pr_json_is_text(value, wanted, strlen(wanted));
    bool is_literal = value.type != PR_JSON_ARRAY && value.type != PR_JSON_OBJECT;
    return is_literal && pr_bytes_equal(value.text, pr_bytes_text(wanted));
}

static bool json_holds(const pr_rule_t *self, pr_bytes_t body)
{
    pr_json_t value;
    if (pr_json_check(body, &value) != PR_OK)
        return false;
    const char *name = self->field;
    for (;;) {
        size_t len = strcspn(name, ".");
        if (pr_json_find(value, name, len, &value) != PR_OK)
            return false;
        if (name[len] == '\0')
            return value_is(value, self->value);
        name += len + 1;
    }
}

bool pr_rule_holds(const pr_rule_t *self, uint32_t http_code, pr_bytes_t body)
{
    body = trim(body);
    switch (self->kind) {
    case PR_RULE_DEFAULT:
        return http_code == 200 && default_holds(body);
    case PR_RULE_2XX:
        return is_2xx(http_code);
    case PR_RULE_BODY:
        return is_2xx(http_code) && pr_bytes_equal(body, pr_bytes_text(self->value));
    case PR_RULE_JSON:
        return is_2xx(http_code) && json_holds(self, body);
    case PR_RULE_NONE:
        break;
    }
    return false;
}

/* ---- the class of one try ---- */

static const struct {
    pr_outcome_t outcome; /* NONE: the answer decides */
    const char *error;
} transports[PR_TRANSPORTS] = {
    [PR_TRANSPORT_NONE] = {PR_OUTCOME_RETURNED, "not_tried"},
    [PR_TRANSPORT_OK] = {PR_OUTCOME_NONE, ""},
    [PR_TRANSPORT_DNS] = {PR_OUTCOME_UNREACHABLE, "dns"},
    [PR_TRANSPORT_CONNECT] = {PR_OUTCOME_UNREACHABLE, "connect"},
    [PR_TRANSPORT_CONNECT_TIMEOUT] = {PR_OUTCOME_UNREACHABLE, "connect_timeout"},
    [PR_TRANSPORT_TLS] = {PR_OUTCOME_UNREACHABLE, "tls"},
    [PR_TRANSPORT_TLS_TIMEOUT] = {PR_OUTCOME_UNREACHABLE, "tls_timeout"},
    [PR_TRANSPORT_FIRST_BYTE_TIMEOUT] = {PR_OUTCOME_UNREACHABLE, "first_byte_timeout"},
    [PR_TRANSPORT_TOTAL_TIMEOUT] = {PR_OUTCOME_UNREACHABLE, "total_timeout"},
    [PR_TRANSPORT_RESET] = {PR_OUTCOME_UNREACHABLE, "reset"},
    [PR_TRANSPORT_PROTOCOL] = {PR_OUTCOME_UNREACHABLE, "protocol"},
    [PR_TRANSPORT_TOO_LARGE] = {PR_OUTCOME_NONE, ""},
    [PR_TRANSPORT_PROXY] = {PR_OUTCOME_OWN_FAULT, "proxy"},
    [PR_TRANSPORT_FORBIDDEN_ADDRESS] = {PR_OUTCOME_OWN_FAULT, "forbidden_address"},
    [PR_TRANSPORT_BAD_CONFIG] = {PR_OUTCOME_OWN_FAULT, "bad_config"},
};

static pr_verdict_t refused(uint32_t http_code, bool too_large)
{
    const char *error = "body_mismatch";
    if (http_code < 200)
        error = "protocol"; /* a final answer is never 1xx or 0 */
    else if (http_code >= 600)
        error = "status_other";
    else if (http_code >= 500)
        error = "status_5xx";
    else if (http_code >= 400)
        error = "status_4xx";
    else if (http_code >= 300)
        error = "redirect";
    else if (too_large)
        error = "body_too_large";
    return (pr_verdict_t){PR_OUTCOME_REFUSED, error};
}

pr_verdict_t pr_judge(const pr_rule_t *rule, pr_transport_t transport, uint32_t http_code,
                      bool retry_after, pr_bytes_t body)
{
    if (transport >= PR_TRANSPORTS)
        transport = PR_TRANSPORT_PROTOCOL;
    if (transports[transport].outcome != PR_OUTCOME_NONE)
        return (pr_verdict_t){transports[transport].outcome, transports[transport].error};
    if (http_code == 410)
        return (pr_verdict_t){PR_OUTCOME_GONE, "gone"};
    if (http_code == 429 || (http_code == 503 && retry_after))
        return (pr_verdict_t){PR_OUTCOME_THROTTLED, "throttled"};
    bool too_large = transport == PR_TRANSPORT_TOO_LARGE;
    /* Of a cut body only its status can be judged: what was cut could turn the answer. */
    bool judged = !too_large || rule->kind == PR_RULE_2XX;
    if (judged && pr_rule_holds(rule, http_code, body))
        return (pr_verdict_t){PR_OUTCOME_DELIVERED, ""};
    return refused(http_code, too_large);
}

pr_for_breaker_t pr_outcome_for_breaker(pr_outcome_t outcome)
{
    switch (outcome) {
    case PR_OUTCOME_DELIVERED:
        return PR_FOR_BREAKER_SUCCESS;
    case PR_OUTCOME_REFUSED:
    case PR_OUTCOME_GONE:
    case PR_OUTCOME_UNREACHABLE:
        return PR_FOR_BREAKER_FAILURE;
    case PR_OUTCOME_NONE:
    case PR_OUTCOME_THROTTLED:
    case PR_OUTCOME_OWN_FAULT:
    case PR_OUTCOME_RETURNED:
    case PR_OUTCOMES:
        break;
    }
    return PR_FOR_BREAKER_NEUTRAL;
}

bool pr_outcome_is_attempt(pr_outcome_t outcome)
{
    return outcome > PR_OUTCOME_NONE && outcome < PR_OUTCOMES && outcome != PR_OUTCOME_RETURNED;
}

const char *pr_outcome_name(pr_outcome_t outcome)
{
    static const char *const names[PR_OUTCOMES] = {"?",    "delivered",   "refused",   "throttled",
                                                   "gone", "unreachable", "own_fault", "returned"};
    return outcome > PR_OUTCOME_NONE && outcome < PR_OUTCOMES ? names[outcome] : "?";
}
