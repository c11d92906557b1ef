/* SPDX-License-Identifier: Apache-2.0
 *
 * What the pretend gateways remember, in memory: accounts, orders, refunds, and sums by number. It
 * says what was REALLY taken and given back, whatever answers and webhooks claimed, and is never
 * forgotten but on reset: the judge of every test.
 *
 * Amounts are integers in ISO 4217's minor unit, whatever a gateway writes on the wire.
 */
#ifndef PR_SANDBOX_GATEWAY_LEDGER_H
#define PR_SANDBOX_GATEWAY_LEDGER_H

#include "core/bucket.h"
#include "sandbox/gateway_script.h"
#include "sandbox/gateway_sign.h"

#include <jansson.h>

typedef struct pr_gate_protocol_t pr_gate_protocol_t;
typedef struct pr_gate_order_t pr_gate_order_t;
typedef struct pr_gate_refund_t pr_gate_refund_t;

#define PR_GATE_SECONDS 4096 /* of requests counted by second; older ones are overwritten */

typedef struct {
    uint64_t requests, refused; /* refused: credential or signature */
    uint64_t throttled;         /* above the account's limit */
    uint64_t calls[PR_GATE_OPERATIONS];
    uint64_t orders, paid, refunds;
    int64_t charged_minor, refunded_minor; /* all currencies together: for one-currency tests */
    uint64_t hooks, hooks_sent, hooks_accepted, hooks_lost, probes_accepted, forged_accepted;
    uint64_t double_charged, double_refunded; /* numbers that moved money twice or more often */
    uint64_t double_orders;                   /* the same by what carried the script, see README */
    int64_t double_minor;                     /* moved by all but the first */
} pr_gate_counts_t;

/* One merchant's account at one gateway. */
typedef struct {
    const pr_gate_protocol_t *protocol;
    char *name;
    uint64_t number;          /* from 1 */
    json_t *parameters;       /* texts, named as in profiles/NAME.yaml */
    EVP_PKEY *merchant;       /* verifies what the merchant sends; NULL: none */
    EVP_PKEY *gateway;        /* signs what the gateway sends */
    char *notify_url;         /* where webhooks go when the order names no address; "" none */
    char *mix;                /* of orders that bring no script */
    pr_gate_script_t trouble; /* only its faults: whatever is asked */
    uint32_t trouble_used[PR_GATE_FAULTS_MAX];
    int64_t trouble_until_ms; /* INT64_MAX: until changed */
    pr_bucket_t limit;        /* requests above it are throttled */
    pr_gate_counts_t counts;
    json_t *plants; /* faults of statements by number: gateway_statement.c; NULL: none */
    struct {
        int64_t second;
        uint32_t requests, queries;
    } * seconds; /* PR_GATE_SECONDS, by second modulo that */
} pr_gate_account_t;

/* How the payment with one of our numbers goes: made when the number is first seen, or before by the
 * control interface. */
typedef struct {
    pr_gate_script_t script;
    char *text;
    uint32_t used[PR_GATE_FAULTS_MAX], calls[PR_GATE_OPERATIONS];
    int64_t first_ms; /* monotonic; 0: not seen yet */
} pr_gate_plan_t;

typedef enum {
    PR_GATE_WAITING = 0, /* for the payer, or for the bank */
    PR_GATE_APPROVED,    /* the payer agreed; the merchant has to capture */
    PR_GATE_PAID,
    PR_GATE_FAILED,
    PR_GATE_CLOSED,
} pr_gate_state_t;

struct pr_gate_order_t {
    pr_gate_account_t *account;
    pr_gate_plan_t *plan;
    uint64_t index;
    char *request_no, *reference, *label, *notify_url, *currency;
    char fingerprint[65]; /* of the parameters that must not change */
    pr_gate_state_t state;
    bool was_closed; /* money came although it had been closed */
    char code[PR_GATE_WORD_MAX];
    int64_t amount, captured, refunded, refund_held;
    int64_t created_us, paid_us, ended_us;
    pr_gate_refund_t *refunds; /* newest first */
    pr_gate_order_t *older;    /* another of the same number; NULL: none */
    uint64_t waiting_hook;     /* `reorder`: waits for the next event; 0: none */
};

typedef enum {
    PR_GATE_REFUND_PENDING = 0,
    PR_GATE_REFUND_DONE,
    PR_GATE_REFUND_FAILED,
    PR_GATE_REFUND_REVERSED,
} pr_gate_refund_state_t;

struct pr_gate_refund_t {
    pr_gate_order_t *order;
    pr_gate_refund_t *next;
    uint64_t index;
    char *refund_no, *reference, *notify_url;
    pr_gate_refund_state_t state;
    int64_t amount, created_us, ended_us;
};

typedef struct {
    uint32_t count; /* times that money was moved under this number */
    int64_t sum;
} pr_gate_tally_t;

const char *pr_gate_state_name(pr_gate_state_t state);
const char *pr_gate_refund_state_name(pr_gate_refund_state_t state);

typedef struct pr_gate_ledger_t pr_gate_ledger_t;

pr_gate_ledger_t *pr_gate_ledger_new(uint64_t seed, size_t max_orders);
void pr_gate_ledger_destroy(pr_gate_ledger_t **self);
/* Forgets orders, refunds, plans and counts; accounts stay. */
void pr_gate_ledger_clear(pr_gate_ledger_t *self);

/* Made when new; NULL: there are 1000. */
pr_gate_account_t *pr_gate_account_make(pr_gate_ledger_t *self, const pr_gate_protocol_t *protocol,
                                        const char *name);
pr_gate_account_t *pr_gate_account_find(const pr_gate_ledger_t *self,
                                        const pr_gate_protocol_t *protocol, const char *name);
pr_gate_account_t *pr_gate_account_at(const pr_gate_ledger_t *self, size_t i); /* NULL: the end */
/* A parameter's text; "" when there is none. */
const char *pr_gate_parameter(const pr_gate_account_t *self, const char *name);

/* The plan of a number; NULL when it was never seen. */
pr_gate_plan_t *pr_gate_plan_find(const pr_gate_ledger_t *self, const pr_gate_account_t *account,
                                  const char *request_no);
/* Replaces or makes it. PR_BAD: not a script. */
PR_CHECK pr_rc_t pr_gate_plan_set(pr_gate_ledger_t *self, const pr_gate_account_t *account,
                                  const char *request_no, const char *text, size_t len,
                                  pr_error_t *error);

/* A new order of this number, which look-ups find from here on; NULL: the ledger is full. plan: of the
 * number. Its texts are copies. */
pr_gate_order_t *pr_gate_order_new(pr_gate_ledger_t *self, pr_gate_account_t *account,
                                   pr_gate_plan_t *plan, const char *request_no,
                                   const char *reference);
pr_gate_order_t *pr_gate_order_by_number(const pr_gate_ledger_t *self,
                                         const pr_gate_account_t *account, const char *request_no);
pr_gate_order_t *pr_gate_order_by_reference(const pr_gate_ledger_t *self,
                                            const pr_gate_account_t *account,
                                            const char *reference);
/* The i-th order, refund; NULL: the end. */
pr_gate_order_t *pr_gate_order_at(const pr_gate_ledger_t *self, uint64_t i);
pr_gate_refund_t *pr_gate_refund_at(const pr_gate_ledger_t *self, uint64_t i);

pr_gate_refund_t *pr_gate_refund_new(pr_gate_ledger_t *self, pr_gate_order_t *order,
                                     const char *refund_no, const char *reference);
pr_gate_refund_t *pr_gate_refund_by_number(const pr_gate_ledger_t *self,
                                           const pr_gate_account_t *account, const char *refund_no);
pr_gate_refund_t *pr_gate_refund_by_reference(const pr_gate_ledger_t *self,
                                              const pr_gate_account_t *account,
                                              const char *reference);

/* Money moved: counted under the number, and for a charge under the order. */
void pr_gate_ledger_take(pr_gate_ledger_t *self, pr_gate_order_t *order);
void pr_gate_ledger_give(pr_gate_ledger_t *self, const pr_gate_refund_t *refund);
/* How often and how much under this number of ours. */
pr_gate_tally_t pr_gate_taken(const pr_gate_ledger_t *self, const pr_gate_account_t *account,
                              const char *request_no);

/* What was answered under an Idempotency-Key. */
typedef struct {
    char fingerprint[65];
    int status; /* 0: no answer is kept */
    char *body;
    pr_gate_order_t *order; /* what it made; NULL: none */
    pr_gate_refund_t *refund;
} pr_gate_saved_t;
pr_gate_saved_t *pr_gate_saved_find(const pr_gate_ledger_t *self, const pr_gate_account_t *account,
                                    const char *key);
pr_gate_saved_t *pr_gate_saved_new(pr_gate_ledger_t *self, const pr_gate_account_t *account,
                                   const char *key, const char *fingerprint);

/* 64 well-mixed bits of a text under the seed: for draws. */
uint64_t pr_gate_mix(const pr_gate_ledger_t *self, const char *text);

#endif
