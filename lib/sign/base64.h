/* SPDX-License-Identifier: Apache-2.0
 *
 * Base64 of RFC 4648 section 4. Reading is strict, so that every value has one text (with or
 * without its padding): no white space, no bits left over.
 */
#ifndef PR_SIGN_BASE64_H
#define PR_SIGN_BASE64_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_BASE64_LEN(bytes) (((bytes) + 2) / 3 * 4) /* without a NUL */

/* Writes PR_BASE64_LEN(bytes.len) characters and a NUL. */
void pr_base64_encode(pr_bytes_t bytes, char *out);
/* False: not base64, or more than room bytes. *len = bytes written to out. */
bool pr_base64_decode(pr_bytes_t text, uint8_t *out, size_t room, size_t *len);

#endif
