/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/fnv.h"

#include <criterion/criterion.h>

TestSuite(fnv, .timeout = 300);

/* The 64-bit test vectors of draft-eastlake-fnv, appendix C. */
Test(fnv, gives_the_published_values)
{
    static const struct {
        const char *text;
        uint64_t hash;
        const char *sentence;
    } cases[] = {
        {"", UINT64_C(0xcbf29ce484222325), "nothing is the start"},
        {"a", UINT64_C(0xaf63dc4c8601ec8c), "one byte"},
        {"foobar", UINT64_C(0x85944171f73967e8), "several"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        cr_assert(pr_fnv_text(PR_FNV_START, cases[i].text) == cases[i].hash, "%s",
                  cases[i].sentence);
    }
}

Test(fnv, goes_on_where_it_ended)
{
    uint64_t whole = pr_fnv_text(PR_FNV_START, "foobar");
    cr_assert(pr_fnv_bytes(pr_fnv_text(PR_FNV_START, "foo"), "bar", 3) == whole);
    cr_assert(pr_fnv_bytes(whole, NULL, 0) == whole, "nothing changes nothing");
}

Test(fnv, counts_every_byte_as_eight_bits_without_a_sign)
{
    static const uint8_t bytes[] = {0xff, 0x00, 0x80};
    uint64_t hash = PR_FNV_START;
    for (size_t i = 0; i < sizeof bytes; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    cr_assert(pr_fnv_bytes(PR_FNV_START, bytes, sizeof bytes) == hash);
}

Test(fnv, folds_both_halves_into_one)
{
    cr_assert(pr_fnv_fold(UINT64_C(0x1234567800000000)) == 0x12345678u, "the upper one counts");
    cr_assert(pr_fnv_fold(UINT64_C(0x00000000abcdef01)) == 0xabcdef01u, "so does the lower");
}
