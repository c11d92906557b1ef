/* SPDX-License-Identifier: Apache-2.0
 *
 * The world: chance, the heap of events, the one loop over everything, and its words.
 */
#include "sim.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EVENTS_MAX 4000000u /* a world that does not end is a bug of ours or a loop of theirs */

sim_world_t *sim;

/* ---- chance: xoshiro256**, seeded by splitmix64 (https://prng.di.unimi.it) ---- */

static uint64_t rotate(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

uint64_t sim_random(void)
{
    uint64_t *s = sim->random, out = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return out;
}

void sim_world_seed(uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        sim->random[i] = z ^ z >> 31;
    }
}

int64_t sim_between(int64_t low, int64_t high)
{
    return low + (int64_t)(sim_random() % (uint64_t)(high - low + 1));
}

bool sim_chance(int percent)
{
    return sim_between(1, 100) <= percent;
}

/* ---- words ---- */

void sim_trace(const char *fmt, ...)
{
    if (!sim->trace)
        return;
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    printf("%10.3f ms %-16s %s\n", (double)sim->now_us / 1000,
           sim->current ? sim_slot_of(sim->current)->name : "", text);
}

void sim_fail(const char *fmt, ...)
{
    if (sim->failed)
        return;
    sim->failed = true;
    va_list args;
    va_start(args, fmt);
    vsnprintf(sim->why, sizeof sim->why, fmt, args);
    va_end(args);
    sim_trace("!! %s", sim->why);
}

/* ---- the heap ---- */

typedef struct {
    int64_t at_us;
    uint64_t order; /* equal times in the order in which they were asked for */
    sim_event_fn *fn;
    void *arg;
    uint64_t number;
} event_t;

static event_t *heap;
static size_t heap_count, heap_room;
static uint64_t heap_order;

static bool before(const event_t *a, const event_t *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

void sim_at(int64_t at_us, sim_event_fn *fn, void *arg, uint64_t number)
{
    if (heap_count == heap_room) {
        heap_room = heap_room ? heap_room * 2 : 256;
        heap = pr_realloc(heap, heap_room, sizeof *heap);
    }
    event_t event = {at_us, heap_order++, fn, arg, number};
    size_t i = heap_count++;
    for (; i > 0 && before(&event, &heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = event;
}

static event_t heap_pop(void)
{
    event_t top = heap[0], last = heap[--heap_count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < heap_count; i = child) {
        if (child + 1 < heap_count && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &last))
            break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return top;
}

void sim_events_clear(void)
{
    heap_count = 0;
    heap_order = 0;
}

void sim_events_free(void)
{
    pr_free(heap);
    heap = NULL;
    heap_count = heap_room = 0;
}

/* ---- the loop ---- */

/* The slot whose turn comes first; NULL: none will ever run. */
static sim_slot_t *first_slot(int64_t *at_us)
{
    sim_slot_t *first = NULL;
    *at_us = SIM_NEVER;
    for (int i = 0; i < sim->nslots; i++) {
        int64_t slot_us = sim_slot_wake_us(&sim->slots[i]);
        if (slot_us < *at_us) {
            *at_us = slot_us;
            first = &sim->slots[i];
        }
    }
    return first;
}

/* Runs until the world's time passes until_us, it failed, or done() says so. */
void sim_run(int64_t until_us, bool (*done)(void))
{
    while (!sim->failed && !(done && done())) {
        int64_t slot_us, event_us = heap_count > 0 ? heap[0].at_us : SIM_NEVER;
        sim_slot_t *slot = first_slot(&slot_us);
        int64_t bus_us = sim_bus_wake_us();
        int64_t at_us = slot_us < event_us ? slot_us : event_us;
        at_us = bus_us < at_us ? bus_us : at_us;
        if (at_us > until_us)
            break;
        if (at_us > sim->now_us)
            sim->now_us = at_us;
        if (++sim->events > EVENTS_MAX) {
            sim_fail("the world does not come to rest");
        } else if (at_us == event_us) {
            event_t event = heap_pop();
            event.fn(event.arg, event.number);
        } else if (at_us == bus_us) {
            sim_bus_run();
        } else if (slot->actor) {
            sim_slot_turn(slot);
        } else {
            sim_slot_start(slot);
        }
    }
    if (sim->now_us < until_us && !sim->failed && !done)
        sim->now_us = until_us;
}
