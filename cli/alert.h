/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider alert list|resolve|test
 */
#ifndef PR_CLI_ALERT_H
#define PR_CLI_ALERT_H

int pr_alert_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
