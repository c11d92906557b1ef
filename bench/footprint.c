/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/footprint.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/home.h"
#include "cli/topology.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARENT 1 /* field of /proc/PID/stat, counted from the state as 0 */
#define SMALL_MB 0.1

static int64_t number_after(const char *text, const char *key)
{
    const char *at = text ? strstr(text, key) : NULL;
    return at ? (int64_t)strtoll(at + strlen(key), NULL, 10) : 0;
}

static pid_t parent_of(pid_t pid)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("/proc/%ld/stat", (long)pid);
    PR_CLEANUP_FREE char *text = pr_home_read(path);
    const char *rest = text ? strrchr(text, ')') : NULL;
    return rest && rest[1] ? (pid_t)strtol(rest + 2 + PARENT + 1, NULL, 10) : 0;
}

static void read_memory(pr_footprint_process_t *process)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("/proc/%ld/smaps_rollup", (long)process->pid);
    PR_CLEANUP_FREE char *text = pr_home_read(path);
    process->pss_kb = number_after(text, "\nPss:");
    process->rss_kb = number_after(text, "\nRss:");
}

static void read_thread(pr_footprint_process_t *process, const char *tid)
{
    PR_CLEANUP_FREE char *times_path =
        pr_asprintf("/proc/%ld/task/%s/schedstat", (long)process->pid, tid);
    PR_CLEANUP_FREE char *times = pr_home_read(times_path);
    PR_CLEANUP_FREE char *status_path =
        pr_asprintf("/proc/%ld/task/%s/status", (long)process->pid, tid);
    PR_CLEANUP_FREE char *status = pr_home_read(status_path);
    process->cpu_ns += times ? (int64_t)strtoll(times, NULL, 10) : 0;
    process->wakeups += number_after(status, "\nvoluntary_ctxt_switches:");
}

static void read_threads(pr_footprint_process_t *process)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("/proc/%ld/task", (long)process->pid);
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            read_thread(process, entry->d_name);
    if (dir)
        (void)closedir(dir);
}

static bool is_known(const pr_footprint_t *self, pid_t pid)
{
    for (int i = 0; i < self->count; i++)
        if (self->processes[i].pid == pid)
            return true;
    return false;
}

static void add(pr_footprint_t *self, pid_t pid, const char *name)
{
    if (pid <= 1 || self->count == PR_FOOTPRINT_MAX || is_known(self, pid))
        return;
    pr_footprint_process_t *process = &self->processes[self->count++];
    *process = (pr_footprint_process_t){.pid = pid};
    (void)snprintf(process->name, sizeof process->name, "%s", name);
    read_memory(process);
    read_threads(process);
}

/* s6-svscan, and what descends from it in one or two steps: s6-supervise and s6-log. Actors are
 * known by then; the receiver and who supervises it do not belong to it. */
static void add_supervision(pr_footprint_t *self, pid_t svscan, pid_t receiver)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    add(self, svscan, "s6");
    while (dir && (entry = readdir(dir)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        pid_t parent = pid > 1 ? parent_of(pid) : 0;
        if (parent > 1 && pid != receiver && pid != parent_of(receiver) &&
            (parent == svscan || parent_of(parent) == svscan))
            add(self, pid, "s6");
    }
    if (dir)
        (void)closedir(dir);
}

void pr_footprint_read(pr_stage_t *stage, pr_footprint_t *out)
{
    pr_service_names_t names;
    pid_t svscan = 0, receiver = 0;
    *out = (pr_footprint_t){.at_us = pr_clock_mono_us()};
    pr_topology_services(stage->state_dir, &names);
    for (int i = 0; i < names.count; i++) {
        pid_t pid = pr_stage_pid(stage, names.name[i]);
        if (pid > 0 && svscan == 0)
            svscan = parent_of(parent_of(pid));
        if (strcmp(names.name[i], "receiver") == 0)
            receiver = pid;
        else
            add(out, pid, names.name[i]);
    }
    if (svscan > 1)
        add_supervision(out, svscan, receiver);
}

double pr_footprint_mb(const pr_footprint_t *self, bool pss)
{
    int64_t kb = 0;
    for (int i = 0; i < self->count; i++)
        kb += pss ? self->processes[i].pss_kb : self->processes[i].rss_kb;
    return (double)kb / 1024;
}

json_t *pr_footprint_by_process(const pr_footprint_t *self)
{
    json_t *each = json_object();
    double rest = 0;
    for (int i = 0; i < self->count; i++) {
        double mb = (double)self->processes[i].pss_kb / 1024;
        if (strcmp(self->processes[i].name, "s6") == 0 || mb < SMALL_MB)
            rest += mb;
        else
            (void)json_object_set_new(each, self->processes[i].name, json_real(mb));
    }
    (void)json_object_set_new(each, "supervision", json_real(rest));
    return each;
}
