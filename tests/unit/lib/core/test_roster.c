/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/roster.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(roster, .timeout = 300);

enum { NOTIFY = 1 << 1 };

static pr_bytes_t route(const char *name)
{
    return pr_bytes(name, strlen(name));
}

static pr_rc_t greet(pr_roster_t *roster, const char *name, uint32_t greeting, int64_t now)
{
    pr_roster_hello_t hello = {
        .route = route(name), .id = name, .kinds = NOTIFY, .greeting = greeting};
    return pr_roster_worker_hello(roster, &hello, now, NULL);
}

static void credit(pr_roster_t *roster, const char *name, uint64_t jobs)
{
    uint64_t total[PR_CLASSES] = {jobs, jobs, jobs};
    cr_assert_eq(pr_roster_worker_credit(roster, route(name), total, 0), PR_OK);
}

static void session(pr_roster_t *roster, const char *name, uint8_t first, uint8_t last)
{
    uint8_t id[PR_SESSION_BYTES] = {0};
    memcpy(id, name, strlen(name));
    uint8_t shards[PR_SHARDS / 8] = {0};
    for (unsigned shard = first; shard <= last; shard++) {
        shards[shard / 8] = (uint8_t)(shards[shard / 8] | 1u << (shard % 8));
    }
    pr_roster_session_t hello = {
        .route = route(name), .session = id, .shards = shards, .address = "", .greeting = 1};
    cr_assert_eq(pr_roster_scheduler_hello(roster, &hello, 0, NULL), PR_OK);
}

static uint64_t open_of(pr_roster_t *roster, const char *name)
{
    return pr_roster_open(pr_roster_scheduler_by_route(roster, route(name)), 1);
}

static void demand(pr_roster_t *roster, const char *name, uint32_t want, uint64_t returned)
{
    pr_roster_demand_t said = {.want = {0, want, 0}, .returned = {0, returned, 0}};
    cr_assert_eq(pr_roster_demand(roster, route(name), &said, 0), PR_OK);
    pr_roster_share(roster, true);
}

static const char *owner(pr_roster_t *roster, uint32_t shard)
{
    const pr_roster_scheduler_t *scheduler = pr_roster_owner(roster, shard);
    return scheduler ? (const char *)scheduler->session : "-";
}

Test(roster, the_worker_with_most_room_is_chosen)
{
    pr_roster_t *roster = pr_roster_new(2000);
    cr_assert_null(pr_roster_choose(roster, 0, NOTIFY));
    cr_assert_eq(greet(roster, "a", 1, 0), PR_OK);
    cr_assert_eq(greet(roster, "b", 1, 0), PR_OK);
    cr_assert_null(pr_roster_choose(roster, 0, NOTIFY), "no credit yet");
    credit(roster, "a", 3);
    credit(roster, "b", 5);
    const pr_roster_worker_t *worker = pr_roster_choose(roster, 0, NOTIFY);
    cr_assert_str_eq(worker->id, "b");
    pr_roster_sent(roster, worker, 0, 5);
    cr_assert_str_eq(pr_roster_choose(roster, 0, NOTIFY)->id, "a");
    cr_assert_null(pr_roster_choose(roster, 0, NOTIFY | 1 << 2), "nobody does both kinds");
    pr_roster_unsent(roster, route("b"), 0, 5);
    cr_assert_eq(pr_roster_room(roster, 0), 8);
    credit(roster, "b", 2);
    cr_assert_eq(pr_roster_room(roster, 0), 8, "totals never shrink");
    pr_roster_destroy(&roster);
    pr_roster_destroy(&roster);
}

Test(roster, greeting_anew_starts_at_zero_and_again_does_not)
{
    pr_roster_t *roster = pr_roster_new(2000);
    cr_assert_eq(greet(roster, "a", 1, 0), PR_OK);
    credit(roster, "a", 9);
    cr_assert_eq(greet(roster, "a", 1, 0), PR_OK);
    cr_assert_eq(pr_roster_room(roster, 0), 9, "the same greeting");
    cr_assert_eq(greet(roster, "a", 2, 0), PR_OK);
    cr_assert_eq(pr_roster_room(roster, 0), 0, "a new one");
    pr_roster_hello_t again = {
        .route = route("z"), .id = "z", .kinds = NOTIFY, .greeting = 1, .again = true};
    cr_assert_eq(pr_roster_worker_hello(roster, &again, 0, NULL), PR_LOST);
    cr_assert_eq(pr_roster_workers(roster), 1);
    pr_roster_destroy(&roster);
}

Test(roster, a_worker_on_a_new_connection_replaces_its_old_self)
{
    pr_roster_t *roster = pr_roster_new(2000);
    cr_assert_eq(greet(roster, "a", 1, 0), PR_OK);
    credit(roster, "a", 9);
    pr_roster_hello_t hello = {.route = route("a2"), .id = "a", .kinds = NOTIFY, .greeting = 2};
    bool fresh = false;
    cr_assert_eq(pr_roster_worker_hello(roster, &hello, 0, &fresh), PR_OK);
    cr_assert(fresh);
    cr_assert_eq(pr_roster_workers(roster), 1);
    cr_assert_eq(pr_roster_room(roster, 0), 0);
    cr_assert_eq(pr_roster_worker_heard(roster, route("a"), 0), PR_LOST);
    pr_roster_destroy(&roster);
}

Test(roster, a_draining_worker_has_no_room)
{
    pr_roster_t *roster = pr_roster_new(2000);
    cr_assert_eq(greet(roster, "a", 1, 0), PR_OK);
    credit(roster, "a", 9);
    pr_roster_hello_t hello = {.route = route("a"),
                               .id = "a",
                               .kinds = NOTIFY,
                               .greeting = 1,
                               .again = true,
                               .draining = true};
    cr_assert_eq(pr_roster_worker_hello(roster, &hello, 0, NULL), PR_OK);
    cr_assert_null(pr_roster_choose(roster, 0, NOTIFY));
    pr_roster_destroy(&roster);
}

Test(roster, the_silent_are_forgotten_one_by_one)
{
    pr_roster_t *roster = pr_roster_new(2000);
    cr_assert_eq(greet(roster, "a", 1, 0), PR_OK);
    cr_assert_eq(greet(roster, "b", 1, 1000), PR_OK);
    session(roster, "s", 0, 255);
    pr_roster_gone_t gone;
    cr_assert_not(pr_roster_expire(roster, 1999, &gone));
    cr_assert(pr_roster_expire(roster, 2000, &gone));
    cr_assert(gone.worker && strcmp(gone.id, "a") == 0);
    cr_assert(pr_roster_expire(roster, 2000, &gone));
    cr_assert(!gone.worker && strncmp(gone.id, "73000000", 8) == 0);
    cr_assert_not(pr_roster_expire(roster, 2000, &gone));
    cr_assert_null(pr_roster_owner(roster, 0));
    pr_roster_destroy(&roster);
}

Test(roster, bounds_are_refused)
{
    pr_roster_t *roster = pr_roster_new(2000);
    char name[80];
    memset(name, 'n', sizeof name);
    name[65] = '\0';
    cr_assert_eq(greet(roster, name, 1, 0), PR_BAD);
    cr_assert_eq(greet(roster, "", 1, 0), PR_BAD);
    for (unsigned i = 0; i < PR_ROSTER_WORKERS_MAX; i++) {
        PR_CLEANUP_FREE char *id = pr_asprintf("w%u", i);
        cr_assert_eq(greet(roster, id, 1, 0), PR_OK);
    }
    cr_assert_eq(greet(roster, "one-too-many", 1, 0), PR_BAD);
    cr_assert_eq(greet(roster, "w7", 2, 0), PR_OK, "those inside may greet");
    pr_roster_destroy(&roster);
}

Test(roster, shards_follow_the_newest_claim)
{
    pr_roster_t *roster = pr_roster_new(2000);
    session(roster, "one", 0, 255);
    session(roster, "two", 128, 255);
    cr_assert_str_eq(owner(roster, 0), "one");
    cr_assert_str_eq(owner(roster, 200), "two");
    session(roster, "one", 0, 255);
    cr_assert_str_eq(owner(roster, 200), "two", "a repeated claim takes nothing back");
    session(roster, "two", 128, 128);
    cr_assert_str_eq(owner(roster, 200), "one", "given up: back to who claims it");
    pr_roster_session_ended(roster, (const uint8_t[PR_SESSION_BYTES]){'o', 'n', 'e'});
    cr_assert_str_eq(owner(roster, 0), "-");
    cr_assert_str_eq(owner(roster, 128), "two", "indexes have moved");
    pr_roster_destroy(&roster);
}

Test(roster, one_scheduler_holds_all_the_room)
{
    pr_roster_t *roster = pr_roster_new(2000);
    cr_assert_eq(greet(roster, "a", 1, 0), PR_OK);
    credit(roster, "a", 35);
    session(roster, "one", 0, 255);
    pr_roster_share(roster, true);
    cr_assert_eq(open_of(roster, "one"), 35);
    cr_assert(pr_roster_scheduler_at(roster, 0)->unsaid);
    pr_roster_said(roster, 0, true);
    pr_roster_share(roster, true);
    cr_assert_not(pr_roster_scheduler_at(roster, 0)->unsaid, "nothing changed, nothing to say");
    cr_assert_eq(pr_roster_spend(roster, route("one"), 1, 35, 0), PR_OK);
    cr_assert_eq(pr_roster_spend(roster, route("one"), 1, 1, 0), PR_BAD, "overdrawn");
    cr_assert_eq(pr_roster_spend(roster, route("two"), 1, 1, 0), PR_LOST);
    pr_roster_destroy(&roster);
}

Test(roster, demand_decides_between_several)
{
    pr_roster_t *roster = pr_roster_new(2000);
    cr_assert_eq(greet(roster, "a", 1, 0), PR_OK);
    credit(roster, "a", 30);
    session(roster, "one", 0, 127);
    session(roster, "two", 128, 255);
    pr_roster_share(roster, true);
    cr_assert_eq(open_of(roster, "one"), 15, "nobody waits: even standing shares");
    cr_assert_eq(open_of(roster, "two"), 15);
    cr_assert_not(pr_roster_scheduler_at(roster, 1)->contended);

    demand(roster, "one", 10, 0);
    cr_assert_eq(open_of(roster, "one"), 15, "nothing is free");
    cr_assert(pr_roster_scheduler_at(roster, 1)->contended, "two is asked to return");
    cr_assert_not(pr_roster_scheduler_at(roster, 0)->contended);
    demand(roster, "two", 0, 15);
    cr_assert_eq(open_of(roster, "one"), 25, "what came back, up to the demand");
    cr_assert_eq(open_of(roster, "two"), 5, "the rest tops up");
    cr_assert_not(pr_roster_scheduler_at(roster, 1)->contended);
    pr_roster_destroy(&roster);
}

Test(roster, two_hungry_ones_get_the_same)
{
    pr_roster_t *roster = pr_roster_new(2000);
    cr_assert_eq(greet(roster, "a", 1, 0), PR_OK);
    session(roster, "one", 0, 127);
    session(roster, "two", 128, 255);
    demand(roster, "one", 1000, 0);
    demand(roster, "two", 1000, 0);
    for (uint64_t total = 1; total <= 1000; total++) {
        credit(roster, "a", total);
        pr_roster_share(roster, true);
    }
    cr_assert_eq(open_of(roster, "one") + open_of(roster, "two"), 1000);
    cr_assert_eq(open_of(roster, "one"), 500, "by turns, one slot at a time");
    pr_roster_destroy(&roster);
}

Test(roster, a_credit_of_2_to_the_64_does_no_harm)
{
    pr_roster_t *roster = pr_roster_new(2000);
    cr_assert_eq(greet(roster, "a", 1, 0), PR_OK);
    cr_assert_eq(greet(roster, "b", 1, 0), PR_OK);
    credit(roster, "a", UINT64_MAX);
    credit(roster, "b", UINT64_MAX);
    session(roster, "one", 0, 255);
    pr_roster_share(roster, true);
    cr_assert_eq(pr_roster_room(roster, 1), UINT64_MAX);
    cr_assert_eq(open_of(roster, "one"), 1 << 20);
    demand(roster, "one", UINT32_MAX, UINT64_MAX);
    cr_assert_leq(open_of(roster, "one"), 1 << 20);
    pr_roster_destroy(&roster);
}
