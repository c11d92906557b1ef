/* SPDX-License-Identifier: Apache-2.0 */
#include "sign/secret.h"

#include "base/assert.h"
#include "sign/base64.h"
#include "sign/digest.h"

#include <openssl/crypto.h>

#include <string.h>

#define HMAC_KEY_MIN_BYTES 24 /* Standard Webhooks 1.0: 24 to 64 */
#define HMAC_KEY_MAX_BYTES 64
#define RAW_MIN_BYTES 16
#define RAW_MAX_BYTES 128
#define MADE_KEY_BYTES 32

static pr_rc_t bad(pr_error_t *error, const char *why)
{
    return pr_error_set(error, PR_BAD, "secret", "", "%s", why);
}

static bool has_prefix(pr_bytes_t text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.data, prefix, len) == 0;
}

static bool decode(pr_bytes_t text, const char *prefix, pr_secret_t *out)
{
    size_t skip = strlen(prefix);
    return pr_base64_decode(pr_bytes(text.data + skip, text.len - skip), out->key, sizeof out->key,
                            &out->key_len);
}

static pr_rc_t parse_symmetric(pr_bytes_t text, pr_secret_t *out, pr_error_t *error)
{
    out->kind = PR_SECRET_SYMMETRIC;
    if (!decode(text, "whsec_", out))
        return bad(error, "what follows whsec_ is not base64");
    if (out->key_len < HMAC_KEY_MIN_BYTES || out->key_len > HMAC_KEY_MAX_BYTES)
        return bad(error, "whsec_ wants 24 to 64 bytes in base64");
    return PR_OK;
}

static pr_rc_t parse_private(pr_bytes_t text, pr_secret_t *out, pr_error_t *error)
{
    uint8_t public_key[PR_ED25519_PUBLIC_BYTES];
    out->kind = PR_SECRET_ED25519_PRIVATE;
    if (!decode(text, "whsk_", out) || (out->key_len != 32 && out->key_len != 64))
        return bad(error, "whsk_ wants 32 or 64 bytes in base64");
    if (!pr_ed25519_public(out->key, public_key))
        return bad(error, "libcrypto refuses ed25519");
    if (out->key_len == 64 && memcmp(out->key + 32, public_key, sizeof public_key) != 0)
        return bad(error, "the two halves of the whsk_ key do not belong together");
    memcpy(out->key + 32, public_key, sizeof public_key);
    out->key_len = 64;
    return PR_OK;
}

static pr_rc_t parse_public(pr_bytes_t text, pr_secret_t *out, pr_error_t *error)
{
    out->kind = PR_SECRET_ED25519_PUBLIC;
    if (!decode(text, "whpk_", out) || out->key_len != PR_ED25519_PUBLIC_BYTES)
        return bad(error, "whpk_ wants 32 bytes in base64");
    return PR_OK;
}

static pr_rc_t parse_raw(pr_bytes_t text, pr_secret_t *out, pr_error_t *error)
{
    out->kind = PR_SECRET_SYMMETRIC;
    if (text.len < RAW_MIN_BYTES)
        return bad(error, "a secret wants at least 16 characters (or whsec_ and base64)");
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] < 0x20 || text.data[i] > 0x7e)
            return bad(error, "a secret wants printable ASCII (or whsec_ and base64)");
    memcpy(out->key, text.data, text.len);
    out->key_len = text.len;
    return PR_OK;
}

pr_rc_t pr_secret_parse(pr_bytes_t text, pr_secret_t *out, pr_error_t *error)
{
    pr_rc_t rc;
    *out = (pr_secret_t){0};
    if (text.len > RAW_MAX_BYTES)
        return bad(error, "a secret has at most 128 characters");
    if (has_prefix(text, "whsec_"))
        rc = parse_symmetric(text, out, error);
    else if (has_prefix(text, "whsk_"))
        rc = parse_private(text, out, error);
    else if (has_prefix(text, "whpk_"))
        rc = parse_public(text, out, error);
    else
        rc = parse_raw(text, out, error);
    if (rc == PR_OK)
        memcpy(out->text, text.data, text.len);
    else
        pr_secret_wipe(out);
    return rc;
}

static void set_text(pr_secret_t *self, const char *prefix)
{
    size_t len = strlen(prefix);
    pr_assert(len + PR_BASE64_LEN(self->key_len) < sizeof self->text);
    memcpy(self->text, prefix, len);
    pr_base64_encode(pr_bytes(self->key, self->key_len), self->text + len);
}

void pr_secret_make_symmetric(const uint8_t random[32], pr_secret_t *out)
{
    *out = (pr_secret_t){.kind = PR_SECRET_SYMMETRIC, .key_len = MADE_KEY_BYTES};
    memcpy(out->key, random, MADE_KEY_BYTES);
    set_text(out, "whsec_");
}

void pr_secret_make_ed25519(const uint8_t random[32], pr_secret_t *out)
{
    *out = (pr_secret_t){.kind = PR_SECRET_ED25519_PRIVATE, .key_len = 64};
    memcpy(out->key, random, PR_ED25519_SEED_BYTES);
    bool ok = pr_ed25519_public(out->key, out->key + 32);
    pr_assert(ok); /* any 32 bytes are a seed */
    set_text(out, "whsk_");
}

void pr_secret_public_text(const pr_secret_t *self, char out[PR_SECRET_TEXT_MAX])
{
    pr_assert(self->kind == PR_SECRET_ED25519_PRIVATE || self->kind == PR_SECRET_ED25519_PUBLIC);
    size_t at = self->kind == PR_SECRET_ED25519_PRIVATE ? 32 : 0;
    memcpy(out, "whpk_", 5);
    pr_base64_encode(pr_bytes(self->key + at, PR_ED25519_PUBLIC_BYTES), out + 5);
}

void pr_secret_wipe(pr_secret_t *self)
{
    OPENSSL_cleanse(self, sizeof *self);
}
