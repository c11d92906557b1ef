/* SPDX-License-Identifier: Apache-2.0
 *
 * Giving up shards to a newcomer (docs/protocol.md, section 2): an owner gives a shard up itself, after its last outcome there.
 * First nothing more of the shard is sent or read, and its first tries get due times; once nothing of it is under way or
 * being written, the shard is released, with the place from which the new owner must look for first tries.
 */
#include "actors/scheduler/scheduler_io.h"
#include "base/log.h"

#include <string.h>

#define LOOK_MS 50 /* a look walks over all endpoints */

void session_give_up(io_t *io, int count)
{
    static const uint8_t none[32] = {0};
    if (io->releasing || memcmp(io->leaving, none, sizeof none) != 0 || io->adoption.active)
        return;
    int given = 0;
    for (int shard = 255; shard >= 0 && given < count; shard--) {
        if (!bit_get(io->owned, shard))
            continue;
        bit_set(io->leaving, shard);
        pr_sched_leave_shard(io->sched, (uint8_t)shard);
        given++;
    }
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        io->leave_low[c] = io->cursor[c] + 1; /* what is born from here on, the new owner reads */
    pr_log_info("session.giving_up", "shards=%d", given);
}

static void on_released(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    io_t *io = arg;
    (void)rows;
    io->releasing = false;
    if (rc != PR_OK) {
        pr_log_error(PR_LOG_WARN, "session.release_failed", error);
        return; /* the timer tries again; after a lost connection owned_shards tells what is ours */
    }
    for (int shard = 0; shard < 256; shard++) {
        if (!bit_get(io->leaving, shard))
            continue;
        uint8_t keep = (uint8_t) ~(1u << (shard % 8));
        io->owned[shard / 8] &= keep;
        io->adoption.shards[shard / 8] &= keep; /* or a chain begun anew would take it again */
        pr_sched_drop_shard(io->sched, (uint8_t)shard);
    }
    memset(io->leaving, 0, sizeof io->leaving);
    rows_adopt_less(io);
    bus_greet(io);
}

void handover_timer(io_t *io)
{
    static const uint8_t none[32] = {0};
    if (io->releasing || io->adoption.active || memcmp(io->leaving, none, sizeof none) == 0 ||
        io->session_state != SESSION_LIVE || io->now_ms < io->handover_at_ms)
        return;
    io->handover_at_ms = io->now_ms + LOOK_MS;
    for (int shard = 0; shard < 256; shard++)
        if (bit_get(io->leaving, shard) && !pr_sched_shard_left(io->sched, (uint8_t)shard))
            return;
    int64_t low[PR_SCHED_CLASSES];
    batch_known_low(io, low); /* what is given up is known */
    pr_params_clear(io->params);
    pr_params_add_uuid(io->params, io->session);
    (void)add_shards(io->params, io->leaving);
    pr_params_add_i64_array(io->params, low, NULL, PR_SCHED_CLASSES);
    if (pr_db_query(io->db, PR_SQL_SCHEDULER_RELEASE_SHARDS, io->params, on_released, io) == PR_OK)
        io->releasing = true;
}
