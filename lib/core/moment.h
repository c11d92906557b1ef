/* SPDX-License-Identifier: Apache-2.0
 *
 * Points in time as gateways write them, in microseconds since 1970 UTC. Pure: no clock, no time
 * zone database; a zone is a fixed offset.
 *
 *   rfc3339   2026-11-30T12:00:00+08:00   `T` or `t`; a zone is wanted (`Z` or +hh:mm; +0800 is
 *                                         read, too: PayPal and Adyen write it); a fraction of up
 *                                         to 9 digits is cut to microseconds
 *   local     2026-11-30 12:00:00         in the zone that the caller names (Alipay: +08:00)
 *   unix      1795000000                  seconds
 *   unix_ms   1795000000000
 *
 * Years 1970 to 9999. A day that does not exist (31 February) is refused; second 60 is read as the
 * next one.
 */
#ifndef PR_CORE_MOMENT_H
#define PR_CORE_MOMENT_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_MOMENT_TEXT_MAX 40 /* with the NUL */

typedef enum {
    PR_MOMENT_NONE = 0,
    PR_MOMENT_RFC3339,
    PR_MOMENT_LOCAL,
    PR_MOMENT_UNIX,
    PR_MOMENT_UNIX_MS,
} pr_moment_format_t;

/* "rfc3339" ...; PR_MOMENT_NONE when unknown. */
pr_moment_format_t pr_moment_format_parse(const char *text);
/* "UTC", "Z" or "+08:00" to "-14:00"; minutes east of Greenwich. False: none of these. */
bool pr_moment_zone_parse(const char *text, int *zone_min);

/* The whole of text. zone_min is for local only. False: not such a time; *us unchanged. */
bool pr_moment_parse(pr_bytes_t text, pr_moment_format_t format, int zone_min, int64_t *us);
/* Whole seconds, in zone_min (0 is written as Z in rfc3339). us is clamped to 1970..9999. */
void pr_moment_format(int64_t us, pr_moment_format_t format, int zone_min,
                      char out[PR_MOMENT_TEXT_MAX]);

#endif
