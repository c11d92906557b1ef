/* SPDX-License-Identifier: Apache-2.0
 *
 * The bare parts of a delivery: what it would cost if nothing but these were done, each alone.
 *   move    the relay's statement, 500 rows at a time        (Postgres' CPU, all its processes)
 *   batch   the scheduler's statement, 500 results at a time (the same)
 *   http    a loop of libcurl in this process: multi, kept connections, 64 under way, each request
 *           signed as the notifier signs it; to the same receiver (this process' CPU)
 * What this process spends on the statements is not counted: the budget is the stricter.
 */
#ifndef PR_BENCH_BARE_H
#define PR_BENCH_BARE_H

#include "base/buffer.h"
#include "bench/stage.h"

#include <jansson.h>

/* Before the fill: its outbox rows come after *after. */
PR_CHECK pr_rc_t pr_bare_mark(pr_stage_t *stage, int64_t *after, pr_error_t *error);
/* Of the count notifications that lie in the outbox after `after`, not yet moved; no actor may run. They are
 * delivered by it. Gives bare_us and its parts, a notification. */
PR_CHECK pr_rc_t pr_bare_measure(pr_stage_t *stage, int64_t after, int64_t count, json_t *report,
                                 pr_error_t *error);

/* ---- bare_http.c ---- */

typedef struct {
    char *url, *notify_id; /* owned */
    pr_buffer_t body;
} pr_bare_request_t;

/* Sends them all, 64 at once; each must be answered 200. */
PR_CHECK pr_rc_t pr_bare_http(const pr_bare_request_t *requests, int64_t count, pr_error_t *error);

#endif
