/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/ledger.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <openssl/sha.h>

#include <string.h>

struct pr_ledger_t {
    pr_ledger_entry_t *slots;
    size_t room; /* a power of two */
    size_t count, max;
};

_Static_assert(sizeof(pr_ledger_entry_t) == 64, "one entry, one cache line");

static size_t room_for(size_t count)
{
    size_t room = 1024;
    while (room / 4 * 3 < count) {
        room *= 2;
    }
    return room;
}

pr_ledger_t *pr_ledger_new(size_t expected, size_t max)
{
    pr_assert(max > 0 && max <= (1ULL << 32));
    pr_ledger_t *self = PR_NEW(pr_ledger_t);
    self->max = max;
    self->room = room_for(expected < max ? expected : max);
    self->slots = pr_calloc(self->room, sizeof(*self->slots));
    return self;
}

void pr_ledger_destroy(pr_ledger_t **self)
{
    if (*self) {
        pr_free((*self)->slots);
        pr_free(*self);
        *self = NULL;
    }
}

void pr_ledger_clear(pr_ledger_t *self)
{
    memset(self->slots, 0, self->room * sizeof(*self->slots));
    self->count = 0;
}

/* The slot of (id, target), or the free one where it belongs. */
static pr_ledger_entry_t *probe(const pr_ledger_t *self, const pr_notify_id_t *id, uint32_t target)
{
    size_t at = pr_notify_id_mix(id, target) & (self->room - 1);
    for (;; at = (at + 1) & (self->room - 1)) {
        pr_ledger_entry_t *slot = &self->slots[at];
        if (slot->target == 0 ||
            (slot->target == target && memcmp(&slot->id, id, sizeof(*id)) == 0)) {
            return slot;
        }
    }
}

static void grow(pr_ledger_t *self)
{
    pr_ledger_entry_t *old = self->slots;
    size_t old_room = self->room;
    self->room *= 2;
    self->slots = pr_calloc(self->room, sizeof(*self->slots));
    for (size_t i = 0; i < old_room; i++) {
        if (old[i].target != 0) {
            *probe(self, &old[i].id, old[i].target) = old[i];
        }
    }
    pr_free(old);
}

pr_ledger_entry_t *pr_ledger_touch(pr_ledger_t *self, const pr_notify_id_t *id, uint32_t target)
{
    pr_assert(target != 0);
    pr_ledger_entry_t *slot = probe(self, id, target);
    if (slot->target != 0) {
        return slot;
    }
    if (self->count == self->max) {
        return NULL;
    }
    if (self->count == self->room / 4 * 3) {
        grow(self);
        slot = probe(self, id, target);
    }
    self->count++;
    *slot = (pr_ledger_entry_t){.id = *id, .target = target, .version = -1};
    return slot;
}

pr_ledger_entry_t *pr_ledger_find(const pr_ledger_t *self, const pr_notify_id_t *id,
                                  uint32_t target)
{
    pr_ledger_entry_t *slot = probe(self, id, target);
    return slot->target != 0 ? slot : NULL;
}

size_t pr_ledger_count(const pr_ledger_t *self)
{
    return self->count;
}

const pr_ledger_entry_t *pr_ledger_next(const pr_ledger_t *self, size_t *cursor)
{
    while (*cursor < self->room) {
        const pr_ledger_entry_t *slot = &self->slots[(*cursor)++];
        if (slot->target != 0) {
            return slot;
        }
    }
    return NULL;
}

bool pr_notify_id_parse_uuid(pr_bytes_t text, pr_notify_id_t *out)
{
    static const size_t parts[] = {8, 4, 4, 4, 12};
    if (text.len != 36) {
        return false;
    }
    const char *at = (const char *)text.data;
    uint8_t *byte = out->bytes;
    for (size_t i = 0; i < PR_COUNT(parts); i++) {
        if (!pr_unhex(at, parts[i], byte)) {
            return false;
        }
        at += parts[i];
        byte += parts[i] / 2;
        if (i < 4 && *at++ != '-') {
            return false;
        }
    }
    return true;
}

pr_notify_id_t pr_notify_id_from(pr_bytes_t text)
{
    pr_notify_id_t id;
    if (!pr_notify_id_parse_uuid(text, &id)) {
        uint8_t digest[SHA256_DIGEST_LENGTH];
        SHA256(text.data, text.len, digest);
        memcpy(id.bytes, digest, sizeof(id.bytes));
    }
    return id;
}

void pr_notify_id_text(const pr_notify_id_t *id, char out[37])
{
    char hex[33];
    pr_hex(pr_bytes(id->bytes, sizeof(id->bytes)), hex);
    size_t used = 0;
    for (size_t i = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20) {
            out[used++] = '-';
        }
        out[used++] = hex[i];
    }
    out[used] = '\0';
}

/* The finisher of SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t finish(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

uint64_t pr_notify_id_mix(const pr_notify_id_t *id, uint64_t salt)
{
    uint64_t halves[2];
    memcpy(halves, id->bytes, sizeof(halves));
    return finish(finish(halves[0] + salt * 0x9e3779b97f4a7c15ULL) + halves[1]);
}
