/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/map.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

#include <stdbool.h>

TestSuite(map, .timeout = 300);

#define KEYS 4096

static char things[KEYS];

Test(map, puts_replaces_and_removes)
{
    PR_CLEANUP(pr_map) pr_map_t *map = pr_map_new(10, 1);
    void *old = &map;
    cr_assert_null(pr_map_get(map, 7));
    cr_assert_eq(pr_map_put(map, 7, &things[1], &old), PR_OK);
    cr_assert_null(old, "a new key replaces nothing");
    cr_assert_eq(pr_map_put(map, 7, &things[2], &old), PR_OK);
    cr_assert_eq(old, &things[1]);
    cr_assert_eq(pr_map_count(map), 1);
    cr_assert_eq(pr_map_remove(map, 7), &things[2]);
    cr_assert_null(pr_map_remove(map, 7), "it is gone");
    cr_assert_eq(pr_map_count(map), 0);
}

Test(map, takes_every_key)
{
    static const uint64_t keys[] = {0, 1, UINT64_MAX, (uint64_t)1 << 63};
    PR_CLEANUP(pr_map) pr_map_t *map = pr_map_new(10, 2);
    for (size_t i = 0; i < PR_COUNT(keys); i++)
        cr_assert_eq(pr_map_put(map, keys[i], &things[i], NULL), PR_OK);
    for (size_t i = 0; i < PR_COUNT(keys); i++)
        cr_assert_eq(pr_map_get(map, keys[i]), &things[i]);
}

Test(map, refuses_a_new_key_when_full_but_still_replaces)
{
    PR_CLEANUP(pr_map) pr_map_t *map = pr_map_new(2, 3);
    cr_assert_eq(pr_map_put(map, 1, &things[1], NULL), PR_OK);
    cr_assert_eq(pr_map_put(map, 2, &things[2], NULL), PR_OK);
    cr_assert_eq(pr_map_put(map, 3, &things[3], NULL), PR_BAD);
    cr_assert_eq(pr_map_put(map, 2, &things[4], NULL), PR_OK);
    cr_assert_eq(pr_map_count(map), 2);
    cr_assert_not_null(pr_map_remove(map, 1));
    cr_assert_eq(pr_map_put(map, 3, &things[3], NULL), PR_OK, "there is room again");
}

/* The model: an array that says for each key what its value is. */
Test(map, does_as_an_array_would_over_a_hundred_thousand_random_steps)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        PR_CLEANUP(pr_map) pr_map_t *map = pr_map_new(KEYS, seed);
        static void *model[KEYS];
        size_t count = 0;
        uint64_t state = seed;
        for (int i = 0; i < KEYS; i++)
            model[i] = NULL;
        for (int step = 0; step < 100000; step++) {
            /* a working set that wanders, so that tombs gather */
            uint64_t key = (prng_below(&state, 300) + (uint64_t)step / 50) % KEYS;
            if (prng_below(&state, 2)) {
                void *old;
                void *value = &things[prng_below(&state, KEYS)];
                cr_assert_eq(pr_map_put(map, key * 0x100000001u, value, &old), PR_OK);
                cr_assert_eq(old, model[key]);
                count += model[key] == NULL;
                model[key] = value;
            } else {
                cr_assert_eq(pr_map_remove(map, key * 0x100000001u), model[key]);
                count -= model[key] != NULL;
                model[key] = NULL;
            }
            cr_assert_eq(pr_map_count(map), count);
        }
        for (uint64_t key = 0; key < KEYS; key++)
            cr_assert_eq(pr_map_get(map, key * 0x100000001u), model[key]);
    }
}

Test(map, a_walk_sees_each_entry_once_while_entries_are_removed)
{
    PR_CLEANUP(pr_map) pr_map_t *map = pr_map_new(KEYS, 5);
    bool seen[KEYS] = {false}, removed[KEYS] = {false};
    size_t cursor = 0;
    uint64_t key, state = 9;
    void *value;
    for (uint64_t i = 0; i < KEYS; i++)
        cr_assert_eq(pr_map_put(map, i, &things[i], NULL), PR_OK);
    while ((value = pr_map_next(map, &cursor, &key))) {
        cr_assert_eq(value, &things[key]);
        cr_assert_not(seen[key], "twice");
        cr_assert_not(removed[key], "removed before it was reached");
        seen[key] = true;
        uint64_t victim = prng_below(&state, 3) == 0 ? key : prng_below(&state, KEYS);
        removed[victim] = pr_map_remove(map, victim) != NULL || removed[victim];
    }
    for (int i = 0; i < KEYS; i++)
        cr_assert(seen[i] || removed[i], "%d was left out", i);
}

Test(map, clear_empties_and_can_be_filled_again)
{
    PR_CLEANUP(pr_map) pr_map_t *map = pr_map_new(KEYS, 5);
    size_t cursor = 0;
    for (uint64_t i = 0; i < 1000; i++)
        cr_assert_eq(pr_map_put(map, i, &things[i], NULL), PR_OK);
    pr_map_clear(map);
    cr_assert_eq(pr_map_count(map), 0);
    cr_assert_null(pr_map_next(map, &cursor, NULL));
    cr_assert_eq(pr_map_put(map, 5, &things[5], NULL), PR_OK);
    cr_assert_eq(pr_map_get(map, 5), &things[5]);
}

Test(map, the_same_seed_gives_the_same_order)
{
    PR_CLEANUP(pr_map) pr_map_t *one = pr_map_new(KEYS, 77);
    PR_CLEANUP(pr_map) pr_map_t *two = pr_map_new(KEYS, 77);
    PR_CLEANUP(pr_map) pr_map_t *other = pr_map_new(KEYS, 78);
    size_t a = 0, b = 0, c = 0;
    int differences = 0;
    for (uint64_t i = 0; i < 500; i++) {
        cr_assert_eq(pr_map_put(one, i, &things[i], NULL), PR_OK);
        cr_assert_eq(pr_map_put(two, i, &things[i], NULL), PR_OK);
        cr_assert_eq(pr_map_put(other, i, &things[i], NULL), PR_OK);
    }
    for (int i = 0; i < 500; i++) {
        void *value = pr_map_next(one, &a, NULL);
        cr_assert_eq(value, pr_map_next(two, &b, NULL));
        differences += value != pr_map_next(other, &c, NULL);
    }
    cr_assert_gt(differences, 400, "another seed, another order");
}
