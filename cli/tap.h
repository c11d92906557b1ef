/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider tap: every message on the bus, decoded, filtered, live (S5). Bodies are shown by
 * length and digest, secrets by length only (lib/wire/limits.h says which).
 */
#ifndef PR_CLI_TAP_H
#define PR_CLI_TAP_H

/* argv[0] is "tap". Runs until interrupted or --limit; returns an exit code of cli/command.h. */
int pr_tap_main(int argc, char **argv);

#endif
