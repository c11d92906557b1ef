/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_error_t: the details beside a pr_rc_t, for the one place that logs them. No secrets, no
 * bodies. A function takes `pr_error_t *error`; NULL means the caller does not care.
 */
#ifndef PR_BASE_ERROR_H
#define PR_BASE_ERROR_H

#include "base/rc.h"

#define PR_ERROR_TEXT_MAX 512

typedef struct {
    char source[16];              /* "db", "bus", "http", "config", "wire" ... */
    char code[16];                /* native code: SQLSTATE, errno name, CURLcode; may be empty */
    char text[PR_ERROR_TEXT_MAX]; /* what happened and what to do; one line, no newline */
} pr_error_t;

/* Fills *error (when not NULL; text is cut to fit, control bytes become '?') and returns rc,
 * so that `return pr_error_set(error, PR_BAD, "config", "", "line %d: ...", n);` reads. */
pr_rc_t pr_error_set(pr_error_t *error, pr_rc_t rc, const char *source, const char *code,
                     const char *fmt, ...) PR_PRINTF(5, 6);

#endif
