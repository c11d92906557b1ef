/* SPDX-License-Identifier: Apache-2.0
 *
 * scan_* functions read one thing at the cursor: they move it past the thing and return true, or
 * return false.
 */
#include "base/json_scan.h"

#include "base/assert.h"

#include <string.h>

typedef struct {
    const uint8_t *at, *end;
} cursor_t;

static bool scan_value(cursor_t *self, int depth, pr_json_t *out);

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(cursor_t *self)
{
    while (self->at < self->end && is_space(*self->at))
        self->at++;
}

static bool next_is(const cursor_t *self, uint8_t c)
{
    return self->at < self->end && *self->at == c;
}

static bool take(cursor_t *self, uint8_t c)
{
    if (!next_is(self, c))
        return false;
    self->at++;
    return true;
}

static bool take_word(cursor_t *self, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(self->end - self->at) < len || memcmp(self->at, word, len) != 0)
        return false;
    self->at += len;
    return true;
}

static bool take_digits(cursor_t *self)
{
    const uint8_t *start = self->at;
    while (self->at < self->end && *self->at >= '0' && *self->at <= '9')
        self->at++;
    return self->at > start;
}

static bool scan_number(cursor_t *self)
{
    take(self, '-');
    if (!take(self, '0') && !take_digits(self))
        return false;
    if (take(self, '.') && !take_digits(self))
        return false;
    if (take(self, 'e') || take(self, 'E')) {
        if (!take(self, '+'))
            take(self, '-');
        return take_digits(self);
    }
    return true;
}

/* One code point of UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, at most U+10FFFF.
 */
static bool scan_utf8(cursor_t *self)
{
    size_t left = (size_t)(self->end - self->at);
    const uint8_t *p = self->at;
    size_t len = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (p[0] >= 0x80 && (p[0] < 0xc2 || p[0] > 0xf4))
        return false;
    if (left < len)
        return false;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return false;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return false;
    self->at += len;
    return true;
}

static bool take_hex4(cursor_t *self, uint32_t *out)
{
    uint8_t bytes[2];
    if (self->end - self->at < 4 || !pr_unhex((const char *)self->at, 4, bytes))
        return false;
    *out = (uint32_t)bytes[0] << 8 | bytes[1];
    self->at += 4;
    return true;
}

/* After "\u". */
static bool take_code_point(cursor_t *self, uint32_t *out)
{
    uint32_t low;
    if (!take_hex4(self, out) || (*out >= 0xdc00 && *out < 0xe000))
        return false;
    if (*out < 0xd800 || *out >= 0xe000)
        return true;
    if (!take_word(self, "\\u") || !take_hex4(self, &low) || low < 0xdc00 || low >= 0xe000)
        return false;
    *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

static size_t put_utf8(uint32_t c, uint8_t out[4])
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xc0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xe0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (c & 0x3f));
    return 4;
}

/* After the backslash: the bytes that the escape stands for. */
static bool scan_escape(cursor_t *self, uint8_t out[4], size_t *len)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    uint32_t code_point;
    if (take(self, 'u')) {
        if (!take_code_point(self, &code_point))
            return false;
        *len = put_utf8(code_point, out);
        return true;
    }
    if (self->at == self->end || *self->at == '\0')
        return false;
    const char *letter = strchr(letters, *self->at);
    if (!letter)
        return false;
    self->at++;
    out[0] = (uint8_t)meanings[letter - letters];
    *len = 1;
    return true;
}

/* One decoded piece of a string's inside: a code point as it stands, or what an escape means. */
static bool scan_piece(cursor_t *self, uint8_t out[4], size_t *len)
{
    if (take(self, '\\'))
        return scan_escape(self, out, len);
    const uint8_t *start = self->at;
    if (*start < 0x20 || !scan_utf8(self))
        return false;
    *len = (size_t)(self->at - start);
    memcpy(out, start, *len);
    return true;
}

static bool scan_string(cursor_t *self)
{
    uint8_t piece[4];
    size_t len;
    if (!take(self, '"'))
        return false;
    while (self->at < self->end) {
        if (take(self, '"'))
            return true;
        if (!scan_piece(self, piece, &len))
            return false;
    }
    return false;
}

static bool scan_member(cursor_t *self, int depth)
{
    pr_json_t ignored;
    skip_space(self);
    if (!scan_string(self))
        return false;
    skip_space(self);
    return take(self, ':') && scan_value(self, depth, &ignored);
}

/* After the opening bracket; depth: of what is inside. */
static bool scan_items(cursor_t *self, int depth, bool is_object)
{
    uint8_t close = is_object ? '}' : ']';
    pr_json_t ignored;
    skip_space(self);
    if (take(self, close))
        return true;
    do {
        if (is_object ? !scan_member(self, depth) : !scan_value(self, depth, &ignored))
            return false;
        skip_space(self);
    } while (take(self, ','));
    return take(self, close);
}

static bool scan_inside(cursor_t *self, int depth, pr_json_type_t type)
{
    switch (type) {
    case PR_JSON_NULL:
        return take_word(self, "null");
    case PR_JSON_FALSE:
        return take_word(self, "false");
    case PR_JSON_TRUE:
        return take_word(self, "true");
    case PR_JSON_STRING:
        return scan_string(self);
    case PR_JSON_ARRAY:
    case PR_JSON_OBJECT:
        self->at++;
        return depth < PR_JSON_DEPTH_MAX && scan_items(self, depth + 1, type == PR_JSON_OBJECT);
    case PR_JSON_NUMBER:
    case PR_JSON_NONE:
        break;
    }
    return scan_number(self);
}

static pr_json_type_t type_of(uint8_t first)
{
    switch (first) {
    case 'n':
        return PR_JSON_NULL;
    case 'f':
        return PR_JSON_FALSE;
    case 't':
        return PR_JSON_TRUE;
    case '"':
        return PR_JSON_STRING;
    case '[':
        return PR_JSON_ARRAY;
    case '{':
        return PR_JSON_OBJECT;
    default:
        return PR_JSON_NUMBER;
    }
}

/* Skips space before the value, not after it. */
static bool scan_value(cursor_t *self, int depth, pr_json_t *out)
{
    skip_space(self);
    if (self->at == self->end)
        return false;
    const uint8_t *start = self->at;
    pr_json_type_t type = type_of(*start);
    if (!scan_inside(self, depth, type))
        return false;
    *out = (pr_json_t){type, pr_bytes(start, (size_t)(self->at - start))};
    return true;
}

pr_rc_t pr_json_check(pr_bytes_t text, pr_json_t *out)
{
    pr_json_t value;
    if (text.len == 0)
        return PR_BAD;
    cursor_t cursor = {text.data, text.data + text.len};
    if (!scan_value(&cursor, 0, &value))
        return PR_BAD;
    skip_space(&cursor);
    if (cursor.at != cursor.end)
        return PR_BAD;
    *out = value;
    return PR_OK;
}

/* ---- walking what was checked ---- */

/* Puts *self before the next item; false at the closing bracket. */
static bool begin_item(pr_json_t container, size_t cursor, cursor_t *self)
{
    self->at = container.text.data + (cursor == 0 ? 1 : cursor);
    self->end = container.text.data + container.text.len;
    skip_space(self);
    if (cursor != 0 && take(self, ','))
        skip_space(self);
    return !next_is(self, ']') && !next_is(self, '}');
}

static void end_item(pr_json_t container, size_t *cursor, const cursor_t *self)
{
    *cursor = (size_t)(self->at - container.text.data);
}

bool pr_json_next_member(pr_json_t object, size_t *cursor, pr_json_t *key, pr_json_t *value)
{
    cursor_t self;
    pr_assert(object.type == PR_JSON_OBJECT);
    if (!begin_item(object, *cursor, &self))
        return false;
    bool ok = scan_value(&self, 0, key);
    skip_space(&self);
    ok = ok && take(&self, ':') && scan_value(&self, 0, value);
    pr_assert(ok); /* pr_json_check has seen it */
    end_item(object, cursor, &self);
    return true;
}

bool pr_json_next_element(pr_json_t array, size_t *cursor, pr_json_t *value)
{
    cursor_t self;
    pr_assert(array.type == PR_JSON_ARRAY);
    if (!begin_item(array, *cursor, &self))
        return false;
    bool ok = scan_value(&self, 0, value);
    pr_assert(ok);
    end_item(array, cursor, &self);
    return true;
}

static cursor_t inside_of_string(pr_json_t string)
{
    pr_assert(string.type == PR_JSON_STRING);
    return (cursor_t){string.text.data + 1, string.text.data + string.text.len - 1};
}

bool pr_json_is_text(pr_json_t value, const char *text, size_t len)
{
    if (value.type != PR_JSON_STRING)
        return false;
    cursor_t self = inside_of_string(value);
    size_t at = 0;
    while (self.at < self.end) {
        uint8_t piece[4];
        size_t piece_len;
        if (!scan_piece(&self, piece, &piece_len) || piece_len > len - at ||
            memcmp(text + at, piece, piece_len) != 0)
            return false;
        at += piece_len;
    }
    return at == len;
}

pr_rc_t pr_json_find(pr_json_t object, const char *name, size_t len, pr_json_t *out)
{
    size_t cursor = 0;
    pr_json_t key, value;
    pr_rc_t rc = PR_LOST;
    if (object.type != PR_JSON_OBJECT)
        return PR_LOST;
    while (pr_json_next_member(object, &cursor, &key, &value)) {
        if (!pr_json_is_text(key, name, len))
            continue;
        if (rc == PR_OK)
            return PR_BAD;
        rc = PR_OK;
        *out = value;
    }
    return rc;
}

pr_rc_t pr_json_decode(pr_json_t string, pr_buffer_t *out)
{
    cursor_t self = inside_of_string(string);
    while (self.at < self.end) {
        uint8_t piece[4];
        size_t len;
        bool ok = scan_piece(&self, piece, &len);
        pr_assert(ok);
        if (pr_buffer_append(out, piece, len) != PR_OK)
            return PR_BAD;
    }
    return PR_OK;
}

pr_rc_t pr_json_compact(pr_json_t value, pr_buffer_t *out)
{
    cursor_t self = {value.text.data, value.text.data + value.text.len};
    while (self.at < self.end) {
        const uint8_t *start = self.at;
        bool ok = !next_is(&self, '"') || scan_string(&self);
        pr_assert(ok);
        while (self.at < self.end && *self.at != '"' && !is_space(*self.at))
            self.at++;
        if (pr_buffer_append(out, start, (size_t)(self.at - start)) != PR_OK)
            return PR_BAD;
        skip_space(&self);
    }
    return PR_OK;
}
