/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/check.h"

#include "base/assert.h"
#include "sandbox/check_form.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <string.h>

#define KEY_MAX 512

typedef struct {
    uint8_t bytes[KEY_MAX];
    size_t len;
    bool is_public; /* an ed25519 public key */
} secret_key_t;

typedef struct {
    const pr_request_t *request;
    const uint8_t *data;
    pr_bytes_t body;
} message_t;

static bool decode_base64(const char *text, size_t len, uint8_t *out, size_t room, size_t *out_len)
{
    uint8_t plain[KEY_MAX * 2];
    if (len == 0 || len % 4 != 0 || len / 4 * 3 > sizeof(plain)) {
        return false;
    }
    int got = EVP_DecodeBlock(plain, (const unsigned char *)text, (int)len);
    size_t pad = (size_t)(text[len - 1] == '=') + (size_t)(text[len - 2] == '=');
    if (got < 0 || (size_t)got - pad > room) {
        return false;
    }
    *out_len = (size_t)got - pad;
    memcpy(out, plain, *out_len);
    return true;
}

static bool key_from(const char *secret, secret_key_t *out)
{
    static const char symmetric[] = "whsec_", public[] = "whpk_";
    size_t len = strlen(secret);
    out->is_public = strncmp(secret, public, sizeof(public) - 1) == 0;
    if (out->is_public) {
        return decode_base64(secret + 5, len - 5, out->bytes, KEY_MAX, &out->len) && out->len == 32;
    }
    if (strncmp(secret, symmetric, sizeof(symmetric) - 1) == 0) {
        return decode_base64(secret + 6, len - 6, out->bytes, KEY_MAX, &out->len);
    }
    out->len = len < KEY_MAX ? len : KEY_MAX;
    memcpy(out->bytes, secret, out->len);
    return len <= KEY_MAX;
}

static pr_bytes_t field(const message_t *message, pr_span_t span)
{
    return pr_request_view(message->data, span);
}

static void join(const pr_bytes_t *parts, size_t count, pr_buffer_t *out)
{
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        len += parts[i].len;
    }
    pr_buffer_init(out, len + 1);
    for (size_t i = 0; i < count; i++) {
        pr_rc_t rc = pr_buffer_append(out, parts[i].data, parts[i].len);
        pr_assert(rc == PR_OK);
    }
}

static void hmac(const secret_key_t *key, const pr_bytes_t *parts, size_t count, uint8_t out[32])
{
    pr_buffer_t text;
    join(parts, count, &text);
    unsigned int len = 0;
    const uint8_t *made =
        HMAC(EVP_sha256(), key->bytes, (int)key->len, text.data, text.len, out, &len);
    pr_assert(made && len == 32);
    pr_buffer_free(&text);
}

/* X-Signature: hex HMAC-SHA256 over the body followed by the timestamp (N10). */
static bool matches_hex(const message_t *message, const secret_key_t *key, pr_span_t span)
{
    uint8_t want[32], got[32];
    const pr_bytes_t parts[] = {message->body, field(message, message->request->timestamp)};
    pr_bytes_t text = field(message, span);
    if (key->is_public || text.len != 64 || !pr_unhex((const char *)text.data, text.len, got)) {
        return false;
    }
    hmac(key, parts, 2, want);
    return CRYPTO_memcmp(want, got, sizeof(want)) == 0;
}

static bool verify_ed25519(const secret_key_t *key, const uint8_t *signature,
                           const pr_bytes_t *parts, size_t count)
{
    pr_buffer_t text;
    join(parts, count, &text);
    EVP_PKEY *public_key =
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key->bytes, key->len);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool good = public_key && context &&
                EVP_DigestVerifyInit(context, NULL, NULL, NULL, public_key) == 1 &&
                EVP_DigestVerify(context, signature, 64, text.data, text.len) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(public_key);
    pr_buffer_free(&text);
    ERR_clear_error();
    return good;
}

/* One `v1,BASE64` or `v1a,BASE64` of webhook-signature. */
static bool matches_webhook(const message_t *message, const secret_key_t *key, const char *text,
                            size_t len)
{
    uint8_t got[64], want[32];
    size_t got_len = 0;
    size_t prefix = key->is_public ? 4 : 3;
    if (len < prefix || memcmp(text, key->is_public ? "v1a," : "v1,", prefix) != 0 ||
        !decode_base64(text + prefix, len - prefix, got, sizeof(got), &got_len)) {
        return false;
    }
    const pr_bytes_t parts[] = {field(message, message->request->webhook_id), pr_bytes_text("."),
                                field(message, message->request->webhook_timestamp),
                                pr_bytes_text("."), message->body};
    if (key->is_public) {
        return got_len == 64 && verify_ed25519(key, got, parts, 5);
    }
    hmac(key, parts, 5, want);
    return got_len == sizeof(want) && CRYPTO_memcmp(want, got, sizeof(want)) == 0;
}

/* True when one of the space-separated signatures verifies under one of the keys: as the
 * published verifiers judge, so that a receiver with either secret passes during a rotation. */
static bool any_webhook(const message_t *message, const secret_key_t *keys, size_t count)
{
    pr_bytes_t list = field(message, message->request->webhook_signature);
    const char *at = (const char *)list.data, *end = at + list.len;
    while (at < end) {
        const char *space = memchr(at, ' ', (size_t)(end - at));
        size_t len = (size_t)((space ? space : end) - at);
        for (size_t i = 0; i < count; i++) {
            if (matches_webhook(message, &keys[i], at, len)) {
                return true;
            }
        }
        at += len + 1;
    }
    return false;
}

static bool any_hex(const message_t *message, const secret_key_t *keys, size_t count,
                    pr_span_t span)
{
    for (size_t i = 0; i < count; i++) {
        if (matches_hex(message, &keys[i], span)) {
            return true;
        }
    }
    return false;
}

static bool is_recent(int64_t at, int64_t wall_s)
{
    return at - wall_s <= PR_CHECK_SKEW_S && wall_s - at <= PR_CHECK_SKEW_S;
}

/* Unix seconds; -1 when the text is no such number. */
static int64_t seconds_of(pr_bytes_t text)
{
    int64_t at = 0;
    if (text.len == 0 || text.len > 12) {
        return -1;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return -1;
        }
        at = at * 10 + (text.data[i] - '0');
    }
    return at;
}

static bool is_form(const message_t *message)
{
    static const char form[] = "application/x-www-form-urlencoded";
    pr_bytes_t type = field(message, message->request->content_type);
    return type.len >= sizeof(form) - 1 && memcmp(type.data, form, sizeof(form) - 1) == 0;
}

static pr_signature_t check_form(const message_t *message, char *const *secrets, size_t count,
                                 int64_t wall_s)
{
    pr_signature_t verdict = PR_SIGNATURE_UNKNOWN;
    for (size_t i = 0; i < count && secrets[i] && verdict != PR_SIGNATURE_OK; i++) {
        int64_t at = -1;
        verdict = pr_check_form(message->body, secrets[i], &at);
        if (verdict == PR_SIGNATURE_OK && !is_recent(at, wall_s)) {
            return PR_SIGNATURE_BAD;
        }
    }
    return verdict;
}

static pr_signature_t check_headers(const message_t *message, const secret_key_t *keys,
                                    size_t count, int64_t wall_s)
{
    const pr_request_t *request = message->request;
    bool plain = request->signature.len > 0, webhook = request->webhook_signature.len > 0;
    if (!plain && !webhook) {
        return PR_SIGNATURE_MISSING;
    }
    /* during a rotation a receiver that knows one secret only finds it in one of the two */
    if (plain && !any_hex(message, keys, count, request->signature) &&
        !any_hex(message, keys, count, request->signature_next)) {
        return PR_SIGNATURE_BAD;
    }
    if (webhook && !any_webhook(message, keys, count)) {
        return PR_SIGNATURE_BAD;
    }
    pr_bytes_t plain_at = field(message, request->timestamp);
    pr_bytes_t webhook_at = field(message, request->webhook_timestamp);
    bool recent = (!plain || is_recent(seconds_of(plain_at), wall_s)) &&
                  (!webhook || is_recent(seconds_of(webhook_at), wall_s));
    bool agree =
        !plain || !webhook ||
        pr_bytes_equal(field(message, request->notify_id), field(message, request->webhook_id));
    return recent && agree ? PR_SIGNATURE_OK : PR_SIGNATURE_BAD;
}

pr_signature_t pr_check_signatures(const pr_request_t *request, const uint8_t *data,
                                   char *const *secrets, size_t count, int64_t wall_s)
{
    secret_key_t keys[8];
    size_t known = 0;
    const message_t message = {request, data,
                               pr_bytes(data + request->head_len, request->content_len)};
    if (is_form(&message)) {
        return check_form(&message, secrets, count, wall_s);
    }
    for (size_t i = 0; i < count && secrets[i] && known < 8; i++) {
        known += key_from(secrets[i], &keys[known]) ? 1 : 0;
    }
    return known > 0 ? check_headers(&message, keys, known, wall_s) : PR_SIGNATURE_UNKNOWN;
}
