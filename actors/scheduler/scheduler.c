/* SPDX-License-Identifier: Apache-2.0
 *
 * A job's life: rows in, outcomes, results, timers. The model is in scheduler.h.
 */
#include "actors/scheduler/scheduler_state.h"
#include "base/alloc.h"
#include "base/assert.h"

#include <string.h>

#define JOBS_MAX (4u << 20) /* a fuse; endpoints' shares bound memory long before */
#define ENDPOINTS_MAX (1u << 20)
#define SCAN_MS 200  /* how often silent jobs are looked for, among those under way */
#define WALK_MS 1000 /* how often waiting first tries are, among all */
#define PAGE_AGAIN_MS 500
#define FIRST_TRY_WAIT_MS \
    5000 /* docs/protocol.md, section 4: one that waits longer gets a due time */

/* ---- actions ---- */

pr_sched_action_t *sched_emit(pr_sched_t *self, pr_sched_action_kind_t kind,
                              const endpoint_t *endpoint)
{
    if (self->actions_first + self->actions_count == self->actions_room) {
        /* taken from the front, added at the end: move up while half is free, else grow */
        pr_sched_action_t *room = self->actions;
        if (self->actions_first < self->actions_room / 2)
            room = pr_calloc(self->actions_room *= 2, sizeof *room);
        memmove(room, self->actions + self->actions_first, self->actions_count * sizeof *room);
        if (room != self->actions)
            pr_free(self->actions);
        self->actions = room;
        self->actions_first = 0;
    }
    uint32_t at = self->actions_first + self->actions_count++;
    self->actions[at] = (pr_sched_action_t){.kind = kind};
    if (endpoint)
        self->actions[at].endpoint_id = endpoint->spec.id;
    return &self->actions[at];
}

bool pr_sched_action(pr_sched_t *self, pr_sched_action_t *out)
{
    if (self->actions_count == 0)
        return false;
    *out = self->actions[self->actions_first++];
    if (--self->actions_count == 0)
        self->actions_first = 0;
    return true;
}

static void emit_free(pr_sched_t *self, void *payload)
{
    if (payload)
        sched_emit(self, PR_SCHED_FREE, NULL)->outcome = payload;
}

static void emit_stale(pr_sched_t *self, int64_t seq, uint64_t salt, uint32_t attempt,
                       void *outcome)
{
    pr_sched_action_t *action = sched_emit(self, PR_SCHED_STALE, NULL);
    action->seq = seq;
    action->salt = salt;
    action->attempt = attempt;
    action->outcome = outcome;
}

static void emit_date(pr_sched_t *self, const endpoint_t *endpoint, int64_t seq, uint64_t salt,
                      uint8_t class_no)
{
    pr_sched_action_t *action = sched_emit(self, PR_SCHED_DATE, endpoint);
    action->seq = seq;
    action->salt = salt;
    action->class_no = class_no;
}

/* Delivered, but not in memory: after a takeover it may stand in Postgres, not yet paged in. The token decides there. */
static void emit_stray(pr_sched_t *self, int64_t seq, uint64_t salt, uint32_t attempt,
                       void *outcome)
{
    pr_sched_action_t *action = sched_emit(self, PR_SCHED_RESULT, NULL);
    action->seq = seq;
    action->salt = salt;
    action->attempt = attempt;
    action->end = PR_END_DELIVERED;
    action->tried = true;
    action->stray = true;
    action->outcome = outcome;
}

/* A first try in memory is to get a due time, once. */
static void date(pr_sched_t *self, job_t *job)
{
    if (job->dated || job->dating)
        return;
    job->dating = true;
    emit_date(self, job->endpoint, job->view.seq, job->view.salt, job->view.class_no);
}

/* ---- making and ending ---- */

pr_sched_t *pr_sched_new(const pr_sched_config_t *config, uint64_t seed)
{
    pr_sched_t *self = PR_NEW(pr_sched_t);
    self->config = *config;
    for (int class_no = 0; class_no < PR_SCHED_CLASSES; class_no++)
        self->low[class_no] = INT64_MAX;
    self->jobs = pr_map_new(JOBS_MAX, seed);
    self->orders = pr_map_new(JOBS_MAX, seed ^ 1);
    self->endpoints = pr_map_new(ENDPOINTS_MAX, seed ^ 2);
    self->job_timers = pr_timerq_new(PR_TIMERQ_MAX);
    self->endpoint_timers = pr_timerq_new(PR_TIMERQ_MAX);
    self->actions_room = 64;
    self->actions = pr_calloc(self->actions_room, sizeof *self->actions);
    return self;
}

void pr_sched_destroy(pr_sched_t **self_ptr, void (*free_payload)(void *payload))
{
    pr_sched_t *self = *self_ptr;
    if (!self)
        return;
    for (int shard = 0; shard < 256; shard++)
        pr_sched_drop_shard(self, (uint8_t)shard);
    pr_sched_action_t action;
    while (pr_sched_action(self, &action))
        if (action.kind == PR_SCHED_FREE)
            free_payload(action.outcome);
    pr_map_destroy(&self->jobs);
    pr_map_destroy(&self->orders);
    pr_map_destroy(&self->endpoints);
    pr_timerq_destroy(&self->job_timers);
    pr_timerq_destroy(&self->endpoint_timers);
    pr_free(self->actions);
    pr_free(self);
    *self_ptr = NULL;
}

/* ---- the list of jobs under way ---- */

static void under_way_add(pr_sched_t *self, job_t *job)
{
    job->prev = NULL;
    job->next = self->under_way;
    if (job->next)
        job->next->prev = job;
    self->under_way = job;
}

static void under_way_remove(pr_sched_t *self, job_t *job)
{
    if (job->prev)
        job->prev->next = job->next;
    else
        self->under_way = job->next;
    if (job->next)
        job->next->prev = job->prev;
    job->prev = job->next = NULL;
}

/* Out of the place where its state keeps it; it has no state afterwards. */
static void leave_state(pr_sched_t *self, job_t *job)
{
    switch (job->state) {
    case JOB_ADOPTED:
        self->adopted--;
        under_way_remove(self, job);
        order_release(self, job);
        break;
    case JOB_INFLIGHT:
        self->stats.inflight--;
        under_way_remove(self, job);
        endpoint_returned(job->endpoint, job);
        order_release(self, job);
        break;
    case JOB_READY:
        order_release(self, job);
        break;
    case JOB_WRITING:
        self->stats.writing--;
        break;
    case JOB_TIMER: /* its timer finds it changed and is dropped */
        self->stats.timers--;
        break;
    case JOB_NONE:
        break;
    }
    job->state = JOB_NONE;
}

void sched_job_remove(pr_sched_t *self, job_t *job)
{
    leave_state(self, job);
    (void)pr_map_remove(self->jobs, (uint64_t)job->view.seq);
    endpoint_t *endpoint = job->endpoint;
    if (job->of_prev)
        job->of_prev->of_next = job->of_next;
    else
        endpoint->first_job = job->of_next;
    if (job->of_next)
        job->of_next->of_prev = job->of_prev;
    endpoint->jobs[job->view.class_no]--;
    self->stats.class_jobs[job->view.class_no]--;
    emit_free(self, job->view.payload);
    pr_free(job);
}

/* The job is gone for good: its place may be taken by one from Postgres, its turn by the next of its order. */
static void job_done(pr_sched_t *self, job_t *job, int64_t now_ms)
{
    endpoint_t *endpoint = job->endpoint;
    uint8_t class_no = job->view.class_no;
    sched_job_remove(self, job);
    endpoint_page(self, endpoint, class_no, now_ms);
    endpoint_refresh(self, endpoint, now_ms);
}

static void start_timer(pr_sched_t *self, job_t *job, int64_t at_ms)
{
    leave_state(self, job);
    job->state = JOB_TIMER;
    job->due_ms = at_ms;
    self->stats.timers++;
    pr_rc_t rc = pr_timerq_add(self->job_timers, at_ms, (uint64_t)job->view.seq);
    pr_assert(rc == PR_OK);
}

static void make_ready(pr_sched_t *self, job_t *job, bool front, int64_t now_ms)
{
    if (job->cancelled) {
        job_done(self, job, now_ms);
        return;
    }
    leave_state(self, job);
    job->due_ms = now_ms;
    order_add(self, job, front);
    endpoint_refresh(self, job->endpoint, now_ms);
}

static void make_adopted(pr_sched_t *self, job_t *job, int64_t now_ms)
{
    job->state = JOB_ADOPTED;
    job->heard_ms = now_ms;
    self->adopted++;
    under_way_add(self, job);
    order_take(self, job);
}

/* ---- endpoints ---- */

static endpoint_t *endpoint_of(const pr_sched_t *self, int64_t id)
{
    return pr_map_get(self->endpoints, (uint64_t)id);
}

void pr_sched_set_endpoint(pr_sched_t *self, const pr_sched_endpoint_t *spec, int64_t now_ms)
{
    endpoint_t *endpoint = endpoint_of(self, spec->id);
    if (endpoint) {
        endpoint_update(self, endpoint, spec, now_ms);
        return;
    }
    endpoint = endpoint_new(self, spec, now_ms);
    pr_rc_t rc = pr_map_put(self->endpoints, (uint64_t)spec->id, endpoint, NULL);
    pr_assert(rc == PR_OK);
    self->stats.endpoints++;
}

void pr_sched_drop_shard(pr_sched_t *self, uint8_t shard)
{
    size_t cursor = 0;
    endpoint_t *endpoint;
    while ((endpoint = pr_map_next(self->endpoints, &cursor, NULL))) {
        if (endpoint->spec.shard != shard)
            continue;
        while (endpoint->first_job)
            sched_job_remove(self, endpoint->first_job);
        (void)pr_map_remove(self->endpoints, (uint64_t)endpoint->spec.id);
        endpoint_destroy(self, endpoint);
        self->stats.endpoints--;
    }
}

void pr_sched_leave_shard(pr_sched_t *self, uint8_t shard)
{
    size_t cursor = 0;
    endpoint_t *endpoint;
    while ((endpoint = pr_map_next(self->endpoints, &cursor, NULL)))
        if (endpoint->spec.shard == shard) {
            endpoint->leaving = true;
            endpoint_leave_rings(self, endpoint);
            for (job_t *job = endpoint->first_job; job; job = job->of_next)
                date(self, job);
        }
}

bool pr_sched_shard_left(const pr_sched_t *self, uint8_t shard)
{
    size_t cursor = 0;
    const endpoint_t *endpoint;
    while ((endpoint = pr_map_next(self->endpoints, &cursor, NULL))) {
        const job_t *job = endpoint->spec.shard == shard ? endpoint->first_job : NULL;
        for (; job; job = job->of_next)
            if (!job->dated || (job->state != JOB_READY && job->state != JOB_TIMER))
                return false;
    }
    return true;
}

void pr_sched_dated(pr_sched_t *self, int64_t endpoint_id, uint8_t class_no, int64_t due_in_ms,
                    int64_t now_ms)
{
    endpoint_t *endpoint = endpoint_of(self, endpoint_id);
    if (!endpoint || due_in_ms == INT64_MAX)
        return;
    int64_t due_ms = now_ms + due_in_ms;
    if (due_ms < endpoint->db_due_ms[class_no])
        endpoint->db_due_ms[class_no] = due_ms;
    endpoint_page(self, endpoint, class_no, now_ms);
}

void pr_sched_force(pr_sched_t *self, int64_t endpoint_id, pr_forced_t forced, bool reset,
                    int64_t now_ms)
{
    endpoint_t *endpoint = endpoint_of(self, endpoint_id);
    if (!endpoint)
        return;
    pr_sched_endpoint_t spec = endpoint->spec;
    spec.forced = forced;
    if (reset)
        endpoint_reset_breaker(self, endpoint, now_ms);
    endpoint_update(self, endpoint, &spec, now_ms);
}

/* ---- rows in ---- */

static job_t *job_new(pr_sched_t *self, endpoint_t *endpoint, const pr_sched_row_t *row,
                      void *payload, int64_t now_ms)
{
    job_t *job = PR_NEW(job_t);
    job->view = (pr_sched_job_t){
        .seq = row->seq,
        .salt = row->salt,
        .attempt = row->attempt,
        .tried_before = row->tried_before,
        .endpoint_id = row->endpoint_id,
        .outbox_id = row->outbox_id,
        .class_no = row->class_no,
        .shard = endpoint->spec.shard,
        .payload = payload,
    };
    job->endpoint = endpoint;
    job->version = row->version;
    job->order_hash = row->order_hash;
    job->born_ms = now_ms - row->age_ms;
    job->dated = row->dated;
    if (!row->dated && row->seq < self->low[row->class_no])
        self->low[row->class_no] = row->seq;
    pr_rc_t rc = pr_map_put(self->jobs, (uint64_t)row->seq, job, NULL);
    pr_assert(rc == PR_OK);
    job->of_next = endpoint->first_job;
    if (job->of_next)
        job->of_next->of_prev = job;
    endpoint->first_job = job;
    endpoint->jobs[row->class_no]++;
    self->stats.class_jobs[row->class_no]++;
    return job;
}

pr_sched_added_t pr_sched_add(pr_sched_t *self, const pr_sched_row_t *row, void *payload,
                              int64_t now_ms)
{
    pr_assert(row->class_no < PR_SCHED_CLASSES);
    endpoint_t *endpoint = endpoint_of(self, row->endpoint_id);
    if (!endpoint)
        return PR_SCHED_NOT_OURS;
    job_t *known = pr_map_get(self->jobs, (uint64_t)row->seq);
    if (known && known->view.salt == row->salt) {
        if (known->state == JOB_WRITING && !row->dated) /* dated ones are paged */
            known->read_again = true;
        return PR_SCHED_KNOWN;
    }
    if (known) /* its move was undone, and the number went to another job */
        job_done(self, known, now_ms);
    if (endpoint->jobs[row->class_no] >= endpoint_keep(self, endpoint, row->class_no)) {
        if (row->dated)
            pr_sched_dated(self, row->endpoint_id, row->class_no, row->due_in_ms, now_ms);
        else
            emit_date(self, endpoint, row->seq, row->salt, row->class_no);
        return PR_SCHED_NO_ROOM;
    }
    job_t *job = job_new(self, endpoint, row, payload, now_ms);
    if (row->due_in_ms > 0)
        start_timer(self, job, now_ms + row->due_in_ms);
    else if (row->adopted)
        make_adopted(self, job, now_ms);
    else
        make_ready(self, job, false, now_ms);
    return PR_SCHED_KEPT;
}

void pr_sched_unproven(pr_sched_t *self, const int64_t durable[PR_SCHED_CLASSES], int64_t now_ms)
{
    size_t cursor = 0;
    job_t *job;
    while ((job = pr_map_next(self->jobs, &cursor, NULL)))
        if (job->state == JOB_READY && !job->dated && job->view.seq > durable[job->view.class_no])
            job_done(self, job, now_ms);
}

void pr_sched_paged(pr_sched_t *self, int64_t endpoint_id, uint8_t class_no, bool more,
                    int64_t now_ms)
{
    endpoint_t *endpoint = endpoint_of(self, endpoint_id);
    if (!endpoint)
        return;
    endpoint->paging[class_no] = false;
    if (more && endpoint->db_due_ms[class_no] > now_ms)
        endpoint->db_due_ms[class_no] = now_ms;
    endpoint_page(self, endpoint, class_no, now_ms);
}

void pr_sched_page_failed(pr_sched_t *self, int64_t endpoint_id, uint8_t class_no, int64_t now_ms)
{
    endpoint_t *endpoint = endpoint_of(self, endpoint_id);
    if (!endpoint)
        return;
    endpoint->paging[class_no] = false;
    endpoint->db_due_ms[class_no] = now_ms + PAGE_AGAIN_MS + self->config.horizon_ms;
    endpoint_page(self, endpoint, class_no, now_ms);
}

static void date_done(pr_sched_t *self, job_t *job, int64_t now_ms);

void pr_sched_date_written(pr_sched_t *self, int64_t seq, uint64_t salt, int64_t endpoint_id,
                           uint8_t class_no, int64_t now_ms)
{
    job_t *job = pr_map_get(self->jobs, (uint64_t)seq);
    if (job && job->view.salt == salt)
        date_done(self, job, now_ms);
    else
        pr_sched_dated(self, endpoint_id, class_no, 0, now_ms);
}

/* A ready job that Postgres can page in again makes room while its endpoint is held. */
static void date_done(pr_sched_t *self, job_t *job, int64_t now_ms)
{
    endpoint_t *endpoint = job->endpoint;
    uint8_t class_no = job->view.class_no;
    job->dated = true;
    job->dating = false;
    if (job->state != JOB_READY ||
        endpoint->jobs[class_no] <= endpoint_keep(self, endpoint, class_no))
        return;
    if (endpoint->db_due_ms[class_no] > now_ms)
        endpoint->db_due_ms[class_no] = now_ms;
    job_done(self, job, now_ms);
}

bool pr_sched_forget(pr_sched_t *self, int64_t seq, uint64_t salt, int64_t now_ms)
{
    job_t *job = pr_map_get(self->jobs, (uint64_t)seq);
    if (!job || job->view.salt != salt)
        return false;
    bool read_again = job->read_again;
    job_done(self, job, now_ms);
    return read_again;
}

void pr_sched_cancel(pr_sched_t *self, int64_t outbox_id, int64_t endpoint_id, int64_t now_ms)
{
    endpoint_t *endpoint = endpoint_of(self, endpoint_id);
    for (job_t *job = endpoint ? endpoint->first_job : NULL, *next; job; job = next) {
        next = job->of_next;
        if (job->view.outbox_id != outbox_id)
            continue;
        if (job->state == JOB_READY || job->state == JOB_TIMER)
            job_done(self, job, now_ms);
        else
            job->cancelled = true; /* its outcome decides, or it is not sent again */
    }
}

/* ---- outcomes ---- */

static pr_sched_action_t *emit_result(pr_sched_t *self, job_t *job, pr_end_t end, void *outcome)
{
    pr_sched_action_t *action = sched_emit(self, PR_SCHED_RESULT, job->endpoint);
    action->class_no = job->view.class_no;
    action->seq = job->view.seq;
    action->salt = job->view.salt;
    action->attempt = job->view.attempt;
    action->end = end;
    action->outcome = outcome;
    leave_state(self, job);
    job->state = JOB_WRITING;
    job->end = end;
    self->stats.writing++;
    return action;
}

static void expire(pr_sched_t *self, job_t *job)
{
    emit_result(self, job, PR_END_DEAD, NULL)->reason = "expired";
}

static void write_retry(pr_sched_t *self, job_t *job, int64_t delay_ms, bool uncharged,
                        uint64_t random, void *outcome)
{
    pr_sched_action_t *action = emit_result(self, job, PR_END_RETRY, outcome);
    action->tried = true;
    action->delay_ms = job->delay_ms = delay_ms;
    action->uncharged = job->uncharged = uncharged;
    action->new_salt = job->new_salt = random;
}

static void decide(pr_sched_t *self, job_t *job, pr_outcome_t result, int64_t retry_after_ms,
                   bool egress_fault, uint64_t random, void *outcome, int64_t now_ms)
{
    endpoint_t *endpoint = job->endpoint;
    const pr_retry_policy_t *policy = &endpoint->spec.retry;
    if (result == PR_OUTCOME_DELIVERED) {
        emit_result(self, job, PR_END_DELIVERED, outcome)->tried = true;
        return;
    }
    bool old = now_ms - job->born_ms >= endpoint->spec.max_age_ms;
    uint32_t tries = job->view.attempt + 1;
    if (old || (result != PR_OUTCOME_GONE && !egress_fault && pr_retry_exhausted(policy, tries))) {
        pr_sched_action_t *action = emit_result(self, job, PR_END_DEAD, outcome);
        action->tried = true;
        action->reason = old ? "expired" : "retries_exhausted";
        return;
    }
    if (egress_fault) { /* our own fault charges no try: the token changes by its salt instead */
        write_retry(self, job, self->config.own_fault_delay_ms, true, random, outcome);
        return;
    }
    if (result ==
        PR_OUTCOME_GONE) { /* held, not delayed: it goes when the endpoint is enabled again */
        write_retry(self, job, 0, false, random, outcome);
        return;
    }
    int64_t delay_ms = pr_retry_delay_ms(policy, tries, random);
    write_retry(self, job, delay_ms > retry_after_ms ? delay_ms : retry_after_ms, false, random,
                outcome);
}

void pr_sched_outcome(pr_sched_t *self, int64_t seq, uint64_t salt, uint32_t attempt,
                      pr_outcome_t result, int64_t retry_after_ms, bool egress_fault,
                      uint64_t random, void *outcome, int64_t now_ms)
{
    job_t *job = pr_map_get(self->jobs, (uint64_t)seq);
    if (!job && result == PR_OUTCOME_DELIVERED) {
        emit_stray(self, seq, salt, attempt, outcome);
        return;
    }
    if (!job || job->view.salt != salt || job->view.attempt != attempt || job->state == JOB_TIMER) {
        emit_stale(self, seq, salt, attempt, outcome);
        return;
    }
    if (job->state == JOB_WRITING) { /* said twice; the answer follows the commit */
        emit_free(self, outcome);
        return;
    }
    endpoint_t *endpoint = job->endpoint;
    if (result == PR_OUTCOME_RETURNED) {
        endpoint_seen(self, endpoint, job, result, now_ms);
        if (job->state != JOB_READY)
            make_ready(self, job, true, now_ms);
        emit_stale(self, seq, salt, attempt, outcome);
        return;
    }
    if (retry_after_ms > self->config.retry_after_cap_ms)
        retry_after_ms = self->config.retry_after_cap_ms;
    endpoint_seen(self, endpoint, job, result, now_ms);
    if (result == PR_OUTCOME_THROTTLED && now_ms + retry_after_ms > endpoint->paused_until_ms) {
        endpoint->paused_until_ms = now_ms + retry_after_ms;
        sched_emit(self, PR_SCHED_PAUSE, endpoint)->delay_ms = retry_after_ms;
    }
    if (result == PR_OUTCOME_GONE && !endpoint->gone && endpoint->spec.active) {
        /* once its row says so, a late 410 is no news: it would outlive the row's next change */
        endpoint->gone = true;
        sched_emit(self, PR_SCHED_GONE, endpoint);
    }
    decide(self, job, result, retry_after_ms, egress_fault, random, outcome, now_ms);
    endpoint_refresh(self, endpoint, now_ms);
}

void pr_sched_written(pr_sched_t *self, int64_t seq, uint64_t salt, int64_t now_ms)
{
    job_t *job = pr_map_get(self->jobs, (uint64_t)seq);
    if (!job || job->state != JOB_WRITING || job->view.salt != salt)
        return;
    if (job->end != PR_END_RETRY) {
        job_done(self, job, now_ms);
        return;
    }
    if (job->uncharged)
        job->view.salt = job->new_salt;
    else
        job->view.attempt++;
    job->dated = true;
    endpoint_t *endpoint = job->endpoint;
    uint8_t class_no = job->view.class_no;
    int64_t due_ms = now_ms + job->delay_ms;
    if (job->delay_ms > self->config.keep_retry_ms ||
        endpoint->jobs[class_no] > endpoint_keep(self, endpoint, class_no)) {
        sched_job_remove(self, job);
        if (due_ms < endpoint->db_due_ms[class_no])
            endpoint->db_due_ms[class_no] = due_ms;
        endpoint_page(self, endpoint, class_no, now_ms);
    } else if (job->delay_ms > 0) {
        start_timer(self, job, due_ms);
    } else {
        make_ready(self, job, false, now_ms);
    }
}

void pr_sched_stray_written(pr_sched_t *self, int64_t seq, uint64_t salt, uint32_t attempt,
                            int64_t now_ms)
{
    job_t *job = pr_map_get(self->jobs, (uint64_t)seq);
    if (job && job->view.salt == salt && job->view.attempt == attempt && job->state != JOB_WRITING)
        job_done(self, job, now_ms);
}

void pr_sched_deaf(pr_sched_t *self, int64_t now_ms)
{
    for (job_t *job = self->under_way; job; job = job->next)
        job->heard_ms = now_ms;
}

void pr_sched_held(pr_sched_t *self, int64_t seq, uint64_t salt, uint32_t attempt, int64_t now_ms)
{
    job_t *job = pr_map_get(self->jobs, (uint64_t)seq);
    if (!job || job->view.salt != salt || job->view.attempt != attempt)
        return;
    if (job->state == JOB_INFLIGHT || job->state == JOB_ADOPTED)
        job->heard_ms = now_ms;
    if (job->state != JOB_ADOPTED)
        return;
    self->adopted--; /* somebody has it: it counts from here on */
    job->state = JOB_INFLIGHT;
    self->stats.inflight++;
    endpoint_sent(self, job->endpoint, job, now_ms);
}

static void silent(pr_sched_t *self, job_t *job, int64_t now_ms)
{
    if (job->state == JOB_INFLIGHT && job->view.probe)
        endpoint_probe_lost(self, job->endpoint, job, now_ms);
    make_ready(self, job, true, now_ms);
}

void pr_sched_all_heard(pr_sched_t *self, int64_t now_ms)
{
    for (job_t *job = self->under_way, *next; job; job = next) {
        next = job->next;
        if (job->state == JOB_ADOPTED)
            make_ready(self, job, false, now_ms);
    }
}

/* ---- timers ---- */

static void scan(pr_sched_t *self, int64_t now_ms)
{
    for (job_t *job = self->under_way, *next; job; job = next) {
        next = job->next;
        if (now_ms - job->heard_ms >= self->config.heard_ms)
            silent(self, job, now_ms);
    }
}

/* Over all jobs: the lowest first try, anew; and what waits for so long that it is to get a due time. */
static void walk(pr_sched_t *self, int64_t now_ms)
{
    for (int class_no = 0; class_no < PR_SCHED_CLASSES; class_no++)
        self->low[class_no] = INT64_MAX;
    size_t cursor = 0;
    job_t *job;
    while ((job = pr_map_next(self->jobs, &cursor, NULL))) {
        if (!job->dated && job->view.seq < self->low[job->view.class_no])
            self->low[job->view.class_no] = job->view.seq;
        if (job->state != JOB_READY || now_ms - job->due_ms < FIRST_TRY_WAIT_MS)
            continue;
        if (job->dated)
            date_done(self, job, now_ms);
        else
            date(self, job);
    }
}

void sched_expire_held(pr_sched_t *self, endpoint_t *endpoint, int64_t now_ms)
{
    for (job_t *job = endpoint->first_job; job; job = job->of_next)
        if ((job->state == JOB_READY || job->state == JOB_TIMER) &&
            now_ms - job->born_ms >= endpoint->spec.max_age_ms)
            expire(self, job);
    sched_emit(self, PR_SCHED_EXPIRE, endpoint);
    if (endpoint->gone) /* until its row says so: the fact may have been lost */
        sched_emit(self, PR_SCHED_GONE, endpoint);
}

void pr_sched_tick(pr_sched_t *self, int64_t now_ms)
{
    pr_timer_t timer; /* removal is lazy: what no longer waits for just this time ignores it */
    while (pr_timerq_pop(self->job_timers, now_ms, &timer)) {
        job_t *job = pr_map_get(self->jobs, timer.id);
        if (job && job->state == JOB_TIMER && job->due_ms == timer.due_ms)
            make_ready(self, job, false, now_ms);
    }
    while (pr_timerq_pop(self->endpoint_timers, now_ms, &timer)) {
        endpoint_t *endpoint = pr_map_get(self->endpoints, timer.id);
        if (endpoint && endpoint->wake_at_ms == timer.due_ms)
            endpoint_timer(self, endpoint, now_ms);
    }
    if (now_ms >= self->next_scan_ms) {
        self->next_scan_ms = now_ms + SCAN_MS;
        scan(self, now_ms);
    }
    if (now_ms >= self->next_walk_ms) {
        self->next_walk_ms = now_ms + WALK_MS;
        walk(self, now_ms);
    }
}

int64_t pr_sched_deadline_ms(const pr_sched_t *self)
{
    int64_t at = pr_timerq_next_ms(self->job_timers);
    int64_t endpoints_at = pr_timerq_next_ms(self->endpoint_timers);
    if (endpoints_at < at)
        at = endpoints_at;
    if (pr_map_count(self->jobs) > 0 && self->next_scan_ms < at)
        at = self->next_scan_ms;
    return at;
}

/* ---- sending ---- */

const pr_sched_job_t *pr_sched_next(pr_sched_t *self, uint8_t class_no, int64_t now_ms)
{
    endpoint_t *endpoint;
    while ((endpoint = self->rings[class_no].head)) {
        endpoint_refresh(self, endpoint, now_ms); /* the gate may have closed meanwhile */
        if (!endpoint->in_ring[class_no])
            continue;
        order_t *order = endpoint->ready[class_no].first;
        job_t *job = order->head;
        order_sent(self, order);
        job->state = JOB_INFLIGHT;
        job->heard_ms = now_ms;
        self->stats.inflight++;
        under_way_add(self, job);
        endpoint_sent(self, endpoint, job, now_ms);
        if (self->rings[class_no].head == endpoint)
            self->rings[class_no].head =
                endpoint->ring_next[class_no]; /* the next takes its turn */
        endpoint_refresh(self, endpoint, now_ms);
        return &job->view;
    }
    return NULL;
}

void pr_sched_undo(pr_sched_t *self, int64_t seq, int64_t now_ms)
{
    job_t *job = pr_map_get(self->jobs, (uint64_t)seq);
    pr_assert(job && job->state == JOB_INFLIGHT);
    endpoint_seen(self, job->endpoint, job, PR_OUTCOME_RETURNED, now_ms);
    make_ready(self, job, true, now_ms);
}

uint32_t pr_sched_want(const pr_sched_t *self, uint8_t class_no, uint32_t enough)
{
    uint32_t want = 0;
    const endpoint_t *first = self->rings[class_no].head, *endpoint = first;
    while (endpoint && want < enough) {
        uint32_t room =
            endpoint->window > endpoint->inflight ? endpoint->window - endpoint->inflight : 0;
        uint32_t ready = endpoint->ready[class_no].count;
        want += ready < room ? ready : room;
        endpoint = endpoint->ring_next[class_no];
        if (endpoint == first)
            break;
    }
    return want;
}

/* ---- figures ---- */

const pr_sched_job_t *pr_sched_job(const pr_sched_t *self, int64_t seq)
{
    const job_t *job = pr_map_get(self->jobs, (uint64_t)seq);
    return job ? &job->view : NULL;
}

void pr_sched_stats(const pr_sched_t *self, pr_sched_stats_t *out)
{
    *out = self->stats;
    out->jobs = (uint32_t)pr_map_count(self->jobs);
    out->adopted = self->adopted;
}

void pr_sched_low(const pr_sched_t *self, int64_t low[PR_SCHED_CLASSES])
{
    memcpy(low, self->low, sizeof self->low);
}

void pr_sched_each_seq(const pr_sched_t *self, int64_t endpoint_id,
                       void (*fn)(void *arg, int64_t seq), void *arg)
{
    const endpoint_t *endpoint = endpoint_of(self, endpoint_id);
    for (const job_t *job = endpoint ? endpoint->first_job : NULL; job; job = job->of_next)
        fn(arg, job->view.seq);
}
