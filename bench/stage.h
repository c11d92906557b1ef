/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_stage_t: what every measurement stands on. A private Postgres (fsync and synchronous_commit
 * on), the topology under its supervisor, the counting receiver, merchants with secrets, and the
 * application's own tables. Everything lies under STATE/bench and ends with the stage, unless it
 * is to be kept. One thread; blocking calls.
 */
#ifndef PR_BENCH_STAGE_H
#define PR_BENCH_STAGE_H

#include "base/error.h"
#include "db/db.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    int merchants;               /* m0 .. m(n-1): every tenth a VIP, three in ten small */
    int hanging;                 /* of them have doubles that never answer ... */
    int rounds;                  /* ... one for each round: h1-0, h1-1, .. h2-0, .. */
    int64_t expected;            /* notifications in all: room in the receiver */
    bool keep;                   /* leave everything running */
    const char *const *settings; /* "worker.slots=64", ends with NULL; or NULL */
} pr_stage_options_t;

typedef struct pr_peer_t pr_peer_t; /* bench/peer.h */

typedef struct {
    pr_stage_options_t options;
    char *state_dir;
    char *receiver_dump, *receiver_address;
    char *app_url, *admin_url;
    pr_db_sync_t *admin;        /* superuser: measures */
    pr_db_sync_t *app;          /* the application: fills */
    int control;                /* connection to the receiver's control, -1 none */
    int64_t *hanging_endpoints; /* rounds * hanging, by round */
    pr_peer_t *peer;            /* in Postrider's place; NULL: Postrider itself */
    bool up;
} pr_stage_t;

/* PR_AGAIN: a bench runs there already. After a failure nothing runs. */
PR_CHECK pr_rc_t pr_stage_up(pr_stage_t *self, const pr_stage_options_t *options,
                             pr_error_t *error);
void pr_stage_down(pr_stage_t *self); /* accepts a stage that is not up */

/* Stops, or starts and waits for, one service of the topology ("outbox-relay"). */
PR_CHECK pr_rc_t pr_stage_stop(pr_stage_t *self, const char *service, pr_error_t *error);
PR_CHECK pr_rc_t pr_stage_start(pr_stage_t *self, const char *service, pr_error_t *error);
pid_t pr_stage_pid(pr_stage_t *self, const char *service); /* 0: it is down */
/* What is committed waits from now on, or goes out: the relay's stop and start; a peer's. */
PR_CHECK pr_rc_t pr_stage_hold(pr_stage_t *self, pr_error_t *error);
PR_CHECK pr_rc_t pr_stage_let_go(pr_stage_t *self, pr_error_t *error);
/* Every actor, but not the receiver. Started: all say that they are ready. */
PR_CHECK pr_rc_t pr_stage_stop_actors(pr_stage_t *self, pr_error_t *error);
PR_CHECK pr_rc_t pr_stage_start_actors(pr_stage_t *self, pr_error_t *error);
/* Databases beside the first one ("postrider"), for runs that are to be compared in turn; the actors must be
 * stopped. A copy has everything that the first one has. After use, the stage's connections, and
 * the actors from their next start on, go there. */
PR_CHECK pr_rc_t pr_stage_create_database(pr_stage_t *self, const char *name, const char *owner,
                                          pr_error_t *error);
PR_CHECK pr_rc_t pr_stage_copy_database(pr_stage_t *self, const char *name, pr_error_t *error);
PR_CHECK pr_rc_t pr_stage_use_database(pr_stage_t *self, const char *name, pr_error_t *error);
PR_CHECK pr_rc_t pr_stage_drop_database(pr_stage_t *self, const char *name, pr_error_t *error);
/* The hanging doubles of a round (from 0) are switched off: their jobs are held from now on. */
PR_CHECK pr_rc_t pr_stage_release(pr_stage_t *self, int round, pr_error_t *error);

/* Requests that the receiver has answered, and those that it never will; -1 with *error. */
int64_t pr_stage_answered(pr_stage_t *self, pr_error_t *error);
int64_t pr_stage_hung(pr_stage_t *self, pr_error_t *error);
/* Has the receiver write its record to receiver_dump, whole. */
PR_CHECK pr_rc_t pr_stage_dump(pr_stage_t *self, pr_error_t *error);

/* ^C or SIGTERM came: every wait asks this. */
bool pr_bench_interrupted(void);
void pr_bench_watch_signals(void);
/* Sleeps, or less when a signal comes. PR_AGAIN: interrupted. */
PR_CHECK pr_rc_t pr_bench_wait_ms(int ms, pr_error_t *error);

#endif
