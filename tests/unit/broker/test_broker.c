/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/broker.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

TestSuite(broker, .timeout = 300);

enum { NOTIFY = 1 << 1 };

static pr_broker_t *broker;

static pr_bytes_t route(const char *name)
{
    return pr_bytes(name, strlen(name));
}

static bool goes_to(const pr_broker_action_t *action, const char *name)
{
    return pr_bytes_equal(pr_bytes(action->route.bytes, action->route.len), route(name));
}

static void worker(const char *name, uint64_t room)
{
    pr_roster_hello_t hello = {.route = route(name), .id = name, .kinds = NOTIFY, .greeting = 1};
    pr_broker_worker_hello(broker, &hello, 0);
    const uint64_t total[PR_CLASSES] = {room, room, room};
    pr_broker_worker_credit(broker, route(name), total, 0);
}

static void scheduler(const char *name, uint8_t shards)
{
    uint8_t session[PR_SESSION_BYTES] = {0};
    memcpy(session, name, strlen(name));
    uint8_t bitmap[PR_SHARDS / 8];
    memset(bitmap, shards, sizeof bitmap);
    pr_roster_session_t hello = {
        .route = route(name), .session = session, .shards = bitmap, .address = "", .greeting = 7};
    pr_broker_scheduler_hello(broker, &hello, NULL, 0, 0);
}

static void setup(void)
{
    broker = pr_broker_new();
}

static void teardown(void)
{
    pr_broker_destroy(&broker);
    pr_broker_destroy(&broker);
}

Test(broker, a_greeting_is_answered_and_passed_on, .init = setup, .fini = teardown)
{
    scheduler("s", 0xff);
    cr_assert_eq(broker->actions_count, 2);
    cr_assert_eq(broker->actions[0].verb, PR_BROKER_HELLO);
    cr_assert(goes_to(&broker->actions[0], "s"));
    cr_assert_eq(broker->actions[0].greeting, 7);
    cr_assert(broker->actions[0].fresh && !broker->actions[0].greet_anew);
    cr_assert_eq(broker->actions[1].verb, PR_BROKER_TO_WORKERS);
}

Test(broker, a_batch_goes_whole_where_it_fits, .init = setup, .fini = teardown)
{
    worker("small", 3);
    worker("large", 9);
    scheduler("s", 0xff);
    pr_broker_turn(broker);
    pr_broker_jobs(broker, route("s"), 1, NOTIFY, 8, 0);
    cr_assert_eq(broker->actions_count, 1);
    cr_assert(goes_to(&broker->actions[0], "large"));
    cr_assert(broker->actions[0].whole);
    cr_assert_eq(broker->actions[0].items, 0xff);
}

Test(broker, a_batch_is_split_only_when_nobody_has_room, .init = setup, .fini = teardown)
{
    worker("small", 3);
    worker("large", 5);
    scheduler("s", 0xff);
    pr_broker_turn(broker);
    pr_broker_jobs(broker, route("s"), 1, NOTIFY, 7, 0);
    cr_assert_eq(broker->actions_count, 2);
    cr_assert(goes_to(&broker->actions[0], "large") && goes_to(&broker->actions[1], "small"));
    cr_assert_eq(broker->actions[0].items, 0x1f);
    cr_assert_eq(broker->actions[1].items, 0x60);
    cr_assert_eq(broker->counts.batches_split, 1);
}

Test(broker, a_refused_batch_goes_to_the_next_and_the_credit_is_right, .init = setup,
     .fini = teardown)
{
    worker("a", 9);
    worker("b", 5);
    scheduler("s", 0xff);
    pr_broker_turn(broker);
    pr_broker_jobs(broker, route("s"), 1, NOTIFY, 5, 0);
    cr_assert(goes_to(&broker->actions[0], "a"));
    pr_broker_refused(broker, &broker->actions[0], PR_LOST);
    cr_assert_eq(broker->actions_count, 2);
    cr_assert(goes_to(&broker->actions[1], "b"));
    cr_assert(broker->actions[1].whole);
    pr_broker_refused(broker, &broker->actions[1], PR_AGAIN);
    cr_assert_eq(broker->actions_count, 2, "nobody is left");
    cr_assert_eq(broker->counts.undelivered, 5);
    cr_assert_eq(broker->counts.jobs, 0);
    cr_assert_eq(pr_roster_workers(broker->roster), 0, "both must greet anew");
}

Test(broker, a_full_list_of_refusals_ends, .init = setup, .fini = teardown)
{
    static char names[600][8];
    for (int i = 0; i < 600; i++) {
        snprintf(names[i], sizeof names[i], "w%d", i);
        worker(names[i], 1);
    }
    scheduler("s", 0xff);
    pr_broker_turn(broker);
    pr_broker_jobs(broker, route("s"), 0, NOTIFY, 64, 0);
    for (size_t i = 0; i < broker->actions_count; i++) {
        pr_broker_refused(broker, &broker->actions[i], PR_LOST);
    }
    cr_assert_eq(broker->actions_count, PR_BROKER_ACTIONS_MAX);
    cr_assert_eq(broker->counts.undelivered, 64);
    cr_assert_eq(broker->counts.jobs, 0);
}

Test(broker, jobs_beyond_the_grant_or_from_strangers_go_nowhere, .init = setup, .fini = teardown)
{
    worker("a", 9);
    scheduler("s", 0xff);
    pr_broker_turn(broker);
    cr_assert_eq(broker->actions[0].verb, PR_BROKER_GRANT);
    cr_assert_eq(broker->actions[0].total[2], 9);
    pr_broker_jobs(broker, route("s"), 2, NOTIFY, 10, 0);
    cr_assert_eq(broker->actions_count, 0);
    cr_assert_eq(broker->counts.overdrawn, 10);
    pr_broker_jobs(broker, route("who"), 2, NOTIFY, 1, 0);
    cr_assert_eq(broker->actions_count, 1);
    cr_assert(broker->actions[0].greet_anew && goes_to(&broker->actions[0], "who"));
}

Test(broker, outcomes_are_sorted_by_owner, .init = setup, .fini = teardown)
{
    scheduler("odd", 0xaa); /* shards 1, 3, 5, 7 of every eight */
    scheduler("even", 0x55);
    worker("a", 9);
    const uint32_t shards[] = {1, 2, 3, 4, 255};
    pr_broker_outcomes(broker, route("a"), shards, 5, 0);
    cr_assert_eq(broker->actions_count, 2);
    cr_assert(goes_to(&broker->actions[0], "odd") && goes_to(&broker->actions[1], "even"));
    cr_assert_eq(broker->actions[0].items, 0x15);
    cr_assert_eq(broker->actions[1].items, 0x0a);
    pr_broker_outcomes(broker, route("a"), shards, 1, 0);
    cr_assert(broker->actions[0].whole);
}

Test(broker, a_strangers_outcomes_are_taken_all_the_same, .init = setup, .fini = teardown)
{
    scheduler("s", 0xff);
    pr_broker_outcomes(broker, route("stranger"), (const uint32_t[]){9}, 1, 0);
    cr_assert_eq(broker->actions_count, 2);
    cr_assert(broker->actions[0].greet_anew);
    cr_assert_eq(broker->actions[1].verb, PR_BROKER_OUTCOMES);
}

Test(broker, outcomes_without_an_owner_are_counted, .init = setup, .fini = teardown)
{
    worker("a", 9);
    pr_broker_outcomes(broker, route("a"), (const uint32_t[]){9, 10}, 2, 0);
    cr_assert_eq(broker->actions_count, 0);
    cr_assert_eq(broker->counts.ownerless, 2);
}

Test(broker, a_replaced_session_is_forgotten, .init = setup, .fini = teardown)
{
    scheduler("old", 0xff);
    const uint8_t old[PR_SESSION_BYTES] = {'o', 'l', 'd'};
    const uint8_t *replaces[] = {old};
    const uint8_t session[PR_SESSION_BYTES] = {'n'};
    uint8_t none[PR_SHARDS / 8] = {0};
    pr_roster_session_t hello = {
        .route = route("new"), .session = session, .shards = none, .address = "", .greeting = 1};
    pr_broker_scheduler_hello(broker, &hello, replaces, 1, 0);
    cr_assert_eq(pr_roster_schedulers(broker->roster), 1);
    cr_assert_null(pr_roster_owner(broker->roster, 0));
}

Test(broker, grants_are_said_once_and_again_on_request, .init = setup, .fini = teardown)
{
    worker("a", 9);
    scheduler("s", 0xff);
    pr_broker_turn(broker);
    cr_assert_eq(broker->actions_count, 1);
    pr_broker_turn(broker);
    cr_assert_eq(broker->actions_count, 0);
    pr_broker_repeat_grants(broker);
    pr_broker_turn(broker);
    cr_assert_eq(broker->actions_count, 1);
}
