/* SPDX-License-Identifier: Apache-2.0
 *
 * circuit-breaker, the decisions: what is known of every endpoint that is not well, whom to tell,
 * what to write down. The gate itself (5 in a row open it, one probe) is the scheduler's that owns
 * the endpoint; this is the gatherer (protocol.md, 2).
 *
 * Model. An entry per endpoint that fails, is not closed, or is forced; none for a healthy one.
 * Facts are hints and may be lost, so each decision can be made again from the next fact:
 *   failures in a row       > failing_limit: alert merchant_failing, once per episode (N19)
 *   closed -> open          alert breaker_open; the database marks the endpoint as failing
 *   any -> open             the database says until when its jobs show as held (each trip says it
 *                           anew; the end of the episode takes it back)
 *   failing for off_after   switched off, reason "failing"; the SQL looks again before it does
 *   410                     switched off, reason "410"
 *   a success               the episode ends: mark and alerts go, reason "failing" is lifted
 * What must be in the database is a wish of the entry until its statement is confirmed; wishes are
 * asked again every RETRY_MS. A person's command is saved first, then broadcast, then answered.
 *
 * Everything here can be rebuilt: forces and marks are loaded from the database at each connection
 * and every reload_ms; states come with the next move. No clock, no I/O; one thread.
 */
#ifndef PR_CIRCUIT_BREAKER_H
#define PR_CIRCUIT_BREAKER_H

#include "core/breaker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_WATCH_ACTIONS_MAX 32       /* of one step */
#define PR_WATCH_ENDPOINTS_MAX 100000 /* about 15 MB; more are not watched, and counted */
#define PR_WATCH_RETRY_MS 1000
#define PR_WATCH_GATHER_MS 20 /* wishes of many endpoints that fail at once leave together */
#define PR_WATCH_ID_MAX 64    /* bytes of a merchant id */
#define PR_WATCH_TEXT_MAX 320

/* The numbers of BreakerCommand.Verb. */
typedef enum {
    PR_WATCH_VERB_NONE = 0,
    PR_WATCH_RESET = 1,
    PR_WATCH_FORCE_OPEN = 2,
    PR_WATCH_FORCE_CLOSED = 3,
} pr_watch_verb_t;

/* What a try says of the receiver. */
typedef enum {
    PR_WATCH_ATTEMPT_NONE = 0, /* nothing: throttled, our own fault, returned */
    PR_WATCH_ATTEMPT_GOOD,
    PR_WATCH_ATTEMPT_BAD,
    PR_WATCH_ATTEMPT_GONE, /* 410 */
} pr_watch_attempt_t;

typedef struct {
    int64_t failing_limit; /* alert above this many failures in a row; >= 1 */
    int64_t mark_limit;    /* mark in the database from this many on; >= 1 */
    int64_t off_after_ms;  /* switch off after failing this long; 0 = never */
    int64_t reload_ms;     /* look again for forces made elsewhere; >= 1 */
} pr_watch_policy_t;

typedef enum {
    PR_WATCH_EVENT_NONE = 0,
    PR_WATCH_CONNECTED,
    PR_WATCH_DISCONNECTED,
    PR_WATCH_MOVED, /* endpoint_id, merchant_id, from, to, failures, at_us, held_jobs, open_ms */
    PR_WATCH_ATTEMPTED,   /* endpoint_id, merchant_id, attempt */
    PR_WATCH_GONE,        /* endpoint_id, merchant_id: its scheduler met a 410 */
    PR_WATCH_COMMAND,     /* endpoint_id, verb, ticket */
    PR_WATCH_SAVED,       /* endpoint_id, wish, good, found: answer to SAVE */
    PR_WATCH_FORCE_SAVED, /* endpoint_id, merchant_id, verb, ticket, good, found */
    PR_WATCH_LOAD_BEGIN,
    PR_WATCH_LOAD_ROW, /* endpoint_id, merchant_id, to (forced, or NONE), failing, since_ms ago */
    PR_WATCH_LOAD_END, /* good */
    PR_WATCH_TICK,
} pr_watch_event_kind_t;

/* Things to write down, one bit each. */
typedef enum {
    PR_WATCH_WISH_NONE = 0,
    PR_WATCH_WISH_CLEAR = 1,       /* the episode is over */
    PR_WATCH_WISH_MARK = 2,        /* it fails since now */
    PR_WATCH_WISH_OFF_GONE = 4,    /* switch off, 410 */
    PR_WATCH_WISH_OFF_FAILING = 8, /* switch off, failing too long */
    PR_WATCH_WISH_OPEN = 16,       /* its breaker opened; the end of the episode shuts it too */
} pr_watch_wish_t;

typedef struct {
    pr_watch_event_kind_t kind;
    int64_t endpoint_id;
    const char *merchant_id; /* borrowed for the call; cut at PR_WATCH_ID_MAX */
    pr_breaker_state_t from, to;
    uint32_t failures;
    int64_t at_us; /* wall clock of the scheduler that says so */
    uint32_t held_jobs, open_ms;
    pr_watch_attempt_t attempt;
    pr_watch_verb_t verb;
    int ticket; /* the caller's number of a command */
    pr_watch_wish_t wish;
    bool good;        /* the statement was done */
    bool found;       /* the endpoint exists; SAVED of OFF_*: it was switched off */
    bool failing;     /* LOAD_ROW: a mark is in the database */
    int64_t since_ms; /* LOAD_ROW: age of that mark */
} pr_watch_event_t;

typedef enum {
    PR_WATCH_ACTION_NONE = 0,
    PR_WATCH_ACTION_LOAD,       /* read forces and marks: LOAD_BEGIN, rows, LOAD_END */
    PR_WATCH_ACTION_SAVE,       /* endpoint_id, wish: then SAVED */
    PR_WATCH_ACTION_SAVE_FORCE, /* endpoint_id, verb, ticket: then FORCE_SAVED */
    PR_WATCH_ACTION_BROADCAST,  /* endpoint_id, verb, ticket: to the schedulers */
    PR_WATCH_ACTION_REPLY,      /* ticket; text = what went wrong, "" = done */
    PR_WATCH_ACTION_ALERT,      /* alert, subject, text */
} pr_watch_action_kind_t;

typedef struct {
    pr_watch_action_kind_t kind;
    int64_t endpoint_id;
    pr_watch_wish_t wish;
    int64_t open_ms; /* SAVE of OPEN */
    pr_watch_verb_t verb;
    int ticket;
    const char *alert; /* "merchant_failing", "breaker_open" */
    char subject[24];  /* the endpoint's id */
    char text[PR_WATCH_TEXT_MAX];
} pr_watch_action_t;

typedef struct {
    int64_t endpoint_id;
    char merchant_id[PR_WATCH_ID_MAX + 1];
    pr_breaker_state_t from, state; /* the last move heard of; CLOSED when none was */
    uint32_t failures;              /* in a row, by the attempts heard of */
    uint32_t moved_failures; /* in a row, by the last move: not added to, the facts overlap */
    int64_t moved_at_us;     /* 0: no move heard of */
    uint32_t held_jobs, open_ms;
    bool failing;          /* an episode is on, since failing_at_ms */
    int64_t failing_at_ms; /* monotonic; may be negative (before this boot) */
    bool opened;           /* the database says that it is open, or is to say so */
    bool told;             /* merchant_failing went out in this episode */
    bool loaded;           /* seen by the load under way */
    unsigned wishes;       /* pr_watch_wish_t bits to be asked */
    unsigned asked;        /* under way */
    int64_t ask_at_ms;     /* not before this, after a failure */
} pr_watch_endpoint_t;

typedef struct pr_watch_t pr_watch_t;

/* policy is copied. seed: for the hash table. */
pr_watch_t *pr_watch_new(const pr_watch_policy_t *policy, uint64_t seed);
void pr_watch_destroy(pr_watch_t **self);
void pr_watch_set_policy(pr_watch_t *self, const pr_watch_policy_t *policy);

/* One event; at most PR_WATCH_ACTIONS_MAX actions, to be carried out in this order. Returns their
 * number. */
int pr_watch_step(pr_watch_t *self, const pr_watch_event_t *event, int64_t now_ms,
                  pr_watch_action_t actions[PR_WATCH_ACTIONS_MAX]);
int64_t pr_watch_deadline_ms(const pr_watch_t *self); /* when it wants a TICK; INT64_MAX = never */

/* Walks the entries whose breaker is not closed; *cursor starts at 0; NULL = the end. No step in
 * between. */
const pr_watch_endpoint_t *pr_watch_next(const pr_watch_t *self, size_t *cursor);
/* The entry of one endpoint, or NULL when it is well. */
const pr_watch_endpoint_t *pr_watch_find(const pr_watch_t *self, int64_t endpoint_id);
size_t pr_watch_count(const pr_watch_t *self);
uint64_t pr_watch_unwatched(const pr_watch_t *self); /* facts dropped because the table was full */

#endif
