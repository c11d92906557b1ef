/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider webhook: what gateways sent, as it came.
 */
#ifndef PR_CLI_WEBHOOK_H
#define PR_CLI_WEBHOOK_H

int pr_webhook_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
