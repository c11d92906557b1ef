/* SPDX-License-Identifier: Apache-2.0
 *
 * When an endpoint lets a job go. The gate asks, in this order: is it switched off (disabled, 410), does its breaker hold,
 * is it paused by a Retry-After, is its window full, are its buckets empty. A closed gate says when it may open by
 * itself (a timer) or that an event will open it (an outcome, a person).
 *
 * The window starts at 2 and grows by one with each success up to the endpoint's concurrency; an unreachable receiver
 * halves it. So a receiver that hangs has few calls hanging before its breaker opens, and a thousand such receivers cost the
 * healthy ones little (N7).
 */
#include "actors/scheduler/scheduler_state.h"
#include "base/alloc.h"
#include "base/assert.h"

#define WINDOW_START 2u

endpoint_t *endpoint_new(pr_sched_t *self, const pr_sched_endpoint_t *spec, int64_t now_ms)
{
    endpoint_t *endpoint = PR_NEW(endpoint_t);
    endpoint->spec = *spec;
    endpoint->window = WINDOW_START < spec->concurrency ? WINDOW_START : spec->concurrency;
    endpoint->wake_at_ms = INT64_MAX;
    endpoint->expire_at_ms = INT64_MAX;
    endpoint->gone = spec->gone;
    endpoint->paused_until_ms = spec->paused_until_ms;
    for (int class_no = 0; class_no < PR_SCHED_CLASSES; class_no++)
        endpoint->db_due_ms[class_no] = INT64_MAX;
    pr_breaker_init(&endpoint->breaker, self->config.breaker_threshold,
                    self->config.breaker_open_ms);
    pr_bucket_init(&endpoint->bucket, spec->rate_per_s, 1, now_ms);
    if (spec->forced == PR_FORCED_OPEN)
        (void)pr_breaker_force_open(&endpoint->breaker);
    else if (spec->forced == PR_FORCED_CLOSED)
        (void)pr_breaker_force_close(&endpoint->breaker);
    return endpoint;
}

void endpoint_destroy(pr_sched_t *self, endpoint_t *endpoint)
{
    endpoint_leave_rings(self, endpoint);
    pr_free(endpoint);
}

static void recover(pr_sched_t *self, endpoint_t *endpoint, int64_t now_ms)
{
    endpoint->window = 1;
    endpoint->recovery_until_ms = now_ms + self->config.recovery_ms;
    pr_bucket_init(&endpoint->recovery, self->config.recovery_rate_per_s, 1, now_ms);
}

static void moved(pr_sched_t *self, endpoint_t *endpoint, pr_breaker_move_t move, int64_t now_ms)
{
    if (move.from == move.to)
        return;
    if (move.to == PR_BREAKER_CLOSED &&
        (move.from == PR_BREAKER_HALF_OPEN || move.from == PR_BREAKER_FORCED_OPEN))
        recover(self, endpoint, now_ms);
    uint32_t held = 0;
    for (int class_no = 0; class_no < PR_SCHED_CLASSES; class_no++)
        held += endpoint->jobs[class_no];
    pr_sched_action_t *action = sched_emit(self, PR_SCHED_BREAKER, endpoint);
    action->from = move.from;
    action->to = move.to;
    action->failures = endpoint->breaker.failures;
    action->held = held;
    for (uint8_t class_no = 0; class_no < PR_SCHED_CLASSES; class_no++)
        endpoint_page(self, endpoint, class_no, now_ms); /* there may be more room now */
}

void endpoint_reset_breaker(pr_sched_t *self, endpoint_t *endpoint, int64_t now_ms)
{
    moved(self, endpoint, pr_breaker_reset(&endpoint->breaker), now_ms);
}

static void apply_force(pr_sched_t *self, endpoint_t *endpoint, int forced, int64_t now_ms)
{
    if (forced == PR_FORCED_OPEN)
        moved(self, endpoint, pr_breaker_force_open(&endpoint->breaker), now_ms);
    else if (forced == PR_FORCED_CLOSED)
        moved(self, endpoint, pr_breaker_force_close(&endpoint->breaker), now_ms);
    else
        moved(self, endpoint, pr_breaker_reset(&endpoint->breaker), now_ms);
}

void endpoint_update(pr_sched_t *self, endpoint_t *endpoint, const pr_sched_endpoint_t *spec,
                     int64_t now_ms)
{
    pr_sched_endpoint_t was = endpoint->spec;
    endpoint->spec = *spec;
    if (endpoint->window > spec->concurrency)
        endpoint->window = spec->concurrency;
    if (was.rate_per_s < spec->rate_per_s || was.rate_per_s > spec->rate_per_s)
        pr_bucket_change(&endpoint->bucket, spec->rate_per_s, 1, now_ms);
    if (was.forced != spec->forced)
        apply_force(self, endpoint, (int)spec->forced, now_ms);
    if (spec->paused_until_ms > endpoint->paused_until_ms)
        endpoint->paused_until_ms = spec->paused_until_ms;
    if (!spec->active)
        endpoint->gone = false; /* its row says so by itself now */
    if (!was.active && spec->active) {
        moved(self, endpoint, pr_breaker_reset(&endpoint->breaker), now_ms);
        recover(self, endpoint, now_ms);
    }
    endpoint_refresh(self, endpoint, now_ms);
    for (uint8_t class_no = 0; class_no < PR_SCHED_CLASSES; class_no++)
        endpoint_page(self, endpoint, class_no, now_ms);
}

bool endpoint_held(const endpoint_t *endpoint)
{
    pr_breaker_state_t state = endpoint->breaker.state;
    return !endpoint->spec.active || endpoint->gone || state == PR_BREAKER_OPEN ||
           state == PR_BREAKER_HALF_OPEN || state == PR_BREAKER_FORCED_OPEN;
}

/* Many slow endpoints with long queues must not fill the class' share of memory, which would stop the reading of new jobs for
 * all others: once it is half full everybody's share shrinks, and what waits longest goes back to Postgres. */
uint32_t endpoint_keep(const pr_sched_t *self, const endpoint_t *endpoint, uint8_t class_no)
{
    uint32_t held = self->config.keep_jobs_held, keep = self->config.keep_jobs;
    if (endpoint_held(endpoint))
        return held;
    if (self->stats.class_jobs[class_no] > self->config.class_jobs / 2)
        keep /= 8;
    return keep > held ? keep : held;
}

/* True when a job may go now. Else *opens_at_ms: when time alone may open it (INT64_MAX: only an event will). */
static bool gate(const endpoint_t *endpoint, int64_t now_ms, int64_t *opens_at_ms)
{
    *opens_at_ms = INT64_MAX;
    if (!endpoint->spec.active || endpoint->gone || endpoint->leaving)
        return false;
    pr_breaker_gate_t breaker = pr_breaker_allow(&endpoint->breaker, now_ms);
    if (breaker == PR_BREAKER_HOLD) {
        *opens_at_ms = pr_breaker_next_ms(&endpoint->breaker);
        return false;
    }
    if (endpoint->paused_until_ms > now_ms) {
        *opens_at_ms = endpoint->paused_until_ms;
        return false;
    }
    uint32_t ramp = pr_breaker_ramp(&endpoint->breaker);
    if (breaker != PR_BREAKER_PROBE &&
        endpoint->inflight >= (ramp < endpoint->window ? ramp : endpoint->window))
        return false;
    int64_t at_ms = pr_bucket_next_ms(&endpoint->bucket, now_ms);
    if (now_ms < endpoint->recovery_until_ms) {
        int64_t recovery_ms = pr_bucket_next_ms(&endpoint->recovery, now_ms);
        if (recovery_ms > at_ms)
            at_ms = recovery_ms;
    }
    *opens_at_ms = at_ms;
    return at_ms <= now_ms;
}

/* Each nearer time leaves the farther one behind in the queue, and it is put in again later: an endpoint that wakes often
 * and has something to do in 24 h would fill the queue in a day. */
static void drop_old_timers(pr_sched_t *self)
{
    enum { FEW = 1024 };
    if (pr_timerq_count(self->endpoint_timers) < 4 * pr_map_count(self->endpoints) + FEW)
        return;
    pr_timerq_clear(self->endpoint_timers);
    size_t cursor = 0;
    const endpoint_t *endpoint;
    while ((endpoint = pr_map_next(self->endpoints, &cursor, NULL))) {
        if (endpoint->wake_at_ms == INT64_MAX)
            continue;
        pr_rc_t rc =
            pr_timerq_add(self->endpoint_timers, endpoint->wake_at_ms, (uint64_t)endpoint->spec.id);
        pr_assert(rc == PR_OK);
    }
}

static void wake_at(pr_sched_t *self, endpoint_t *endpoint, int64_t at_ms)
{
    if (at_ms >= endpoint->wake_at_ms || at_ms == INT64_MAX)
        return;
    drop_old_timers(self);
    endpoint->wake_at_ms = at_ms;
    pr_rc_t rc = pr_timerq_add(self->endpoint_timers, at_ms, (uint64_t)endpoint->spec.id);
    pr_assert(rc == PR_OK);
}

static void ring_enter(pr_sched_t *self, endpoint_t *endpoint, int class_no)
{
    ring_t *ring = &self->rings[class_no];
    if (!ring->head) {
        endpoint->ring_prev[class_no] = endpoint->ring_next[class_no] = endpoint;
        ring->head = endpoint;
    } else { /* behind all others */
        endpoint_t *head = ring->head, *tail = head->ring_prev[class_no];
        endpoint->ring_prev[class_no] = tail;
        endpoint->ring_next[class_no] = head;
        tail->ring_next[class_no] = head->ring_prev[class_no] = endpoint;
    }
    endpoint->in_ring[class_no] = true;
}

static void ring_leave(pr_sched_t *self, endpoint_t *endpoint, int class_no)
{
    if (!endpoint->in_ring[class_no])
        return;
    ring_t *ring = &self->rings[class_no];
    endpoint_t *prev = endpoint->ring_prev[class_no], *next = endpoint->ring_next[class_no];
    if (next == endpoint) {
        ring->head = NULL;
    } else {
        prev->ring_next[class_no] = next;
        next->ring_prev[class_no] = prev;
        if (ring->head == endpoint)
            ring->head = next;
    }
    endpoint->ring_prev[class_no] = endpoint->ring_next[class_no] = NULL;
    endpoint->in_ring[class_no] = false;
}

void endpoint_leave_rings(pr_sched_t *self, endpoint_t *endpoint)
{
    for (int class_no = 0; class_no < PR_SCHED_CLASSES; class_no++)
        ring_leave(self, endpoint, class_no);
}

static bool has_ready(const endpoint_t *endpoint)
{
    return endpoint->ready[0].first || endpoint->ready[1].first || endpoint->ready[2].first;
}

static void watch_expiry(pr_sched_t *self, endpoint_t *endpoint, int64_t now_ms)
{
    if (!endpoint_held(endpoint)) {
        endpoint->expire_at_ms = INT64_MAX;
        return;
    }
    if (endpoint->expire_at_ms != INT64_MAX)
        return;
    int64_t every_ms = endpoint->spec.max_age_ms / 20; /* nobody minds 5 % */
    endpoint->expire_at_ms = now_ms + (every_ms < 100 ? 100 : every_ms > 60000 ? 60000 : every_ms);
    wake_at(self, endpoint, endpoint->expire_at_ms);
}

void endpoint_refresh(pr_sched_t *self, endpoint_t *endpoint, int64_t now_ms)
{
    watch_expiry(self, endpoint, now_ms);
    int64_t opens_at_ms = INT64_MAX;
    bool open = has_ready(endpoint) && gate(endpoint, now_ms, &opens_at_ms);
    for (int class_no = 0; class_no < PR_SCHED_CLASSES; class_no++) {
        bool wanted = open && endpoint->ready[class_no].first;
        if (wanted && !endpoint->in_ring[class_no])
            ring_enter(self, endpoint, class_no);
        else if (!wanted)
            ring_leave(self, endpoint, class_no);
    }
    if (!open)
        wake_at(self, endpoint, opens_at_ms);
}

void endpoint_sent(pr_sched_t *self, endpoint_t *endpoint, job_t *job, int64_t now_ms)
{
    endpoint->inflight++;
    job->counted = true;
    if (pr_breaker_allow(&endpoint->breaker, now_ms) == PR_BREAKER_PROBE) {
        int64_t until_ms = now_ms + self->config.probe_deadline_ms;
        job->view.probe = true;
        moved(self, endpoint,
              pr_breaker_probe_sent(&endpoint->breaker, (uint64_t)job->view.seq, until_ms), now_ms);
        wake_at(self, endpoint, until_ms);
    }
    (void)pr_bucket_take(&endpoint->bucket, now_ms);
    if (now_ms < endpoint->recovery_until_ms)
        (void)pr_bucket_take(&endpoint->recovery, now_ms);
}

void endpoint_returned(endpoint_t *endpoint, job_t *job)
{
    if (job->counted) {
        pr_assert(endpoint->inflight > 0);
        endpoint->inflight--;
    }
    job->counted = false;
    job->view.probe = false;
}

void endpoint_seen(pr_sched_t *self, endpoint_t *endpoint, const job_t *job, pr_outcome_t result,
                   int64_t now_ms)
{
    uint64_t id = (uint64_t)job->view.seq;
    pr_breaker_t *breaker = &endpoint->breaker;
    pr_breaker_move_t move;
    switch (pr_outcome_for_breaker(result)) {
    case PR_FOR_BREAKER_SUCCESS:
        if (endpoint->window < endpoint->spec.concurrency)
            endpoint->window++;
        move = pr_breaker_on_success(breaker, id, now_ms);
        break;
    case PR_FOR_BREAKER_FAILURE:
        if (result == PR_OUTCOME_UNREACHABLE && endpoint->window > 1)
            endpoint->window /= 2;
        move = pr_breaker_on_failure(breaker, id, now_ms);
        break;
    case PR_FOR_BREAKER_NEUTRAL:
    default:
        move = result == PR_OUTCOME_RETURNED ? pr_breaker_on_returned(breaker, id, now_ms)
                                             : pr_breaker_on_neutral(breaker, id, now_ms);
        break;
    }
    moved(self, endpoint, move, now_ms);
}

void endpoint_probe_lost(pr_sched_t *self, endpoint_t *endpoint, const job_t *job, int64_t now_ms)
{
    moved(self, endpoint,
          pr_breaker_on_probe_lost(&endpoint->breaker, (uint64_t)job->view.seq, now_ms), now_ms);
}

void endpoint_timer(pr_sched_t *self, endpoint_t *endpoint, int64_t now_ms)
{
    endpoint->wake_at_ms = INT64_MAX;
    moved(self, endpoint, pr_breaker_on_time(&endpoint->breaker, now_ms), now_ms);
    if (now_ms >= endpoint->expire_at_ms) {
        endpoint->expire_at_ms = INT64_MAX;
        if (endpoint_held(endpoint))
            sched_expire_held(self, endpoint, now_ms);
    }
    for (uint8_t class_no = 0; class_no < PR_SCHED_CLASSES; class_no++)
        endpoint_page(self, endpoint, class_no, now_ms);
    endpoint_refresh(self, endpoint, now_ms);
    wake_at(self, endpoint,
            endpoint->expire_at_ms); /* the nearest timer won; arm the others again */
    if (endpoint->breaker.probe_id)
        wake_at(self, endpoint, pr_breaker_next_ms(&endpoint->breaker));
}

void endpoint_page(pr_sched_t *self, endpoint_t *endpoint, uint8_t class_no, int64_t now_ms)
{
    int64_t due_ms = endpoint->db_due_ms[class_no];
    if (due_ms == INT64_MAX || endpoint->paging[class_no])
        return;
    if (due_ms > now_ms + self->config.horizon_ms) {
        wake_at(self, endpoint, due_ms - self->config.horizon_ms);
        return;
    }
    uint32_t keep = endpoint_keep(self, endpoint, class_no), have = endpoint->jobs[class_no];
    if (have > keep / 2)
        return; /* half empty first; every job that leaves asks again */
    endpoint->paging[class_no] = true;
    endpoint->db_due_ms[class_no] = INT64_MAX;
    pr_sched_action_t *action = sched_emit(self, PR_SCHED_PAGE, endpoint);
    action->class_no = class_no;
    action->count = keep - have;
    action->known = have;
}
