/* SPDX-License-Identifier: Apache-2.0
 *
 * The application of the measurements. pr_load_fill commits many notifications beforehand;
 * pr_load_run is an open loop: each notification has its due time, start + n / rate, and is
 * enqueued in a transaction of its own when that has come, on whichever of several connections has
 * least to do. A slow system does not slow the offer down: latencies count from the due time.
 */
#ifndef PR_BENCH_LOAD_H
#define PR_BENCH_LOAD_H

#include "bench/stage.h"
#include "bench/tally.h"

typedef struct {
    int64_t count;
    int group;         /* of the tally */
    int hanging_round; /* from 1: the first tenth goes to that round's hanging doubles; 0: none hang */
    int64_t rate_per_s; /* of pr_load_run */
    /* Called on every turn of the loop, some ten thousand times a second at most; may be NULL. */
    pr_rc_t (*tick)(void *arg, int64_t wall_us, pr_error_t *error);
    void *arg;
} pr_load_plan_t;

PR_CHECK pr_rc_t pr_load_fill(pr_stage_t *stage, const pr_load_plan_t *plan, pr_tally_t *tally,
                              pr_error_t *error);
PR_CHECK pr_rc_t pr_load_run(pr_stage_t *stage, const pr_load_plan_t *plan, pr_tally_t *tally,
                             pr_error_t *error);

/* Waits until every one of a group that does not hang has arrived, looking every look_ms, for
 * most_ms without progress at most (what then is missing, the tally counts as lost), and
 * reads the record. */
PR_CHECK pr_rc_t pr_load_settle(pr_stage_t *stage, pr_tally_t *tally, int group, int look_ms,
                                int64_t most_ms, pr_error_t *error);

#endif
