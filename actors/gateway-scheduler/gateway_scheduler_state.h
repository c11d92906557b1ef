/* SPDX-License-Identifier: Apache-2.0
 *
 * What the pure parts share: calls, channels and the lists they stand in. Private to this folder.
 *   gateway_scheduler.c          a call's life: rows in, commits, outcomes, leases
 *   gateway_scheduler_channel.c  when a channel lets a call go: lanes, tokens, places, pauses
 *   gateway_scheduler_plan.c     when the next call is due
 */
#ifndef PR_GATEWAY_SCHEDULER_STATE_H
#define PR_GATEWAY_SCHEDULER_STATE_H

#include "actors/gateway-scheduler/gateway_scheduler.h"
#include "base/map.h"
#include "core/bucket.h"
#include "core/timerq.h"

typedef struct call_t call_t;
typedef struct channel_t channel_t;

typedef enum { LANE_MONEY = 0, LANE_NEW, LANE_OLD, LANES } lane_t;

typedef enum {
    CALL_NONE = 0,
    CALL_WAITING,    /* in its channel's lane */
    CALL_COMMITTING, /* its dispatch row is on the way to Postgres */
    CALL_COMMITTED,  /* in its channel's outgoing list: waits for a token and credit */
    CALL_UNDER_WAY,  /* with a worker */
    CALL_APPLYING,   /* its outcome is on the way to Postgres */
} call_state_t;

typedef struct {
    call_t *first, *last;
    uint32_t count;
} call_list_t;

struct call_t {
    int64_t id;
    channel_t *channel;
    uint8_t class_no;
    lane_t lane;
    call_state_t state;
    call_t *prev, *next;    /* in a lane, or outgoing */
    pr_calls_facts_t facts; /* from COMMITTED on */
    int64_t committed_ms;   /* its row was, by our clock */
    int64_t lease_at_ms;
    void *payload; /* COMMITTED */
};

struct channel_t {
    pr_calls_channel_t spec;
    bool stopped; /* by an answer; until a newer row says active */
    pr_bucket_t bucket;
    call_list_t lanes[LANES];
    call_list_t outgoing[PR_CALLS_CLASSES]; /* COMMITTED */
    uint32_t committing;                    /* COMMITTING */
    uint32_t busy;                          /* UNDER WAY */
    uint32_t applying;                      /* APPLYING */
    uint32_t lent;                          /* places that others hold */
    bool wished;                            /* one of them waits for a place and a token */
    uint32_t turn;                          /* of the lanes */
    uint32_t throttles;                     /* 429 in a row */
    int64_t paused_until_ms;
    bool more; /* Postgres has calls of it that are due and are not here */
    channel_t *next;
};

struct pr_calls_t {
    pr_calls_config_t config;
    pr_map_t *channels; /* no -> channel_t */
    channel_t *ring;    /* all channels, in a circle; the one whose turn it is */
    pr_map_t *calls;    /* id -> call_t */
    pr_map_t *applying; /* token -> itself: outcomes on their way, those of unknown tokens too */
    pr_timerq_t *leases;
    uint32_t picked[PR_CALLS_CLASSES]; /* COMMITTING and COMMITTED */
    pr_calls_action_t *actions;        /* first come, first out; grows */
    uint32_t actions_first, actions_count, actions_room;
    pr_calls_stats_t stats;
    uint64_t seed;
};

/* gateway_scheduler.c */
channel_t *channel_find(const pr_calls_t *self, int64_t no); /* NULL: not ours */
pr_calls_action_t *calls_emit(pr_calls_t *self, pr_calls_action_kind_t kind);
void call_forget(pr_calls_t *self, call_t *call); /* out of every structure; FREE for a payload */
void call_hand_back(pr_calls_t *self, call_t *call); /* COMMITTED: RESULT, returned */
void call_list_add(call_list_t *list, call_t *call, bool front);
void call_list_remove(call_list_t *list, call_t *call);

/* gateway_scheduler_channel.c */
bool channel_open(const channel_t *channel, int64_t now_ms); /* active, not stopped, not paused */
uint32_t channel_committed(const channel_t *channel);
/* How many more calls may be picked now: places and the tokens of the time ahead. */
uint32_t channel_room(const pr_calls_t *self, const channel_t *channel, int64_t now_ms);
call_t *channel_pick(channel_t *channel, const uint64_t room[PR_CALLS_CLASSES]);
/* What an answer says about the channel itself: pauses and stops. retry_after_ms is capped. */
void channel_heard(pr_calls_t *self, channel_t *channel, const pr_calls_outcome_t *said,
                   int64_t now_ms);
/* Nothing leaves for long: what waits is forgotten, what is committed goes back. */
void channel_clear(pr_calls_t *self, channel_t *channel);
int64_t channel_deadline_ms(const pr_calls_t *self, const channel_t *channel, int64_t now_ms);

#endif
