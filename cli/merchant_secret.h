/* SPDX-License-Identifier: Apache-2.0
 *
 * An endpoint's secret on its way in: read from a file or made, checked against the signature
 * scheme, sealed. And what other secrets need on theirs: the file, the master key.
 */
#ifndef PR_CLI_MERCHANT_SECRET_H
#define PR_CLI_MERCHANT_SECRET_H

#include "base/buffer.h"
#include "cli/console.h"
#include "sign/seal.h"

#define PR_CLI_SECRET_FILE_MAX 4096 /* with the NUL */

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

/* A secret's file ("-" = standard input), terminated, trailing white space cut. False: it cannot be
 * read, or is longer. */
PR_CHECK bool pr_cli_secret_read(const char *path, char out[PR_CLI_SECRET_FILE_MAX], size_t *len);
/* The master key of the configuration; prints what is wrong. Wipe it. */
PR_CHECK int pr_cli_master_key(const pr_console_t *console, pr_master_key_t *key);

#endif
