/* SPDX-License-Identifier: Apache-2.0
 *
 * Where things are. In a checkout the launcher sets POSTRIDER_HOME: state under var/, scripts
 * under scripts/. Installed: state in POSTRIDER_STATE, else /var/lib/postrider (root) or
 * $HOME/.local/state/postrider; scripts under PR_LIBEXEC_DIR. All returned strings are the
 * caller's, absolute paths.
 *
 * A state directory of a running topology holds:
 *   run/service/NAME/  s6 service directories    run/env/NAME  one value a file, for the actors
 *   run/lock           held while it runs        log/NAME/     logs, log/NAME.log the current one
 *   postgres/          the private cluster       master.key    made when none is configured
 */
#ifndef PR_CLI_HOME_H
#define PR_CLI_HOME_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

char *pr_home_state_dir(void);
char *pr_home_script(const char *name);  /* "pg.sh" */
char *pr_home_program(const char *name); /* "postrider-scheduler": beside this executable */
/* A short directory for ipc sockets (107 bytes are the kernel's limit for their paths), the same
 * one for a state directory each time: /tmp/postrider-UID-XXXXXXXX. */
char *pr_home_socket_dir(const char *state_dir);
/* Makes it with mode 0700; PR_FATAL when somebody else's lies there. */
PR_CHECK pr_rc_t pr_home_make_private_dir(const char *path, pr_error_t *error);

/* Makes the directory and its parents; PR_FATAL with *error. */
PR_CHECK pr_rc_t pr_home_make_dirs(const char *path, pr_error_t *error);
/* Writes text to path in one rename, with that mode. */
PR_CHECK pr_rc_t pr_home_write(const char *path, const char *text, mode_t mode, pr_error_t *error);
/* At most 64 KiB of a file, without trailing newlines; NULL when it cannot be read. */
char *pr_home_read(const char *path);
/* The same of its last 64 KiB: of a log, what was written last. */
char *pr_home_read_end(const char *path);
/* Removes a file or a whole directory; what is missing already is fine. */
void pr_home_remove(const char *path);

/* A lock file, held by every process that inherits the descriptor. -1: somebody holds it. */
int pr_home_lock(const char *path);
bool pr_home_locked(const char *path);
/* PR_FATAL with whose it is when another user's topology lies in the directory, so that this one
 * can tell neither whether it runs nor stop it. */
PR_CHECK pr_rc_t pr_home_check_owner(const char *state_dir, pr_error_t *error);

/* Commands beside a running topology use its database and bus: sets the values of run/env that
 * the environment lacks, unless the caller names a database of its own (in the environment, as
 * an option or in its configuration file). */
void pr_home_adopt(int argc, char **argv);
/* The same for a topology that this very process has started. */
void pr_home_adopt_from(const char *state_dir);

#endif
