/* SPDX-License-Identifier: Apache-2.0 */
#include "compensate/task_verdict.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

TestSuite(task_verdict, .timeout = 300);

static pr_task_kind_t kind_of(void)
{
    pr_task_kind_t kind = {.name = "k", .person = {"OUT_OF_STOCK"}, .person_count = 1};
    cr_assert_eq(pr_retry_parse("list:1m,3m,10m;jitter=0%", &kind.retry, NULL), PR_OK);
    return kind;
}

Test(task_verdict, what_an_answer_means_for_the_task)
{
    static const struct {
        const char *why;
        pr_operation_t operation;
        bool unknown; /* before */
        pr_status_t status;
        pr_action_t action;
        bool final;
        const char *code;
        pr_run_outcome_t outcome;
        bool left_unknown;
    } cases[] = {
        {"done", PR_OPERATION_ACT, false, PR_STATUS_SUCCEEDED, PR_ACTION_NONE, false, "",
         PR_RUN_SUCCESS, false},
        {"asked: it was done", PR_OPERATION_ASK, true, PR_STATUS_SUCCEEDED, PR_ACTION_NONE, false,
         "", PR_RUN_SUCCESS, false},
        {"under way: the effect will be there", PR_OPERATION_ACT, false, PR_STATUS_PENDING,
         PR_ACTION_NONE, false, "", PR_RUN_RETRY, true},
        {"it says: again", PR_OPERATION_ACT, false, PR_STATUS_FAILED, PR_ACTION_RETRY, false, "",
         PR_RUN_RETRY, false},
        {"it says: never", PR_OPERATION_ACT, false, PR_STATUS_FAILED, PR_ACTION_FAIL_NOW, true, "",
         PR_RUN_PERSON, false},
        {"a failure that is final is a person's", PR_OPERATION_ACT, false, PR_STATUS_FAILED,
         PR_ACTION_NONE, true, "", PR_RUN_PERSON, false},
        {"one that may turn is tried again", PR_OPERATION_ACT, false, PR_STATUS_FAILED,
         PR_ACTION_NONE, false, "", PR_RUN_RETRY, false},
        {"listed: a person at once", PR_OPERATION_ACT, false, PR_STATUS_FAILED, PR_ACTION_RETRY,
         false, "out_of_stock", PR_RUN_PERSON, false},
        {"asked: it was not done, so act now", PR_OPERATION_ASK, true, PR_STATUS_NOT_FOUND,
         PR_ACTION_NONE, false, "", PR_RUN_ACT, false},
        {"asked: it failed and may be tried again", PR_OPERATION_ASK, true, PR_STATUS_FAILED,
         PR_ACTION_RETRY, false, "", PR_RUN_ACT, false},
        {"asked: it failed for good", PR_OPERATION_ASK, true, PR_STATUS_FAILED, PR_ACTION_FAIL_NOW,
         true, "", PR_RUN_PERSON, false},
        {"an act's 404 proves nothing about an earlier one", PR_OPERATION_ACT, true,
         PR_STATUS_NOT_FOUND, PR_ACTION_NONE, false, "", PR_RUN_RETRY, true},
        {"no answer to an act", PR_OPERATION_ACT, false, PR_STATUS_UNKNOWN, PR_ACTION_QUERY_FIRST,
         false, "", PR_RUN_RETRY, true},
        {"not one byte was sent", PR_OPERATION_ACT, false, PR_STATUS_UNKNOWN, PR_ACTION_RETRY,
         false, "", PR_RUN_RETRY, false},
        {"not one byte was sent, but before it was", PR_OPERATION_ACT, true, PR_STATUS_UNKNOWN,
         PR_ACTION_RETRY, false, "", PR_RUN_RETRY, true},
        {"no answer to a question: still unknown", PR_OPERATION_ASK, true, PR_STATUS_UNKNOWN,
         PR_ACTION_BACK_OFF, false, "", PR_RUN_RETRY, true},
        {"it was busy", PR_OPERATION_ACT, false, PR_STATUS_UNKNOWN, PR_ACTION_BACK_OFF, false, "",
         PR_RUN_RETRY, false},
        {"refused: to be corrected", PR_OPERATION_ACT, false, PR_STATUS_UNKNOWN,
         PR_ACTION_STOP_CHANNEL, false, "", PR_RUN_RETRY, false},
        {"a profile sends it to a person", PR_OPERATION_ACT, false, PR_STATUS_UNKNOWN,
         PR_ACTION_PERSON, false, "", PR_RUN_PERSON, false},
        {"an answer without a word", PR_OPERATION_ACT, false, PR_STATUS_NONE, PR_ACTION_NONE, false,
         "", PR_RUN_RETRY, true},
        {"refunded is no word of a handler", PR_OPERATION_ACT, false, PR_STATUS_REFUNDED,
         PR_ACTION_NONE, false, "", PR_RUN_RETRY, true},
    };
    pr_task_kind_t kind = kind_of();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pr_evidence_t evidence;
        pr_run_verdict_t verdict;
        pr_evidence_init(&evidence);
        evidence.status = cases[i].status;
        evidence.action = cases[i].action;
        evidence.final = cases[i].final;
        snprintf(evidence.failure_code, sizeof evidence.failure_code, "%s", cases[i].code);
        pr_task_judge(&kind, cases[i].operation, cases[i].unknown, &evidence, &verdict);
        cr_expect_eq(verdict.outcome, cases[i].outcome, "%s: %s", cases[i].why,
                     pr_run_outcome_name(verdict.outcome));
        cr_expect_eq(verdict.unknown, cases[i].left_unknown, "%s: unknown", cases[i].why);
    }
}

/* Whatever is said, a success is only where the word for it stood. */
Test(task_verdict, no_success_is_guessed)
{
    pr_task_kind_t kind = kind_of();
    for (pr_status_t status = PR_STATUS_NONE; status < PR_STATUSES; status++) {
        for (pr_action_t action = PR_ACTION_NONE; action < PR_ACTIONS; action++) {
            for (int bits = 0; bits < 8; bits++) {
                pr_evidence_t evidence;
                pr_run_verdict_t verdict;
                pr_evidence_init(&evidence);
                evidence.status = status;
                evidence.action = action;
                evidence.final = (bits & 1) != 0;
                pr_operation_t operation = (bits & 2) != 0 ? PR_OPERATION_ASK : PR_OPERATION_ACT;
                pr_task_judge(&kind, operation, (bits & 4) != 0, &evidence, &verdict);
                cr_expect_eq(verdict.outcome == PR_RUN_SUCCESS, status == PR_STATUS_SUCCEEDED);
                cr_expect(verdict.outcome != PR_RUN_ACT || operation == PR_OPERATION_ASK,
                          "an act follows a question only");
                cr_expect_neq(verdict.outcome, PR_RUN_NONE);
            }
        }
    }
}

Test(task_verdict, unknown_may_be_a_persons)
{
    pr_task_kind_t kind = kind_of();
    kind.person[0] = "unknown";
    pr_evidence_t evidence;
    pr_run_verdict_t verdict;
    pr_evidence_init(&evidence);
    evidence.status = PR_STATUS_UNKNOWN;
    evidence.action = PR_ACTION_QUERY_FIRST;
    pr_task_judge(&kind, PR_OPERATION_ACT, false, &evidence, &verdict);
    cr_expect_eq(verdict.outcome, PR_RUN_PERSON);
    evidence.action = PR_ACTION_BACK_OFF;
    pr_task_judge(&kind, PR_OPERATION_ACT, false, &evidence, &verdict);
    cr_expect_eq(verdict.outcome, PR_RUN_RETRY, "it was not taken: nothing is unknown");
    evidence.status = PR_STATUS_PENDING;
    pr_task_judge(&kind, PR_OPERATION_ACT, false, &evidence, &verdict);
    cr_expect_eq(verdict.outcome, PR_RUN_RETRY, "it was taken, and said so");
}

Test(task_verdict, delays_follow_the_list_and_the_handlers_wish_is_a_floor)
{
    pr_task_kind_t kind = kind_of();
    cr_expect_eq(pr_task_delay_ms(&kind, 0, -1, 0), 60000);
    cr_expect_eq(pr_task_delay_ms(&kind, 1, -1, 0), 180000);
    cr_expect_eq(pr_task_delay_ms(&kind, 9, -1, 0), 600000, "the last repeats");
    cr_expect_eq(pr_task_delay_ms(&kind, 0, 90000, 0), 90000);
    cr_expect_eq(pr_task_delay_ms(&kind, 1, 90000, 0), 180000);
}

Test(task_verdict, who_acts_and_what_is_asked)
{
    pr_task_kind_t kind = kind_of();
    pr_task_handler_t first = {.asks = false}, second = {.asks = true};
    cr_expect_null(pr_task_chosen(&kind, 5), "Postrider itself");
    kind.handler = &first;
    cr_expect_eq(pr_task_chosen(&kind, 100), &first);
    kind.second = &second;
    kind.second_after = 2;
    cr_expect_eq(pr_task_chosen(&kind, 1), &first);
    cr_expect_eq(pr_task_chosen(&kind, 2), &second);
    kind.second = NULL;
    cr_expect_null(pr_task_chosen(&kind, 2), "own: Postrider itself after two failures");
    cr_expect_eq(pr_task_operation(&second, true), PR_OPERATION_ASK);
    cr_expect_eq(pr_task_operation(&second, false), PR_OPERATION_ACT);
    cr_expect_eq(pr_task_operation(&first, true), PR_OPERATION_ACT, "it cannot be asked");
}
