/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory. Allocation never returns NULL: an exhausted heap aborts the process (libzmq and
 * CZMQ do the same), so memory is bounded by design instead of unwound. Sizes are
 * checked for overflow; an overflowing product is a bug and asserts.
 *
 * Ownership: PR_CLEANUP(pr_thing) on a local `pr_thing_t *x` destroys it when the scope
 * ends; PR_STEAL(x) hands it over and leaves NULL behind.
 */
#ifndef PR_BASE_ALLOC_H
#define PR_BASE_ALLOC_H

#include <stddef.h>

/* Zeroed memory of count * size bytes; the caller's. count or size 0 gives one byte. */
void *pr_calloc(size_t count, size_t size);
/* As realloc for count * size bytes; new bytes are NOT zeroed. */
void *pr_realloc(void *ptr, size_t count, size_t size);
void pr_free(void *ptr); /* accepts NULL */
char *pr_strdup(const char *text);
char *pr_strndup(const char *text, size_t len); /* always terminated */
void *pr_memdup(const void *bytes, size_t len);
/* printf into a fresh string, the caller's. */
char *pr_asprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define PR_NEW(type) ((type *)pr_calloc(1, sizeof(type)))

/* For `PR_CLEANUP(pr_x) pr_x_t *x`: needs void pr_x_destroy(pr_x_t **). */
#define PR_CLEANUP(name) __attribute__((cleanup(name##_destroy)))
/* For a plain heap pointer: PR_CLEANUP_FREE char *text = ... */
void pr_free_ptr(void *ptr_to_ptr);
#define PR_CLEANUP_FREE __attribute__((cleanup(pr_free_ptr)))
#define PR_STEAL(ptr) \
    __extension__({ \
        __typeof__(ptr) pr_stolen_ = (ptr); \
        (ptr) = NULL; \
        pr_stolen_; \
    })

#define PR_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
