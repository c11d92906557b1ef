/* SPDX-License-Identifier: Apache-2.0 */
#include "sign/gcm.h"

#include "base/alloc.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <string.h>

static void free_ctx(EVP_CIPHER_CTX **ctx)
{
    EVP_CIPHER_CTX_free(*ctx);
}

/* Either way. out: room for text.len; tag: read when opening, written when sealing. */
static bool run(const uint8_t *key, const uint8_t *nonce, pr_bytes_t associated, pr_bytes_t text,
                bool seal, uint8_t *out, uint8_t tag[PR_GCM_TAG_BYTES])
{
    int len = 0, last = 0;
    __attribute__((cleanup(free_ctx))) EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool ok =
        ctx && EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, nonce, seal) == 1 &&
        (associated.len == 0 ||
         EVP_CipherUpdate(ctx, NULL, &len, associated.data, (int)associated.len) == 1) &&
        (text.len == 0 || EVP_CipherUpdate(ctx, out, &len, text.data, (int)text.len) == 1) &&
        (seal || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, PR_GCM_TAG_BYTES, tag) == 1) &&
        EVP_CipherFinal_ex(ctx, out + text.len, &last) == 1 &&
        (!seal || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, PR_GCM_TAG_BYTES, tag) == 1);
    if (!ok)
        ERR_clear_error();
    return ok;
}

bool pr_gcm_open(const uint8_t key[PR_GCM_KEY_BYTES], const uint8_t nonce[PR_GCM_NONCE_BYTES],
                 pr_bytes_t associated, pr_bytes_t sealed, pr_buffer_t *out)
{
    uint8_t tag[PR_GCM_TAG_BYTES];
    if (sealed.len < PR_GCM_TAG_BYTES || sealed.len > PR_GCM_TEXT_MAX_BYTES ||
        associated.len > PR_GCM_TEXT_MAX_BYTES)
        return false;
    size_t len = sealed.len - PR_GCM_TAG_BYTES;
    memcpy(tag, sealed.data + len, PR_GCM_TAG_BYTES);
    uint8_t *plain = pr_calloc(len + PR_GCM_TAG_BYTES, 1);
    bool ok = run(key, nonce, associated, pr_bytes(sealed.data, len), false, plain, tag) &&
              pr_buffer_append(out, plain, len) == PR_OK;
    OPENSSL_cleanse(plain, len); /* unverified plain text is nobody's */
    pr_free(plain);
    return ok;
}

bool pr_gcm_seal(const uint8_t key[PR_GCM_KEY_BYTES], const uint8_t nonce[PR_GCM_NONCE_BYTES],
                 pr_bytes_t associated, pr_bytes_t plain, pr_buffer_t *out)
{
    if (plain.len > PR_GCM_TEXT_MAX_BYTES - PR_GCM_TAG_BYTES ||
        associated.len > PR_GCM_TEXT_MAX_BYTES)
        return false;
    uint8_t *made = pr_calloc(plain.len + PR_GCM_TAG_BYTES, 1);
    bool ok = run(key, nonce, associated, plain, true, made, made + plain.len) &&
              pr_buffer_append(out, made, plain.len + PR_GCM_TAG_BYTES) == PR_OK;
    pr_free(made);
    return ok;
}
