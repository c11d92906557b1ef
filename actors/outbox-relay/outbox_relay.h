/* SPDX-License-Identifier: Apache-2.0
 *
 * outbox-relay, the decisions: when to move which class of outbox rows into jobs.
 *
 * Model. A move is one SQL statement that takes the next frozen window of one class (section 1 of
 * protocol.md) and answers what it made. There is at most one move per class under way. A class
 * is polled again
 *   at once          after a full move (there is more),
 *   after busy_ms    while it is in traffic: something was moved less than TRAFFIC_HOLD_MS ago,
 *   after idle_ms    otherwise; twice that once nothing came for PR_RELAY_QUIET_MS: at multiples of that time,
 *                    so that classes without traffic are looked at together,
 *   after a delay that doubles from idle_ms to scan_ms while moves fail (deadlock, no space ...),
 * and in no case later than scan_ms after the last one (N5). Due classes leave in one turn, P0
 * first, so that they share a round trip; one that is due within busy_ms of another joins it.
 * Beside a higher class in traffic (that is not a flood itself) a lower one is moved in smaller
 * pieces: statements go one after the other, and P0's waits for the one before it.
 *
 * Nothing is moved before the cluster was checked on this very connection: a database that was
 * restored from a dump has transaction ids below the cursor, and rows would be left behind in
 * silence.
 *
 * No clock, no I/O: time is an argument. No heap. One thread. Two relays may run at once; what one
 * of them moves, the other does not see (the tick's number is the compare-and-swap).
 */
#ifndef PR_OUTBOX_RELAY_H
#define PR_OUTBOX_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#define PR_RELAY_CLASSES 3
/* Traffic is thought to go on for this long after the last row: longer than the gap between rows at
 * 10/s, so that steady traffic of that rate and more waits busy_ms and not idle_ms. */
#define PR_RELAY_TRAFFIC_HOLD_MS 250
/* After so long without a row there is no traffic to be quick for: 20 looks a second are 40 wake-ups
 * of the process, and the budget of an idle one is 50. */
#define PR_RELAY_QUIET_MS 1000
/* The most that one event can lead to: a check or three moves, and a hint. */
#define PR_RELAY_ACTIONS_MAX 4

typedef struct {
    int64_t busy_ms; /* 1.. ; relay.poll_busy */
    int64_t idle_ms; /* busy_ms.. ; relay.poll_idle */
    int64_t scan_ms; /* idle_ms.. ; relay.scan */
} pr_relay_policy_t;

typedef enum {
    PR_RELAY_EVENT_NONE = 0,
    PR_RELAY_CONNECTED,       /* the database is ready, statements are prepared */
    PR_RELAY_DISCONNECTED,    /* it is lost; what was under way is unknown */
    PR_RELAY_CLUSTER_GOOD,    /* the check on this connection: the cursor belongs to this cluster */
    PR_RELAY_CLUSTER_FOREIGN, /* the check: it does not */
    PR_RELAY_CLUSTER_UNKNOWN, /* the check could not be made */
    PR_RELAY_MOVED,           /* class_no, moved, full, last_seq */
    PR_RELAY_REFUSED,         /* class_no: the move itself doubts the cluster; check again */
    PR_RELAY_FAILED,          /* class_no: the move failed, the connection lives */
    PR_RELAY_TICK,            /* nothing happened, but time went by */
    PR_RELAY_DRAIN,           /* take no more */
} pr_relay_event_kind_t;

typedef struct {
    pr_relay_event_kind_t kind;
    int class_no;     /* 0..2 */
    int64_t moved;    /* jobs and ends made by this move, >= 0 */
    bool full;        /* the window had more rows than one move takes */
    int64_t last_seq; /* the class' last seq after the move; 0 = not known */
} pr_relay_event_t;

typedef enum {
    PR_RELAY_ACTION_NONE = 0,
    PR_RELAY_CHECK, /* run the cluster check */
    PR_RELAY_MOVE,  /* move one window of class_no */
    PR_RELAY_HINT,  /* tell the schedulers: last_seq */
    PR_RELAY_STOP,  /* end the process: the cursor belongs to another cluster */
} pr_relay_action_kind_t;

typedef struct {
    pr_relay_action_kind_t kind;
    int class_no;
    bool beside_higher;                 /* MOVE: a higher class has traffic, so take few rows */
    int64_t last_seq[PR_RELAY_CLASSES]; /* for HINT; 0 = not known */
} pr_relay_action_t;

typedef struct {
    bool under_way;
    int failures;             /* in a row */
    int64_t next_at_ms;       /* poll then; meaningless while under way */
    int64_t traffic_until_ms; /* in traffic before this */
    bool flood;               /* its last move was full */
    int64_t last_seq;
} pr_relay_class_t;

typedef struct {
    pr_relay_policy_t policy;
    bool connected;
    bool checking; /* the cluster check is under way */
    bool checked;  /* and was good, on this connection */
    bool draining;
    int64_t check_at_ms; /* when to check again after an unknown answer */
    pr_relay_class_t classes[PR_RELAY_CLASSES];
} pr_relay_t;

/* policy is copied; asserts that 1 <= busy_ms <= idle_ms <= scan_ms. */
void pr_relay_init(pr_relay_t *self, const pr_relay_policy_t *policy);
/* A reloaded policy: acts from the next decision on. */
void pr_relay_set_policy(pr_relay_t *self, const pr_relay_policy_t *policy);

/* One event at now_ms (monotonic). Writes at most PR_RELAY_ACTIONS_MAX actions, to be carried out
 * in this order; returns their number. */
int pr_relay_step(pr_relay_t *self, const pr_relay_event_t *event, int64_t now_ms,
                  pr_relay_action_t actions[PR_RELAY_ACTIONS_MAX]);

/* When it wants a PR_RELAY_TICK; INT64_MAX while it waits for an answer or for the database. */
int64_t pr_relay_deadline_ms(const pr_relay_t *self);
/* True when draining and nothing is under way. */
bool pr_relay_drained(const pr_relay_t *self);

#endif
