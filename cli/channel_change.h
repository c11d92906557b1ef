/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider channel add, set, list, show, pause, resume: what wants a database.
 */
#ifndef PR_CLI_CHANNEL_CHANGE_H
#define PR_CLI_CHANNEL_CHANGE_H

#include "cli/args.h"

extern const pr_arg_spec_t pr_channel_add_spec, pr_channel_set_spec, pr_channel_list_spec,
    pr_channel_show_spec, pr_channel_pause_spec, pr_channel_resume_spec;

/* Each returns an exit code (cli/command.h). */
int pr_channel_add(const pr_args_t *args);
int pr_channel_set(const pr_args_t *args);
int pr_channel_list(const pr_args_t *args);
int pr_channel_show(const pr_args_t *args);
int pr_channel_pause(const pr_args_t *args);
int pr_channel_resume(const pr_args_t *args);

#endif
