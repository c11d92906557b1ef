/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/tally.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "bench/receiver/receiver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pr_tally_init(pr_tally_t *self, int64_t room)
{
    *self = (pr_tally_t){.room = room};
    self->entries = pr_calloc((size_t)room, sizeof *self->entries);
    self->by_id = pr_map_new((size_t)room, pr_random_u64());
}

void pr_tally_free(pr_tally_t *self)
{
    pr_free(self->entries);
    pr_map_destroy(&self->by_id);
    *self = (pr_tally_t){0};
}

static uint64_t key_of(const uint8_t id[16])
{
    uint64_t key;
    memcpy(&key, id, sizeof key);
    return key;
}

void pr_tally_add(pr_tally_t *self, const uint8_t id[16], int64_t due_us, int group, bool hangs)
{
    pr_assert(self->count < self->room);
    pr_tally_entry_t *entry = &self->entries[self->count++];
    *entry = (pr_tally_entry_t){.due_us = due_us, .group = (uint16_t)group, .hangs = hangs};
    memcpy(entry->id, id, sizeof entry->id);
    pr_rc_t rc = pr_map_put(self->by_id, key_of(id), entry, NULL);
    pr_assert(rc == PR_OK);
}

void pr_tally_acked(pr_tally_t *self, int64_t acked_us)
{
    pr_assert(self->count > 0);
    self->entries[self->count - 1].acked_us = acked_us;
}

pr_rc_t pr_tally_read(pr_tally_t *self, const char *dump, pr_error_t *error)
{
    FILE *file = fopen(dump, "re");
    if (!file)
        return pr_error_set(error, PR_FATAL, "bench", "", "no record %s", dump);
    pr_receiver_row_t row;
    while (fread(&row, sizeof row, 1, file) == 1) {
        pr_tally_entry_t *entry = pr_map_get(self->by_id, key_of(row.id));
        if (entry && memcmp(entry->id, row.id, sizeof row.id) == 0) {
            entry->first_us = row.first_us;
            entry->receipts = row.count;
        }
    }
    (void)fclose(file);
    return PR_OK;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The smallest value that at least `share` of them do not pass. */
static double percentile_ms(const int64_t *sorted, int64_t n, double share)
{
    int64_t at = (int64_t)(share * (double)n);
    return n == 0 ? 0 : (double)sorted[at < n ? at : n - 1] / 1000.0;
}

/* Sorts us[n]. */
static pr_latencies_t latencies_of(int64_t *us, int64_t n)
{
    qsort(us, (size_t)n, sizeof *us, by_value);
    return (pr_latencies_t){.p50_ms = percentile_ms(us, n, 0.5),
                            .p99_ms = percentile_ms(us, n, 0.99),
                            .p999_ms = percentile_ms(us, n, 0.999),
                            .max_ms = percentile_ms(us, n, 1)};
}

static void latencies(const pr_tally_t *self, int group, pr_tally_sum_t *sum)
{
    int64_t *due = pr_calloc((size_t)self->count, sizeof *due);
    int64_t *acked = pr_calloc((size_t)self->count, sizeof *acked);
    int64_t *commit = pr_calloc((size_t)self->count, sizeof *commit);
    int64_t n = 0, m = 0;
    for (int64_t i = 0; i < self->count; i++) {
        const pr_tally_entry_t *entry = &self->entries[i];
        if ((group >= 0 && entry->group != group) || entry->hangs || !entry->first_us ||
            !entry->due_us)
            continue;
        due[n++] = entry->first_us - entry->due_us;
        if (!entry->acked_us)
            continue;
        int64_t after = entry->first_us - entry->acked_us;
        acked[m] = after > 0 ? after : 0;
        commit[m++] = entry->acked_us - entry->due_us;
    }
    sum->due = latencies_of(due, n);
    sum->acked = latencies_of(acked, m);
    sum->commit = latencies_of(commit, m);
    pr_free(due);
    pr_free(acked);
    pr_free(commit);
}

pr_tally_sum_t pr_tally_sum(const pr_tally_t *self, int group)
{
    pr_tally_sum_t sum = {0};
    for (int64_t i = 0; i < self->count; i++) {
        const pr_tally_entry_t *entry = &self->entries[i];
        if (group >= 0 && entry->group != group)
            continue;
        if (entry->hangs) {
            sum.hanging++;
            continue;
        }
        sum.committed++;
        sum.received += entry->receipts > 0;
        sum.repeated += entry->receipts > 1 ? entry->receipts - 1 : 0;
        if (entry->first_us && (sum.first_us == 0 || entry->first_us < sum.first_us))
            sum.first_us = entry->first_us;
        if (entry->first_us > sum.last_us)
            sum.last_us = entry->first_us;
    }
    sum.lost = sum.committed - sum.received;
    latencies(self, group, &sum);
    return sum;
}

int64_t pr_tally_first_due_after(const pr_tally_t *self, int64_t due_us)
{
    int64_t first_us = 0;
    for (int64_t i = 0; i < self->count; i++) {
        const pr_tally_entry_t *entry = &self->entries[i];
        if (!entry->hangs && entry->due_us >= due_us && entry->first_us &&
            (first_us == 0 || entry->first_us < first_us))
            first_us = entry->first_us;
    }
    return first_us;
}
