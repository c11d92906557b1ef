/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider submit: enqueues one notification, for trying things
 */
#ifndef PR_CLI_SUBMIT_H
#define PR_CLI_SUBMIT_H

int pr_submit_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
