/* SPDX-License-Identifier: Apache-2.0
 *
 * Amounts, times and JSON paths from outside. What is read is in its range and is written back to
 * the same value; a path that is valid walks any document without harm.
 * Input: first line a path, the rest a document, and all of it an amount and a time.
 */
#include "core/json_path.h"
#include "core/moment.h"
#include "core/money.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_amount(pr_bytes_t text)
{
    static const char *const currencies[] = {"CNY", "JPY", "KWD", "CLF", "ISK", "QQX"};
    static const pr_money_overrides_t overrides = {.count = 1, .entries = {{"ISK", 2}}};
    for (size_t i = 0; i < PR_COUNT(currencies); i++) {
        for (pr_money_unit_t unit = PR_MONEY_UNIT_MINOR; unit <= PR_MONEY_UNIT_MAJOR; unit++) {
            int64_t minor = -1, back = -1;
            char again[PR_MONEY_TEXT_MAX];
            if (pr_money_parse(text, unit, currencies[i], &overrides, &minor) != PR_MONEY_OK) {
                FUZZ_CHECK(minor == -1);
                continue;
            }
            FUZZ_CHECK(minor >= 0 && minor <= PR_MONEY_MINOR_MAX);
            FUZZ_CHECK(pr_money_format(minor, unit, currencies[i], &overrides, again));
            FUZZ_CHECK(pr_money_parse(pr_bytes_text(again), unit, currencies[i], &overrides,
                                      &back) == PR_MONEY_OK &&
                       back == minor);
        }
    }
}

static void check_moment(pr_bytes_t text)
{
    for (pr_moment_format_t format = PR_MOMENT_RFC3339; format <= PR_MOMENT_UNIX_MS; format++) {
        int64_t us = -1, back = -1;
        char again[PR_MOMENT_TEXT_MAX];
        if (!pr_moment_parse(text, format, 480, &us)) {
            FUZZ_CHECK(us == -1);
            continue;
        }
        FUZZ_CHECK(us >= 0);
        pr_moment_format(us, format, 480, again);
        /* what is before 1970 or behind 9999 in the zone cannot be written there */
        if (us > INT64_C(86400000000) && us < INT64_C(253402214400000000)) {
            FUZZ_CHECK(pr_moment_parse(pr_bytes_text(again), format, 480, &back));
            FUZZ_CHECK(back <= us && us - back < 1000000);
        }
    }
}

static void check_path(const char *path, pr_bytes_t document)
{
    pr_json_t root, value = {0};
    if (!pr_json_path_is_valid(path) || pr_json_check(document, &root) != PR_OK)
        return;
    if (pr_json_path_get(root, path, &value) == PR_OK)
        FUZZ_CHECK(value.text.data >= document.data &&
                   value.text.data + value.text.len <= document.data + document.len);
    else
        FUZZ_CHECK(value.type == PR_JSON_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pr_bytes_t whole = pr_bytes(data, size);
    check_amount(whole);
    check_moment(whole);
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    if (end) {
        char *path = fuzz_text(data, (size_t)(end - data));
        check_path(path, pr_bytes(end + 1, size - (size_t)(end - data) - 1));
        pr_free(path);
    }
    return 0;
}
