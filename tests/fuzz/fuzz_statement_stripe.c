/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as Stripe's itemised report.
 */
#include "tests/fuzz/statement_relations.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const pr_statement_spec_t specs[] = {{.format = PR_STATEMENT_STRIPE_BALANCE}};
    fuzz_statement_one_of(specs, PR_COUNT(specs), data, size);
    return 0;
}
