/* SPDX-License-Identifier: Apache-2.0
 *
 * The circuit breaker of one endpoint (N13). A plain value that the endpoint's owner embeds.
 *
 *   closed        everything goes; `threshold` consecutive failures open it
 *   open          everything is held for open_ms; then one probe may go
 *   half_open     exactly one probe is out, all else is held; its end decides
 *   forced_open   a person: everything is held; forced_closed: everything goes, nothing is counted
 *
 * Outcomes carry the id of the job they belong to. While not closed only the probe's own outcome
 * counts: late outcomes of jobs sent before the breaker opened neither close it nor prolong the
 * wait. A probe that stays silent past its deadline has failed. A probe that proves nothing
 * (throttled, our own fault) waits another open_ms; one that was handed back untried may go again
 * at once.
 *
 * After a probe closed it the breaker is `recovering`: the backlog is let out by pr_breaker_ramp
 * jobs at a time: 1, then 2, 4 ... doubling each time as many successes were seen, halved by a
 * failure, no limit after 64.
 *
 * The rows (from, event, to, sentence) are pr_fsm_breaker, complete for every pair; only
 * pr_breaker_* change state. Times are monotonic milliseconds, given. Not here: persistence of
 * forces, broadcasts, who owns the endpoint.
 */
#ifndef PR_CORE_BREAKER_H
#define PR_CORE_BREAKER_H

#include "core/fsm.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_BREAKER_THRESHOLD 5
#define PR_BREAKER_OPEN_MS 30000
#define PR_BREAKER_RAMP_MAX 64
#define PR_BREAKER_NO_LIMIT UINT32_MAX

/* Numbers as in postrider.v1.BreakerState. */
typedef enum {
    PR_BREAKER_NONE = 0,
    PR_BREAKER_CLOSED = 1,
    PR_BREAKER_OPEN = 2,
    PR_BREAKER_HALF_OPEN = 3,
    PR_BREAKER_FORCED_OPEN = 4,
    PR_BREAKER_FORCED_CLOSED = 5,
    PR_BREAKER_STATES,
} pr_breaker_state_t;

typedef enum {
    PR_BREAKER_EVENT_NONE = 0,
    PR_BREAKER_SUCCESS,    /* an ordinary job succeeded */
    PR_BREAKER_FAILURE,    /* an ordinary job failed, fewer than threshold in a row */
    PR_BREAKER_TRIP,       /* ... and it is the threshold-th in a row */
    PR_BREAKER_PROBE_SENT, /* the one probe left */
    PR_BREAKER_PROBE_SUCCESS,
    PR_BREAKER_PROBE_FAILURE,  /* or silent past its deadline */
    PR_BREAKER_PROBE_NEUTRAL,  /* throttled, our own fault: nothing learned */
    PR_BREAKER_PROBE_RETURNED, /* handed back untried */
    PR_BREAKER_FORCE_OPEN,
    PR_BREAKER_FORCE_CLOSE,
    PR_BREAKER_RESET, /* a person: to closed, counters 0; also leaves a force */
    PR_BREAKER_EVENTS,
} pr_breaker_event_t;

extern const pr_fsm_t pr_fsm_breaker;

typedef enum {
    PR_BREAKER_HOLD = 0, /* send nothing now */
    PR_BREAKER_ALLOW,    /* send, with at most pr_breaker_ramp jobs in flight */
    PR_BREAKER_PROBE,    /* send exactly one job and say so with pr_breaker_probe_sent */
} pr_breaker_gate_t;

typedef struct {
    pr_breaker_state_t state;
    uint32_t threshold;
    uint32_t failures;       /* consecutive, while closed; kept while open for reports */
    uint32_t ramp;           /* 0: not recovering; else jobs allowed in flight */
    uint32_t ramp_successes; /* since ramp last doubled */
    int64_t open_ms;
    int64_t open_until_ms;  /* open: when a probe may go; half_open with no probe out: 0 */
    uint64_t probe_id;      /* 0: no probe out */
    int64_t probe_until_ms; /* its deadline */
} pr_breaker_t;

/* What a call did. from == to: nothing moved (sentence still says why). */
typedef struct {
    pr_breaker_state_t from, to;
    const char *sentence; /* static */
} pr_breaker_move_t;

/* closed, nothing counted. threshold >= 1, open_ms >= 1 (already scaled). */
void pr_breaker_init(pr_breaker_t *self, uint32_t threshold, int64_t open_ms);

/* May a job go now? Changes nothing, so it may be asked without sending. */
pr_breaker_gate_t pr_breaker_allow(const pr_breaker_t *self, int64_t now_ms);
/* How many jobs may be in flight: PR_BREAKER_NO_LIMIT unless recovering. */
uint32_t pr_breaker_ramp(const pr_breaker_t *self);
/* After PR_BREAKER_PROBE was answered and the job left. id: never 0, names this job in the on_*
 * calls; silent at until_ms it has failed. */
pr_breaker_move_t pr_breaker_probe_sent(pr_breaker_t *self, uint64_t id, int64_t until_ms);

/* The end of job `id` (any job of the endpoint, probe or not). Which outcome is which:
 * pr_outcome_for_breaker in core/judge.h. */
pr_breaker_move_t pr_breaker_on_success(pr_breaker_t *self, uint64_t id, int64_t now_ms);
pr_breaker_move_t pr_breaker_on_failure(pr_breaker_t *self, uint64_t id, int64_t now_ms);
pr_breaker_move_t pr_breaker_on_neutral(pr_breaker_t *self, uint64_t id, int64_t now_ms);
/* Handed back untried, or its sender took it back: a probe may go again at once. */
pr_breaker_move_t pr_breaker_on_returned(pr_breaker_t *self, uint64_t id, int64_t now_ms);
/* The worker that held job `id` is gone: for a probe that is a failure, else nothing. */
pr_breaker_move_t pr_breaker_on_probe_lost(pr_breaker_t *self, uint64_t id, int64_t now_ms);
/* Applies the probe's deadline. Call it when pr_breaker_next_ms is due. */
pr_breaker_move_t pr_breaker_on_time(pr_breaker_t *self, int64_t now_ms);
/* When the answer of pr_breaker_allow may change by time alone: the end of the open time or the
 * probe's deadline; INT64_MAX: never. */
int64_t pr_breaker_next_ms(const pr_breaker_t *self);

/* People's commands, also an adopted force from the endpoint's row. */
pr_breaker_move_t pr_breaker_force_open(pr_breaker_t *self);
pr_breaker_move_t pr_breaker_force_close(pr_breaker_t *self);
pr_breaker_move_t pr_breaker_reset(pr_breaker_t *self);

const char *pr_breaker_state_name(pr_breaker_state_t state); /* "closed" ...; "?" when unknown */

#endif
