/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIRST_ROOM_BYTES 64

void pr_buffer_init(pr_buffer_t *self, size_t max_bytes)
{
    pr_assert(max_bytes < SIZE_MAX / 4); /* so that doubling and the NUL cannot overflow */
    *self = (pr_buffer_t){.max_bytes = max_bytes};
}

void pr_buffer_free(pr_buffer_t *self)
{
    pr_free(self->data);
    *self = (pr_buffer_t){.max_bytes = self->max_bytes};
}

void pr_buffer_clear(pr_buffer_t *self)
{
    self->len = 0;
    if (self->data)
        self->data[0] = '\0';
}

static bool fits(const pr_buffer_t *self, size_t more)
{
    return more <= self->max_bytes - self->len;
}

static void reserve(pr_buffer_t *self, size_t more)
{
    size_t need = self->len + more;
    if (self->data && need <= self->room)
        return;
    size_t room = self->room * 2 > FIRST_ROOM_BYTES ? self->room * 2 : FIRST_ROOM_BYTES;
    if (room < need)
        room = need;
    if (room > self->max_bytes)
        room = self->max_bytes;
    self->data = pr_realloc(self->data, room + 1, 1);
    self->room = room;
    self->data[self->len] = '\0';
}

pr_rc_t pr_buffer_append(pr_buffer_t *self, const void *bytes, size_t len)
{
    if (!fits(self, len))
        return PR_BAD;
    reserve(self, len);
    if (len > 0)
        memcpy(self->data + self->len, bytes, len);
    self->len += len;
    self->data[self->len] = '\0';
    return PR_OK;
}

pr_rc_t pr_buffer_append_text(pr_buffer_t *self, const char *text)
{
    return pr_buffer_append(self, text, strlen(text));
}

pr_rc_t pr_buffer_printf(pr_buffer_t *self, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    pr_assert(len >= 0);
    pr_rc_t rc = PR_BAD;
    if (fits(self, (size_t)len)) {
        reserve(self, (size_t)len);
        vsnprintf((char *)self->data + self->len, (size_t)len + 1, fmt, again);
        self->len += (size_t)len;
        rc = PR_OK;
    }
    va_end(again);
    return rc;
}

const char *pr_buffer_text(const pr_buffer_t *self)
{
    return self->data ? (const char *)self->data : "";
}

pr_bytes_t pr_buffer_bytes(const pr_buffer_t *self)
{
    return (pr_bytes_t){self->data, self->len};
}

pr_bytes_t pr_bytes_text(const char *text)
{
    return text ? pr_bytes(text, strlen(text)) : (pr_bytes_t){NULL, 0};
}

bool pr_bytes_equal(pr_bytes_t a, pr_bytes_t b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

void pr_hex(pr_bytes_t bytes, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes.len; i++) {
        out[2 * i] = digits[bytes.data[i] >> 4];
        out[2 * i + 1] = digits[bytes.data[i] & 15];
    }
    out[2 * bytes.len] = '\0';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool pr_unhex(const char *text, size_t len, uint8_t *out)
{
    if (len % 2 != 0)
        return false;
    for (size_t i = 0; i < len; i += 2) {
        int high = hex_value(text[i]);
        int low = hex_value(text[i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i / 2] = (uint8_t)(high << 4 | low);
    }
    return true;
}
