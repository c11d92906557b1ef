/* SPDX-License-Identifier: Apache-2.0
 *
 * A scheduler with one endpoint and a hand-moved clock, for the tests of its decisions.
 */
#ifndef PR_TEST_SCHEDULER_HARNESS_H
#define PR_TEST_SCHEDULER_HARNESS_H

#include "actors/scheduler/scheduler.h"
#include "base/alloc.h"

#include <criterion/criterion.h>

#define ENDPOINT 7

typedef struct {
    pr_sched_t *sched;
    int64_t now_ms;
    pr_sched_action_t last[64]; /* actions of the last drain, by kind's order of coming */
    int count;
    int freed;
} harness_t;

static pr_sched_config_t harness_config(void)
{
    return (pr_sched_config_t){
        .heard_ms = 2000,
        .retry_after_cap_ms = 86400000,
        .breaker_open_ms = 30000,
        .breaker_threshold = 5,
        .probe_deadline_ms = 15000,
        .own_fault_delay_ms = 30000,
        .recovery_rate_per_s = 1000,
        .recovery_ms = 1000,
        .keep_jobs = 8,
        .keep_jobs_held = 4,
        .class_jobs = 1000,
        .keep_retry_ms = 120000,
        .horizon_ms = 120000,
    };
}

static pr_sched_endpoint_t harness_endpoint(int64_t id)
{
    pr_sched_endpoint_t endpoint = {
        .id = id,
        .shard = (uint8_t)id,
        .active = true,
        .concurrency = 20,
        .max_age_ms = 72 * 3600 * 1000,
    };
    pr_rc_t rc = pr_retry_parse("list:5s,30s;jitter=0%", &endpoint.retry, NULL);
    cr_assert_eq(rc, PR_OK);
    return endpoint;
}

static void harness_free(void *payload)
{
    pr_free(payload);
}

static harness_t harness_new(void)
{
    harness_t h = {.now_ms = 1000000};
    pr_sched_config_t config = harness_config();
    h.sched = pr_sched_new(&config, 42);
    pr_sched_endpoint_t endpoint = harness_endpoint(ENDPOINT);
    pr_sched_set_endpoint(h.sched, &endpoint, h.now_ms);
    return h;
}

static void drain(harness_t *h)
{
    pr_sched_action_t action;
    h->count = 0;
    while (pr_sched_action(h->sched, &action)) {
        if (action.kind == PR_SCHED_FREE) {
            pr_free(action.outcome);
            h->freed++;
        } else if (h->count < 64) {
            h->last[h->count++] = action;
        }
    }
}

static void harness_end(harness_t *h)
{
    drain(h);
    pr_sched_destroy(&h->sched, harness_free);
}

/* The first action of the kind in the last drain, or NULL. */
static const pr_sched_action_t *action_of(const harness_t *h, pr_sched_action_kind_t kind)
{
    for (int i = 0; i < h->count; i++)
        if (h->last[i].kind == kind)
            return &h->last[i];
    return NULL;
}

static pr_sched_row_t row_of(int64_t seq, uint64_t order, int64_t version)
{
    return (pr_sched_row_t){.seq = seq,
                            .salt = (uint64_t)seq * 1000,
                            .endpoint_id = ENDPOINT,
                            .outbox_id = seq,
                            .class_no = 1,
                            .version = version,
                            .order_hash = order};
}

static pr_sched_added_t add(harness_t *h, const pr_sched_row_t *row)
{
    void *payload = pr_calloc(1, 8);
    pr_sched_added_t added = pr_sched_add(h->sched, row, payload, h->now_ms);
    if (added != PR_SCHED_KEPT)
        pr_free(payload);
    return added;
}

static void add_job(harness_t *h, int64_t seq, uint64_t order, int64_t version)
{
    pr_sched_row_t row = row_of(seq, order, version);
    cr_assert_eq(add(h, &row), PR_SCHED_KEPT, "job %lld is kept", (long long)seq);
}

/* The seq of the job that leaves next, 0 when none does. */
static int64_t next(harness_t *h)
{
    const pr_sched_job_t *job = pr_sched_next(h->sched, 1, h->now_ms);
    return job ? job->seq : 0;
}

static void outcome(harness_t *h, int64_t seq, uint32_t attempt, pr_outcome_t result)
{
    pr_sched_outcome(h->sched, seq, (uint64_t)seq * 1000, attempt, result, 0, false, 0, NULL,
                     h->now_ms);
}

/* The outcome, and its commit. */
static void finish(harness_t *h, int64_t seq, uint32_t attempt, pr_outcome_t result)
{
    outcome(h, seq, attempt, result);
    pr_sched_written(h->sched, seq, (uint64_t)(seq)*1000, h->now_ms);
    drain(h);
}

static void wait_ms(harness_t *h, int64_t ms)
{
    h->now_ms += ms;
    pr_sched_tick(h->sched, h->now_ms);
}

#endif
