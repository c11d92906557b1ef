/* SPDX-License-Identifier: Apache-2.0
 *
 * Fresh RSA keys for unit tests, as PEM: no key lies in the repository.
 */
#ifndef PR_TESTS_RSA_KEYS_H
#define PR_TESTS_RSA_KEYS_H

#include "base/alloc.h"
#include "base/assert.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <string.h>

typedef struct {
    char private_key[8192], public_key[2048], certificate[4096];
} rsa_pem_t;

static inline void rsa_pem_take(BIO *bio, char *out, size_t size)
{
    int len = BIO_read(bio, out, (int)size - 1);
    pr_assert(len > 0);
    out[len] = '\0';
    BIO_free(bio);
}

static inline void rsa_pem_make(rsa_pem_t *out, unsigned bits)
{
    EVP_PKEY *key = EVP_RSA_gen(bits);
    X509 *certificate = X509_new();
    BIO *bio = BIO_new(BIO_s_mem());
    pr_assert(key && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1);
    rsa_pem_take(bio, out->private_key, sizeof out->private_key);
    bio = BIO_new(BIO_s_mem());
    pr_assert(PEM_write_bio_PUBKEY(bio, key) == 1);
    rsa_pem_take(bio, out->public_key, sizeof out->public_key);
    pr_assert(X509_set_pubkey(certificate, key) == 1 &&
              X509_gmtime_adj(X509_getm_notBefore(certificate), 0) &&
              X509_gmtime_adj(X509_getm_notAfter(certificate), 3600) &&
              X509_sign(certificate, key, EVP_sha256()) > 0);
    bio = BIO_new(BIO_s_mem());
    pr_assert(PEM_write_bio_X509(bio, certificate) == 1);
    rsa_pem_take(bio, out->certificate, sizeof out->certificate);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

/* An elliptic key, the caller's: no RSA. */
static inline char *rsa_pem_of_ec(void)
{
    char *out = pr_calloc(2048, 1);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    BIO *bio = BIO_new(BIO_s_mem());
    pr_assert(key && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1);
    rsa_pem_take(bio, out, 2048);
    EVP_PKEY_free(key);
    return out;
}

/* The same key behind a passphrase, the caller's. */
static inline char *rsa_pem_encrypted(const char *pem)
{
    char *out = pr_calloc(8192, 1);
    BIO *in = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, NULL, NULL);
    BIO_free(in);
    BIO *bio = BIO_new(BIO_s_mem());
    pr_assert(key && PEM_write_bio_PrivateKey(bio, key, EVP_aes_128_cbc(),
                                              (const unsigned char *)"pass", 4, NULL, NULL) == 1);
    rsa_pem_take(bio, out, 8192);
    EVP_PKEY_free(key);
    return out;
}

#endif
