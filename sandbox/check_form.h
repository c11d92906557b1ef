/* SPDX-License-Identifier: Apache-2.0
 *
 * The form schemes (field name `sign`): MD5 or HMAC-SHA256, upper-case hex, over the fields sorted
 * by byte as "k=v&k=v...&key=SECRET", without sign, sign_type and empty values.
 */
#ifndef PR_SANDBOX_CHECK_FORM_H
#define PR_SANDBOX_CHECK_FORM_H

#include "base/buffer.h"
#include "sandbox/journal.h"

/* Judges an application/x-www-form-urlencoded body under one secret (text as written). OK, BAD, or MISSING when
 * it has no `sign`. *timestamp gets the field's value, -1 when it is not there or no number. */
pr_signature_t pr_check_form(pr_bytes_t body, const char *secret, int64_t *timestamp);

#endif
