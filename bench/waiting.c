/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/waiting.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "sql/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/statvfs.h>

#define AT_ONCE 200000
#define SHOW_EVERY 2000000
#define BYTES_EACH 1300 /* bodies, jobs, indexes, and the log meanwhile */

static pr_rc_t check_room(const pr_stage_t *stage, int64_t count, pr_error_t *error)
{
    struct statvfs disk;
    if (statvfs(stage->state_dir, &disk) != 0)
        return PR_OK; /* Postgres will say so */
    int64_t room = (int64_t)(disk.f_bavail * disk.f_frsize), need = count * BYTES_EACH;
    if (room >= need)
        return PR_OK;
    return pr_error_set(error, PR_FATAL, "bench", "",
                        "%lld jobs that wait need %lld MB of disk, %lld are free", (long long)count,
                        (long long)(need >> 20), (long long)(room >> 20));
}

static pr_rc_t some(pr_stage_t *stage, int64_t from, int64_t count, pr_error_t *error)
{
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    pr_params_add_i64(params, from);
    pr_params_add_i64(params, count);
    pr_params_add_i32(params, stage->options.merchants);
    pr_rc_t rc = pr_db_sync_query(stage->admin, pr_sql_bench[PR_SQL_BENCH_WAITING_FILL].sql, params,
                                  NULL, error);
    return rc != PR_OK ? rc : pr_bench_wait_ms(0, error);
}

static pr_rc_t fill(pr_stage_t *stage, int64_t count, pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    int64_t start_ms = pr_clock_mono_ms();
    for (int64_t at = 0; rc == PR_OK && at < count; at += AT_ONCE) {
        rc = some(stage, at, count - at < AT_ONCE ? count - at : AT_ONCE, error);
        if ((at + AT_ONCE) % SHOW_EVERY == 0)
            (void)fprintf(stderr, "  %" PRId64 " of %" PRId64 " waiting jobs, %" PRId64 " s\n",
                          at + AT_ONCE, count, (pr_clock_mono_ms() - start_ms) / 1000);
    }
    return rc;
}

pr_rc_t pr_waiting_fill(pr_stage_t *stage, int64_t count, pr_error_t *error)
{
    static const char *const upkeep[] = {"VACUUM (ANALYZE) postrider.job",
                                         "VACUUM (ANALYZE) postrider.outbox_waiting", "CHECKPOINT"};
    pr_rc_t rc = check_room(stage, count, error);
    rc = rc != PR_OK ? rc
                     : pr_db_sync_script(stage->admin,
                                         pr_sql_bench[PR_SQL_BENCH_WAITING_PREPARE].sql, error);
    rc = rc != PR_OK ? rc
                     : pr_db_sync_query(stage->admin, "SET maintenance_work_mem = '1GB'", NULL,
                                        NULL, error);
    rc = rc != PR_OK ? rc : fill(stage, count, error);
    if (rc == PR_OK)
        (void)fprintf(stderr, "  their indexes\n");
    rc = rc != PR_OK ? rc
                     : pr_db_sync_script(stage->admin,
                                         pr_sql_bench[PR_SQL_BENCH_WAITING_FINISH].sql, error);
    for (size_t i = 0; i < PR_COUNT(upkeep) && rc == PR_OK; i++)
        rc = pr_db_sync_query(stage->admin, upkeep[i], NULL, NULL, error);
    return rc;
}
