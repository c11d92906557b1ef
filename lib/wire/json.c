/* SPDX-License-Identifier: Apache-2.0
 *
 * Envelopes as JSON for people: one walk along protobuf-c's descriptors, with limits.h saying
 * what of each field may be shown. Empty strings, zeros and absent messages are left out.
 */
#include "base/alloc.h"
#include "wire/envelope.h"
#include "wire/limits.h"

#include <jansson.h>
#include <openssl/sha.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HEX_SHOWN_MAX = 64 };

static json_t *message_json(const ProtobufCMessage *message, const pr_message_rule_t *rule);

static json_t *length_json(size_t len)
{
    return json_pack("{s:I}", "bytes", (json_int_t)len);
}

static json_t *digest_json(pr_bytes_t bytes)
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    char hex[2 * SHA256_DIGEST_LENGTH + 1];
    SHA256(bytes.data, bytes.len, digest);
    pr_hex(pr_bytes(digest, sizeof digest), hex);
    return json_pack("{s:I,s:s}", "bytes", (json_int_t)bytes.len, "sha256", hex);
}

/* A URL up to its query, without "user:password@": both may hold secrets. */
static json_t *url_json(const char *url)
{
    size_t len = strcspn(url, "?#");
    const char *scheme_end = strstr(url, "://");
    size_t start = scheme_end && scheme_end < url + len ? (size_t)(scheme_end + 3 - url) : 0;
    size_t host_len = strcspn(url + start, "/?#");
    const char *at = memrchr(url + start, '@', host_len);
    PR_CLEANUP_FREE char *text = pr_asprintf("%.*s%.*s%s", (int)start, url,
                                             (int)(at ? url + len - at - 1 : (long)(len - start)),
                                             at ? at + 1 : url + start, url[len] ? "?..." : "");
    return json_string(text);
}

static json_t *bytes_json(pr_bytes_t bytes, pr_show_t show)
{
    if (show == PR_SHOW_DIGEST) {
        return digest_json(bytes);
    }
    if (show != PR_SHOW_PLAIN || bytes.len > HEX_SHOWN_MAX) {
        return length_json(bytes.len);
    }
    char hex[2 * HEX_SHOWN_MAX + 1];
    pr_hex(bytes, hex);
    return json_string(hex);
}

static json_t *text_json(const char *text, pr_show_t show)
{
    if (show == PR_SHOW_URL) {
        return url_json(text);
    }
    return show == PR_SHOW_PLAIN ? json_string(text) : bytes_json(pr_bytes_text(text), show);
}

static json_t *enum_json(const ProtobufCEnumDescriptor *descriptor, int value)
{
    const ProtobufCEnumValue *known = protobuf_c_enum_descriptor_get_value(descriptor, value);
    return known ? json_string(known->name) : json_integer(value);
}

/* JSON's numbers end at 2^53 for many readers, jansson's at 2^63: salts go as hex text. */
static json_t *fixed64_json(uint64_t value)
{
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, value);
    return json_string(text);
}

static json_t *value_json(const ProtobufCFieldDescriptor *field, const pr_field_rule_t *rule,
                          const void *at)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return message_json(*(ProtobufCMessage *const *)at, rule->sub);
    case PROTOBUF_C_TYPE_STRING:
        return text_json(*(char *const *)at, rule->show);
    case PROTOBUF_C_TYPE_BYTES: {
        const ProtobufCBinaryData *data = at;
        return bytes_json(pr_bytes(data->data, data->len), rule->show);
    }
    case PROTOBUF_C_TYPE_ENUM:
        return enum_json(field->descriptor, *(const int *)at);
    case PROTOBUF_C_TYPE_BOOL:
        return json_boolean(*(const protobuf_c_boolean *)at);
    case PROTOBUF_C_TYPE_UINT32:
        return json_integer(*(const uint32_t *)at);
    case PROTOBUF_C_TYPE_INT64:
        return json_integer(*(const int64_t *)at);
    case PROTOBUF_C_TYPE_UINT64: {
        uint64_t value = *(const uint64_t *)at;
        return value > INT64_MAX ? fixed64_json(value) : json_integer((json_int_t)value);
    }
    case PROTOBUF_C_TYPE_FIXED64:
        return fixed64_json(*(const uint64_t *)at);
    default:
        return json_null();
    }
}

static bool is_zero(const ProtobufCFieldDescriptor *field, const void *at)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return *(ProtobufCMessage *const *)at == NULL;
    case PROTOBUF_C_TYPE_STRING:
        return (*(char *const *)at)[0] == '\0';
    case PROTOBUF_C_TYPE_BYTES:
        return ((const ProtobufCBinaryData *)at)->len == 0;
    case PROTOBUF_C_TYPE_ENUM:
    case PROTOBUF_C_TYPE_UINT32:
        return *(const uint32_t *)at == 0;
    case PROTOBUF_C_TYPE_BOOL:
        return !*(const protobuf_c_boolean *)at;
    default:
        return *(const uint64_t *)at == 0;
    }
}

static size_t width_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_MESSAGE:
    case PROTOBUF_C_TYPE_STRING:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_ENUM:
    case PROTOBUF_C_TYPE_UINT32:
        return sizeof(uint32_t);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    default:
        return sizeof(uint64_t);
    }
}

static json_t *array_json(const ProtobufCFieldDescriptor *field, const pr_field_rule_t *rule,
                          const uint8_t *items, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(array, value_json(field, rule, items + i * width_of(field->type)));
    }
    return array;
}

/* NULL: nothing to show. */
static json_t *field_json(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                          const pr_field_rule_t *rule)
{
    const uint8_t *base = (const uint8_t *)message;
    const uint8_t *at = base + field->offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t count = *(const size_t *)(const void *)(base + field->quantifier_offset);
        const uint8_t *items = *(uint8_t *const *)(const void *)at;
        return count ? array_json(field, rule, items, count) : NULL;
    }
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        uint32_t set = *(const uint32_t *)(const void *)(base + field->quantifier_offset);
        return set == field->id ? value_json(field, rule, at) : NULL;
    }
    return is_zero(field, at) ? NULL : value_json(field, rule, at);
}

static json_t *message_json(const ProtobufCMessage *message, const pr_message_rule_t *rule)
{
    json_t *object = json_object();
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const pr_field_rule_t *field_rule = pr_field_rule(rule, field->id);
        json_t *value = field_rule ? field_json(message, field, field_rule) : NULL;
        if (value) {
            json_object_set_new(object, field->name, value);
        }
    }
    return object;
}

static int append(const char *text, size_t len, void *out)
{
    return pr_buffer_append(out, text, len) == PR_OK ? 0 : -1;
}

pr_rc_t pr_envelope_to_json(const Postrider__V1__Envelope *envelope, pr_buffer_t *out)
{
    pr_buffer_clear(out);
    json_t *object = message_json(&envelope->base, &pr_envelope_rule);
    json_object_set_new(object, "kind", json_string(pr_envelope_kind(envelope)));
    int rc = json_dump_callback(object, append, out, JSON_COMPACT);
    json_decref(object);
    return rc == 0 ? pr_buffer_append_text(out, "\n") : PR_BAD;
}
