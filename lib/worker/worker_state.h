/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker's memory, shared by worker.c (jobs) and worker_peers.c (whom it talks to).
 */
#ifndef PR_WORKER_WORKER_STATE_H
#define PR_WORKER_WORKER_STATE_H

#include "base/map.h"
#include "worker/worker.h"

#define DELIVERED_MAX 8192u /* tokens remembered after delivery */
#define REPLACED_MAX 256u   /* sessions refused */
#define SESSIONS_MAX 64u    /* schedulers known */
#define NO_SLOT UINT32_MAX
#define ACTIONS_MAX (2u * PR_WORKER_SLOTS_MAX + 8u * PR_WORKER_PEERS_MAX)

/* Slots linked by index, oldest first. */
typedef struct {
    uint32_t head, tail, count;
} slot_list_t;

typedef struct {
    bool used;
    bool direct;
    pr_lane_peer_t lane;
    uint8_t instance[16];
    int64_t heard_at_ms;
    int64_t greeted_at_ms;
    int64_t leave_at_ms; /* direct: a broker is back, go then; INT64_MAX: stay */
    char address[PR_WORKER_ADDRESS_MAX + 1];
} peer_t;

typedef struct {
    bool used;
    uint8_t id[16];
    uint8_t shards[32];
    int64_t heard_at_ms;
    char address[PR_WORKER_ADDRESS_MAX + 1];
} session_t;

struct pr_worker_t {
    pr_worker_config_t config;
    pr_lanes_t lanes;
    bool draining;
    bool offer_all; /* with the next offer, however little it is */
    int64_t heartbeat_at_ms;
    int64_t cool_at_ms;
    int64_t broker_heard_at_ms;
    peer_t peers[PR_WORKER_PEERS_MAX];
    session_t sessions[SESSIONS_MAX];
    uint8_t replaced[REPLACED_MAX][16];
    uint32_t replaced_count; /* ever; the newest REPLACED_MAX stand in the ring */
    pr_held_t *slots;
    slot_list_t running, owed;
    uint32_t free_head;
    pr_map_t *by_token;  /* to pr_held_t */
    pr_map_t *delivered; /* keys only */
    uint64_t *delivered_keys;
    uint64_t delivered_count;
    pr_worker_action_t *actions;
    uint32_t action_head, action_count;
    pr_worker_stats_t stats;
};

pr_worker_action_t *worker_emit(pr_worker_t *self, pr_worker_action_kind_t kind);
/* Sends an owed outcome where its owner will see it; when nobody is there it waits. */
void worker_send(pr_worker_t *self, pr_held_t *held, int64_t now_ms);
void worker_list_append(pr_worker_t *self, slot_list_t *list, uint32_t slot);
/* Says to a peer how many jobs we have agreed to take from it. */
void worker_say_credit(pr_worker_t *self, uint32_t peer);
void worker_list_remove(pr_worker_t *self, slot_list_t *list, uint32_t slot);

/* worker_peers.c */
bool worker_session_replaced(const pr_worker_t *self, const uint8_t session[16]);
/* The live peer for an outcome; PR_WORKER_PEERS_MAX: none. */
uint32_t worker_peer_for(const pr_worker_t *self, const pr_held_t *held);
void worker_greet(pr_worker_t *self, uint32_t peer, int64_t now_ms);
void worker_peers_tick(pr_worker_t *self, int64_t now_ms);

#endif
