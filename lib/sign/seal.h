/* SPDX-License-Identifier: Apache-2.0
 *
 * Secrets at rest and on the bus: AES-256-GCM under a master key, bound to their merchant.
 *
 *   sealed = version (1 byte, 1) | key id (1) | nonce (12) | ciphertext (as the secret) | tag (16)
 *
 * Additional data: version, key id, merchant id: a sealed secret moved to another merchant's row
 * does not open. The nonce must be random and fresh each time (12 bytes: well below 2^32 seals a
 * key, NIST SP 800-38D 8.3). Reading the key file, choosing the key by its id, and the nonce are
 * the caller's.
 */
#ifndef PR_SIGN_SEAL_H
#define PR_SIGN_SEAL_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdint.h>

#define PR_SEAL_NONCE_BYTES 12
#define PR_SEAL_OVERHEAD_BYTES 30
#define PR_SEAL_PLAIN_MAX_BYTES 4096
#define PR_SEAL_MERCHANT_MAX_BYTES 64

typedef struct {
    uint8_t id; /* which master key, for rotation */
    uint8_t bytes[32];
} pr_master_key_t;

/* The contents of a master key file: 64 hex digits (white space around allowed) or exactly 32 raw
 * bytes. */
PR_CHECK pr_rc_t pr_master_key_parse(pr_bytes_t file, uint8_t id, pr_master_key_t *out,
                                     pr_error_t *error);
void pr_master_key_wipe(pr_master_key_t *self);

/* Appends the sealed form to out. PR_BAD: plain over 4096 bytes, merchant id empty or over 64
 * bytes, out full. */
PR_CHECK pr_rc_t pr_seal(const pr_master_key_t *key, const char *merchant_id, pr_bytes_t plain,
                         const uint8_t nonce[PR_SEAL_NONCE_BYTES], pr_buffer_t *out,
                         pr_error_t *error);
/* The key id of a sealed secret, -1 when it is malformed. */
int pr_sealed_key_id(pr_bytes_t sealed);
/* Appends the secret to out. PR_BAD: malformed, another key, changed, or another merchant's;
 * nothing is appended. */
PR_CHECK pr_rc_t pr_unseal(const pr_master_key_t *key, const char *merchant_id, pr_bytes_t sealed,
                           pr_buffer_t *out, pr_error_t *error);

#endif
