/* SPDX-License-Identifier: Apache-2.0
 *
 * The few primitives of libcrypto that signatures need, with one way to fail: false, only when
 * libcrypto refuses (MD5 in a FIPS build) or, for verify, when the signature is wrong.
 */
#ifndef PR_SIGN_DIGEST_H
#define PR_SIGN_DIGEST_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_SHA256_BYTES 32
#define PR_SHA512_BYTES 64
#define PR_MD5_BYTES 16
#define PR_ED25519_SEED_BYTES 32
#define PR_ED25519_PUBLIC_BYTES 32
#define PR_ED25519_SIGNATURE_BYTES 64

/* HMAC-SHA256 (RFC 2104) over the parts one after the other. */
bool pr_hmac_sha256(pr_bytes_t key, const pr_bytes_t *parts, size_t count,
                    uint8_t out[PR_SHA256_BYTES]);
/* The same with SHA-512. */
bool pr_hmac_sha512(pr_bytes_t key, const pr_bytes_t *parts, size_t count,
                    uint8_t out[PR_SHA512_BYTES]);
/* CRC-32 of IEEE 802.3 (zip, PNG; PayPal's webhooks): no signature, only a part of one. */
uint32_t pr_crc32(pr_bytes_t bytes);
bool pr_md5(pr_bytes_t bytes, uint8_t out[PR_MD5_BYTES]);
bool pr_sha256(pr_bytes_t bytes, uint8_t out[PR_SHA256_BYTES]);
/* Pure ed25519 (RFC 8032). */
bool pr_ed25519_public(const uint8_t seed[PR_ED25519_SEED_BYTES],
                       uint8_t out[PR_ED25519_PUBLIC_BYTES]);
bool pr_ed25519_sign(const uint8_t seed[PR_ED25519_SEED_BYTES], pr_bytes_t message,
                     uint8_t out[PR_ED25519_SIGNATURE_BYTES]);
bool pr_ed25519_verify(const uint8_t key[PR_ED25519_PUBLIC_BYTES], pr_bytes_t message,
                       const uint8_t signature[PR_ED25519_SIGNATURE_BYTES]);
/* Constant time over equal lengths; false for unequal ones. */
bool pr_same_bytes(pr_bytes_t a, pr_bytes_t b);

#endif
