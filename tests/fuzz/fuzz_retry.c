/* SPDX-License-Identifier: Apache-2.0
 *
 * Retry policies: what is read can be written and reads back as the same policy; every delay is
 * inside its bounds, for every attempt and random number.
 */
#include "core/retry.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_delays(const pr_retry_policy_t *policy, size_t size)
{
    const uint64_t randoms[] = {0, size * 0x9e3779b97f4a7c15u, UINT64_MAX};
    for (uint32_t attempt = 0; attempt <= policy->retries + 1; attempt++) {
        int64_t low = pr_retry_delay_ms(policy, attempt, randoms[0]);
        int64_t middle = pr_retry_delay_ms(policy, attempt, randoms[1]);
        int64_t high = pr_retry_delay_ms(policy, attempt, randoms[2]);
        FUZZ_CHECK(0 <= low && low <= middle && middle <= high && high <= policy->cap_ms);
        FUZZ_CHECK(pr_retry_exhausted(policy, attempt) == (attempt > policy->retries));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    PR_CLEANUP_FREE char *text = fuzz_text(data, size);
    pr_retry_policy_t policy = {0}, back = {0};
    pr_error_t error = {0};
    char written[PR_RETRY_TEXT_MAX], again[PR_RETRY_TEXT_MAX];
    if (pr_retry_parse(text, &policy, &error) != PR_OK) {
        FUZZ_CHECK(error.text[0] != '\0' && policy.retries == 0);
        return 0;
    }
    FUZZ_CHECK(policy.retries >= 1 && policy.retries <= PR_RETRY_TRIES_MAX);
    FUZZ_CHECK(policy.jitter_percent <= 100 && policy.cap_ms >= 1);
    pr_retry_format(&policy, written);
    FUZZ_CHECK(pr_retry_parse(written, &back, NULL) == PR_OK);
    pr_retry_format(&back, again);
    FUZZ_CHECK(strcmp(written, again) == 0);
    check_delays(&policy, size);
    pr_retry_scale(&policy, 0.0001);
    check_delays(&policy, size);
    return 0;
}
