/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider merchant add|list|show|set|rotate-secret|test
 */
#ifndef PR_CLI_MERCHANT_H
#define PR_CLI_MERCHANT_H

int pr_merchant_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
