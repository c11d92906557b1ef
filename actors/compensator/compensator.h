/* SPDX-License-Identifier: Apache-2.0
 *
 * compensator, decisions. It claims due tasks from the database itself, runs at most `slots` of
 * them at once, and every now and then sends back what lost workers hold.
 *
 * One claim and one sweep are under way at most. A claim that filled all free slots is followed by
 * the next as soon as one is free; else the next comes after scan_ms. While the database is away
 * nothing is claimed; runs that are out go on, and what they came to is written when it is back.
 * Draining: no more claims; drained when no run is left.
 */
#ifndef PR_COMPENSATOR_H
#define PR_COMPENSATOR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int slots;
    int64_t scan_ms, sweep_ms;
} pr_compensator_policy_t;

typedef enum {
    PR_COMP_AWAY = 0, /* no connection */
    PR_COMP_OPENING,  /* connected, the session is being opened */
    PR_COMP_WORKING,
} pr_comp_phase_t;

typedef struct {
    pr_compensator_policy_t policy;
    pr_comp_phase_t phase;
    int running; /* runs: claimed, not finished */
    bool claiming, sweeping, draining;
    bool full; /* the last claim took all that it might: there may be more */
    int64_t claim_at_ms, sweep_at_ms;
    int64_t open_at_ms; /* OPENING: when it is tried again; INT64_MAX: it is under way */
} pr_compensator_t;

typedef enum {
    PR_COMP_TICK = 0,
    PR_COMP_CONNECTED,
    PR_COMP_DISCONNECTED,
    PR_COMP_OPENED,  /* the session is there; `good` false: it could not be opened, yet */
    PR_COMP_ENDED,   /* the database says that the session has ended */
    PR_COMP_CLAIMED, /* `count` rows; good false: the claim failed */
    PR_COMP_SWEPT,
    PR_COMP_RUN_ENDED,
    PR_COMP_DRAIN,
} pr_comp_event_kind_t;

typedef struct {
    pr_comp_event_kind_t kind;
    bool good;
    int count;
    int asked; /* CLAIMED: at most so many were asked for */
} pr_comp_event_t;

typedef enum {
    PR_COMP_ACT_NONE = 0,
    PR_COMP_ACT_OPEN,
    PR_COMP_ACT_CLAIM,
    PR_COMP_ACT_SWEEP
} pr_comp_act_t;

typedef struct {
    pr_comp_act_t kind;
    int most; /* CLAIM */
} pr_comp_action_t;

#define PR_COMP_ACTIONS_MAX 2

void pr_compensator_init(pr_compensator_t *self, const pr_compensator_policy_t *policy);
/* Gives the number of actions. */
int pr_compensator_step(pr_compensator_t *self, const pr_comp_event_t *event, int64_t now_ms,
                        pr_comp_action_t actions[PR_COMP_ACTIONS_MAX]);
int64_t pr_compensator_deadline_ms(const pr_compensator_t *self); /* INT64_MAX: none */
bool pr_compensator_drained(const pr_compensator_t *self);

#endif
