/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is freed together: a profile's many small parts. Zeroed; never moves.
 */
#ifndef PR_GATEWAY_POOL_H
#define PR_GATEWAY_POOL_H

#include <stddef.h>

typedef struct {
    void **parts; /* owned */
    size_t count, room;
} pr_pool_t;

void *pr_pool_take(pr_pool_t *self, size_t count, size_t size);
char *pr_pool_text(pr_pool_t *self, const char *text, size_t len); /* terminated copy */
void pr_pool_free(pr_pool_t *self);

#endif
