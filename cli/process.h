/* SPDX-License-Identifier: Apache-2.0
 *
 * Child processes of the command line: started with posix_spawnp, never through a shell. Signals
 * are at their defaults and unblocked in the child. No file descriptor but the named ones passes
 * on (all of ours are CLOEXEC).
 */
#ifndef PR_CLI_PROCESS_H
#define PR_CLI_PROCESS_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    const char *const *argv; /* ends with NULL; argv[0] is looked up in PATH */
    const char *output;      /* file that gets stdout and stderr, appended; NULL = inherited */
    int stdout_fd;           /* 0 = inherited (or output) */
    int keep_fd;             /* passed on under its own number; 0 = none */
    bool quiet;              /* stderr goes to /dev/null */
    bool new_session;        /* out of the terminal's reach: ^C does not get there */
} pr_spawn_t;

/* Starts it. PR_FATAL: could not (program missing); *error says which. stdin is /dev/null. */
PR_CHECK pr_rc_t pr_process_spawn(const pr_spawn_t *spawn, pid_t *pid, pr_error_t *error);
/* Waits for it to end; its exit code, 128 + signal when killed. */
int pr_process_wait(pid_t pid);
/* Runs to the end, stdout appended to *out, stderr inherited. PR_BAD when the exit code is not 0 or
 * the output passes out's maximum; *exit_code may be NULL. */
PR_CHECK pr_rc_t pr_process_capture(const char *const *argv, pr_buffer_t *out, int *exit_code,
                                    pr_error_t *error);
/* For a tool whose complaints would mean nothing to a person: stderr is dropped, stdout goes to
 * *out (NULL: inherited). Its exit code; -1 when it could not run or said more than out holds. */
int pr_process_quiet(const char *const *argv, pr_buffer_t *out);

#endif
