/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/gateway_sign.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>

#include <ctype.h>
#include <string.h>

#define SIGNATURE_BYTES_MAX 1024
#define TAG_BYTES 16

static void hmac(pr_bytes_t key, pr_bytes_t text, uint8_t out[32])
{
    unsigned len = 0;
    const uint8_t *made = HMAC(EVP_sha256(), key.len ? key.data : (const void *)"", (int)key.len,
                               text.len ? text.data : (const void *)"", text.len, out, &len);
    pr_assert(made && len == 32);
}

void pr_gate_hmac_hex(pr_bytes_t key, pr_bytes_t text, char out[65])
{
    uint8_t digest[32];
    hmac(key, text, digest);
    pr_hex(pr_bytes(digest, sizeof(digest)), out);
}

void pr_gate_hmac_base64(pr_bytes_t key, pr_bytes_t text, char out[45])
{
    uint8_t digest[32];
    hmac(key, text, digest);
    EVP_EncodeBlock((uint8_t *)out, digest, sizeof(digest));
}

void pr_gate_md5_upper(pr_bytes_t text, char out[33])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    int done = EVP_Digest(text.data, text.len, digest, NULL, EVP_md5(), NULL);
    pr_assert(done == 1);
    pr_hex(pr_bytes(digest, 16), out);
    for (char *at = out; *at; at++) {
        *at = (char)toupper((unsigned char)*at);
    }
}

void pr_gate_sha256_hex(pr_bytes_t text, char out[65])
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256(text.data, text.len, digest);
    pr_hex(pr_bytes(digest, sizeof(digest)), out);
}

bool pr_gate_rsa_sign(EVP_PKEY *key, pr_bytes_t text, char out[PR_GATE_SIGNATURE_MAX])
{
    uint8_t bytes[SIGNATURE_BYTES_MAX];
    size_t len = sizeof(bytes);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool done = context && key && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestSign(context, bytes, &len, text.data, text.len) == 1;
    EVP_MD_CTX_free(context);
    if (done) {
        EVP_EncodeBlock((uint8_t *)out, bytes, (int)len);
    }
    ERR_clear_error();
    return done;
}

bool pr_gate_rsa_verify(EVP_PKEY *key, pr_bytes_t text, pr_bytes_t base64)
{
    uint8_t bytes[PR_GATE_SIGNATURE_MAX];
    if (!key || base64.len == 0 || base64.len % 4 != 0 || base64.len > sizeof(bytes)) {
        return false;
    }
    int len = EVP_DecodeBlock(bytes, base64.data, (int)base64.len);
    if (len <= 0) {
        return false;
    }
    for (size_t i = base64.len; i > base64.len - 2 && base64.data[i - 1] == '='; i--) {
        len--; /* it counts the padding as bytes */
    }
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool good = context && EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestVerify(context, bytes, (size_t)len, text.data, text.len) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return good;
}

bool pr_gate_gcm_seal(const char *key, const char *nonce, const char *associated, pr_bytes_t plain,
                      pr_buffer_t *out)
{
    size_t room = plain.len + TAG_BYTES;
    PR_CLEANUP_FREE uint8_t *sealed = pr_calloc(room, 1);
    PR_CLEANUP_FREE char *text = pr_calloc(room / 3 * 4 + 8, 1);
    int len = 0, rest = 0;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    bool done =
        context && strlen(key) == 32 && strlen(nonce) == 12 &&
        EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), NULL, (const uint8_t *)key,
                           (const uint8_t *)nonce) == 1 &&
        EVP_EncryptUpdate(context, NULL, &len, (const uint8_t *)associated,
                          (int)strlen(associated)) == 1 &&
        EVP_EncryptUpdate(context, sealed, &len, plain.data, (int)plain.len) == 1 &&
        EVP_EncryptFinal_ex(context, sealed + len, &rest) == 1 &&
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, sealed + plain.len) == 1;
    EVP_CIPHER_CTX_free(context);
    if (!done) {
        return false;
    }
    EVP_EncodeBlock((uint8_t *)text, sealed, (int)room);
    return pr_buffer_append_text(out, text) == PR_OK;
}

uint32_t pr_gate_crc32(pr_bytes_t bytes)
{
    uint32_t crc = ~0U;
    for (size_t i = 0; i < bytes.len; i++) {
        crc ^= bytes.data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
        }
    }
    return ~crc;
}

bool pr_gate_same(pr_bytes_t a, const char *b)
{
    return a.len == strlen(b) && CRYPTO_memcmp(a.len ? a.data : (const void *)"", b, a.len) == 0;
}

/* ---- keys ---- */

EVP_PKEY *pr_gate_key_make(void)
{
    EVP_PKEY *key = EVP_RSA_gen(2048U);
    pr_assert(key);
    return key;
}

EVP_PKEY *pr_gate_key_read(const char *pem)
{
    EVP_PKEY *key = NULL;
    BIO *bio = BIO_new_mem_buf(pem, -1);
    pr_assert(bio);
    if (strstr(pem, "PRIVATE KEY-----")) {
        key = PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)(uintptr_t) "");
    } else if (strstr(pem, "BEGIN CERTIFICATE-----")) {
        X509 *certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);
        key = certificate ? X509_get_pubkey(certificate) : NULL;
        X509_free(certificate);
    } else {
        key = PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
    }
    BIO_free(bio);
    ERR_clear_error();
    return key;
}

bool pr_gate_key_is_private(const EVP_PKEY *self)
{
    BIGNUM *d = NULL;
    bool there = EVP_PKEY_get_bn_param(self, OSSL_PKEY_PARAM_RSA_D, &d) == 1;
    BN_clear_free(d);
    ERR_clear_error();
    return there;
}

static char *pem_of(EVP_PKEY *key, bool private)
{
    char *data = NULL;
    BIO *bio = BIO_new(BIO_s_mem());
    int done = private ? PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL)
                       : PEM_write_bio_PUBKEY(bio, key);
    pr_assert(done == 1);
    long len = BIO_get_mem_data(bio, &data);
    char *text = pr_strndup(data, (size_t)len);
    BIO_free(bio);
    return text;
}

char *pr_gate_key_private(EVP_PKEY *self)
{
    return pem_of(self, true);
}

char *pr_gate_key_public(EVP_PKEY *self)
{
    return pem_of(self, false);
}
