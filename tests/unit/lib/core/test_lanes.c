/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lanes.h"

#include <criterion/criterion.h>

TestSuite(lanes, .timeout = 300);

static const uint32_t SHARES[PR_CLASSES] = {20, 10, 5};

static pr_lanes_t fresh(void)
{
    pr_lanes_t lanes;
    pr_lanes_init(&lanes, 35, SHARES, 1000);
    return lanes;
}

static void take(pr_lanes_t *lanes, uint32_t cls, int jobs)
{
    for (int i = 0; i < jobs; i++) {
        pr_lanes_take(lanes, cls);
    }
}

static void expect_rooms(const pr_lanes_t *lanes, uint32_t p0, uint32_t p1, uint32_t p2,
                         const char *why)
{
    cr_expect_eq(pr_lanes_room(lanes, 0), p0, "%s: P0 %u", why, pr_lanes_room(lanes, 0));
    cr_expect_eq(pr_lanes_room(lanes, 1), p1, "%s: P1 %u", why, pr_lanes_room(lanes, 1));
    cr_expect_eq(pr_lanes_room(lanes, 2), p2, "%s: P2 %u", why, pr_lanes_room(lanes, 2));
}

Test(lanes, slots_are_divided_by_share_and_all_used)
{
    for (uint32_t slots = 3; slots <= 1000; slots++) {
        pr_lanes_t lanes;
        pr_lanes_init(&lanes, slots, SHARES, 0);
        cr_assert_eq(lanes.own[0] + lanes.own[1] + lanes.own[2], slots);
        cr_assert(lanes.own[0] >= lanes.own[1] && lanes.own[1] >= lanes.own[2]);
        cr_assert_geq(lanes.own[2], 1);
    }
}

Test(lanes, classes_borrow_downwards_only)
{
    pr_lanes_t lanes = fresh();
    uint32_t own0 = lanes.own[0], own1 = lanes.own[1], own2 = lanes.own[2];
    expect_rooms(&lanes, 35, own1 + own2, own2, "idle");
    take(&lanes, 2, (int)own2);
    expect_rooms(&lanes, own0 + own1, own1, 0, "P2 full");
    take(&lanes, 1, (int)own1);
    expect_rooms(&lanes, own0, 0, 0, "P1 and P2 full: P0 has its own");
}

Test(lanes, a_flood_of_p0_leaves_the_others_their_own)
{
    pr_lanes_t lanes = fresh();
    take(&lanes, 0, 35);
    expect_rooms(&lanes, 0, lanes.own[1], lanes.own[2], "P0 has borrowed all");
}

Test(lanes, a_slot_is_lent_once)
{
    pr_lanes_t lanes = fresh();
    uint32_t own2 = lanes.own[2];
    take(&lanes, 1, (int)(lanes.own[1] + own2)); /* P1 sits in all of P2's slots */
    cr_expect_eq(pr_lanes_room(&lanes, 0), lanes.own[0]);
    pr_lanes_t other = fresh();
    take(&other, 0, (int)(other.own[0] + other.own[1] + 1)); /* P0 sits in one of P2's */
    cr_expect_eq(pr_lanes_room(&other, 1), other.own[1] + own2 - 1);
}

Test(lanes, a_slot_is_lent_once_it_has_been_free_for_a_while)
{
    pr_lanes_t lanes = fresh();
    uint32_t own0 = lanes.own[0], own1 = lanes.own[1], own2 = lanes.own[2];
    take(&lanes, 2, (int)own2);
    pr_lanes_finish(&lanes, 2, false);
    expect_rooms(&lanes, own0 + own1, own1, 1, "its next job is on its way");
    pr_lanes_cool(&lanes);
    expect_rooms(&lanes, own0 + own1, own1, 1, "so it is a moment later");
    pr_lanes_cool(&lanes);
    expect_rooms(&lanes, own0 + own1 + 1, own1 + 1, 1, "none came");
    pr_lanes_take(&lanes, 2);
    expect_rooms(&lanes, own0 + own1, own1, 0, "it is back at once");
}

Test(lanes, slow_jobs_free_their_slots_up_to_the_bound)
{
    pr_lanes_t lanes;
    pr_lanes_init(&lanes, 35, SHARES, 2);
    take(&lanes, 2, 3);
    uint32_t room = pr_lanes_room(&lanes, 2);
    cr_assert(pr_lanes_slow(&lanes, 2) && pr_lanes_slow(&lanes, 2));
    cr_assert_eq(pr_lanes_room(&lanes, 2), room + 2);
    cr_assert_not(pr_lanes_slow(&lanes, 2), "bounded");
    cr_assert_eq(pr_lanes_room(&lanes, 2), room + 2);
    pr_lanes_finish(&lanes, 2, true);
    cr_assert(pr_lanes_slow(&lanes, 2), "a slow one ended");
    pr_lanes_forget(&lanes);
}

Test(lanes, too_many_owed_outcomes_stop_all_credit)
{
    pr_lanes_t lanes = fresh();
    for (int i = 0; i < PR_LANES_KEEP_MAX - 3 * 35; i++) {
        cr_assert_gt(pr_lanes_room(&lanes, 0), 0, "after %d", i);
        pr_lanes_take(&lanes, 0);
        pr_lanes_finish(&lanes, 0, false);
    }
    expect_rooms(&lanes, 0, 0, 0, "full of owed outcomes");
    pr_lanes_forget(&lanes);
    cr_assert_eq(pr_lanes_room(&lanes, 0), 1);
}

Test(lanes, room_is_divided_among_live_peers)
{
    pr_lanes_t lanes = fresh();
    pr_lane_peer_t a = {0}, b = {0}, c = {0};
    pr_lane_peer_t *peers[] = {&a, &b, &c};
    bool changed[3];
    cr_assert_not(pr_lanes_offer(&lanes, peers, 3, true, changed), "nobody lives");
    uint32_t number = pr_lane_peer_greet(&a);
    cr_assert_not(pr_lane_peer_answered(&a, number + 1), "an answer to another greeting");
    cr_assert(pr_lane_peer_answered(&a, number));
    cr_assert(pr_lane_peer_answered(&b, pr_lane_peer_greet(&b)));
    cr_assert(pr_lanes_offer(&lanes, peers, 3, true, changed));
    cr_assert(changed[0] && changed[1] && !changed[2]);
    cr_assert_eq(a.total[0] + b.total[0], 35);
    cr_assert(a.total[0] == 17 || a.total[0] == 18);
    cr_assert_eq(a.total[2] + b.total[2], lanes.own[2]);
    cr_assert_not(pr_lanes_offer(&lanes, peers, 3, true, changed), "nothing new to say");
}

Test(lanes, a_lost_peers_credit_goes_to_the_others)
{
    pr_lanes_t lanes = fresh();
    pr_lane_peer_t a = {0}, b = {0};
    pr_lane_peer_t *peers[] = {&a, &b};
    bool changed[2];
    (void)pr_lane_peer_answered(&a, pr_lane_peer_greet(&a));
    (void)pr_lane_peer_answered(&b, pr_lane_peer_greet(&b));
    (void)pr_lanes_offer(&lanes, peers, 2, true, changed);
    pr_lane_peer_lost(&a);
    cr_assert(pr_lanes_offer(&lanes, peers, 2, true, changed));
    cr_assert_eq(b.total[0], 35);
    cr_assert_eq(pr_lane_peer_greet(&a), 2, "numbers go on");
}

Test(lanes, jobs_before_the_answer_to_a_new_greeting_do_not_count)
{
    pr_lane_peer_t peer = {0};
    (void)pr_lane_peer_answered(&peer, pr_lane_peer_greet(&peer));
    pr_lane_peer_received(&peer, 0, 2);
    cr_assert_eq(peer.received[0], 2);
    uint32_t number = pr_lane_peer_greet(&peer);
    pr_lane_peer_received(&peer, 0, 2); /* sent before the peer saw the greeting */
    cr_assert(pr_lane_peer_answered(&peer, number));
    cr_assert_eq(peer.received[0], 0);
}

Test(lanes, what_is_hardly_worth_a_message_waits_for_company)
{
    pr_lanes_t lanes = fresh();
    pr_lane_peer_t a = {0};
    pr_lane_peer_t *peers[] = {&a};
    bool changed[1];
    (void)pr_lane_peer_answered(&a, pr_lane_peer_greet(&a));
    cr_assert(pr_lanes_offer(&lanes, peers, 1, false, changed));
    pr_lane_peer_received(&a, 0, 4); /* they are over at once: their slots are free again */
    cr_assert_not(pr_lanes_offer(&lanes, peers, 1, false, changed), "4 of 35");
    pr_lane_peer_received(&a, 0, 1);
    cr_assert(pr_lanes_offer(&lanes, peers, 1, false, changed), "5 of 35");
    cr_assert_eq(a.total[0], 35 + 5);
    pr_lane_peer_received(&a, 0, 1);
    cr_assert(pr_lanes_offer(&lanes, peers, 1, true, changed), "all is asked for");
    cr_assert_eq(a.total[0], 35 + 6);
}

Test(lanes, a_slot_is_offered_at_once_when_no_other_is_open)
{
    pr_lanes_t lanes = fresh();
    pr_lane_peer_t a = {0};
    pr_lane_peer_t *peers[] = {&a};
    bool changed[1];
    (void)pr_lane_peer_answered(&a, pr_lane_peer_greet(&a));
    cr_assert(pr_lanes_offer(&lanes, peers, 1, false, changed));
    take(&lanes, 0, 35);
    pr_lane_peer_received(&a, 0, 35);
    cr_assert_not(pr_lanes_offer(&lanes, peers, 1, false, changed), "full");
    pr_lanes_finish(&lanes, 0, false);
    cr_assert(pr_lanes_offer(&lanes, peers, 1, false, changed));
    cr_assert_eq(a.total[0], 36);
}
