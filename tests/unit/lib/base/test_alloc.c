/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <criterion/criterion.h>

#include <signal.h>
#include <stdint.h>
#include <string.h>

TestSuite(alloc, .timeout = 300);

typedef struct {
    int destroyed;
} thing_t;

static int destroyed_things;

static void thing_destroy(thing_t **self)
{
    if (!*self)
        return;
    destroyed_things++;
    pr_free(*self);
    *self = NULL;
}

Test(alloc, gives_zeroed_memory_even_for_nothing)
{
    PR_CLEANUP_FREE char *none = pr_calloc(0, 8);
    PR_CLEANUP_FREE int *some = pr_calloc(100, sizeof(int));
    cr_assert_not_null(none);
    for (int i = 0; i < 100; i++)
        cr_assert_eq(some[i], 0);
}

Test(alloc, an_overflowing_product_is_a_bug, .signal = SIGABRT)
{
    /* volatile: the compiler would see the overflow and warn */
    volatile size_t many = SIZE_MAX / 2;
    pr_free(pr_calloc(many, 4));
}

#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer ends the process in its own way */
Test(alloc, an_exhausted_heap_aborts, .signal = SIGABRT)
{
    volatile size_t huge = (size_t)PTRDIFF_MAX - 4096;
    pr_free(pr_calloc(huge, 1));
}
#endif

Test(alloc, copies_are_terminated_and_cut)
{
    PR_CLEANUP_FREE char *all = pr_strdup("hello");
    PR_CLEANUP_FREE char *part = pr_strndup("hello", 2);
    PR_CLEANUP_FREE char *more = pr_strndup("hi", 100);
    PR_CLEANUP_FREE char *bytes = pr_memdup("a\0b", 3);
    PR_CLEANUP_FREE char *made = pr_asprintf("%s-%d", "x", 42);
    cr_assert_str_eq(all, "hello");
    cr_assert_str_eq(part, "he");
    cr_assert_str_eq(more, "hi");
    cr_assert_eq(memcmp(bytes, "a\0b", 3), 0);
    cr_assert_str_eq(made, "x-42");
}

Test(alloc, cleanup_destroys_what_was_not_stolen)
{
    thing_t *kept = NULL;
    {
        PR_CLEANUP(thing) thing_t *left = PR_NEW(thing_t);
        PR_CLEANUP(thing) thing_t *stolen = PR_NEW(thing_t);
        kept = PR_STEAL(stolen);
        cr_assert_null(stolen);
        cr_assert_not_null(left);
    }
    cr_assert_eq(destroyed_things, 1);
    thing_destroy(&kept);
    cr_assert_null(kept);
}
