/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider audit: what people did; whether the log of it is whole. docs/people.md.
 */
#ifndef PR_CLI_AUDIT_H
#define PR_CLI_AUDIT_H

int pr_audit_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
