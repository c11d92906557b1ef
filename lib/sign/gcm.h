/* SPDX-License-Identifier: Apache-2.0
 *
 * AES-256-GCM with a nonce of 12 bytes and a tag of 16 behind the ciphertext: how WeChat Pay wraps
 * the resource of a webhook. (Our own secrets at rest: sign/seal.h.)
 */
#ifndef PR_SIGN_GCM_H
#define PR_SIGN_GCM_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_GCM_KEY_BYTES 32
#define PR_GCM_NONCE_BYTES 12
#define PR_GCM_TAG_BYTES 16
#define PR_GCM_TEXT_MAX_BYTES ((size_t)1024 * 1024)

/* Appends the plain text. False: the tag is wrong, lengths are, or out is full; nothing is appended.
 */
bool pr_gcm_open(const uint8_t key[PR_GCM_KEY_BYTES], const uint8_t nonce[PR_GCM_NONCE_BYTES],
                 pr_bytes_t associated, pr_bytes_t sealed, pr_buffer_t *out);
/* Appends ciphertext and tag. For the sandbox and tests; a nonce must not be used twice. */
bool pr_gcm_seal(const uint8_t key[PR_GCM_KEY_BYTES], const uint8_t nonce[PR_GCM_NONCE_BYTES],
                 pr_bytes_t associated, pr_bytes_t plain, pr_buffer_t *out);

#endif
