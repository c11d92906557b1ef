/* SPDX-License-Identifier: Apache-2.0 */
#include "core/breaker.h"

#include "base/alloc.h"
#include "base/assert.h"

static const char *const states[PR_BREAKER_STATES] = {"none",      "closed",      "open",
                                                      "half_open", "forced_open", "forced_closed"};
static const char *const events[PR_BREAKER_EVENTS] = {
    "none",           "success",       "failure",       "trip",
    "probe_sent",     "probe_success", "probe_failure", "probe_neutral",
    "probe_returned", "force_open",    "force_close",   "reset"};

#define S(state) PR_BREAKER_##state

static const pr_fsm_row_t rows[] = {
    {S(CLOSED), S(SUCCESS), S(CLOSED), "a success ends the row of failures"},
    {S(CLOSED), S(FAILURE), S(CLOSED), "one more failure in a row"},
    {S(CLOSED), S(TRIP), S(OPEN), "too many failures in a row"},
    {S(CLOSED), S(PROBE_SENT), S(CLOSED), "no probe is needed while closed"},
    {S(CLOSED), S(PROBE_SUCCESS), S(CLOSED), "an old probe; somebody has closed it since"},
    {S(CLOSED), S(PROBE_FAILURE), S(CLOSED), "an old probe; somebody has closed it since"},
    {S(CLOSED), S(PROBE_NEUTRAL), S(CLOSED), "an old probe; somebody has closed it since"},
    {S(CLOSED), S(PROBE_RETURNED), S(CLOSED), "an old probe; somebody has closed it since"},
    {S(CLOSED), S(FORCE_OPEN), S(FORCED_OPEN), "forced open by a person"},
    {S(CLOSED), S(FORCE_CLOSE), S(FORCED_CLOSED), "forced closed by a person"},
    {S(CLOSED), S(RESET), S(CLOSED), "counters reset by a person"},

    {S(OPEN), S(SUCCESS), S(OPEN), "an outcome from before it opened: the probe decides"},
    {S(OPEN), S(FAILURE), S(OPEN), "an outcome from before it opened: the wait is not longer"},
    {S(OPEN), S(TRIP), S(OPEN), "already open"},
    {S(OPEN), S(PROBE_SENT), S(HALF_OPEN), "the wait is over, one probe goes"},
    {S(OPEN), S(PROBE_SUCCESS), S(OPEN), "no probe is out"},
    {S(OPEN), S(PROBE_FAILURE), S(OPEN), "no probe is out"},
    {S(OPEN), S(PROBE_NEUTRAL), S(OPEN), "no probe is out"},
    {S(OPEN), S(PROBE_RETURNED), S(OPEN), "no probe is out"},
    {S(OPEN), S(FORCE_OPEN), S(FORCED_OPEN), "forced open by a person"},
    {S(OPEN), S(FORCE_CLOSE), S(FORCED_CLOSED), "forced closed by a person"},
    {S(OPEN), S(RESET), S(CLOSED), "reset by a person"},

    {S(HALF_OPEN), S(SUCCESS), S(HALF_OPEN), "not the probe's outcome"},
    {S(HALF_OPEN), S(FAILURE), S(HALF_OPEN), "not the probe's outcome"},
    {S(HALF_OPEN), S(TRIP), S(HALF_OPEN), "not the probe's outcome"},
    {S(HALF_OPEN), S(PROBE_SENT), S(HALF_OPEN), "a probe goes in place of the returned one"},
    {S(HALF_OPEN), S(PROBE_SUCCESS), S(CLOSED), "the probe succeeded"},
    {S(HALF_OPEN), S(PROBE_FAILURE), S(OPEN), "the probe failed or stayed silent"},
    {S(HALF_OPEN), S(PROBE_NEUTRAL), S(OPEN), "the probe proved nothing: wait again"},
    {S(HALF_OPEN), S(PROBE_RETURNED), S(HALF_OPEN), "the probe came back untried"},
    {S(HALF_OPEN), S(FORCE_OPEN), S(FORCED_OPEN), "forced open by a person"},
    {S(HALF_OPEN), S(FORCE_CLOSE), S(FORCED_CLOSED), "forced closed by a person"},
    {S(HALF_OPEN), S(RESET), S(CLOSED), "reset by a person"},

    {S(FORCED_OPEN), S(SUCCESS), S(FORCED_OPEN), "forced: nothing is counted"},
    {S(FORCED_OPEN), S(FAILURE), S(FORCED_OPEN), "forced: nothing is counted"},
    {S(FORCED_OPEN), S(TRIP), S(FORCED_OPEN), "forced: nothing is counted"},
    {S(FORCED_OPEN), S(PROBE_SENT), S(FORCED_OPEN), "forced: no probe"},
    {S(FORCED_OPEN), S(PROBE_SUCCESS), S(FORCED_OPEN), "forced: an old probe is ignored"},
    {S(FORCED_OPEN), S(PROBE_FAILURE), S(FORCED_OPEN), "forced: an old probe is ignored"},
    {S(FORCED_OPEN), S(PROBE_NEUTRAL), S(FORCED_OPEN), "forced: an old probe is ignored"},
    {S(FORCED_OPEN), S(PROBE_RETURNED), S(FORCED_OPEN), "forced: an old probe is ignored"},
    {S(FORCED_OPEN), S(FORCE_OPEN), S(FORCED_OPEN), "already forced open"},
    {S(FORCED_OPEN), S(FORCE_CLOSE), S(FORCED_CLOSED), "forced closed by a person"},
    {S(FORCED_OPEN), S(RESET), S(CLOSED), "the force is lifted"},

    {S(FORCED_CLOSED), S(SUCCESS), S(FORCED_CLOSED), "forced: nothing is counted"},
    {S(FORCED_CLOSED), S(FAILURE), S(FORCED_CLOSED), "forced: nothing is counted"},
    {S(FORCED_CLOSED), S(TRIP), S(FORCED_CLOSED), "forced: nothing is counted"},
    {S(FORCED_CLOSED), S(PROBE_SENT), S(FORCED_CLOSED), "forced: no probe"},
    {S(FORCED_CLOSED), S(PROBE_SUCCESS), S(FORCED_CLOSED), "forced: an old probe is ignored"},
    {S(FORCED_CLOSED), S(PROBE_FAILURE), S(FORCED_CLOSED), "forced: an old probe is ignored"},
    {S(FORCED_CLOSED), S(PROBE_NEUTRAL), S(FORCED_CLOSED), "forced: an old probe is ignored"},
    {S(FORCED_CLOSED), S(PROBE_RETURNED), S(FORCED_CLOSED), "forced: an old probe is ignored"},
    {S(FORCED_CLOSED), S(FORCE_OPEN), S(FORCED_OPEN), "forced open by a person"},
    {S(FORCED_CLOSED), S(FORCE_CLOSE), S(FORCED_CLOSED), "already forced closed"},
    {S(FORCED_CLOSED), S(RESET), S(CLOSED), "the force is lifted"},
};

const pr_fsm_t pr_fsm_breaker = {
    .name = "breaker",
    .states = states,
    .events = events,
    .rows = rows,
    .state_count = PR_BREAKER_STATES,
    .event_count = PR_BREAKER_EVENTS,
    .initial = PR_BREAKER_CLOSED,
    .row_count = PR_COUNT(rows),
};

static int64_t plus(int64_t now_ms, int64_t more_ms)
{
    return now_ms > INT64_MAX - more_ms ? INT64_MAX : now_ms + more_ms;
}

/* What holds on entering a state, whatever the road. */
static void enter(pr_breaker_t *self, int64_t now_ms)
{
    if (self->state == PR_BREAKER_HALF_OPEN) {
        self->open_until_ms = 0;
        return;
    }
    self->probe_id = 0;
    self->probe_until_ms = 0;
    self->ramp_successes = 0;
    self->open_until_ms = self->state == PR_BREAKER_OPEN ? plus(now_ms, self->open_ms) : 0;
    self->ramp = 0;
    if (self->state != PR_BREAKER_OPEN)
        self->failures = 0;
}

/* The one function that changes the state. */
static pr_breaker_move_t move(pr_breaker_t *self, pr_breaker_event_t event, int64_t now_ms)
{
    const pr_fsm_row_t *row = pr_fsm_row(&pr_fsm_breaker, (int)self->state, (int)event);
    pr_assert(row); /* the table is complete: tests walk every pair */
    pr_breaker_move_t done = {self->state, (pr_breaker_state_t)row->to, row->sentence};
    if (done.from != done.to) {
        self->state = done.to;
        enter(self, now_ms);
    }
    return done;
}

void pr_breaker_init(pr_breaker_t *self, uint32_t threshold, int64_t open_ms)
{
    pr_assert(threshold >= 1 && open_ms >= 1);
    *self = (pr_breaker_t){.state = PR_BREAKER_CLOSED, .threshold = threshold, .open_ms = open_ms};
}

pr_breaker_gate_t pr_breaker_allow(const pr_breaker_t *self, int64_t now_ms)
{
    switch (self->state) {
    case PR_BREAKER_CLOSED:
    case PR_BREAKER_FORCED_CLOSED:
        return PR_BREAKER_ALLOW;
    case PR_BREAKER_OPEN:
        return now_ms >= self->open_until_ms ? PR_BREAKER_PROBE : PR_BREAKER_HOLD;
    case PR_BREAKER_HALF_OPEN:
        return self->probe_id == 0 ? PR_BREAKER_PROBE : PR_BREAKER_HOLD;
    case PR_BREAKER_FORCED_OPEN:
    case PR_BREAKER_NONE:
    case PR_BREAKER_STATES:
        break;
    }
    return PR_BREAKER_HOLD;
}

uint32_t pr_breaker_ramp(const pr_breaker_t *self)
{
    return self->ramp > 0 ? self->ramp : PR_BREAKER_NO_LIMIT;
}

pr_breaker_move_t pr_breaker_probe_sent(pr_breaker_t *self, uint64_t id, int64_t until_ms)
{
    pr_assert(id != 0);
    pr_breaker_move_t done = move(self, PR_BREAKER_PROBE_SENT, 0);
    if (self->state == PR_BREAKER_HALF_OPEN) {
        pr_assert(self->probe_id == 0); /* exactly one probe */
        self->probe_id = id;
        self->probe_until_ms = until_ms;
    }
    return done;
}

static bool is_probe(const pr_breaker_t *self, uint64_t id)
{
    return id != 0 && self->probe_id == id;
}

static void ramp_up(pr_breaker_t *self)
{
    if (self->ramp == 0 || ++self->ramp_successes < self->ramp)
        return;
    self->ramp_successes = 0;
    self->ramp = self->ramp * 2 > PR_BREAKER_RAMP_MAX ? 0 : self->ramp * 2;
}

static void ramp_down(pr_breaker_t *self)
{
    self->ramp_successes = 0;
    if (self->ramp > 1)
        self->ramp /= 2;
}

pr_breaker_move_t pr_breaker_on_success(pr_breaker_t *self, uint64_t id, int64_t now_ms)
{
    if (is_probe(self, id)) {
        pr_breaker_move_t done = move(self, PR_BREAKER_PROBE_SUCCESS, now_ms);
        self->ramp = 1; /* a probe is out only while half open: it is closed now */
        return done;
    }
    if (self->state == PR_BREAKER_CLOSED) {
        self->failures = 0;
        ramp_up(self);
    }
    return move(self, PR_BREAKER_SUCCESS, now_ms);
}

pr_breaker_move_t pr_breaker_on_failure(pr_breaker_t *self, uint64_t id, int64_t now_ms)
{
    if (is_probe(self, id)) {
        if (self->failures < UINT32_MAX)
            self->failures++;
        return move(self, PR_BREAKER_PROBE_FAILURE, now_ms);
    }
    if (self->state != PR_BREAKER_CLOSED)
        return move(self, PR_BREAKER_FAILURE, now_ms);
    self->failures++;
    ramp_down(self);
    return move(self, self->failures >= self->threshold ? PR_BREAKER_TRIP : PR_BREAKER_FAILURE,
                now_ms);
}

/* Nothing is learned, so only the probe's place matters. */
static pr_breaker_move_t on_no_news(pr_breaker_t *self, uint64_t id, pr_breaker_event_t event,
                                    int64_t now_ms)
{
    if (!is_probe(self, id))
        return (pr_breaker_move_t){self->state, self->state, "nothing learned"};
    self->probe_id = 0;
    self->probe_until_ms = 0;
    return move(self, event, now_ms);
}

pr_breaker_move_t pr_breaker_on_neutral(pr_breaker_t *self, uint64_t id, int64_t now_ms)
{
    return on_no_news(self, id, PR_BREAKER_PROBE_NEUTRAL, now_ms);
}

pr_breaker_move_t pr_breaker_on_returned(pr_breaker_t *self, uint64_t id, int64_t now_ms)
{
    return on_no_news(self, id, PR_BREAKER_PROBE_RETURNED, now_ms);
}

pr_breaker_move_t pr_breaker_on_probe_lost(pr_breaker_t *self, uint64_t id, int64_t now_ms)
{
    if (is_probe(self, id))
        return pr_breaker_on_failure(self, id, now_ms);
    return (pr_breaker_move_t){self->state, self->state, "not the probe"};
}

pr_breaker_move_t pr_breaker_on_time(pr_breaker_t *self, int64_t now_ms)
{
    if (self->probe_id != 0 && now_ms >= self->probe_until_ms)
        return pr_breaker_on_probe_lost(self, self->probe_id, now_ms);
    return (pr_breaker_move_t){self->state, self->state, "no deadline has passed"};
}

int64_t pr_breaker_next_ms(const pr_breaker_t *self)
{
    if (self->state == PR_BREAKER_OPEN)
        return self->open_until_ms;
    if (self->state == PR_BREAKER_HALF_OPEN && self->probe_id != 0)
        return self->probe_until_ms;
    return INT64_MAX;
}

pr_breaker_move_t pr_breaker_force_open(pr_breaker_t *self)
{
    return move(self, PR_BREAKER_FORCE_OPEN, 0);
}

pr_breaker_move_t pr_breaker_force_close(pr_breaker_t *self)
{
    return move(self, PR_BREAKER_FORCE_CLOSE, 0);
}

pr_breaker_move_t pr_breaker_reset(pr_breaker_t *self)
{
    self->failures = 0;
    self->ramp = 0;
    return move(self, PR_BREAKER_RESET, 0);
}

const char *pr_breaker_state_name(pr_breaker_state_t state)
{
    return state > PR_BREAKER_NONE && state < PR_BREAKER_STATES ? states[state] : "?";
}
