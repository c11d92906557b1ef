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
    *out = (pr_statement_spec_t){.format = pr_statement_format_find(format), .zone_min = zone_min};
    if (out->format == PR_STATEMENT_FORMAT_NONE) {
        return pr_error_set(error, PR_BAD, "recon", "format",
                            "%s is no format of statements: wechat-trade, wechat-funds, "
                            "alipay-trade, alipay-account, stripe-balance, camt053, csv",
                            format);
    }
    if (out->format == PR_STATEMENT_CSV) {
        out->csv = own;
    }
    return PR_OK;
}
