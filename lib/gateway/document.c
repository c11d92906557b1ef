/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/document.h"

#include "gateway/charset.h"
#include "gateway/gateway.h"

#include <string.h>

#define TEXT_MAX_BYTES (4 * PR_GATEWAY_BODY_MAX_BYTES) /* GBK's two bytes become three */

void pr_document_init(pr_document_t *self)
{
    *self = (pr_document_t){0};
    pr_buffer_init(&self->text, TEXT_MAX_BYTES);
    pr_form_init(&self->form, PR_GATEWAY_BODY_MAX_BYTES);
}

void pr_document_free(pr_document_t *self)
{
    pr_buffer_free(&self->text);
    pr_form_free(&self->form);
    self->root = (pr_json_t){0};
}

pr_rc_t pr_document_read_json(pr_document_t *self, pr_bytes_t body, const char *charset)
{
    if (body.len > PR_GATEWAY_BODY_MAX_BYTES)
        return PR_BAD;
    if (pr_json_check(body, &self->root) == PR_OK)
        return PR_OK;
    if (pr_charset_is_utf8(charset) ||
        pr_charset_to_utf8(charset, body, &self->text, &self->flawed_text) != PR_OK ||
        pr_json_check(pr_buffer_bytes(&self->text), &self->root) != PR_OK)
        return PR_BAD;
    self->raw_charset = charset;
    return PR_OK;
}

static pr_rc_t append_quoted(pr_buffer_t *out, pr_bytes_t text)
{
    pr_rc_t rc = pr_buffer_append(out, "\"", 1);
    for (size_t i = 0; rc == PR_OK && i < text.len; i++) {
        uint8_t c = text.data[i];
        rc = c < 0x20 || c == '"' || c == '\\' ? pr_buffer_printf(out, "\\u%04x", c)
                                               : pr_buffer_append(out, &c, 1);
    }
    return rc == PR_OK ? pr_buffer_append(out, "\"", 1) : rc;
}

static pr_rc_t append_converted(pr_document_t *self, const char *charset, pr_bytes_t raw)
{
    pr_buffer_t text;
    pr_buffer_init(&text, TEXT_MAX_BYTES);
    pr_rc_t rc = pr_charset_to_utf8(charset, raw, &text, &self->flawed_text);
    if (rc == PR_OK)
        rc = append_quoted(&self->text, pr_buffer_bytes(&text));
    pr_buffer_free(&text);
    return rc;
}

static pr_rc_t append_object(pr_document_t *self, const char *charset)
{
    const pr_form_t *form = &self->form;
    pr_rc_t rc = pr_buffer_append(&self->text, "{", 1);
    for (size_t i = 0; rc == PR_OK && i < form->count; i++) {
        const pr_form_field_t *field = &form->fields[i];
        const uint8_t *bytes = form->bytes.data;
        if (i > 0)
            rc = pr_buffer_append(&self->text, ",", 1);
        if (rc == PR_OK)
            rc = append_converted(self, charset, pr_bytes(bytes + field->name_at, field->name_len));
        if (rc == PR_OK)
            rc = pr_buffer_append(&self->text, ":", 1);
        if (rc == PR_OK)
            rc = append_converted(self, charset,
                                  pr_bytes(bytes + field->value_at, field->value_len));
    }
    return rc == PR_OK ? pr_buffer_append(&self->text, "}", 1) : rc;
}

pr_rc_t pr_document_read_form(pr_document_t *self, pr_bytes_t body, const char *charset,
                              const char *charset_field)
{
    if (body.len > PR_GATEWAY_BODY_MAX_BYTES ||
        pr_form_read_urlencoded(&self->form, body) != PR_OK || self->form.count == 0)
        return PR_BAD;
    if (charset_field[0]) {
        pr_bytes_t named = pr_form_get(&self->form, charset_field);
        if (named.len > 0)
            charset = pr_charset_find(named);
    }
    if (!charset || append_object(self, charset) != PR_OK)
        return PR_BAD;
    return pr_json_check(pr_buffer_bytes(&self->text), &self->root);
}
