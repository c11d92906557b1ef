/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/meter.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "bench/peer.h"
#include "cli/home.h"
#include "cli/topology.h"
#include "sql/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UTIME = 11, CSTIME = 14 }; /* fields of /proc/PID/stat, counted from the state as 0 */

/* utime + stime, and the same of buried children when wanted; -1: no such process. */
static int64_t ticks_of(pid_t pid, bool children)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("/proc/%ld/stat", (long)pid);
    PR_CLEANUP_FREE char *text = pr_home_read(path);
    char *rest = text ? strrchr(text, ')') : NULL; /* the name may hold anything */
    if (!rest)
        return -1;
    rest += 2;
    int64_t ticks = 0;
    for (int field = 0; rest && field <= CSTIME; field++) {
        const char *word = strsep(&rest, " ");
        if (field >= UTIME && field < (children ? UTIME + 4 : UTIME + 2))
            ticks += (int64_t)strtoll(word, NULL, 10);
    }
    return ticks;
}

static void add(pr_meter_t *meter, pid_t pid, pr_meter_kind_t kind, const char *name, bool children)
{
    int64_t ticks = ticks_of(pid, children);
    if (ticks < 0 || meter->count == PR_METER_PROCESSES_MAX)
        return;
    pr_meter_process_t *process = &meter->processes[meter->count++];
    *process = (pr_meter_process_t){.pid = pid, .kind = kind, .ticks = ticks};
    (void)snprintf(process->name, sizeof process->name, "%s", name);
}

static void add_services(pr_stage_t *stage, pr_meter_t *out)
{
    pr_service_names_t names;
    pr_topology_services(stage->state_dir, &names);
    for (int i = 0; i < names.count; i++) {
        pid_t pid = pr_stage_pid(stage, names.name[i]);
        bool receiver = strcmp(names.name[i], "receiver") == 0;
        if (pid > 0)
            add(out, pid, receiver ? PR_METER_RECEIVER : PR_METER_POSTRIDER, names.name[i], false);
    }
}

static pr_rc_t add_postgres(pr_stage_t *stage, bool buried, pr_meter_t *out, pr_error_t *error)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/postgres/data/postmaster.pid", stage->state_dir);
    PR_CLEANUP_FREE char *pid_text = pr_home_read(path);
    if (pid_text)
        add(out, (pid_t)strtol(pid_text, NULL, 10), PR_METER_POSTGRES, "postmaster", buried);
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_rc_t rc =
        pr_db_sync_query(stage->admin, pr_sql_bench[PR_SQL_BENCH_BACKENDS].sql, NULL, &rows, error);
    for (int row = 0; rc == PR_OK && row < pr_rows_count(rows); row++)
        add(out, pr_rows_i32(rows, row, 0), PR_METER_POSTGRES, pr_rows_text(rows, row, 1), false);
    return rc;
}

static pr_rc_t ask(pr_stage_t *stage, int index, int64_t *out, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_rc_t rc = pr_db_sync_query(stage->admin, pr_sql_bench[index].sql, NULL, &rows, error);
    if (rc == PR_OK)
        *out = pr_rows_i64(rows, 0, 0);
    return rc;
}

pr_rc_t pr_meter_read(pr_stage_t *stage, bool buried, pr_meter_t *out, pr_error_t *error)
{
    *out = (pr_meter_t){.at_us = pr_clock_mono_us()};
    add_services(stage, out);
    if (stage->peer)
        add(out, stage->peer->pid, PR_METER_POSTRIDER, stage->peer->kind->name, false);
    pr_rc_t rc = add_postgres(stage, buried, out, error);
    rc = rc != PR_OK ? rc : ask(stage, PR_SQL_BENCH_STATEMENTS, &out->statements, error);
    return rc != PR_OK ? rc : ask(stage, PR_SQL_BENCH_WAL_POSITION, &out->wal_position, error);
}

/* ---- the report ---- */

static int64_t before(const pr_meter_t *a, const pr_meter_process_t *process)
{
    for (int i = 0; i < a->count; i++)
        if (a->processes[i].pid == process->pid && a->processes[i].kind == process->kind)
            return a->processes[i].ticks;
    return 0; /* born since */
}

static void report_cpu(const pr_meter_t *a, const pr_meter_t *b, int64_t notifications,
                       json_t *report)
{
    double us_per_tick = 1e6 / (double)sysconf(_SC_CLK_TCK) / (double)notifications;
    double sums[4] = {0};
    json_t *each = json_object();
    for (int i = 0; i < b->count; i++) {
        const pr_meter_process_t *process = &b->processes[i];
        double us = (double)(process->ticks - before(a, process)) * us_per_tick;
        sums[process->kind] += us;
        if (us < 0.05)
            continue;
        PR_CLEANUP_FREE char *name = process->kind == PR_METER_POSTGRES
                                         ? pr_asprintf("postgres: %s", process->name)
                                         : pr_strdup(process->name);
        double so_far = json_real_value(json_object_get(each, name));
        (void)json_object_set_new(each, name, json_real(so_far + us));
    }
    (void)json_object_set_new(report, "cpu_us_per_notification",
                              json_real(sums[PR_METER_POSTRIDER] + sums[PR_METER_POSTGRES]));
    (void)json_object_set_new(report, "cpu_us_postrider", json_real(sums[PR_METER_POSTRIDER]));
    (void)json_object_set_new(report, "cpu_us_postgres", json_real(sums[PR_METER_POSTGRES]));
    (void)json_object_set_new(report, "cpu_us_receiver", json_real(sums[PR_METER_RECEIVER]));
    (void)json_object_set_new(report, "cpu_us_by_process", each);
}

static pr_rc_t report_wal(pr_stage_t *stage, const pr_meter_t *a, const pr_meter_t *b,
                          int64_t notifications, json_t *report, pr_error_t *error)
{
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    if (a->wal_position == b->wal_position)
        return PR_OK; /* nothing was written: there is nothing to read */
    pr_params_add_i64(params, a->wal_position);
    pr_params_add_i64(params, b->wal_position);
    /* the log must be on disk up to b: a commit of our own sees to that */
    pr_rc_t rc = pr_db_sync_query(stage->admin,
                                  "SELECT pg_catalog.pg_logical_emit_message(true, 'bench', '')",
                                  NULL, NULL, error);
    if (rc == PR_OK)
        rc = pr_db_sync_query(stage->admin, pr_sql_bench[PR_SQL_BENCH_WAL_BYTES].sql, params, &rows,
                              error);
    if (rc != PR_OK)
        return rc;
    double n = (double)notifications;
    double images = (double)pr_rows_i64(rows, 0, 2);
    double all = (double)(b->wal_position - a->wal_position);
    (void)json_object_set_new(report, "wal_bytes_per_notification", json_real(all / n));
    (void)json_object_set_new(report, "wal_bytes_per_notification_without_fpi",
                              json_real((all - images) / n));
    (void)json_object_set_new(report, "wal_records_per_notification",
                              json_real((double)pr_rows_i64(rows, 0, 0) / n));
    return PR_OK;
}

pr_rc_t pr_meter_report(pr_stage_t *stage, const pr_meter_t *a, const pr_meter_t *b,
                        int64_t notifications, json_t *report, pr_error_t *error)
{
    report_cpu(a, b, notifications, report);
    (void)json_object_set_new(
        report, "statements_per_notification",
        json_real((double)(b->statements - a->statements) / (double)notifications));
    return report_wal(stage, a, b, notifications, report, error);
}
