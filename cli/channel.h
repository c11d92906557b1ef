/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider channel: gateway channels. check-profile wants no database.
 */
#ifndef PR_CLI_CHANNEL_H
#define PR_CLI_CHANNEL_H

int pr_channel_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
