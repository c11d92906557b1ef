/* SPDX-License-Identifier: Apache-2.0
 *
 * The only file that calls malloc and free.
 */
#include "base/alloc.h"

#include "base/assert.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No single thing in this house is larger than half the address space. */
#define MAX_BYTES ((size_t)PTRDIFF_MAX)

static size_t product(size_t count, size_t size)
{
    if (count == 0 || size == 0)
        return 1;
    pr_assert(count <= MAX_BYTES / size);
    return count * size;
}

static void *not_null(void *ptr)
{
    if (!ptr)
        pr_assert_failed("memory exhausted", __FILE__, __LINE__);
    return ptr;
}

void *pr_calloc(size_t count, size_t size)
{
    return not_null(calloc(1, product(count, size)));
}

void *pr_realloc(void *ptr, size_t count, size_t size)
{
    return not_null(realloc(ptr, product(count, size)));
}

void pr_free(void *ptr)
{
    free(ptr);
}

void pr_free_ptr(void *ptr_to_ptr)
{
    /* memcpy: the variable is a char *, uint8_t * ...; reading it as void * would break aliasing.
     */
    void *ptr;
    memcpy(&ptr, ptr_to_ptr, sizeof ptr);
    free(ptr);
    ptr = NULL;
    memcpy(ptr_to_ptr, &ptr, sizeof ptr);
}

char *pr_strdup(const char *text)
{
    return pr_strndup(text, strlen(text));
}

char *pr_strndup(const char *text, size_t len)
{
    size_t used = strnlen(text, len);
    char *copy = pr_calloc(used + 1, 1);
    memcpy(copy, text, used);
    return copy;
}

void *pr_memdup(const void *bytes, size_t len)
{
    void *copy = pr_calloc(len, 1);
    if (len > 0)
        memcpy(copy, bytes, len);
    return copy;
}

char *pr_asprintf(const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    pr_assert(len >= 0);
    char *text = pr_calloc((size_t)len + 1, 1);
    vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    return text;
}
