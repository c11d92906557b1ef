/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/signed.h"

#include "base/alloc.h"
#include "sign/digest.h"

#include <stdlib.h>
#include <string.h>

#define TIMESTAMP_DIGITS_MAX 12
#define NONCE_MIN 16
#define NONCE_MAX 64

static bool parse_timestamp(const char *text, int64_t *out)
{
    size_t len = strspn(text, "0123456789");
    if (len == 0 || len > TIMESTAMP_DIGITS_MAX || text[len] != '\0')
        return false;
    *out = strtoll(text, NULL, 10);
    return true;
}

static bool nonce_ok(const char *text)
{
    size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    return len >= NONCE_MIN && len <= NONCE_MAX && text[len] == '\0';
}

bool pr_signed_request_make(const pr_signed_request_t *request, pr_bytes_t key,
                            char out[PR_SIGNED_HEX_BYTES])
{
    uint8_t digest[PR_SHA256_BYTES], mac[PR_SHA256_BYTES];
    char hex[2 * PR_SHA256_BYTES + 1];
    if (!pr_sha256(request->body, digest))
        return false;
    pr_hex(pr_bytes(digest, sizeof digest), hex);
    pr_bytes_t line = pr_bytes_text("\n");
    const pr_bytes_t parts[] = {pr_bytes_text(request->method),
                                line,
                                pr_bytes_text(request->target),
                                line,
                                pr_bytes_text(request->timestamp),
                                line,
                                pr_bytes_text(request->nonce),
                                line,
                                pr_bytes_text(hex)};
    if (!pr_hmac_sha256(key, parts, PR_COUNT(parts), mac))
        return false;
    pr_hex(pr_bytes(mac, sizeof mac), out);
    return true;
}

const char *pr_signed_request_check(const pr_signed_request_t *request, pr_bytes_t key,
                                    int64_t now_s)
{
    int64_t said_s = 0;
    char wanted[PR_SIGNED_HEX_BYTES];
    if (!request->timestamp || !request->nonce || !request->signature)
        return "signature_missing";
    if (!parse_timestamp(request->timestamp, &said_s) || !nonce_ok(request->nonce))
        return "signature_malformed";
    if (said_s < now_s - PR_SIGNED_WINDOW_S || said_s > now_s + PR_SIGNED_WINDOW_S)
        return "signature_stale";
    if (!pr_signed_request_make(request, key, wanted) ||
        !pr_same_bytes(pr_bytes_text(wanted), pr_bytes_text(request->signature)))
        return "signature_wrong";
    return NULL;
}
