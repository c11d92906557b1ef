/* SPDX-License-Identifier: Apache-2.0
 *
 * Judges the signatures of a request as a merchant would, written from the published protocol
 * (docs/receivers.md) and on purpose without lib/sign: a judge must not share the accused's code.
 *
 * Known secrets: `whsec_` + base64 (its bytes are the HMAC key) or any text (its bytes are);
 * `whpk_` + base64 (32 bytes, an ed25519 public key for `v1a`). Form bodies: check_form.h.
 */
#ifndef PR_SANDBOX_CHECK_H
#define PR_SANDBOX_CHECK_H

#include "sandbox/journal.h"
#include "sandbox/request.h"

#define PR_CHECK_SKEW_S 300 /* the tolerance that Standard Webhooks recommends */

/* secrets: up to count texts, NULL ends them earlier. OK only if every signature that is there verifies under
 * one of them, there is at least one, ids and times agree, and the time is within PR_CHECK_SKEW_S. */
pr_signature_t pr_check_signatures(const pr_request_t *request, const uint8_t *data,
                                   char *const *secrets, size_t count, int64_t wall_s);

#endif
