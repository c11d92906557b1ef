/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/arena.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

enum { ALIGN = 16, BLOCK_MIN = 4096 };

typedef struct block_t block_t;

struct block_t {
    block_t *next;
    size_t room;
    alignas(ALIGN) uint8_t bytes[];
};

/* The arena lives at the start of its own first block, so that the first allocation stands at
 * a fixed distance behind it. */
struct pr_arena_t {
    ProtobufCAllocator allocator;
    block_t *first;
    block_t *now;
    size_t used;   /* of the block `now` */
    size_t budget; /* bytes of blocks that may still be taken */
};

static size_t align_up(size_t size)
{
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

#define HEAD_BYTES align_up(sizeof(pr_arena_t))

static block_t *block_new(size_t room)
{
    block_t *self = pr_realloc(NULL, sizeof *self + room, 1);
    self->next = NULL;
    self->room = room;
    return self;
}

static void *allocate(void *arena, size_t size)
{
    return pr_arena_alloc(arena, size);
}

static void keep(void *arena, void *pointer) /* all goes at once, in destroy */
{
    (void)arena;
    (void)pointer;
}

pr_arena_t *pr_arena_new(size_t first_bytes, size_t budget_bytes)
{
    pr_assert(first_bytes <= budget_bytes && budget_bytes < SIZE_MAX / 4);
    block_t *block = block_new(HEAD_BYTES + align_up(first_bytes));
    pr_arena_t *self = (pr_arena_t *)(void *)block->bytes;
    *self = (pr_arena_t){
        .allocator = {allocate, keep, self},
        .first = block,
        .now = block,
        .used = HEAD_BYTES,
        .budget = budget_bytes - first_bytes,
    };
    return self;
}

void pr_arena_destroy(pr_arena_t **self)
{
    block_t *block = *self ? (*self)->first : NULL;
    while (block) {
        block_t *next = block->next;
        pr_free(block);
        block = next;
    }
    *self = NULL;
}

/* A fresh block twice as large as the last, or as large as the budget allows. */
static bool grow(pr_arena_t *self, size_t need)
{
    size_t room = self->now->room * 2 > BLOCK_MIN ? self->now->room * 2 : BLOCK_MIN;
    if (room < need) {
        room = need;
    }
    if (room > self->budget) {
        room = self->budget;
    }
    if (room < need) {
        return false;
    }
    self->budget -= room;
    self->now->next = block_new(room);
    self->now = self->now->next;
    self->used = 0;
    return true;
}

void *pr_arena_alloc(pr_arena_t *self, size_t size)
{
    if (size > self->budget + self->now->room) {
        return NULL;
    }
    size = align_up(size ? size : 1);
    if (self->now->room - self->used < size && !grow(self, size)) {
        return NULL;
    }
    void *out = self->now->bytes + self->used;
    self->used += size;
    return out;
}

pr_arena_t *pr_arena_of_first(void *first)
{
    return (pr_arena_t *)(void *)((uint8_t *)first - HEAD_BYTES);
}

ProtobufCAllocator *pr_arena_allocator(pr_arena_t *self)
{
    return &self->allocator;
}
