/* SPDX-License-Identifier: Apache-2.0
 *
 * Secrets travel sealed; this opens them, once for each sealed form: a small cache keyed by
 * merchant and sealed bytes, so that a changed secret is another entry by itself. Wiped when full
 * and at the end.
 */
#ifndef PR_NOTIFIER_SECRETS_H
#define PR_NOTIFIER_SECRETS_H

#include "base/buffer.h"
#include "base/error.h"
#include "sign/secret.h"

typedef struct pr_secrets_t pr_secrets_t;

/* Reads the master key. PR_BAD: missing, unreadable or malformed; error->text says what to do. */
PR_CHECK pr_rc_t pr_secrets_new(const char *master_key_file, uint64_t seed, pr_secrets_t **out,
                                pr_error_t *error);
void pr_secrets_destroy(pr_secrets_t **self);

/* *out is valid until the second next call. PR_BAD: not sealed by our key for this merchant, or
 * what was sealed is no secret. */
PR_CHECK pr_rc_t pr_secrets_open(pr_secrets_t *self, const char *merchant_id, pr_bytes_t sealed,
                                 const pr_secret_t **out, pr_error_t *error);

#endif
