/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/members.h"

#include "base/alloc.h"
#include "base/json_scan.h"
#include "httpd/route.h"
#include "wire/limits.h"

#include <stdio.h>
#include <string.h>

#define QUERY_VALUE_BYTES 2048 /* decoded, with the NUL */

typedef struct {
    const pr_members_request_t *request;
    const pr_member_t *members;
    pr_buffer_t *out;
    pr_members_t *result;
    uint32_t seen; /* bits, as members */
} reader_t;

static pr_rc_t bad(pr_members_t *result, const char *code, const char *member)
{
    result->code = code;
    snprintf(result->member, sizeof result->member, "%s", member);
    return PR_BAD;
}

/* ---- writing ---- */

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

pr_rc_t pr_members_write_text(pr_buffer_t *out, pr_bytes_t text)
{
    bool utf8 = pr_utf8_valid(text);
    pr_rc_t rc = pr_buffer_append(out, "\"", 1);
    for (size_t i = 0; rc == PR_OK && i < text.len; i++)
        rc = write_byte(out, text.data[i], utf8);
    return rc != PR_OK ? rc : pr_buffer_append(out, "\"", 1);
}

static bool is_first(const pr_buffer_t *out)
{
    return out->len == 0 || out->data[out->len - 1] == '{';
}

static pr_rc_t append(pr_buffer_t *out, const char *name, pr_bytes_t value)
{
    pr_rc_t rc = pr_buffer_printf(out, "%s\"%s\":", is_first(out) ? "" : ",", name);
    return rc != PR_OK ? rc : pr_buffer_append(out, value.data, value.len);
}

static pr_rc_t write_list(pr_buffer_t *out, const char *text)
{
    pr_rc_t rc = pr_buffer_append(out, "[", 1);
    for (const char *at = text; rc == PR_OK && *at != '\0';) {
        size_t len = strcspn(at, ",");
        rc = at == text ? PR_OK : pr_buffer_append(out, ",", 1);
        rc = rc != PR_OK ? rc : pr_members_write_text(out, pr_bytes(at, len));
        at += len + (at[len] == ',');
    }
    return rc != PR_OK ? rc : pr_buffer_append(out, "]", 1);
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

static bool fits(const pr_member_t *member, pr_json_t value)
{
    switch (member->kind) {
    case PR_MEMBER_TEXT:
        return value.type == PR_JSON_STRING;
    case PR_MEMBER_INTEGER:
    case PR_MEMBER_APART:
        return value.type == PR_JSON_NUMBER && is_integer(value.text);
    case PR_MEMBER_BOOL:
        return value.type == PR_JSON_TRUE || value.type == PR_JSON_FALSE;
    case PR_MEMBER_OBJECT:
        return value.type == PR_JSON_OBJECT;
    case PR_MEMBER_LIST:
        return value.type == PR_JSON_ARRAY;
    }
    return false;
}

static pr_rc_t mark(reader_t *self, int i)
{
    if (self->seen & 1U << i)
        return bad(self->result, "member_twice", self->members[i].name);
    self->seen |= 1U << i;
    return PR_OK;
}

/* Any name: no path parameter's, which is said already. The door judges the rest. */
static pr_rc_t take_any(reader_t *self, pr_bytes_t name, pr_bytes_t value)
{
    for (size_t i = 0; i < PR_MEMBERS_PATH_MAX && self->request->names[i]; i++)
        if (pr_bytes_equal(name, pr_bytes_text(self->request->names[i])))
            return bad(self->result, "unknown_member", self->request->names[i]);
    pr_rc_t rc = is_first(self->out) ? PR_OK : pr_buffer_append(self->out, ",", 1);
    rc = rc != PR_OK ? rc : pr_members_write_text(self->out, name);
    rc = rc != PR_OK ? rc : pr_buffer_append(self->out, ":", 1);
    rc = rc != PR_OK ? rc : pr_buffer_append(self->out, value.data, value.len);
    return rc == PR_OK ? PR_OK : bad(self->result, "too_large", "");
}

/* ---- the query ---- */

static int find_name(const pr_member_t *members, const char *name)
{
    for (int i = 0; members[i].name; i++)
        if (strcmp(members[i].name, name) == 0)
            return i;
    return -1;
}

/* "a+b" is "a b", before escapes are decoded. */
static bool decode(pr_bytes_t text, char out[QUERY_VALUE_BYTES])
{
    char spaced[QUERY_VALUE_BYTES];
    if (text.len >= sizeof spaced)
        return false;
    for (size_t i = 0; i < text.len; i++)
        spaced[i] = text.data[i] == '+' ? ' ' : (char)text.data[i];
    return pr_route_decode(pr_bytes(spaced, text.len), out, QUERY_VALUE_BYTES);
}

static pr_rc_t write_said(reader_t *self, const pr_member_t *member, const char *text)
{
    pr_bytes_t value = pr_bytes_text(text);
    bool is_bool = strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
    if (member->kind == PR_MEMBER_OBJECT || member->kind == PR_MEMBER_APART ||
        (member->kind == PR_MEMBER_INTEGER && !is_integer(value)) ||
        (member->kind == PR_MEMBER_BOOL && !is_bool))
        return bad(self->result, "invalid_member", member->name);
    pr_rc_t rc = append(self->out, member->name, pr_bytes_text(""));
    if (rc == PR_OK && member->kind == PR_MEMBER_TEXT)
        rc = pr_members_write_text(self->out, value);
    else if (rc == PR_OK && member->kind == PR_MEMBER_LIST)
        rc = write_list(self->out, text);
    else if (rc == PR_OK)
        rc = pr_buffer_append_text(self->out, text);
    return rc == PR_OK ? PR_OK : bad(self->result, "too_large", "");
}

static pr_rc_t take_any_text(reader_t *self, const char *name, const char *text)
{
    pr_buffer_t value;
    pr_buffer_init(&value, 8 * QUERY_VALUE_BYTES);
    pr_rc_t rc = pr_members_write_text(&value, pr_bytes_text(text));
    rc = rc == PR_OK ? take_any(self, pr_bytes_text(name), pr_buffer_bytes(&value))
                     : bad(self->result, "too_large", "");
    pr_buffer_free(&value);
    return rc;
}

static pr_rc_t take_pair(reader_t *self, pr_bytes_t name, pr_bytes_t value)
{
    char name_text[QUERY_VALUE_BYTES], value_text[QUERY_VALUE_BYTES];
    if (!decode(name, name_text) || !decode(value, value_text))
        return bad(self->result, "malformed_query", "");
    int i = self->members ? find_name(self->members, name_text) : 0;
    if (i < 0)
        return bad(self->result, "unknown_member", "");
    if (value_text[0] == '\0')
        return PR_OK;
    if (!self->members)
        return take_any_text(self, name_text, value_text);
    pr_rc_t rc = mark(self, i);
    return rc != PR_OK ? rc : write_said(self, &self->members[i], value_text);
}

static pr_rc_t take_query(reader_t *self, pr_bytes_t query)
{
    pr_rc_t rc = PR_OK;
    for (size_t at = 0; rc == PR_OK && at < query.len;) {
        const uint8_t *begin = query.data + at;
        const uint8_t *end = memchr(begin, '&', query.len - at);
        size_t len = end ? (size_t)(end - begin) : query.len - at;
        const uint8_t *equals = len > 0 ? memchr(begin, '=', len) : NULL;
        size_t name_len = equals ? (size_t)(equals - begin) : len;
        size_t value_at = name_len < len ? name_len + 1 : len;
        if (len > 0)
            rc = take_pair(self, pr_bytes(begin, name_len),
                           pr_bytes(begin + value_at, len - value_at));
        at += len + 1;
    }
    return rc;
}

/* ---- the body ---- */

static int find_key(const pr_member_t *members, pr_json_t key)
{
    for (int i = 0; members[i].name; i++)
        if (pr_json_is_text(key, members[i].name, strlen(members[i].name)))
            return i;
    return -1;
}

static pr_rc_t take_any_key(reader_t *self, pr_json_t key, pr_json_t value)
{
    pr_buffer_t name;
    pr_buffer_init(&name, QUERY_VALUE_BYTES);
    pr_rc_t rc = pr_json_decode(key, &name);
    rc = rc == PR_OK ? take_any(self, pr_buffer_bytes(&name), value.text)
                     : bad(self->result, "unknown_member", "");
    pr_buffer_free(&name);
    return rc;
}

static pr_rc_t take_member(reader_t *self, pr_json_t key, pr_json_t value)
{
    if (!self->members)
        return take_any_key(self, key, value);
    int i = find_key(self->members, key);
    if (i < 0)
        return bad(self->result, "unknown_member", "");
    const pr_member_t *member = &self->members[i];
    pr_rc_t rc = mark(self, i);
    if (rc != PR_OK || (value.type == PR_JSON_NULL && !member->required))
        return rc;
    if (!fits(member, value))
        return bad(self->result, "invalid_member", member->name);
    if (member->kind == PR_MEMBER_APART) {
        self->result->apart = value.text;
        return PR_OK;
    }
    return append(self->out, member->name, value.text) == PR_OK
               ? PR_OK
               : bad(self->result, "too_large", "");
}

static pr_rc_t take_body(reader_t *self, pr_bytes_t body)
{
    pr_json_t root, key, value;
    size_t cursor = 0;
    pr_rc_t rc = PR_OK;
    if (pr_json_check(body.len > 0 ? body : pr_bytes_text("{}"), &root) != PR_OK)
        return bad(self->result, "malformed_json", "");
    if (root.type != PR_JSON_OBJECT)
        return bad(self->result, "not_an_object", "");
    while (rc == PR_OK && pr_json_next_member(root, &cursor, &key, &value))
        rc = take_member(self, key, value);
    return rc;
}

/* ---- the whole ---- */

static pr_rc_t take_path(const pr_members_request_t *request, pr_buffer_t *out)
{
    for (size_t i = 0; i < PR_COUNT(request->names) && request->names[i]; i++) {
        pr_rc_t rc = append(out, request->names[i], pr_bytes_text(""));
        rc = rc != PR_OK ? rc : pr_members_write_text(out, pr_bytes_text(request->values[i]));
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

static pr_rc_t check_required(const reader_t *self)
{
    for (int i = 0; self->members && self->members[i].name; i++)
        if (self->members[i].required && !(self->seen & 1U << i))
            return bad(self->result, "missing_member", self->members[i].name);
    return PR_OK;
}

pr_rc_t pr_members_read(const pr_members_request_t *request, pr_buffer_t *out, pr_members_t *result)
{
    reader_t self = {.request = request, .members = request->members, .out = out, .result = result};
    *result = (pr_members_t){.code = ""};
    if (pr_buffer_append(out, "{", 1) != PR_OK || take_path(request, out) != PR_OK)
        return bad(result, "too_large", "");
    pr_rc_t rc = take_query(&self, request->query);
    if (rc == PR_OK)
        rc = take_body(&self, request->body);
    if (rc == PR_OK)
        rc = check_required(&self);
    if (rc == PR_OK && pr_buffer_append(out, "}", 1) != PR_OK)
        rc = bad(result, "too_large", "");
    return rc;
}
