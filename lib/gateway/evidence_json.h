/* SPDX-License-Identifier: Apache-2.0
 *
 * Evidence as one JSON object: what workers send as Outcome.evidence, what ingress and the command
 * line hand to apply_evidence() in the database. The keys are the fields of pr_evidence_t, the words
 * those of pr_status_name and its like:
 *
 *   object status final action follow_up asked ambiguous flawed_text native reason flaw account
 *   request_no reference refund_no refund_reference currency amount captured_total
 *   refunded_total refund_amount failure_code failure_message paid_at_us occurred_at_us
 *   next_action_kind next_action retry_after_ms
 *
 * and, of a call: http_status transport error duration_ms started_at_us request_sha256. What is
 * not known is left out; object, status, action and the flags are always there. Amounts are
 * integers in the minor unit, a flawed one is the text "flawed". Token and secrets are never in it.
 *
 * Valid UTF-8 for Postgres' jsonb whatever the gateway sent: what is no UTF-8 or a NUL has become
 * U+FFFD. Pure.
 */
#ifndef PR_GATEWAY_EVIDENCE_JSON_H
#define PR_GATEWAY_EVIDENCE_JSON_H

#include "gateway/gateway.h"

#define PR_EVIDENCE_JSON_MAX_BYTES ((size_t)24 * 1024) /* the largest evidence fits */

/* What is known of the call that brought the evidence. */
typedef struct {
    pr_transport_t transport;
    uint32_t http_status; /* 0: no answer */
    const char *error;    /* lib/http's word; NULL or "": none */
    uint32_t duration_ms;
    int64_t started_at_us;
    const char
        *request_sha256; /* hex, of "METHOD TARGET\n" and the body that were sent; NULL: none */
} pr_evidence_call_t;

/* Appends to out, which needs room for PR_EVIDENCE_JSON_MAX_BYTES. call may be NULL (a webhook). */
PR_CHECK pr_rc_t pr_evidence_to_json(const pr_evidence_t *evidence, const pr_evidence_call_t *call,
                                     pr_buffer_t *out);

const char *pr_transport_name(pr_transport_t transport); /* "ok", "connect_timeout" ... */

#endif
