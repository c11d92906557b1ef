/* SPDX-License-Identifier: Apache-2.0
 *
 * A listening TCP socket for the two pretend receivers, and the one line that says where it is.
 */
#ifndef PR_SANDBOX_LISTENER_H
#define PR_SANDBOX_LISTENER_H

#include "base/error.h"

#define PR_ADDRESS_TEXT_MAX 64

/* address: "127.0.0.1:8090", "[::1]:8090", numeric only; port 0 lets the kernel choose. *out_fd is
 * non-blocking and close-on-exec, the caller's; text gets the address really bound. PR_BAD:
 * not an address. PR_FATAL: the kernel refused (in use, not ours). */
PR_CHECK pr_rc_t pr_listener_open(const char *address, int *out_fd, char text[PR_ADDRESS_TEXT_MAX],
                                  pr_error_t *error);

/* Prints `listening ADDRESS` on stdout, and writes ADDRESS to port_file (renamed into place, so that
 * a reader never sees half of it) when that is not NULL. */
PR_CHECK pr_rc_t pr_listener_announce(const char *text, const char *port_file, pr_error_t *error);

/* A signalfd for SIGTERM, SIGINT and SIGUSR1, which it blocks for the process. */
int pr_listener_signals(void);

#endif
