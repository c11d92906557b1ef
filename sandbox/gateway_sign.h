/* SPDX-License-Identifier: Apache-2.0
 *
 * The gateways' cryptography, straight from libcrypto and on purpose without lib/sign and
 * lib/gateway: a judge must not share the accused's code.
 */
#ifndef PR_SANDBOX_GATEWAY_SIGN_H
#define PR_SANDBOX_GATEWAY_SIGN_H

#include "base/buffer.h"

#include <openssl/evp.h>

#define PR_GATE_SIGNATURE_MAX 1400 /* base64 of the longest RSA signature, with its NUL */

/* Each writes text and a NUL. */
void pr_gate_hmac_hex(pr_bytes_t key, pr_bytes_t text, char out[65]);
void pr_gate_hmac_base64(pr_bytes_t key, pr_bytes_t text, char out[45]);
void pr_gate_md5_upper(pr_bytes_t text, char out[33]);
void pr_gate_sha256_hex(pr_bytes_t text, char out[65]);
bool pr_gate_rsa_sign(EVP_PKEY *key, pr_bytes_t text, char out[PR_GATE_SIGNATURE_MAX]);
bool pr_gate_rsa_verify(EVP_PKEY *key, pr_bytes_t text, pr_bytes_t base64);
/* Appends base64 of ciphertext and tag (AES-256-GCM; key 32 bytes, nonce 12). */
bool pr_gate_gcm_seal(const char *key, const char *nonce, const char *associated, pr_bytes_t plain,
                      pr_buffer_t *out);
uint32_t pr_gate_crc32(pr_bytes_t bytes); /* IEEE 802.3 */
/* Equal texts, in a time that does not tell where they differ. */
bool pr_gate_same(pr_bytes_t a, const char *b);

EVP_PKEY *pr_gate_key_make(void);            /* RSA, 2048 bits */
EVP_PKEY *pr_gate_key_read(const char *pem); /* private, public or certificate; NULL: none */
bool pr_gate_key_is_private(const EVP_PKEY *self);
char *pr_gate_key_private(EVP_PKEY *self); /* PEM, the caller's */
char *pr_gate_key_public(EVP_PKEY *self);

#endif
