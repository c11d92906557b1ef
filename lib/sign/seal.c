/* SPDX-License-Identifier: Apache-2.0 */
#include "sign/seal.h"

#include "base/assert.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <string.h>

#define VERSION 1
#define NONCE_AT 2
#define TEXT_AT (NONCE_AT + PR_SEAL_NONCE_BYTES)
#define TAG_BYTES 16
#define KEY_BYTES 32

_Static_assert(TEXT_AT + TAG_BYTES == PR_SEAL_OVERHEAD_BYTES, "the header says 30");

static void free_ctx(EVP_CIPHER_CTX **ctx)
{
    EVP_CIPHER_CTX_free(*ctx);
}

static pr_rc_t bad(pr_error_t *error, const char *why)
{
    return pr_error_set(error, PR_BAD, "seal", "", "%s", why);
}

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

pr_rc_t pr_master_key_parse(pr_bytes_t file, uint8_t id, pr_master_key_t *out, pr_error_t *error)
{
    *out = (pr_master_key_t){.id = id};
    if (file.len == KEY_BYTES) {
        memcpy(out->bytes, file.data, KEY_BYTES);
        return PR_OK;
    }
    while (file.len > 0 && is_space(file.data[file.len - 1]))
        file.len--;
    while (file.len > 0 && is_space(file.data[0])) {
        file.data++;
        file.len--;
    }
    if (file.len == 2 * KEY_BYTES && pr_unhex((const char *)file.data, file.len, out->bytes))
        return PR_OK;
    pr_master_key_wipe(out);
    return bad(error, "a master key is 64 hex digits or 32 raw bytes");
}

void pr_master_key_wipe(pr_master_key_t *self)
{
    OPENSSL_cleanse(self, sizeof *self);
}

static bool is_merchant(const char *merchant_id)
{
    size_t len = strnlen(merchant_id, PR_SEAL_MERCHANT_MAX_BYTES + 1);
    return len >= 1 && len <= PR_SEAL_MERCHANT_MAX_BYTES;
}

/* Begins either way: key, nonce, additional data. head: version and key id. */
static bool begin(EVP_CIPHER_CTX *ctx, const pr_master_key_t *key, const uint8_t *nonce,
                  const uint8_t head[2], const char *merchant_id, int encrypt)
{
    int len;
    return EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, key->bytes, nonce, encrypt) == 1 &&
           EVP_CipherUpdate(ctx, NULL, &len, head, 2) == 1 &&
           EVP_CipherUpdate(ctx, NULL, &len, (const uint8_t *)merchant_id,
                            (int)strlen(merchant_id)) == 1;
}

/* at: room for plain.len + TAG_BYTES. */
static bool encrypt(const pr_master_key_t *key, const uint8_t *nonce, const uint8_t head[2],
                    const char *merchant_id, pr_bytes_t plain, uint8_t *at)
{
    int len = 0, last = 0;
    __attribute__((cleanup(free_ctx))) EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    return ctx && begin(ctx, key, nonce, head, merchant_id, 1) &&
           (plain.len == 0 || EVP_CipherUpdate(ctx, at, &len, plain.data, (int)plain.len) == 1) &&
           EVP_CipherFinal_ex(ctx, at + len, &last) == 1 &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, at + plain.len) == 1;
}

static bool decrypt(const pr_master_key_t *key, pr_bytes_t sealed, const char *merchant_id,
                    uint8_t *out)
{
    int len = 0, last = 0;
    int text_len = (int)(sealed.len - PR_SEAL_OVERHEAD_BYTES);
    uint8_t tag[TAG_BYTES];
    memcpy(tag, sealed.data + TEXT_AT + text_len, TAG_BYTES);
    __attribute__((cleanup(free_ctx))) EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    return ctx && begin(ctx, key, sealed.data + NONCE_AT, sealed.data, merchant_id, 0) &&
           (text_len == 0 ||
            EVP_CipherUpdate(ctx, out, &len, sealed.data + TEXT_AT, text_len) == 1) &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, tag) == 1 &&
           EVP_CipherFinal_ex(ctx, out + len, &last) == 1;
}

pr_rc_t pr_seal(const pr_master_key_t *key, const char *merchant_id, pr_bytes_t plain,
                const uint8_t nonce[PR_SEAL_NONCE_BYTES], pr_buffer_t *out, pr_error_t *error)
{
    uint8_t made[PR_SEAL_PLAIN_MAX_BYTES + PR_SEAL_OVERHEAD_BYTES] = {VERSION, key->id};
    if (plain.len > PR_SEAL_PLAIN_MAX_BYTES)
        return bad(error, "a secret has at most 4096 bytes");
    if (!is_merchant(merchant_id))
        return bad(error, "a merchant id has 1 to 64 bytes");
    memcpy(made + NONCE_AT, nonce, PR_SEAL_NONCE_BYTES);
    bool ok = encrypt(key, nonce, made, merchant_id, plain, made + TEXT_AT);
    pr_assert(ok); /* AES-256-GCM is in every build of libcrypto */
    if (pr_buffer_append(out, made, plain.len + PR_SEAL_OVERHEAD_BYTES) != PR_OK)
        return bad(error, "no room for the sealed secret");
    return PR_OK;
}

int pr_sealed_key_id(pr_bytes_t sealed)
{
    if (sealed.len < PR_SEAL_OVERHEAD_BYTES ||
        sealed.len > PR_SEAL_OVERHEAD_BYTES + PR_SEAL_PLAIN_MAX_BYTES || sealed.data[0] != VERSION)
        return -1;
    return sealed.data[1];
}

pr_rc_t pr_unseal(const pr_master_key_t *key, const char *merchant_id, pr_bytes_t sealed,
                  pr_buffer_t *out, pr_error_t *error)
{
    uint8_t plain[PR_SEAL_PLAIN_MAX_BYTES];
    int id = pr_sealed_key_id(sealed);
    if (id < 0)
        return bad(error, "not a sealed secret");
    if (id != key->id)
        return bad(error, "sealed with another master key");
    if (!is_merchant(merchant_id))
        return bad(error, "a merchant id has 1 to 64 bytes");
    pr_rc_t rc = PR_OK;
    if (!decrypt(key, sealed, merchant_id, plain)) {
        ERR_clear_error();
        rc = bad(error, "does not open: changed, another merchant's, or another master key");
    } else if (pr_buffer_append(out, plain, sealed.len - PR_SEAL_OVERHEAD_BYTES) != PR_OK) {
        rc = bad(error, "no room for the secret");
    }
    OPENSSL_cleanse(plain, sizeof plain);
    return rc;
}
