/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's decisions in a small world of chance: a job table in memory behind a pipeline
 * whose answers come late, get lost, or never come; a second one, in no order with the first, on
 * which new jobs are looked for, as scheduler_new.c does; workers that fail, fall silent, die or say
 * everything twice; people who cancel, force, disable; shards that come and go; a database that
 * loses its last moves. What must hold after every step:
 *
 *   - a job of the table is in memory, or something is under way or set that will bring it (found)
 *   - of one order nothing leaves while another is, or may be, under way; nothing leaves before
 *     its due time
 *   - nothing is sent once we know that it has ended; what was cancelled is not kept to be sent
 *   - the counters are what one counts; a window is never exceeded; every outcome is answered once
 *
 * and when the faults stop, every job ends and nothing stays behind in memory.
 */
#include "actors/scheduler/scheduler_state.h"
#include "base/alloc.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENDPOINTS = 4, ROWS = 72, OPS = 1024, FLIGHTS = 512, STEPS = 350, SEEDS = 3000 };
enum { HORIZON_MS = 5000, CLASS_SHIFT = 56 };

typedef struct {
    bool alive, dated, adopted_read;
    bool ended; /* by our own result, and we know it */
    int64_t seq, version, born_ms, due_ms;
    uint64_t salt, order;
    uint32_t attempt;
    int64_t endpoint;
    uint8_t class_no;
} row_t;

/* A token with a worker. */
typedef struct {
    bool used, done, lost;
    int64_t seq, mute_until_ms;
    uint64_t salt;
    uint32_t attempt;
    pr_outcome_t result;
    bool egress;
} flight_t;

typedef struct {
    int flight;
} said_t; /* an outcome object */

typedef enum { OP_RESULT, OP_DATE, OP_PAGE, OP_EXPIRE, OP_CANCELLED, OP_BEAT } op_kind_t;

/* A statement in the pipeline: executed by Postgres first, answered later. */
typedef struct {
    op_kind_t kind;
    bool executed, hit, more;
    pr_sched_action_t action;
    int64_t cursor[PR_SCHED_CLASSES];
    int64_t after_due_ms, executed_ms;
    int count, cancelled_upto;
    row_t rows[ROWS];
} op_t;

/* A look at new jobs, on the other connection. */
typedef struct {
    bool asked, executed, stale;
    uint32_t leaving; /* endpoints that it was not asked for, bit e */
    uint64_t number;
    int64_t cursor[PR_SCHED_CLASSES];
    int count;
    row_t rows[ROWS];
} look_t;

typedef struct {
    uint64_t random;
    pr_sched_t *sched;
    int64_t now_ms;
    pr_sched_endpoint_t endpoints[ENDPOINTS];
    bool leaving[ENDPOINTS], gone[ENDPOINTS];
    int64_t leave_low[ENDPOINTS][PR_SCHED_CLASSES];
    row_t rows[ROWS];
    int nrows;
    int64_t last_seq[PR_SCHED_CLASSES], flushed[PR_SCHED_CLASSES]; /* Postgres: moved, on disk */
    int64_t cursor[PR_SCHED_CLASSES], durable[PR_SCHED_CLASSES];
    op_t *ops[OPS]; /* a ring */
    int first_op, nops;
    flight_t flights[FLIGHTS];
    int cancelled[ROWS], ncancelled;    /* rows, in the order of their end */
    int cancelled_seen, cancelled_next; /* not read again; not after the looks up to cancel_look */
    look_t look;
    uint64_t looks, cancel_look;
    bool calm;
    int said;       /* outcome objects out */
    int64_t lag_ms; /* the latest answer so far: due times are known as late as that */
} world_t;

static uint64_t chance(world_t *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

static int64_t below(world_t *w, int64_t n)
{
    return (int64_t)(chance(w) % (uint64_t)n);
}

static bool one_in(world_t *w, int64_t n)
{
    return below(w, n) == 0;
}

static row_t *row_by_seq(world_t *w, int64_t seq)
{
    for (int i = 0; i < w->nrows; i++)
        if (w->rows[i].alive && w->rows[i].seq == seq)
            return &w->rows[i];
    return NULL;
}

static void flush(world_t *w)
{
    memcpy(w->flushed, w->last_seq, sizeof w->flushed);
}

/* ---- Postgres ---- */

static void end_row(world_t *w, row_t *row, bool cancelled)
{
    row->alive = false;
    if (cancelled)
        w->cancelled[w->ncancelled++] = (int)(row - w->rows);
}

static int by_due(const void *a, const void *b)
{
    const row_t *x = a, *y = b;
    if (x->due_ms != y->due_ms)
        return x->due_ms < y->due_ms ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int by_seq(const void *a, const void *b)
{
    const row_t *x = a, *y = b;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void read_page(world_t *w, op_t *op)
{
    int most = (int)(op->action.count + op->action.known);
    op->after_due_ms = INT64_MAX;
    for (int i = 0; i < w->nrows; i++) {
        const row_t *row = &w->rows[i];
        if (!row->alive || !row->dated || row->endpoint != op->action.endpoint_id ||
            row->class_no != op->action.class_no)
            continue;
        if (row->due_ms <= w->now_ms + HORIZON_MS)
            op->rows[op->count++] = *row;
        else if (row->due_ms < op->after_due_ms)
            op->after_due_ms = row->due_ms;
    }
    qsort(op->rows, (size_t)op->count, sizeof op->rows[0], by_due);
    op->more = op->count >= most;
    op->count = op->count < most ? op->count : most;
}

static void apply_result(world_t *w, op_t *op)
{
    const pr_sched_action_t *a = &op->action;
    row_t *row = row_by_seq(w, a->seq);
    op->hit = row && row->salt == a->salt && row->attempt == a->attempt;
    if (!op->hit)
        return;
    if (a->end != PR_END_RETRY) {
        end_row(w, row, false);
    } else {
        if (a->uncharged)
            row->salt = a->new_salt;
        else
            row->attempt++;
        row->dated = true;
        row->due_ms = w->now_ms + a->delay_ms;
    }
}

static void expire_rows(world_t *w, op_t *op)
{
    const pr_sched_endpoint_t *endpoint = &w->endpoints[op->action.endpoint_id - 1];
    for (int i = 0; i < w->nrows; i++) {
        row_t *row = &w->rows[i];
        bool known = false; /* op->rows: the seqs that were in memory */
        for (int k = 0; k < op->count; k++)
            known = known || op->rows[k].seq == row->seq;
        if (row->alive && row->dated && row->endpoint == endpoint->id && !known &&
            w->now_ms - row->born_ms >= endpoint->max_age_ms)
            end_row(w, row, false);
    }
}

static void execute(world_t *w, op_t *op)
{
    op->executed = true;
    op->executed_ms = w->now_ms;
    row_t *row = row_by_seq(w, op->action.seq);
    switch (op->kind) {
    case OP_RESULT:
        apply_result(w, op);
        break;
    case OP_DATE:
        if (row && row->salt == op->action.salt && row->attempt == 0 && !row->dated) {
            row->dated = true;
            row->due_ms = w->now_ms;
        }
        break;
    case OP_PAGE:
        read_page(w, op);
        return;
    case OP_EXPIRE:
        expire_rows(w, op);
        break;
    case OP_CANCELLED:
        op->cancelled_upto = w->ncancelled;
        return;
    case OP_BEAT:
        break;
    }
    flush(w); /* what is written waits for the disk */
}

/* ---- the scheduler's io, in short ---- */

static void add_row(world_t *w, const row_t *row, bool adopted)
{
    pr_sched_row_t in = {
        .seq = row->seq,
        .salt = row->salt,
        .attempt = row->attempt,
        .endpoint_id = row->endpoint,
        .outbox_id = row->version,
        .class_no = row->class_no,
        .version = row->version,
        .order_hash = row->order,
        .age_ms = w->now_ms - row->born_ms,
        .due_in_ms = row->dated ? row->due_ms - w->now_ms : 0,
        .dated = row->dated,
        .adopted = adopted,
    };
    void *payload = pr_calloc(1, 8);
    if (pr_sched_add(w->sched, &in, payload, w->now_ms) != PR_SCHED_KEPT)
        pr_free(payload);
}

static void say_answered(world_t *w, void *outcome)
{
    said_t *said = outcome;
    if (!said)
        return;
    w->flights[said->flight].used = false; /* acknowledged */
    w->said--;
    pr_free(said);
}

static op_t *push(world_t *w, op_kind_t kind)
{
    cr_assert_lt(w->nops, OPS);
    op_t *op = pr_calloc(1, sizeof *op);
    w->ops[(w->first_op + w->nops++) % OPS] = op;
    op->kind = kind;
    memcpy(op->cursor, w->cursor, sizeof op->cursor);
    return op;
}

static void collect_seq(void *arg, int64_t seq)
{
    op_t *op = arg;
    if (op->count < ROWS)
        op->rows[op->count++].seq = seq;
}

static void drain(world_t *w)
{
    pr_sched_action_t a;
    while (pr_sched_action(w->sched, &a)) {
        switch (a.kind) {
        case PR_SCHED_RESULT:
            push(w, OP_RESULT)->action = a;
            break;
        case PR_SCHED_DATE:
            push(w, OP_DATE)->action = a;
            break;
        case PR_SCHED_PAGE:
            push(w, OP_PAGE)->action = a;
            break;
        case PR_SCHED_EXPIRE: {
            op_t *op = push(w, OP_EXPIRE);
            op->action = a;
            pr_sched_each_seq(w->sched, a.endpoint_id, collect_seq, op);
            break;
        }
        case PR_SCHED_STALE:
            say_answered(w, a.outcome);
            break;
        case PR_SCHED_FREE: /* a payload, or an outcome said twice: which, its size does not tell */
            pr_free(a.outcome);
            break;
        case PR_SCHED_GONE:
            w->gone[a.endpoint_id - 1] = true;
            break;
        case PR_SCHED_BREAKER:
        case PR_SCHED_PAUSE:
        case PR_SCHED_NONE:
            break;
        }
    }
}

static int64_t low_of(world_t *w, int class_no)
{
    int64_t low[PR_SCHED_CLASSES];
    pr_sched_low(w->sched, low);
    int64_t next = w->cursor[class_no] + 1;
    int64_t lowest = low[class_no] < next ? low[class_no] : next;
    for (int i = 0; i < w->nops; i++) {
        const op_t *op = w->ops[(w->first_op + i) % OPS];
        if (op->kind == OP_DATE && op->action.class_no == class_no && op->action.seq < lowest)
            lowest = op->action.seq;
    }
    for (int e = 0; e < ENDPOINTS; e++)
        if (w->leaving[e] && w->leave_low[e][class_no] < lowest)
            lowest = w->leave_low[e][class_no];
    return lowest;
}

static void answer_result(world_t *w, op_t *op)
{
    const pr_sched_action_t *a = &op->action;
    if (a->stray) {
        if (op->hit)
            pr_sched_stray_written(w->sched, a->seq, a->salt, a->attempt, w->now_ms);
    } else if (op->hit) {
        for (int i = 0; i < w->nrows; i++)
            if (a->end != PR_END_RETRY && w->rows[i].salt == a->salt)
                w->rows[i].ended = true;
        pr_sched_written(w->sched, a->seq, a->salt, w->now_ms);
    } else {
        (void)pr_sched_forget(w->sched, a->seq, a->salt, w->now_ms);
        pr_sched_dated(w->sched, a->endpoint_id, a->class_no, 0, w->now_ms);
    }
    say_answered(w, a->outcome);
}

static void answer_page(world_t *w, op_t *op)
{
    const pr_sched_action_t *a = &op->action;
    for (int i = 0; i < op->count; i++)
        add_row(w, &op->rows[i], one_in(w, 8));
    if (op->after_due_ms != INT64_MAX)
        pr_sched_dated(w->sched, a->endpoint_id, a->class_no, op->after_due_ms - w->now_ms,
                       w->now_ms);
    pr_sched_paged(w->sched, a->endpoint_id, a->class_no, op->more, w->now_ms);
}

static void execute_look(world_t *w)
{
    look_t *look = &w->look;
    look->executed = true;
    for (int i = 0; i < w->nrows; i++) {
        const row_t *row = &w->rows[i];
        if (row->alive && !row->dated && row->seq > look->cursor[row->class_no] &&
            !(look->leaving >> row->endpoint & 1u))
            look->rows[look->count++] = *row;
    }
    memcpy(look->cursor, w->last_seq, sizeof look->cursor);
}

static void answer_look(world_t *w)
{
    look_t *look = &w->look;
    look->asked = false;
    if (look->stale)
        return;
    qsort(look->rows, (size_t)look->count, sizeof look->rows[0], by_seq);
    for (int i = 0; i < look->count; i++)
        add_row(w, &look->rows[i], false);
    memcpy(w->cursor, look->cursor, sizeof w->cursor);
}

/* The other connection's Postgres executes, or its answer arrives. */
static void reader(world_t *w)
{
    if (!w->look.asked)
        return;
    if (w->look.executed)
        answer_look(w);
    else
        execute_look(w);
}

/* Rows may have been seen before they were cancelled, by a look whose answer is still to come. */
static void answer_cancelled(world_t *w, const op_t *op)
{
    for (int i = w->cancelled_seen; i < op->cancelled_upto; i++) {
        const row_t *row = &w->rows[w->cancelled[i]];
        pr_sched_cancel(w->sched, row->version, row->endpoint, w->now_ms);
    }
    if (w->look.asked && w->look.number <= w->cancel_look)
        return;
    w->cancelled_seen = w->cancelled_next;
    w->cancelled_next = op->cancelled_upto;
    w->cancel_look = w->looks;
}

static void answer(world_t *w, op_t *op)
{
    const pr_sched_action_t *a = &op->action;
    switch (op->kind) {
    case OP_RESULT:
        answer_result(w, op);
        break;
    case OP_DATE:
        pr_sched_date_written(w->sched, a->seq, a->salt, a->endpoint_id, a->class_no, w->now_ms);
        break;
    case OP_PAGE:
        answer_page(w, op);
        break;
    case OP_CANCELLED:
        answer_cancelled(w, op);
        break;
    case OP_BEAT:
        memcpy(w->durable, op->cursor, sizeof w->durable);
        break;
    case OP_EXPIRE:
        break;
    }
}

/* Postgres executes the next statement, or its oldest answer arrives. */
static void pipeline(world_t *w)
{
    if (w->nops == 0)
        return;
    op_t *op = w->ops[w->first_op];
    if (op->executed && (w->calm || one_in(w, 2))) {
        if (w->now_ms - op->executed_ms > w->lag_ms)
            w->lag_ms = w->now_ms - op->executed_ms;
        w->first_op = (w->first_op + 1) % OPS;
        w->nops--;
        answer(w, op);
        pr_free(op);
        return;
    }
    for (int i = 0; i < w->nops; i++) {
        op = w->ops[(w->first_op + i) % OPS];
        if (!op->executed) {
            execute(w, op);
            return;
        }
    }
}

/* What Postgres knows of these endpoints up to the cursor is read, as an adoption does; and when what is dated is due. */
static void adopt(world_t *w, uint32_t which, const int64_t after[PR_SCHED_CLASSES],
                  const int64_t upto[PR_SCHED_CLASSES], bool adopted)
{
    row_t sorted[ROWS];
    memcpy(sorted, w->rows, sizeof sorted);
    qsort(sorted, (size_t)w->nrows, sizeof sorted[0], by_seq);
    for (int i = 0; i < w->nrows; i++) {
        const row_t *row = &sorted[i];
        if (!row->alive || !(which >> row->endpoint & 1))
            continue;
        if (!row->dated && row->seq > after[row->class_no] && row->seq <= upto[row->class_no])
            add_row(w, row, adopted);
        else if (row->dated)
            pr_sched_dated(w->sched, row->endpoint, row->class_no, row->due_ms - w->now_ms,
                           w->now_ms);
    }
}

static void adopt_low(world_t *w, int64_t after[PR_SCHED_CLASSES])
{
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        after[c] = low_of(w, c) - 1;
}

/* ---- what happens ---- */

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
