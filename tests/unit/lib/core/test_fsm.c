/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables are held against docs/states.md: every pair of states is walked, and exactly the moves
 * named there are possible.
 */
#include "base/alloc.h"
#include "core/breaker.h"
#include "core/fsm.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(fsm, .timeout = 300);

typedef struct {
    int from, to;
} move_t;

/* states.md, "notification: status / phase". */
static const move_t delivery_moves[] = {
    {PR_DELIVERY_NEW, PR_DELIVERY_SENDING},        {PR_DELIVERY_NEW, PR_DELIVERY_HELD},
    {PR_DELIVERY_NEW, PR_DELIVERY_CANCELLED},      {PR_DELIVERY_SENDING, PR_DELIVERY_DELIVERED},
    {PR_DELIVERY_SENDING, PR_DELIVERY_RETRYING},   {PR_DELIVERY_SENDING, PR_DELIVERY_DEAD},
    {PR_DELIVERY_RETRYING, PR_DELIVERY_SENDING},   {PR_DELIVERY_RETRYING, PR_DELIVERY_HELD},
    {PR_DELIVERY_RETRYING, PR_DELIVERY_CANCELLED}, {PR_DELIVERY_HELD, PR_DELIVERY_SENDING},
    {PR_DELIVERY_HELD, PR_DELIVERY_DEAD},          {PR_DELIVERY_HELD, PR_DELIVERY_CANCELLED},
    {PR_DELIVERY_DEAD, PR_DELIVERY_NEW},
};

/* states.md, "job". */
static const move_t job_moves[] = {
    {PR_JOB_WAITING, PR_JOB_DISPATCHED}, {PR_JOB_WAITING, PR_JOB_PARKED},
    {PR_JOB_WAITING, PR_JOB_DROPPED},    {PR_JOB_PARKED, PR_JOB_WAITING},
    {PR_JOB_PARKED, PR_JOB_DEAD},        {PR_JOB_DISPATCHED, PR_JOB_DONE},
    {PR_JOB_DISPATCHED, PR_JOB_WAITING}, {PR_JOB_DISPATCHED, PR_JOB_DEAD},
    {PR_JOB_DEAD, PR_JOB_WAITING},
};

/* states.md, "breaker"; a person's force leads from everywhere. */
static const move_t breaker_moves[] = {
    {PR_BREAKER_CLOSED, PR_BREAKER_OPEN},
    {PR_BREAKER_OPEN, PR_BREAKER_HALF_OPEN},
    {PR_BREAKER_HALF_OPEN, PR_BREAKER_CLOSED},
    {PR_BREAKER_HALF_OPEN, PR_BREAKER_OPEN},
    {PR_BREAKER_OPEN, PR_BREAKER_CLOSED}, /* reset */
    {PR_BREAKER_CLOSED, PR_BREAKER_FORCED_OPEN},
    {PR_BREAKER_OPEN, PR_BREAKER_FORCED_OPEN},
    {PR_BREAKER_HALF_OPEN, PR_BREAKER_FORCED_OPEN},
    {PR_BREAKER_FORCED_CLOSED, PR_BREAKER_FORCED_OPEN},
    {PR_BREAKER_CLOSED, PR_BREAKER_FORCED_CLOSED},
    {PR_BREAKER_OPEN, PR_BREAKER_FORCED_CLOSED},
    {PR_BREAKER_HALF_OPEN, PR_BREAKER_FORCED_CLOSED},
    {PR_BREAKER_FORCED_OPEN, PR_BREAKER_FORCED_CLOSED},
    {PR_BREAKER_FORCED_OPEN, PR_BREAKER_CLOSED},
    {PR_BREAKER_FORCED_CLOSED, PR_BREAKER_CLOSED},
};

static const struct {
    const pr_fsm_t *fsm;
    const move_t *moves;
    size_t count;
} machines[] = {
    {&pr_fsm_delivery, delivery_moves, PR_COUNT(delivery_moves)},
    {&pr_fsm_job, job_moves, PR_COUNT(job_moves)},
    {&pr_fsm_breaker, breaker_moves, PR_COUNT(breaker_moves)},
};

static bool is_listed(const move_t *moves, size_t count, int from, int to)
{
    for (size_t i = 0; i < count; i++)
        if (moves[i].from == from && moves[i].to == to)
            return true;
    return false;
}

Test(fsm, exactly_the_documented_moves_are_possible)
{
    for (size_t m = 0; m < PR_COUNT(machines); m++) {
        const pr_fsm_t *fsm = machines[m].fsm;
        for (int from = 0; from < fsm->state_count; from++)
            for (int to = 0; to < fsm->state_count; to++)
                cr_expect_eq(pr_fsm_may_move(fsm, from, to),
                             is_listed(machines[m].moves, machines[m].count, from, to),
                             "%s: %s -> %s", fsm->name, fsm->states[from], fsm->states[to]);
    }
}

Test(fsm, the_rows_are_sound)
{
    for (size_t m = 0; m < PR_COUNT(machines); m++) {
        const pr_fsm_t *fsm = machines[m].fsm;
        for (int i = 0; i < fsm->row_count; i++) {
            const pr_fsm_row_t *row = &fsm->rows[i];
            cr_expect(row->from > 0 && row->from < fsm->state_count, "%s row %d", fsm->name, i);
            cr_expect(row->to > 0 && row->to < fsm->state_count, "%s row %d", fsm->name, i);
            cr_expect(row->event > 0 && row->event < fsm->event_count, "%s row %d", fsm->name, i);
            cr_expect_gt(strlen(row->sentence), 5, "%s row %d says nothing", fsm->name, i);
            cr_expect_eq(pr_fsm_row(fsm, row->from, row->event), row, "%s: (%s, %s) stands twice",
                         fsm->name, fsm->states[row->from], fsm->events[row->event]);
        }
    }
}

Test(fsm, an_unknown_pair_has_an_outcome)
{
    for (size_t m = 0; m < PR_COUNT(machines); m++) {
        const pr_fsm_t *fsm = machines[m].fsm;
        cr_expect_eq(pr_fsm_next(fsm, 0, 1), PR_FSM_REFUSED);
        cr_expect_eq(pr_fsm_next(fsm, -1, 1), PR_FSM_REFUSED);
        cr_expect_eq(pr_fsm_next(fsm, 1, 0), PR_FSM_REFUSED);
        cr_expect_eq(pr_fsm_next(fsm, 1, fsm->event_count), PR_FSM_REFUSED);
        cr_expect_eq(pr_fsm_next(fsm, 100000, 100000), PR_FSM_REFUSED);
    }
    cr_expect_eq(pr_fsm_next(&pr_fsm_delivery, PR_DELIVERY_DELIVERED, PR_DELIVERY_FAIL),
                 PR_FSM_REFUSED, "N20: a late failure never undoes delivered");
    cr_expect_eq(pr_fsm_next(&pr_fsm_delivery, PR_DELIVERY_DELIVERED, PR_DELIVERY_REDRIVE),
                 PR_FSM_REFUSED);
}

Test(fsm, final_states_are_final)
{
    cr_assert(pr_fsm_is_final(&pr_fsm_delivery, PR_DELIVERY_DELIVERED));
    cr_assert(pr_fsm_is_final(&pr_fsm_delivery, PR_DELIVERY_CANCELLED));
    cr_assert_not(pr_fsm_is_final(&pr_fsm_delivery, PR_DELIVERY_DEAD), "redrive leads out");
    cr_assert(pr_fsm_is_final(&pr_fsm_job, PR_JOB_DONE));
    cr_assert(pr_fsm_is_final(&pr_fsm_job, PR_JOB_DROPPED));
}

Test(fsm, every_state_can_be_reached_from_birth)
{
    for (size_t m = 0; m < PR_COUNT(machines); m++) {
        const pr_fsm_t *fsm = machines[m].fsm;
        bool reached[32] = {[0] = true};
        reached[fsm->initial] = true;
        for (int round = 0; round < fsm->state_count; round++)
            for (int i = 0; i < fsm->row_count; i++)
                reached[fsm->rows[i].to] |= reached[fsm->rows[i].from];
        for (int state = 0; state < fsm->state_count; state++)
            cr_expect(reached[state], "%s: %s", fsm->name, fsm->states[state]);
    }
}

Test(fsm, the_breaker_table_has_a_row_for_every_pair)
{
    for (int state = 1; state < PR_BREAKER_STATES; state++)
        for (int event = 1; event < PR_BREAKER_EVENTS; event++)
            cr_expect_not_null(pr_fsm_row(&pr_fsm_breaker, state, event), "%s, %s",
                               pr_fsm_breaker.states[state], pr_fsm_breaker.events[event]);
}

Test(fsm, draws_itself)
{
    pr_buffer_t out;
    pr_buffer_init(&out, 8192);
    cr_assert_eq(pr_fsm_diagram(&pr_fsm_job, &out), PR_OK);
    const char *text = pr_buffer_text(&out);
    cr_assert_eq(strncmp(text, "stateDiagram-v2\n    [*] --> waiting\n", 36), 0, "%s", text);
    cr_assert_not_null(strstr(text, "    dispatched --> done : succeed\n"));
    cr_assert_not_null(strstr(text, "    done --> [*]\n"));
    cr_assert_null(strstr(text, "dead --> [*]"));
    pr_buffer_free(&out);
}

Test(fsm, a_drawing_that_does_not_fit_leaves_nothing_behind)
{
    pr_buffer_t out;
    pr_buffer_init(&out, 100);
    cr_assert_eq(pr_buffer_append_text(&out, "before"), PR_OK);
    cr_assert_eq(pr_fsm_diagram(&pr_fsm_job, &out), PR_BAD);
    cr_assert_str_eq(pr_buffer_text(&out), "before");
    pr_buffer_free(&out);
}
