/* SPDX-License-Identifier: Apache-2.0
 *
 * One notification followed to its end: `merchant test`, `submit --wait`, `dead show`.
 */
#ifndef PR_CLI_NOTIFICATION_H
#define PR_CLI_NOTIFICATION_H

#include "cli/console.h"

extern const pr_column_t pr_notification_columns[]; /* of notification_show and notification_list */
extern const pr_column_t pr_attempt_columns[];      /* of attempt_list */

/* Prints where its deliveries stand, once none is pending or wait_ms have passed. Exit code: failed
 * when one is not delivered. */
PR_CHECK int pr_notification_wait(pr_console_t *console, const char *notify_id, int64_t wait_ms);
/* Prints the deliveries and every attempt. Failed when there is no such notification. */
PR_CHECK int pr_notification_show(pr_console_t *console, const char *notify_id);

#endif
