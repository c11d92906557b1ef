/* SPDX-License-Identifier: Apache-2.0
 *
 * The body of an answer or a webhook as JSON in UTF-8, whatever it came as: JSON, JSON in another
 * charset, or a form (an object of texts).
 */
#ifndef PR_GATEWAY_DOCUMENT_H
#define PR_GATEWAY_DOCUMENT_H

#include "base/json_scan.h"
#include "sign/form.h"

typedef struct {
    pr_json_t root;          /* borrows the body, or text */
    pr_buffer_t text;        /* what had to be made */
    pr_form_t form;          /* raw values, in their own charset; count 0: it was none */
    const char *raw_charset; /* JSON that was not UTF-8: what it was; else NULL */
    bool flawed_text;        /* bytes that are no character became U+FFFD */
} pr_document_t;

void pr_document_init(pr_document_t *self);
void pr_document_free(pr_document_t *self);

/* charset: of pr_charset_find, tried when the bytes are not UTF-8. PR_BAD: not JSON. */
PR_CHECK pr_rc_t pr_document_read_json(pr_document_t *self, pr_bytes_t body, const char *charset);
/* charset_field: the field that names the charset of this form; "" = charset. PR_BAD: malformed, a
 * name twice, an unknown charset. */
PR_CHECK pr_rc_t pr_document_read_form(pr_document_t *self, pr_bytes_t body, const char *charset,
                                       const char *charset_field);

#endif
