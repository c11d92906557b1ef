/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_meter_t: what a stretch of work cost. CPU: utime + stime of /proc/PID/stat (ticks of 10 ms)
 * of each actor, of the receiver, and of each process of Postgres by its application name. Backends
 * that ended count with the postmaster who has buried them, if wanted: not where the application's
 * own were among them. The bench's own backend is left out.
 * WAL: read from the log itself (pg_walinspect), so that full-page images can be told apart.
 * Statements: pg_stat_statements, executions by anybody but superusers.
 */
#ifndef PR_BENCH_METER_H
#define PR_BENCH_METER_H

#include "bench/stage.h"

#include <jansson.h>

#define PR_METER_PROCESSES_MAX 160

typedef enum { PR_METER_POSTRIDER = 1, PR_METER_POSTGRES, PR_METER_RECEIVER } pr_meter_kind_t;

typedef struct {
    pid_t pid;
    pr_meter_kind_t kind;
    char name[48];
    int64_t ticks;
} pr_meter_process_t;

typedef struct {
    int64_t at_us; /* CLOCK_BOOTTIME */
    pr_meter_process_t processes[PR_METER_PROCESSES_MAX];
    int count;
    int64_t wal_position, statements;
} pr_meter_t;

PR_CHECK pr_rc_t pr_meter_read(pr_stage_t *stage, bool buried, pr_meter_t *out, pr_error_t *error);

/* Adds to report what was spent from a to b, a notification: cpu_us_*, wal_*, statements_*. */
PR_CHECK pr_rc_t pr_meter_report(pr_stage_t *stage, const pr_meter_t *a, const pr_meter_t *b,
                                 int64_t notifications, json_t *report, pr_error_t *error);

#endif
