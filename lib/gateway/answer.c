/* SPDX-License-Identifier: Apache-2.0
 *
 * What an answer to one of our requests means. The order of words: the transport, the profile's
 * failures, the signature, the reader, and at last what HTTP says in general. Where nothing knows
 * better, a call that may have moved money is UNKNOWN and asked about first (R2); a mere question
 * is asked again later.
 */
#include "base/alloc.h"
#include "core/json_path.h"
#include "core/retry_after.h"
#include "gateway/document.h"
#include "gateway/evidence.h"
#include "gateway/signature.h"

#include <stdio.h>
#include <string.h>

static bool moves_money(pr_operation_t operation)
{
    return operation == PR_OPERATION_CHARGE || operation == PR_OPERATION_CAPTURE ||
           operation == PR_OPERATION_REFUND || operation == PR_OPERATION_CLOSE ||
           operation == PR_OPERATION_ACT;
}

static void conclude(pr_evidence_t *out, pr_status_t status, pr_action_t action, const char *reason)
{
    out->status = status;
    out->action = action;
    snprintf(out->reason, sizeof out->reason, "%s", reason);
}

/* Nobody knows what became of it. */
static void unknown(pr_evidence_t *out, pr_operation_t operation, const char *reason)
{
    conclude(out, PR_STATUS_UNKNOWN,
             moves_money(operation) ? PR_ACTION_QUERY_FIRST : PR_ACTION_BACK_OFF, reason);
}

static void judge_transport(pr_transport_t transport, pr_operation_t operation, pr_evidence_t *out)
{
    switch (transport) {
    case PR_TRANSPORT_DNS:
    case PR_TRANSPORT_CONNECT: /* not one byte of the request was sent */
        conclude(out, PR_STATUS_UNKNOWN,
                 moves_money(operation) ? PR_ACTION_RETRY : PR_ACTION_BACK_OFF, "not_reached");
        return;
    case PR_TRANSPORT_PROXY:
    case PR_TRANSPORT_FORBIDDEN_ADDRESS:
    case PR_TRANSPORT_BAD_CONFIG:
        conclude(out, PR_STATUS_UNKNOWN, PR_ACTION_STOP_CHANNEL, "configuration");
        return;
    case PR_TRANSPORT_CONNECT_TIMEOUT:
    case PR_TRANSPORT_TLS_TIMEOUT:
    case PR_TRANSPORT_FIRST_BYTE_TIMEOUT:
    case PR_TRANSPORT_TOTAL_TIMEOUT:
        unknown(out, operation, "timeout");
        return;
    default:
        unknown(out, operation, "no_answer");
        return;
    }
}

static void judge_http(uint32_t status, pr_operation_t operation, pr_evidence_t *out)
{
    if (status == 429)
        conclude(out, PR_STATUS_UNKNOWN, PR_ACTION_BACK_OFF, "rate_limited");
    else if (status == 401 || status == 403)
        conclude(out, PR_STATUS_UNKNOWN, PR_ACTION_STOP_CHANNEL, "credential_refused");
    else
        unknown(out, operation, status >= 500 ? "server_error" : "unexpected_answer");
}

static bool is_success(uint32_t status)
{
    return status >= 200 && status <= 299;
}

/* What is not signed as it should be says nothing about the payment; that the gateway is busy or
 * refuses us may still be taken from it. */
static void distrust(pr_evidence_t *out, pr_operation_t operation, const pr_rule_line_t *rule,
                     pr_signature_t signature)
{
    int64_t retry_after_ms = out->retry_after_ms;
    pr_object_t object = out->object;
    pr_evidence_init(out);
    out->object = object;
    out->asked = true;
    out->retry_after_ms = retry_after_ms;
    unknown(out, operation, pr_signature_reason(signature));
    if (rule && (rule->action == PR_ACTION_BACK_OFF || rule->action == PR_ACTION_LONGER_INTERVAL ||
                 rule->action == PR_ACTION_STOP_CHANNEL))
        conclude(out, PR_STATUS_UNKNOWN, rule->action, rule->reason);
}

static void judge_document(const pr_operation_spec_t *spec, pr_operation_t operation,
                           bool paid_before, const pr_template_context_t *context,
                           uint32_t http_status, pr_evidence_t *out)
{
    const pr_profile_t *profile = context->channel->profile;
    const pr_rule_line_t *rule = pr_rules_find(&profile->failures, operation, context, http_status);
    bool success = is_success(http_status);
    bool empty = success && context->body.len == 0; /* 204: the status is all that it says */
    if (context->root.type == PR_JSON_NONE && !rule && !empty) {
        if (success)
            unknown(out, operation, "malformed_answer");
        else
            judge_http(http_status, operation, out);
        return;
    }
    pr_evidence_read(spec->reads, context, http_status, paid_before, success && !rule, out);
    if (rule)
        pr_evidence_apply_rule(out, profile, rule, paid_before);
    else if (!success)
        judge_http(http_status, operation, out);
    else if (out->status == PR_STATUS_UNKNOWN && out->action == PR_ACTION_LONGER_INTERVAL &&
             moves_money(operation))
        out->action = PR_ACTION_QUERY_FIRST; /* it answered, but what, nobody here knows */
    if (!success || !profile->verifies_answers || spec->unsigned_)
        return;
    pr_signature_t signature =
        pr_signature_check(&profile->verify_answers, context, pr_bytes(NULL, 0), NULL);
    if (signature != PR_SIGNATURE_GOOD)
        distrust(out, operation, rule, signature);
}

static void judge_answer(const pr_channel_t *channel, const pr_operation_spec_t *spec,
                         pr_operation_t operation, bool paid_before,
                         const pr_gateway_answer_t *answer, int64_t now_us, pr_evidence_t *out)
{
    pr_document_t document;
    pr_bytes_t retry_after;
    pr_template_context_t context = {.channel = channel,
                                     .now_us = now_us,
                                     .body = answer->body,
                                     .headers = answer->headers,
                                     .header_count = answer->header_count};
    if (pr_header_find(answer->headers, answer->header_count, "Retry-After", &retry_after))
        (void)pr_retry_after_parse(retry_after, now_us / 1000000, PR_RETRY_AFTER_CAP_MS,
                                   &out->retry_after_ms);
    pr_document_init(&document);
    if (pr_document_read_json(&document, answer->body, channel->profile->charset) == PR_OK) {
        context.root = document.root;
        context.raw_charset = document.raw_charset;
        if (pr_json_path_get(document.root, spec->root, &context.item) != PR_OK)
            context.item = (pr_json_t){0};
    }
    context.left_out = &channel->profile->verify_answers.leave_out;
    judge_document(spec, operation, paid_before, &context, answer->http_status, out);
    out->flawed_text = document.flawed_text;
    pr_document_free(&document);
}

void pr_gateway_judge(const pr_channel_t *channel, pr_operation_t operation,
                      const pr_payment_facts_t *facts, const pr_gateway_answer_t *answer,
                      int64_t now_us, pr_evidence_t *out)
{
    pr_evidence_init(out);
    out->asked = true;
    const pr_operation_spec_t *spec = operation > PR_OPERATION_NONE && operation < PR_OPERATIONS
                                          ? channel->profile->operations[operation]
                                          : NULL;
    if (spec)
        out->object = spec->reads->object;
    if (!spec)
        conclude(out, PR_STATUS_UNKNOWN, PR_ACTION_PERSON, "no_such_operation");
    else if (answer->transport != PR_TRANSPORT_OK)
        judge_transport(answer->transport, operation, out);
    else
        judge_answer(channel, spec, operation, facts && facts->paid_before, answer, now_us, out);
}
