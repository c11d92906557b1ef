/* SPDX-License-Identifier: Apache-2.0
 *
 * Of one order one notification is under way, lowest version first; once one waits for a retry, the next goes
 * (docs/protocol.md, section 2). An order exists only while one of its jobs is ready or under way. Two orders of one
 * endpoint whose 64-bit hashes collide wait for each other, which costs time and nothing else.
 */
#include "actors/scheduler/scheduler_state.h"
#include "base/alloc.h"
#include "base/assert.h"

static bool before(const job_t *a, const job_t *b)
{
    return a->version != b->version ? a->version < b->version : a->view.seq < b->view.seq;
}

static void enqueue(pr_sched_t *self, order_t *order, bool front)
{
    order->class_no = order->head->view.class_no;
    order_queue_t *queue = &order->endpoint->ready[order->class_no];
    order->prev = front ? NULL : queue->last;
    order->next = front ? queue->first : NULL;
    if (order->prev)
        order->prev->next = order;
    else
        queue->first = order;
    if (order->next)
        order->next->prev = order;
    else
        queue->last = order;
    queue->count++;
    order->queued = true;
    self->stats.ready++;
}

static void dequeue(pr_sched_t *self, order_t *order)
{
    order_queue_t *queue = &order->endpoint->ready[order->class_no];
    if (order->prev)
        order->prev->next = order->next;
    else
        queue->first = order->next;
    if (order->next)
        order->next->prev = order->prev;
    else
        queue->last = order->prev;
    order->prev = order->next = NULL;
    queue->count--;
    order->queued = false;
    self->stats.ready--;
}

static void wait_behind(order_t *order, job_t *job)
{
    job_t **at = &order->waiting;
    while (*at && before(*at, job))
        at = &(*at)->next_waiting;
    job->next_waiting = *at;
    *at = job;
}

static order_t *order_of(pr_sched_t *self, job_t *job)
{
    order_t *order = NULL;
    /* Another endpoint's order with the same hash: step aside until the place is ours or free. */
    while ((order = pr_map_get(self->orders, job->order_hash)) && order->endpoint != job->endpoint)
        job->order_hash += 0x9E3779B97F4A7C15u;
    if (order)
        return order;
    order = PR_NEW(order_t);
    order->hash = job->order_hash;
    order->endpoint = job->endpoint;
    pr_rc_t rc = pr_map_put(self->orders, order->hash, order, NULL);
    pr_assert(rc == PR_OK); /* as many orders as jobs at most */
    return order;
}

void order_add(pr_sched_t *self, job_t *job, bool front)
{
    order_t *order = order_of(self, job);
    job->order = order;
    job->state = JOB_READY;
    if (!order->head) {
        order->head = job;
        enqueue(self, order, front);
    } else if (order->queued && before(job, order->head)) {
        job_t *later = order->head;
        dequeue(self, order);
        order->head = job;
        wait_behind(order, later);
        enqueue(self, order, true);
    } else {
        wait_behind(order, job);
    }
}

void order_take(pr_sched_t *self, job_t *job)
{
    order_t *order = order_of(self, job);
    job->order = order;
    if (order->head && !order->queued) { /* one is under way already: both may be */
        wait_behind(order, job);
        return;
    }
    job_t *ready = order->head;
    if (ready)
        dequeue(self, order);
    order->head = job;
    if (ready)
        wait_behind(order, ready);
}

void order_sent(pr_sched_t *self, order_t *order)
{
    pr_assert(order->queued);
    dequeue(self, order);
}

static void unlink_waiting(order_t *order, job_t *job)
{
    job_t **at = &order->waiting;
    while (*at && *at != job)
        at = &(*at)->next_waiting;
    if (*at)
        *at = job->next_waiting;
    job->next_waiting = NULL;
}

/* Who leads next: one that is under way too (two owners sent two), else the lowest version. */
static job_t *next_head(const order_t *order)
{
    for (job_t *job = order->waiting; job; job = job->next_waiting)
        if (job->state != JOB_READY)
            return job;
    return order->waiting;
}

void order_release(pr_sched_t *self, job_t *job)
{
    order_t *order = job->order;
    if (!order)
        return;
    job->order = NULL;
    if (order->head != job) {
        unlink_waiting(order, job);
        return;
    }
    if (order->queued)
        dequeue(self, order);
    order->head = next_head(order);
    if (!order->head) {
        (void)pr_map_remove(self->orders, order->hash);
        pr_free(order);
        return;
    }
    unlink_waiting(order, order->head);
    if (order->head->state == JOB_READY)
        enqueue(self, order, false);
}
