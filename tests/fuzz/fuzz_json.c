/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON: whatever is accepted can be walked to the end, its compact form is accepted, compacts to
 * itself and holds the same members; every string decodes to something that is_text agrees with.
 */
#include "base/json_scan.h"
#include "tests/fuzz/fuzz.h"

static size_t walk(pr_json_t value, int depth)
{
    size_t count = 1, cursor = 0;
    pr_json_t key, item;
    FUZZ_CHECK(depth <= PR_JSON_DEPTH_MAX);
    if (value.type == PR_JSON_ARRAY)
        while (pr_json_next_element(value, &cursor, &item))
            count += walk(item, depth + 1);
    if (value.type == PR_JSON_OBJECT)
        while (pr_json_next_member(value, &cursor, &key, &item))
            count += walk(key, depth + 1) + walk(item, depth + 1);
    if (value.type == PR_JSON_STRING) {
        pr_buffer_t decoded;
        pr_buffer_init(&decoded, value.text.len);
        FUZZ_CHECK(pr_json_decode(value, &decoded) == PR_OK); /* never longer than written */
        FUZZ_CHECK(pr_json_is_text(value, pr_buffer_text(&decoded), decoded.len));
        FUZZ_CHECK(!pr_json_is_text(value, pr_buffer_text(&decoded), decoded.len + 1));
        pr_buffer_free(&decoded);
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pr_json_t value, again;
    pr_buffer_t once, twice;
    if (pr_json_check(pr_bytes(data, size), &value) != PR_OK)
        return 0;
    pr_buffer_init(&once, size);
    pr_buffer_init(&twice, size);
    FUZZ_CHECK(pr_json_compact(value, &once) == PR_OK);
    FUZZ_CHECK(pr_json_check(pr_buffer_bytes(&once), &again) == PR_OK);
    FUZZ_CHECK(again.text.len == once.len && again.type == value.type);
    FUZZ_CHECK(pr_json_compact(again, &twice) == PR_OK);
    FUZZ_CHECK(pr_bytes_equal(pr_buffer_bytes(&once), pr_buffer_bytes(&twice)));
    FUZZ_CHECK(walk(value, 0) == walk(again, 0));
    pr_buffer_free(&once);
    pr_buffer_free(&twice);
    return 0;
}
