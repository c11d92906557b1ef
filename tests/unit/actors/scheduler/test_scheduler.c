/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's decisions, one hazard a test.
 */
#include "actors/scheduler/scheduler_state.h"
#include "tests/unit/actors/scheduler/harness.h"

TestSuite(scheduler, .timeout = 300);

Test(scheduler, a_job_leaves_and_is_delivered)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    cr_assert_eq(next(&h), 1);
    cr_assert_eq(next(&h), 0, "one job leaves once");
    outcome(&h, 1, 0, PR_OUTCOME_DELIVERED);
    drain(&h);
    const pr_sched_action_t *result = action_of(&h, PR_SCHED_RESULT);
    cr_assert(result && result->end == PR_END_DELIVERED && result->tried);
    cr_assert_eq(h.freed, 0, "the payload stays until the commit");
    pr_sched_written(h.sched, 1, 1000, h.now_ms);
    drain(&h);
    cr_assert_eq(h.freed, 1);
    harness_end(&h);
}

Test(scheduler, a_failed_try_waits_its_delay_and_goes_again)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    cr_assert_eq(next(&h), 1);
    outcome(&h, 1, 0, PR_OUTCOME_REFUSED);
    drain(&h);
    cr_assert_eq(action_of(&h, PR_SCHED_RESULT)->delay_ms, 5000);
    pr_sched_written(h.sched, 1, 1000, h.now_ms);
    wait_ms(&h, 4999);
    cr_assert_eq(next(&h), 0, "not a millisecond early");
    wait_ms(&h, 1);
    const pr_sched_job_t *job = pr_sched_next(h.sched, 1, h.now_ms);
    cr_assert(job && job->attempt == 1, "the second token");
    harness_end(&h);
}

Test(scheduler, the_last_try_ends_in_a_dead_letter)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    for (uint32_t attempt = 0; attempt < 3; attempt++) {
        cr_assert_eq(next(&h), 1, "try %u", attempt);
        outcome(&h, 1, attempt, PR_OUTCOME_REFUSED);
        drain(&h);
        const pr_sched_action_t *result = action_of(&h, PR_SCHED_RESULT);
        cr_assert_eq(result->end, attempt < 2 ? PR_END_RETRY : PR_END_DEAD);
        pr_sched_written(h.sched, 1, 1000, h.now_ms);
        wait_ms(&h, 60000);
    }
    harness_end(&h);
}

Test(scheduler, a_token_counts_once)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    (void)next(&h);
    outcome(&h, 1, 0, PR_OUTCOME_REFUSED);
    outcome(&h, 1, 0, PR_OUTCOME_DELIVERED); /* said twice before the commit */
    drain(&h);
    int results = 0;
    for (int i = 0; i < h.count; i++)
        results += h.last[i].kind == PR_SCHED_RESULT;
    cr_assert_eq(results, 1);
    pr_sched_written(h.sched, 1, 1000, h.now_ms);
    outcome(&h, 1, 0, PR_OUTCOME_DELIVERED); /* and after it */
    drain(&h);
    cr_assert(action_of(&h, PR_SCHED_STALE), "a token of the past is stale");
    outcome(&h, 99, 0, PR_OUTCOME_REFUSED);
    drain(&h);
    cr_assert(action_of(&h, PR_SCHED_STALE), "so is one that nobody knows");
    harness_end(&h);
}

Test(scheduler, of_one_order_one_at_a_time_lowest_version_first)
{
    harness_t h = harness_new();
    add_job(&h, 1, 5, 30);
    add_job(&h, 2, 5, 10);
    add_job(&h, 3, 5, 20);
    add_job(&h, 4, 6, 1);
    cr_assert_eq(next(&h), 2, "the lowest version overtakes");
    cr_assert_eq(next(&h), 4, "another order is free");
    cr_assert_eq(next(&h), 0, "order 5 has one under way");
    finish(&h, 2, 0, PR_OUTCOME_REFUSED);
    cr_assert_eq(next(&h), 3, "it waits for its retry: the next one goes");
    finish(&h, 3, 0, PR_OUTCOME_DELIVERED);
    cr_assert_eq(next(&h), 1);
    harness_end(&h);
}

Test(scheduler, two_orders_of_two_endpoints_with_one_hash_do_not_meet)
{
    harness_t h = harness_new();
    pr_sched_endpoint_t other = harness_endpoint(8);
    pr_sched_set_endpoint(h.sched, &other, h.now_ms);
    add_job(&h, 1, 5, 1);
    pr_sched_row_t row = row_of(2, 5, 1);
    row.endpoint_id = 8;
    cr_assert_eq(add(&h, &row), PR_SCHED_KEPT);
    int64_t first = next(&h), second = next(&h);
    cr_assert_eq(first + second, 3, "both leave");
    finish(&h, 1, 0, PR_OUTCOME_DELIVERED);
    finish(&h, 2, 0, PR_OUTCOME_DELIVERED);
    harness_end(&h);
}

Test(scheduler, the_window_starts_small_and_grows_with_success)
{
    harness_t h = harness_new();
    for (int64_t seq = 1; seq <= 8; seq++)
        add_job(&h, seq, (uint64_t)seq, 1);
    cr_assert_eq(next(&h), 1);
    cr_assert_eq(next(&h), 2);
    cr_assert_eq(next(&h), 0, "two at first");
    finish(&h, 1, 0, PR_OUTCOME_DELIVERED);
    cr_assert_eq(next(&h), 3);
    cr_assert_eq(next(&h), 4, "three after a success");
    cr_assert_eq(next(&h), 0);
    harness_end(&h);
}

/* Opens the breaker with five failures in a row; leaves jobs 6, 7, 8 waiting. */
static void open_breaker(harness_t *h)
{
    for (int64_t seq = 1; seq <= 8; seq++)
        add_job(h, seq, (uint64_t)seq, 1);
    for (int64_t seq = 1; seq <= 5; seq++) {
        cr_assert_eq(next(h), seq);
        outcome(h, seq, 0, PR_OUTCOME_UNREACHABLE);
    }
    drain(h);
    const pr_sched_action_t *moved = action_of(h, PR_SCHED_BREAKER);
    cr_assert(moved && moved->to == PR_BREAKER_OPEN, "five in a row open it");
    cr_assert_eq(moved->failures, 5);
}

Test(scheduler, an_open_breaker_holds_and_then_lets_one_probe_go)
{
    harness_t h = harness_new();
    open_breaker(&h);
    cr_assert_eq(next(&h), 0, "held");
    wait_ms(&h, 29999);
    cr_assert_eq(next(&h), 0);
    wait_ms(&h, 1);
    const pr_sched_job_t *job = pr_sched_next(h.sched, 1, h.now_ms);
    cr_assert(job && job->probe, "one probe");
    int64_t probe = job->seq;
    cr_assert_eq(next(&h), 0, "exactly one");
    finish(&h, probe, 0, PR_OUTCOME_UNREACHABLE);
    cr_assert_eq(next(&h), 0, "a failed probe opens again");
    wait_ms(&h, 30000);
    job = pr_sched_next(h.sched, 1, h.now_ms);
    cr_assert(job && job->probe);
    finish(&h, job->seq, job->attempt, PR_OUTCOME_DELIVERED);
    wait_ms(&h, 5);
    cr_assert_neq(next(&h), 0, "a good one closes");
    cr_assert_eq(next(&h), 0, "and the backlog begins with one");
    harness_end(&h);
}

Test(scheduler, a_silent_probe_has_failed)
{
    harness_t h = harness_new();
    open_breaker(&h);
    wait_ms(&h, 30000);
    const pr_sched_job_t *job = pr_sched_next(h.sched, 1, h.now_ms);
    cr_assert(job && job->probe);
    drain(&h);
    wait_ms(&h, 2000); /* its worker is gone */
    drain(&h);
    const pr_sched_action_t *moved = action_of(&h, PR_SCHED_BREAKER);
    cr_assert(moved && moved->to == PR_BREAKER_OPEN);
    cr_assert_eq(next(&h), 0);
    harness_end(&h);
}

Test(scheduler, a_job_that_nobody_names_is_tried_again)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    cr_assert_eq(next(&h), 1);
    for (int i = 0; i < 10; i++) {
        wait_ms(&h, 1000);
        pr_sched_held(h.sched, 1, 1000, 0, h.now_ms); /* a slow receiver: its worker names it */
        cr_assert_eq(next(&h), 0);
    }
    wait_ms(&h, 2200);
    const pr_sched_job_t *job = pr_sched_next(h.sched, 1, h.now_ms);
    cr_assert(job && job->attempt == 0 && job->salt == 1000,
              "the same token: one result is accepted");
    harness_end(&h);
}

Test(scheduler, a_late_outcome_of_a_lost_job_counts_if_it_is_first)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    (void)next(&h);
    wait_ms(&h, 2200); /* ready again, not sent yet */
    finish(&h, 1, 0, PR_OUTCOME_DELIVERED);
    cr_assert_eq(next(&h), 0, "it was delivered after all");
    harness_end(&h);
}

Test(scheduler, adopted_jobs_wait_to_be_named)
{
    harness_t h = harness_new();
    for (int64_t seq = 1; seq <= 3; seq++) {
        pr_sched_row_t row = row_of(seq, (uint64_t)seq, 1);
        row.adopted = true;
        cr_assert_eq(add(&h, &row), PR_SCHED_KEPT);
    }
    cr_assert_eq(next(&h), 0, "perhaps under way somewhere");
    pr_sched_held(h.sched, 2, 2000, 0, h.now_ms + 1500);
    finish(&h, 3, 0, PR_OUTCOME_DELIVERED); /* owed by a worker */
    wait_ms(&h, 2000);
    cr_assert_eq(next(&h), 1, "nobody named it");
    cr_assert_eq(next(&h), 0, "2 is under way, 3 is done");
    harness_end(&h);
}

Test(scheduler, adopted_jobs_go_at_once_when_all_workers_were_heard)
{
    harness_t h = harness_new();
    pr_sched_row_t row = row_of(1, 1, 1);
    row.adopted = true;
    cr_assert_eq(add(&h, &row), PR_SCHED_KEPT);
    pr_sched_all_heard(h.sched, h.now_ms);
    cr_assert_eq(next(&h), 1);
    harness_end(&h);
}

Test(scheduler, retry_after_pauses_the_endpoint_and_is_never_undercut)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    add_job(&h, 2, 2, 1);
    (void)next(&h);
    pr_sched_outcome(h.sched, 1, 1000, 0, PR_OUTCOME_THROTTLED, 60000, false, 0, NULL, h.now_ms);
    drain(&h);
    cr_assert_eq(action_of(&h, PR_SCHED_RESULT)->delay_ms, 60000, "5 s would be too early");
    cr_assert_eq(action_of(&h, PR_SCHED_PAUSE)->delay_ms, 60000, "kept for whoever owns it next");
    pr_sched_written(h.sched, 1, 1000, h.now_ms);
    wait_ms(&h, 59999);
    cr_assert_eq(next(&h), 0, "job 2 waits as well");
    wait_ms(&h, 1);
    cr_assert_neq(next(&h), 0);
    harness_end(&h);
}

Test(scheduler, retry_after_is_capped)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    (void)next(&h);
    pr_sched_outcome(h.sched, 1, 1000, 0, PR_OUTCOME_THROTTLED, INT64_MAX, false, 0, NULL,
                     h.now_ms);
    drain(&h);
    cr_assert_eq(action_of(&h, PR_SCHED_RESULT)->delay_ms, 86400000);
    harness_end(&h);
}

Test(scheduler, throttling_is_nothing_for_the_breaker)
{
    harness_t h = harness_new();
    for (int64_t seq = 1; seq <= 8; seq++)
        add_job(&h, seq, (uint64_t)seq, 1);
    for (int64_t seq = 1; seq <= 8; seq++) {
        cr_assert_eq(next(&h), seq);
        outcome(&h, seq, 0, PR_OUTCOME_THROTTLED);
        drain(&h);
        cr_assert(!action_of(&h, PR_SCHED_BREAKER));
    }
    harness_end(&h);
}

Test(scheduler, gone_holds_the_endpoint_without_spending_its_jobs)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    add_job(&h, 2, 2, 1);
    (void)next(&h);
    outcome(&h, 1, 0, PR_OUTCOME_GONE);
    drain(&h);
    cr_assert(action_of(&h, PR_SCHED_GONE));
    cr_assert_eq(action_of(&h, PR_SCHED_RESULT)->end, PR_END_RETRY);
    pr_sched_written(h.sched, 1, 1000, h.now_ms);
    cr_assert_eq(next(&h), 0, "held");
    pr_sched_endpoint_t row = harness_endpoint(ENDPOINT);
    row.active = false; /* the circuit-breaker wrote it down */
    pr_sched_set_endpoint(h.sched, &row, h.now_ms);
    cr_assert_eq(next(&h), 0);
    row.active = true; /* an operator enables it */
    pr_sched_set_endpoint(h.sched, &row, h.now_ms);
    wait_ms(&h, 5);
    cr_assert_neq(next(&h), 0, "released");
    cr_assert_eq(next(&h), 0, "gently");
    harness_end(&h);
}

Test(scheduler, held_jobs_die_of_age_and_others_do_not)
{
    harness_t h = harness_new();
    pr_sched_endpoint_t row = harness_endpoint(ENDPOINT);
    row.max_age_ms = 100000;
    row.active = false;
    pr_sched_set_endpoint(h.sched, &row, h.now_ms);
    add_job(&h, 1, 1, 1);
    h.now_ms += 60000;
    add_job(&h, 2, 2, 1);
    for (int i = 0; i < 10; i++)
        wait_ms(&h, 5000); /* 110 s after the first was born */
    drain(&h);
    int dead = 0;
    for (int i = 0; i < h.count; i++)
        dead +=
            h.last[i].kind == PR_SCHED_RESULT && h.last[i].end == PR_END_DEAD && !h.last[i].tried;
    cr_assert_eq(dead, 1, "the first only, without a try");
    cr_assert(action_of(&h, PR_SCHED_EXPIRE), "Postgres is asked to do the same");
    harness_end(&h);
}

Test(scheduler, our_own_proxy_charges_no_try)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    (void)next(&h);
    pr_sched_outcome(h.sched, 1, 1000, 0, PR_OUTCOME_OWN_FAULT, 0, true, 77, NULL, h.now_ms);
    drain(&h);
    const pr_sched_action_t *result = action_of(&h, PR_SCHED_RESULT);
    cr_assert(result->uncharged && result->new_salt == 77);
    pr_sched_written(h.sched, 1, 1000, h.now_ms);
    wait_ms(&h, 30000);
    const pr_sched_job_t *job = pr_sched_next(h.sched, 1, h.now_ms);
    cr_assert(job && job->attempt == 0 && job->salt == 77, "a new token, the same try");
    harness_end(&h);
}

Test(scheduler, a_job_handed_back_goes_again_at_once)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    (void)next(&h);
    outcome(&h, 1, 0, PR_OUTCOME_RETURNED);
    drain(&h);
    cr_assert(action_of(&h, PR_SCHED_STALE), "the worker is told to forget it");
    cr_assert(!action_of(&h, PR_SCHED_RESULT), "nothing is written");
    cr_assert_eq(next(&h), 1);
    harness_end(&h);
}

Test(scheduler, what_does_not_fit_gets_a_due_time_and_is_paged_in)
{
    harness_t h = harness_new();
    for (int64_t seq = 1; seq <= 8; seq++)
        add_job(&h, seq, (uint64_t)seq, 1);
    pr_sched_row_t row = row_of(9, 9, 1);
    cr_assert_eq(add(&h, &row), PR_SCHED_NO_ROOM);
    drain(&h);
    const pr_sched_action_t *date = action_of(&h, PR_SCHED_DATE);
    cr_assert(date && date->seq == 9);
    pr_sched_date_written(h.sched, 9, 9000, ENDPOINT, 1, h.now_ms);
    drain(&h);
    cr_assert(!action_of(&h, PR_SCHED_PAGE), "no room yet");
    for (int64_t seq = 1; seq <= 4; seq++) {
        cr_assert_eq(next(&h), seq);
        finish(&h, seq, 0, PR_OUTCOME_DELIVERED);
    }
    const pr_sched_action_t *page = action_of(&h, PR_SCHED_PAGE);
    cr_assert(page && page->count == 4 && page->known == 4, "half empty: the next page");
    row.dated = true;
    cr_assert_eq(add(&h, &row), PR_SCHED_KEPT);
    pr_sched_paged(h.sched, ENDPOINT, 1, false, h.now_ms);
    harness_end(&h);
}

Test(scheduler, far_retries_wait_in_postgres_only)
{
    harness_t h = harness_new();
    pr_sched_endpoint_t row = harness_endpoint(ENDPOINT);
    cr_assert_eq(pr_retry_parse("list:1h;jitter=0%", &row.retry, NULL), PR_OK);
    pr_sched_set_endpoint(h.sched, &row, h.now_ms);
    add_job(&h, 1, 1, 1);
    (void)next(&h);
    finish(&h, 1, 0, PR_OUTCOME_REFUSED);
    cr_assert_eq(h.freed, 1, "not in memory");
    wait_ms(&h, 3600000 - 120000 - 1);
    drain(&h);
    cr_assert(!action_of(&h, PR_SCHED_PAGE));
    wait_ms(&h, 1);
    drain(&h);
    cr_assert(action_of(&h, PR_SCHED_PAGE), "paged in when the horizon reaches it");
    harness_end(&h);
}

Test(scheduler, a_waiting_first_try_is_dated_so_that_low_moves_on)
{
    harness_t h = harness_new();
    for (int64_t seq = 1; seq <= 3; seq++)
        add_job(&h, seq, 1, seq);
    (void)next(&h); /* 2 and 3 wait behind it */
    int64_t low[PR_SCHED_CLASSES];
    pr_sched_low(h.sched, low);
    cr_assert_eq(low[1], 1);
    for (int i = 0; i < 31; i++) {
        wait_ms(&h, 200);
        pr_sched_held(h.sched, 1, 1000, 0, h.now_ms);
    }
    drain(&h);
    int dates = 0;
    for (int i = 0; i < h.count; i++)
        dates += h.last[i].kind == PR_SCHED_DATE;
    cr_assert_eq(dates, 2);
    pr_sched_date_written(h.sched, 2, 2000, ENDPOINT, 1, h.now_ms);
    pr_sched_date_written(h.sched, 3, 3000, ENDPOINT, 1, h.now_ms);
    finish(&h, 1, 0, PR_OUTCOME_DELIVERED);
    wait_ms(&h, 1000);
    pr_sched_low(h.sched, low);
    cr_assert_eq(low[1], INT64_MAX);
    harness_end(&h);
}

Test(scheduler, a_cancelled_retry_is_forgotten)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    (void)next(&h);
    finish(&h, 1, 0, PR_OUTCOME_REFUSED);
    pr_sched_cancel(h.sched, 1, ENDPOINT, h.now_ms);
    wait_ms(&h, 10000);
    cr_assert_eq(next(&h), 0);
    harness_end(&h);
}

Test(scheduler, endpoints_take_turns)
{
    harness_t h = harness_new();
    pr_sched_endpoint_t other = harness_endpoint(8);
    pr_sched_set_endpoint(h.sched, &other, h.now_ms);
    add_job(&h, 1, 1, 1);
    add_job(&h, 2, 2, 1);
    pr_sched_row_t row = row_of(3, 3, 1);
    row.endpoint_id = 8;
    cr_assert_eq(add(&h, &row), PR_SCHED_KEPT);
    cr_assert_eq(next(&h), 1);
    cr_assert_eq(next(&h), 3, "the neighbour's turn");
    cr_assert_eq(next(&h), 2);
    harness_end(&h);
}

Test(scheduler, a_rate_limit_lets_one_go_per_interval)
{
    harness_t h = harness_new();
    pr_sched_endpoint_t row = harness_endpoint(ENDPOINT);
    row.rate_per_s = 10;
    pr_sched_set_endpoint(h.sched, &row, h.now_ms);
    add_job(&h, 1, 1, 1);
    add_job(&h, 2, 2, 1);
    wait_ms(&h, 100);
    cr_assert_eq(next(&h), 1);
    cr_assert_eq(next(&h), 0);
    wait_ms(&h, 99);
    cr_assert_eq(next(&h), 0);
    wait_ms(&h, 1);
    cr_assert_eq(next(&h), 2);
    harness_end(&h);
}

Test(scheduler, a_shard_that_is_given_up_empties_first)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    add_job(&h, 2, 2, 1);
    cr_assert_eq(next(&h), 1);
    pr_sched_leave_shard(h.sched, ENDPOINT);
    cr_assert_eq(next(&h), 0, "nothing more is sent");
    cr_assert(!pr_sched_shard_left(h.sched, ENDPOINT));
    finish(&h, 1, 0, PR_OUTCOME_DELIVERED);
    cr_assert(!pr_sched_shard_left(h.sched, ENDPOINT), "2 has no due time yet");
    pr_sched_date_written(h.sched, 2, 2000, ENDPOINT, 1, h.now_ms);
    cr_assert(pr_sched_shard_left(h.sched, ENDPOINT));
    pr_sched_drop_shard(h.sched, ENDPOINT);
    drain(&h);
    cr_assert_eq(h.freed, 2);
    harness_end(&h);
}

Test(scheduler, a_move_that_the_database_lost_is_read_again)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    add_job(&h, 2, 2, 1);
    add_job(&h, 3, 3, 1);
    cr_assert_eq(next(&h), 1);
    cr_assert_eq(next(&h), 2);
    int64_t durable[PR_SCHED_CLASSES] = {0, 1, 0};
    /* Postgres restarted: 2 and 3 may be other jobs now */
    pr_sched_unproven(h.sched, durable, h.now_ms);
    drain(&h);
    cr_assert_eq(h.freed, 1, "3 was ready: it is read again");
    pr_sched_row_t same = row_of(2, 2, 1);
    cr_assert_eq(add(&h, &same), PR_SCHED_KNOWN, "2 is what it was, and under way");
    pr_sched_row_t other = row_of(2, 9, 1);
    other.salt = 777;
    cr_assert_eq(add(&h, &other), PR_SCHED_KEPT, "2 is another job now");
    outcome(&h, 2, 0, PR_OUTCOME_DELIVERED);
    drain(&h);
    cr_assert(action_of(&h, PR_SCHED_STALE), "the old one's outcome touches nothing");
    const pr_sched_job_t *job = pr_sched_next(h.sched, 1, h.now_ms);
    cr_assert(job && job->seq == 2 && job->salt == 777);
    harness_end(&h);
}

Test(scheduler, only_a_first_try_is_looked_for_again_among_first_tries)
{
    harness_t h = harness_new();
    for (int dated = 0; dated < 2; dated++) {
        pr_sched_row_t row = row_of(1 + dated, (uint64_t)(1 + dated), 1);
        row.dated = dated;
        cr_assert_eq(add(&h, &row), PR_SCHED_KEPT);
        cr_assert_eq(next(&h), row.seq);
        outcome(&h, row.seq, 0, PR_OUTCOME_REFUSED);
        cr_assert_eq(add(&h, &row), PR_SCHED_KNOWN,
                     "Postgres shows it while its result is written");
        cr_assert_eq(pr_sched_forget(h.sched, row.seq, row.salt, h.now_ms), !dated,
                     "the result is stale: what has a due time is paged");
    }
    harness_end(&h);
}

Test(scheduler, an_adopted_job_leads_its_order_though_another_was_ready_first)
{
    harness_t h = harness_new();
    add_job(&h, 2, 5, 2); /* new, ready */
    pr_sched_row_t row = row_of(1, 5, 1);
    row.adopted = row.dated = true; /* a retry of the former owner, paged in: perhaps under way */
    cr_assert_eq(add(&h, &row), PR_SCHED_KEPT);
    cr_assert_eq(next(&h), 0, "never two of one order");
    finish(&h, 1, 0, PR_OUTCOME_DELIVERED);
    cr_assert_eq(next(&h), 2);
    harness_end(&h);
}

Test(scheduler, of_two_that_were_sent_by_two_owners_both_end_before_the_next)
{
    harness_t h = harness_new();
    for (int64_t seq = 1; seq <= 3; seq += 2) {
        pr_sched_row_t row = row_of(seq, 5, seq);
        row.adopted = true;
        cr_assert_eq(add(&h, &row), PR_SCHED_KEPT);
        pr_sched_held(h.sched, seq, (uint64_t)seq * 1000, 0, h.now_ms);
    }
    add_job(&h, 2, 5, 2);
    finish(&h, 1, 0, PR_OUTCOME_DELIVERED);
    cr_assert_eq(next(&h), 0, "3 is still under way");
    finish(&h, 3, 0, PR_OUTCOME_DELIVERED);
    cr_assert_eq(next(&h), 2);
    harness_end(&h);
}

Test(scheduler, a_job_cancelled_while_under_way_is_not_sent_again)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    add_job(&h, 2, 2, 1);
    cr_assert_eq(next(&h), 1);
    cr_assert_eq(next(&h), 2);
    pr_sched_cancel(h.sched, 1, ENDPOINT, h.now_ms);
    pr_sched_cancel(h.sched, 2, ENDPOINT, h.now_ms);
    outcome(&h, 2, 0, PR_OUTCOME_RETURNED);
    wait_ms(&h, 2200); /* nobody names 1 */
    cr_assert_eq(next(&h), 0);
    drain(&h);
    cr_assert_eq(h.freed, 2);
    harness_end(&h);
}

/* Fills the memory of (ENDPOINT, class 1) with jobs 1 to 8; job 9 waits in Postgres. */
static void fill_up(harness_t *h)
{
    for (int64_t seq = 1; seq <= 8; seq++)
        add_job(h, seq, (uint64_t)seq, 1);
    pr_sched_row_t row = row_of(9, 9, 1);
    cr_assert_eq(add(h, &row), PR_SCHED_NO_ROOM);
    pr_sched_date_written(h->sched, 9, 9000, ENDPOINT, 1, h->now_ms);
    drain(h);
}

Test(scheduler, the_rest_is_paged_in_when_all_in_memory_is_cancelled)
{
    harness_t h = harness_new();
    fill_up(&h);
    for (int64_t seq = 1; seq <= 8; seq++)
        pr_sched_cancel(h.sched, seq, ENDPOINT, h.now_ms);
    drain(&h);
    cr_assert(action_of(&h, PR_SCHED_PAGE), "else nobody would ever look for 9");
    harness_end(&h);
}

Test(scheduler, a_job_taken_out_lets_the_next_of_its_order_go)
{
    harness_t h = harness_new();
    pr_sched_endpoint_t row = harness_endpoint(ENDPOINT);
    row.concurrency = 1;
    pr_sched_set_endpoint(h.sched, &row, h.now_ms);
    add_job(&h, 1, 5, 1);
    add_job(&h, 2, 5, 2);
    cr_assert_eq(next(&h), 1);
    cr_assert_eq(next(&h), 0);
    outcome(&h, 1, 0, PR_OUTCOME_RETURNED);
    cr_assert_eq(next(&h), 1);
    (void)pr_sched_forget(h.sched, 1, 1000, h.now_ms);
    cr_assert_eq(next(&h), 2);
    harness_end(&h);
}

Test(scheduler, a_delivery_whose_job_is_not_in_memory_is_written)
{
    harness_t h = harness_new();
    fill_up(&h);
    pr_sched_outcome(h.sched, 9, 9000, 0, PR_OUTCOME_DELIVERED, 0, false, 0, &h, h.now_ms);
    drain(&h);
    const pr_sched_action_t *result = action_of(&h, PR_SCHED_RESULT);
    cr_assert(result && result->stray && result->seq == 9 && result->end == PR_END_DELIVERED);
    cr_assert_eq(result->outcome, &h);
    for (int64_t seq = 1; seq <= 4; seq++) {
        cr_assert_eq(next(&h), seq);
        finish(&h, seq, 0, PR_OUTCOME_DELIVERED);
    }
    pr_sched_row_t row = row_of(9, 9, 1);
    row.dated = true;
    cr_assert_eq(add(&h, &row), PR_SCHED_KEPT, "a page was read before the commit");
    pr_sched_stray_written(h.sched, 9, 9000, 0, h.now_ms);
    cr_assert_null(pr_sched_job(h.sched, 9), "it has ended");
    harness_end(&h);
}

Test(scheduler, silence_counts_only_while_we_can_hear)
{
    harness_t h = harness_new();
    add_job(&h, 1, 1, 1);
    cr_assert_eq(next(&h), 1);
    for (int i = 0; i < 50; i++) { /* every broker is away for 10 s */
        h.now_ms += 200;
        pr_sched_deaf(h.sched, h.now_ms);
        pr_sched_tick(h.sched, h.now_ms);
        cr_assert_eq(next(&h), 0);
    }
    wait_ms(&h, 1800);
    cr_assert_eq(next(&h), 0, "its worker has 2 s from now on");
    wait_ms(&h, 400);
    cr_assert_eq(next(&h), 1);
    harness_end(&h);
}

Test(scheduler, often_woken_endpoints_do_not_fill_the_timers)
{
    harness_t h = harness_new();
    pr_sched_endpoint_t row = harness_endpoint(ENDPOINT);
    row.rate_per_s = 10;
    pr_sched_set_endpoint(h.sched, &row, h.now_ms);
    pr_sched_dated(h.sched, ENDPOINT, 0, 86400000, h.now_ms); /* something to do tomorrow */
    for (int64_t seq = 1; seq <= 20000; seq++) {              /* and each 100 ms */
        add_job(&h, seq, (uint64_t)seq, 1);
        wait_ms(&h, 100);
        cr_assert_eq(next(&h), seq);
        add_job(&h, seq + 1, (uint64_t)seq + 1, 1);
        cr_assert_eq(next(&h), 0);
        (void)pr_sched_forget(h.sched, seq + 1, (uint64_t)(seq + 1) * 1000, h.now_ms);
        finish(&h, seq, 0, PR_OUTCOME_DELIVERED);
    }
    cr_assert_lt(pr_timerq_count(h.sched->endpoint_timers), 2048);
    harness_end(&h);
}

Test(scheduler, shares_shrink_when_a_class_fills)
{
    pr_sched_config_t config = harness_config();
    config.keep_jobs = 80;
    config.class_jobs = 40;
    harness_t h = {.now_ms = 1000000, .sched = pr_sched_new(&config, 42)};
    pr_sched_endpoint_t slow = harness_endpoint(ENDPOINT), other = harness_endpoint(8);
    pr_sched_set_endpoint(h.sched, &slow, h.now_ms);
    pr_sched_set_endpoint(h.sched, &other, h.now_ms);
    for (int64_t seq = 1; seq <= 21; seq++)
        add_job(&h, seq, (uint64_t)seq, 1);
    pr_sched_row_t more = row_of(22, 22, 1);
    cr_assert_eq(add(&h, &more), PR_SCHED_NO_ROOM, "half of the class is full: ten each");
    pr_sched_row_t healthy = row_of(23, 23, 1);
    healthy.endpoint_id = 8;
    cr_assert_eq(add(&h, &healthy), PR_SCHED_KEPT, "its neighbour has room");
    harness_end(&h);
}
