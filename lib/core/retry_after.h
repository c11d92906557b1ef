/* SPDX-License-Identifier: Apache-2.0
 *
 * The Retry-After response header (RFC 9110 section 10.2.3): whole seconds, or one of the three
 * forms of HTTP-date (section 5.6.7), IMF-fixdate, RFC 850 and asctime. What cannot be misread is
 * taken too: names and zone in any case, UTC for GMT, a day of one digit. It is a floor: the next
 * try is never earlier than asked, unless the asked time is above our cap (P6: 24 h).
 */
#ifndef PR_CORE_RETRY_AFTER_H
#define PR_CORE_RETRY_AFTER_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_RETRY_AFTER_CAP_MS ((int64_t)24 * 3600 * 1000)

/* True: *ms is the wait asked for, 0 <= *ms <= cap_ms. A date that has passed asks for 0.
 * False (absent, negative, fractional, not a date): nothing was asked; *ms unchanged.
 * now_s: wall clock, seconds since 1970, for the date forms. A fraction of now_s that was cut off
 * only makes us later. */
bool pr_retry_after_parse(pr_bytes_t value, int64_t now_s, int64_t cap_ms, int64_t *ms);
/* Seconds since 1970 of an HTTP-date. now_s resolves the two-digit year of RFC 850. */
bool pr_http_date_parse(pr_bytes_t value, int64_t now_s, int64_t *seconds);

#endif
