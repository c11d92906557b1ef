/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_gate_t: the pretend payment gateways behind the sandbox's port, one for each shipped profile,
 * told apart by their paths. It verifies what merchants send, moves (pretend) money, tells it by
 * signed answers and webhooks, and goes wrong as scripts say (gateway_script.h). What really
 * happened is in its ledger (gateway_ledger.h) and, line by line, in its journal.
 *
 * Without sockets of its own: requests come from the server, webhooks leave through lib/http.
 *
 * Journal: one JSON object a line, written before the answer that it is about leaves, so that a
 * SIGKILL loses nothing that a merchant was told. On start it is read again: accounts, orders and
 * refunds live on, what was still open goes on from there.
 */
#ifndef PR_SANDBOX_GATEWAY_H
#define PR_SANDBOX_GATEWAY_H

#include "sandbox/answer.h"
#include "sandbox/journal.h"
#include "sandbox/request.h"

typedef struct {
    uint64_t seed;       /* of references, nonces and mixes */
    size_t max_orders;   /* about 1 kB each */
    const char *journal; /* path; NULL: none */
    int webhook_tries;   /* of one webhook that is not accepted */
} pr_gate_options_t;

/* The clocks of one turn. */
typedef struct {
    int64_t mono_ms, wall_us;
} pr_now_t;

typedef struct pr_gate_t pr_gate_t;

/* What the server does with the bytes that were appended to its buffer. */
typedef struct {
    pr_answer_how_t how; /* RAW: then FIN */
    int64_t delay_ms;
} pr_gate_outcome_t;

pr_gate_t *pr_gate_new(const pr_gate_options_t *options, pr_error_t *error);
void pr_gate_destroy(pr_gate_t **self);

/* Is this a path of a gateway's? */
bool pr_gate_owns(pr_bytes_t target);
/* Serves one whole request; close: say so in the answer. */
pr_gate_outcome_t pr_gate_receive(pr_gate_t *self, const pr_request_t *request, const uint8_t *data,
                                  pr_now_t now, pr_buffer_t *out);
/* Payers pay, banks decide, webhooks leave: what is due. */
void pr_gate_turn(pr_gate_t *self, pr_now_t now);
int64_t pr_gate_due_ms(const pr_gate_t *self); /* monotonic; INT64_MAX: nothing waits */
int pr_gate_fd(const pr_gate_t *self);         /* readable: pr_gate_turn has work */
/* PR_FATAL: the disk refused. */
PR_CHECK pr_rc_t pr_gate_flush(pr_gate_t *self, pr_error_t *error);

/* The calls under /control/gateway/; path and query are without each other. As handlers of control.c: 0
 * and a whole answer in out, or the status of a failure whose text is in *error. */
int pr_gate_control(pr_gate_t *self, pr_bytes_t method, pr_bytes_t path, pr_bytes_t query,
                    pr_bytes_t body, pr_now_t now, pr_buffer_t *out, pr_error_t *error);
/* A JSON file: a list of accounts, each as POST /control/gateway/account takes it. */
PR_CHECK pr_rc_t pr_gate_load(pr_gate_t *self, const char *path, pr_error_t *error);

#endif
