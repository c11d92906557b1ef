/* SPDX-License-Identifier: Apache-2.0
 *
 * The bounds of proto/postrider/v1/bus.proto as tables, one rule a field, found by field number.
 *
 * pr_wire_check walks the raw bytes of a frame along protobuf-c's descriptors and these rules,
 * before protobuf-c sees them: only there can a NUL inside a string still be seen. It never
 * allocates, recurses only as deep as the messages nest (six), and passes unknown fields.
 * A field of the proto file without a rule is a bug that test_limits.c finds.
 */
#ifndef PR_WIRE_LIMITS_H
#define PR_WIRE_LIMITS_H

#include "base/buffer.h"
#include "base/error.h"

#include <protobuf-c/protobuf-c.h>

#include <stdint.h>

/* How `tap` shows a bytes or string field. */
typedef enum {
    PR_SHOW_PLAIN = 0, /* text as it is, bytes as hex */
    PR_SHOW_DIGEST,    /* length and SHA-256: bodies, what merchants answered */
    PR_SHOW_LENGTH,    /* length only: secrets, and what may hold some */
    PR_SHOW_URL,       /* without user information, query and fragment */
} pr_show_t;

typedef struct pr_message_rule_t pr_message_rule_t;

typedef struct {
    bool known;    /* the table has this field */
    bool required; /* must be present (submessages), or not the zero value (enums) */
    bool open;     /* enum whose newer numbers (up to 63) pass: the reader decides */
    pr_show_t show;
    uint32_t min;       /* bytes of a string or bytes field; smallest value never (unsigned) */
    uint32_t max;       /* bytes of a string or bytes field; largest value of a uint32, 0 = any */
    uint32_t count_min; /* of a repeated field */
    uint32_t count_max;
    uint32_t unless;              /* a required field may be absent where this one is there */
    const pr_message_rule_t *sub; /* rules of the message in this field */
} pr_field_rule_t;

struct pr_message_rule_t {
    const ProtobufCMessageDescriptor *descriptor;
    const pr_field_rule_t *fields; /* indexed by field number */
    uint32_t fields_count;
};

extern const pr_message_rule_t pr_envelope_rule;

/* The rule of a field, or NULL when the table has none. */
const pr_field_rule_t *pr_field_rule(const pr_message_rule_t *rule, uint32_t number);

/* PR_BAD and the field's name in error->text when bytes break a rule or are no protobuf. */
PR_CHECK pr_rc_t pr_wire_check(pr_bytes_t bytes, pr_error_t *error);

/* Valid UTF-8 (no overlong forms, no surrogates, nothing over U+10FFFF) without NUL bytes. */
bool pr_utf8_valid(pr_bytes_t text);

#endif
