/* SPDX-License-Identifier: Apache-2.0 */
#include "core/timerq.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#define ARITY 4
#define FIRST_ROOM 64
#define LINE_BYTES 64 /* of the cache: four entries, all the children of one */
#define ORDER_BITS 25
#define ORDER_END ((uint64_t)1 << ORDER_BITS)
#define DUE_MAX_MS (((int64_t)1 << 39) - 1)

typedef struct {
    uint64_t
        key; /* due_ms << ORDER_BITS | order of arrival: unique, so the heap's order is total */
    uint64_t id;
} entry_t;

/* entries[1] lies at the start of a cache line, and so does each group of brothers. Sifting down
 * therefore touches one line a level; at ten million entries, where the lower levels are in no cache,
 * that and fetching the grandchildren ahead (look_ahead) made arm+fire half as fast again. */
struct pr_timerq_t {
    void *memory; /* what was allocated; entries lies in it */
    entry_t *entries;
    size_t count;
    size_t room;
    size_t max_count;
    uint64_t next_order;
};

static uint64_t make_key(int64_t due_ms, uint64_t order)
{
    if (due_ms < 0)
        due_ms = 0;
    if (due_ms > DUE_MAX_MS)
        due_ms = DUE_MAX_MS;
    return (uint64_t)due_ms << ORDER_BITS | order;
}

static pr_timer_t to_timer(const entry_t *entry)
{
    return (pr_timer_t){(int64_t)(entry->key >> ORDER_BITS), entry->id};
}

static void sift_up(pr_timerq_t *self, size_t at)
{
    entry_t entry = self->entries[at];
    while (at > 0) {
        size_t parent = (at - 1) / ARITY;
        if (self->entries[parent].key <= entry.key)
            break;
        self->entries[at] = self->entries[parent];
        at = parent;
    }
    self->entries[at] = entry;
}

static size_t smallest_child(const pr_timerq_t *self, size_t at)
{
    size_t first = at * ARITY + 1;
    size_t end = first + ARITY < self->count ? first + ARITY : self->count;
    size_t smallest = first;
    for (size_t child = first + 1; child < end; child++)
        if (self->entries[child].key < self->entries[smallest].key)
            smallest = child;
    return smallest; /* >= count: no child */
}

/* The children of all children of at lie side by side: four lines, asked for while the children are
 * still being compared. Beyond the end of the heap it is a hint about nothing. */
static void look_ahead(const pr_timerq_t *self, size_t at)
{
    size_t first = (at * ARITY + 1) * ARITY + 1;
    if (first >= self->count)
        return;
    for (size_t i = 0; i < ARITY; i++)
        __builtin_prefetch(&self->entries[first + i * ARITY]);
}

static void sift_down(pr_timerq_t *self, size_t at)
{
    entry_t entry = self->entries[at];
    for (;;) {
        look_ahead(self, at);
        size_t child = smallest_child(self, at);
        if (child >= self->count || self->entries[child].key >= entry.key)
            break;
        self->entries[at] = self->entries[child];
        at = child;
    }
    self->entries[at] = entry;
}

/* Floyd's bottom-up heap construction, O(n). */
static void heapify(pr_timerq_t *self)
{
    if (self->count < 2)
        return;
    for (size_t at = (self->count - 2) / ARITY + 1; at-- > 0;)
        sift_down(self, at);
}

static int by_key(const void *a, const void *b)
{
    uint64_t left = ((const entry_t *)a)->key;
    uint64_t right = ((const entry_t *)b)->key;
    return left < right ? -1 : left > right;
}

/* Numbers all entries afresh from 0 in their present order. At least half of the numbers are free
 * afterwards, so this is rare: once in 2^24 additions at most. A sorted array is a heap. */
static void renumber(pr_timerq_t *self)
{
    if (self->count > 0)
        qsort(self->entries, self->count, sizeof(entry_t), by_key);
    for (size_t i = 0; i < self->count; i++)
        self->entries[i].key = self->entries[i].key >> ORDER_BITS << ORDER_BITS | i;
    self->next_order = self->count;
}

static void grow(pr_timerq_t *self, size_t room)
{
    size_t before = self->memory ? (size_t)((char *)self->entries - (char *)self->memory) : 0;
    self->memory = pr_realloc(self->memory, room * sizeof(entry_t) + LINE_BYTES, 1);
    size_t past_line = ((uintptr_t)self->memory + sizeof(entry_t)) % LINE_BYTES;
    size_t after = past_line == 0 ? 0 : LINE_BYTES - past_line;
    self->entries = (entry_t *)(void *)((char *)self->memory + after);
    if (after != before && self->count > 0) /* a large block keeps its place in its page */
        memmove(self->entries, (char *)self->memory + before, self->count * sizeof(entry_t));
    self->room = room;
}

static void reserve(pr_timerq_t *self, size_t more)
{
    size_t need = self->count + more;
    if (self->next_order + more > ORDER_END)
        renumber(self);
    if (need <= self->room)
        return;
    size_t room = self->room * 2 > FIRST_ROOM ? self->room * 2 : FIRST_ROOM;
    if (room < need)
        room = need;
    if (room > self->max_count)
        room = self->max_count;
    grow(self, room);
}

pr_timerq_t *pr_timerq_new(size_t max_count)
{
    pr_assert(max_count >= 1 && max_count <= PR_TIMERQ_MAX);
    pr_timerq_t *self = PR_NEW(pr_timerq_t);
    self->max_count = max_count;
    return self;
}

void pr_timerq_destroy(pr_timerq_t **self)
{
    if (!self || !*self)
        return;
    pr_free((*self)->memory);
    pr_free(*self);
    *self = NULL;
}

pr_rc_t pr_timerq_add(pr_timerq_t *self, int64_t due_ms, uint64_t id)
{
    if (self->count >= self->max_count)
        return PR_BAD;
    reserve(self, 1);
    self->entries[self->count] = (entry_t){make_key(due_ms, self->next_order++), id};
    sift_up(self, self->count++);
    return PR_OK;
}

pr_rc_t pr_timerq_add_many(pr_timerq_t *self, const pr_timer_t *timers, size_t count)
{
    if (count > self->max_count - self->count)
        return PR_BAD;
    reserve(self, count);
    size_t before = self->count;
    bool few = count < before / 8; /* then sifting each is cheaper than rebuilding */
    for (size_t i = 0; i < count; i++) {
        self->entries[self->count] =
            (entry_t){make_key(timers[i].due_ms, self->next_order++), timers[i].id};
        if (few)
            sift_up(self, self->count);
        self->count++;
    }
    if (!few)
        heapify(self);
    return PR_OK;
}

bool pr_timerq_peek(const pr_timerq_t *self, pr_timer_t *out)
{
    if (self->count == 0)
        return false;
    *out = to_timer(&self->entries[0]);
    return true;
}

bool pr_timerq_pop(pr_timerq_t *self, int64_t now_ms, pr_timer_t *out)
{
    pr_timer_t first;
    if (!pr_timerq_peek(self, &first) || first.due_ms > now_ms)
        return false;
    *out = first;
    self->entries[0] = self->entries[--self->count];
    if (self->count > 0)
        sift_down(self, 0);
    return true;
}

int64_t pr_timerq_next_ms(const pr_timerq_t *self)
{
    return self->count == 0 ? INT64_MAX : to_timer(&self->entries[0]).due_ms;
}

size_t pr_timerq_remove_if(pr_timerq_t *self, bool (*match)(const pr_timer_t *timer, void *arg),
                           void *arg)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->count; i++) {
        pr_timer_t timer = to_timer(&self->entries[i]);
        if (!match(&timer, arg))
            self->entries[kept++] = self->entries[i];
    }
    size_t removed = self->count - kept;
    self->count = kept;
    if (removed > 0)
        heapify(self);
    return removed;
}

size_t pr_timerq_count(const pr_timerq_t *self)
{
    return self->count;
}

void pr_timerq_clear(pr_timerq_t *self)
{
    pr_free(self->memory);
    *self = (pr_timerq_t){.max_count = self->max_count};
}
