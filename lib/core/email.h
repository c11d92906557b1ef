/* SPDX-License-Identifier: Apache-2.0
 *
 * Whom to write to. Not the grammar of RFC 5322: refused is what could never be written to, or would
 * add a line to a mail: more than 254 bytes (RFC 5321 section 4.5.3.1.3, without the brackets),
 * spaces, control bytes, nothing before or after the last '@'. "" is nobody, and fine.
 *
 * postrider.email_ok in sql/ is the same rule; tests/contract/doors compares them.
 */
#ifndef PR_CORE_EMAIL_H
#define PR_CORE_EMAIL_H

#include <stdbool.h>

#define PR_EMAIL_MAX_BYTES 254

bool pr_email_ok(const char *text);

#endif
