/* SPDX-License-Identifier: Apache-2.0
 *
 * What all protocols need to read requests and to write answers and webhooks.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "sandbox/gateway_protocol.h"

#include <iconv.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- accounts ---- */

pr_gate_account_t *pr_gate_account_by(const pr_gate_call_t *call, const char *parameter,
                                      pr_bytes_t text)
{
    pr_gate_account_t *account;
    for (size_t i = 0; (account = pr_gate_account_at(call->ledger, i)); i++) {
        if (account->protocol == call->protocol && text.len > 0 &&
            pr_gate_same(text, pr_gate_parameter(account, parameter))) {
            return account;
        }
    }
    return NULL;
}

void pr_gate_default(pr_gate_account_t *account, const char *parameter, const char *text)
{
    if (!pr_gate_parameter(account, parameter)[0]) {
        json_object_set_new(account->parameters, parameter, json_string(text));
    }
}

const char *pr_gate_account_digits(const pr_gate_account_t *account, const char *purpose,
                                   size_t len, char out[65])
{
    char text[256];
    snprintf(text, sizeof(text), "%s:%s:%s", account->protocol->name, account->name, purpose);
    pr_gate_sha256_hex(pr_bytes_text(text), out);
    out[len] = '\0';
    return out;
}

/* ---- reading ---- */

pr_bytes_t pr_gate_header(const pr_gate_call_t *call, const char *name)
{
    size_t name_len = strlen(name);
    const char *at = (const char *)call->data;
    const char *end = at + call->request->head_len;
    while (at < end) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        next = next ? next + 1 : end;
        size_t len = (size_t)(next - at);
        if (len > name_len + 2 && at[name_len] == ':' && strncasecmp(at, name, name_len) == 0) {
            const char *value = at + name_len + 1, *stop = next - 2;
            while (value < stop && (*value == ' ' || *value == '\t')) {
                value++;
            }
            while (stop > value && (stop[-1] == ' ' || stop[-1] == '\t')) {
                stop--;
            }
            return pr_bytes(value, (size_t)(stop - value));
        }
        at = next;
    }
    return pr_bytes(NULL, 0);
}

bool pr_gate_copy(char *out, size_t size, pr_bytes_t text)
{
    if (text.len == 0 || text.len >= size || memchr(text.data, '\0', text.len)) {
        return false;
    }
    memcpy(out, text.data, text.len);
    out[text.len] = '\0';
    return true;
}

bool pr_gate_is(pr_bytes_t text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.data, word, text.len) == 0;
}

bool pr_gate_starts(pr_bytes_t text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.data, prefix, len) == 0;
}

bool pr_gate_between(pr_bytes_t path, const char *prefix, const char *suffix, pr_bytes_t *out)
{
    size_t before = strlen(prefix), after = strlen(suffix);
    if (path.len <= before + after || !pr_gate_starts(path, prefix) ||
        memcmp(path.data + path.len - after, suffix, after) != 0) {
        return false;
    }
    *out = pr_bytes(path.data + before, path.len - before - after);
    return !memchr(out->data, '/', out->len);
}

bool pr_gate_unescape(pr_bytes_t text, char *out, size_t size, bool plus)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = text.data[i];
        if (byte == '%') {
            if (i + 2 >= text.len || !pr_unhex((const char *)text.data + i + 1, 2, &byte)) {
                return false;
            }
            i += 2;
        } else if (byte == '+' && plus) {
            byte = ' ';
        }
        if (len + 1 >= size || byte == '\0') {
            return false;
        }
        out[len++] = (char)byte;
    }
    out[len] = '\0';
    return true;
}

/* The next `name=value` of a form or a query; false: the end. */
static bool next_pair(pr_bytes_t text, size_t *cursor, pr_bytes_t *name, pr_bytes_t *value)
{
    if (*cursor >= text.len) {
        return false;
    }
    const uint8_t *at = text.data + *cursor;
    const uint8_t *end = memchr(at, '&', text.len - *cursor);
    size_t len = end ? (size_t)(end - at) : text.len - *cursor;
    const uint8_t *mark = memchr(at, '=', len);
    size_t name_len = mark ? (size_t)(mark - at) : len;
    *name = pr_bytes(at, name_len);
    *value = mark ? pr_bytes(mark + 1, len - name_len - 1) : pr_bytes(NULL, 0);
    *cursor += len + 1;
    return true;
}

bool pr_gate_query_text(pr_bytes_t query, const char *name, char *out, size_t size)
{
    size_t cursor = 0;
    pr_bytes_t found, value;
    while (next_pair(query, &cursor, &found, &value)) {
        if (pr_gate_is(found, name)) {
            return pr_gate_unescape(value, out, size, true);
        }
    }
    return false;
}

bool pr_gate_read_json(pr_gate_call_t *call)
{
    json_error_t why;
    call->document =
        json_loadb((const char *)call->body.data, call->body.len, JSON_REJECT_DUPLICATES, &why);
    return json_is_object(call->document);
}

bool pr_gate_read_form(pr_gate_call_t *call)
{
    size_t cursor = 0;
    pr_bytes_t name, value;
    bool good = true;
    call->document = json_object();
    PR_CLEANUP_FREE char *text = pr_calloc(call->body.len + 1, 1);
    char key[256];
    while (good && next_pair(call->body, &cursor, &name, &value)) {
        json_t *made = NULL;
        good = json_object_size(call->document) < PR_GATE_FORM_FIELDS_MAX &&
               pr_gate_unescape(name, key, sizeof(key), true) &&
               pr_gate_unescape(value, text, call->body.len + 1, true) &&
               !json_object_get(call->document, key) && (made = json_string(text)) != NULL &&
               json_object_set_new(call->document, key, made) == 0;
    }
    return good;
}

static const json_t *member(const json_t *document, const char *path)
{
    char name[64];
    while (document && *path) {
        size_t len = strcspn(path, ".");
        if (len >= sizeof(name)) {
            return NULL;
        }
        memcpy(name, path, len);
        name[len] = '\0';
        document = json_is_array(document) ? json_array_get(document, (size_t)(name[0] - '0'))
                                           : json_object_get(document, name);
        path += len + (path[len] == '.');
    }
    return document;
}

const char *pr_gate_text(const json_t *document, const char *path)
{
    const char *text = json_string_value(member(document, path));
    return text ? text : "";
}

bool pr_gate_take(const json_t *document, const char *path, char *out, size_t size)
{
    return pr_gate_copy(out, size, pr_bytes_text(pr_gate_text(document, path)));
}

bool pr_gate_take_amount(pr_gate_call_t *call, const json_t *document, const char *path)
{
    char text[32] = "";
    const json_t *value = member(document, path);
    if (json_is_integer(value)) {
        snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (!pr_gate_take(document, path, text, sizeof(text))) {
        return false;
    }
    return pr_money_parse(pr_bytes_text(text), call->protocol->unit, call->currency,
                          &call->protocol->exponents, &call->amount) == PR_MONEY_OK &&
           call->amount > 0;
}

static bool is_left_out(const char *key, const char *const *left_out)
{
    for (; *left_out; left_out++) {
        if (strcmp(key, *left_out) == 0) {
            return true;
        }
    }
    return false;
}

void pr_gate_sorted_form(const json_t *form, const char *const *left_out, pr_buffer_t *out)
{
    const char *keys[PR_GATE_FORM_FIELDS_MAX];
    size_t count = 0;
    for (void *at = json_object_iter((json_t *)(uintptr_t)form); at;
         at = json_object_iter_next((json_t *)(uintptr_t)form, at)) {
        const char *key = json_object_iter_key(at);
        if (count == PR_COUNT(keys) || is_left_out(key, left_out) ||
            !pr_gate_text(json_object_iter_value(at), "")[0]) {
            continue;
        }
        size_t place = count++;
        for (; place > 0 && strcmp(keys[place - 1], key) > 0; place--) {
            keys[place] = keys[place - 1];
        }
        keys[place] = key;
    }
    for (size_t i = 0; i < count; i++) {
        pr_rc_t rc = pr_buffer_printf(out, "%s%s=%s", i ? "&" : "", keys[i],
                                      json_string_value(json_object_get(form, keys[i])));
        pr_assert(rc == PR_OK);
    }
}

/* ---- what is said ---- */

int64_t pr_gate_said_amount(const pr_gate_order_t *order)
{
    int64_t said = order->plan->script.said_minor;
    return said >= 0 ? said : order->amount;
}

const char *pr_gate_said_currency(const pr_gate_order_t *order)
{
    const char *said = order->plan->script.said_currency;
    return said[0] ? said : order->currency;
}

const char *pr_gate_said_account(const pr_gate_order_t *order)
{
    const char *said = order->plan->script.said_account;
    return said[0] ? said : order->account->name;
}

const char *pr_gate_money(const pr_gate_protocol_t *protocol, int64_t minor, const char *currency,
                          char out[PR_MONEY_TEXT_MAX])
{
    if (!pr_money_format(minor, protocol->unit, currency, &protocol->exponents, out)) {
        snprintf(out, PR_MONEY_TEXT_MAX, "%" PRId64, minor);
    }
    return out;
}

json_t *pr_gate_money_json(const pr_gate_protocol_t *protocol, int64_t minor, const char *currency)
{
    char text[PR_MONEY_TEXT_MAX];
    int64_t value = 0;
    for (const char *at = pr_gate_money(protocol, minor, currency, text); *at; at++) {
        value = value * 10 + (*at - '0');
    }
    return json_integer(value);
}

const char *pr_gate_time(int64_t us, pr_moment_format_t format, int zone_min,
                         char out[PR_MOMENT_TEXT_MAX])
{
    pr_moment_format(us, format, zone_min, out);
    return out;
}

/* ---- writing ---- */

json_t *pr_gate_pruned(json_t *object)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, key, value)
    {
        if (json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0)) {
            json_object_del(object, key);
        }
    }
    return object;
}

/* Appends it compactly. */
static void dump(const json_t *document, pr_buffer_t *out)
{
    PR_CLEANUP_FREE char *text = NULL;
    size_t len = json_dumpb(document, NULL, 0, JSON_COMPACT);
    text = pr_calloc(len + 1, 1);
    (void)json_dumpb(document, text, len, JSON_COMPACT);
    pr_rc_t rc = pr_buffer_append(out, text, len);
    pr_assert(rc == PR_OK);
}

void pr_gate_reply(pr_gate_call_t *call, int status, json_t *document)
{
    call->status = status;
    call->content_type = "application/json";
    pr_buffer_clear(&call->answer);
    if (document) {
        dump(document, &call->answer);
        json_decref(document);
    }
}

void pr_gate_reply_header(pr_gate_call_t *call, const char *name, const char *value)
{
    pr_rc_t rc = pr_buffer_printf(&call->headers, "%s: %s\r\n", name, value);
    pr_assert(rc == PR_OK);
}

void pr_gate_message_json(pr_gate_message_t *message, json_t *document)
{
    message->content_type = "application/json";
    dump(document, &message->body);
    json_decref(document);
}

static void append_escaped(pr_buffer_t *out, pr_bytes_t text)
{
    pr_rc_t rc = PR_OK;
    for (size_t i = 0; i < text.len && rc == PR_OK; i++) {
        uint8_t byte = text.data[i];
        bool plain = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
                     (byte >= 'A' && byte <= 'Z') || byte == '-' || byte == '_' || byte == '.';
        rc = plain ? pr_buffer_append(out, &byte, 1) : pr_buffer_printf(out, "%%%02X", byte);
    }
    pr_assert(rc == PR_OK);
}

void pr_gate_to_gbk(pr_bytes_t text, pr_buffer_t *out)
{
    iconv_t converter = iconv_open("GBK//TRANSLIT", "UTF-8");
    pr_assert(converter != (iconv_t)-1);
    PR_CLEANUP_FREE char *made = pr_calloc(text.len + 1, 2);
    char *in = (char *)(uintptr_t)text.data, *to = made;
    size_t left = text.len, room = 2 * (text.len + 1);
    size_t failed = left ? iconv(converter, &in, &left, &to, &room) : 0;
    pr_assert(failed != (size_t)-1); /* texts are UTF-8, and what GBK lacks is replaced */
    iconv_close(converter);
    pr_rc_t rc = pr_buffer_append(out, made, (size_t)(to - made));
    pr_assert(rc == PR_OK);
}

void pr_gate_message_form(pr_gate_message_t *message, const json_t *form, bool gbk)
{
    const char *key;
    json_t *value;
    pr_buffer_t text;
    pr_buffer_init(&text, PR_GATE_BODY_MAX);
    message->content_type = "application/x-www-form-urlencoded";
    json_object_foreach((json_t *)(uintptr_t)form, key, value)
    {
        pr_bytes_t bytes = pr_bytes(json_string_value(value), json_string_length(value));
        if (gbk) {
            pr_buffer_clear(&text);
            pr_gate_to_gbk(bytes, &text);
            bytes = pr_buffer_bytes(&text);
        }
        pr_rc_t rc = pr_buffer_append_text(&message->body, message->body.len ? "&" : "");
        pr_assert(rc == PR_OK);
        append_escaped(&message->body, pr_bytes_text(key));
        rc = pr_buffer_append_text(&message->body, "=");
        pr_assert(rc == PR_OK);
        append_escaped(&message->body, bytes);
    }
    pr_buffer_free(&text);
}

void pr_gate_message_header(pr_gate_message_t *message, const char *name, const char *value)
{
    pr_assert(message->header_count < PR_GATE_HEADERS_MAX);
    message->headers[message->header_count++] = pr_asprintf("%s: %s", name, value);
}

void pr_gate_spoil(bool forged, char *signature)
{
    if (forged) {
        signature[0] = signature[0] == '0' ? '1' : '0';
    }
}
