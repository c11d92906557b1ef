/* SPDX-License-Identifier: Apache-2.0
 *
 * How a channel's statement is read: as its profile says, or by one of the formats that need nothing
 * said; or in Postrider's own columns, for statements that somebody makes by a program of his own.
 */
#ifndef PR_RECON_SPEC_H
#define PR_RECON_SPEC_H

#include "base/error.h"
#include "channel/profile_dir.h"
#include "statement/statement.h"

/* A CSV file in UTF-8 with a header line that has all of these columns, in any order: kind (payment,
 * refund, fee, other), state (SUCCEEDED, PENDING, FAILED, CANCELLED), reference, request_no,
 * refund_reference, refund_no, currency, amount and fee (in the major unit), occurred_at (YYYY-MM-DD
 * hh:mm:ss where the channel is). */
#define PR_RECON_OWN_FORMAT "postrider"

/* Fills *out for that format, with static strings; zone_min: of times without a zone. PR_BAD: no such
 * format (error lists them). */
PR_CHECK pr_rc_t pr_recon_spec(const char *format, int zone_min, pr_statement_spec_t *out,
                               pr_error_t *error);

/* The same for a channel: format names a statement of its profile, else one of the formats; NULL or
 * "": the profile's daily one, or its first. *kind is what recon_begin calls it: the profile's name of
 * it, or the format's; it and the spec live as long as profiles. PR_BAD: there is none, or no such
 * profile. */
PR_CHECK pr_rc_t pr_recon_spec_of(pr_profile_dir_t *profiles, const char *profile,
                                  const char *format, int zone_min, pr_statement_spec_t *out,
                                  const char **kind, pr_error_t *error);

#endif
