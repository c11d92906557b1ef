/* SPDX-License-Identifier: Apache-2.0
 *
 * A strict reader of JSON (RFC 8259) that allocates nothing: pr_json_check looks at the whole text
 * once, afterwards values are views into it. For small documents from outside (answers of
 * merchants, bodies to re-pack).
 *
 * Strict: UTF-8 is checked (no surrogates, no overlong forms), a byte order mark is refused, lone
 * \u surrogates are refused, nesting is at most PR_JSON_DEPTH_MAX, nothing but white space may
 * follow. Numbers stay text: no precision is lost. A key that stands twice in an object is legal
 * JSON with no agreed meaning: pr_json_check accepts it, pr_json_find refuses to choose (PR_BAD).
 */
#ifndef PR_BASE_JSON_SCAN_H
#define PR_BASE_JSON_SCAN_H

#include "base/buffer.h"

#include <stdbool.h>

#define PR_JSON_DEPTH_MAX 64

typedef enum {
    PR_JSON_NONE = 0,
    PR_JSON_NULL,
    PR_JSON_FALSE,
    PR_JSON_TRUE,
    PR_JSON_NUMBER,
    PR_JSON_STRING,
    PR_JSON_ARRAY,
    PR_JSON_OBJECT,
} pr_json_type_t;

/* A value inside a checked text: its bytes as written, quotes and brackets included, no white space
 * around. */
typedef struct {
    pr_json_type_t type;
    pr_bytes_t text;
} pr_json_t;

/* PR_OK: *out is the one value of text. PR_BAD: not JSON as above; *out unchanged. */
PR_CHECK pr_rc_t pr_json_check(pr_bytes_t text, pr_json_t *out);

/* The next member of a checked object. *cursor is 0 at the start; false: no more. key is a string
 * value. */
bool pr_json_next_member(pr_json_t object, size_t *cursor, pr_json_t *key, pr_json_t *value);
bool pr_json_next_element(pr_json_t array, size_t *cursor, pr_json_t *value);

/* The member named so (decoded, `len` bytes). PR_LOST: not there, or not an object. PR_BAD: there
 * more than once. */
PR_CHECK pr_rc_t pr_json_find(pr_json_t object, const char *name, size_t len, pr_json_t *out);

/* True when value is a string whose decoded bytes are exactly text. */
bool pr_json_is_text(pr_json_t value, const char *text, size_t len);
/* Appends a string's decoded bytes (may hold NULs). PR_BAD: out is full; then a part may have been
 * appended. */
PR_CHECK pr_rc_t pr_json_decode(pr_json_t string, pr_buffer_t *out);
/* Appends the value without white space between its tokens; strings and numbers as written. PR_BAD
 * as above. */
PR_CHECK pr_rc_t pr_json_compact(pr_json_t value, pr_buffer_t *out);

#endif
