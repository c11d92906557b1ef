/* SPDX-License-Identifier: Apache-2.0
 *
 * A small world of chance for the scheduler's decisions, its first half: a job table in memory behind a pipeline whose answers
 * come late, get lost, or never come; a second one, in no order with the first, on which new jobs are looked for, as
 * scheduler_new.c does.
 */
#ifndef PR_TEST_SCHEDULER_WORLD_TABLE_H
#define PR_TEST_SCHEDULER_WORLD_TABLE_H

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

#endif
