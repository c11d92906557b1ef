/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider operator: who may do what. docs/people.md.
 */
#ifndef PR_CLI_OPERATOR_H
#define PR_CLI_OPERATOR_H

int pr_operator_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
