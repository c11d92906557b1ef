/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths into a checked JSON text (base/json_scan.h), as profiles write them. Pure, allocates
 * nothing.
 *
 *   a.b            member b of member a
 *   a[0]           an element, from 0
 *   a[rel=self].b  the first element of a that is an object whose member rel is the text self
 *
 * Names are 1 to 64 of A-Z a-z 0-9 _ - ; at most PR_JSON_PATH_STEPS_MAX steps, an index at most
 * 9999. A step that the document does not have, or has in another type, makes the value absent. A
 * name that stands twice in its object is ambiguous, and nothing is chosen.
 *
 * Numbers stay the text that was sent (1e3 is not 1000, 12.10 is not 12.1): amounts are read by
 * core/money.h from there. That is why this works over the scanner, not over a parsed tree.
 */
#ifndef PR_CORE_JSON_PATH_H
#define PR_CORE_JSON_PATH_H

#include "base/json_scan.h"

#include <stdbool.h>

#define PR_JSON_PATH_STEPS_MAX 12
#define PR_JSON_PATH_TEXT_MAX 256

/* True: a path as above. "" is the root itself. */
bool pr_json_path_is_valid(const char *path);
/* path must be valid. PR_OK: *out is the value. PR_LOST: absent. PR_BAD: ambiguous. */
PR_CHECK pr_rc_t pr_json_path_get(pr_json_t root, const char *path, pr_json_t *out);

#endif
