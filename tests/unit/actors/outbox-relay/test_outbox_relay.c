/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/outbox-relay/outbox_relay.h"

#include <criterion/criterion.h>

TestSuite(outbox_relay, .timeout = 300);

static const pr_relay_policy_t policy = {.busy_ms = 2, .idle_ms = 25, .scan_ms = 3000};

typedef struct {
    pr_relay_t relay;
    pr_relay_action_t actions[PR_RELAY_ACTIONS_MAX];
    int count;
} fixture_t;

static void give(fixture_t *self, pr_relay_event_t event, int64_t now_ms)
{
    self->count = pr_relay_step(&self->relay, &event, now_ms, self->actions);
    cr_assert_leq(self->count, PR_RELAY_ACTIONS_MAX);
}

static void tick(fixture_t *self, int64_t now_ms)
{
    give(self, (pr_relay_event_t){.kind = PR_RELAY_TICK}, now_ms);
}

static void moved(fixture_t *self, int class_no, int64_t rows, bool full, int64_t now_ms)
{
    give(self,
         (pr_relay_event_t){.kind = PR_RELAY_MOVED,
                            .class_no = class_no,
                            .moved = rows,
                            .full = full,
                            .last_seq = rows > 0 ? 100 * (class_no + 1) + rows : 0},
         now_ms);
}

static int moves(const fixture_t *self, int class_no)
{
    int count = 0;
    for (int i = 0; i < self->count; i++) {
        count += self->actions[i].kind == PR_RELAY_MOVE && self->actions[i].class_no == class_no;
    }
    return count;
}

/* Connected, checked, the first three moves under way at now_ms. */
static void start(fixture_t *self, int64_t now_ms)
{
    pr_relay_init(&self->relay, &policy);
    give(self, (pr_relay_event_t){.kind = PR_RELAY_CONNECTED}, now_ms);
    cr_assert_eq(self->count, 1);
    cr_assert_eq(self->actions[0].kind, PR_RELAY_CHECK);
    give(self, (pr_relay_event_t){.kind = PR_RELAY_CLUSTER_GOOD}, now_ms);
}

Test(outbox_relay, first_look_at_all_classes_p0_first)
{
    fixture_t f;
    start(&f, 1000);
    cr_assert_eq(f.count, 3);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(f.actions[i].kind, PR_RELAY_MOVE);
        cr_assert_eq(f.actions[i].class_no, i);
    }
    cr_assert_eq(pr_relay_deadline_ms(&f.relay), INT64_MAX, "it waits for answers");
}

Test(outbox_relay, nothing_is_moved_before_the_cluster_is_known)
{
    fixture_t f;
    pr_relay_init(&f.relay, &policy);
    tick(&f, 5);
    cr_assert_eq(f.count, 0, "not connected");
    give(&f, (pr_relay_event_t){.kind = PR_RELAY_CONNECTED}, 10);
    tick(&f, 5000);
    cr_assert_eq(f.count, 0, "one check at a time, and no move beside it");
    give(&f, (pr_relay_event_t){.kind = PR_RELAY_CLUSTER_UNKNOWN}, 5000);
    cr_assert_eq(f.count, 0);
    cr_assert_eq(pr_relay_deadline_ms(&f.relay), 8000, "the check is tried again after scan");
    tick(&f, 8000);
    cr_assert_eq(f.actions[0].kind, PR_RELAY_CHECK);
}

Test(outbox_relay, a_foreign_cluster_stops_it_for_good)
{
    fixture_t f;
    pr_relay_init(&f.relay, &policy);
    give(&f, (pr_relay_event_t){.kind = PR_RELAY_CONNECTED}, 10);
    give(&f, (pr_relay_event_t){.kind = PR_RELAY_CLUSTER_FOREIGN}, 11);
    cr_assert_eq(f.count, 1);
    cr_assert_eq(f.actions[0].kind, PR_RELAY_STOP);
    give(&f, (pr_relay_event_t){.kind = PR_RELAY_CONNECTED}, 12);
    cr_assert_eq(f.count, 0, "never again in this life");
}

Test(outbox_relay, a_full_move_is_followed_at_once)
{
    fixture_t f;
    start(&f, 1000);
    moved(&f, 1, 500, true, 1010);
    cr_assert_eq(f.count, 2);
    cr_assert_eq(f.actions[0].kind, PR_RELAY_HINT);
    cr_assert_eq(f.actions[0].last_seq[1], 700);
    cr_assert_eq(f.actions[0].last_seq[0], 0, "not known yet");
    cr_assert_eq(moves(&f, 1), 1);
}

Test(outbox_relay, a_full_move_of_rows_that_made_no_job_is_followed_too)
{
    fixture_t f;
    start(&f, 1000);
    moved(&f, 2, 0, true, 1010);
    cr_assert_eq(f.count, 1, "no hint, as there is no job");
    cr_assert_eq(moves(&f, 2), 1);
}

Test(outbox_relay, pace_busy_then_idle)
{
    fixture_t f;
    start(&f, 1000);
    moved(&f, 0, 0, false, 1000);
    moved(&f, 2, 0, false, 1000);
    moved(&f, 1, 3, false, 1000);
    cr_assert_eq(pr_relay_deadline_ms(&f.relay), 1002, "in traffic: busy");
    int64_t now_ms = 1002;
    int polls = 0;
    for (; now_ms < 1000 + PR_RELAY_TRAFFIC_HOLD_MS; now_ms += 2) {
        tick(&f, now_ms);
        polls += moves(&f, 1);
        for (int class_no = 0; class_no < 3; class_no++) {
            if (f.relay.classes[class_no].under_way) {
                moved(&f, class_no, 0, false, now_ms);
            }
        }
    }
    cr_assert_eq(polls, PR_RELAY_TRAFFIC_HOLD_MS / 2 - 1, "every 2 ms while in traffic: %d", polls);
    tick(&f, now_ms);
    cr_assert_eq(moves(&f, 1), 1);
    moved(&f, 1, 0, false, now_ms);
    cr_assert_eq(f.relay.classes[1].next_at_ms, now_ms + 25, "traffic is over: idle");
    now_ms += PR_RELAY_QUIET_MS;
    tick(&f, now_ms);
    moved(&f, 1, 0, false, now_ms);
    cr_assert_eq(f.relay.classes[1].next_at_ms, now_ms + 50, "and quiet");
}

Test(outbox_relay, classes_whose_traffic_ended_apart_are_looked_at_together)
{
    fixture_t f;
    start(&f, 1000);
    moved(&f, 0, 0, false, 1003);
    moved(&f, 1, 0, false, 1011);
    moved(&f, 2, 0, false, 1019);
    cr_assert_eq(pr_relay_deadline_ms(&f.relay), 1025);
    tick(&f, 1025);
    cr_assert_eq(f.count, 3);
    cr_assert(moves(&f, 0) == 1 && moves(&f, 1) == 1 && moves(&f, 2) == 1);
}

/* Whether the class' move that was just asked for is a small one; -1: none was. */
static int small(const fixture_t *self, int class_no)
{
    for (int i = 0; i < self->count; i++) {
        if (self->actions[i].kind == PR_RELAY_MOVE && self->actions[i].class_no == class_no) {
            return self->actions[i].beside_higher;
        }
    }
    return -1;
}

Test(outbox_relay, beside_a_higher_class_in_traffic_pieces_are_small)
{
    fixture_t f;
    start(&f, 1000);
    moved(&f, 0, 0, false, 1000);
    moved(&f, 1, 0, false, 1000);
    moved(&f, 2, 100, true, 1001);
    cr_assert_eq(small(&f, 2), 0, "it is alone");
    tick(&f, 1030);
    moved(&f, 0, 1, false, 1031);
    moved(&f, 2, 100, true, 1032);
    cr_assert_eq(small(&f, 2), 1);
    tick(&f, 1034);
    moved(&f, 0, 100, true, 1035);
    moved(&f, 2, 25, true, 1036);
    cr_assert_eq(small(&f, 2), 0, "a flood of P0 has no use for it");
    moved(&f, 0, 1, false, 1037);
    moved(&f, 2, 100, true, 1037 + PR_RELAY_TRAFFIC_HOLD_MS);
    cr_assert_eq(small(&f, 2), 0, "P0's traffic is over");
}

Test(outbox_relay, idle_classes_share_one_turn)
{
    fixture_t f;
    start(&f, 1000);
    moved(&f, 0, 0, false, 1000);
    moved(&f, 1, 0, false, 1001);
    moved(&f, 2, 0, false, 1002);
    tick(&f, 1024);
    cr_assert_eq(f.count, 0, "not due");
    tick(&f, 1025);
    cr_assert_eq(f.count, 3, "those due within busy_ms join the first");
}

Test(outbox_relay, failures_back_off_to_scan_and_no_further)
{
    fixture_t f;
    start(&f, 1000);
    const int64_t want_ms[] = {25, 50, 100, 200, 400, 800, 1600, 3000, 3000, 3000};
    for (size_t i = 0; i < sizeof want_ms / sizeof want_ms[0]; i++) {
        int64_t now_ms = 10000 * (int64_t)(i + 1);
        give(&f, (pr_relay_event_t){.kind = PR_RELAY_FAILED, .class_no = 1}, now_ms);
        cr_assert_eq(f.relay.classes[1].next_at_ms, now_ms + want_ms[i], "failure %zu", i + 1);
        tick(&f, now_ms + want_ms[i]);
        cr_assert_eq(moves(&f, 1), 1);
    }
    moved(&f, 1, 0, false, 200000);
    cr_assert_eq(f.relay.classes[1].next_at_ms, 200050, "a success forgets them: quiet");
}

Test(outbox_relay, many_failures_do_not_overflow)
{
    fixture_t f;
    start(&f, 1000);
    f.relay.classes[0].failures = INT32_MAX - 1;
    give(&f, (pr_relay_event_t){.kind = PR_RELAY_FAILED, .class_no = 0}, 1000);
    cr_assert_eq(f.relay.classes[0].next_at_ms, 4000);
}

Test(outbox_relay, a_lost_connection_asks_again_after_a_new_check)
{
    fixture_t f;
    start(&f, 1000);
    moved(&f, 1, 3, false, 1000);
    give(&f, (pr_relay_event_t){.kind = PR_RELAY_DISCONNECTED}, 1001);
    cr_assert_eq(f.count, 0);
    tick(&f, 9000);
    cr_assert_eq(f.count, 0);
    cr_assert_eq(pr_relay_deadline_ms(&f.relay), INT64_MAX);
    give(&f, (pr_relay_event_t){.kind = PR_RELAY_CONNECTED}, 9001);
    cr_assert_eq(f.actions[0].kind, PR_RELAY_CHECK,
                 "another cluster may be behind the same address");
    give(&f, (pr_relay_event_t){.kind = PR_RELAY_CLUSTER_GOOD}, 9002);
    cr_assert_eq(f.count, 3, "all classes at once, also those whose move was under way");
}

Test(outbox_relay, a_move_that_doubts_the_cluster_leads_to_a_check)
{
    fixture_t f;
    start(&f, 1000);
    give(&f, (pr_relay_event_t){.kind = PR_RELAY_REFUSED, .class_no = 1}, 1001);
    cr_assert_eq(f.count, 1);
    cr_assert_eq(f.actions[0].kind, PR_RELAY_CHECK);
    moved(&f, 0, 1, true, 1002);
    cr_assert_eq(f.count, 1, "only the hint: nothing is moved until it is known");
    give(&f, (pr_relay_event_t){.kind = PR_RELAY_CLUSTER_GOOD}, 1003);
    cr_assert_eq(moves(&f, 0), 1);
    cr_assert_eq(moves(&f, 1), 0, "the one that was refused waits a little");
}

Test(outbox_relay, last_seq_never_goes_back)
{
    fixture_t f;
    start(&f, 1000);
    moved(&f, 0, 9, false, 1000);
    cr_assert_eq(f.actions[0].last_seq[0], 109);
    tick(&f, 1002);
    give(&f, (pr_relay_event_t){.kind = PR_RELAY_MOVED, .class_no = 0, .moved = 1, .last_seq = 50},
         1003);
    cr_assert_eq(f.actions[0].last_seq[0], 109);
}

Test(outbox_relay, drain_waits_for_moves_under_way)
{
    fixture_t f;
    start(&f, 1000);
    give(&f, (pr_relay_event_t){.kind = PR_RELAY_DRAIN}, 1001);
    cr_assert_eq(f.count, 0);
    cr_assert_not(pr_relay_drained(&f.relay));
    moved(&f, 0, 500, true, 1002);
    cr_assert_eq(f.count, 1, "the hint goes out, no further move");
    moved(&f, 1, 0, false, 1002);
    moved(&f, 2, 0, false, 1002);
    cr_assert(pr_relay_drained(&f.relay));
    cr_assert_eq(pr_relay_deadline_ms(&f.relay), INT64_MAX);
}

Test(outbox_relay, no_class_waits_longer_than_scan_whatever_happens)
{
    /* A long random walk: whenever a class is not under way, its next poll is at most scan away. */
    fixture_t f;
    start(&f, 1000);
    uint64_t random = 88172645463325252u;
    int64_t now_ms = 1000;
    for (int i = 0; i < 200000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        now_ms += (int64_t)(random % 7);
        int class_no = (int)((random >> 8) % 3);
        if (f.relay.classes[class_no].under_way && random % 5 == 0) {
            give(&f, (pr_relay_event_t){.kind = PR_RELAY_FAILED, .class_no = class_no}, now_ms);
        } else if (f.relay.classes[class_no].under_way) {
            bool full = random % 11 == 0;
            moved(&f, class_no, full ? 500 : (int64_t)(random % 3), full, now_ms);
        } else {
            tick(&f, now_ms);
        }
        for (int j = 0; j < 3; j++) {
            const pr_relay_class_t *one = &f.relay.classes[j];
            cr_assert(one->under_way || one->next_at_ms <= now_ms + policy.scan_ms);
        }
    }
}
