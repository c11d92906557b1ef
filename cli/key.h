/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider key: bearer keys for HTTP, shown once, kept as hashes.
 */
#ifndef PR_CLI_KEY_H
#define PR_CLI_KEY_H

int pr_key_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
