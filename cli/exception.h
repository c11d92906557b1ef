/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider exception: everything that waits for a person, in one queue. docs/people.md.
 */
#ifndef PR_CLI_EXCEPTION_H
#define PR_CLI_EXCEPTION_H

int pr_exception_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
