/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands that run the topology on this machine: up, down, restart, status. What they do is
 * in cli/topology.h; here are their arguments and what they print.
 */
#ifndef PR_CLI_SUPERVISE_H
#define PR_CLI_SUPERVISE_H

int pr_up_main(int argc, char **argv);
int pr_down_main(int argc, char **argv);
int pr_restart_main(int argc, char **argv);
int pr_status_main(int argc, char **argv);

#endif
