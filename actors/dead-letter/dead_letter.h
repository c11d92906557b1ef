/* SPDX-License-Identifier: Apache-2.0
 *
 * dead-letter, the decisions: which chore of the database is due, and when an alert's webhook is
 * tried again.
 *
 * Model. The database knows everything; this decides when to look. Five chores, at most one of each
 * under way:
 *   scan        the dead table -> alerts (the truth; a DeadFact only brings it forward)
 *   announce    alerts that SQL functions raised and nobody announced yet
 *   redrive     feeds the redrives that people ordered at a rate
 *   partitions  makes tomorrow's partitions
 *   retention   drops what nobody needs any more; again at once while it made progress
 * A chore that takes long is done less often (it may use 1/SHARE of the time), one that fails waits
 * RETRY_MS.
 *
 * Alerts that came as facts wait in the inbox until they are written. A webhook post is tried at 0,
 * 1, 5, 30 and 120 s, then given up; the row, the fact and the log line stay. Nothing here blocks
 * anything else.
 *
 * No clock, no I/O, no heap; one thread.
 */
#ifndef PR_DEAD_LETTER_H
#define PR_DEAD_LETTER_H

#include "actors/dead-letter/alert_inbox.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_DEAD_ACTIONS_MAX 16 /* of one step */
#define PR_DEAD_POSTS_MAX 64   /* webhook posts waiting or under way */
#define PR_DEAD_POSTS_AT_ONCE 4
#define PR_DEAD_RAISES_AT_ONCE 8
#define PR_DEAD_SHARE 20 /* a chore may use 1/20 of the time */
#define PR_DEAD_RETRY_MS 2000
#define PR_DEAD_HINT_MS 200 /* a fact brings the scan this near; a burst is one scan */

typedef enum {
    PR_CHORE_SCAN = 0,
    PR_CHORE_ANNOUNCE,
    PR_CHORE_REDRIVE,
    PR_CHORE_PARTITIONS,
    PR_CHORE_RETENTION,
    PR_CHORES,
} pr_chore_t;

typedef struct {
    int64_t period_ms[PR_CHORES]; /* each >= 1 */
} pr_dead_policy_t;

typedef enum {
    PR_DEAD_EVENT_NONE = 0,
    PR_DEAD_CONNECTED,
    PR_DEAD_DISCONNECTED,
    PR_DEAD_LETTER,     /* a DeadFact came */
    PR_DEAD_CHORE_DONE, /* chore, good, more: do it again at once */
    PR_DEAD_RAISED,     /* slot, good: an alert of the inbox was written */
    PR_DEAD_POST,       /* slot: a post waits (made with pr_dead_post_new) */
    PR_DEAD_POSTED,     /* slot, good */
    PR_DEAD_TICK,       /* time went by, or the inbox got something */
    PR_DEAD_DRAIN,
} pr_dead_event_kind_t;

typedef struct {
    pr_dead_event_kind_t kind;
    pr_chore_t chore;
    int slot;
    bool good;
    bool more;
} pr_dead_event_t;

typedef enum {
    PR_DEAD_ACTION_NONE = 0,
    PR_DEAD_ACTION_CHORE,   /* run it, then CHORE_DONE */
    PR_DEAD_ACTION_RAISE,   /* write inbox.entries[slot], then RAISED */
    PR_DEAD_ACTION_SEND,    /* post of slot, then POSTED */
    PR_DEAD_ACTION_GIVE_UP, /* post of slot: it is forgotten; say so */
    PR_DEAD_ACTION_SENT,    /* post of slot went through: it is forgotten */
} pr_dead_action_kind_t;

typedef struct {
    pr_dead_action_kind_t kind;
    pr_chore_t chore;
    int slot;
    int tries; /* SEND: which one this is; GIVE_UP: how many there were */
} pr_dead_action_t;

typedef struct {
    int64_t next_at_ms;
    int64_t began_at_ms;
    bool under_way;
} pr_chore_state_t;

typedef struct {
    bool used;
    bool under_way;
    int tries;
    int64_t next_at_ms;
} pr_dead_post_t;

typedef struct {
    pr_dead_policy_t policy;
    bool connected;
    bool draining;
    pr_chore_state_t chores[PR_CHORES];
    pr_alert_inbox_t inbox;
    int raises_under_way;
    int64_t raise_at_ms; /* not before this, after a failure */
    pr_dead_post_t posts[PR_DEAD_POSTS_MAX];
    int posts_under_way;
} pr_dead_t;

void pr_dead_init(pr_dead_t *self, const pr_dead_policy_t *policy); /* policy is copied */
void pr_dead_set_policy(pr_dead_t *self, const pr_dead_policy_t *policy);

/* A slot (0..PR_DEAD_POSTS_MAX-1) for one more webhook post, due at once; -1: too many wait
 * already. */
int pr_dead_post_new(pr_dead_t *self, int64_t now_ms);

/* One event; at most PR_DEAD_ACTIONS_MAX actions, in this order. Returns their number. */
int pr_dead_step(pr_dead_t *self, const pr_dead_event_t *event, int64_t now_ms,
                 pr_dead_action_t actions[PR_DEAD_ACTIONS_MAX]);
int64_t pr_dead_deadline_ms(const pr_dead_t *self); /* when it wants a TICK; INT64_MAX = never */
bool pr_dead_drained(const pr_dead_t *self);

#endif
