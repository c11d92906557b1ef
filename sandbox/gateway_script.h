/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_gate_script_t: how one payment goes at the pretend gateway, written as one short text that fits
 * into an order number: `~pay:2s~lost`, `~fail:insufficient_funds`, `~charge:timeout*2`. Each `~`
 * begins a clause; the tables in gateway_script.c are the only list of them, and
 * `postrider-sandbox --help` prints it. Pure.
 *
 * A mix is alternatives with weights, `60%~pay|30%~pay:2s~lost|10%~unpaid`: one of them is drawn
 * for each payment, always the same one for the same number and seed.
 */
#ifndef PR_SANDBOX_GATEWAY_SCRIPT_H
#define PR_SANDBOX_GATEWAY_SCRIPT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_GATE_FAULTS_MAX 8
#define PR_GATE_WORD_MAX 64

typedef enum {
    PR_GATE_TOKEN = 0,
    PR_GATE_CHARGE,
    PR_GATE_CAPTURE,
    PR_GATE_QUERY, /* by either number: find, too */
    PR_GATE_REFUND,
    PR_GATE_QUERY_REFUND,
    PR_GATE_CLOSE,
    PR_GATE_STATEMENT,      /* where a day's statement lies */
    PR_GATE_STATEMENT_FILE, /* the statement */
    PR_GATE_OPERATIONS,
} pr_gate_operation_t;

const char *pr_gate_operation_name(pr_gate_operation_t operation); /* "query-refund" ... */

/* What the payer (or the bank behind a refund) does. */
typedef enum {
    PR_GATE_END_PAY = 0,
    PR_GATE_END_FAIL,
    PR_GATE_END_UNPAID,  /* nothing, until the order is closed */
    PR_GATE_END_PENDING, /* under way for ever: cannot be closed, either */
    PR_GATE_END_REVERSE, /* refunds: done, then undone */
} pr_gate_end_t;

typedef enum {
    PR_GATE_FAULT_NONE = 0,
    PR_GATE_FAULT_HANG,  /* never an answer */
    PR_GATE_FAULT_RESET, /* RST */
    PR_GATE_FAULT_DROP,  /* FIN */
    PR_GATE_FAULT_GARBAGE,
    PR_GATE_FAULT_SLOW,        /* the right answer, ms later */
    PR_GATE_FAULT_THROTTLED,   /* the gateway's own words for "too many"; ms: Retry-After */
    PR_GATE_FAULT_ERROR,       /* its own words for "server error" */
    PR_GATE_FAULT_MAINTENANCE, /* and for "maintenance" */
    PR_GATE_FAULT_CREDENTIAL,  /* and for "who are you" */
    PR_GATE_FAULT_STATUS,      /* a proxy's page with this status */
} pr_gate_fault_kind_t;

typedef struct {
    uint32_t operations; /* 1U << pr_gate_operation_t */
    pr_gate_fault_kind_t kind;
    int status;
    int64_t ms;     /* -1: not given */
    bool effect;    /* the operation takes effect all the same */
    uint32_t times; /* the first so many calls; 0: all */
} pr_gate_fault_t;

typedef struct {
    pr_gate_end_t end;
    int64_t ms; /* after the order was made; -1: at once */
    char code[PR_GATE_WORD_MAX];
} pr_gate_course_t;

typedef struct {
    pr_gate_course_t payment, refund;
    bool anyway;        /* the payer pays even though the order was closed */
    int64_t captured;   /* minor units taken; -1: the whole amount */
    int64_t hidden_ms;  /* queries find nothing so long; 0: at once */
    int64_t said_minor; /* what the gateway says was paid; -1: the truth */
    char said_currency[4], said_account[PR_GATE_WORD_MAX]; /* "" = the truth */
    int64_t hook_ms;                                       /* before a webhook goes out */
    uint32_t hook_copies;                                  /* how often each goes out; 0: lost */
    bool hook_reorder, hook_forge, hook_probe, hook_gbk, hook_once;
    size_t fault_count;
    pr_gate_fault_t faults[PR_GATE_FAULTS_MAX];
} pr_gate_script_t;

/* Paid at once, webhook at once. */
void pr_gate_script_init(pr_gate_script_t *self);
/* text: clauses, beginning with '~' or not. PR_BAD: error->text names the clause; *out unchanged. */
PR_CHECK pr_rc_t pr_gate_script_parse(const char *text, size_t len, pr_gate_script_t *out,
                                      pr_error_t *error);
/* The alternative of a mix that `draw` (64 uniform bits) chooses; a text without '|' is its own. */
void pr_gate_script_draw(const char *mix, uint64_t draw, const char **text, size_t *len);

/* Row i of the table for --help: false after the last. Static texts. */
bool pr_gate_script_describe(size_t i, const char **usage, const char **help);

#endif
