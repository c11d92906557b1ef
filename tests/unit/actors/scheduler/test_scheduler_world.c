/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's decisions alone, step by step, in a world of chance (world_table.h, world_events.h). tests/sim has them under the real
 * edges and sees what comes of them outside; here is what only shows inside, and what the simulator has not: endpoints forced,
 * disabled and given away. What must hold after every step:
 *
 *   - a job of the table is in memory, or something is under way or set that will bring it (found)
 *   - of one order nothing leaves while another is, or may be, under way; nothing leaves before
 *     its due time
 *   - nothing is sent once we know that it has ended; what was cancelled is not kept to be sent
 *   - the counters are what one counts; a window is never exceeded; every outcome is answered once
 *
 * and when the faults stop, every job ends and nothing stays behind in memory.
 */
#include "tests/unit/actors/scheduler/world_events.h"

/* ---- what must hold ---- */

static bool pending(const world_t *w, op_kind_t kind, const row_t *row)
{
    for (int i = 0; i < w->nops; i++) {
        const op_t *op = w->ops[(w->first_op + i) % OPS];
        if (op->kind != kind)
            continue;
        if (kind == OP_PAGE
                ? op->action.endpoint_id == row->endpoint && op->action.class_no == row->class_no
                : op->action.seq == row->seq)
            return true;
    }
    return false;
}

static bool found(const world_t *w, const row_t *row)
{
    const job_t *job = pr_map_get(w->sched->jobs, (uint64_t)row->seq);
    if (job) /* a result under way may change the salt before we know */
        return job->view.salt == row->salt || job->state == JOB_WRITING;
    if (!row->dated)
        return row->seq > w->cursor[row->class_no] || pending(w, OP_DATE, row) ||
               w->leaving[row->endpoint - 1];
    if (pending(w, OP_DATE, row) || pending(w, OP_PAGE, row) || pending(w, OP_RESULT, row) ||
        pending(w, OP_EXPIRE, row))
        return true;
    const endpoint_t *endpoint = pr_map_get(w->sched->endpoints, (uint64_t)row->endpoint);
    int64_t at_ms = endpoint->db_due_ms[row->class_no];
    int64_t latest_ms = row->due_ms > w->now_ms ? row->due_ms : w->now_ms;
    if (at_ms > latest_ms + w->lag_ms + HORIZON_MS + 500) /* INT64_MAX too */
        return false;
    /* by the smallest share it may have had when it was last asked: what is in memory asks again as it leaves */
    bool crowded = endpoint->jobs[row->class_no] > w->sched->config.keep_jobs_held / 2;
    return crowded || endpoint->wake_at_ms <=
                          (at_ms - HORIZON_MS > w->now_ms ? at_ms - HORIZON_MS : w->now_ms);
}

static void check_counters(const world_t *w)
{
    uint32_t all = 0, inflight = 0, adopted = 0, writing = 0, timers = 0;
    size_t cursor = 0;
    const endpoint_t *endpoint;
    while ((endpoint = pr_map_next(w->sched->endpoints, &cursor, NULL))) {
        uint32_t counted = 0, jobs[PR_SCHED_CLASSES] = {0};
        for (const job_t *job = endpoint->first_job; job; job = job->of_next) {
            all++;
            jobs[job->view.class_no]++;
            counted += job->counted;
            inflight += job->state == JOB_INFLIGHT;
            adopted += job->state == JOB_ADOPTED;
            writing += job->state == JOB_WRITING;
            timers += job->state == JOB_TIMER;
            cr_assert_eq(job->counted, job->state == JOB_INFLIGHT);
        }
        cr_assert_eq(counted, endpoint->inflight);
        for (int c = 0; c < PR_SCHED_CLASSES; c++)
            cr_assert_eq(jobs[c], endpoint->jobs[c]);
    }
    pr_sched_stats_t stats;
    pr_sched_stats(w->sched, &stats);
    cr_assert(stats.jobs == all && stats.inflight == inflight && stats.adopted == adopted &&
              stats.writing == writing && stats.timers == timers);
}

static void check_cancelled(const world_t *w, uint64_t seed)
{
    for (int i = 0; i < w->cancelled_seen; i++) {
        const row_t *row = &w->rows[w->cancelled[i]];
        const job_t *job = pr_map_get(w->sched->jobs, (uint64_t)row->seq);
        cr_assert(!job || job->view.salt != row->salt || job->cancelled ||
                      job->state == JOB_WRITING,
                  "seed %llu: a cancelled job is kept", (unsigned long long)seed);
    }
}

static const char *describe(const world_t *w, const row_t *row)
{
    static char text[256];
    const job_t *job = pr_map_get(w->sched->jobs, (uint64_t)row->seq);
    const endpoint_t *endpoint = pr_map_get(w->sched->endpoints, (uint64_t)row->endpoint);
    (void)snprintf(text, sizeof text,
                   "seq=%lld cursor=%lld endpoint=%lld dated=%d due_in=%lld state=%d same=%d "
                   "jobs=%u page_in=%lld "
                   "wake_in=%lld paging=%d",
                   (long long)row->seq, (long long)w->cursor[row->class_no],
                   (long long)row->endpoint, row->dated, (long long)(row->due_ms - w->now_ms),
                   job ? (int)job->state : -1, job && job->view.salt == row->salt,
                   endpoint->jobs[row->class_no],
                   (long long)(endpoint->db_due_ms[row->class_no] - w->now_ms),
                   (long long)(endpoint->wake_at_ms - w->now_ms), endpoint->paging[row->class_no]);
    return text;
}

static void check(const world_t *w, uint64_t seed, int at)
{
    check_counters(w);
    check_cancelled(w, seed);
    for (int i = 0; i < w->nrows; i++)
        cr_assert(!w->rows[i].alive || found(w, &w->rows[i]),
                  "seed %llu step %d: nothing will bring job %d: %s", (unsigned long long)seed, at,
                  i, describe(w, &w->rows[i]));
}

/* ---- a life ---- */

static world_t *world_new(uint64_t seed)
{
    world_t *w = pr_calloc(1, sizeof *w);
    w->random = seed * 0x9E3779B97F4A7C15u + 1;
    w->now_ms = 1000000;
    pr_sched_config_t config = {.heard_ms = 2000,
                                .retry_after_cap_ms = 15000,
                                .breaker_open_ms = 3000,
                                .breaker_threshold = 3,
                                .probe_deadline_ms = 6000,
                                .own_fault_delay_ms = 3000,
                                .recovery_rate_per_s = 20,
                                .recovery_ms = 2000,
                                .keep_jobs = 6,
                                .keep_jobs_held = 3,
                                .class_jobs = 40,
                                .keep_retry_ms = HORIZON_MS,
                                .horizon_ms = HORIZON_MS};
    w->sched = pr_sched_new(&config, seed);
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        w->last_seq[c] = w->flushed[c] = w->cursor[c] = w->durable[c] = (int64_t)c << CLASS_SHIFT;
    for (int e = 0; e < ENDPOINTS; e++) {
        w->endpoints[e] = (pr_sched_endpoint_t){.id = e + 1,
                                                .shard = (uint8_t)(10 + e),
                                                .active = true,
                                                .concurrency = 4,
                                                .max_age_ms = 3600000};
        pr_rc_t rc =
            pr_retry_parse("list:1s,3s,8s,30s,60s,60s;jitter=10%", &w->endpoints[e].retry, NULL);
        cr_assert_eq(rc, PR_OK);
        pr_sched_set_endpoint(w->sched, &w->endpoints[e], w->now_ms);
    }
    return w;
}

static void free_payload(void *payload)
{
    pr_free(payload);
}

static bool all_done(const world_t *w)
{
    for (int i = 0; i < w->nrows; i++)
        if (w->rows[i].alive)
            return false;
    pr_sched_stats_t stats;
    pr_sched_stats(w->sched, &stats);
    return stats.jobs == 0 && w->nops == 0;
}

/* A 410 is over when the endpoint's row has said that it is off, and then that it is on. */
static void switch_on(world_t *w)
{
    for (int e = 0; e < ENDPOINTS; e++) {
        if (w->leaving[e] || !w->gone[e])
            continue;
        w->gone[e] = false;
        for (int on = 0; on < 2; on++) {
            w->endpoints[e].active = on == 1;
            w->endpoints[e].forced = PR_FORCED_NOT;
            pr_sched_set_endpoint(w->sched, &w->endpoints[e], w->now_ms);
        }
    }
}

/* No more faults; receivers accept everything: all of it ends. */
static void calm_down(world_t *w, uint64_t seed)
{
    w->calm = true;
    for (int i = 0; i < FLIGHTS; i++)
        w->flights[i].mute_until_ms = 0;
    memset(w->gone, true, sizeof w->gone);
    for (int i = 0; i < 4000 && !all_done(w); i++) {
        drain(w);
        hand_over(w);
        switch_on(w);
        drain(w);
        if (i % 20 == 0)
            read_new(w);
        while (w->nops > 0) {
            pipeline(w);
            drain(w);
        }
        reader(w);
        drain(w);
        dispatch(w);
        speak(w);
        drain(w);
        int64_t at_ms = pr_sched_deadline_ms(w->sched);
        w->now_ms = at_ms != INT64_MAX && at_ms > w->now_ms ? at_ms : w->now_ms + 1;
        pr_sched_tick(w->sched, w->now_ms);
        check_counters(w);
    }
    for (int i = 0; i < w->nrows; i++)
        cr_assert(!w->rows[i].alive, "seed %llu: job %d never ends: %s", (unsigned long long)seed,
                  i, describe(w, &w->rows[i]));
    cr_assert(all_done(w), "seed %llu: a job stays behind in memory", (unsigned long long)seed);
    cr_assert_eq(w->said, 0, "seed %llu: %d outcomes were not answered", (unsigned long long)seed,
                 w->said);
}

static void live(uint64_t seed)
{
    world_t *w = world_new(seed);
    for (int at = 0; at < STEPS; at++) {
        step(w);
        check(w, seed, at);
    }
    calm_down(w, seed);
    pr_sched_destroy(&w->sched, free_payload);
    pr_free(w);
}

Test(scheduler_world, every_job_ends_whatever_happens, .timeout = 900)
{
    const char *one = getenv("PR_WORLD_SEED"); /* to look at one that failed */
    if (one) {
        live(strtoull(one, NULL, 10));
        return;
    }
    const char *more = getenv("PR_WORLD_SEEDS");
    uint64_t last = more ? strtoull(more, NULL, 10) : SEEDS;
    for (uint64_t seed = 1; seed <= last; seed++)
        live(seed);
}
