/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether evidence is about this payment and this money (P10).
 */
#include "base/alloc.h"
#include "gateway/profile.h"

#include <string.h>

static bool moves_nothing(const pr_evidence_t *evidence)
{
    return evidence->status == PR_STATUS_PENDING || evidence->status == PR_STATUS_NOT_FOUND ||
           evidence->status == PR_STATUS_UNKNOWN || evidence->status == PR_STATUS_CANCELLED ||
           evidence->status == PR_STATUS_NONE;
}

static bool same_text(const char *said, const char *known, bool silence_is_fine)
{
    return said[0] ? strcmp(said, known) == 0 : silence_is_fine;
}

/* 1: the same, -1: another, 0: one of them is not known. */
static int compare_number(const char *said, const char *known)
{
    if (!said[0] || !known || !known[0])
        return 0;
    return strcmp(said, known) == 0 ? 1 : -1;
}

static bool same_number(const pr_payment_facts_t *facts, const pr_evidence_t *evidence,
                        bool silence_is_fine)
{
    bool refund = evidence->object == PR_OBJECT_REFUND;
    const int results[] = {
        compare_number(evidence->request_no, facts->request_no),
        compare_number(evidence->reference, facts->reference),
        refund ? compare_number(evidence->refund_no, facts->refund_no) : 0,
        refund ? compare_number(evidence->refund_reference, facts->refund_reference) : 0};
    bool agreed = false;
    for (size_t i = 0; i < PR_COUNT(results); i++) {
        if (results[i] < 0)
            return false;
        agreed |= results[i] > 0;
    }
    return agreed || silence_is_fine;
}

static bool same_amount(const pr_amount_t *said, int64_t known, bool silence_is_fine)
{
    if (said->state != PR_AMOUNT_KNOWN)
        return said->state == PR_AMOUNT_ABSENT && silence_is_fine;
    return said->minor == known;
}

static bool agrees(const pr_channel_t *channel, const pr_payment_facts_t *facts,
                   const pr_evidence_t *evidence, pr_compare_t what)
{
    bool silent = moves_nothing(evidence);
    switch (what) {
    case PR_COMPARE_ACCOUNT:
        return same_text(evidence->account, pr_channel_account(channel), silent || evidence->asked);
    case PR_COMPARE_NUMBER:
        return same_number(facts, evidence, silent);
    case PR_COMPARE_CURRENCY:
        return facts->currency && same_text(evidence->currency, facts->currency, silent);
    case PR_COMPARE_AMOUNT:
        if (evidence->object == PR_OBJECT_REFUND)
            return same_amount(&evidence->refund_amount, facts->refund_minor, silent) &&
                   (silent || evidence->refund_amount.minor > 0);
        return same_amount(&evidence->amount, facts->amount_minor, silent);
    default:
        return true;
    }
}

pr_compare_t pr_evidence_compare(const pr_channel_t *channel, const pr_payment_facts_t *facts,
                                 const pr_evidence_t *evidence)
{
    uint32_t match = channel->profile->facts.match;
    if (evidence->flaw)
        return PR_COMPARE_FLAWED;
    for (pr_compare_t what = PR_COMPARE_ACCOUNT; what < PR_COMPARE_FLAWED; what++)
        if (match & 1U << what && !agrees(channel, facts, evidence, what))
            return what;
    return PR_COMPARE_SAME;
}
