/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes secrets out of what is kept of requests and answers: inside of lib/gateway only. By value (a
 * channel's secrets), by name (of headers, members and fields), by form (card numbers). Texts are
 * read loosely, as JSON and as form at once: what is masked in vain costs a look elsewhere, what is
 * not masked is a leak. Pure.
 */
#ifndef PR_GATEWAY_MASK_H
#define PR_GATEWAY_MASK_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_MASK_VALUES_MAX 100
#define PR_MASK_VALUE_MIN 6 /* shorter ones would be found in ordinary words */

typedef struct {
    size_t count;
    pr_bytes_t values[PR_MASK_VALUES_MAX]; /* borrowed */
    bool begins[256];                      /* some value begins with this byte */
    uint32_t masked;                       /* so many times until now */
} pr_mask_t;

void pr_mask_init(pr_mask_t *self);
void pr_mask_add(pr_mask_t *self, pr_bytes_t value); /* too short: not looked for */

/* Appends text without its secrets. PR_BAD: out is full. */
PR_CHECK pr_rc_t pr_mask_text(pr_mask_t *self, pr_bytes_t text, pr_buffer_t *out);
/* The same of a header's value. */
PR_CHECK pr_rc_t pr_mask_header(pr_mask_t *self, const char *name, pr_bytes_t value,
                                pr_buffer_t *out);

#endif
