/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider approval: what takes two people. docs/people.md.
 */
#ifndef PR_CLI_APPROVAL_H
#define PR_CLI_APPROVAL_H

int pr_approval_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
