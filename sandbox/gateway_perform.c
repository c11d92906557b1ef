/* SPDX-License-Identifier: Apache-2.0
 *
 * One request on its way through the core: which order it is about, how that order's script goes, which
 * fault strikes, and whether an Idempotency-Key has answered it already.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "sandbox/gateway_private.h"

#include <stdio.h>
#include <string.h>

static bool hidden(const pr_gate_t *self, const pr_gate_plan_t *plan)
{
    return plan->script.hidden_ms > 0 &&
           self->now.mono_ms < plan->first_ms + plan->script.hidden_ms;
}

static pr_gate_refund_t *refund_of(const pr_gate_t *self, const pr_gate_call_t *call)
{
    return call->refund_reference[0]
               ? pr_gate_refund_by_reference(self->ledger, call->account, call->refund_reference)
               : pr_gate_refund_by_number(self->ledger, call->account, call->refund_no);
}

static pr_gate_result_t query_refund(const pr_gate_t *self, pr_gate_call_t *call)
{
    call->refund = refund_of(self, call);
    if (!call->refund || hidden(self, call->refund->order->plan)) {
        return PR_GATE_NOT_FOUND;
    }
    call->order = call->refund->order;
    return PR_GATE_OK;
}

static pr_gate_plan_t *plan_of_charge(pr_gate_t *self, pr_gate_call_t *call)
{
    pr_gate_plan_t *plan = pr_gate_plan_find(self->ledger, call->account, call->request_no);
    const char *text = strchr(call->label, '~');
    size_t len = text ? strlen(text) : 0;
    if (!plan) {
        if (!text) {
            uint64_t draw = pr_gate_mix(self->ledger, call->request_no);
            pr_gate_script_draw(call->account->mix, draw, &text, &len);
        }
        /* an order number that only looks like a script is an order number */
        if (pr_gate_plan_set(self->ledger, call->account, call->request_no, text, len, NULL) !=
            PR_OK) {
            pr_rc_t rc =
                pr_gate_plan_set(self->ledger, call->account, call->request_no, "", 0, NULL);
            pr_assert(rc == PR_OK);
        }
        plan = pr_gate_plan_find(self->ledger, call->account, call->request_no);
    }
    if (plan->first_ms == 0) {
        plan->first_ms = self->now.mono_ms;
    }
    return plan;
}

static pr_gate_order_t *order_of(const pr_gate_t *self, const pr_gate_call_t *call)
{
    return call->reference[0]
               ? pr_gate_order_by_reference(self->ledger, call->account, call->reference)
               : pr_gate_order_by_number(self->ledger, call->account, call->request_no);
}

/* What else is asked goes by the plan of the order that it is about; NULL: none is known. */
static pr_gate_plan_t *plan_of_question(const pr_gate_t *self, pr_gate_call_t *call)
{
    if (call->operation == PR_GATE_QUERY_REFUND) {
        const pr_gate_refund_t *found = refund_of(self, call);
        return found ? found->order->plan : NULL;
    }
    call->order = order_of(self, call);
    return call->order ? call->order->plan
                       : pr_gate_plan_find(self->ledger, call->account, call->request_no);
}

/* The first fault that is still to come for this operation; NULL: none. */
static const pr_gate_fault_t *next_fault(const pr_gate_script_t *script, uint32_t *used,
                                         pr_gate_operation_t operation)
{
    for (size_t i = 0; i < script->fault_count; i++) {
        const pr_gate_fault_t *fault = &script->faults[i];
        if ((fault->operations & 1U << operation) != 0 &&
            (fault->times == 0 || used[i] < fault->times)) {
            used[i]++;
            return fault;
        }
    }
    return NULL;
}

static pr_gate_result_t do_it(pr_gate_t *self, pr_gate_call_t *call, pr_gate_plan_t *plan)
{
    switch (call->operation) {
    case PR_GATE_TOKEN:
        return PR_GATE_OK;
    case PR_GATE_STATEMENT:
    case PR_GATE_STATEMENT_FILE:
        return pr_gate_has(call->protocol, PR_GATE_EMPTY_STATEMENT) ||
                       pr_gate_rows(call, NULL, NULL) > 0
                   ? PR_GATE_OK
                   : PR_GATE_NOT_FOUND;
    case PR_GATE_CHARGE:
        return pr_gate_charge(self, call, plan);
    case PR_GATE_QUERY_REFUND:
        return query_refund(self, call);
    default:
        break;
    }
    if (!call->order || (call->operation == PR_GATE_QUERY && hidden(self, call->order->plan))) {
        call->order = NULL;
        return PR_GATE_NOT_FOUND;
    }
    switch (call->operation) {
    case PR_GATE_CAPTURE:
        return pr_gate_capture(self, call);
    case PR_GATE_CLOSE:
        return pr_gate_close(self, call);
    case PR_GATE_REFUND:
        return pr_gate_give_back(self, call);
    default:
        return PR_GATE_OK; /* a query */
    }
}

/* An Idempotency-Key that was seen before: what it gave. */
static bool answer_from_before(pr_gate_call_t *call, const pr_gate_saved_t *saved)
{
    call->repeated = true;
    if (strcmp(saved->fingerprint, call->fingerprint) != 0) {
        call->result = PR_GATE_NUMBER_USED;
        return true;
    }
    call->order = saved->order;
    call->refund = saved->refund;
    if (saved->body) {
        call->status = saved->status;
        call->content_type = "application/json";
        pr_rc_t rc = pr_buffer_append_text(&call->answer, saved->body);
        pr_assert(rc == PR_OK);
        return true;
    }
    return saved->order != NULL || saved->refund != NULL; /* as it is by now */
}

/* What was not even begun may be tried anew under the same key. */
static bool was_begun(const pr_gate_call_t *call)
{
    return call->result == PR_GATE_OK || call->result == PR_GATE_DECLINED ||
           call->result == PR_GATE_WRONG_STATE || call->result == PR_GATE_TOO_MUCH;
}

static void perform_once(pr_gate_t *self, pr_gate_call_t *call, pr_gate_plan_t *plan)
{
    char *scoped = call->saved_key;
    bool keyed = call->key[0] && !pr_gate_has(call->protocol, PR_GATE_BY_NUMBER);
    if (!keyed) {
        call->result = do_it(self, call, plan);
        call->protocol->write(call);
        return;
    }
    snprintf(scoped, sizeof(call->saved_key), "%d:%s", (int)call->operation, call->key);
    const pr_gate_saved_t *before = pr_gate_saved_find(self->ledger, call->account, scoped);
    if (before && answer_from_before(call, before)) {
        if (!before->body || call->result != PR_GATE_OK) {
            call->protocol->write(call);
        }
        return;
    }
    call->result = do_it(self, call, plan);
    call->protocol->write(call);
    if (was_begun(call)) {
        pr_gate_saved_t *saved =
            pr_gate_saved_new(self->ledger, call->account, scoped, call->fingerprint);
        saved->order = call->order;
        saved->refund = call->refund;
        saved->status = call->status;
        saved->body = pr_gate_has(call->protocol, PR_GATE_SAVES_ANSWERS)
                          ? pr_strdup(pr_buffer_text(&call->answer))
                          : NULL;
        call->saved = saved;
    }
}

/* A server error after the effect is the answer that the key gives from now on, as at Stripe. */
static void keep_error(const pr_gate_call_t *call)
{
    pr_gate_saved_t *saved = call->saved;
    if (saved && saved->body && call->result == PR_GATE_SERVER_ERROR) {
        pr_free(saved->body);
        saved->body = pr_strdup(pr_buffer_text(&call->answer));
        saved->status = call->status;
    }
}

const pr_gate_fault_t *pr_gate_perform(pr_gate_t *self, pr_gate_call_t *call)
{
    static const pr_gate_result_t troubles[] = {
        [PR_GATE_FAULT_THROTTLED] = PR_GATE_THROTTLED,
        [PR_GATE_FAULT_ERROR] = PR_GATE_SERVER_ERROR,
        [PR_GATE_FAULT_MAINTENANCE] = PR_GATE_MAINTENANCE,
        [PR_GATE_FAULT_CREDENTIAL] = PR_GATE_BAD_CREDENTIAL,
    };
    pr_gate_account_t *account = call->account;
    const pr_gate_fault_t *fault = NULL;
    pr_gate_plan_t *plan = NULL;
    if (call->operation == PR_GATE_CHARGE) {
        plan = plan_of_charge(self, call);
    } else if (call->operation != PR_GATE_TOKEN && call->operation != PR_GATE_STATEMENT &&
               call->operation != PR_GATE_STATEMENT_FILE) {
        plan = plan_of_question(self, call);
    }
    if (plan) {
        plan->calls[call->operation]++;
    }
    if (self->now.mono_ms < account->trouble_until_ms) {
        fault = next_fault(&account->trouble, account->trouble_used, call->operation);
    }
    if (!fault && plan) {
        fault = next_fault(&plan->script, plan->used, call->operation);
    }
    if (!fault || fault->effect) {
        perform_once(self, call, plan);
    }
    if (fault && fault->kind >= PR_GATE_FAULT_THROTTLED && fault->kind < PR_GATE_FAULT_STATUS) {
        call->result = troubles[fault->kind];
        call->retry_after_ms = fault->ms;
        pr_buffer_clear(&call->headers);
        call->protocol->write(call);
        keep_error(call);
    }
    if (call->saved) {
        pr_gate_record_saved(self, account, call->saved_key, call->saved);
    }
    return fault;
}
