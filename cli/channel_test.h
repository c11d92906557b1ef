/* SPDX-License-Identifier: Apache-2.0
 *
 * The test call of `channel resume`: does the gateway take the credential again? Asks for an access
 * token where the gateway has them, and for a payment that does not exist. No money moves.
 */
#ifndef PR_CLI_CHANNEL_TEST_H
#define PR_CLI_CHANNEL_TEST_H

#include "cli/console.h"
#include "gateway/gateway.h"

/* tls_ca: NULL = the system's. *result: what postrider.channel_resume takes; the caller's. Failed, after a word on stderr, when
 * there was no answer, when it refuses the credential, or when the profile has nothing to ask. */
PR_CHECK int pr_channel_test(const pr_console_t *console, const pr_channel_t *channel,
                             const pr_profile_facts_t *facts, const char *base_url,
                             const char *tls_ca, char **result);

#endif
