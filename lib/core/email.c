/* SPDX-License-Identifier: Apache-2.0 */
#include "core/email.h"

#include <stddef.h>
#include <string.h>

bool pr_email_ok(const char *text)
{
    size_t len = strnlen(text, PR_EMAIL_MAX_BYTES + 1);
    if (len == 0) {
        return true;
    }
    const char *at = len <= PR_EMAIL_MAX_BYTES ? strrchr(text, '@') : NULL;
    if (at == NULL || at == text || at[1] == '\0') {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte <= 0x20 || byte == 0x7f) {
            return false;
        }
    }
    return true;
}
