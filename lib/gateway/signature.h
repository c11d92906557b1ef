/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures by a profile's description, both ways.
 */
#ifndef PR_GATEWAY_SIGNATURE_H
#define PR_GATEWAY_SIGNATURE_H

#include "gateway/profile.h"

typedef enum {
    PR_SIGNATURE_GOOD = 0,
    PR_SIGNATURE_MISSING,     /* a header or field that the scheme needs */
    PR_SIGNATURE_STALE,       /* signed too long ago, or ahead */
    PR_SIGNATURE_UNKNOWN_KEY, /* a key id that the channel does not have */
    PR_SIGNATURE_BAD_HOST,    /* the key's URL is not of a pinned host */
    PR_SIGNATURE_WANTS_KEY,   /* the key behind the URL is wanted */
    PR_SIGNATURE_WRONG,
} pr_signature_t;

const char *pr_signature_reason(pr_signature_t result); /* static: "bad_signature" ... */

/* Appends the signature of what sign->text comes to. */
PR_CHECK pr_rc_t pr_signature_make(const pr_channel_t *channel, pr_algorithm_t algorithm,
                                   const char *key, const pr_template_t *text,
                                   pr_encoding_t encoding, const pr_template_context_t *context,
                                   pr_buffer_t *out, pr_error_t *error);

/* certificate: PEM behind the key's URL, or empty. key_url (512 bytes) is written for WANTS_KEY. */
pr_signature_t pr_signature_check(const pr_verifying_t *verify,
                                  const pr_template_context_t *context, pr_bytes_t certificate,
                                  char *key_url);

#endif
