/* SPDX-License-Identifier: Apache-2.0 */
#include "recon/spec.h"

#include "core/moment.h"

#include <string.h>

#define COLUMN(name) \
    { \
        1, \
        { \
            name \
        } \
    }

/* Postrider's own columns: for statements that somebody makes by hand or by a program of his own. */
static const pr_statement_csv_t own = {
    .unit = PR_MONEY_UNIT_MAJOR,
    .time_format = PR_MOMENT_LOCAL,
    .kind = COLUMN("kind"),
    .state = COLUMN("state"),
    .reference = COLUMN("reference"),
    .request_no = COLUMN("request_no"),
    .refund_reference = COLUMN("refund_reference"),
    .refund_no = COLUMN("refund_no"),
    .currency = COLUMN("currency"),
    .amount = COLUMN("amount"),
    .fee = COLUMN("fee"),
    .occurred_at = COLUMN("occurred_at"),
    .kinds = {4,
              {{"payment", PR_STATEMENT_PAYMENT},
               {"refund", PR_STATEMENT_REFUND},
               {"fee", PR_STATEMENT_FEE},
               {"other", PR_STATEMENT_OTHER}}},
    .states = {5,
               {{"SUCCEEDED", PR_STATEMENT_SUCCEEDED},
                {"PENDING", PR_STATEMENT_PENDING},
                {"FAILED", PR_STATEMENT_FAILED},
                {"CANCELLED", PR_STATEMENT_CANCELLED},
                {"*", PR_STATEMENT_UNKNOWN}}},
};

pr_rc_t pr_recon_spec(const char *format, int zone_min, pr_statement_spec_t *out, pr_error_t *error)
{
    bool ours = strcmp(format, PR_RECON_OWN_FORMAT) == 0;
    *out = (pr_statement_spec_t){
        .format = ours ? PR_STATEMENT_CSV : pr_statement_format_find(format), .zone_min = zone_min};
    if (out->format == PR_STATEMENT_FORMAT_NONE || (out->format == PR_STATEMENT_CSV && !ours)) {
        return pr_error_set(error, PR_BAD, "recon", "format",
                            "%s is no statement of the channel's profile, nor wechat-trade, "
                            "wechat-funds, alipay-trade, alipay-account, stripe-balance, camt053 "
                            "or " PR_RECON_OWN_FORMAT,
                            format);
    }
    if (ours) {
        out->csv = own;
    }
    return PR_OK;
}

/* That of this name; without one the daily one, else the first. NULL: none. */
static const pr_profile_statement_t *choose(const pr_profile_t *profile, const char *name)
{
    const pr_profile_statement_t *first = pr_profile_statement(profile, 0);
    for (size_t i = 0; pr_profile_statement(profile, i) != NULL; i++) {
        const pr_profile_statement_t *one = pr_profile_statement(profile, i);
        if (name[0] != '\0' ? strcmp(one->name, name) == 0 : one->daily) {
            return one;
        }
    }
    return name[0] != '\0' ? NULL : first;
}

pr_rc_t pr_recon_spec_of(pr_profile_dir_t *profiles, const char *profile, const char *format,
                         int zone_min, pr_statement_spec_t *out, const char **kind,
                         pr_error_t *error)
{
    const pr_profile_t *read = NULL;
    const char *name = format != NULL ? format : "";
    pr_rc_t rc = pr_profile_dir_get(profiles, profile, &read, error);
    const pr_profile_statement_t *statement = rc == PR_OK ? choose(read, name) : NULL;
    if (statement != NULL) {
        *out = statement->spec;
        *kind = statement->name;
        return PR_OK;
    }
    if (name[0] == '\0') {
        return rc != PR_OK
                   ? rc
                   : pr_error_set(error, PR_BAD, "recon", "format",
                                  "profile %s has no statements: say which format it is", profile);
    }
    rc = pr_recon_spec(name, zone_min, out, error);
    *kind = rc != PR_OK                       ? NULL
            : out->format == PR_STATEMENT_CSV ? PR_RECON_OWN_FORMAT
                                              : pr_statement_format_name(out->format);
    return rc;
}
