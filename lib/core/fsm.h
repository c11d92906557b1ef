/* SPDX-License-Identifier: Apache-2.0
 *
 * State machines as rows of data: from, event, to, a sentence for the log. The same rows decide,
 * are checked against the SQL constraints by tests, and are printed as diagrams into docs.
 *
 * A pair (state, event) without a row has a defined outcome: pr_fsm_next gives PR_FSM_REFUSED,
 * nothing moves. Here also: the tables of a notification (a delivery) and of a job
 * (docs/states.md).
 */
#ifndef PR_CORE_FSM_H
#define PR_CORE_FSM_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_FSM_REFUSED 0 /* state number 0 is no state */

typedef struct {
    uint8_t from, event, to;
    const char *sentence; /* for people: why */
} pr_fsm_row_t;

typedef struct {
    const char *name;
    const char *const *states; /* names; index 0 unused */
    const char *const *events;
    const pr_fsm_row_t *rows; /* at most one for a pair (from, event) */
    uint8_t state_count;      /* including 0 */
    uint8_t event_count;
    uint8_t initial; /* the state of birth */
    uint16_t row_count;
} pr_fsm_t;

/* The row of (from, event), or NULL. Numbers out of range have no row. */
const pr_fsm_row_t *pr_fsm_row(const pr_fsm_t *self, int from, int event);
int pr_fsm_next(const pr_fsm_t *self, int from, int event); /* the new state, or PR_FSM_REFUSED */
/* True when some event leads from one state to the other (a row that stays put does not count). */
bool pr_fsm_may_move(const pr_fsm_t *self, int from, int to);
bool pr_fsm_is_final(const pr_fsm_t *self, int state); /* no row leaves it */
/* Appends a Mermaid stateDiagram-v2. PR_BAD: out is full. */
PR_CHECK pr_rc_t pr_fsm_diagram(const pr_fsm_t *self, pr_buffer_t *out);

/* One delivery (notify_id, endpoint). */
typedef enum {
    PR_DELIVERY_NONE = 0,
    PR_DELIVERY_NEW,
    PR_DELIVERY_SENDING, /* live view, not stored */
    PR_DELIVERY_RETRYING,
    PR_DELIVERY_HELD,
    PR_DELIVERY_DELIVERED,
    PR_DELIVERY_CANCELLED,
    PR_DELIVERY_DEAD,
    PR_DELIVERY_STATES,
} pr_delivery_state_t;

typedef enum {
    PR_DELIVERY_EVENT_NONE = 0,
    PR_DELIVERY_SEND,    /* a try starts */
    PR_DELIVERY_HOLD,    /* breaker open, endpoint disabled or paused */
    PR_DELIVERY_CANCEL,  /* the application's wish, or no endpoint */
    PR_DELIVERY_ACCEPT,  /* the success rule holds */
    PR_DELIVERY_FAIL,    /* the try failed, retries are left */
    PR_DELIVERY_EXHAUST, /* the try failed, none is left */
    PR_DELIVERY_EXPIRE,  /* older than max_age */
    PR_DELIVERY_REDRIVE, /* a person drives a dead one again */
    PR_DELIVERY_EVENTS,
} pr_delivery_event_t;

extern const pr_fsm_t pr_fsm_delivery;

typedef enum {
    PR_JOB_NONE = 0,
    PR_JOB_WAITING,
    PR_JOB_PARKED, /* held: breaker, disabled endpoint */
    PR_JOB_DISPATCHED,
    PR_JOB_DONE,
    PR_JOB_DROPPED, /* its subject is final */
    PR_JOB_DEAD,
    PR_JOB_STATES,
} pr_job_state_t;

typedef enum {
    PR_JOB_EVENT_NONE = 0,
    PR_JOB_DISPATCH,
    PR_JOB_PARK,
    PR_JOB_UNPARK,
    PR_JOB_DROP,
    PR_JOB_SUCCEED,
    PR_JOB_RETRY,       /* failed; due again later */
    PR_JOB_WORKER_LOST, /* nothing heard of it: again, with the same token (ADR 0004) */
    PR_JOB_GIVE_UP,     /* retries exhausted or expired */
    PR_JOB_REDRIVE,
    PR_JOB_EVENTS,
} pr_job_event_t;

extern const pr_fsm_t pr_fsm_job;

#endif
