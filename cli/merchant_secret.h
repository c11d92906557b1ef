/* SPDX-License-Identifier: Apache-2.0
 *
 * An endpoint's secret on its way in: read from a file or made, checked against the signature
 * scheme, sealed.
 */
#ifndef PR_CLI_MERCHANT_SECRET_H
#define PR_CLI_MERCHANT_SECRET_H

#include "base/buffer.h"
#include "cli/console.h"

typedef struct {
    pr_buffer_t sealed; /* what the database gets */
    bool made;          /* it was not given: to be shown once */
    char shown[130];    /* what the merchant needs: the secret itself, of ed25519 the public key */
    bool is_public;     /* shown is a public key */
} pr_cli_secret_t;

/* file: NULL = make one; "-" = standard input. Prints what is wrong; returns an exit code. Wipe it
 * in any case. */
PR_CHECK int pr_cli_secret_get(pr_cli_secret_t *out, const pr_console_t *console,
                               const char *merchant_id, const char *scheme, const char *file);
void pr_cli_secret_wipe(pr_cli_secret_t *self);

#endif
