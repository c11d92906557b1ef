/* SPDX-License-Identifier: Apache-2.0
 *
 * How a channel's statement is read: the format's name, and for one in columns which they are. A
 * channel whose profile says nothing may still send Postrider's own columns ("csv").
 */
#ifndef PR_RECON_SPEC_H
#define PR_RECON_SPEC_H

#include "base/error.h"
#include "statement/statement.h"

/* Fills *out for that format, with borrowed static strings; zone_min: of times without a zone.
 * PR_BAD: no such format (error lists them). format "csv" takes a header line with all of these
 * columns, in any order: kind, state, reference, request_no, refund_reference, refund_no, currency,
 * amount (in the major unit), fee, occurred_at (YYYY-MM-DD hh:mm:ss). */
PR_CHECK pr_rc_t pr_recon_spec(const char *format, int zone_min, pr_statement_spec_t *out,
                               pr_error_t *error);

#endif
