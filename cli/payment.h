/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider payment: charge, track, look, refund, cancel: what an application does, by hand.
 */
#ifndef PR_CLI_PAYMENT_H
#define PR_CLI_PAYMENT_H

int pr_payment_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
