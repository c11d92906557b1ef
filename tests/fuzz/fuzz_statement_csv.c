/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a CSV statement whose columns are mapped: by name, by place.
 */
#include "tests/fuzz/statement_relations.h"

static const pr_statement_spec_t specs[] = {
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
    fuzz_statement_one_of(specs, PR_COUNT(specs), data, size);
    return 0;
}
