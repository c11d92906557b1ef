/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/evidence_json.h"

#include "base/alloc.h"
#include "gateway/json_writer.h"

static const char *const transports[PR_TRANSPORTS] = {"none",
                                                      "ok",
                                                      "dns",
                                                      "connect",
                                                      "connect_timeout",
                                                      "tls",
                                                      "tls_timeout",
                                                      "first_byte_timeout",
                                                      "total_timeout",
                                                      "reset",
                                                      "protocol",
                                                      "too_large",
                                                      "proxy",
                                                      "forbidden_address",
                                                      "bad_config"};

const char *pr_transport_name(pr_transport_t transport)
{
    return (size_t)transport < PR_COUNT(transports) ? transports[transport] : "?";
}

static void amount(pr_json_writer_t *self, const char *name, const pr_amount_t *value)
{
    if (value->state == PR_AMOUNT_KNOWN)
        pr_json_write_number(self, name, value->minor);
    else if (value->state == PR_AMOUNT_FLAWED)
        pr_json_write_text(self, name, "flawed");
}

static void write_meaning(pr_json_writer_t *self, const pr_evidence_t *evidence)
{
    const char *status = pr_status_name(evidence->status);
    pr_json_write_text(self, "object", pr_object_name(evidence->object));
    pr_json_write_text(self, "status", status[0] ? status : "NONE");
    pr_json_write_text(self, "action", pr_action_name(evidence->action));
    pr_json_write_text(self, "follow_up", pr_follow_up_name(evidence->follow_up));
    pr_json_write_flag(self, "final", evidence->final);
    pr_json_write_flag(self, "asked", evidence->asked);
    pr_json_write_flag(self, "ambiguous", evidence->ambiguous);
    pr_json_write_flag(self, "flawed_text", evidence->flawed_text);
    pr_json_write_text(self, "native", evidence->native);
    pr_json_write_text(self, "reason", evidence->reason);
    pr_json_write_text(self, "flaw", evidence->flaw);
}

static void write_facts(pr_json_writer_t *self, const pr_evidence_t *evidence)
{
    pr_json_write_text(self, "account", evidence->account);
    pr_json_write_text(self, "request_no", evidence->request_no);
    pr_json_write_text(self, "reference", evidence->reference);
    pr_json_write_text(self, "refund_no", evidence->refund_no);
    pr_json_write_text(self, "refund_reference", evidence->refund_reference);
    pr_json_write_text(self, "currency", evidence->currency);
    amount(self, "amount", &evidence->amount);
    amount(self, "captured_total", &evidence->captured_total);
    amount(self, "refunded_total", &evidence->refunded_total);
    amount(self, "refund_amount", &evidence->refund_amount);
    pr_json_write_text(self, "failure_code", evidence->failure_code);
    pr_json_write_text(self, "failure_message", evidence->failure_message);
    pr_json_write_known(self, "paid_at_us", evidence->paid_at_us);
    pr_json_write_known(self, "occurred_at_us", evidence->occurred_at_us);
    pr_json_write_text(self, "next_action_kind", evidence->next_action_kind);
    pr_json_write_text(self, "next_action", evidence->next_action);
    pr_json_write_known(self, "retry_after_ms", evidence->retry_after_ms);
}

static void write_call(pr_json_writer_t *self, const pr_evidence_call_t *call)
{
    pr_json_write_text(self, "transport", pr_transport_name(call->transport));
    if (call->http_status > 0)
        pr_json_write_number(self, "http_status", call->http_status);
    pr_json_write_text(self, "error", call->error);
    pr_json_write_number(self, "duration_ms", call->duration_ms);
    pr_json_write_number(self, "started_at_us", call->started_at_us);
    pr_json_write_text(self, "request_sha256", call->request_sha256);
}

pr_rc_t pr_evidence_to_json(const pr_evidence_t *evidence, const pr_evidence_call_t *call,
                            pr_buffer_t *out)
{
    pr_json_writer_t self = {.out = out, .rc = PR_OK};
    size_t before = out->len;
    pr_json_write_raw(&self, "{");
    write_meaning(&self, evidence);
    write_facts(&self, evidence);
    if (call != NULL)
        write_call(&self, call);
    pr_json_write_raw(&self, "}");
    if (self.rc != PR_OK && out->data != NULL) {
        out->len = before;
        out->data[before] = '\0';
    }
    return self.rc;
}
