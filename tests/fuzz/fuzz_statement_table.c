/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as WeChat's, Alipay's, Stripe's or a mapped CSV statement (the first byte says
 * which), with gzip or zip around it or without.
 */
#include "base/alloc.h"
#include "tests/fuzz/statement_relations.h"

static const pr_statement_spec_t specs[] = {
    {.format = PR_STATEMENT_WECHAT_TRADE},
    {.format = PR_STATEMENT_WECHAT_FUNDS},
    {.format = PR_STATEMENT_ALIPAY_TRADE},
    {.format = PR_STATEMENT_ALIPAY_ACCOUNT},
    {.format = PR_STATEMENT_STRIPE_BALANCE},
    {.format = PR_STATEMENT_CSV,
     .currency = "EUR",
     .csv = {.delimiter = ';',
             .decimal = ',',
             .kind = {1, {"kind"}},
             .reference = {1, {"ref"}},
             .refund_no = {1, {"refund"}},
             .credit = {1, {"in"}},
             .debit = {1, {"out"}},
             .fee = {1, {"fee"}},
             .occurred_at = {1, {"at"}},
             .kinds = {3, {{"p*", PR_STATEMENT_PAYMENT}, {"r", PR_STATEMENT_REFUND}, {"x", 0}}},
             .totals = {"END", 2, 3}}},
    {.format = PR_STATEMENT_CSV,
     .charset = "GBK",
     .csv = {.no_header = true,
             .unit = PR_MONEY_UNIT_MINOR,
             .request_no = {1, {"#1"}},
             .amount = {1, {"#2"}},
             .currency = {1, {"#3"}},
             .occurred_at = {1, {"#4"}}}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    fuzz_statement(&specs[(data[0] & 0x0f) % PR_COUNT(specs)], pr_bytes(data + 2, size - 2),
                   1 + data[1]);
    return 0;
}
