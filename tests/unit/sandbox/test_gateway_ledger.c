/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "sandbox/gateway_ledger.h"
#include "sandbox/gateway_protocol.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

TestSuite(gateway_ledger);

static pr_gate_ledger_t *ledger;
static pr_gate_account_t *account;

static void set_up(void)
{
    ledger = pr_gate_ledger_new(7, 3000);
    account = pr_gate_account_make(ledger, &pr_gate_sandbox, "a1");
}

static void take_down(void)
{
    pr_gate_ledger_destroy(&ledger);
}

static pr_gate_order_t *order(const char *number, const char *label, int64_t amount)
{
    char reference[64];
    static int count;
    snprintf(reference, sizeof(reference), "ch_%d", count++);
    cr_assert(pr_gate_plan_set(ledger, account, number, "", 0, NULL) == PR_OK);
    pr_gate_order_t *made = pr_gate_order_new(
        ledger, account, pr_gate_plan_find(ledger, account, number), number, reference);
    if (made) {
        made->label = pr_strdup(label);
        made->amount = made->captured = amount;
    }
    return made;
}

Test(gateway_ledger, charges_are_counted_by_number_and_by_order, .init = set_up, .fini = take_down)
{
    pr_gate_ledger_take(ledger, order("p1", "o1", 100));
    pr_gate_ledger_take(ledger, order("p2", "o2", 50));
    cr_assert(account->counts.double_charged == 0 && account->counts.double_orders == 0);
    cr_assert(account->counts.charged_minor == 150);
    pr_gate_ledger_take(ledger, order("p1", "o3", 100)); /* the same number, another order */
    cr_assert(account->counts.double_charged == 1 && account->counts.double_orders == 0);
    pr_gate_ledger_take(ledger, order("p4", "o2", 50)); /* another number, the same order */
    cr_assert(account->counts.double_charged == 1 && account->counts.double_orders == 1);
    pr_gate_ledger_take(ledger, order("p1", "o1", 100)); /* thrice is no second number */
    cr_assert(account->counts.double_charged == 1 && account->counts.double_orders == 2);
    cr_assert(account->counts.double_minor == 250);
    pr_gate_tally_t taken = pr_gate_taken(ledger, account, "p1");
    cr_assert(taken.count == 3 && taken.sum == 300);
    cr_assert(pr_gate_taken(ledger, account, "p9").count == 0);
}

Test(gateway_ledger, a_script_by_itself_names_no_order, .init = set_up, .fini = take_down)
{
    pr_gate_ledger_take(ledger, order("p1", "~lost", 1));
    pr_gate_ledger_take(ledger, order("p2", "~lost", 1));
    cr_assert(account->counts.double_orders == 0);
}

Test(gateway_ledger, look_ups_find_the_newest_of_their_account, .init = set_up, .fini = take_down)
{
    pr_gate_account_t *other = pr_gate_account_make(ledger, &pr_gate_sandbox, "a2");
    pr_gate_order_t *first = order("p1", "o1", 1), *second = order("p1", "o1", 1);
    cr_assert(other != account);
    cr_assert(pr_gate_account_make(ledger, &pr_gate_sandbox, "a1") == account);
    cr_assert(pr_gate_order_by_number(ledger, account, "p1") == second && second->older == first);
    cr_assert(pr_gate_order_by_reference(ledger, account, first->reference) == first);
    cr_assert(!pr_gate_order_by_number(ledger, other, "p1"));
    cr_assert(!pr_gate_order_by_number(ledger, account, ""));
    pr_gate_refund_t *refund = pr_gate_refund_new(ledger, second, "r1", "re_1");
    cr_assert(pr_gate_refund_by_number(ledger, account, "r1") == refund);
    cr_assert(pr_gate_refund_by_reference(ledger, account, "re_1") == refund);
    cr_assert(second->refunds == refund && pr_gate_refund_at(ledger, 0) == refund);
}

Test(gateway_ledger, refunds_under_one_number_are_counted, .init = set_up, .fini = take_down)
{
    pr_gate_order_t *paid = order("p1", "o1", 100);
    pr_gate_refund_t *refund = pr_gate_refund_new(ledger, paid, "r1", "re_1");
    refund->amount = 30;
    pr_gate_ledger_give(ledger, refund);
    cr_assert(account->counts.refunded_minor == 30 && account->counts.double_refunded == 0);
    pr_gate_ledger_give(ledger, refund);
    cr_assert(account->counts.refunded_minor == 60 && account->counts.double_refunded == 1 &&
              account->counts.double_minor == 30);
}

Test(gateway_ledger, it_is_full_at_its_bound_and_empty_when_cleared, .init = set_up,
     .fini = take_down)
{
    char number[32];
    for (int i = 0; i < 3000; i++) {
        snprintf(number, sizeof(number), "n%d", i);
        cr_assert(order(number, number, 1));
    }
    cr_assert(!order("one-more", "x", 1));
    cr_assert(pr_gate_order_by_number(ledger, account, "n2999"));
    pr_gate_ledger_clear(ledger);
    cr_assert(!pr_gate_order_by_number(ledger, account, "n2999") && account->counts.orders == 0);
    cr_assert(pr_gate_account_find(ledger, &pr_gate_sandbox, "a1") == account);
    cr_assert(order("again", "x", 1));
}

Test(gateway_ledger, draws_are_the_seed_s, .init = set_up, .fini = take_down)
{
    pr_gate_ledger_t *same = pr_gate_ledger_new(7, 1), *other = pr_gate_ledger_new(8, 1);
    unsigned low = 0;
    cr_assert(pr_gate_mix(ledger, "p1") == pr_gate_mix(same, "p1"));
    cr_assert(pr_gate_mix(ledger, "p1") != pr_gate_mix(other, "p1"));
    for (int i = 0; i < 10000; i++) {
        char number[32];
        snprintf(number, sizeof(number), "p%d", i);
        low += pr_gate_mix(ledger, number) % 10 < 3;
    }
    cr_assert(low > 2800 && low < 3200, "%u of 10000 are among the first three tenths", low);
    pr_gate_ledger_destroy(&same);
    pr_gate_ledger_destroy(&other);
}
