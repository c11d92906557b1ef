/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "statement/statement.h"

#include <string.h>

static const char *const formats[PR_STATEMENT_FORMATS] = {
    [PR_STATEMENT_WECHAT_TRADE] = "wechat-trade",
    [PR_STATEMENT_WECHAT_FUNDS] = "wechat-funds",
    [PR_STATEMENT_ALIPAY_TRADE] = "alipay-trade",
    [PR_STATEMENT_ALIPAY_ACCOUNT] = "alipay-account",
    [PR_STATEMENT_STRIPE_BALANCE] = "stripe-balance",
    [PR_STATEMENT_CAMT053] = "camt053",
    [PR_STATEMENT_CSV] = "csv",
};

static const char *const kinds[PR_STATEMENT_KINDS] = {
    [PR_STATEMENT_PAYMENT] = "payment",
    [PR_STATEMENT_REFUND] = "refund",
    [PR_STATEMENT_FEE] = "fee",
    [PR_STATEMENT_OTHER] = "other",
};

static const char *const states[PR_STATEMENT_STATES] = {
    [PR_STATEMENT_SUCCEEDED] = "SUCCEEDED", [PR_STATEMENT_PENDING] = "PENDING",
    [PR_STATEMENT_FAILED] = "FAILED",       [PR_STATEMENT_CANCELLED] = "CANCELLED",
    [PR_STATEMENT_UNKNOWN] = "UNKNOWN",
};

static const char *const proofs[] = {"", "not_given", "proved", "differs", "open"};

/* The name at place at; "none" outside. */
static const char *name_of(const char *const *names, size_t count, int at)
{
    return at > 0 && (size_t)at < count ? names[at] : "none";
}

static int find(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 1; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return 0;
}

const char *pr_statement_format_name(pr_statement_format_t format)
{
    return name_of(formats, PR_COUNT(formats), (int)format);
}

pr_statement_format_t pr_statement_format_find(const char *name)
{
    return (pr_statement_format_t)find(formats, PR_COUNT(formats), name);
}

const char *pr_statement_kind_name(pr_statement_kind_t kind)
{
    return name_of(kinds, PR_COUNT(kinds), (int)kind);
}

pr_statement_kind_t pr_statement_kind_find(const char *name)
{
    return (pr_statement_kind_t)find(kinds, PR_COUNT(kinds), name);
}

const char *pr_statement_state_name(pr_statement_state_t state)
{
    return name_of(states, PR_COUNT(states), (int)state);
}

pr_statement_state_t pr_statement_state_find(const char *name)
{
    return (pr_statement_state_t)find(states, PR_COUNT(states), name);
}

const char *pr_statement_proof_name(pr_statement_proof_t proof)
{
    return name_of(proofs, PR_COUNT(proofs), (int)proof);
}
