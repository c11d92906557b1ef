/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider breaker list|reset|force-open|force-close
 */
#ifndef PR_CLI_BREAKER_H
#define PR_CLI_BREAKER_H

int pr_breaker_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
