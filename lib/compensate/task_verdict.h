/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of a task by its HTTP handler, decided: who acts, whether it is asked first, what an
 * answer means for the task, when to try again. Pure.
 *
 *   An act that may have had its effect (no answer, an answer that cannot be read, PENDING) is
 *   asked about before it is repeated, where the profile can ask; else repeated with the same
 *   idempotency key. Whatever is not clearly done is not done: nothing here guesses a success.
 */
#ifndef PR_COMPENSATE_TASK_VERDICT_H
#define PR_COMPENSATE_TASK_VERDICT_H

#include "compensate/task_kinds.h"

typedef enum {
    PR_RUN_NONE = 0,
    PR_RUN_SUCCESS,
    PR_RUN_RETRY, /* counts as a try */
    PR_RUN_WAIT,  /* there is nothing to do yet; counts as none */
    PR_RUN_PERSON,
    PR_RUN_ACT, /* asked, and it was not done: act, in this very run */
} pr_run_outcome_t;

typedef struct {
    pr_run_outcome_t outcome;
    char code[96], message[512]; /* as the handler calls it, else our word; "" = none */
    bool unknown;                /* the effect may be there all the same */
    int64_t retry_after_ms;      /* the handler's wish; -1: none */
} pr_run_verdict_t;

/* Who acts on the next try after `tries` that failed; NULL: Postrider itself. */
const pr_task_handler_t *pr_task_chosen(const pr_task_kind_t *kind, int tries);

/* unknown: of the tries before. */
pr_operation_t pr_task_operation(const pr_task_handler_t *handler, bool unknown);

void pr_task_judge(const pr_task_kind_t *kind, pr_operation_t operation, bool unknown,
                   const pr_evidence_t *evidence, pr_run_verdict_t *out);

/* How long after try number tries + 1 failed. retry_after_ms as above. */
int64_t pr_task_delay_ms(const pr_task_kind_t *kind, int tries, int64_t retry_after_ms,
                         uint64_t random);

const char *pr_run_outcome_name(pr_run_outcome_t outcome); /* "success" ... */

#endif
