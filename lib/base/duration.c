/* SPDX-License-Identifier: Apache-2.0 */
#include "base/duration.h"

#include "base/assert.h"
#include "base/buffer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int64_t ms;
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

#define UNIT_COUNT (sizeof units / sizeof units[0])

static int64_t unit_ms(pr_bytes_t name)
{
    for (size_t i = 0; i < UNIT_COUNT; i++)
        if (pr_bytes_equal(name, pr_bytes_text(units[i].name)))
            return units[i].ms;
    return 0;
}

bool pr_duration_parse(const char *text, size_t len, int64_t *ms)
{
    int64_t count = 0;
    size_t at = 0;
    for (; at < len && text[at] >= '0' && text[at] <= '9'; at++) {
        count = count * 10 + (text[at] - '0');
        if (count > PR_DURATION_MAX_MS)
            return false;
    }
    if (at == 0)
        return false;
    int64_t unit = unit_ms(pr_bytes(text + at, len - at));
    if (at == len && count == 0)
        unit = 1;
    if (unit == 0 || count > PR_DURATION_MAX_MS / unit)
        return false;
    *ms = count * unit;
    return true;
}

void pr_duration_format(int64_t ms, char out[PR_DURATION_TEXT_MAX])
{
    pr_assert(ms >= 0);
    size_t unit = 0;
    while (ms % units[unit].ms != 0)
        unit++;
    if (ms == 0)
        unit = 3;
    snprintf(out, PR_DURATION_TEXT_MAX, "%" PRId64 "%s", ms / units[unit].ms, units[unit].name);
}
