/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_buffer_t: growable bytes with a stated maximum. An append that would pass the maximum changes
 * nothing and returns PR_BAD. pr_bytes_t: a borrowed view (pointer and length), never
 * terminated, may hold NULs.
 */
#ifndef PR_BASE_BUFFER_H
#define PR_BASE_BUFFER_H

#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *data; /* NULL only when len is 0 */
    size_t len;
} pr_bytes_t;

typedef struct {
    uint8_t *data; /* owned; one NUL byte always follows data[len] once allocated */
    size_t len;
    size_t room;      /* allocated, without the NUL */
    size_t max_bytes; /* len never passes this */
} pr_buffer_t;

void pr_buffer_init(pr_buffer_t *self, size_t max_bytes); /* no heap until the first append */
void pr_buffer_free(pr_buffer_t *self);                   /* back to empty, max kept */
void pr_buffer_clear(pr_buffer_t *self);                  /* len = 0, memory kept */
PR_CHECK pr_rc_t pr_buffer_append(pr_buffer_t *self, const void *bytes, size_t len);
PR_CHECK pr_rc_t pr_buffer_append_text(pr_buffer_t *self, const char *text);
PR_CHECK pr_rc_t pr_buffer_printf(pr_buffer_t *self, const char *fmt, ...) PR_PRINTF(2, 3);
/* The bytes as a C string (NUL-terminated view, "" when empty); borrowed. */
const char *pr_buffer_text(const pr_buffer_t *self);
pr_bytes_t pr_buffer_bytes(const pr_buffer_t *self);

static inline pr_bytes_t pr_bytes(const void *data, size_t len)
{
    return (pr_bytes_t){(const uint8_t *)data, len};
}
pr_bytes_t pr_bytes_text(const char *text); /* NULL gives an empty view */
bool pr_bytes_equal(pr_bytes_t a, pr_bytes_t b);
/* Lower-case hex of bytes into out, which holds 2 * len + 1. */
void pr_hex(pr_bytes_t bytes, char *out);
/* False on an odd length or a non-hex digit; out holds len / 2. */
bool pr_unhex(const char *text, size_t len, uint8_t *out);

#endif
