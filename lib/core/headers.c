/* SPDX-License-Identifier: Apache-2.0
 *
 * The list stands in headers.h.
 */
#include "core/headers.h"

#include "base/alloc.h"

#include <ctype.h>
#include <string.h>

/* Ends with '*': every name that begins so. */
static const char *const reserved[] = {
    "host",    "content-*", "transfer-encoding", "connection",     "te",         "trailer",
    "upgrade", "expect",    "keep-alive",        "proxy-*",        "user-agent", "accept-encoding",
    "x-sign*", "x-notify*", "x-timestamp",       "http2-settings", "webhook-*",
};

static bool begins_as(const char *name, const char *start, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((name[i] == '_' ? '-' : tolower((unsigned char)name[i])) != start[i])
            return false; /* at the end of a shorter name at the latest */
    }
    return true;
}

static bool is_reserved(const char *name)
{
    for (size_t i = 0; i < PR_COUNT(reserved); i++) {
        size_t len = strlen(reserved[i]);
        bool prefix = reserved[i][len - 1] == '*';
        len -= prefix;
        if (begins_as(name, reserved[i], len) && (prefix || name[len] == '\0'))
            return true;
    }
    return false;
}

static bool is_token(const char *name)
{
    static const char token_chars[] = "!#$%&'*+-.^_`|~0123456789"
                                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t len = strlen(name);
    return len > 0 && len <= PR_HEADER_NAME_MAX_BYTES && strspn(name, token_chars) == len;
}

static bool is_field_value(const char *value)
{
    if (strlen(value) > PR_HEADER_VALUE_MAX_BYTES)
        return false;
    for (const char *at = value; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
            return false;
    }
    return true;
}

bool pr_header_allowed(const char *name, const char *value)
{
    return is_token(name) && !is_reserved(name) && is_field_value(value);
}
