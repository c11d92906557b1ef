/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/pool.h"

#include "base/alloc.h"

#include <string.h>

void *pr_pool_take(pr_pool_t *self, size_t count, size_t size)
{
    if (self->count == self->room) {
        self->room = self->room ? 2 * self->room : 64;
        self->parts = pr_realloc(self->parts, self->room, sizeof self->parts[0]);
    }
    void *part = pr_calloc(count, size);
    self->parts[self->count++] = part;
    return part;
}

char *pr_pool_text(pr_pool_t *self, const char *text, size_t len)
{
    char *copy = pr_pool_take(self, len + 1, 1);
    memcpy(copy, text, len);
    return copy;
}

void pr_pool_free(pr_pool_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        pr_free(self->parts[i]);
    pr_free(self->parts);
    *self = (pr_pool_t){0};
}
