/* SPDX-License-Identifier: Apache-2.0
 *
 * The limiting allocator under every unpacked envelope: memory is handed out in one direction
 * from a few blocks and given back all at once, and never passes a budget fixed at the start.
 * protobuf-c sees a failed allocation beyond the budget and gives up cleanly.
 */
#ifndef PR_WIRE_ARENA_H
#define PR_WIRE_ARENA_H

#include <protobuf-c/protobuf-c.h>

#include <stddef.h>

typedef struct pr_arena_t pr_arena_t;

/* first_bytes: size of the first block, at most budget_bytes; the budget counts blocks. */
pr_arena_t *pr_arena_new(size_t first_bytes, size_t budget_bytes);
void pr_arena_destroy(pr_arena_t **self);
/* 16-byte aligned, not zeroed; NULL when the budget is spent. */
void *pr_arena_alloc(pr_arena_t *self, size_t size);
/* The arena whose first allocation is this pointer. */
pr_arena_t *pr_arena_of_first(void *first);
/* The same as protobuf-c wants it; valid as long as the arena. */
ProtobufCAllocator *pr_arena_allocator(pr_arena_t *self);

#endif
