/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/ingress/door_arguments.h"

#include "base/alloc.h"
#include "base/json_scan.h"
#include "wire/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { TEXT = 1, INTEGER, OBJECT } kind_t;

typedef struct {
    const char *name;
    kind_t kind;
    bool required;
} member_t;

#define YES true
#define NO false

static const member_t submit_members[] = {
    {"merchant_id", TEXT, YES}, {"order_no", TEXT, YES}, {"channel", TEXT, YES},
    {"amount", INTEGER, YES},   {"currency", TEXT, YES}, {"request", OBJECT, NO},
    {"options", OBJECT, NO},    {"wait_s", INTEGER, NO}, {"gateway_reference", TEXT, NO},
    {"expires_at", TEXT, NO},   {NULL, TEXT, NO}};
static const member_t refund_members[] = {
    {"refund_no", TEXT, YES}, {"amount", INTEGER, YES}, {"reason", TEXT, NO}, {NULL, TEXT, NO}};
static const member_t cancel_members[] = {{"reason", TEXT, YES}, {NULL, TEXT, NO}};
static const member_t notification_members[] = {
    {"merchant_id", TEXT, YES}, {"order_no", TEXT, YES},   {"event", TEXT, YES},
    {"payload", OBJECT, YES},   {"amount", INTEGER, NO},   {"currency", TEXT, NO},
    {"priority", INTEGER, NO},  {"notify_url", TEXT, NO},  {"status", TEXT, NO},
    {"version", INTEGER, NO},   {"occurred_at", TEXT, NO}, {NULL, TEXT, NO}};
static const member_t fulfilment_members[] = {{"merchant_id", TEXT, YES},
                                              {"order_no", TEXT, YES},
                                              {"state", TEXT, YES},
                                              {"reference", TEXT, NO},
                                              {NULL, TEXT, NO}};
static const member_t no_members[] = {{NULL, TEXT, NO}};

static const struct {
    const char *operation;
    const member_t *members;
} tables[] = {{"payment.submit", submit_members},  {"payment.refund", refund_members},
              {"payment.cancel", cancel_members},  {"notification", notification_members},
              {"notification.resend", no_members}, {"fulfilment", fulfilment_members}};

static const member_t *members_of(const char *operation)
{
    for (size_t i = 0; i < PR_COUNT(tables); i++)
        if (strcmp(tables[i].operation, operation) == 0)
            return tables[i].members;
    return no_members; /* questions */
}

/* ---- one member ---- */

static bool is_integer(pr_bytes_t text)
{
    size_t i = text.len > 0 && text.data[0] == '-' ? 1 : 0;
    if (text.len == i || text.len > i + 16)
        return false;
    for (; i < text.len; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return true;
}

static bool fits(const member_t *member, pr_json_t value)
{
    switch (member->kind) {
    case TEXT:
        return value.type == PR_JSON_STRING;
    case INTEGER:
        return value.type == PR_JSON_NUMBER && is_integer(value.text);
    case OBJECT:
        return value.type == PR_JSON_OBJECT;
    }
    return false;
}

static int find_member(const member_t *members, pr_json_t key)
{
    for (int i = 0; members[i].name; i++)
        if (pr_json_is_text(key, members[i].name, strlen(members[i].name)))
            return i;
    return -1;
}

static pr_rc_t bad(pr_door_arguments_t *result, const char *code, const char *member)
{
    result->code = code;
    snprintf(result->member, sizeof result->member, "%s", member);
    return PR_BAD;
}

static pr_rc_t append(pr_buffer_t *out, const char *name, pr_bytes_t value)
{
    bool first = out->len == 0 || out->data[out->len - 1] == '{';
    pr_rc_t rc = pr_buffer_printf(out, "%s\"%s\":", first ? "" : ",", name);
    return rc != PR_OK ? rc : pr_buffer_append(out, value.data, value.len);
}

static pr_rc_t take_member(const member_t *member, pr_json_t value, pr_buffer_t *out,
                           pr_door_arguments_t *result)
{
    if (!fits(member, value))
        return bad(result, "invalid_member", member->name);
    if (strcmp(member->name, "wait_s") == 0) {
        char digits[24];
        snprintf(digits, sizeof digits, "%.*s", (int)value.text.len, (const char *)value.text.data);
        result->wait_s = strtoll(digits, NULL, 10);
        return result->wait_s >= 0 && result->wait_s <= PR_DOOR_WAIT_MAX_S
                   ? PR_OK
                   : bad(result, "invalid_member", "wait_s");
    }
    if (strcmp(member->name, "gateway_reference") == 0)
        result->operation = "payment.track";
    return append(out, member->name, value.text) == PR_OK ? PR_OK : bad(result, "too_large", "");
}

/* ---- the whole ---- */

static pr_rc_t take_body(const pr_door_arguments_request_t *request, const member_t *members,
                         pr_buffer_t *out, pr_door_arguments_t *result)
{
    pr_json_t root, key, value;
    size_t cursor = 0;
    uint32_t seen = 0;
    pr_bytes_t body = request->body.len > 0 ? request->body : pr_bytes_text("{}");
    if (pr_json_check(body, &root) != PR_OK)
        return bad(result, "malformed_json", "");
    if (root.type != PR_JSON_OBJECT)
        return bad(result, "not_an_object", "");
    while (pr_json_next_member(root, &cursor, &key, &value)) {
        int i = find_member(members, key);
        if (i < 0)
            return bad(result, "unknown_member", "");
        if (seen & 1U << i)
            return bad(result, "member_twice", members[i].name);
        seen |= 1U << i;
        if (value.type == PR_JSON_NULL && !members[i].required)
            continue;
        pr_rc_t rc = take_member(&members[i], value, out, result);
        if (rc != PR_OK)
            return rc;
    }
    for (int i = 0; members[i].name; i++)
        if (members[i].required && !(seen & 1U << i))
            return bad(result, "missing_member", members[i].name);
    return PR_OK;
}

static pr_rc_t take_path(const pr_door_arguments_request_t *request, pr_buffer_t *out)
{
    for (size_t i = 0; i < PR_COUNT(request->names) && request->names[i]; i++) {
        pr_rc_t rc = append(out, request->names[i], pr_bytes_text(""));
        rc =
            rc != PR_OK ? rc : pr_door_arguments_write_text(out, pr_bytes_text(request->values[i]));
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

pr_rc_t pr_door_arguments_read(const pr_door_arguments_request_t *request, pr_buffer_t *out,
                               pr_door_arguments_t *result)
{
    *result = (pr_door_arguments_t){.operation = request->operation, .code = ""};
    const member_t *members = members_of(request->operation);
    if (pr_buffer_append(out, "{", 1) != PR_OK || take_path(request, out) != PR_OK)
        return bad(result, "too_large", "");
    pr_rc_t rc = take_body(request, members, out, result);
    if (rc == PR_OK && pr_buffer_append(out, "}", 1) != PR_OK)
        rc = bad(result, "too_large", "");
    return rc;
}

static pr_rc_t write_byte(pr_buffer_t *out, uint8_t c, bool utf8)
{
    if (c == '"' || c == '\\')
        return pr_buffer_printf(out, "\\%c", c);
    if (c == 0)
        return pr_buffer_append_text(out, "\\ufffd");
    if (c < 0x20 || (c >= 0x7f && !utf8))
        return pr_buffer_printf(out, "\\u%04x", c);
    return pr_buffer_append(out, &c, 1);
}

pr_rc_t pr_door_arguments_write_text(pr_buffer_t *out, pr_bytes_t text)
{
    bool utf8 = pr_utf8_valid(text);
    pr_rc_t rc = pr_buffer_append(out, "\"", 1);
    for (size_t i = 0; rc == PR_OK && i < text.len; i++)
        rc = write_byte(out, text.data[i], utf8);
    return rc != PR_OK ? rc : pr_buffer_append(out, "\"", 1);
}
