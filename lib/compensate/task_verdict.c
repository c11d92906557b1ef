/* SPDX-License-Identifier: Apache-2.0 */
#include "compensate/task_verdict.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const pr_task_handler_t *pr_task_chosen(const pr_task_kind_t *kind, int tries)
{
    return kind->second_after > 0 && tries >= kind->second_after ? kind->second : kind->handler;
}

pr_operation_t pr_task_operation(const pr_task_handler_t *handler, bool unknown)
{
    return unknown && handler->asks ? PR_OPERATION_ASK : PR_OPERATION_ACT;
}

static void conclude(pr_run_verdict_t *out, pr_run_outcome_t outcome, bool unknown)
{
    out->outcome = outcome;
    out->unknown = unknown;
}

/* The handler says that it did not do it. */
static void judge_failure(bool asked, const pr_evidence_t *evidence, pr_run_verdict_t *out)
{
    bool again = evidence->action == PR_ACTION_RETRY || evidence->action == PR_ACTION_BACK_OFF ||
                 evidence->action == PR_ACTION_LONGER_INTERVAL ||
                 (evidence->action == PR_ACTION_NONE && !evidence->final);
    conclude(out, !again ? PR_RUN_PERSON : asked ? PR_RUN_ACT : PR_RUN_RETRY, false);
}

/* Nobody knows, or it was not taken. A question without an answer leaves what was unknown so. */
static void judge_unknown(bool asked, bool unknown, const pr_evidence_t *evidence,
                          pr_run_verdict_t *out)
{
    switch (evidence->action) {
    case PR_ACTION_PERSON:
    case PR_ACTION_FAIL_NOW:
        conclude(out, PR_RUN_PERSON, unknown);
        return;
    case PR_ACTION_RETRY: /* not reached */
    case PR_ACTION_BACK_OFF:
    case PR_ACTION_LONGER_INTERVAL:
    case PR_ACTION_STOP_CHANNEL: /* refused: somebody corrects the configuration meanwhile */
        conclude(out, PR_RUN_RETRY, unknown);
        return;
    default:
        conclude(out, PR_RUN_RETRY, unknown || !asked);
        return;
    }
}

static bool listed(const pr_task_kind_t *kind, const char *code)
{
    for (int i = 0; i < kind->person_count; i++) {
        if (strcasecmp(kind->person[i], code) == 0)
            return true;
    }
    return false;
}

/* The handler's own word, else ours. */
static const char *code_of(const pr_evidence_t *evidence)
{
    if (evidence->failure_code[0] != '\0')
        return evidence->failure_code;
    if (evidence->reason[0] != '\0')
        return evidence->reason;
    bool said = evidence->status != PR_STATUS_UNKNOWN && evidence->status != PR_STATUS_NONE;
    return said ? pr_status_name(evidence->status) : "no_word";
}

void pr_task_judge(const pr_task_kind_t *kind, pr_operation_t operation, bool unknown,
                   const pr_evidence_t *evidence, pr_run_verdict_t *out)
{
    bool asked = operation == PR_OPERATION_ASK;
    *out = (pr_run_verdict_t){.retry_after_ms = evidence->retry_after_ms};
    snprintf(out->code, sizeof(out->code), "%s", code_of(evidence));
    snprintf(out->message, sizeof(out->message), "%s", evidence->failure_message);
    switch (evidence->status) {
    case PR_STATUS_SUCCEEDED:
        conclude(out, PR_RUN_SUCCESS, false);
        return;
    case PR_STATUS_FAILED:
    case PR_STATUS_CANCELLED:
        judge_failure(asked, evidence, out);
        break;
    case PR_STATUS_NOT_FOUND:
        conclude(out, asked ? PR_RUN_ACT : PR_RUN_RETRY, unknown && !asked);
        break;
    case PR_STATUS_PENDING:
        conclude(out, PR_RUN_RETRY, true);
        break;
    default:
        judge_unknown(asked, unknown, evidence, out);
        break;
    }
    if (out->outcome == PR_RUN_RETRY &&
        (listed(kind, out->code) ||
         (out->unknown && evidence->status != PR_STATUS_PENDING && listed(kind, "unknown"))))
        out->outcome = PR_RUN_PERSON;
}

int64_t pr_task_delay_ms(const pr_task_kind_t *kind, int tries, int64_t retry_after_ms,
                         uint64_t random)
{
    int64_t delay_ms = pr_retry_delay_ms(&kind->retry, (uint32_t)tries + 1, random);
    return retry_after_ms > delay_ms ? retry_after_ms : delay_ms;
}

const char *pr_run_outcome_name(pr_run_outcome_t outcome)
{
    static const char *const names[] = {"none", "success", "retry", "wait", "person", "act"};
    return names[outcome];
}
