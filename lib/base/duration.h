/* SPDX-License-Identifier: Apache-2.0
 *
 * Durations as people write them: a whole number and a unit, "250ms" "5s" "10m" "6h" "3d". No sign,
 * no fraction, no space; "0" needs no unit. Read and written in milliseconds.
 */
#ifndef PR_BASE_DURATION_H
#define PR_BASE_DURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_DURATION_TEXT_MAX 24                            /* with the NUL */
#define PR_DURATION_MAX_MS ((int64_t)36500 * 86400 * 1000) /* a hundred years */

/* The whole of text[0..len) must be one duration. False: not one, or above PR_DURATION_MAX_MS. */
bool pr_duration_parse(const char *text, size_t len, int64_t *ms);
/* In the largest unit that loses nothing: 90000 -> "90s", 60000 -> "1m", 0 -> "0s". ms >= 0. */
void pr_duration_format(int64_t ms, char out[PR_DURATION_TEXT_MAX]);

#endif
