/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens to money: orders and refunds, and what each gateway allows with them. The only file
 * that moves any.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "sandbox/gateway_private.h"

#include <stdio.h>
#include <string.h>

bool pr_gate_has(const pr_gate_protocol_t *protocol, pr_gate_trait_t trait)
{
    return (protocol->traits & (unsigned)trait) != 0;
}

#define REFERENCE_MAX 64
#define REFERENCE_DIGITS 20

static void reference_of(pr_gate_t *self, const char *prefix, char out[REFERENCE_MAX])
{
    char random[REFERENCE_DIGITS + 1];
    pr_gate_random_text(self, random, REFERENCE_DIGITS);
    snprintf(out, REFERENCE_MAX, "%s%s", prefix, random);
}

/* ---- moves ---- */

static void move(pr_gate_t *self, pr_gate_order_t *order, pr_gate_state_t state)
{
    order->state = state;
    order->ended_us = self->now.wall_us;
    pr_gate_record_order(self, order, pr_gate_state_name(state));
}

static void take_money(pr_gate_t *self, pr_gate_order_t *order)
{
    int64_t part = order->plan->script.captured;
    order->was_closed = order->state == PR_GATE_CLOSED;
    order->captured = part >= 0 && part < order->amount ? part : order->amount;
    order->paid_us = self->now.wall_us;
    pr_gate_ledger_take(self->ledger, order);
    move(self, order, PR_GATE_PAID);
    pr_gate_tell(self, PR_GATE_EVENT_PAID, order, NULL);
}

static void fail(pr_gate_t *self, pr_gate_order_t *order, const char *code)
{
    size_t len = strnlen(code, sizeof(order->code) - 1);
    memcpy(order->code, code, len);
    order->code[len] = '\0';
    move(self, order, PR_GATE_FAILED);
    pr_gate_tell(self, PR_GATE_EVENT_FAILED, order, NULL);
}

static void approve(pr_gate_t *self, pr_gate_order_t *order)
{
    move(self, order, PR_GATE_APPROVED);
    pr_gate_tell(self, PR_GATE_EVENT_APPROVED, order, NULL);
}

static void close_order(pr_gate_t *self, pr_gate_order_t *order)
{
    move(self, order, PR_GATE_CLOSED);
    pr_gate_tell(self, PR_GATE_EVENT_CLOSED, order, NULL);
}

void pr_gate_order_due(pr_gate_t *self, pr_gate_order_t *order)
{
    const pr_gate_script_t *script = &order->plan->script;
    bool open = order->state == PR_GATE_WAITING;
    if (pr_gate_has(order->account->protocol, PR_GATE_TWO_STEPS)) {
        if (open) {
            approve(self, order); /* a failure shows when the merchant captures */
        }
    } else if (script->payment.end == PR_GATE_END_PAY &&
               (open || (order->state == PR_GATE_CLOSED && script->anyway))) {
        take_money(self, order);
    } else if (script->payment.end == PR_GATE_END_FAIL && open) {
        fail(self, order, script->payment.code);
    }
}

bool pr_gate_push(pr_gate_t *self, pr_gate_order_t *order, const char *what)
{
    bool ended = order->state == PR_GATE_PAID || order->state == PR_GATE_FAILED;
    if (strcmp(what, "pay") == 0 && order->state != PR_GATE_PAID) {
        take_money(self, order);
    } else if (strncmp(what, "fail:", 5) == 0 && !ended) {
        fail(self, order, what + 5);
    } else if (strcmp(what, "approve") == 0 && order->state == PR_GATE_WAITING) {
        approve(self, order);
    } else if (strcmp(what, "close") == 0 && !ended && order->state != PR_GATE_CLOSED) {
        close_order(self, order);
    } else {
        return false;
    }
    return true;
}

/* ---- charge ---- */

static pr_gate_order_t *new_order(pr_gate_t *self, pr_gate_call_t *call, pr_gate_plan_t *plan)
{
    char reference[REFERENCE_MAX];
    reference_of(self, call->protocol->order_prefix, reference);
    pr_gate_order_t *order =
        pr_gate_order_new(self->ledger, call->account, plan, call->request_no, reference);
    if (!order) {
        return NULL;
    }
    order->label = pr_strdup(call->label[0] ? call->label : call->request_no);
    order->notify_url = pr_strdup(call->notify_url);
    order->currency = pr_strdup(call->currency);
    order->amount = call->amount;
    order->created_us = self->now.wall_us;
    memcpy(order->fingerprint, call->fingerprint, sizeof(order->fingerprint));
    pr_gate_record_new_order(self, order);
    return order;
}

static bool ends_by_itself(const pr_gate_course_t *course)
{
    return course->end != PR_GATE_END_UNPAID && course->end != PR_GATE_END_PENDING;
}

static pr_gate_result_t charge_anew(pr_gate_t *self, pr_gate_call_t *call, pr_gate_plan_t *plan)
{
    const pr_gate_course_t *course = &plan->script.payment;
    const pr_gate_protocol_t *protocol = call->protocol;
    bool now = course->ms < 0, fails = course->end == PR_GATE_END_FAIL;
    if (fails && now && pr_gate_has(protocol, PR_GATE_REFUSES)) {
        call->code = course->code;
        return PR_GATE_DECLINED;
    }
    pr_gate_order_t *order = new_order(self, call, plan);
    if (!order) {
        return PR_GATE_SERVER_ERROR;
    }
    call->order = order;
    if (plan->script.hook_forge) {
        pr_gate_forge(self, order);
    }
    if (!ends_by_itself(course)) {
        return PR_GATE_OK;
    }
    bool at_once = fails ? !pr_gate_has(protocol, PR_GATE_TWO_STEPS)
                         : pr_gate_has(protocol, PR_GATE_SYNC) && !call->later;
    if (now && at_once) {
        pr_gate_order_due(self, order);
        call->moved = order->captured;
        call->code = order->code;
        return order->state == PR_GATE_FAILED ? PR_GATE_DECLINED : PR_GATE_OK;
    }
    pr_gate_set_timer(self, PR_GATE_TIMER_ORDER, order->index, now ? 0 : course->ms);
    return PR_GATE_OK;
}

static pr_gate_result_t charge_again(pr_gate_call_t *call, pr_gate_order_t *order)
{
    call->order = order;
    call->repeated = true;
    if (strcmp(order->fingerprint, call->fingerprint) != 0) {
        return PR_GATE_NUMBER_USED;
    }
    if (pr_gate_has(call->protocol, PR_GATE_TELLS_PAID)) {
        if (order->state == PR_GATE_PAID) {
            return PR_GATE_ALREADY_PAID;
        }
        if (order->state == PR_GATE_CLOSED) {
            return PR_GATE_WAS_CLOSED;
        }
    }
    call->code = order->code;
    return order->state == PR_GATE_FAILED ? PR_GATE_DECLINED : PR_GATE_OK;
}

pr_gate_result_t pr_gate_charge(pr_gate_t *self, pr_gate_call_t *call, pr_gate_plan_t *plan)
{
    pr_gate_order_t *order = NULL;
    pr_assert(plan);
    if (pr_gate_has(call->protocol, PR_GATE_BY_NUMBER)) {
        order = pr_gate_order_by_number(self->ledger, call->account, call->request_no);
    }
    return order ? charge_again(call, order) : charge_anew(self, call, plan);
}

/* ---- capture, query, close ---- */

pr_gate_result_t pr_gate_capture(pr_gate_t *self, pr_gate_call_t *call)
{
    pr_gate_order_t *order = call->order;
    const pr_gate_course_t *course = &order->plan->script.payment;
    if (order->state == PR_GATE_PAID) {
        return PR_GATE_ALREADY_PAID;
    }
    if (order->state != PR_GATE_APPROVED) {
        return PR_GATE_WRONG_STATE;
    }
    /* an invoice that was paid before, under another order: refused by the gateway */
    if (pr_gate_taken(self->ledger, order->account, order->request_no).count > 0) {
        return PR_GATE_NUMBER_USED;
    }
    if (course->end == PR_GATE_END_FAIL) {
        call->code = course->code;
        return PR_GATE_DECLINED;
    }
    take_money(self, order);
    call->moved = order->captured;
    return PR_GATE_OK;
}

pr_gate_result_t pr_gate_close(pr_gate_t *self, pr_gate_call_t *call)
{
    pr_gate_order_t *order = call->order;
    if (order->state == PR_GATE_PAID) {
        return PR_GATE_ALREADY_PAID;
    }
    if (order->plan->script.payment.end == PR_GATE_END_PENDING) {
        return PR_GATE_WRONG_STATE;
    }
    bool open =
        order->state == PR_GATE_WAITING || order->state == PR_GATE_APPROVED ||
        (order->state == PR_GATE_FAILED && pr_gate_has(call->protocol, PR_GATE_FAILED_IS_OPEN));
    if (open) {
        close_order(self, order);
    } else {
        call->repeated = true;
    }
    return PR_GATE_OK;
}

/* ---- refunds ---- */

void pr_gate_refund_set(pr_gate_t *self, pr_gate_refund_t *refund, pr_gate_refund_state_t state)
{
    pr_gate_order_t *order = refund->order;
    if (refund->state == PR_GATE_REFUND_PENDING) {
        order->refund_held -= refund->amount;
    }
    if (state == PR_GATE_REFUND_DONE) {
        order->refunded += refund->amount;
        pr_gate_ledger_give(self->ledger, refund);
    } else if (state == PR_GATE_REFUND_REVERSED) {
        order->refunded -= refund->amount;
        order->account->counts.refunded_minor -= refund->amount;
    }
    refund->state = state;
    refund->ended_us = self->now.wall_us;
}

static void end_refund(pr_gate_t *self, pr_gate_refund_t *refund, pr_gate_refund_state_t state)
{
    static const pr_gate_event_kind_t kinds[] = {
        [PR_GATE_REFUND_DONE] = PR_GATE_EVENT_REFUND_DONE,
        [PR_GATE_REFUND_FAILED] = PR_GATE_EVENT_REFUND_FAILED,
        [PR_GATE_REFUND_REVERSED] = PR_GATE_EVENT_REFUND_REVERSED,
    };
    pr_gate_refund_set(self, refund, state);
    pr_gate_record_refund(self, refund);
    pr_gate_tell(self, kinds[state], refund->order, refund);
}

void pr_gate_refund_due(pr_gate_t *self, pr_gate_refund_t *refund)
{
    const pr_gate_course_t *course = &refund->order->plan->script.refund;
    if (refund->state == PR_GATE_REFUND_DONE) {
        end_refund(self, refund, PR_GATE_REFUND_REVERSED);
        return;
    }
    if (refund->state != PR_GATE_REFUND_PENDING) {
        return;
    }
    end_refund(self, refund,
               course->end == PR_GATE_END_FAIL ? PR_GATE_REFUND_FAILED : PR_GATE_REFUND_DONE);
    if (course->end == PR_GATE_END_REVERSE) {
        pr_gate_set_timer(self, PR_GATE_TIMER_REFUND, refund->index, course->ms);
    }
}

static pr_gate_result_t refund_anew(pr_gate_t *self, pr_gate_call_t *call)
{
    pr_gate_order_t *order = call->order;
    const pr_gate_course_t *course = &order->plan->script.refund;
    char reference[REFERENCE_MAX];
    if (order->state != PR_GATE_PAID) {
        return PR_GATE_WRONG_STATE;
    }
    if (call->amount > order->captured - order->refunded - order->refund_held) {
        return PR_GATE_TOO_MUCH;
    }
    bool now = course->ms < 0 || course->end == PR_GATE_END_REVERSE;
    if (course->end == PR_GATE_END_FAIL && now && pr_gate_has(call->protocol, PR_GATE_REFUSES) &&
        !pr_gate_has(call->protocol, PR_GATE_REFUND_LATER)) {
        call->code = course->code;
        return PR_GATE_DECLINED;
    }
    reference_of(self, call->protocol->refund_prefix, reference);
    pr_gate_refund_t *refund = pr_gate_refund_new(self->ledger, order, call->refund_no, reference);
    refund->amount = call->amount;
    refund->created_us = self->now.wall_us;
    refund->notify_url = pr_strdup(call->notify_url);
    order->refund_held += refund->amount;
    call->refund = refund;
    pr_gate_record_refund(self, refund);
    if (course->end == PR_GATE_END_PENDING) {
        return PR_GATE_OK;
    }
    if (now && !pr_gate_has(call->protocol, PR_GATE_REFUND_LATER)) {
        pr_gate_refund_due(self, refund);
        call->moved = refund->state == PR_GATE_REFUND_DONE ? refund->amount : 0;
    } else {
        pr_gate_set_timer(self, PR_GATE_TIMER_REFUND, refund->index, now ? 0 : course->ms);
    }
    return PR_GATE_OK;
}

pr_gate_result_t pr_gate_give_back(pr_gate_t *self, pr_gate_call_t *call)
{
    pr_gate_refund_t *before = NULL;
    if (pr_gate_has(call->protocol, PR_GATE_BY_NUMBER)) {
        before = pr_gate_refund_by_number(self->ledger, call->account, call->refund_no);
    }
    if (!before) {
        return refund_anew(self, call);
    }
    call->refund = before;
    call->repeated = true;
    return before->order == call->order && before->amount == call->amount ? PR_GATE_OK
                                                                          : PR_GATE_NUMBER_USED;
}
