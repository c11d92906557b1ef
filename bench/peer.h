/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_peer_t: another queue's worker in Postrider's place on the stage (bench/peers): a Node program
 * beside the same Postgres, with a database of its own, and the same receiver. It is started once a
 * turn; signals make it take jobs (SIGUSR2) and stop taking them (SIGHUP), so that its start is in
 * no measurement. While the stage has a peer, load.c, meter.c and the modes are about it.
 */
#ifndef PR_BENCH_PEER_H
#define PR_BENCH_PEER_H

#include "bench/stage.h"

typedef struct {
    const char *name;     /* "graphile-worker tuned", as reports have it */
    const char *program;  /* of bench/peers */
    const char *config;   /* likewise */
    const char *database; /* of the private cluster */
    bool slow;            /* drains a quarter of what the others get */
} pr_peer_kind_t;

struct pr_peer_t {
    const pr_peer_kind_t *kind;
    pid_t pid;
    int answers; /* to signals, so far */
    char *status;
};

/* The programs and their packages, as bench/peers/install.sh makes them; *dir is the caller's. PR_FATAL: no
 * checkout, no node, no registry; its own words are on stderr. */
PR_CHECK pr_rc_t pr_peer_install(char **dir, pr_error_t *error);
/* Database and schema, once for all configurations of a program. */
PR_CHECK pr_rc_t pr_peer_setup(pr_stage_t *stage, const char *dir, const pr_peer_kind_t *kind,
                               pr_error_t *error);
/* Its database, emptied; its worker, ready and taking nothing. From now on the stage is the peer's. */
PR_CHECK pr_rc_t pr_peer_enter(pr_stage_t *stage, const char *dir, const pr_peer_kind_t *kind,
                               pr_error_t *error);
void pr_peer_leave(pr_stage_t *stage); /* kills it; accepts a stage without */
/* It takes jobs, or no more; waits until it says so. */
PR_CHECK pr_rc_t pr_peer_work(pr_stage_t *stage, bool work, pr_error_t *error);

#endif
