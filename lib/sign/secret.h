/* SPDX-License-Identifier: Apache-2.0
 *
 * Signing secrets as people and the database (unsealed) hold them: text.
 *
 *   whsec_BASE64   24 to 64 bytes, an HMAC key            (Standard Webhooks)
 *   whsk_BASE64    an ed25519 private key: 32 bytes of seed, or 64 of seed and public key
 *   whpk_BASE64    an ed25519 public key, 32 bytes
 *   anything else  16 to 128 printable ASCII bytes, used as they are
 *
 * HMAC signatures use the decoded bytes; form signatures (MD5 and HMAC with &key=) use the text as
 * written, because that is what their receivers paste into their code. Never logged. pr_secret_wipe
 * when done.
 */
#ifndef PR_SIGN_SECRET_H
#define PR_SIGN_SECRET_H

#include "base/buffer.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define PR_SECRET_TEXT_MAX 129 /* with the NUL */

typedef enum {
    PR_SECRET_NONE = 0,
    PR_SECRET_SYMMETRIC,
    PR_SECRET_ED25519_PRIVATE, /* key = seed (32) and public key (32) */
    PR_SECRET_ED25519_PUBLIC,  /* key = public key (32) */
} pr_secret_kind_t;

typedef struct {
    pr_secret_kind_t kind;
    size_t key_len;
    uint8_t key[128];
    char text[PR_SECRET_TEXT_MAX];
} pr_secret_t;

/* PR_BAD: error->text says what is wrong, never the secret; *out is then wiped. */
PR_CHECK pr_rc_t pr_secret_parse(pr_bytes_t text, pr_secret_t *out, pr_error_t *error);
/* A fresh whsec_ secret from 32 random bytes, given. */
void pr_secret_make_symmetric(const uint8_t random[32], pr_secret_t *out);
/* A fresh whsk_ key pair from 32 random bytes, given (RFC 8032: any 32 bytes are a seed). */
void pr_secret_make_ed25519(const uint8_t random[32], pr_secret_t *out);
/* The whpk_ text of a key pair (what the merchant gets). Asserts an ed25519 secret. */
void pr_secret_public_text(const pr_secret_t *self, char out[PR_SECRET_TEXT_MAX]);
void pr_secret_wipe(pr_secret_t *self);

#endif
