/* SPDX-License-Identifier: Apache-2.0 */
#include "sign/form.h"

#include "base/json_scan.h"

#include <string.h>

void pr_form_init(pr_form_t *self, size_t max_bytes)
{
    self->count = 0;
    pr_buffer_init(&self->bytes, max_bytes);
}

void pr_form_free(pr_form_t *self)
{
    self->count = 0;
    pr_buffer_free(&self->bytes);
}

static pr_bytes_t name_of(const pr_form_t *self, size_t i)
{
    return pr_bytes(self->bytes.data + self->fields[i].name_at, self->fields[i].name_len);
}

static pr_bytes_t value_of(const pr_form_t *self, size_t i)
{
    return pr_bytes(self->bytes.data + self->fields[i].value_at, self->fields[i].value_len);
}

static int compare(pr_bytes_t a, pr_bytes_t b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;
    if (order != 0)
        return order;
    return a.len < b.len ? -1 : a.len > b.len;
}

/* Where the name is, or would be put. */
static size_t place_of(const pr_form_t *self, pr_bytes_t name, bool *found)
{
    size_t low = 0, high = self->count;
    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(name_of(self, middle), name);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void remove_at(pr_form_t *self, size_t at)
{
    self->count--;
    memmove(&self->fields[at], &self->fields[at + 1], (self->count - at) * sizeof self->fields[0]);
}

/* field points at bytes that are appended already. PR_BAD: the name is empty, known or one too
 * many. */
static pr_rc_t insert(pr_form_t *self, pr_form_field_t field)
{
    bool found;
    if (field.name_len == 0)
        return PR_BAD;
    size_t at = place_of(self, pr_bytes(self->bytes.data + field.name_at, field.name_len), &found);
    if (found || self->count == PR_FORM_FIELDS_MAX)
        return PR_BAD;
    memmove(&self->fields[at + 1], &self->fields[at], (self->count - at) * sizeof field);
    self->fields[at] = field;
    self->count++;
    return PR_OK;
}

/* Names are unique even where the value is empty; only then are empty values dropped. */
static void drop_empty(pr_form_t *self)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->count; i++)
        if (self->fields[i].value_len > 0)
            self->fields[kept++] = self->fields[i];
    self->count = kept;
}

pr_rc_t pr_form_set(pr_form_t *self, const char *name, const char *value)
{
    bool found;
    size_t at = place_of(self, pr_bytes_text(name), &found);
    if (found)
        remove_at(self, at);
    if (value[0] == '\0')
        return PR_OK;
    pr_form_field_t field = {.name_at = self->bytes.len, .name_len = strlen(name)};
    field.value_at = field.name_at + field.name_len;
    field.value_len = strlen(value);
    if (pr_buffer_append_text(&self->bytes, name) != PR_OK ||
        pr_buffer_append_text(&self->bytes, value) != PR_OK)
        return PR_BAD;
    return insert(self, field);
}

static pr_rc_t append_value(pr_buffer_t *out, pr_json_t value)
{
    switch (value.type) {
    case PR_JSON_STRING:
        return pr_json_decode(value, out);
    case PR_JSON_ARRAY:
    case PR_JSON_OBJECT:
        return pr_json_compact(value, out);
    case PR_JSON_TRUE:
    case PR_JSON_FALSE:
    case PR_JSON_NUMBER:
        return pr_buffer_append(out, value.text.data, value.text.len);
    case PR_JSON_NULL:
    case PR_JSON_NONE:
        break;
    }
    return PR_OK;
}

static pr_rc_t add_member(pr_form_t *self, pr_json_t key, pr_json_t value)
{
    pr_form_field_t field = {.name_at = self->bytes.len};
    if (pr_json_decode(key, &self->bytes) != PR_OK)
        return PR_BAD;
    field.value_at = self->bytes.len;
    field.name_len = field.value_at - field.name_at;
    if (append_value(&self->bytes, value) != PR_OK)
        return PR_BAD;
    field.value_len = self->bytes.len - field.value_at;
    return insert(self, field);
}

pr_rc_t pr_form_read_json(pr_form_t *self, pr_bytes_t json, size_t max_fields, pr_error_t *error)
{
    pr_json_t object, key, value;
    size_t cursor = 0, count = 0;
    if (pr_json_check(json, &object) != PR_OK || object.type != PR_JSON_OBJECT)
        return pr_error_set(error, PR_BAD, "sign", "", "the body is not a JSON object");
    while (pr_json_next_member(object, &cursor, &key, &value)) {
        if (++count > max_fields || add_member(self, key, value) != PR_OK)
            return pr_error_set(error, PR_BAD, "sign", "",
                                "the body has too many or too large fields, or one name twice");
    }
    drop_empty(self);
    return PR_OK;
}

/* Appends the decoded form of text. */
static pr_rc_t append_unescaped(pr_buffer_t *out, pr_bytes_t text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c == '+') {
            c = ' ';
        } else if (c == '%') {
            if (text.len - i < 3 || !pr_unhex((const char *)text.data + i + 1, 2, &c))
                return PR_BAD;
            i += 2;
        }
        if (pr_buffer_append(out, &c, 1) != PR_OK)
            return PR_BAD;
    }
    return PR_OK;
}

static pr_rc_t add_pair(pr_form_t *self, pr_bytes_t pair)
{
    const uint8_t *equals = pair.len > 0 ? memchr(pair.data, '=', pair.len) : NULL;
    size_t name_len = equals ? (size_t)(equals - pair.data) : pair.len;
    size_t value_from = equals ? name_len + 1 : name_len;
    pr_form_field_t field = {.name_at = self->bytes.len};
    if (append_unescaped(&self->bytes, pr_bytes(pair.data, name_len)) != PR_OK)
        return PR_BAD;
    field.value_at = self->bytes.len;
    field.name_len = field.value_at - field.name_at;
    if (append_unescaped(&self->bytes, pr_bytes(pair.data + value_from, pair.len - value_from)) !=
        PR_OK)
        return PR_BAD;
    field.value_len = self->bytes.len - field.value_at;
    return insert(self, field);
}

pr_rc_t pr_form_read_urlencoded(pr_form_t *self, pr_bytes_t body)
{
    size_t at = 0;
    while (at < body.len) {
        const uint8_t *start = body.data + at;
        const uint8_t *end = memchr(start, '&', body.len - at);
        size_t len = end ? (size_t)(end - start) : body.len - at;
        if (add_pair(self, pr_bytes(start, len)) != PR_OK)
            return PR_BAD;
        at += len + 1;
    }
    drop_empty(self);
    return PR_OK;
}

pr_bytes_t pr_form_get(const pr_form_t *self, const char *name)
{
    bool found;
    size_t at = place_of(self, pr_bytes_text(name), &found);
    return found ? value_of(self, at) : (pr_bytes_t){NULL, 0};
}

static bool is_signed(pr_bytes_t name)
{
    return !pr_bytes_equal(name, pr_bytes_text("sign")) &&
           !pr_bytes_equal(name, pr_bytes_text("sign_type"));
}

static pr_rc_t append_raw(pr_buffer_t *out, pr_bytes_t bytes)
{
    return pr_buffer_append(out, bytes.data, bytes.len);
}

pr_rc_t pr_form_to_sign(const pr_form_t *self, const char *secret, pr_buffer_t *out)
{
    for (size_t i = 0; i < self->count; i++) {
        if (!is_signed(name_of(self, i)))
            continue;
        if (append_raw(out, name_of(self, i)) != PR_OK || pr_buffer_append(out, "=", 1) != PR_OK ||
            append_raw(out, value_of(self, i)) != PR_OK || pr_buffer_append(out, "&", 1) != PR_OK)
            return PR_BAD;
    }
    return pr_buffer_printf(out, "key=%s", secret);
}

static bool is_unreserved(uint8_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

/* RFC 3986: %20, not '+', which every decoder of forms reads as well. */
static pr_rc_t append_escaped(pr_buffer_t *out, pr_bytes_t text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        const char escaped[3] = {'%', digits[c >> 4], digits[c & 15]};
        pr_rc_t rc = is_unreserved(c) ? pr_buffer_append(out, &c, 1)
                                      : pr_buffer_append(out, escaped, sizeof escaped);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

pr_rc_t pr_form_urlencode(const pr_form_t *self, pr_buffer_t *out)
{
    for (size_t i = 0; i < self->count; i++) {
        if ((i > 0 && pr_buffer_append(out, "&", 1) != PR_OK) ||
            append_escaped(out, name_of(self, i)) != PR_OK ||
            pr_buffer_append(out, "=", 1) != PR_OK ||
            append_escaped(out, value_of(self, i)) != PR_OK)
            return PR_BAD;
    }
    return PR_OK;
}
