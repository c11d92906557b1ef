/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider check: the invariants of a database
 */
#ifndef PR_CLI_CHECK_H
#define PR_CLI_CHECK_H

int pr_check_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
