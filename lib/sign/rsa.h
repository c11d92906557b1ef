/* SPDX-License-Identifier: Apache-2.0
 *
 * RSA-SHA256 with keys in PEM (RSASSA-PKCS1-v1_5, RFC 8017 8.2), as payment gateways use it.
 *
 * A key text is one or more PEM blocks, only white space between them. Taken are PUBLIC KEY,
 * CERTIFICATE (its key; the chain is not checked: whoever hands the text over
 * vouches for it), PRIVATE KEY, RSA PRIVATE KEY. Encrypted keys are refused, nobody is asked for a
 * passphrase. RSA only, 2048 to 8192 bits. A private key verifies, too.
 */
#ifndef PR_SIGN_RSA_H
#define PR_SIGN_RSA_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>

#define PR_RSA_PEM_MAX_BYTES ((size_t)32 * 1024)
#define PR_RSA_SIGNATURE_MAX_BYTES 1024

typedef struct pr_rsa_key_t pr_rsa_key_t;

/* The first block of text. PR_BAD: error->text says what is wrong, never the key; *out is NULL. */
PR_CHECK pr_rc_t pr_rsa_key_parse(pr_bytes_t text, pr_rsa_key_t **out, pr_error_t *error);
void pr_rsa_key_destroy(pr_rsa_key_t **self);
bool pr_rsa_key_is_private(const pr_rsa_key_t *self);

/* *len = bytes written. False: not a private key, or libcrypto refuses. */
bool pr_rsa_sha256_sign(const pr_rsa_key_t *self, pr_bytes_t message,
                        uint8_t out[PR_RSA_SIGNATURE_MAX_BYTES], size_t *len);
bool pr_rsa_sha256_verify(const pr_rsa_key_t *self, pr_bytes_t message, pr_bytes_t signature);

#endif
