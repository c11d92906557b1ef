/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a profile: refused with a place and a reason, or taken, and then usable.
 */
#include "gateway/gateway.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pr_profile_t *profile = NULL;
    pr_channel_t *channel = NULL;
    pr_error_t error = {0};
    if (pr_profile_parse("f", pr_bytes(data, size), &profile, &error) != PR_OK) {
        FUZZ_CHECK(!profile && strncmp(error.text, "f:", 2) == 0);
        return 0;
    }
    FUZZ_CHECK(pr_profile_facts(profile)->name);
    if (pr_channel_new(profile, NULL, 0, NULL, &channel, &error) == PR_OK) {
        pr_evidence_t e;
        pr_gateway_answer_t answer = {.transport = PR_TRANSPORT_OK,
                                      .http_status = 200,
                                      .body = pr_bytes_text("{\"s\":\"ok\",\"a\":[{\"b\":1}]}")};
        for (pr_operation_t operation = PR_OPERATION_TOKEN; operation < PR_OPERATIONS; operation++)
            pr_gateway_judge(channel, operation, NULL, &answer, 0, &e);
    }
    pr_channel_destroy(&channel);
    pr_profile_destroy(&profile);
    return 0;
}
