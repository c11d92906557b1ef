/* SPDX-License-Identifier: Apache-2.0 */
#include "sign/digest.h"

#include "base/assert.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <string.h>

typedef enum { SHA256_HASH, SHA512_HASH } hash_t;

static void free_mac_ctx(EVP_MAC_CTX **ctx)
{
    EVP_MAC_CTX_free(*ctx);
}

static void free_md_ctx(EVP_MD_CTX **ctx)
{
    EVP_MD_CTX_free(*ctx);
}

static void free_pkey(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}

/* libcrypto's queue of errors is per thread: what we refused must not surface in the next TLS call.
 */
static bool result(bool ok)
{
    if (!ok)
        ERR_clear_error();
    return ok;
}

/* Looking algorithms up by name costs more than an HMAC of a notification, so it is done once; each
 * call works on a copy, which takes its key with it when it is freed. */
static EVP_MAC_CTX *new_hmac(hash_t hash)
{
    static EVP_MAC_CTX *patterns[2];
    if (!patterns[hash]) {
        char digest[] = "SHA256";
        if (hash == SHA512_HASH)
            memcpy(digest, "SHA512", sizeof digest);
        const OSSL_PARAM params[] = {
            OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
            OSSL_PARAM_construct_end(),
        };
        EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
        patterns[hash] = EVP_MAC_CTX_new(hmac);
        EVP_MAC_free(hmac); /* the context holds on to it */
        bool ok = patterns[hash] && EVP_MAC_CTX_set_params(patterns[hash], params) == 1;
        pr_assert(ok);
    }
    return EVP_MAC_CTX_dup(patterns[hash]);
}

static bool hmac(hash_t hash, pr_bytes_t key, const pr_bytes_t *parts, size_t count, uint8_t *out,
                 size_t size)
{
    /* a NULL key would mean "the key of before" */
    static const uint8_t empty_key[1];
    size_t len = 0;
    __attribute__((cleanup(free_mac_ctx))) EVP_MAC_CTX *ctx = new_hmac(hash);
    bool ok = ctx && EVP_MAC_init(ctx, key.len > 0 ? key.data : empty_key, key.len, NULL) == 1;
    for (size_t i = 0; ok && i < count; i++)
        ok = parts[i].len == 0 || EVP_MAC_update(ctx, parts[i].data, parts[i].len) == 1;
    ok = ok && EVP_MAC_final(ctx, out, &len, size) == 1 && len == size;
    return result(ok);
}

bool pr_hmac_sha256(pr_bytes_t key, const pr_bytes_t *parts, size_t count,
                    uint8_t out[PR_SHA256_BYTES])
{
    return hmac(SHA256_HASH, key, parts, count, out, PR_SHA256_BYTES);
}

bool pr_hmac_sha512(pr_bytes_t key, const pr_bytes_t *parts, size_t count,
                    uint8_t out[PR_SHA512_BYTES])
{
    return hmac(SHA512_HASH, key, parts, count, out, PR_SHA512_BYTES);
}

uint32_t pr_crc32(pr_bytes_t bytes)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes.len; i++) {
        crc ^= bytes.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

bool pr_md5(pr_bytes_t bytes, uint8_t out[PR_MD5_BYTES])
{
    unsigned len = 0;
    return result(EVP_Digest(bytes.data, bytes.len, out, &len, EVP_md5(), NULL) == 1 &&
                  len == PR_MD5_BYTES);
}

bool pr_sha256(pr_bytes_t bytes, uint8_t out[PR_SHA256_BYTES])
{
    unsigned len = 0;
    return result(EVP_Digest(bytes.data, bytes.len, out, &len, EVP_sha256(), NULL) == 1 &&
                  len == PR_SHA256_BYTES);
}

bool pr_ed25519_public(const uint8_t seed[PR_ED25519_SEED_BYTES],
                       uint8_t out[PR_ED25519_PUBLIC_BYTES])
{
    size_t len = PR_ED25519_PUBLIC_BYTES;
    __attribute__((cleanup(free_pkey))) EVP_PKEY *key =
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, PR_ED25519_SEED_BYTES);
    return result(key && EVP_PKEY_get_raw_public_key(key, out, &len) == 1);
}

bool pr_ed25519_sign(const uint8_t seed[PR_ED25519_SEED_BYTES], pr_bytes_t message,
                     uint8_t out[PR_ED25519_SIGNATURE_BYTES])
{
    size_t len = PR_ED25519_SIGNATURE_BYTES;
    __attribute__((cleanup(free_pkey))) EVP_PKEY *key =
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, PR_ED25519_SEED_BYTES);
    __attribute__((cleanup(free_md_ctx))) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    return result(key && ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1 &&
                  EVP_DigestSign(ctx, out, &len, message.data, message.len) == 1 &&
                  len == PR_ED25519_SIGNATURE_BYTES);
}

bool pr_ed25519_verify(const uint8_t key_bytes[PR_ED25519_PUBLIC_BYTES], pr_bytes_t message,
                       const uint8_t signature[PR_ED25519_SIGNATURE_BYTES])
{
    __attribute__((cleanup(free_pkey))) EVP_PKEY *key =
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key_bytes, PR_ED25519_PUBLIC_BYTES);
    __attribute__((cleanup(free_md_ctx))) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    return result(key && ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
                  EVP_DigestVerify(ctx, signature, PR_ED25519_SIGNATURE_BYTES, message.data,
                                   message.len) == 1);
}

bool pr_same_bytes(pr_bytes_t a, pr_bytes_t b)
{
    return a.len == b.len && (a.len == 0 || CRYPTO_memcmp(a.data, b.data, a.len) == 0);
}
