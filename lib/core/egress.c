/* SPDX-License-Identifier: Apache-2.0 */
#include "core/egress.h"

#include "base/alloc.h"
#include "core/address.h"
#include "core/url.h"

#include <stdio.h>
#include <string.h>

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
static const char user_bytes[] = ALNUM "._~!$&'()*+,;=:%-";
static const char interface_bytes[] = ALNUM "._-";

static bool is_proxy_at(const char *text)
{
    const char *at = strchr(text, '@');
    if (at != NULL) {
        if (at == text || text + strspn(text, user_bytes) != at) {
            return false;
        }
        text = at + 1;
    }
    size_t len = strcspn(text, "/?#");
    if (strcmp(text + len, "") != 0 && strcmp(text + len, "/") != 0) {
        return false;
    }
    char url[PR_EGRESS_MAX_BYTES + 8];
    pr_url_t parsed;
    pr_error_t error;
    snprintf(url, sizeof url, "http://%.*s", (int)len, text);
    return pr_url_parse(url, &parsed, &error) == PR_OK;
}

bool pr_egress_ok(const char *text)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://", "socks5h://"};
    pr_ip_t ip;
    if (text[0] == '\0') {
        return true;
    }
    if (strnlen(text, PR_EGRESS_MAX_BYTES + 1) > PR_EGRESS_MAX_BYTES) {
        return false;
    }
    for (size_t i = 0; i < PR_COUNT(schemes); i++) {
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0) {
            return is_proxy_at(text + strlen(schemes[i]));
        }
    }
    if (strncmp(text, "address:", 8) == 0) {
        return pr_ip_parse(text + 8, strlen(text + 8), &ip);
    }
    if (strncmp(text, "interface:", 10) == 0) {
        size_t len = strlen(text + 10);
        return len >= 1 && len <= PR_INTERFACE_MAX_BYTES &&
               strspn(text + 10, interface_bytes) == len;
    }
    return false;
}
