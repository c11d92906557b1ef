/* SPDX-License-Identifier: Apache-2.0
 *
 * The demo's payments: charged through the sandbox's gateway, ended by its answers, its webhooks, questions or their
 * expiry; some by a person, some sent back because the money came too late.
 *
 *   demo_payments.c   the channel, the scripts, submitting
 *   demo_ledger.c     the verdict: the gateway's ledger joined with what the application submitted and what Postrider says
 */
#ifndef PR_CLI_DEMO_PAYMENTS_H
#define PR_CLI_DEMO_PAYMENTS_H

#include "cli/demo.h"

#define PR_DEMO_ACCOUNT "demo" /* at the gateway; the channel's id, too */
#define PR_DEMO_SCAN_MS 600    /* a minute at the demo's time_scale */

/* Makes the account at the sandbox and the channel that calls it; needs the ingress. */
PR_CHECK pr_rc_t pr_demo_add_channel(pr_demo_t *demo, pr_error_t *error);
/* What happens to the one with this number. */
const char *pr_demo_script(int number);
/* Submits the next one. */
PR_CHECK pr_rc_t pr_demo_submit(pr_demo_t *demo, pr_error_t *error);
/* How many wait for their end, or for the end of their money. */
PR_CHECK pr_rc_t pr_demo_payments_open(pr_demo_t *demo, int64_t *open, pr_error_t *error);
/* Adds the notifications that followed from payments to those that must be accounted for. One that is missing
 * counts in *untold. */
PR_CHECK pr_rc_t pr_demo_told(pr_demo_t *demo, int64_t *untold, pr_error_t *error);
/* Needs the sandbox and Postgres. */
PR_CHECK pr_rc_t pr_demo_judge_money(pr_demo_t *demo, pr_demo_money_t *out, pr_error_t *error);
/* Questions that a scan of everything pending, every PR_DEMO_SCAN_MS, asks about one payment: from start_us, until the
 * gateway can say the end (ends_us; 0 never) and the scan comes by, or until it is known anyway (known_us; 0 never). */
int64_t pr_demo_scan_queries(int64_t start_us, int64_t ends_us, int64_t known_us);

#endif
