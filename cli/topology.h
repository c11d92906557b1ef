/* SPDX-License-Identifier: Apache-2.0
 *
 * The actors of one machine under s6 (skarnet.org; Debian package s6): one s6-svscan, and under
 * it for each actor an s6-supervise that restarts it a second after it died, and an s6-log that
 * keeps ten files of 10 MB. The supervisor is a process of its own: it outlives the command that
 * started it, and holds run/lock as long as anything of the topology lives.
 *
 * What the configuration leaves open is made here, under the state directory (cli/home.h): a
 * private Postgres, migrated; bus addresses in a short directory; a master key. The values go to
 * run/env, one file each, as environment variables: run/env IS the generated configuration.
 *
 * Stopping goes against the flow of work: relay, notifiers and gateway workers first (they finish
 * what is in flight, for which the schedulers and the broker must still answer), the broker last.
 */
#ifndef PR_CLI_TOPOLOGY_H
#define PR_CLI_TOPOLOGY_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_SERVICES_MAX 64
#define PR_SERVICE_NAME_BYTES 64
#define PR_TOPOLOGY_READY_MS 30000 /* from start to ready, all actors */
#define PR_TOPOLOGY_STOP_MS 30000  /* a phase's graceful stop; then SIGKILL */

typedef struct {
    const char *name;        /* "sandbox" */
    const char *const *argv; /* ends with NULL; argv[0] an absolute path */
    bool notifies;           /* says on NOTIFY_FD when it is ready, as actors do */
} pr_extra_service_t;

typedef struct {
    const char *actor; /* "notifier" */
    int count;         /* at least 1 */
} pr_scale_t;

typedef struct {
    const char *state_dir;        /* absolute */
    const char *config;           /* file, or NULL */
    const char *const *overrides; /* "retry.notification=list:5s", ends with NULL; or NULL */
    const pr_scale_t *scale;      /* ends with actor NULL; or NULL: one of each */
    const pr_extra_service_t *extra;
    int nextra; /* started with the actors, stopped after them */
} pr_topology_options_t;

typedef struct {
    int count;
    char name[PR_SERVICES_MAX][PR_SERVICE_NAME_BYTES]; /* sorted: "notifier", "notifier-2" */
} pr_service_names_t;

/* True when it is an actor that can be scaled and restarted by name. */
bool pr_topology_knows(const char *actor);

/* Processes of an actor as options->scale says; fallback when it does not. */
int pr_topology_scale(const pr_topology_options_t *options, const char *actor, int fallback);

/* Starts everything and waits until all say they are ready; after a failure nothing runs.
 * PR_AGAIN: it is up already. PR_BAD: the configuration. PR_FATAL: something did not start. */
PR_CHECK pr_rc_t pr_topology_up(const pr_topology_options_t *options, pr_error_t *error);
/* Stops everything, the private Postgres too; PR_OK also when nothing ran. PR_AGAIN: something
 * had to be killed. */
PR_CHECK pr_rc_t pr_topology_down(const char *state_dir, pr_error_t *error);
/* Stops, then starts, each service that is ACTOR or ACTOR-N. PR_BAD: there is none. */
PR_CHECK pr_rc_t pr_topology_restart(const char *state_dir, const char *actor, pr_error_t *error);

bool pr_topology_running(const char *state_dir);
/* How many processes are left of one whose state directory was removed while it ran. */
int pr_topology_lost(const char *state_dir);
void pr_topology_services(const char *state_dir, pr_service_names_t *names);

#endif
