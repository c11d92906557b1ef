/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/console/cookies.h"

#include <stdio.h>
#include <string.h>

static const char *name_of(bool secure)
{
    return secure ? "__Host-postrider" : "postrider_session";
}

static bool token_ok(const char *text, size_t len)
{
    if (len != PR_SESSION_TOKEN_BYTES - 1)
        return false;
    for (size_t i = 0; i < len; i++)
        if (strchr("0123456789abcdef", text[i]) == NULL)
            return false;
    return true;
}

bool pr_cookie_find(const char *header, bool secure, char out[PR_SESSION_TOKEN_BYTES])
{
    const char *name = name_of(secure);
    size_t name_len = strlen(name), count = 0;
    bool good = false;
    for (const char *at = header ? header : ""; *at != '\0';) {
        at += strspn(at, " ;\t");
        size_t len = strcspn(at, ";");
        if (len > name_len && strncmp(at, name, name_len) == 0 && at[name_len] == '=') {
            const char *value = at + name_len + 1;
            size_t value_len = len - name_len - 1;
            while (value_len > 0 && (value[value_len - 1] == ' ' || value[value_len - 1] == '\t'))
                value_len--;
            good = token_ok(value, value_len);
            if (good)
                snprintf(out, PR_SESSION_TOKEN_BYTES, "%.*s", (int)value_len, value);
            count++;
        }
        at += len;
    }
    return good && count == 1;
}

void pr_cookie_write(const char *token, bool secure, char out[PR_SESSION_COOKIE_BYTES])
{
    snprintf(out, PR_SESSION_COOKIE_BYTES, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s%s",
             name_of(secure), token, secure ? "; Secure" : "",
             token[0] == '\0' ? "; Max-Age=0" : "");
}
