/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of pr_roster_t, for roster.c and roster_share.c only.
 */
#ifndef PR_CORE_ROSTER_PRIVATE_H
#define PR_CORE_ROSTER_PRIVATE_H

#include "core/roster.h"

#define NOBODY 0xff /* shard without owner; scheduler indexes end at PR_ROSTER_SCHEDULERS_MAX */

struct pr_roster_t {
    int64_t silence_ms;
    pr_roster_worker_t *workers; /* owned */
    size_t workers_count;
    size_t workers_room;
    pr_roster_scheduler_t *schedulers; /* owned */
    size_t schedulers_count;
    size_t schedulers_room;
    uint8_t owner[PR_SHARDS]; /* index into schedulers, or NOBODY */
    uint32_t turn;            /* breaks ties, workers and schedulers alike */
};

#endif
