/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether evidence is about this payment and this money (P10). postrider.evidence_compare() is the same rule in SQL, where evidence is
 * applied; tests/support/evidence_cases.txt holds for both.
 */
#include "base/alloc.h"
#include "gateway/profile.h"

#include <string.h>

/* What it does not say is not asked for, then. A refusal of our own call (402 and a code) moves no money, either; a failure that comes by
 * itself must name what it is about. */
static bool moves_nothing(const pr_evidence_t *evidence)
{
    return evidence->status == PR_STATUS_PENDING || evidence->status == PR_STATUS_NOT_FOUND ||
           evidence->status == PR_STATUS_UNKNOWN || evidence->status == PR_STATUS_CANCELLED ||
           evidence->status == PR_STATUS_NONE ||
           (evidence->asked && evidence->status == PR_STATUS_FAILED);
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

/* One agrees, none differs. The one number of a payment that the application charged (request_no is not known) may be what the gateway
 * calls ours: then one of the two is enough. */
static bool same_number(const pr_payment_facts_t *facts, const pr_evidence_t *evidence,
                        bool silence_is_fine)
{
    bool refund = evidence->object == PR_OBJECT_REFUND;
    bool tracked = !facts->request_no || !facts->request_no[0];
    const char *ours = tracked ? facts->reference : facts->request_no;
    const int results[] = {
        compare_number(evidence->request_no, ours),
        compare_number(evidence->reference, facts->reference),
        refund ? compare_number(evidence->refund_no, facts->refund_no) : 0,
        refund ? compare_number(evidence->refund_reference, facts->refund_reference) : 0};
    bool agreed = false, differs = false;
    for (size_t i = 0; i < PR_COUNT(results); i++) {
        agreed |= results[i] > 0;
        differs |= results[i] < 0;
    }
    return agreed ? !differs || tracked : !differs && silence_is_fine;
}

static bool same_amount(const pr_amount_t *said, int64_t known, bool silence_is_fine)
{
    if (said->state != PR_AMOUNT_KNOWN)
        return said->state == PR_AMOUNT_ABSENT && silence_is_fine;
    return said->minor == known;
}

/* More taken, or given back, than was ever asked for. */
static bool exceeds(const pr_amount_t *total, int64_t known)
{
    return total->state == PR_AMOUNT_KNOWN && total->minor > known;
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
        if (exceeds(&evidence->captured_total, facts->amount_minor) ||
            exceeds(&evidence->refunded_total, facts->amount_minor))
            return false;
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
    const pr_amount_t *said =
        evidence->object == PR_OBJECT_REFUND ? &evidence->refund_amount : &evidence->amount;
    if (evidence->flaw || said->state == PR_AMOUNT_FLAWED)
        return PR_COMPARE_FLAWED;
    for (pr_compare_t what = PR_COMPARE_ACCOUNT; what < PR_COMPARE_FLAWED; what++)
        if (match & 1U << what && !agrees(channel, facts, evidence, what))
            return what;
    return PR_COMPARE_SAME;
}
