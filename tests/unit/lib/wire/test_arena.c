/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/arena.h"

#include <criterion/criterion.h>

#include <stdint.h>
#include <string.h>

TestSuite(arena, .timeout = 300);

Test(arena, never_passes_its_budget)
{
    pr_arena_t *arena = pr_arena_new(1000, 10000);
    size_t sum = 0;
    void *at;
    while ((at = pr_arena_alloc(arena, 100)) != NULL) {
        cr_assert_eq((uintptr_t)at % 16, 0);
        memset(at, 0xaa, 100);
        sum += 100;
        cr_assert_leq(sum, 10000);
    }
    cr_assert_gt(sum, 7000, "but most of it can be used: %zu", sum);
    cr_assert_null(pr_arena_alloc(arena, SIZE_MAX - 8), "no overflow");
    pr_arena_destroy(&arena);
    pr_arena_destroy(&arena);
}

Test(arena, finds_itself_from_its_first_allocation)
{
    pr_arena_t *arena = pr_arena_new(64, 64);
    void *first = pr_arena_alloc(arena, 0);
    cr_assert_eq(pr_arena_of_first(first), arena);
    pr_arena_destroy(&arena);
}
