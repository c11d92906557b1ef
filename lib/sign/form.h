/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameters of the form schemes: made from the top-level fields of a JSON object or read from a
 * form body, sorted by the bytes of their names, written as the string to sign or as
 * application/x-www-form-urlencoded. Names are unique; empty values are dropped on the way in. Owns
 * its bytes: free it.
 */
#ifndef PR_SIGN_FORM_H
#define PR_SIGN_FORM_H

#include "base/buffer.h"
#include "base/error.h"

#define PR_FORM_FIELDS_MAX 136 /* a body's 128 and our own */

typedef struct {
    size_t name_at, name_len; /* in bytes.data */
    size_t value_at, value_len;
} pr_form_field_t;

typedef struct {
    size_t count;
    pr_form_field_t fields[PR_FORM_FIELDS_MAX]; /* sorted */
    pr_buffer_t bytes;
} pr_form_t;

void pr_form_init(pr_form_t *self, size_t max_bytes);
void pr_form_free(pr_form_t *self);

/* Puts one parameter, replacing one of that name. PR_BAD: too many or too large. An empty value
 * removes. */
PR_CHECK pr_rc_t pr_form_set(pr_form_t *self, const char *name, const char *value);
/* PR_BAD: not a JSON object, a name twice, an empty name, more than max_fields, too large. */
PR_CHECK pr_rc_t pr_form_read_json(pr_form_t *self, pr_bytes_t json, size_t max_fields,
                                   pr_error_t *error);
/* PR_BAD: bad percent escape, a name twice, an empty name, too many, too large. */
PR_CHECK pr_rc_t pr_form_read_urlencoded(pr_form_t *self, pr_bytes_t body);
/* An empty view when not there. */
pr_bytes_t pr_form_get(const pr_form_t *self, const char *name);
/* Appends "k=v&...&key=SECRET" without the names `sign` and `sign_type`. PR_BAD: full. */
PR_CHECK pr_rc_t pr_form_to_sign(const pr_form_t *self, const char *secret, pr_buffer_t *out);
/* Appends the body to post. PR_BAD: full. */
PR_CHECK pr_rc_t pr_form_urlencode(const pr_form_t *self, pr_buffer_t *out);

#endif
