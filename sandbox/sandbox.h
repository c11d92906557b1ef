/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_sandbox_t: the judge without its sockets. A request goes in, what to answer comes out, and
 * what happened is counted (merchants), remembered (ledger) and written down (journal).
 *
 * Memory: merchants (2.5 kB each), ledger entries (64 to 128 bytes each); both have a maximum
 * set at the start, past which requests get 503 and are counted as refused.
 */
#ifndef PR_SANDBOX_SANDBOX_H
#define PR_SANDBOX_SANDBOX_H

#include "sandbox/answer.h"
#include "sandbox/gateway.h"
#include "sandbox/journal.h"
#include "sandbox/request.h"

typedef struct {
    uint64_t seed;  /* of the dice of `flaky` */
    size_t max_ids; /* notifications remembered */
    size_t max_merchants;
    bool strict;         /* answer 401 to a bad or missing signature */
    const char *journal; /* path; NULL: none */
    pr_gate_options_t gateway;
} pr_sandbox_options_t;

typedef struct {
    pr_sandbox_options_t options;
    pr_merchants_t *merchants;
    pr_ledger_t *ledger;
    pr_journal_t *journal;
    pr_gate_t *gate;      /* the payment gateways' side */
    int64_t journal_from; /* bytes of the journal that are older than this run or the last reset */
    uint64_t refused;     /* requests that were not HTTP, not for a merchant, or over a limit */
    uint64_t connections; /* accepted so far */
    uint64_t open;        /* now */
} pr_sandbox_t;

/* One request on its way to an answer. */
typedef struct {
    pr_merchant_t *merchant;
    pr_receipt_t receipt;
    pr_answer_t answer;
} pr_exchange_t;

pr_sandbox_t *pr_sandbox_new(const pr_sandbox_options_t *options, pr_error_t *error);
void pr_sandbox_destroy(pr_sandbox_t **self);

/* Receives a request for a merchant: counts it, decides. Returns 0, or the status of a refusal
 * (404 no such path, 405, 503 full, 400 a temper that cannot be read); then *out is not set.
 * Each exchange must end in pr_sandbox_record and pr_sandbox_leave, in this order. */
int pr_sandbox_receive(pr_sandbox_t *self, const pr_request_t *request, const uint8_t *data,
                       pr_now_t now, pr_exchange_t *out);
/* Puts the exchange on record: its answer is about to go (or will never: hang, reset), or the sender
 * left before it. */
void pr_sandbox_record(pr_sandbox_t *self, pr_exchange_t *exchange, bool abandoned,
                       int64_t wall_us);
void pr_sandbox_leave(pr_exchange_t *exchange); /* no longer in flight */

/* Forgets all but tempers and secrets. PR_FATAL: the journal could not be written. */
PR_CHECK pr_rc_t pr_sandbox_reset(pr_sandbox_t *self, int64_t wall_us);

/* Control API; appends a whole HTTP answer to out. close as in pr_answer_plain. */
PR_CHECK pr_rc_t pr_control_answer(pr_sandbox_t *self, const pr_request_t *request,
                                   const uint8_t *data, pr_now_t now, pr_buffer_t *out);
/* The statistics as JSON text, the caller's. one: a merchant, or NULL for all with totals. */
char *pr_control_stats(const pr_sandbox_t *self, const pr_merchant_t *one);

#endif
