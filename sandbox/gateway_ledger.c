/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/gateway_ledger.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fnv.h"
#include "base/map.h"

#include <string.h>

#define ACCOUNTS_MAX 1000

/* What a key of the index means; one map holds all. */
typedef enum {
    KEY_PLAN = 1,
    KEY_ORDER_NUMBER,
    KEY_ORDER_REFERENCE,
    KEY_REFUND_NUMBER,
    KEY_REFUND_REFERENCE,
    KEY_TAKEN_NUMBER,
    KEY_TAKEN_ORDER,
    KEY_GIVEN,
    KEY_SAVED,
} key_kind_t;

struct pr_gate_ledger_t {
    uint64_t seed;
    size_t max_orders;
    pr_gate_account_t *accounts[ACCOUNTS_MAX];
    size_t account_count;
    pr_gate_order_t **orders;
    size_t order_count, order_room;
    pr_gate_refund_t **refunds;
    size_t refund_count, refund_room;
    void **owned; /* plans, tallies */
    size_t owned_count, owned_room;
    pr_gate_saved_t **saved;
    size_t saved_count, saved_room;
    pr_gate_plan_t **plans;
    size_t plan_count, plan_room;
    pr_map_t *index;
};

const char *pr_gate_state_name(pr_gate_state_t state)
{
    static const char *const names[] = {"pending", "approved", "succeeded", "failed", "cancelled"};
    return names[state];
}

const char *pr_gate_refund_state_name(pr_gate_refund_state_t state)
{
    static const char *const names[] = {"pending", "succeeded", "failed", "reversed"};
    return names[state];
}

#define GROW(array, count, room) \
    do { \
        if ((count) == (room)) { \
            (room) = (room) ? 2 * (room) : 1024; \
            (array) = pr_realloc((array), (room), sizeof((array)[0])); \
        } \
    } while (0)

pr_gate_ledger_t *pr_gate_ledger_new(uint64_t seed, size_t max_orders)
{
    pr_gate_ledger_t *self = PR_NEW(pr_gate_ledger_t);
    self->seed = seed;
    self->max_orders = max_orders;
    self->index = pr_map_new((size_t)1 << 31, seed);
    return self;
}

static void free_order(pr_gate_order_t *order)
{
    pr_free(order->request_no);
    pr_free(order->reference);
    pr_free(order->label);
    pr_free(order->notify_url);
    pr_free(order->currency);
    pr_free(order);
}

static void free_refund(pr_gate_refund_t *refund)
{
    pr_free(refund->refund_no);
    pr_free(refund->reference);
    pr_free(refund->notify_url);
    pr_free(refund);
}

void pr_gate_ledger_clear(pr_gate_ledger_t *self)
{
    for (size_t i = 0; i < self->order_count; i++) {
        free_order(self->orders[i]);
    }
    for (size_t i = 0; i < self->refund_count; i++) {
        free_refund(self->refunds[i]);
    }
    for (size_t i = 0; i < self->owned_count; i++) {
        pr_free(self->owned[i]);
    }
    for (size_t i = 0; i < self->saved_count; i++) {
        pr_free(self->saved[i]->body);
        pr_free(self->saved[i]);
    }
    for (size_t i = 0; i < self->plan_count; i++) {
        pr_free(self->plans[i]->text);
        pr_free(self->plans[i]);
    }
    self->order_count = self->refund_count = self->owned_count = 0;
    self->saved_count = self->plan_count = 0;
    pr_map_clear(self->index);
    for (size_t i = 0; i < self->account_count; i++) {
        pr_gate_account_t *account = self->accounts[i];
        account->counts = (pr_gate_counts_t){0};
        memset(account->seconds, 0, PR_GATE_SECONDS * sizeof(account->seconds[0]));
        memset(account->trouble_used, 0, sizeof(account->trouble_used));
        json_decref(account->plants);
        account->plants = NULL;
    }
}

static void free_account(pr_gate_account_t *account)
{
    json_decref(account->parameters);
    EVP_PKEY_free(account->merchant);
    EVP_PKEY_free(account->gateway);
    pr_free(account->name);
    pr_free(account->notify_url);
    pr_free(account->mix);
    pr_free(account->seconds);
    pr_free(account);
}

void pr_gate_ledger_destroy(pr_gate_ledger_t **self)
{
    pr_gate_ledger_t *ledger = *self;
    if (ledger) {
        pr_gate_ledger_clear(ledger);
        for (size_t i = 0; i < ledger->account_count; i++) {
            free_account(ledger->accounts[i]);
        }
        pr_map_destroy(&ledger->index);
        pr_free(ledger->orders);
        pr_free(ledger->refunds);
        pr_free(ledger->owned);
        pr_free(ledger->saved);
        pr_free(ledger->plans);
        pr_free(ledger);
        *self = NULL;
    }
}

/* ---- accounts ---- */

pr_gate_account_t *pr_gate_account_find(const pr_gate_ledger_t *self,
                                        const pr_gate_protocol_t *protocol, const char *name)
{
    for (size_t i = 0; i < self->account_count; i++) {
        if (self->accounts[i]->protocol == protocol && strcmp(self->accounts[i]->name, name) == 0) {
            return self->accounts[i];
        }
    }
    return NULL;
}

pr_gate_account_t *pr_gate_account_make(pr_gate_ledger_t *self, const pr_gate_protocol_t *protocol,
                                        const char *name)
{
    pr_gate_account_t *account = pr_gate_account_find(self, protocol, name);
    if (account || self->account_count == ACCOUNTS_MAX) {
        return account;
    }
    account = PR_NEW(pr_gate_account_t);
    account->protocol = protocol;
    account->name = pr_strdup(name);
    account->parameters = json_object();
    account->notify_url = pr_strdup("");
    account->mix = pr_strdup("");
    account->trouble_until_ms = INT64_MAX;
    account->seconds = pr_calloc(PR_GATE_SECONDS, sizeof(account->seconds[0]));
    self->accounts[self->account_count++] = account;
    account->number = self->account_count;
    return account;
}

pr_gate_account_t *pr_gate_account_at(const pr_gate_ledger_t *self, size_t i)
{
    return i < self->account_count ? self->accounts[i] : NULL;
}

const char *pr_gate_parameter(const pr_gate_account_t *self, const char *name)
{
    const char *text = json_string_value(json_object_get(self->parameters, name));
    return text ? text : "";
}

/* ---- the index ---- */

/* 64 bits of FNV-1a stand for (account, kind, text): with the millions of numbers of one test no two
 * of them meet (2^-20 for a million of each). */
static uint64_t key_of(const pr_gate_account_t *account, key_kind_t kind, const char *text)
{
    uint64_t hash = pr_fnv_bytes(PR_FNV_START, &account->number, sizeof(account->number));
    hash = pr_fnv_bytes(hash, &kind, sizeof(kind));
    return pr_fnv_text(hash, text);
}

static void *look_up(const pr_gate_ledger_t *self, const pr_gate_account_t *account,
                     key_kind_t kind, const char *text)
{
    return text[0] ? pr_map_get(self->index, key_of(account, kind, text)) : NULL;
}

static void enter(pr_gate_ledger_t *self, const pr_gate_account_t *account, key_kind_t kind,
                  const char *text, void *value)
{
    if (text[0]) {
        pr_rc_t rc = pr_map_put(self->index, key_of(account, kind, text), value, NULL);
        pr_assert(rc == PR_OK);
    }
}

uint64_t pr_gate_mix(const pr_gate_ledger_t *self, const char *text)
{
    /* the finalizer of splitmix64: FNV's low bits alone are not even */
    uint64_t bits = pr_fnv_text(PR_FNV_START, text) + self->seed * UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

/* ---- plans ---- */

pr_gate_plan_t *pr_gate_plan_find(const pr_gate_ledger_t *self, const pr_gate_account_t *account,
                                  const char *request_no)
{
    return look_up(self, account, KEY_PLAN, request_no);
}

pr_rc_t pr_gate_plan_set(pr_gate_ledger_t *self, const pr_gate_account_t *account,
                         const char *request_no, const char *text, size_t len, pr_error_t *error)
{
    pr_gate_script_t script;
    pr_rc_t rc = pr_gate_script_parse(text, len, &script, error);
    if (rc != PR_OK) {
        return rc;
    }
    pr_gate_plan_t *plan = pr_gate_plan_find(self, account, request_no);
    if (!plan) {
        plan = PR_NEW(pr_gate_plan_t);
        GROW(self->plans, self->plan_count, self->plan_room);
        self->plans[self->plan_count++] = plan;
        enter(self, account, KEY_PLAN, request_no, plan);
    }
    pr_free(plan->text);
    plan->text = pr_strndup(text, len);
    plan->script = script;
    memset(plan->used, 0, sizeof(plan->used));
    return PR_OK;
}

/* ---- orders and refunds ---- */

pr_gate_order_t *pr_gate_order_new(pr_gate_ledger_t *self, pr_gate_account_t *account,
                                   pr_gate_plan_t *plan, const char *request_no,
                                   const char *reference)
{
    if (self->order_count == self->max_orders) {
        return NULL;
    }
    pr_gate_order_t *order = PR_NEW(pr_gate_order_t);
    order->account = account;
    order->plan = plan;
    order->index = self->order_count;
    order->request_no = pr_strdup(request_no);
    order->reference = pr_strdup(reference);
    order->older = pr_gate_order_by_number(self, account, request_no);
    GROW(self->orders, self->order_count, self->order_room);
    self->orders[self->order_count++] = order;
    enter(self, account, KEY_ORDER_NUMBER, request_no, order);
    enter(self, account, KEY_ORDER_REFERENCE, reference, order);
    account->counts.orders++;
    return order;
}

pr_gate_order_t *pr_gate_order_by_number(const pr_gate_ledger_t *self,
                                         const pr_gate_account_t *account, const char *request_no)
{
    return look_up(self, account, KEY_ORDER_NUMBER, request_no);
}

pr_gate_order_t *pr_gate_order_by_reference(const pr_gate_ledger_t *self,
                                            const pr_gate_account_t *account, const char *reference)
{
    return look_up(self, account, KEY_ORDER_REFERENCE, reference);
}

pr_gate_order_t *pr_gate_order_at(const pr_gate_ledger_t *self, uint64_t i)
{
    return i < self->order_count ? self->orders[i] : NULL;
}

pr_gate_refund_t *pr_gate_refund_new(pr_gate_ledger_t *self, pr_gate_order_t *order,
                                     const char *refund_no, const char *reference)
{
    pr_gate_refund_t *refund = PR_NEW(pr_gate_refund_t);
    refund->order = order;
    refund->index = self->refund_count;
    refund->refund_no = pr_strdup(refund_no);
    refund->reference = pr_strdup(reference);
    refund->next = order->refunds;
    order->refunds = refund;
    GROW(self->refunds, self->refund_count, self->refund_room);
    self->refunds[self->refund_count++] = refund;
    enter(self, order->account, KEY_REFUND_NUMBER, refund_no, refund);
    enter(self, order->account, KEY_REFUND_REFERENCE, reference, refund);
    order->account->counts.refunds++;
    return refund;
}

pr_gate_refund_t *pr_gate_refund_by_number(const pr_gate_ledger_t *self,
                                           const pr_gate_account_t *account, const char *refund_no)
{
    return look_up(self, account, KEY_REFUND_NUMBER, refund_no);
}

pr_gate_refund_t *pr_gate_refund_by_reference(const pr_gate_ledger_t *self,
                                              const pr_gate_account_t *account,
                                              const char *reference)
{
    return look_up(self, account, KEY_REFUND_REFERENCE, reference);
}

pr_gate_refund_t *pr_gate_refund_at(const pr_gate_ledger_t *self, uint64_t i)
{
    return i < self->refund_count ? self->refunds[i] : NULL;
}

/* ---- money ---- */

static pr_gate_tally_t *tally(pr_gate_ledger_t *self, const pr_gate_account_t *account,
                              key_kind_t kind, const char *text, int64_t amount)
{
    pr_gate_tally_t *sums = look_up(self, account, kind, text);
    if (!sums) {
        sums = PR_NEW(pr_gate_tally_t);
        GROW(self->owned, self->owned_count, self->owned_room);
        self->owned[self->owned_count++] = sums;
        enter(self, account, kind, text, sums);
    }
    sums->count++;
    sums->sum += amount;
    return sums;
}

void pr_gate_ledger_take(pr_gate_ledger_t *self, pr_gate_order_t *order)
{
    pr_gate_counts_t *counts = &order->account->counts;
    counts->paid++;
    counts->charged_minor += order->captured;
    uint32_t by_number =
        tally(self, order->account, KEY_TAKEN_NUMBER, order->request_no, order->captured)->count;
    uint32_t by_order = 0;
    if (order->label[0] != '~') { /* a script by itself names no order */
        by_order =
            tally(self, order->account, KEY_TAKEN_ORDER, order->label, order->captured)->count;
    }
    counts->double_charged += by_number == 2;
    counts->double_orders += by_order == 2;
    counts->double_minor += by_number > 1 || by_order > 1 ? order->captured : 0;
}

void pr_gate_ledger_give(pr_gate_ledger_t *self, const pr_gate_refund_t *refund)
{
    pr_gate_counts_t *counts = &refund->order->account->counts;
    uint32_t count =
        tally(self, refund->order->account, KEY_GIVEN, refund->refund_no, refund->amount)->count;
    counts->refunded_minor += refund->amount;
    counts->double_refunded += count == 2;
    counts->double_minor += count > 1 ? refund->amount : 0;
}

pr_gate_tally_t pr_gate_taken(const pr_gate_ledger_t *self, const pr_gate_account_t *account,
                              const char *request_no)
{
    const pr_gate_tally_t *sums = look_up(self, account, KEY_TAKEN_NUMBER, request_no);
    return sums ? *sums : (pr_gate_tally_t){0};
}

/* ---- idempotency keys ---- */

pr_gate_saved_t *pr_gate_saved_find(const pr_gate_ledger_t *self, const pr_gate_account_t *account,
                                    const char *key)
{
    return look_up(self, account, KEY_SAVED, key);
}

pr_gate_saved_t *pr_gate_saved_new(pr_gate_ledger_t *self, const pr_gate_account_t *account,
                                   const char *key, const char *fingerprint)
{
    pr_gate_saved_t *saved = PR_NEW(pr_gate_saved_t);
    memcpy(saved->fingerprint, fingerprint, sizeof(saved->fingerprint));
    GROW(self->saved, self->saved_count, self->saved_room);
    self->saved[self->saved_count++] = saved;
    enter(self, account, KEY_SAVED, key, saved);
    return saved;
}
