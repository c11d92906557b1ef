/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <stdbool.h>

#define FIRST_SLOTS 16
#define MAX_COUNT ((size_t)1 << 31)

typedef struct {
    uint64_t key;
    void *value; /* NULL: never used; &tomb: removed, the probe goes on */
} slot_t;

struct pr_map_t {
    slot_t *slots;
    size_t slot_count; /* a power of two */
    size_t count;      /* live entries */
    size_t tombs;      /* removed entries still in the way */
    size_t max_count;
    uint64_t k0, k1; /* the SipHash key */
};

static char tomb_mark;
#define TOMB ((void *)&tomb_mark)

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 of the 8 bytes of key. */
static uint64_t hash(const pr_map_t *self, uint64_t key)
{
    uint64_t v[4] = {self->k0 ^ 0x736f6d6570736575u, self->k1 ^ 0x646f72616e646f6du,
                     self->k0 ^ 0x6c7967656e657261u, self->k1 ^ 0x7465646279746573u};
    const uint64_t last = (uint64_t)8 << 56; /* the length byte of the final block */
    v[3] ^= key;
    sip_round(v);
    v[0] ^= key;
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static slot_t *find(const pr_map_t *self, uint64_t key)
{
    size_t mask = self->slot_count - 1;
    for (size_t i = (size_t)hash(self, key) & mask;; i = (i + 1) & mask) {
        slot_t *slot = &self->slots[i];
        if (!slot->value)
            return NULL;
        if (slot->value != TOMB && slot->key == key)
            return slot;
    }
}

static void place(pr_map_t *self, uint64_t key, void *value)
{
    size_t mask = self->slot_count - 1;
    size_t i = (size_t)hash(self, key) & mask;
    while (self->slots[i].value && self->slots[i].value != TOMB)
        i = (i + 1) & mask;
    if (self->slots[i].value == TOMB)
        self->tombs--;
    self->slots[i] = (slot_t){key, value};
    self->count++;
}

static void rebuild(pr_map_t *self, size_t slot_count)
{
    slot_t *old = self->slots;
    size_t old_count = self->slot_count;
    self->slots = pr_calloc(slot_count, sizeof(slot_t));
    self->slot_count = slot_count;
    self->count = 0;
    self->tombs = 0;
    for (size_t i = 0; i < old_count; i++)
        if (old[i].value && old[i].value != TOMB)
            place(self, old[i].key, old[i].value);
    pr_free(old);
}

/* Keeps at least a quarter of the slots never used, so that every probe ends. */
static void make_room(pr_map_t *self)
{
    if ((self->count + self->tombs + 1) * 4 <= self->slot_count * 3)
        return;
    bool mostly_tombs = self->count + 1 <= self->slot_count / 2;
    rebuild(self, mostly_tombs ? self->slot_count : self->slot_count * 2);
}

static uint64_t split_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

pr_map_t *pr_map_new(size_t max_count, uint64_t seed)
{
    pr_assert(max_count >= 1 && max_count <= MAX_COUNT);
    pr_map_t *self = PR_NEW(pr_map_t);
    self->max_count = max_count;
    self->k0 = seed;
    self->k1 = split_mix(seed);
    rebuild(self, FIRST_SLOTS);
    return self;
}

void pr_map_destroy(pr_map_t **self)
{
    if (!self || !*self)
        return;
    pr_free((*self)->slots);
    pr_free(*self);
    *self = NULL;
}

pr_rc_t pr_map_put(pr_map_t *self, uint64_t key, void *value, void **old)
{
    pr_assert(value);
    if (old)
        *old = NULL;
    slot_t *slot = find(self, key);
    if (slot) {
        if (old)
            *old = slot->value;
        slot->value = value;
        return PR_OK;
    }
    if (self->count >= self->max_count)
        return PR_BAD;
    make_room(self);
    place(self, key, value);
    return PR_OK;
}

void *pr_map_get(const pr_map_t *self, uint64_t key)
{
    const slot_t *slot = find(self, key);
    return slot ? slot->value : NULL;
}

void *pr_map_remove(pr_map_t *self, uint64_t key)
{
    slot_t *slot = find(self, key);
    if (!slot)
        return NULL;
    void *value = slot->value;
    size_t mask = self->slot_count - 1;
    size_t at = (size_t)(slot - self->slots);
    self->count--;
    if (self->slots[(at + 1) & mask].value) {
        slot->value = TOMB;
        self->tombs++;
        return value;
    }
    /* The probe chain ends here: this slot and the tombs right before it are free again. */
    slot->value = NULL;
    for (at = (at - 1) & mask; self->slots[at].value == TOMB; at = (at - 1) & mask) {
        self->slots[at].value = NULL;
        self->tombs--;
    }
    return value;
}

size_t pr_map_count(const pr_map_t *self)
{
    return self->count;
}

void pr_map_clear(pr_map_t *self)
{
    pr_free(self->slots);
    self->slots = NULL;
    self->slot_count = 0;
    rebuild(self, FIRST_SLOTS);
}

void *pr_map_next(const pr_map_t *self, size_t *cursor, uint64_t *key)
{
    while (*cursor < self->slot_count) {
        const slot_t *slot = &self->slots[(*cursor)++];
        if (slot->value && slot->value != TOMB) {
            if (key)
                *key = slot->key;
            return slot->value;
        }
    }
    return NULL;
}
