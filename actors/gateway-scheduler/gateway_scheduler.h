/* SPDX-License-Identifier: Apache-2.0
 *
 * The gateway-scheduler's decisions: which call to a gateway leaves when, and when the next one is due. Pure: no clock, no
 * I/O; time, randomness and rows are arguments, effects are actions that gateway_scheduler_io.c carries out.
 *
 * Model. A call is one question or one order to a gateway, about one payment or refund. Postgres has all of them; here are
 * those that are due, up to a bound, and those that are under way:
 *
 *     WAITING --(picked)--> COMMITTING --(committed)--> COMMITTED --(a token)--> UNDER WAY --(outcome)--> APPLYING --> gone
 *                               |                          |                        |
 *                               +--(refused)--> gone       +--(2 s unsent)--------->+--(lease ends)--> gone
 *
 * A call leaves only after its dispatch row is committed (docs/protocol.md, section 6): it is picked, the row is committed,
 * and only then it takes a token and goes. So no stall of the database can turn tokens of the past into a burst at the gateway.
 *
 * A channel has one owner, and here is its one budget: a token bucket and a number of calls at a time, for money and
 * queries together, whoever asked for them. The bucket of a new owner is empty, and what its predecessor has under way is adopted.
 *
 * Of one channel three lanes wait. MONEY: charges, captures, refunds, closes. NEW: queries that became due a moment ago. OLD: a
 * backlog. While all of them wait, of eight calls three are money, three new, two old; a lane that is empty leaves its turns to
 * the others. So an outage's backlog does not delay a new payment, and a flood of new payments does not starve the backlog.
 * Channels take turns, call by call.
 *
 * Times are int64 milliseconds of one monotonic clock. One thread.
 */
#ifndef PR_GATEWAY_SCHEDULER_H
#define PR_GATEWAY_SCHEDULER_H

#include "base/rc.h"
#include "core/poll_plan.h"
#include "core/retry.h"
#include "gateway/gateway.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_CALLS_CLASSES 2 /* classes of credit: 0 money, 1 queries */
#define PR_CALLS_MONEY 0
#define PR_CALLS_QUERY 1
#define PR_CALLS_REASON_MAX 32

typedef struct pr_calls_t pr_calls_t;

typedef struct {
    uint32_t keep;          /* calls that wait in memory, per channel and lane */
    int64_t ahead_ms;       /* rows are committed for the tokens of so much time to come */
    int64_t send_within_ms; /* committed and not sent within this: handed back */
    int64_t pause_cap_ms;   /* the longest pause a gateway may ask for (P6: 24 h) */
    int64_t pause_first_ms; /* a 429 without Retry-After: this, doubled by each in a row ... */
    int64_t pause_most_ms;  /* ... up to this */
} pr_calls_config_t;

/* What the step must know of a channel. */
typedef struct {
    int64_t no;
    uint8_t shard;
    bool active;       /* false: paused, stopped, in maintenance: nothing leaves */
    int64_t version;   /* of the row: a stop of our own holds until a newer one says active */
    double rate_per_s; /* 0 = unlimited */
    uint32_t burst;    /* 0 counts as 1 */
    uint32_t concurrency;
    pr_poll_channel_t poll;    /* its schedule is the one below */
    pr_retry_policy_t polls;   /* scaled */
    pr_retry_policy_t charges; /* R4; scaled */
    double time_scale;         /* of what is not scaled already; 0 counts as 1 */
    int64_t paused_ms; /* NEW to us: what is left of a pause that its former owner was told */
} pr_calls_channel_t;

/* A call that is due. */
typedef struct {
    int64_t id;
    int64_t channel_no;
    uint8_t class_no;
    pr_operation_t operation;
    bool backlog; /* it is due for long: the lane OLD */
} pr_calls_row_t;

typedef enum {
    PR_CALLS_KEPT = 0,
    PR_CALLS_KNOWN,    /* in memory already, wherever */
    PR_CALLS_NO_ROOM,  /* stays in Postgres; pr_calls_hungry says when to look again */
    PR_CALLS_NOT_OURS, /* no such channel, or nothing of it may leave */
} pr_calls_added_t;

/* The token of one try; docs/protocol.md section 3. */
typedef struct {
    int64_t id;
    uint64_t salt;
    uint32_t attempt;
} pr_calls_token_t;

/* What a call is about, in the database's own numbers; refund_id 0: the payment itself. */
typedef struct {
    int64_t payment_id, refund_id;
    pr_operation_t operation;
} pr_calls_subject_t;

/* What is known once the dispatch row is committed. */
typedef struct {
    pr_calls_token_t token;
    pr_calls_subject_t subject;
    int64_t lease_ms;  /* until the lease ends, from now */
    uint32_t failures; /* calls in a row that got no answer, before this one */
    pr_poll_payment_t payment;
} pr_calls_facts_t;

/* What a worker said, as far as it matters here. */
typedef struct {
    int64_t channel_no; /* these two are for tokens that we do not know */
    pr_calls_subject_t subject;
    pr_status_t status;
    pr_action_t action;
    int64_t retry_after_ms; /* -1: not asked */
    bool throttled;         /* 429, or the profile's words for it */
    bool failed;            /* the request itself failed: no answer about the payment */
    bool returned;          /* handed back untried */
} pr_calls_outcome_t;

typedef enum {
    PR_CALLS_NONE = 0,
    PR_CALLS_RESULT, /* write it (calls_apply), then acknowledge `outcome`, if there is one */
    PR_CALLS_PAUSED, /* the channel asked for delay_ms of peace */
    PR_CALLS_STOPPED, /* credential or configuration refused: nothing of the channel leaves any more */
    PR_CALLS_LOST,    /* the lease of a call under way ended: its worker was not heard of again */
    PR_CALLS_FREE,    /* free `outcome`: nobody needs it */
} pr_calls_action_kind_t;

typedef struct {
    pr_calls_action_kind_t kind;
    int64_t channel_no;
    pr_calls_token_t token;
    int64_t delay_ms;           /* RESULT: until the next call, -1 = none is planned; PAUSED */
    const char *reason;         /* RESULT: static, "still_pending" ... */
    uint32_t sooner;            /* RESULT: pr_poll_payment_t.sooner from now on */
    bool at_expiry;             /* RESULT: it has been asked at or after expiry */
    bool returned;              /* RESULT: it was never made */
    bool stray;                 /* RESULT: of a token that we do not know (P5) */
    void *outcome;              /* as given to pr_calls_outcome; NULL: none */
    pr_calls_subject_t subject; /* RESULT */
} pr_calls_action_t;

pr_calls_t *pr_calls_new(const pr_calls_config_t *config, uint64_t seed);
/* What is still held, payloads and outcomes, is given to free_fn. */
void pr_calls_destroy(pr_calls_t **self, void (*free_fn)(void *));

/* New (its bucket is empty) or changed (what is in the bucket stays, up to the new burst). Not active any more: what waits is
 * forgotten, what is committed goes back. */
void pr_calls_set_channel(pr_calls_t *self, const pr_calls_channel_t *channel, int64_t now_ms);
/* Ownership is lost: everything is forgotten, FREE for what was held. */
void pr_calls_drop_all(pr_calls_t *self);
/* It is another's now: it and its calls are forgotten. */
void pr_calls_drop_channel(pr_calls_t *self, int64_t channel_no);
/* Calls of the shard that are being committed, sent, made or applied. */
uint32_t pr_calls_shard_busy(const pr_calls_t *self, uint8_t shard);

pr_calls_added_t pr_calls_add(pr_calls_t *self, const pr_calls_row_t *row);
/* A former owner's call that may be under way: it takes its place among those at a time until its lease ends. */
void pr_calls_adopt(pr_calls_t *self, int64_t channel_no, uint8_t class_no,
                    const pr_calls_facts_t *facts, int64_t now_ms);
/* Postgres has more of these that are due than a look may bring. */
void pr_calls_more(pr_calls_t *self, int64_t channel_no);
/* A look begins: forgets what pr_calls_more and NO_ROOM said. */
void pr_calls_looking(pr_calls_t *self);
/* There is room again for calls that were left in Postgres. */
bool pr_calls_hungry(const pr_calls_t *self);

/* Up to max calls whose dispatch rows are to be committed now; room: credit of each class beyond what was picked before. */
int pr_calls_pick(pr_calls_t *self, const uint64_t credit[PR_CALLS_CLASSES], int64_t *ids, int max,
                  int64_t now_ms);
/* The row is committed. False: nobody wants the call any more (ownership was lost meanwhile); the payload stays the caller's. */
bool pr_calls_committed(pr_calls_t *self, const pr_calls_facts_t *facts, void *payload,
                        int64_t now_ms);
/* Postgres dropped it, or could not for now: it is forgotten; a look finds it again if it lives. */
void pr_calls_refused(pr_calls_t *self, int64_t id);

typedef struct {
    pr_calls_token_t token;
    int64_t channel_no;
    uint8_t class_no, shard;
    int64_t lease_at_ms;
    void *payload; /* the caller's from now on */
} pr_calls_sent_t;

/* The next call of the class that may leave now; it is under way. False: none. */
bool pr_calls_send(pr_calls_t *self, uint8_t class_no, pr_calls_sent_t *out, int64_t now_ms);
/* It could not be sent after all: token and payload go back, it is the first again. */
void pr_calls_unsent(pr_calls_t *self, const pr_calls_sent_t *sent);

/* A worker's word: one RESULT follows, or FREE for a word that is on its way to Postgres already. random: 64 uniform bits. */
void pr_calls_outcome(pr_calls_t *self, const pr_calls_token_t *token,
                      const pr_calls_outcome_t *said, uint64_t random, void *outcome,
                      int64_t now_ms);
/* The RESULT is committed; or it could not be written for now: the worker will say it again. */
void pr_calls_applied(pr_calls_t *self, const pr_calls_token_t *token);
void pr_calls_not_applied(pr_calls_t *self, const pr_calls_token_t *token);

/* Others (calls of no queue: statements) hold so many places of the channel, by turns that were lent; wished: one more is wanted,
 * and a place is kept free for it. */
void pr_calls_lent(pr_calls_t *self, int64_t channel_no, uint32_t held, bool wished);
/* Lends it: takes its token and its place. False: nothing may leave, or there is no token or place. */
bool pr_calls_lend(pr_calls_t *self, int64_t channel_no, int64_t now_ms);
/* Others were told to leave the channel alone: the same holds for us. */
void pr_calls_pause(pr_calls_t *self, int64_t channel_no, int64_t delay_ms, int64_t now_ms);

/* Leases, pauses, calls that could not be sent. Each turn. */
void pr_calls_tick(pr_calls_t *self, int64_t now_ms);
/* When pick, send or tick will have something to do that they have not now; INT64_MAX: never. What could leave now, and did not
 * for want of credit, waits for a message, not for a time. */
int64_t pr_calls_deadline_ms(const pr_calls_t *self, int64_t now_ms);
/* How many calls of each class could leave soon, were there credit. */
void pr_calls_want(const pr_calls_t *self, uint32_t want[PR_CALLS_CLASSES], int64_t now_ms);
/* Takes the oldest action; false when there is none. */
bool pr_calls_action(pr_calls_t *self, pr_calls_action_t *out);

typedef struct {
    uint32_t channels, waiting, committing, committed, under_way, applying;
} pr_calls_stats_t;
void pr_calls_stats(const pr_calls_t *self, pr_calls_stats_t *out);

/* ---- gateway_scheduler_plan.c ---- */

typedef struct {
    int64_t delay_ms; /* -1: no further question: what follows is for the door in SQL to say */
    const char *reason;
    uint32_t sooner;
    bool at_expiry, last;
} pr_calls_plan_t;

/* When the next call after this outcome is due, whatever it will be (which one is decided in SQL). */
pr_calls_plan_t pr_calls_plan(const pr_calls_channel_t *channel, const pr_calls_facts_t *facts,
                              const pr_calls_outcome_t *said, uint64_t random);

#endif
