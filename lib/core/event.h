/* SPDX-License-Identifier: Apache-2.0
 *
 * Event names and the patterns by which an endpoint chooses them.
 *   name     words of [a-z0-9_]+ joined by dots, 1 to 64 bytes: payment.succeeded
 *   pattern  a name, or words followed by ".*" (everything below, any depth), or "*": payment.*
 */
#ifndef PR_CORE_EVENT_H
#define PR_CORE_EVENT_H

#include <stdbool.h>

#define PR_EVENT_MAX_BYTES 64

bool pr_event_is_name(const char *text);
bool pr_event_is_pattern(const char *text);
/* False also when either is malformed. 'payment.*' does not match 'payment' itself. */
bool pr_event_matches(const char *pattern, const char *name);
/* The last word: the default `status` of a notification; points into name. */
const char *pr_event_last_word(const char *name);

#endif
