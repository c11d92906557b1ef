/* SPDX-License-Identifier: Apache-2.0
 *
 * How the queue stands, for `status`: read from the database as postrider_console.
 */
#ifndef PR_CLI_QUEUE_H
#define PR_CLI_QUEUE_H

#include <jansson.h>

/* {"classes": [{"class": 0, "unmoved", "oldest_unmoved_ms", "jobs", "retrying", "overdue",
 * "oldest_due_ms"}, ..], "dead_open", "alerts_open", "sessions": [{"address", "shards"}]}, or
 * {"error": "why not"}. Never NULL; the caller's. */
json_t *pr_queue_look(void);
void pr_queue_print(const json_t *queue);

#endif
