/* SPDX-License-Identifier: Apache-2.0 */
#include "sign/rsa.h"

#include "base/alloc.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <string.h>

#define BITS_MIN 2048
#define BITS_MAX 8192

struct pr_rsa_key_t {
    EVP_PKEY *key;
    bool is_private;
};

static void free_md_ctx(EVP_MD_CTX **ctx)
{
    EVP_MD_CTX_free(*ctx);
}

static void free_bio(BIO **bio)
{
    BIO_free(*bio);
}

/* See digest.c: libcrypto's queue of errors must not surface elsewhere. */
static bool result(bool ok)
{
    if (!ok)
        ERR_clear_error();
    return ok;
}

/* Instead of asking at a terminal. */
static int no_passphrase(char *buffer, int size, int writing, void *user)
{
    (void)buffer;
    (void)size;
    (void)writing;
    (void)user;
    return -1;
}

static EVP_PKEY *read_certificate(BIO *bio)
{
    X509 *certificate = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
    EVP_PKEY *key = certificate ? X509_get_pubkey(certificate) : NULL;
    X509_free(certificate);
    return key;
}

static bool begins(pr_bytes_t text, const char *label)
{
    size_t at = 0, len = strlen(label);
    while (at < text.len && memchr(" \t\r\n", text.data[at], 4))
        at++;
    return text.len - at >= len && memcmp(text.data + at, label, len) == 0;
}

static EVP_PKEY *read_key(pr_bytes_t text, bool *is_private)
{
    __attribute__((cleanup(free_bio))) BIO *bio = BIO_new_mem_buf(text.data, (int)text.len);
    *is_private = begins(text, "-----BEGIN PRIVATE KEY-----") ||
                  begins(text, "-----BEGIN RSA PRIVATE KEY-----");
    if (!bio)
        return NULL;
    if (*is_private)
        return PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    if (begins(text, "-----BEGIN CERTIFICATE-----"))
        return read_certificate(bio);
    if (begins(text, "-----BEGIN PUBLIC KEY-----") ||
        begins(text, "-----BEGIN RSA PUBLIC KEY-----"))
        return PEM_read_bio_PUBKEY(bio, NULL, no_passphrase, NULL);
    return NULL;
}

pr_rc_t pr_rsa_key_parse(pr_bytes_t text, pr_rsa_key_t **out, pr_error_t *error)
{
    bool is_private;
    *out = NULL;
    if (text.len == 0 || text.len > PR_RSA_PEM_MAX_BYTES)
        return pr_error_set(error, PR_BAD, "sign", "", "a PEM key has 1 to 32768 bytes");
    EVP_PKEY *key = read_key(text, &is_private);
    if (!result(key != NULL))
        return pr_error_set(error, PR_BAD, "sign", "",
                            "not an unencrypted PEM key: -----BEGIN PRIVATE KEY-----, PUBLIC KEY "
                            "or CERTIFICATE is wanted");
    int bits = EVP_PKEY_get_bits(key);
    if (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA || bits < BITS_MIN || bits > BITS_MAX) {
        EVP_PKEY_free(key);
        return pr_error_set(error, PR_BAD, "sign", "", "an RSA key of 2048 to 8192 bits is wanted");
    }
    *out = PR_NEW(pr_rsa_key_t);
    **out = (pr_rsa_key_t){key, is_private};
    return PR_OK;
}

void pr_rsa_key_destroy(pr_rsa_key_t **self)
{
    if (*self)
        EVP_PKEY_free((*self)->key);
    pr_free(*self);
    *self = NULL;
}

bool pr_rsa_key_is_private(const pr_rsa_key_t *self)
{
    return self->is_private;
}

bool pr_rsa_sha256_sign(const pr_rsa_key_t *self, pr_bytes_t message,
                        uint8_t out[PR_RSA_SIGNATURE_MAX_BYTES], size_t *len)
{
    __attribute__((cleanup(free_md_ctx))) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    *len = PR_RSA_SIGNATURE_MAX_BYTES;
    return result(self->is_private && ctx &&
                  EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, self->key) == 1 &&
                  EVP_DigestSign(ctx, out, len, message.data, message.len) == 1);
}

bool pr_rsa_sha256_verify(const pr_rsa_key_t *self, pr_bytes_t message, pr_bytes_t signature)
{
    __attribute__((cleanup(free_md_ctx))) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    return result(ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, self->key) == 1 &&
                  EVP_DigestVerify(ctx, signature.data, signature.len, message.data, message.len) ==
                      1);
}
