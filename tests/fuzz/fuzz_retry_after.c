/* SPDX-License-Identifier: Apache-2.0
 *
 * Retry-After: never above the cap, never below zero, digits alone are always seconds, and a date
 * that is read is the same wait from any clock: what is later by a second waits a second less.
 */
#include "core/retry_after.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t now_s = 1795000000, far_cap_ms = INT64_MAX / 2;
    int64_t ms = -1, later_ms = -1, at_s = 0;
    pr_bytes_t value = pr_bytes(data, size);
    if (!pr_retry_after_parse(value, now_s, PR_RETRY_AFTER_CAP_MS, &ms)) {
        FUZZ_CHECK(ms == -1);
        FUZZ_CHECK(!pr_http_date_parse(value, now_s, &at_s));
        return 0;
    }
    FUZZ_CHECK(ms >= 0 && ms <= PR_RETRY_AFTER_CAP_MS);
    FUZZ_CHECK(pr_retry_after_parse(value, now_s, far_cap_ms, &ms));
    FUZZ_CHECK(pr_retry_after_parse(value, now_s + 1, far_cap_ms, &later_ms));
    if (!pr_http_date_parse(value, now_s, &at_s)) {
        FUZZ_CHECK(ms == later_ms); /* seconds */
        return 0;
    }
    FUZZ_CHECK(ms == (at_s > now_s ? (at_s - now_s) * 1000 : 0)); /* never earlier than asked */
    FUZZ_CHECK(ms == 0 || later_ms == ms - 1000 || later_ms == 0);
    return 0;
}
