/* SPDX-License-Identifier: Apache-2.0
 *
 * One supervised process: its s6 service directory, and the s6 tools that act on it. s6 commands
 * answer through exit codes; none of these waits longer than its argument says.
 */
#ifndef PR_CLI_SERVICE_H
#define PR_CLI_SERVICE_H

#include "base/error.h"
#include "cli/topology.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    const char *state_dir;
    const char *name;
    const char *const *argv; /* ends with NULL */
    int phase;               /* order of stopping, from 0 */
    bool notifies;           /* readiness on fd 3 */
} pr_service_t;

/* Writes STATE/run/service/NAME: run, finish, log/run, phase, notification-fd. */
PR_CHECK pr_rc_t pr_service_write(const pr_service_t *service, pr_error_t *error);

typedef struct {
    bool up, ready, wanted; /* wanted: it should be up */
    pid_t pid;              /* 0 when down */
    int64_t seconds;        /* since it came up, or went down */
    int64_t deaths;         /* since the topology came up; s6 remembers the last 100 */
} pr_service_state_t;

/* PR_AGAIN: its supervisor is not there. */
PR_CHECK pr_rc_t pr_service_look(const char *state_dir, const char *name,
                                 pr_service_state_t *state);
bool pr_service_notifies(const char *state_dir, const char *name);
/* As written to its directory; last when unknown. */
int pr_service_phase(const char *state_dir, const char *name);

/* s6-svc with one flag: "-d" stop, "-u" start, "-k" SIGKILL, "-x" let the supervisor go. */
void pr_service_control(const char *state_dir, const char *name, const char *flag);
/* Waits until all of names are "-U" up and ready, "-D" really down. False: not within ms. */
bool pr_service_await(const char *state_dir, const pr_service_names_t *names, const char *state,
                      int64_t ms);

#endif
