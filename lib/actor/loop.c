/* SPDX-License-Identifier: Apache-2.0 */
#include "actor/actor_private.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"

#include <zmq.h>

#include <errno.h>
#include <poll.h>
#include <string.h>

#define INPUTS_MAX 64
#define TIMERS_MAX 64 /* work timers belong in lib/core/timerq */
#define TURNS_MAX 16

typedef struct {
    pr_socket_t *socket; /* one of these three; all empty: removed, the slot is free */
    pr_db_t *db;
    int fd; /* -1 = none */
    short events;
    pr_loop_fn *fn;
    void *arg;
} input_t;

typedef struct {
    int64_t at_ms; /* INT64_MAX: not armed */
    int64_t period_ms;
    pr_loop_fn *fn;
    void *arg;
} loop_timer_t;

typedef struct {
    pr_loop_fn *fn;
    void *arg;
} turn_t;

struct pr_loop_t {
    input_t inputs[INPUTS_MAX];
    int ninputs;
    loop_timer_t timers[TIMERS_MAX];
    int ntimers;
    turn_t turns[TURNS_MAX];
    int nturns;
    int64_t now_ms;
    bool again;
    zmq_pollitem_t items[INPUTS_MAX]; /* this turn's, as inputs[] */
};

pr_loop_t *pr_loop_new(void)
{
    pr_loop_t *self = PR_NEW(pr_loop_t);
    self->now_ms = pr_clock_mono_ms();
    return self;
}

void pr_loop_destroy(pr_loop_t **self)
{
    pr_free(*self);
    *self = NULL;
}

/* ---- registering ---- */

static bool is_free(const input_t *input)
{
    return input->socket == NULL && input->db == NULL && input->fd < 0;
}

static void add_input(pr_loop_t *self, input_t input)
{
    int i = 0;
    while (i < self->ninputs && !is_free(&self->inputs[i]))
        i++;
    pr_assert(i < INPUTS_MAX);
    self->inputs[i] = input;
    self->items[i] = (zmq_pollitem_t){.fd = -1}; /* not ready in the turn that added it */
    if (i == self->ninputs)
        self->ninputs++;
}

static void remove_input(pr_loop_t *self, const pr_socket_t *socket, const pr_db_t *db, int fd)
{
    for (int i = 0; i < self->ninputs; i++) {
        input_t *input = &self->inputs[i];
        if (!is_free(input) && input->socket == socket && input->db == db && input->fd == fd)
            *input = (input_t){.fd = -1};
    }
}

void pr_loop_add_socket(pr_loop_t *self, pr_socket_t *socket, pr_loop_fn *fn, void *arg)
{
    pr_assert(socket != NULL);
    add_input(self, (input_t){.socket = socket, .fd = -1, .fn = fn, .arg = arg});
}

void pr_loop_remove_socket(pr_loop_t *self, pr_socket_t *socket)
{
    remove_input(self, socket, NULL, -1);
}

void pr_loop_add_fd(pr_loop_t *self, int fd, short events, pr_loop_fn *fn, void *arg)
{
    pr_assert(fd >= 0);
    add_input(self, (input_t){.fd = fd, .events = events, .fn = fn, .arg = arg});
}

void pr_loop_remove_fd(pr_loop_t *self, int fd)
{
    remove_input(self, NULL, NULL, fd);
}

void pr_loop_add_db(pr_loop_t *self, pr_db_t *db)
{
    pr_assert(db != NULL);
    add_input(self, (input_t){.db = db, .fd = -1});
}

void pr_loop_remove_db(pr_loop_t *self, pr_db_t *db)
{
    remove_input(self, NULL, db, -1);
}

int pr_loop_add_timer(pr_loop_t *self, int64_t first_at_ms, int64_t period_ms, pr_loop_fn *fn,
                      void *arg)
{
    pr_assert(self->ntimers < TIMERS_MAX && period_ms >= 0);
    self->timers[self->ntimers] = (loop_timer_t){first_at_ms, period_ms, fn, arg};
    return ++self->ntimers;
}

void pr_loop_timer_at(pr_loop_t *self, int id, int64_t at_ms)
{
    pr_assert(id > 0 && id <= self->ntimers);
    self->timers[id - 1].at_ms = at_ms;
}

void pr_loop_add_turn(pr_loop_t *self, pr_loop_fn *fn, void *arg)
{
    pr_assert(self->nturns < TURNS_MAX);
    self->turns[self->nturns++] = (turn_t){fn, arg};
}

void pr_loop_again(pr_loop_t *self)
{
    self->again = true;
}

int64_t pr_loop_now_ms(const pr_loop_t *self)
{
    return self->now_ms;
}

/* ---- one turn ---- */

static int64_t sleep_ms(const pr_loop_t *self, int64_t max_sleep_ms)
{
    if (self->again)
        return 0;
    int64_t now_ms = pr_clock_mono_ms(); /* handlers took time since the turn's reading */
    int64_t next_ms = now_ms + max_sleep_ms;
    for (int i = 0; i < self->ntimers; i++) {
        if (self->timers[i].at_ms < next_ms)
            next_ms = self->timers[i].at_ms;
    }
    for (int i = 0; i < self->ninputs; i++) {
        if (self->inputs[i].db == NULL)
            continue;
        int64_t deadline_ms = pr_db_deadline_ms(self->inputs[i].db);
        if (deadline_ms < next_ms)
            next_ms = deadline_ms;
    }
    return next_ms > now_ms ? next_ms - now_ms : 0;
}

static void fill_items(pr_loop_t *self)
{
    for (int i = 0; i < self->ninputs; i++) {
        const input_t *input = &self->inputs[i];
        zmq_pollitem_t *item = &self->items[i];
        *item = (zmq_pollitem_t){.fd = -1};
        if (input->socket != NULL) {
            item->socket = pr_socket_native(input->socket);
            item->events = ZMQ_POLLIN;
            continue;
        }
        item->fd = input->db != NULL ? pr_db_fd(input->db) : input->fd;
        short events = input->db != NULL && item->fd >= 0 ? pr_db_events(input->db) : input->events;
        item->events = (short)(((events & POLLIN) != 0 ? ZMQ_POLLIN : 0) |
                               ((events & POLLOUT) != 0 ? ZMQ_POLLOUT : 0));
    }
}

static void wait_for_input(pr_loop_t *self, int64_t max_sleep_ms)
{
    /* Asked first: pr_db_events may flush, and a flush may read answers that pr_db_deadline_ms
     * tells of. */
    fill_items(self);
    int64_t wait_ms = sleep_ms(self, max_sleep_ms);
    self->again = false;
    /* zmq_poll takes fd -1 for an error: such items are left out */
    zmq_pollitem_t packed[INPUTS_MAX];
    int places[INPUTS_MAX] = {0};
    int count = 0;
    for (int i = 0; i < self->ninputs; i++) {
        if (self->items[i].socket == NULL && self->items[i].fd < 0)
            continue;
        places[count] = i;
        packed[count++] = self->items[i];
    }
    int rc = zmq_poll(packed, count, (long)wait_ms);
    pr_assert(rc >= 0 || errno == EINTR);
    for (int i = 0; rc > 0 && i < count; i++)
        self->items[places[i]].revents = packed[i].revents;
}

static void run_timers(pr_loop_t *self)
{
    for (int i = 0; i < self->ntimers; i++) {
        loop_timer_t *timer = &self->timers[i];
        if (timer->at_ms > self->now_ms)
            continue;
        /* Set before the call, which may re-arm it; after a long stop one call stands for all missed. At multiples of the
         * period, on a clock that all processes of the machine share: what they say each second then wakes the broker once. */
        int64_t period_ms = timer->period_ms;
        timer->at_ms = period_ms > 0 ? (self->now_ms / period_ms + 1) * period_ms : INT64_MAX;
        timer->fn(timer->arg, self->now_ms);
    }
}

static pr_rc_t run_inputs(pr_loop_t *self, pr_error_t *error)
{
    for (int i = 0; i < self->ninputs; i++) {
        input_t *input = &self->inputs[i];
        bool ready = self->items[i].revents != 0;
        if (input->db != NULL) {
            if (!ready && pr_db_deadline_ms(input->db) > self->now_ms)
                continue;
            pr_rc_t rc = pr_db_io(input->db, self->now_ms, error);
            if (rc != PR_OK)
                return rc;
        } else if (ready && input->fn != NULL) {
            input->fn(input->arg, self->now_ms);
        }
    }
    return PR_OK;
}

pr_rc_t pr_loop_turn(pr_loop_t *self, int64_t max_sleep_ms, pr_error_t *error)
{
    wait_for_input(self, max_sleep_ms);
    self->now_ms = pr_clock_mono_ms();
    run_timers(self);
    pr_rc_t rc = run_inputs(self, error);
    for (int i = 0; rc == PR_OK && i < self->nturns; i++)
        self->turns[i].fn(self->turns[i].arg, self->now_ms);
    return rc;
}
