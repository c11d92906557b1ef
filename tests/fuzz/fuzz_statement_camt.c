/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a camt.053 statement.
 */
#include "tests/fuzz/statement_relations.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const pr_statement_spec_t spec = {.format = PR_STATEMENT_CAMT053, .zone_min = 60};
    if (size > 0)
        fuzz_statement(&spec, pr_bytes(data + 1, size - 1), 1 + data[0]);
    return 0;
}
