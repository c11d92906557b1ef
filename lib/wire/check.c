/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/limits.h"

#include <string.h>

/* Wire types of protobuf's encoding, https://protobuf.dev/programming-guides/encoding/ */
enum { VARINT = 0, FIXED64 = 1, DELIMITED = 2, FIXED32 = 5 };
enum { FIELDS_MAX = 64, ENUM_OPEN_MAX = 63, SKIP_MAX = 256 };

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
} reader_t;

typedef struct {
    uint32_t number;
    uint32_t type;
    uint64_t value;   /* varints */
    pr_bytes_t bytes; /* delimited */
} item_t;

static bool read_varint(reader_t *self, uint64_t *out)
{
    if (self->at != self->end && *self->at < 0x80) { /* tags and most lengths */
        *out = *self->at++;
        return true;
    }
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (self->at == self->end) {
            return false;
        }
        uint8_t byte = *self->at++;
        if (shift == 63 && byte > 1) {
            return false;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

static bool skip(reader_t *self, size_t len)
{
    if ((size_t)(self->end - self->at) < len) {
        return false;
    }
    self->at += len;
    return true;
}

static bool read_item(reader_t *self, item_t *out)
{
    uint64_t tag;
    if (!read_varint(self, &tag) || tag > UINT32_MAX || tag >> 3 == 0) {
        return false;
    }
    *out = (item_t){.number = (uint32_t)(tag >> 3), .type = (uint32_t)(tag & 7)};
    uint64_t len;
    switch (out->type) {
    case VARINT:
        return read_varint(self, &out->value);
    case FIXED64:
        return skip(self, 8);
    case FIXED32:
        return skip(self, 4);
    case DELIMITED:
        if (!read_varint(self, &len) || len > (uint64_t)(self->end - self->at)) {
            return false;
        }
        out->bytes = pr_bytes(self->at, (size_t)len);
        self->at += len;
        return true;
    default: /* groups do not exist in proto3 */
        return false;
    }
}

static pr_rc_t bad(pr_error_t *error, const ProtobufCMessageDescriptor *message, const char *field,
                   const char *why)
{
    return pr_error_set(error, PR_BAD, "wire", "", "%s.%s: %s", message->short_name, field, why);
}

static pr_rc_t check_message(const pr_message_rule_t *rule, pr_bytes_t bytes, pr_error_t *error);

static bool enum_fits(const ProtobufCFieldDescriptor *field, const pr_field_rule_t *rule,
                      uint64_t value)
{
    if (value == 0) {
        return !rule->required;
    }
    if (value > ENUM_OPEN_MAX) {
        return false;
    }
    return rule->open || protobuf_c_enum_descriptor_get_value(field->descriptor, (int)value);
}

/* One value of a number or enum field. NULL, or what is wrong. */
static const char *number_fault(const ProtobufCFieldDescriptor *field, const pr_field_rule_t *rule,
                                uint64_t value)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_ENUM:
        return enum_fits(field, rule, value) ? NULL : "not a value of its enum";
    case PROTOBUF_C_TYPE_UINT32:
        if (value > UINT32_MAX) {
            return "does not fit 32 bits";
        }
        return rule->max > 0 && value > rule->max ? "too large" : NULL;
    case PROTOBUF_C_TYPE_BOOL:
        return value > 1 ? "not a bool" : NULL;
    default:
        return NULL;
    }
}

static const char *length_fault(const pr_field_rule_t *rule, size_t len)
{
    if (len < rule->min) {
        return "too short";
    }
    return len > rule->max ? "too long" : NULL;
}

/* A packed run of varints in one delimited item; *count grows by their number. */
static const char *packed_fault(const ProtobufCFieldDescriptor *field, const pr_field_rule_t *rule,
                                pr_bytes_t run, uint32_t *count)
{
    reader_t reader = {run.data, run.data + run.len};
    while (reader.at != reader.end) {
        uint64_t value;
        if (!read_varint(&reader, &value)) {
            return "broken packed run";
        }
        const char *fault = number_fault(field, rule, value);
        if (fault) {
            return fault;
        }
        if (++*count > rule->count_max) {
            return "too many";
        }
    }
    return NULL;
}

static uint32_t wire_type_of(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return DELIMITED;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return FIXED64;
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return FIXED32;
    default:
        return VARINT;
    }
}

static pr_rc_t check_value(const pr_message_rule_t *owner, const ProtobufCFieldDescriptor *field,
                           const pr_field_rule_t *rule, const item_t *item, pr_error_t *error)
{
    const char *fault = NULL;
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return check_message(rule->sub, item->bytes, error);
    case PROTOBUF_C_TYPE_STRING:
        fault = length_fault(rule, item->bytes.len);
        if (!fault && !pr_utf8_valid(item->bytes)) {
            fault = "not UTF-8, or a NUL inside";
        }
        break;
    case PROTOBUF_C_TYPE_BYTES:
        fault = length_fault(rule, item->bytes.len);
        break;
    default:
        fault = number_fault(field, rule, item->value);
        break;
    }
    return fault ? bad(error, owner->descriptor, field->name, fault) : PR_OK;
}

static pr_rc_t check_item(const pr_message_rule_t *owner, const ProtobufCFieldDescriptor *field,
                          const pr_field_rule_t *rule, const item_t *item, uint32_t *count,
                          pr_error_t *error)
{
    bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
    uint32_t type = wire_type_of(field);
    if (repeated && type == VARINT && item->type == DELIMITED) {
        const char *fault = packed_fault(field, rule, item->bytes, count);
        return fault ? bad(error, owner->descriptor, field->name, fault) : PR_OK;
    }
    if (item->type != type) {
        return bad(error, owner->descriptor, field->name, "wrong wire type");
    }
    /* A second copy of a single field is legal protobuf but nobody sends it; merging two bodies
     * could step around every bound above, so it is refused. */
    if (++*count > (repeated ? rule->count_max : 1)) {
        return bad(error, owner->descriptor, field->name, "too many");
    }
    return check_value(owner, field, rule, item, error);
}

/* Senders write fields in the order of their numbers, so the next one is at or soon behind the
 * last; any other order is looked up. The field is in the table, hence in the descriptor. */
static unsigned index_of(const ProtobufCMessageDescriptor *message, uint32_t number, unsigned hint)
{
    while (hint < message->n_fields && message->fields[hint].id < number) {
        hint++;
    }
    if (hint < message->n_fields && message->fields[hint].id == number) {
        return hint;
    }
    return (unsigned)(protobuf_c_message_descriptor_get_field(message, number) - message->fields);
}

static bool is_excused(const pr_message_rule_t *owner, const pr_field_rule_t *rule,
                       const uint32_t *counts)
{
    return rule->unless > 0 && counts[index_of(owner->descriptor, rule->unless, 0)] > 0;
}

/* What must be there and is not. */
static pr_rc_t check_missing(const pr_message_rule_t *owner, const uint32_t *counts,
                             pr_error_t *error)
{
    for (unsigned i = 0; i < owner->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &owner->descriptor->fields[i];
        const pr_field_rule_t *rule = pr_field_rule(owner, field->id);
        if (!rule) {
            continue;
        }
        bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
        bool missing = repeated ? counts[i] < rule->count_min
                                : counts[i] == 0 && (rule->required || rule->min > 0);
        if (missing && !is_excused(owner, rule, counts)) {
            return bad(error, owner->descriptor, field->name, repeated ? "too few" : "missing");
        }
    }
    return PR_OK;
}

/* The oneof of the envelope: exactly one body, none is as wrong as two. */
static pr_rc_t check_body_count(const pr_message_rule_t *owner, const uint32_t *counts,
                                uint32_t unknown, pr_error_t *error)
{
    uint32_t bodies = 0;
    for (unsigned i = 0; i < owner->descriptor->n_fields; i++) {
        bool is_body = owner->descriptor->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
        bodies += is_body ? counts[i] : 0;
    }
    if (bodies > 1 || (bodies == 0 && unknown == 0)) {
        return bad(error, owner->descriptor, "body", bodies ? "more than one" : "missing");
    }
    return PR_OK;
}

static pr_rc_t check_message(const pr_message_rule_t *owner, pr_bytes_t bytes, pr_error_t *error)
{
    const ProtobufCMessageDescriptor *message = owner->descriptor;
    uint32_t counts[FIELDS_MAX]; /* test_limits.c: no message has more */
    memset(counts, 0, message->n_fields * sizeof counts[0]);
    uint32_t unknown = 0;
    unsigned index = 0;
    reader_t reader = {bytes.data, bytes.data + bytes.len};
    while (reader.at != reader.end) {
        item_t item;
        if (!read_item(&reader, &item)) {
            return bad(error, message, "*", "broken encoding");
        }
        const pr_field_rule_t *rule = pr_field_rule(owner, item.number);
        if (!rule) { /* from a newer sender */
            if (++unknown > SKIP_MAX) {
                return bad(error, message, "*", "too many unknown fields");
            }
            continue;
        }
        index = index_of(message, item.number, index);
        pr_rc_t rc = check_item(owner, &message->fields[index], rule, &item, &counts[index], error);
        if (rc != PR_OK) {
            return rc;
        }
    }
    if (owner == &pr_envelope_rule) {
        pr_rc_t rc = check_body_count(owner, counts, unknown, error);
        if (rc != PR_OK) {
            return rc;
        }
    }
    return check_missing(owner, counts, error);
}

pr_rc_t pr_wire_check(pr_bytes_t bytes, pr_error_t *error)
{
    return check_message(&pr_envelope_rule, bytes, error);
}

/* Length of the sequence that lead starts, and the range of its second byte; 0 when none does.
 * Unicode 15, table 3-7. */
static size_t sequence(uint8_t lead, uint8_t *low, uint8_t *high)
{
    *low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    *high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (lead >= 0xc2 && lead <= 0xdf) {
        return 2;
    }
    if (lead >= 0xe0 && lead <= 0xef) {
        return 3;
    }
    return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

bool pr_utf8_valid(pr_bytes_t text)
{
    size_t i = 0;
    while (i < text.len) {
        uint8_t lead = text.data[i];
        if (lead < 0x80) {
            if (lead == 0) {
                return false;
            }
            i++;
            continue;
        }
        uint8_t low, high;
        size_t len = sequence(lead, &low, &high);
        if (len == 0 || text.len - i < len) {
            return false;
        }
        for (size_t k = 1; k < len; k++) {
            uint8_t byte = text.data[i + k];
            if (byte < (k == 1 ? low : 0x80) || byte > (k == 1 ? high : 0xbf)) {
                return false;
            }
        }
        i += len;
    }
    return true;
}
