/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fsm.h"

#include "base/alloc.h"

const pr_fsm_row_t *pr_fsm_row(const pr_fsm_t *self, int from, int event)
{
    for (int i = 0; i < self->row_count; i++)
        if (self->rows[i].from == from && self->rows[i].event == event)
            return &self->rows[i];
    return NULL;
}

int pr_fsm_next(const pr_fsm_t *self, int from, int event)
{
    const pr_fsm_row_t *row = pr_fsm_row(self, from, event);
    return row ? row->to : PR_FSM_REFUSED;
}

bool pr_fsm_may_move(const pr_fsm_t *self, int from, int to)
{
    if (from == to)
        return false;
    for (int i = 0; i < self->row_count; i++)
        if (self->rows[i].from == from && self->rows[i].to == to)
            return true;
    return false;
}

bool pr_fsm_is_final(const pr_fsm_t *self, int state)
{
    for (int i = 0; i < self->row_count; i++)
        if (self->rows[i].from == state && self->rows[i].to != state)
            return false;
    return true;
}

pr_rc_t pr_fsm_diagram(const pr_fsm_t *self, pr_buffer_t *out)
{
    size_t before = out->len;
    pr_rc_t rc =
        pr_buffer_printf(out, "stateDiagram-v2\n    [*] --> %s\n", self->states[self->initial]);
    for (int i = 0; rc == PR_OK && i < self->row_count; i++) {
        const pr_fsm_row_t *row = &self->rows[i];
        if (row->from != row->to)
            rc = pr_buffer_printf(out, "    %s --> %s : %s\n", self->states[row->from],
                                  self->states[row->to], self->events[row->event]);
    }
    for (int state = 1; rc == PR_OK && state < self->state_count; state++)
        if (pr_fsm_is_final(self, state))
            rc = pr_buffer_printf(out, "    %s --> [*]\n", self->states[state]);
    if (rc != PR_OK) {
        out->len = before; /* what was there stays as it was */
        if (out->data)
            out->data[before] = '\0';
    }
    return rc;
}

/* ---- a delivery: docs/states.md, "notification: status / phase" ---- */

static const char *const delivery_states[PR_DELIVERY_STATES] = {
    "none", "new", "sending", "retrying", "held", "delivered", "cancelled", "dead"};
static const char *const delivery_events[PR_DELIVERY_EVENTS] = {
    "none", "send", "hold", "cancel", "accept", "fail", "exhaust", "expire", "redrive"};

#define D(state) PR_DELIVERY_##state

static const pr_fsm_row_t delivery_rows[] = {
    {D(NEW), D(SEND), D(SENDING), "the first try starts"},
    {D(NEW), D(HOLD), D(HELD), "the endpoint takes nothing now"},
    {D(NEW), D(CANCEL), D(CANCELLED), "cancelled before the first try"},
    {D(SENDING), D(ACCEPT), D(DELIVERED), "the receiver answered as agreed"},
    {D(SENDING), D(FAIL), D(RETRYING), "the try failed and retries are left"},
    {D(SENDING), D(EXHAUST), D(DEAD), "the last try failed"},
    {D(SENDING), D(EXPIRE), D(DEAD), "the try failed and the notification is too old"},
    {D(RETRYING), D(SEND), D(SENDING), "the next try starts"},
    {D(RETRYING), D(HOLD), D(HELD), "the endpoint takes nothing now"},
    {D(RETRYING), D(CANCEL), D(CANCELLED), "cancelled between two tries"},
    {D(HELD), D(SEND), D(SENDING), "the endpoint takes jobs again"},
    {D(HELD), D(EXPIRE), D(DEAD), "held until it was too old"},
    {D(HELD), D(CANCEL), D(CANCELLED), "cancelled while held"},
    {D(DEAD), D(REDRIVE), D(NEW), "a person drives it again"},
};

const pr_fsm_t pr_fsm_delivery = {
    .name = "delivery",
    .states = delivery_states,
    .events = delivery_events,
    .rows = delivery_rows,
    .state_count = PR_DELIVERY_STATES,
    .event_count = PR_DELIVERY_EVENTS,
    .initial = PR_DELIVERY_NEW,
    .row_count = PR_COUNT(delivery_rows),
};

/* ---- a job: docs/states.md, "job" ---- */

static const char *const job_states[PR_JOB_STATES] = {"none", "waiting", "parked", "dispatched",
                                                      "done", "dropped", "dead"};
static const char *const job_events[PR_JOB_EVENTS] = {"none",    "dispatch", "park",  "unpark",
                                                      "drop",    "succeed",  "retry", "worker_lost",
                                                      "give_up", "redrive"};

#define J(state) PR_JOB_##state

static const pr_fsm_row_t job_rows[] = {
    {J(WAITING), J(DISPATCH), J(DISPATCHED), "it is due and a worker has room"},
    {J(WAITING), J(PARK), J(PARKED), "its endpoint takes nothing now"},
    {J(WAITING), J(DROP), J(DROPPED), "its subject is final"},
    {J(PARKED), J(UNPARK), J(WAITING), "its endpoint takes jobs again"},
    {J(PARKED), J(GIVE_UP), J(DEAD), "parked until it was too old"},
    {J(DISPATCHED), J(SUCCEED), J(DONE), "the outcome is success"},
    {J(DISPATCHED), J(RETRY), J(WAITING), "failed, due again later"},
    {J(DISPATCHED), J(WORKER_LOST), J(WAITING),
     "nothing heard of it, due again with the same token"},
    {J(DISPATCHED), J(GIVE_UP), J(DEAD), "failed, and no retry is left"},
    {J(DEAD), J(REDRIVE), J(WAITING), "a person drives it again, with a new token"},
};

const pr_fsm_t pr_fsm_job = {
    .name = "job",
    .states = job_states,
    .events = job_events,
    .rows = job_rows,
    .state_count = PR_JOB_STATES,
    .event_count = PR_JOB_EVENTS,
    .initial = PR_JOB_WAITING,
    .row_count = PR_COUNT(job_rows),
};
