/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of the pretend gateways' core: gateway.c, gateway_perform.c, gateway_money.c,
 * gateway_hooks.c, gateway_journal.c, gateway_control.c.
 */
#ifndef PR_SANDBOX_GATEWAY_PRIVATE_H
#define PR_SANDBOX_GATEWAY_PRIVATE_H

#include "base/map.h"
#include "core/timerq.h"
#include "http/http.h"
#include "sandbox/gateway_protocol.h"

#define PR_GATE_HOOKS_IN_FLIGHT 256

/* What a timer is about: the top byte of its id. */
typedef enum { PR_GATE_TIMER_ORDER = 1, PR_GATE_TIMER_REFUND, PR_GATE_TIMER_HOOK } pr_gate_timer_t;

struct pr_gate_t {
    pr_gate_options_t options;
    pr_gate_ledger_t *ledger;
    pr_journal_t *journal;
    int64_t journal_from; /* bytes that are older than the last reset */
    bool replaying;       /* reading its own journal: nothing is written, nothing leaves */
    pr_timerq_t *timers;
    pr_http_t *http;
    pr_map_t *hooks; /* by number */
    struct {
        uint64_t *numbers;      /* a ring of those that are due while others are on their way */
        size_t at, count, room; /* room: a power of two */
        size_t in_flight;
    } ready;
    uint64_t hook_count;
    uint64_t random_count; /* texts made so far */
    uint64_t strangers;    /* requests of accounts that nobody knows */
    pr_now_t now;
};

/* All seven. */
extern const pr_gate_protocol_t *const pr_gate_protocols[];
extern const size_t pr_gate_protocol_count;
const pr_gate_protocol_t *pr_gate_protocol_find(const char *name);

void pr_gate_set_timer(pr_gate_t *self, pr_gate_timer_t kind, uint64_t number, int64_t delay_ms);

/* ---- gateway_money.c: what happens to orders and refunds ---- */
bool pr_gate_has(const pr_gate_protocol_t *protocol, pr_gate_trait_t trait);
/* Each performs what a call asks for; call->order is there but for a charge, whose plan is. */
pr_gate_result_t pr_gate_charge(pr_gate_t *self, pr_gate_call_t *call, pr_gate_plan_t *plan);
pr_gate_result_t pr_gate_capture(pr_gate_t *self, pr_gate_call_t *call);
pr_gate_result_t pr_gate_close(pr_gate_t *self, pr_gate_call_t *call);
pr_gate_result_t pr_gate_give_back(pr_gate_t *self, pr_gate_call_t *call);
/* The payer does what the script says; due by timer. */
void pr_gate_order_due(pr_gate_t *self, pr_gate_order_t *order);
void pr_gate_refund_due(pr_gate_t *self, pr_gate_refund_t *refund);
/* The books of it, without a word to anyone. */
void pr_gate_refund_set(pr_gate_t *self, pr_gate_refund_t *refund, pr_gate_refund_state_t state);
/* By hand: "pay", "fail:CODE", "approve", "close", whatever the script says. False: not from here. */
bool pr_gate_push(pr_gate_t *self, pr_gate_order_t *order, const char *what);

/* ---- gateway_perform.c ---- */
/* Performs a call and writes the answer. Gives the fault that strikes it; NULL: none. */
const pr_gate_fault_t *pr_gate_perform(pr_gate_t *self, pr_gate_call_t *call);

/* ---- gateway_hooks.c ---- */
void pr_gate_tell(pr_gate_t *self, pr_gate_event_kind_t kind, pr_gate_order_t *order,
                  pr_gate_refund_t *refund);
void pr_gate_forge(pr_gate_t *self, pr_gate_order_t *order);
void pr_gate_hook_due(pr_gate_t *self, uint64_t number);
/* Sends what is ready, as far as there is room on the way. */
void pr_gate_hooks_pump(pr_gate_t *self);
void pr_gate_hooks_clear(pr_gate_t *self);

/* ---- gateway_journal.c ---- */
void pr_gate_record_reset(pr_gate_t *self);
void pr_gate_record_account(pr_gate_t *self, const pr_gate_account_t *account);
void pr_gate_record_call(pr_gate_t *self, const pr_gate_call_t *call, const char *fault);
void pr_gate_record_new_order(pr_gate_t *self, const pr_gate_order_t *order);
void pr_gate_record_order(pr_gate_t *self, const pr_gate_order_t *order, const char *what);
void pr_gate_record_saved(pr_gate_t *self, const pr_gate_account_t *account, const char *key,
                          const pr_gate_saved_t *saved);
void pr_gate_record_refund(pr_gate_t *self, const pr_gate_refund_t *refund);
void pr_gate_record_hook(pr_gate_t *self, const pr_gate_account_t *account, const char *kind,
                         const char *request_no, int status, const char *error, const char *judged);
PR_CHECK pr_rc_t pr_gate_replay(pr_gate_t *self, const char *path, pr_error_t *error);

/* ---- gateway_statement.c ---- */
/* {"request_no" or "refund_no", "plant", ["date", "currency"]}: a fault of statements. PR_BAD: error
 * says what is wanted. */
PR_CHECK pr_rc_t pr_gate_plant(pr_gate_t *self, pr_gate_account_t *account, const json_t *wish,
                               pr_error_t *error);
/* Makes an account's orders (with a number: that one) so many seconds older, refunds too: a day passes,
 * for its statements. Returns how many. */
uint64_t pr_gate_age(pr_gate_t *self, const pr_gate_account_t *account, const char *number,
                     int64_t seconds);

/* ---- gateway_control.c ---- */
/* {"profile", "account", ...}: makes or changes it. PR_BAD: error->text says what is wrong; parts may
 * have been changed. out may be NULL. */
PR_CHECK pr_rc_t pr_gate_set_account(pr_gate_t *self, const json_t *wish, pr_gate_account_t **out,
                                     pr_error_t *error);

#endif
