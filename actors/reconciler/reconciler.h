/* SPDX-License-Identifier: Apache-2.0
 *
 * reconciler, the decisions: which chore of the database is due, and what is imported next.
 *
 * Model. The database knows everything (what is due, what was read, how far a file is matched);
 * this decides when to look. One chore of each kind under way:
 *   due         takes days whose statements are due; each is an import, one after the other
 *   match       the next rows of a file that is in; again at once while there is more
 *   pool        what waits at days' edges
 *   deliveries  goods that are not out in time
 *   sweep       payments that slipped through (daily)
 *   purge       what is older than it is kept (daily); again at once while there is more
 * A chore that fails waits RETRY_MS; nothing begins while the database is away or once it drains.
 * Only one import at a time: it is disk and database that it waits for.
 *
 * No clock, no I/O, no heap; one thread.
 */
#ifndef PR_RECONCILER_H
#define PR_RECONCILER_H

#include <stdbool.h>
#include <stdint.h>

#define PR_RECON_RETRY_MS 5000
#define PR_RECON_DUE_MAX 8 /* days taken at once; the lease of 10 minutes is for all of them */
#define PR_RECON_ACTIONS_MAX 8

typedef enum {
    PR_RECON_DUE = 0,
    PR_RECON_MATCH,
    PR_RECON_POOL,
    PR_RECON_DELIVERIES,
    PR_RECON_SWEEP,
    PR_RECON_PURGE,
    PR_RECON_CHORES,
} pr_recon_chore_t;

typedef struct {
    int64_t period_ms[PR_RECON_CHORES]; /* each >= 1 */
} pr_recon_policy_t;

typedef enum {
    PR_RECON_EVENT_NONE = 0,
    PR_RECON_CONNECTED,
    PR_RECON_DISCONNECTED,
    PR_RECON_CHORE_DONE,  /* chore, good, more: do it again at once */
    PR_RECON_TAKEN,       /* count: so many days are to be imported now */
    PR_RECON_IMPORT_DONE, /* the one under way, good: it is in, and is to be matched */
    PR_RECON_TICK,
    PR_RECON_DRAIN,
} pr_recon_event_kind_t;

typedef struct {
    pr_recon_event_kind_t kind;
    pr_recon_chore_t chore;
    int count;
    bool good, more;
} pr_recon_event_t;

typedef enum {
    PR_RECON_ACTION_NONE = 0,
    PR_RECON_ACTION_CHORE,  /* run it, then CHORE_DONE */
    PR_RECON_ACTION_IMPORT, /* the next of the days that were taken, then IMPORT_DONE */
} pr_recon_action_kind_t;

typedef struct {
    pr_recon_action_kind_t kind;
    pr_recon_chore_t chore;
} pr_recon_action_t;

typedef struct {
    pr_recon_policy_t policy;
    bool connected, draining, importing;
    int waiting; /* days taken and not begun */
    struct {
        int64_t next_at_ms;
        bool under_way;
    } chores[PR_RECON_CHORES];
} pr_recon_t;

void pr_recon_init(pr_recon_t *self, const pr_recon_policy_t *policy); /* policy is copied */
void pr_recon_set_policy(pr_recon_t *self, const pr_recon_policy_t *policy);
/* One event; at most PR_RECON_ACTIONS_MAX actions, in this order. Returns their number. */
int pr_recon_step(pr_recon_t *self, const pr_recon_event_t *event, int64_t now_ms,
                  pr_recon_action_t actions[PR_RECON_ACTIONS_MAX]);
int64_t pr_recon_deadline_ms(const pr_recon_t *self); /* when it wants a TICK; INT64_MAX = never */
bool pr_recon_drained(const pr_recon_t *self);

#endif
