/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_tally_t: what was committed, joined with what the receiver recorded. The only source of
 * `lost`, `repeated` and every latency: Postrider's own tables are not asked.
 */
#ifndef PR_BENCH_TALLY_H
#define PR_BENCH_TALLY_H

#include "base/error.h"
#include "base/map.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint8_t id[16];
    int64_t due_us; /* wall: when its commit was scheduled; 0 filled beforehand */
    int64_t
        acked_us; /* wall: when the application read that it is committed; 0 filled beforehand */
    int64_t first_us; /* wall: first receipt; 0 none */
    uint32_t receipts;
    uint16_t group; /* round or phase, as the mode counts */
    bool hangs;     /* its merchant never answers: not judged */
} pr_tally_entry_t;

typedef struct {
    pr_tally_entry_t *entries;
    int64_t count, room;
    int64_t unknown; /* commits whose outcome nobody knows: not counted anywhere */
    pr_map_t *by_id; /* first 8 bytes of the id -> index + 1 */
} pr_tally_t;

void pr_tally_init(pr_tally_t *self, int64_t room); /* asserts that no more are added */
void pr_tally_free(pr_tally_t *self);
void pr_tally_add(pr_tally_t *self, const uint8_t id[16], int64_t due_us, int group, bool hangs);
/* The one that was added last: its commit is known to the application now. */
void pr_tally_acked(pr_tally_t *self, int64_t acked_us);
/* Takes the receiver's record over; may be repeated with a later one. */
PR_CHECK pr_rc_t pr_tally_read(pr_tally_t *self, const char *dump, pr_error_t *error);

typedef struct {
    double p50_ms, p99_ms, p999_ms, max_ms;
} pr_latencies_t;

/* Of one group, or of all with group -1; hanging ones are left out of everything but `hanging`. */
typedef struct {
    int64_t committed, hanging, received, lost, repeated;
    int64_t first_us, last_us; /* of first receipts; 0 none */
    pr_latencies_t due;        /* from the due time to the first receipt */
    pr_latencies_t acked;  /* from the acknowledged commit to the first receipt; a receipt may be
                            * earlier than the application reads of its commit: 0 then */
    pr_latencies_t commit; /* from the due time to the acknowledged commit */
} pr_tally_sum_t;

pr_tally_sum_t pr_tally_sum(const pr_tally_t *self, int group);
/* The first receipt of one that was due at due_us or later; 0 none. */
int64_t pr_tally_first_due_after(const pr_tally_t *self, int64_t due_us);

#endif
