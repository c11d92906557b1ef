/* SPDX-License-Identifier: Apache-2.0
 *
 * application/problem+json (RFC 9457): {"title","status","code","detail"}. `type` is left out, which
 * means about:blank: `code` is what programs go by, and titles are those of the status.
 */
#ifndef PR_HTTPD_PROBLEM_H
#define PR_HTTPD_PROBLEM_H

#include "base/buffer.h"

#define PR_PROBLEM_TYPE "application/problem+json"

/* Appends the object. detail: any text, NULL or "" to leave it out; bytes outside UTF-8 are
 * replaced. PR_BAD: out is full. */
PR_CHECK pr_rc_t pr_problem_write(uint32_t status, const char *code, const char *detail,
                                  pr_buffer_t *out);
const char *pr_problem_title(uint32_t status); /* "Not Found"; "Error" for others */

#endif
