/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider dead list|show|redrive|close
 */
#ifndef PR_CLI_DEAD_H
#define PR_CLI_DEAD_H

int pr_dead_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
