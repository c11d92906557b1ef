/* SPDX-License-Identifier: Apache-2.0
 *
 * Endpoint texts and the files behind ipc endpoints. libzmq unlinks whatever stands at an ipc
 * path before it binds, a live server's socket too; pr_address_vacant looks first.
 */
#ifndef PR_BUS_ADDRESS_H
#define PR_BUS_ADDRESS_H

#include "base/error.h"

#include <sys/types.h>

#define PR_IPC_PATH_MAX 107 /* bytes of sockaddr_un.sun_path without its NUL */

typedef mode_t pr_umask_t;

/* "ipc:///path" or "tcp://host:port" in a shape that libzmq takes; else PR_BAD with what to do. */
PR_CHECK pr_rc_t pr_address_check(const char *endpoint, pr_error_t *error);
/* PR_BAD when an ipc path is in use by a live process or is no socket. PR_OK: free, or stale. */
PR_CHECK pr_rc_t pr_address_vacant(const char *endpoint, pr_error_t *error);
/* Files made between these two are 0600. Process-wide: only around the one call that binds. */
pr_umask_t pr_umask_private(void);
void pr_umask_restore(pr_umask_t mask);

#endif
