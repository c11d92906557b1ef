/* SPDX-License-Identifier: Apache-2.0
 *
 * Structured logs: one line a record on stderr,
 *   at=2026-11-30T09:00:00.123Z level=info actor=scheduler pid=7 seq=42 event=session.started k=v ...
 * Event names are fixed strings (noun.verb). Values with spaces, quotes or control bytes are
 * quoted and escaped. Never bodies, headers, keys or personal data. Level error = a person acts.
 *
 * Repeats: a record with the same event AND the same key (pr_log_limited) is written at once the
 * first time, then at most once per 10 s with suppressed=N. Lines that stderr refuses are counted
 * and reported by the next that gets through (dropped=N). Process-wide, one thread.
 */
#ifndef PR_BASE_LOG_H
#define PR_BASE_LOG_H

#include "base/error.h"

#include <stdint.h>

typedef enum {
    PR_LOG_NONE = 0,
    PR_LOG_ERROR,
    PR_LOG_WARN,
    PR_LOG_INFO,
    PR_LOG_DEBUG,
} pr_log_level_t;

void pr_log_init(const char *actor, pr_log_level_t level); /* borrows actor for ever */
pr_log_level_t pr_log_level_parse(const char *text);       /* PR_LOG_NONE when unknown */

/* fmt is "key=%s key=%d ..." : the values of %s are escaped by the writer, so pass them raw.
 * Supported conversions: %s %d %u %lld %llu %zu %x %.Nf and PRId64/PRIu64. */
void pr_log(pr_log_level_t level, const char *event, const char *fmt, ...) PR_PRINTF(3, 4);
/* The same, rate-limited by (event, key). key is copied (its first 64 bytes). */
void pr_log_limited(pr_log_level_t level, const char *event, const char *key, const char *fmt, ...)
    PR_PRINTF(4, 5);
/* event + source, code and text of *error. Rate-limited by (event, code). */
void pr_log_error(pr_log_level_t level, const char *event, const pr_error_t *error);

#define pr_log_info(event, ...) pr_log(PR_LOG_INFO, event, __VA_ARGS__)
#define pr_log_warn(event, ...) pr_log(PR_LOG_WARN, event, __VA_ARGS__)
#define pr_log_debug(event, ...) pr_log(PR_LOG_DEBUG, event, __VA_ARGS__)

#endif
