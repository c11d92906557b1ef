/* SPDX-License-Identifier: Apache-2.0
 *
 * The world's second half, what happens in it: workers that fail, fall silent, die or say everything twice; people who cancel,
 * force, disable; shards that come and go; a database that loses its last moves.
 */
#ifndef PR_TEST_SCHEDULER_WORLD_EVENTS_H
#define PR_TEST_SCHEDULER_WORLD_EVENTS_H

#include "tests/unit/actors/scheduler/world_table.h"

static void arrive(world_t *w)
{
    for (int64_t n = 1 + below(w, 4); n > 0 && w->nrows < ROWS; n--) {
        row_t *row = &w->rows[w->nrows++];
        uint8_t c = (uint8_t)below(w, PR_SCHED_CLASSES);
        int64_t endpoint = 1 + below(w, ENDPOINTS) * below(w, 2); /* the first has most */
        *row = (row_t){.alive = true,
                       .seq = ++w->last_seq[c],
                       .version = w->nrows,
                       .born_ms = w->now_ms,
                       .salt = chance(w),
                       .order = (uint64_t)(endpoint * 100 + below(w, 6)),
                       .endpoint = endpoint,
                       .class_no = c};
    }
}

static void check_order(const job_t *sent)
{
    for (const job_t *job = sent->endpoint->first_job; job; job = job->of_next)
        if (job != sent && job->order == sent->order)
            cr_assert(job->state == JOB_READY, "two of one order under way");
}

static void dispatch(world_t *w)
{
    for (int64_t n = 1 + below(w, 6); n > 0; n--) {
        const pr_sched_job_t *view = pr_sched_next(w->sched, (uint8_t)below(w, 3), w->now_ms);
        if (!view)
            continue;
        const job_t *job = pr_map_get(w->sched->jobs, (uint64_t)view->seq);
        check_order(job);
        cr_assert(view->probe || job->endpoint->inflight <= job->endpoint->window,
                  "the window is exceeded");
        cr_assert(!w->leaving[view->endpoint_id - 1], "a shard that is given up sends nothing");
        for (int i = 0; i < w->nrows; i++)
            cr_assert(!w->rows[i].ended || w->rows[i].salt != view->salt, "sent after its end");
        const row_t *row = row_by_seq(w, view->seq);
        if (row && row->salt == view->salt && row->attempt == view->attempt && row->dated)
            cr_assert_geq(w->now_ms, row->due_ms, "early");
        if (!w->calm && one_in(w, 12)) {
            pr_sched_undo(w->sched, view->seq, w->now_ms);
            continue;
        }
        int at = 0;
        while (at < FLIGHTS && w->flights[at].used)
            at++;
        cr_assert_lt(at, FLIGHTS);
        w->flights[at] = (flight_t){.used = true,
                                    .seq = view->seq,
                                    .salt = view->salt,
                                    .attempt = view->attempt,
                                    .lost = !w->calm && one_in(w, 15)};
        if (!w->calm && one_in(w, 15))
            w->flights[at].mute_until_ms = w->now_ms + below(w, 8000);
    }
}

static pr_outcome_t some_outcome(world_t *w)
{
    static const pr_outcome_t all[] = {
        PR_OUTCOME_DELIVERED,   PR_OUTCOME_DELIVERED,   PR_OUTCOME_DELIVERED,
        PR_OUTCOME_REFUSED,     PR_OUTCOME_THROTTLED,   PR_OUTCOME_GONE,
        PR_OUTCOME_UNREACHABLE, PR_OUTCOME_UNREACHABLE, PR_OUTCOME_UNREACHABLE,
        PR_OUTCOME_UNREACHABLE, PR_OUTCOME_OWN_FAULT,   PR_OUTCOME_RETURNED};
    return w->calm ? PR_OUTCOME_DELIVERED : all[below(w, (int64_t)PR_COUNT(all))];
}

static void say(world_t *w, int at)
{
    flight_t *flight = &w->flights[at];
    if (!flight->done) {
        flight->done = true;
        flight->result = some_outcome(w);
        flight->egress = one_in(w, 2);
    }
    said_t *said = pr_calloc(1, sizeof *said);
    said->flight = at;
    bool writing = false; /* then it is freed, not answered */
    const job_t *job = pr_map_get(w->sched->jobs, (uint64_t)flight->seq);
    if (job)
        writing = job->state == JOB_WRITING && job->view.salt == flight->salt &&
                  job->view.attempt == flight->attempt;
    w->said += !writing;
    pr_sched_outcome(w->sched, flight->seq, flight->salt, flight->attempt, flight->result,
                     one_in(w, 2) ? below(w, 20000) : 0, flight->egress, chance(w), said,
                     w->now_ms);
}

/* Workers speak: name what they hold, say outcomes, some of them again. */
static void speak(world_t *w)
{
    for (int i = 0; i < FLIGHTS; i++) {
        flight_t *flight = &w->flights[i];
        if (!flight->used || flight->lost || flight->mute_until_ms > w->now_ms)
            continue;
        if (w->calm || one_in(w, 3))
            say(w, i);
        else
            pr_sched_held(w->sched, flight->seq, flight->salt, flight->attempt, w->now_ms);
        drain(w);
    }
}

/* An ended worker, or its outcomes' road: nobody answers for these any more. */
static void lose_flights(world_t *w)
{
    for (int i = 0; i < FLIGHTS; i++)
        if (w->flights[i].used && one_in(w, 3))
            w->flights[i].lost = true;
}

static void change_endpoint(world_t *w)
{
    int e = (int)below(w, ENDPOINTS);
    pr_sched_endpoint_t *spec = &w->endpoints[e];
    switch (below(w, 6)) {
    case 0:
        spec->active = !spec->active;
        break;
    case 1:
        spec->forced = (pr_forced_t)below(w, 3);
        break;
    case 2:
        spec->concurrency = (uint32_t)(1 + below(w, 4));
        break;
    case 3:
        spec->rate_per_s = one_in(w, 2) ? 0 : 5;
        break;
    case 4:
        spec->max_age_ms = one_in(w, 3) ? 20000 : 3600000;
        break;
    default:
        pr_sched_force(w->sched, spec->id, (pr_forced_t)below(w, 3), one_in(w, 2), w->now_ms);
        return;
    }
    if (!w->leaving[e])
        pr_sched_set_endpoint(w->sched, spec, w->now_ms);
}

static void cancel(world_t *w)
{
    row_t *row = &w->rows[below(w, ROWS)];
    if (w->look.executed && w->look.count > 0) /* one that a look has seen, but not told of */
        row = row_by_seq(w, w->look.rows[below(w, w->look.count)].seq);
    if (!row || !row->alive)
        return;
    end_row(w, row, true);
    flush(w);
}

static void give_up(world_t *w)
{
    int e = (int)below(w, ENDPOINTS);
    if (w->leaving[e])
        return;
    w->leaving[e] = true;
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        w->leave_low[e][c] = w->cursor[c] + 1;
    pr_sched_leave_shard(w->sched, w->endpoints[e].shard);
}

/* The shard is empty: it is released, and comes back at once from a former owner. */
static void hand_over(world_t *w)
{
    for (int e = 0; e < ENDPOINTS; e++) {
        if (!w->leaving[e] || !pr_sched_shard_left(w->sched, w->endpoints[e].shard))
            continue;
        int64_t after[PR_SCHED_CLASSES];
        adopt_low(w, after);
        pr_sched_drop_shard(w->sched, w->endpoints[e].shard);
        w->leaving[e] = false;
        pr_sched_set_endpoint(w->sched, &w->endpoints[e], w->now_ms);
        adopt(w, 1u << w->endpoints[e].id, after, w->cursor, one_in(w, 2));
        w->look.stale = true; /* asked for without this shard */
    }
}

/* The connection breaks: what was not executed never is, what was is not known to be; what we keep
 * is sent again. */
static void reconnect(world_t *w)
{
    int64_t after[PR_SCHED_CLASSES];
    adopt_low(w, after);
    int count = w->nops;
    w->look.stale = true; /* its connection is dropped too, its answer may have come already */
    for (int i = 0; i < count; i++) {
        op_t *op = w->ops[w->first_op];
        w->first_op = (w->first_op + 1) % OPS;
        w->nops--;
        if (op->kind == OP_RESULT || op->kind == OP_DATE)
            push(w, op->kind)->action = op->action;
        else if (op->kind == OP_PAGE)
            pr_sched_page_failed(w->sched, op->action.endpoint_id, op->action.class_no, w->now_ms);
        pr_free(op);
    }
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        after[c] = after[c] < w->durable[c] ? after[c] : w->durable[c];
    pr_sched_unproven(w->sched, w->durable, w->now_ms);
    memcpy(w->cursor, w->last_seq, sizeof w->cursor);
    adopt(w, ~0u, after, w->cursor, one_in(w, 4));
    drain(w);
}

/* Postgres crashes: moves that were not on disk are undone, and made again with other numbers. */
static void crash(world_t *w)
{
    int64_t next[PR_SCHED_CLASSES];
    memcpy(next, w->flushed, sizeof next);
    for (int i = w->nrows; i-- > 0;) {
        row_t *row = &w->rows[i];
        if (row->alive && row->seq > w->flushed[row->class_no])
            row->seq = ++next[row->class_no];
    }
    memcpy(w->last_seq, next, sizeof next);
    reconnect(w);
}

/* Another ended our session: all is forgotten, and adopted anew from where our last beat said. */
static void lose_session(world_t *w)
{
    int64_t after[PR_SCHED_CLASSES];
    adopt_low(w, after);
    for (int e = 0; e < ENDPOINTS; e++) {
        pr_sched_drop_shard(w->sched, w->endpoints[e].shard);
        w->leaving[e] = false;
    }
    drain(w);
    while (w->nops > 0) {
        op_t *op = w->ops[w->first_op];
        if (op->kind == OP_RESULT && op->action.outcome) { /* its worker will say it again */
            pr_free(op->action.outcome);
            w->said--;
        }
        pr_free(op);
        w->first_op = (w->first_op + 1) % OPS;
        w->nops--;
    }
    w->look.stale = true;
    w->cancelled_seen = w->cancelled_next = w->ncancelled; /* we hold nothing older */
    memcpy(w->cursor, w->last_seq, sizeof w->cursor);
    for (int e = 0; e < ENDPOINTS; e++)
        pr_sched_set_endpoint(w->sched, &w->endpoints[e], w->now_ms);
    adopt(w, ~0u, after, w->cursor, true);
}

static void read_new(world_t *w)
{
    if (w->look.asked)
        return;
    w->look = (look_t){.asked = true, .number = ++w->looks};
    memcpy(w->look.cursor, w->cursor, sizeof w->look.cursor);
    for (int e = 0; e < ENDPOINTS; e++)
        w->look.leaving |= w->leaving[e] ? 1u << w->endpoints[e].id : 0;
}

static void pass_time(world_t *w)
{
    int64_t ms = one_in(w, 8) ? below(w, 20000) : below(w, 300);
    w->now_ms += ms;
    if (ms > 1000 && one_in(w, 2))
        pr_sched_deaf(w->sched, w->now_ms);
    pr_sched_tick(w->sched, w->now_ms);
}

static void step(world_t *w)
{
    int64_t what = below(w, 100);
    if (what < 10)
        arrive(w);
    else if (what < 20)
        read_new(w);
    else if (what < 24)
        reader(w);
    else if (what < 45)
        pipeline(w);
    else if (what < 60)
        dispatch(w);
    else if (what < 75)
        speak(w);
    else if (what < 87)
        pass_time(w);
    else if (what < 89)
        (void)push(w, OP_BEAT);
    else if (what < 91)
        (void)push(w, OP_CANCELLED);
    else if (what < 93)
        change_endpoint(w);
    else if (what < 94)
        cancel(w);
    else if (what < 95)
        lose_flights(w);
    else if (what < 96)
        give_up(w);
    else if (what < 97)
        reconnect(w);
    else if (what < 98)
        crash(w);
    else if (what < 99)
        lose_session(w);
    else
        pr_sched_all_heard(w->sched, w->now_ms);
    drain(w);
    hand_over(w);
    drain(w);
}

#endif
