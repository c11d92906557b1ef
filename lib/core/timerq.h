/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_timerq_t: what is due next. A 4-ary heap of 16-byte entries (a 4-ary heap touches fewer cache
 * lines than a binary one: LaMarca and Ladner, "The influence of caches on the performance of
 * heaps", 1996). Entries with equal deadlines come out in the order in which they went in.
 *
 * Removal is lazy: an id that is no longer wanted is ignored by the caller when it comes out (put a
 * generation into the id, or look the id up); pr_timerq_remove_if takes out many at once.
 *
 * Deadlines are milliseconds on one clock, clamped to 0 .. 2^39-1 (17 years), so a monotonic clock,
 * not the time of day. Packed key: 39 bits deadline, 25 bits order of arrival; when the 25 bits run
 * out all are renumbered, which is why a queue holds at most 2^24 entries (16.7 million: ten
 * million is what the budget of docs/performance.md asks for). One thread.
 */
#ifndef PR_CORE_TIMERQ_H
#define PR_CORE_TIMERQ_H

#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_TIMERQ_MAX ((size_t)1 << 24)

typedef struct pr_timerq_t pr_timerq_t;

typedef struct {
    int64_t due_ms;
    uint64_t id;
} pr_timer_t;

pr_timerq_t *pr_timerq_new(size_t max_count); /* 1..PR_TIMERQ_MAX; grows on demand */
void pr_timerq_destroy(pr_timerq_t **self);

/* PR_BAD: full; nothing changed. O(log n). */
PR_CHECK pr_rc_t pr_timerq_add(pr_timerq_t *self, int64_t due_ms, uint64_t id);
/* All or nothing; in array order where deadlines are equal. O(n) for many. */
PR_CHECK pr_rc_t pr_timerq_add_many(pr_timerq_t *self, const pr_timer_t *timers, size_t count);
bool pr_timerq_peek(const pr_timerq_t *self, pr_timer_t *out); /* false: empty */
bool pr_timerq_pop(pr_timerq_t *self, int64_t now_ms,
                   pr_timer_t *out);                /* false: none with due_ms <= now_ms */
int64_t pr_timerq_next_ms(const pr_timerq_t *self); /* INT64_MAX: empty */
/* Takes out every entry that matches; returns how many. The order of the others is kept. O(n). */
size_t pr_timerq_remove_if(pr_timerq_t *self, bool (*match)(const pr_timer_t *timer, void *arg),
                           void *arg);
size_t pr_timerq_count(const pr_timerq_t *self);
void pr_timerq_clear(pr_timerq_t *self);

#endif
