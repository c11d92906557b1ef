/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/timerq.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

#include <stdlib.h>

TestSuite(timerq, .timeout = 300);

Test(timerq, gives_nothing_when_empty_and_nothing_before_it_is_due)
{
    PR_CLEANUP(pr_timerq) pr_timerq_t *queue = pr_timerq_new(10);
    pr_timer_t timer;
    cr_assert_not(pr_timerq_pop(queue, INT64_MAX, &timer));
    cr_assert_not(pr_timerq_peek(queue, &timer));
    cr_assert_eq(pr_timerq_next_ms(queue), INT64_MAX);
    cr_assert_eq(pr_timerq_add(queue, 100, 7), PR_OK);
    cr_assert_not(pr_timerq_pop(queue, 99, &timer));
    cr_assert_eq(pr_timerq_next_ms(queue), 100);
    cr_assert(pr_timerq_pop(queue, 100, &timer));
    cr_assert_eq(timer.id, 7);
    cr_assert_eq(timer.due_ms, 100);
    cr_assert_eq(pr_timerq_count(queue), 0);
}

Test(timerq, refuses_more_than_its_maximum_all_or_nothing)
{
    PR_CLEANUP(pr_timerq) pr_timerq_t *queue = pr_timerq_new(3);
    const pr_timer_t timers[] = {{1, 1}, {2, 2}, {3, 3}};
    cr_assert_eq(pr_timerq_add(queue, 0, 0), PR_OK);
    cr_assert_eq(pr_timerq_add_many(queue, timers, 3), PR_BAD);
    cr_assert_eq(pr_timerq_count(queue), 1);
    cr_assert_eq(pr_timerq_add_many(queue, timers, 2), PR_OK);
    cr_assert_eq(pr_timerq_add(queue, 0, 0), PR_BAD);
    cr_assert_eq(pr_timerq_count(queue), 3);
}

Test(timerq, equal_deadlines_come_out_as_they_went_in)
{
    PR_CLEANUP(pr_timerq) pr_timerq_t *queue = pr_timerq_new(100000);
    pr_timer_t timer;
    for (uint64_t id = 0; id < 30000; id++)
        cr_assert_eq(pr_timerq_add(queue, (int64_t)(id % 3), id), PR_OK);
    for (uint64_t i = 0; i < 30000; i++) {
        cr_assert(pr_timerq_pop(queue, 10, &timer));
        cr_assert_eq(timer.id, i % 10000 * 3 + i / 10000);
    }
}

Test(timerq, equal_deadlines_keep_their_order_when_added_in_bulk_between_single_ones)
{
    PR_CLEANUP(pr_timerq) pr_timerq_t *queue = pr_timerq_new(1000);
    pr_timer_t timers[100], timer;
    for (uint64_t i = 0; i < 100; i++)
        timers[i] = (pr_timer_t){5, 100 + i};
    for (uint64_t id = 0; id < 100; id++)
        cr_assert_eq(pr_timerq_add(queue, 5, id), PR_OK);
    cr_assert_eq(pr_timerq_add_many(queue, timers, 100), PR_OK);
    for (uint64_t id = 200; id < 300; id++)
        cr_assert_eq(pr_timerq_add(queue, 5, id), PR_OK);
    for (uint64_t id = 0; id < 300; id++) {
        cr_assert(pr_timerq_pop(queue, 5, &timer));
        cr_assert_eq(timer.id, id);
    }
}

Test(timerq, clamps_deadlines_that_no_clock_will_show)
{
    PR_CLEANUP(pr_timerq) pr_timerq_t *queue = pr_timerq_new(10);
    pr_timer_t timer;
    cr_assert_eq(pr_timerq_add(queue, INT64_MAX, 1), PR_OK);
    cr_assert_eq(pr_timerq_add(queue, INT64_MIN, 2), PR_OK);
    cr_assert(pr_timerq_pop(queue, 0, &timer));
    cr_assert_eq(timer.id, 2);
    cr_assert_not(pr_timerq_pop(queue, ((int64_t)1 << 39) - 2, &timer), "17 years");
    cr_assert(pr_timerq_pop(queue, INT64_MAX, &timer));
    cr_assert_eq(timer.id, 1);
}

static bool is_odd(const pr_timer_t *timer, void *arg)
{
    ++*(int *)arg;
    return timer->id % 2 == 1;
}

Test(timerq, takes_out_all_that_match_and_keeps_the_order_of_the_rest)
{
    PR_CLEANUP(pr_timerq) pr_timerq_t *queue = pr_timerq_new(5000);
    pr_timer_t timer;
    uint64_t state = 1, last_id = 0;
    int64_t last_due = -1;
    int asked = 0;
    for (uint64_t id = 0; id < 5000; id++)
        cr_assert_eq(pr_timerq_add(queue, (int64_t)prng_below(&state, 50), id), PR_OK);
    cr_assert_eq(pr_timerq_remove_if(queue, is_odd, &asked), 2500);
    cr_assert_eq(asked, 5000);
    while (pr_timerq_pop(queue, 1000, &timer)) {
        cr_assert_eq(timer.id % 2, 0);
        cr_assert(timer.due_ms > last_due || (timer.due_ms == last_due && timer.id > last_id));
        last_due = timer.due_ms;
        last_id = timer.id;
    }
}

typedef struct {
    int64_t due_ms;
    uint64_t order, id;
} model_t;

static int by_due_then_order(const void *a, const void *b)
{
    const model_t *left = a, *right = b;
    if (left->due_ms != right->due_ms)
        return left->due_ms < right->due_ms ? -1 : 1;
    return left->order < right->order ? -1 : 1;
}

/* The model: a sorted array. */
Test(timerq, does_as_a_sorted_array_would_over_random_steps)
{
    static model_t model[2000];
    for (uint64_t seed = 0; seed < 10; seed++) {
        PR_CLEANUP(pr_timerq) pr_timerq_t *queue = pr_timerq_new(2000);
        uint64_t state = seed, order = 0;
        size_t count = 0;
        for (int step = 0; step < 300; step++) {
            size_t batch = prng_below(&state, 40);
            pr_timer_t timers[40], timer;
            if (count + batch > 2000)
                batch = 0;
            for (size_t i = 0; i < batch; i++) {
                timers[i] =
                    (pr_timer_t){(int64_t)prng_below(&state, 100) + step, prng_next(&state)};
                model[count++] = (model_t){timers[i].due_ms, order++, timers[i].id};
            }
            if (prng_below(&state, 2))
                cr_assert_eq(pr_timerq_add_many(queue, timers, batch), PR_OK);
            else
                for (size_t i = 0; i < batch; i++)
                    cr_assert_eq(pr_timerq_add(queue, timers[i].due_ms, timers[i].id), PR_OK);
            qsort(model, count, sizeof model[0], by_due_then_order);
            size_t popped = 0, wanted = prng_below(&state, 40);
            while (popped < wanted && pr_timerq_pop(queue, step + 50, &timer)) {
                cr_assert_eq(timer.id, model[popped].id);
                cr_assert_eq(timer.due_ms, model[popped].due_ms);
                popped++;
            }
            cr_assert(popped == wanted || popped == count || model[popped].due_ms > step + 50);
            count -= popped;
            for (size_t i = 0; i < count; i++)
                model[i] = model[i + popped];
            cr_assert_eq(pr_timerq_count(queue), count);
        }
    }
}

Test(timerq, keeps_the_order_when_the_arrival_numbers_run_out)
{
    PR_CLEANUP(pr_timerq) pr_timerq_t *queue = pr_timerq_new(100);
    pr_timer_t timer;
    /* 2^25 numbers: fifty entries stay in the queue over the renumbering */
    for (uint64_t id = 1; id <= 50; id++)
        cr_assert_eq(pr_timerq_add(queue, 5, id), PR_OK);
    for (uint64_t i = 0; i < ((uint64_t)1 << 25) + 100; i++) {
        cr_assert_eq(pr_timerq_add(queue, 0, 100 + i), PR_OK);
        if (!pr_timerq_pop(queue, 0, &timer) || timer.id != 100 + i)
            cr_assert_fail("lost at %lu", (unsigned long)i);
    }
    cr_assert_eq(pr_timerq_add(queue, 5, 51), PR_OK);
    for (uint64_t id = 1; id <= 51; id++) {
        cr_assert(pr_timerq_pop(queue, 5, &timer));
        cr_assert_eq(timer.id, id);
    }
}

Test(timerq, is_usable_after_clear)
{
    PR_CLEANUP(pr_timerq) pr_timerq_t *queue = pr_timerq_new(10);
    cr_assert_eq(pr_timerq_add(queue, 5, 1), PR_OK);
    pr_timerq_clear(queue);
    cr_assert_eq(pr_timerq_count(queue), 0);
    cr_assert_eq(pr_timerq_add(queue, 6, 2), PR_OK);
    cr_assert_eq(pr_timerq_next_ms(queue), 6);
}
