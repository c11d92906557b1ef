/* SPDX-License-Identifier: Apache-2.0
 *
 * timers: the next-attempt queue alone (lib/core/timerq, as the scheduler uses it); no Postgres, no
 * topology.
 *
 *   load       COUNT timers at random deadlines, in one call
 *   bytes      what the process grew by, a timer, with COUNT in it
 *   arm+fire   at a steady depth: the first is taken out, another put in at a random deadline
 *              ("hold"), for depths from 10^3 to COUNT; and COUNT armed one by one, then fired
 *   lateness   LATE_TIMERS in the queue under the actors' real loop and the real clock, each armed
 *              again when it fires; from the deadline to the moment it is taken out
 *   job        beside the timer the scheduler has a record of each job in memory (pr_sched_t; the
 *              body that a worker gets comes on top): what that takes
 */
#include "actor/actor_private.h"
#include "actors/scheduler/scheduler.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "bench/bench.h"
#include "cli/home.h"
#include "core/timerq.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPREAD_MS 86400000 /* a day of deadlines */
#define HOLD_TIMES 2000000
#define JOBS 100000
#define LATE_TIMERS 1000000
#define LATE_SPREAD_MS 10000
#define TURN_MS 100

/* xorshift64*: cheap beside what is measured. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1DULL;
}

static double seconds_since(int64_t start_us)
{
    return (double)(pr_clock_mono_us() - start_us) / 1e6;
}

static int64_t resident_bytes(void)
{
    PR_CLEANUP_FREE char *text = pr_home_read("/proc/self/statm");
    const char *second = text ? strchr(text, ' ') : NULL;
    return second ? (int64_t)strtoll(second, NULL, 10) * sysconf(_SC_PAGESIZE) : 0;
}

/* ---- load, bytes ---- */

static pr_timerq_t *load(size_t count, uint64_t *random, json_t *report)
{
    pr_timer_t *timers = pr_calloc(count, sizeof *timers);
    for (size_t i = 0; i < count; i++)
        timers[i] = (pr_timer_t){(int64_t)(next_random(random) % SPREAD_MS), i};
    int64_t before = resident_bytes(), start_us = pr_clock_mono_us();
    pr_timerq_t *queue = pr_timerq_new(PR_TIMERQ_MAX);
    pr_rc_t rc = pr_timerq_add_many(queue, timers, count);
    pr_assert(rc == PR_OK);
    (void)json_object_set_new(report, "load_s", json_real(seconds_since(start_us)));
    (void)json_object_set_new(report, "bytes_per_timer_loaded",
                              json_real((double)(resident_bytes() - before) / (double)count));
    pr_free(timers);
    return queue;
}

/* One by one, so that the array has grown as it does in an actor; then all out. */
static void arm_then_fire(size_t count, uint64_t *random, json_t *report)
{
    int64_t before = resident_bytes(), start_us = pr_clock_mono_us();
    pr_timerq_t *queue = pr_timerq_new(PR_TIMERQ_MAX);
    for (size_t i = 0; i < count; i++) {
        pr_rc_t rc = pr_timerq_add(queue, (int64_t)(next_random(random) % SPREAD_MS), i);
        pr_assert(rc == PR_OK);
    }
    (void)json_object_set_new(report, "bytes_per_timer",
                              json_real((double)(resident_bytes() - before) / (double)count));
    pr_timer_t timer;
    int64_t last_ms = 0;
    while (pr_timerq_pop(queue, INT64_MAX, &timer)) {
        pr_assert(timer.due_ms >= last_ms);
        last_ms = timer.due_ms;
    }
    (void)json_object_set_new(report, "arm_all_then_fire_all_per_s",
                              json_real((double)count / seconds_since(start_us)));
    pr_timerq_destroy(&queue);
}

/* ---- arm+fire ---- */

/* Takes the first out and puts it back up to a day later: the depth stays. */
static double hold_per_s(pr_timerq_t *queue, uint64_t *random)
{
    size_t depth = pr_timerq_count(queue);
    int64_t start_us = pr_clock_mono_us();
    for (int64_t i = 0; i < HOLD_TIMES; i++) {
        pr_timer_t timer;
        bool some = pr_timerq_pop(queue, INT64_MAX, &timer);
        pr_assert(some);
        pr_rc_t rc = pr_timerq_add(queue, timer.due_ms + (int64_t)(next_random(random) % SPREAD_MS),
                                   timer.id);
        pr_assert(rc == PR_OK);
    }
    double per_s = HOLD_TIMES / seconds_since(start_us);
    pr_assert(pr_timerq_count(queue) == depth);
    return per_s;
}

static void hold_at(size_t depth, uint64_t *random, json_t *at)
{
    PR_CLEANUP(pr_timerq) pr_timerq_t *queue = pr_timerq_new(PR_TIMERQ_MAX);
    for (size_t i = 0; i < depth; i++) {
        pr_rc_t rc = pr_timerq_add(queue, (int64_t)(next_random(random) % SPREAD_MS), i);
        pr_assert(rc == PR_OK);
    }
    PR_CLEANUP_FREE char *key = pr_asprintf("%zu", depth);
    (void)json_object_set_new(at, key, json_real(hold_per_s(queue, random)));
}

/* ---- lateness ---- */

typedef struct {
    pr_loop_t *loop;
    pr_timerq_t *queue;
    int timer;
    uint64_t random;
    uint32_t *late_us;
    size_t count, room;
} lateness_t;

static void on_due(void *arg, int64_t now_ms)
{
    lateness_t *self = arg;
    pr_timer_t timer;
    while (pr_timerq_pop(self->queue, now_ms, &timer)) {
        int64_t late_us = pr_clock_mono_us() - timer.due_ms * 1000;
        if (self->count < self->room)
            self->late_us[self->count++] = (uint32_t)late_us;
        int64_t again_ms = now_ms + 1 + (int64_t)(next_random(&self->random) % LATE_SPREAD_MS);
        pr_rc_t rc = pr_timerq_add(self->queue, again_ms, timer.id);
        pr_assert(rc == PR_OK);
    }
    pr_loop_timer_at(self->loop, self->timer, pr_timerq_next_ms(self->queue));
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static double late_ms(const lateness_t *self, double share)
{
    size_t at = (size_t)(share * (double)self->count);
    return self->count == 0 ? 0 : self->late_us[at < self->count ? at : self->count - 1] / 1000.0;
}

static pr_rc_t measure_lateness(int64_t timers, int64_t seconds, json_t *report, pr_error_t *error)
{
    lateness_t self = {.loop = pr_loop_new(), .queue = pr_timerq_new(PR_TIMERQ_MAX), .random = 7};
    self.room = (size_t)(timers * (seconds + 1) / (LATE_SPREAD_MS / 2000) + 1000);
    self.late_us = pr_calloc(self.room, sizeof *self.late_us);
    int64_t start_ms = pr_clock_mono_ms() + 1000; /* filling comes first */
    pr_rc_t rc = PR_OK;
    for (int64_t i = 0; i < timers && rc == PR_OK; i++)
        rc = pr_timerq_add(self.queue,
                           start_ms + (int64_t)(next_random(&self.random) % LATE_SPREAD_MS),
                           (uint64_t)i);
    self.timer = pr_loop_add_timer(self.loop, pr_timerq_next_ms(self.queue), 0, on_due, &self);
    while (rc == PR_OK && pr_clock_mono_ms() < start_ms + seconds * 1000) {
        rc = pr_loop_turn(self.loop, TURN_MS, error);
        rc = rc != PR_OK ? rc : pr_bench_wait_ms(0, error);
    }
    qsort(self.late_us, self.count, sizeof *self.late_us, by_value);
    (void)json_object_set_new(report, "lateness",
                              json_pack("{s:I, s:I, s:f, s:f, s:f, s:f}", "timers",
                                        (json_int_t)timers, "fired", (json_int_t)self.count,
                                        "p50_ms", late_ms(&self, 0.5), "p99_ms",
                                        late_ms(&self, 0.99), "p999_ms", late_ms(&self, 0.999),
                                        "max_ms", late_ms(&self, 1)));
    pr_free(self.late_us);
    pr_timerq_destroy(&self.queue);
    pr_loop_destroy(&self.loop);
    return rc;
}

/* ---- the job's record ---- */

static void keep_payload(void *payload)
{
    (void)payload; /* there is none */
}

static void measure_job(json_t *report)
{
    pr_sched_config_t config = {.heard_ms = 2000,
                                .breaker_open_ms = 30000,
                                .breaker_threshold = 5,
                                .probe_deadline_ms = 15000,
                                .keep_jobs = JOBS,
                                .keep_jobs_held = JOBS,
                                .class_jobs = 2 * JOBS,
                                .keep_retry_ms = 2 * SPREAD_MS,
                                .horizon_ms = SPREAD_MS};
    pr_sched_endpoint_t endpoint = {
        .id = 1, .active = true, .concurrency = 8, .max_age_ms = 10LL * SPREAD_MS};
    pr_sched_t *sched = pr_sched_new(&config, 1);
    pr_sched_set_endpoint(sched, &endpoint, 0);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int64_t seq = 1; seq <= JOBS; seq++) {
        pr_sched_row_t row = {.seq = seq,
                              .salt = (uint64_t)seq,
                              .attempt = 1,
                              .endpoint_id = 1,
                              .outbox_id = seq,
                              .version = seq,
                              .order_hash = (uint64_t)seq,
                              .due_in_ms = SPREAD_MS / 2,
                              .dated = true};
        pr_sched_added_t added = pr_sched_add(sched, &row, NULL, 0);
        pr_assert(added == PR_SCHED_KEPT);
    }
    size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    (void)json_object_set_new(report, "scheduler_bytes_per_job_without_body",
                              json_real((double)(after - before) / JOBS));
    pr_sched_destroy(&sched, keep_payload);
}

pr_rc_t pr_bench_timers(const pr_bench_plan_t *plan, json_t *report, pr_error_t *error)
{
    uint64_t random = 88172645463325252ULL;
    size_t count = (size_t)plan->count;
    measure_job(report);
    (void)json_object_set_new(report, "count", json_integer(plan->count));
    pr_timerq_t *queue = load(count, &random, report);
    (void)fprintf(stderr, "  %zu timers loaded in %.2f s\n", count,
                  json_real_value(json_object_get(report, "load_s")));
    double deep_per_s = hold_per_s(queue, &random);
    pr_timerq_destroy(&queue);
    (void)json_object_set_new(report, "arm_fire_per_s", json_real(deep_per_s));
    json_t *at = json_object();
    for (size_t depth = 1000; depth < count; depth *= 10)
        hold_at(depth, &random, at);
    (void)json_object_set_new(report, "arm_fire_per_s_at", at);
    (void)fprintf(stderr, "  arm+fire at that depth: %.2f million/s\n", deep_per_s / 1e6);
    arm_then_fire(count, &random, report);
    return measure_lateness(count < LATE_TIMERS ? plan->count : LATE_TIMERS, plan->seconds, report,
                            error);
}
