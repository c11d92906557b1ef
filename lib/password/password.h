/* SPDX-License-Identifier: Apache-2.0
 *
 * Passwords of operators: argon2id of libsodium, the only library that includes sodium.h. The text
 * that is kept holds method, cost and salt, so a later change of the cost leaves older ones good.
 *
 * Cost: 32 MiB, 2 passes (OWASP's password storage sheet asks for 19 MiB and 2), some 40 ms of one
 * processor. Whoever serves others on the same thread lets few be tried per second.
 */
#ifndef PR_PASSWORD_PASSWORD_H
#define PR_PASSWORD_PASSWORD_H

#include "base/rc.h"

#include <stdbool.h>

#define PR_PASSWORD_HASH_BYTES 128 /* with the NUL */
#define PR_PASSWORD_MIN 12         /* characters (OWASP ASVS 2.1.1) */
#define PR_PASSWORD_MAX_BYTES 256

/* Why it will not be taken as a new one: one clause, static. NULL: it will. No rule asks for kinds
 * of characters (ASVS 2.1.9); what anybody would guess first is refused: the name, one or a few
 * characters over and over, runs such as 123456789012. */
const char *pr_password_flaw(const char *password, const char *name);

/* PR_AGAIN: there is no memory for it now. */
PR_CHECK pr_rc_t pr_password_hash(const char *password, char out[PR_PASSWORD_HASH_BYTES]);
/* hash NULL, or no such text: takes as long as a real one, and is false. So how long an answer takes
 * does not tell which names exist. */
bool pr_password_verify(const char *hash, const char *password);

#endif
