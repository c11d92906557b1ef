/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider order: everything known of an order.
 */
#ifndef PR_CLI_ORDER_H
#define PR_CLI_ORDER_H

int pr_order_main(int argc, char **argv); /* returns an exit code (cli/command.h) */

#endif
