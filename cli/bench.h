/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider bench: becomes the program postrider-bench beside this one (bench/), which is built
 * upon the command line's own topology.
 */
#ifndef PR_CLI_BENCH_H
#define PR_CLI_BENCH_H

int pr_bench_command(int argc, char **argv); /* returns only on failure, an exit code */

#endif
