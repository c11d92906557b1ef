/* SPDX-License-Identifier: Apache-2.0
 *
 * Time-based one-time passwords (RFC 6238 over RFC 4226): HMAC-SHA1, 30 s, six digits, as every
 * authenticator app has them. The HMAC is libcrypto's.
 *
 * A code is good in its own half minute, and in the one before and after it: clocks differ. Each is
 * good once: who keeps the step of the last one that was taken refuses it and all before it.
 */
#ifndef PR_SIGN_TOTP_H
#define PR_SIGN_TOTP_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_TOTP_KEY_BYTES 20
#define PR_TOTP_KEY_TEXT_BYTES 33 /* base32, with the NUL */
#define PR_TOTP_STEP_S 30
#define PR_TOTP_DIGITS 6
#define PR_TOTP_DIGITS_MAX 8

/* The code of one step, with its NUL. digits: 6 to 8. False: libcrypto refuses. */
bool pr_totp_code(const uint8_t key[PR_TOTP_KEY_BYTES], uint64_t step, int digits,
                  char out[PR_TOTP_DIGITS_MAX + 1]);

/* The step that this code is of, later than last_step (-1: none yet); -1: it is no code of now. All
 * steps are looked at, whichever it is. */
int64_t pr_totp_step_of(const uint8_t key[PR_TOTP_KEY_BYTES], const char *code, int64_t now_s,
                        int64_t last_step);

/* As apps take it by hand: RFC 4648 base32, 32 letters. */
void pr_totp_key_text(const uint8_t key[PR_TOTP_KEY_BYTES], char out[PR_TOTP_KEY_TEXT_BYTES]);

/* Under which name (lib/sign/seal.h) an operator's key is sealed: 64 hex digits and a NUL. */
bool pr_totp_seal_name(const char *operator_name, char out[65]);

#endif
