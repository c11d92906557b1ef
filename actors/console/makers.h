/* SPDX-License-Identifier: Apache-2.0
 *
 * Secrets that the server makes between a request and its door: hashes of passwords, tokens and keys
 * (the database has their SHA-256), secrets sealed with the master key. Randomness is an argument;
 * the rest is pure.
 */
#ifndef PR_CONSOLE_MAKERS_H
#define PR_CONSOLE_MAKERS_H

#include "actors/console/routes.h"
#include "sign/seal.h"

#include <jansson.h>

#define PR_MADE_SHOWN_BYTES 192

typedef struct {
    const char *shown_as; /* "token", "secret": the member of the answer; NULL: nothing is shown */
    char shown[PR_MADE_SHOWN_BYTES];
    const char *flaw; /* when refused: one clause */
    char flaw_text[192];
} pr_made_t;

/* Changes the arguments of a door. master may be NULL where none is configured: sealing is refused
 * then. PR_BAD: made->flaw says what the caller did wrong. PR_AGAIN: no memory for a password. */
PR_CHECK pr_rc_t pr_make(pr_console_make_t what, json_t *arguments, const pr_master_key_t *master,
                         const uint8_t random[32], pr_made_t *made);

#endif
