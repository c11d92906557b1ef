/* SPDX-License-Identifier: Apache-2.0
 *
 * An envelope as lines for people:
 *   09:41:07.123 job_batch     scheduler-h-12-ab  session=6f.. class=1
 *                              jobs              token=41/0 kind=NOTIFY merchant_id=m1 order_no=o-1 ...
 */
#ifndef PR_CLI_TAP_LINE_H
#define PR_CLI_TAP_LINE_H

#include "base/buffer.h"

#include <jansson.h>

/* Appends to out: one line for the message and one for each item of a batch. */
PR_CHECK pr_rc_t pr_tap_line(const json_t *envelope, pr_buffer_t *out);

#endif
