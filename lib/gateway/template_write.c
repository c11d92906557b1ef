/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/json_path.h"
#include "gateway/charset.h"
#include "gateway/profile.h"
#include "gateway/template_private.h"
#include "sign/base64.h"
#include "sign/digest.h"

#include <openssl/crypto.h>

#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* A value on its way through the filters: text in `bytes`, or a piece of JSON. */
typedef struct {
    pr_json_t json; /* NONE: it is text */
    pr_buffer_t bytes;
} value_t;

bool pr_header_find(const pr_gateway_header_t *headers, size_t count, const char *name,
                    pr_bytes_t *out)
{
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(headers[i].name, name) != 0)
            continue;
        if (found)
            return false; /* two readers may see two values */
        found = true;
        *out = pr_bytes_text(headers[i].value);
    }
    return found;
}

/* ---- values ---- */

static pr_rc_t put(value_t *value, pr_bytes_t bytes)
{
    return pr_buffer_append(&value->bytes, bytes.data, bytes.len);
}

static pr_rc_t put_text(value_t *value, const char *text)
{
    return text ? pr_buffer_append_text(&value->bytes, text) : PR_LOST;
}

static pr_rc_t put_path(value_t *value, pr_json_t root, const char *path)
{
    pr_json_t found;
    if (root.type == PR_JSON_NONE || pr_json_path_get(root, path, &found) != PR_OK ||
        found.type == PR_JSON_NULL)
        return PR_LOST;
    value->json = found;
    return PR_OK;
}

static pr_rc_t put_query(value_t *value, pr_bytes_t query, const char *name)
{
    pr_form_t form;
    pr_form_init(&form, query.len);
    pr_rc_t rc = pr_form_read_urlencoded(&form, query) == PR_OK ? PR_OK : PR_LOST;
    pr_bytes_t found = rc == PR_OK ? pr_form_get(&form, name) : pr_bytes(NULL, 0);
    rc = found.len > 0 ? put(value, found) : PR_LOST;
    pr_form_free(&form);
    return rc;
}

static pr_rc_t put_moment(value_t *value, const pr_template_context_t *context, int64_t us)
{
    char text[PR_MOMENT_TEXT_MAX];
    const pr_profile_t *profile = context->channel->profile;
    if (us < 0)
        return PR_LOST;
    pr_moment_format(us, profile->time.format, profile->time.zone_min, text);
    return put_text(value, text);
}

static pr_rc_t put_amount(value_t *value, const pr_template_context_t *context, int64_t minor)
{
    char text[PR_MONEY_TEXT_MAX];
    if (minor < 0 || !context->facts->currency ||
        !pr_money_format(minor, context->channel->profile->facts.unit, context->facts->currency,
                         &context->channel->overrides, text))
        return PR_LOST;
    return put_text(value, text);
}

/* The fields sorted by name, raw values, without those that the scheme leaves out. */
static pr_rc_t put_sorted(value_t *value, const pr_template_context_t *context)
{
    const pr_form_t *form = context->form;
    const pr_list_t *left_out = context->left_out;
    bool first = true;
    if (!form)
        return PR_LOST;
    for (size_t i = 0; i < form->count; i++) {
        const uint8_t *bytes = form->bytes.data;
        pr_bytes_t name = pr_bytes(bytes + form->fields[i].name_at, form->fields[i].name_len);
        bool skip = false;
        for (size_t k = 0; left_out && k < left_out->count; k++)
            skip |= pr_bytes_equal(name, pr_bytes_text(left_out->items[k]));
        if (skip)
            continue;
        if ((!first && pr_buffer_append(&value->bytes, "&", 1) != PR_OK) ||
            put(value, name) != PR_OK || pr_buffer_append(&value->bytes, "=", 1) != PR_OK ||
            put(value, pr_bytes(bytes + form->fields[i].value_at, form->fields[i].value_len)) !=
                PR_OK)
            return PR_BAD;
        first = false;
    }
    return PR_OK;
}

static pr_rc_t put_header(value_t *value, const pr_template_context_t *context, const char *name)
{
    pr_bytes_t found;
    return pr_header_find(context->headers, context->header_count, name, &found) ? put(value, found)
                                                                                 : PR_LOST;
}

static pr_rc_t put_fact(value_t *value, const pr_payment_facts_t *facts, size_t offset)
{
    const char *text;
    memcpy(&text, (const char *)facts + offset, sizeof text);
    return put_text(value, text && text[0] ? text : NULL);
}

static pr_rc_t look_up(const pr_reference_t *from, const pr_template_context_t *context,
                       value_t *value)
{
    switch (from->source) {
    case PR_SOURCE_LITERAL:
        return put_text(value, from->arg);
    case PR_SOURCE_FACT:
        return put_fact(value, context->facts, from->offset);
    case PR_SOURCE_PARAM:
        return put_text(value, pr_channel_text(context->channel, from->arg));
    case PR_SOURCE_HEADER:
        return put_header(value, context, from->arg);
    case PR_SOURCE_QUERY:
        return put_query(value, context->query, from->arg);
    case PR_SOURCE_BODY:
        return put(value, context->body);
    case PR_SOURCE_BODY_PATH:
        return put_path(value, context->root, from->arg);
    case PR_SOURCE_ITEM_PATH:
        return put_path(value, context->item, from->arg);
    case PR_SOURCE_REQUEST_PATH:
        return put_path(value, context->request, from->arg);
    case PR_SOURCE_FORM_SORTED:
        return put_sorted(value, context);
    case PR_SOURCE_METHOD:
        return put_text(value, context->method);
    case PR_SOURCE_TARGET:
        return put(value, context->target);
    case PR_SOURCE_NONCE:
        return put_text(value, context->nonce);
    case PR_SOURCE_SIGNATURE:
        return put_text(value, context->signature);
    case PR_SOURCE_NOW:
        return put_moment(value, context, context->now_us);
    case PR_SOURCE_NOW_UNIX:
        return pr_buffer_printf(&value->bytes, "%" PRId64, context->now_us / 1000000);
    case PR_SOURCE_AMOUNT:
        return put_amount(value, context, context->facts->amount_minor);
    case PR_SOURCE_REFUND_AMOUNT:
        return put_amount(value, context, context->facts->refund_minor);
    case PR_SOURCE_REFERENCE_ONLY:
        return put_text(value, context->facts->request_no ? NULL : context->facts->reference);
    case PR_SOURCE_EXPIRES_AT:
        return put_moment(value, context, context->facts->expires_at_us);
    }
    return PR_LOST;
}

/* ---- filters: from `value` into `out` ---- */

static pr_rc_t quote(pr_bytes_t text, pr_buffer_t *out)
{
    pr_rc_t rc = pr_buffer_append(out, "\"", 1);
    for (size_t i = 0; rc == PR_OK && i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c == '"' || c == '\\')
            rc = pr_buffer_printf(out, "\\%c", c);
        else if (c < 0x20)
            rc = pr_buffer_printf(out, "\\u%04x", c);
        else
            rc = pr_buffer_append(out, &c, 1);
    }
    return rc == PR_OK ? pr_buffer_append(out, "\"", 1) : rc;
}

static pr_rc_t percent_encode(pr_bytes_t text, pr_buffer_t *out)
{
    pr_rc_t rc = PR_OK;
    for (size_t i = 0; rc == PR_OK && i < text.len; i++) {
        uint8_t c = text.data[i];
        bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '.' || c == '_' || c == '~';
        rc = plain ? pr_buffer_append(out, &c, 1) : pr_buffer_printf(out, "%%%02X", c);
    }
    return rc;
}

static pr_rc_t basic(const pr_template_context_t *context, pr_bytes_t text, const char *arg,
                     pr_buffer_t *out)
{
    const char *password = pr_channel_text(context->channel, arg);
    pr_buffer_t pair;
    pr_buffer_init(&pair, text.len + (password ? strlen(password) : 0) + 1);
    pr_rc_t rc = password ? pr_buffer_append(&pair, text.data, text.len) : PR_LOST;
    if (rc == PR_OK)
        rc = pr_buffer_printf(&pair, ":%s", password);
    if (rc == PR_OK) {
        PR_CLEANUP_FREE char *encoded = pr_calloc(PR_BASE64_LEN(pair.len) + 1, 1);
        pr_base64_encode(pr_buffer_bytes(&pair), encoded);
        rc = pr_buffer_append_text(out, encoded);
        OPENSSL_cleanse(encoded, strlen(encoded));
        OPENSSL_cleanse(pair.data, pair.len);
    }
    pr_buffer_free(&pair);
    return rc;
}

static pr_bytes_t trimmed(pr_bytes_t text)
{
    while (text.len > 0 && text.data[0] == ' ')
        text = pr_bytes(text.data + 1, text.len - 1);
    while (text.len > 0 && text.data[text.len - 1] == ' ')
        text.len--;
    return text;
}

static pr_rc_t parts_named(pr_bytes_t text, const char *key, pr_buffer_t *out)
{
    size_t key_len = strlen(key), before = out->len, at = 0;
    while (at < text.len) {
        const uint8_t *comma = memchr(text.data + at, ',', text.len - at);
        size_t len = comma ? (size_t)(comma - text.data) - at : text.len - at;
        pr_bytes_t part = trimmed(pr_bytes(text.data + at, len));
        at += len + 1;
        if (part.len <= key_len || memcmp(part.data, key, key_len) != 0 ||
            part.data[key_len] != '=')
            continue;
        if ((out->len > before && pr_buffer_append(out, " ", 1) != PR_OK) ||
            pr_buffer_append(out, part.data + key_len + 1, part.len - key_len - 1) != PR_OK)
            return PR_BAD;
    }
    return out->len > before ? PR_OK : PR_LOST;
}

static pr_rc_t change_case(pr_bytes_t text, char first, char last, pr_buffer_t *out)
{
    pr_rc_t rc = PR_OK;
    for (size_t i = 0; rc == PR_OK && i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c >= (uint8_t)first && c <= (uint8_t)last)
            c ^= 0x20;
        rc = pr_buffer_append(out, &c, 1);
    }
    return rc;
}

/* JSON becomes text where a filter wants text, or at the end. */
static pr_rc_t to_text(value_t *value)
{
    pr_json_t json = value->json;
    value->json = (pr_json_t){0};
    if (json.type == PR_JSON_NONE)
        return PR_OK;
    return json.type == PR_JSON_STRING ? pr_json_decode(json, &value->bytes)
                                       : pr_json_compact(json, &value->bytes);
}

static pr_rc_t raw(const value_t *value, const char *charset, pr_buffer_t *out)
{
    pr_bytes_t text = value->json.text;
    return charset ? pr_charset_from_utf8(charset, text, out)
                   : pr_buffer_append(out, text.data, text.len);
}

static pr_rc_t member(const char *name, pr_bytes_t text, pr_buffer_t *out)
{
    pr_rc_t rc = pr_buffer_printf(out, "\"%s\":", name);
    return rc == PR_OK ? quote(text, out) : rc;
}

static pr_rc_t filter_text(const pr_template_context_t *context, pr_filter_t kind, const char *arg,
                           pr_bytes_t text, pr_buffer_t *out)
{
    switch (kind) {
    case PR_FILTER_JSON:
        return quote(text, out);
    case PR_FILTER_URL:
        return percent_encode(text, out);
    case PR_FILTER_BASIC:
        return basic(context, text, arg, out);
    case PR_FILTER_PART:
        return parts_named(text, arg, out);
    case PR_FILTER_CRC32:
        return pr_buffer_printf(out, "%" PRIu32, pr_crc32(text));
    case PR_FILTER_LOWER:
        return change_case(text, 'A', 'Z', out);
    case PR_FILTER_UPPER:
        return change_case(text, 'a', 'z', out);
    case PR_FILTER_MEMBER:
        return member(arg, text, out);
    case PR_FILTER_UNDER:
        return pr_buffer_printf(out, "%s/%.*s", arg, (int)text.len, (const char *)text.data);
    case PR_FILTER_RAW:
    case PR_FILTER_NONE:
        break;
    }
    return pr_buffer_append(out, text.data, text.len);
}

static pr_rc_t filter(const pr_template_context_t *context, pr_filter_t kind, const char *arg,
                      value_t *value)
{
    pr_rc_t rc = PR_OK;
    pr_buffer_t out;
    pr_buffer_init(&out, PR_TEMPLATE_OUT_MAX_BYTES);
    if (value->json.type != PR_JSON_NONE && kind == PR_FILTER_RAW) {
        rc = raw(value, context->raw_charset, &out);
    } else if (value->json.type != PR_JSON_NONE && kind == PR_FILTER_JSON) {
        rc = pr_json_compact(value->json, &out);
    } else {
        rc = to_text(value);
        if (rc == PR_OK)
            rc = filter_text(context, kind, arg, pr_buffer_bytes(&value->bytes), &out);
    }
    value->json = (pr_json_t){0};
    pr_buffer_t before = value->bytes;
    value->bytes = out;
    if (before.data)
        OPENSSL_cleanse(before.data, before.len);
    pr_buffer_free(&before);
    return rc;
}

/* ---- the whole ---- */

static pr_rc_t evaluate(const pr_segment_t *segment, const pr_template_context_t *context,
                        value_t *value)
{
    pr_rc_t rc = look_up(&segment->from, context, value);
    if (rc == PR_LOST && segment->otherwise.name)
        rc = look_up(&segment->otherwise, context, value);
    for (size_t i = 0; rc == PR_OK && i < segment->filter_count; i++)
        rc = filter(context, segment->filters[i].kind, segment->filters[i].arg, value);
    return rc == PR_OK ? to_text(value) : rc;
}

static pr_rc_t write_segment(const pr_segment_t *segment, const pr_template_context_t *context,
                             pr_buffer_t *out, pr_error_t *error)
{
    value_t value = {0};
    pr_buffer_init(&value.bytes, PR_TEMPLATE_OUT_MAX_BYTES);
    pr_rc_t rc = evaluate(segment, context, &value);
    if (rc == PR_OK)
        rc = pr_buffer_append(out, value.bytes.data, value.bytes.len);
    if (value.bytes.data)
        OPENSSL_cleanse(value.bytes.data, value.bytes.len);
    pr_buffer_free(&value.bytes);
    if (rc == PR_LOST && segment->optional)
        return PR_OK;
    if (rc == PR_LOST)
        return pr_error_set(error, rc, "gateway", "", "%s is wanted and not known",
                            segment->from.name);
    return rc == PR_OK ? rc : pr_error_set(error, rc, "gateway", "", "a text grows too long");
}

pr_rc_t pr_template_write(const pr_template_t *self, const pr_template_context_t *context,
                          pr_buffer_t *out, pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    for (size_t i = 0; rc == PR_OK && i < self->count; i++)
        rc = write_segment(&self->segments[i], context, out, error);
    return rc;
}
