/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider task: what waits for a person, and how that ends.
 */
#ifndef PR_CLI_TASK_H
#define PR_CLI_TASK_H

int pr_task_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
