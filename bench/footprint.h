/* SPDX-License-Identifier: Apache-2.0
 *
 * What the topology without Postgres and receiver takes: memory (Pss: shared pages divided among
 * those who share them; Rss: counted in each), and what it does when idle. Supervisors and
 * loggers count: a topology is what runs.
 */
#ifndef PR_BENCH_FOOTPRINT_H
#define PR_BENCH_FOOTPRINT_H

#include "bench/stage.h"

#include <jansson.h>

#define PR_FOOTPRINT_MAX 96

typedef struct {
    pid_t pid;
    char name[32];
    int64_t pss_kb, rss_kb;
    int64_t cpu_ns, wakeups; /* of all its threads; wake-ups: voluntary context switches */
} pr_footprint_process_t;

typedef struct {
    int64_t at_us; /* CLOCK_BOOTTIME */
    pr_footprint_process_t processes[PR_FOOTPRINT_MAX];
    int count;
} pr_footprint_t;

/* Actors by name, then s6's processes. */
void pr_footprint_read(pr_stage_t *stage, pr_footprint_t *out);
/* In MB: Pss, or Rss, of all together. */
double pr_footprint_mb(const pr_footprint_t *self, bool pss);
/* MB of Pss by process; what is below a tenth of one goes together. */
json_t *pr_footprint_by_process(const pr_footprint_t *self);

#endif
