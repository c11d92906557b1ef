/* SPDX-License-Identifier: Apache-2.0
 *
 * A channel's parameters on their way in: from --param and --param-file, together with those that
 * the database keeps, checked against the profile, sealed. No value is ever printed.
 */
#ifndef PR_CLI_CHANNEL_PARAMETERS_H
#define PR_CLI_CHANNEL_PARAMETERS_H

#include "cli/merchant_secret.h"
#include "gateway/gateway.h"

#define PR_CLI_PARAMETERS_MAX 64
#define PR_CLI_PARAMETER_NAME_MAX 64

typedef struct {
    int count;
    struct {
        char name[PR_CLI_PARAMETER_NAME_MAX];
        pr_buffer_t value;
        bool given; /* on the command line: to be written */
    } items[PR_CLI_PARAMETERS_MAX];
} pr_cli_parameters_t;

/* Those of the command line; one name up to four times, the first signs. Prints what is wrong;
 * returns an exit code, as all here do. Wipe it in any case. */
PR_CHECK int pr_cli_parameters_given(pr_cli_parameters_t *self, const pr_args_t *args);
/* Adds what the channel has under other names, opened, but for those in `removed` (ends NULL; may be
 * NULL). *tls_ca (may be NULL) gets the channel's own authorities, the caller's, or stays. */
PR_CHECK int pr_cli_parameters_kept(pr_cli_parameters_t *self, pr_console_t *console,
                                    const pr_master_key_t *key, const char *channel,
                                    const char *const *removed, char **tls_ca);
/* The channel that they make with this profile; *out is the caller's. */
PR_CHECK int pr_cli_parameters_open(const pr_cli_parameters_t *self, const pr_profile_t *profile,
                                    pr_channel_t **out);
/* Appends those given to a JSON array as postrider.channel_add takes it. */
PR_CHECK int pr_cli_parameters_seal(const pr_cli_parameters_t *self, const pr_master_key_t *key,
                                    const char *channel, json_t *array);
void pr_cli_parameters_wipe(pr_cli_parameters_t *self);

#endif
