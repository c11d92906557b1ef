/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_map_t: an open-addressing hash map from a 64-bit key to a pointer, never NULL; values are
 * borrowed, the map never frees them. Linear probing over a power of two of 16-byte slots, at
 * most 3/4 in use; SipHash-1-3 keyed with `seed`, so that keys chosen from outside
 * cannot be made to collide (https://www.aumasson.jp/siphash/siphash.pdf). A process passes
 * pr_random_u64(); a simulation passes a constant and gets the same order each time.
 *
 * Walking: pr_map_next may be interleaved with pr_map_remove of ANY key (slots never move on
 * removal); a removed entry that was not reached yet is not given. pr_map_put of a new key
 * during a walk may move everything: do not. One thread.
 */
#ifndef PR_BASE_MAP_H
#define PR_BASE_MAP_H

#include "base/rc.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pr_map_t pr_map_t;

pr_map_t *pr_map_new(size_t max_count, uint64_t seed); /* max_count: 1 to 2^31 entries */
void pr_map_destroy(pr_map_t **self);

/* Inserts or replaces. *old (may be NULL) = the value replaced, else NULL. PR_BAD: the key is new
 * and the map holds max_count already; nothing changed. value must not be NULL. */
PR_CHECK pr_rc_t pr_map_put(pr_map_t *self, uint64_t key, void *value, void **old);
void *pr_map_get(const pr_map_t *self, uint64_t key); /* NULL: not there */
void *pr_map_remove(pr_map_t *self, uint64_t key);    /* the value removed, or NULL */
size_t pr_map_count(const pr_map_t *self);
void pr_map_clear(pr_map_t *self); /* removes all; memory goes back to the first size */

/* The next entry, in no order. *cursor is 0 at the start; NULL = the end. key may be NULL.
 *     size_t cursor = 0;
 *     while ((job = pr_map_next(map, &cursor, &key))) ... */
void *pr_map_next(const pr_map_t *self, size_t *cursor, uint64_t *key);

#endif
