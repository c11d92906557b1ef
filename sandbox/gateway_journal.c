/* SPDX-License-Identifier: Apache-2.0
 *
 * The gateways' own record, one JSON object a line, told apart by "e": start, account, order, state,
 * refund, saved (an answer under an Idempotency-Key), call, webhook, reset. All but call and
 * webhook are read again when the process starts.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "sandbox/gateway_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STARTS_APART 32 /* bits: references of one run never meet those of the next */

/* Takes line. */
static void add(pr_gate_t *self, json_t *line)
{
    pr_assert(line);
    if (!self->replaying) {
        size_t len = json_dumpb(line, NULL, 0, JSON_COMPACT);
        PR_CLEANUP_FREE char *text = pr_calloc(len + 1, 1);
        (void)json_dumpb(line, text, len, JSON_COMPACT);
        text[len] = '\n';
        pr_journal_text(self->journal, pr_bytes(text, len + 1));
    }
    json_decref(line);
}

void pr_gate_record_reset(pr_gate_t *self)
{
    add(self, json_pack("{s:s,s:I}", "e", "reset", "at_us", (json_int_t)self->now.wall_us));
}

void pr_gate_record_account(pr_gate_t *self, const pr_gate_account_t *account)
{
    PR_CLEANUP_FREE char *key = account->gateway ? pr_gate_key_private(account->gateway) : NULL;
    add(self, json_pack("{s:s,s:I,s:s,s:s,s:O,s:s,s:s,s:s?}", "e", "account", "at_us",
                        (json_int_t)self->now.wall_us, "profile", account->protocol->name,
                        "account", account->name, "parameters", account->parameters, "mix",
                        account->mix, "notify_url", account->notify_url, "gateway_key", key));
}

void pr_gate_record_new_order(pr_gate_t *self, const pr_gate_order_t *order)
{
    add(self, json_pack("{s:s,s:I,s:I,s:s,s:s,s:s,s:s,s:s,s:I,s:s,s:s,s:s,s:s}", "e", "order",
                        "at_us", (json_int_t)self->now.wall_us, "i", (json_int_t)order->index,
                        "profile", order->account->protocol->name, "account", order->account->name,
                        "request_no", order->request_no, "reference", order->reference, "order",
                        order->label, "amount", (json_int_t)order->amount, "currency",
                        order->currency, "notify_url", order->notify_url, "fingerprint",
                        order->fingerprint, "script", order->plan->text));
}

void pr_gate_record_order(pr_gate_t *self, const pr_gate_order_t *order, const char *what)
{
    add(self, json_pack("{s:s,s:I,s:I,s:s,s:s,s:s,s:I,s:s,s:b}", "e", "state", "at_us",
                        (json_int_t)self->now.wall_us, "i", (json_int_t)order->index, "account",
                        order->account->name, "request_no", order->request_no, "state", what,
                        "captured", (json_int_t)order->captured, "code", order->code, "was_closed",
                        (int)order->was_closed));
}

void pr_gate_record_refund(pr_gate_t *self, const pr_gate_refund_t *refund)
{
    const char *url = refund->notify_url ? refund->notify_url : "";
    add(self, json_pack("{s:s,s:I,s:I,s:I,s:s,s:s,s:s,s:s,s:I,s:s}", "e", "refund", "at_us",
                        (json_int_t)self->now.wall_us, "i", (json_int_t)refund->index, "order",
                        (json_int_t)refund->order->index, "account", refund->order->account->name,
                        "refund_no", refund->refund_no, "reference", refund->reference, "state",
                        pr_gate_refund_state_name(refund->state), "amount",
                        (json_int_t)refund->amount, "notify_url", url));
}

void pr_gate_record_saved(pr_gate_t *self, const pr_gate_account_t *account, const char *key,
                          const pr_gate_saved_t *saved)
{
    add(self, json_pack("{s:s,s:s,s:s,s:s,s:s,s:i,s:s?,s:I,s:I}", "e", "saved", "profile",
                        account->protocol->name, "account", account->name, "key", key,
                        "fingerprint", saved->fingerprint, "status", saved->status, "body",
                        saved->body, "order", saved->order ? (json_int_t)saved->order->index : -1,
                        "refund", saved->refund ? (json_int_t)saved->refund->index : -1));
}

void pr_gate_record_call(pr_gate_t *self, const pr_gate_call_t *call, const char *fault)
{
    const pr_gate_order_t *order = call->order;
    const char *number = call->request_no[0] || !order ? call->request_no : order->request_no;
    add(self, json_pack("{s:s,s:I,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:i,s:I,s:b}", "e", "call", "at_us",
                        (json_int_t)self->now.wall_us, "profile", call->protocol->name, "account",
                        call->account ? call->account->name : "", "op",
                        pr_gate_operation_name(call->operation), "request_no", number, "refund_no",
                        call->refund_no, "result", pr_gate_result_name(call->result), "fault",
                        fault, "status", call->status, "moved", (json_int_t)call->moved, "repeated",
                        (int)call->repeated));
}

void pr_gate_record_hook(pr_gate_t *self, const pr_gate_account_t *account, const char *kind,
                         const char *request_no, int status, const char *error, const char *judged)
{
    add(self, json_pack("{s:s,s:I,s:s,s:s,s:s,s:s,s:i,s:s,s:s}", "e", "webhook", "at_us",
                        (json_int_t)self->now.wall_us, "profile", account->protocol->name,
                        "account", account->name, "kind", kind, "request_no", request_no, "http",
                        status, "error", error, "judged", judged));
}

/* ---- reading it again ---- */

static int64_t number_of(const json_t *line, const char *name)
{
    return json_integer_value(json_object_get(line, name));
}

static pr_gate_account_t *account_of(pr_gate_t *self, const json_t *line)
{
    const pr_gate_protocol_t *protocol = pr_gate_protocol_find(pr_gate_text(line, "profile"));
    return protocol ? pr_gate_account_find(self->ledger, protocol, pr_gate_text(line, "account"))
                    : NULL;
}

static void replay_order(pr_gate_t *self, const json_t *line)
{
    pr_gate_account_t *account = account_of(self, line);
    const char *number = pr_gate_text(line, "request_no"), *script = pr_gate_text(line, "script");
    if (!account ||
        pr_gate_plan_set(self->ledger, account, number, script, strlen(script), NULL) != PR_OK) {
        return;
    }
    pr_gate_plan_t *plan = pr_gate_plan_find(self->ledger, account, number);
    pr_gate_order_t *order =
        pr_gate_order_new(self->ledger, account, plan, number, pr_gate_text(line, "reference"));
    if (!order) {
        return;
    }
    plan->first_ms = self->now.mono_ms;
    order->label = pr_strdup(pr_gate_text(line, "order"));
    order->notify_url = pr_strdup(pr_gate_text(line, "notify_url"));
    order->currency = pr_strdup(pr_gate_text(line, "currency"));
    order->amount = number_of(line, "amount");
    order->created_us = number_of(line, "at_us");
    (void)pr_gate_take(line, "fingerprint", order->fingerprint, sizeof(order->fingerprint));
}

static void replay_state(pr_gate_t *self, const json_t *line)
{
    pr_gate_order_t *order = pr_gate_order_at(self->ledger, (uint64_t)number_of(line, "i"));
    const char *name = pr_gate_text(line, "state");
    if (!order) {
        return;
    }
    for (pr_gate_state_t state = PR_GATE_WAITING; state <= PR_GATE_CLOSED; state++) {
        if (strcmp(name, pr_gate_state_name(state)) == 0) {
            order->state = state;
        }
    }
    order->ended_us = number_of(line, "at_us");
    order->captured = number_of(line, "captured");
    order->was_closed = json_is_true(json_object_get(line, "was_closed"));
    (void)pr_gate_take(line, "code", order->code, sizeof(order->code));
    if (order->state == PR_GATE_PAID) {
        order->paid_us = order->ended_us;
        pr_gate_ledger_take(self->ledger, order);
    }
}

static void replay_refund(pr_gate_t *self, const json_t *line)
{
    pr_gate_order_t *order = pr_gate_order_at(self->ledger, (uint64_t)number_of(line, "order"));
    pr_gate_refund_t *refund = pr_gate_refund_at(self->ledger, (uint64_t)number_of(line, "i"));
    if (!refund && order) {
        refund = pr_gate_refund_new(self->ledger, order, pr_gate_text(line, "refund_no"),
                                    pr_gate_text(line, "reference"));
        refund->amount = number_of(line, "amount");
        refund->created_us = number_of(line, "at_us");
        refund->notify_url = pr_strdup(pr_gate_text(line, "notify_url"));
        order->refund_held += refund->amount;
    }
    if (!refund) {
        return;
    }
    pr_gate_refund_state_t state = PR_GATE_REFUND_PENDING;
    while (state < PR_GATE_REFUND_REVERSED &&
           strcmp(pr_gate_text(line, "state"), pr_gate_refund_state_name(state)) != 0) {
        state++;
    }
    if (state != refund->state) {
        pr_gate_refund_set(self, refund, state);
        refund->ended_us = number_of(line, "at_us");
    }
}

static void replay_saved(pr_gate_t *self, const json_t *line)
{
    pr_gate_account_t *account = account_of(self, line);
    char fingerprint[65] = "";
    const json_t *body = json_object_get(line, "body");
    if (!account) {
        return;
    }
    (void)pr_gate_take(line, "fingerprint", fingerprint, sizeof(fingerprint));
    pr_gate_saved_t *saved =
        pr_gate_saved_new(self->ledger, account, pr_gate_text(line, "key"), fingerprint);
    saved->status = (int)number_of(line, "status");
    saved->body = json_is_string(body) ? pr_strdup(json_string_value(body)) : NULL;
    saved->order = pr_gate_order_at(self->ledger, (uint64_t)number_of(line, "order"));
    saved->refund = pr_gate_refund_at(self->ledger, (uint64_t)number_of(line, "refund"));
}

/* offset: of the byte behind it. */
static void replay_line(pr_gate_t *self, const json_t *line, int64_t offset, uint64_t *starts)
{
    const char *what = pr_gate_text(line, "e");
    if (strcmp(what, "start") == 0) {
        ++*starts;
    } else if (strcmp(what, "account") == 0) {
        (void)!pr_gate_set_account(self, line, NULL, NULL); /* a line of a newer one */
    } else if (strcmp(what, "order") == 0) {
        replay_order(self, line);
    } else if (strcmp(what, "state") == 0) {
        replay_state(self, line);
    } else if (strcmp(what, "refund") == 0) {
        replay_refund(self, line);
    } else if (strcmp(what, "saved") == 0) {
        replay_saved(self, line);
    } else if (strcmp(what, "reset") == 0) {
        pr_gate_ledger_clear(self->ledger);
        self->journal_from = offset;
    }
}

static int64_t left_ms(const pr_gate_t *self, int64_t since_us, int64_t ms)
{
    int64_t left = ms - (self->now.wall_us - since_us) / 1000;
    return ms < 0 || left < 0 ? 0 : left;
}

/* Payers and banks go on from where they were. */
static void rearm(pr_gate_t *self)
{
    pr_gate_order_t *order;
    pr_gate_refund_t *refund;
    for (uint64_t i = 0; (order = pr_gate_order_at(self->ledger, i)); i++) {
        const pr_gate_course_t *course = &order->plan->script.payment;
        bool ends = course->end == PR_GATE_END_PAY || course->end == PR_GATE_END_FAIL;
        if (ends && (order->state == PR_GATE_WAITING || order->state == PR_GATE_CLOSED)) {
            pr_gate_set_timer(self, PR_GATE_TIMER_ORDER, i,
                              left_ms(self, order->created_us, course->ms));
        }
    }
    for (uint64_t i = 0; (refund = pr_gate_refund_at(self->ledger, i)); i++) {
        const pr_gate_course_t *course = &refund->order->plan->script.refund;
        bool open = refund->state == PR_GATE_REFUND_PENDING ||
                    (refund->state == PR_GATE_REFUND_DONE && course->end == PR_GATE_END_REVERSE);
        if (open && course->end != PR_GATE_END_PENDING) {
            pr_gate_set_timer(self, PR_GATE_TIMER_REFUND, i,
                              left_ms(self, refund->created_us, course->ms));
        }
    }
}

pr_rc_t pr_gate_replay(pr_gate_t *self, const char *path, pr_error_t *error)
{
    uint64_t starts = 0;
    size_t room = 0;
    char *text = NULL;
    FILE *file = fopen(path, "re");
    if (!file) {
        return pr_error_set(error, PR_FATAL, "sandbox", "", "cannot read the journal %s", path);
    }
    self->replaying = true;
    ssize_t len;
    while ((len = getline(&text, &room, file)) > 0) {
        json_error_t why;
        json_t *line = json_loadb(text, (size_t)len, 0, &why);
        if (line) { /* the last one may be cut short: nobody was told of it */
            replay_line(self, line, ftell(file), &starts);
        }
        json_decref(line);
    }
    free(text); /* getline's, not ours */
    fclose(file);
    rearm(self);
    self->replaying = false;
    self->random_count = starts << STARTS_APART;
    add(self, json_pack("{s:s,s:I}", "e", "start", "at_us", (json_int_t)self->now.wall_us));
    return PR_OK;
}
