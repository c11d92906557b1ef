/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/json_writer.h"

#include <inttypes.h>
#include <string.h>

#define ESCAPED_MAX 6 /* \u0000 */

static void put(pr_json_writer_t *self, const void *bytes, size_t len)
{
    if (self->rc == PR_OK)
        self->rc = pr_buffer_append(self->out, bytes, len);
}

void pr_json_write_raw(pr_json_writer_t *self, const char *raw)
{
    put(self, raw, strlen(raw));
}

void pr_json_write_key(pr_json_writer_t *self, const char *name)
{
    pr_json_write_raw(self, self->some ? ",\"" : "\"");
    pr_json_write_raw(self, name);
    pr_json_write_raw(self, "\":");
    self->some = true;
}

/* Length of the character at the start of text: 0 when these bytes are none (Unicode 15, table
 * 3-7). */
static size_t character(pr_bytes_t text)
{
    uint8_t lead = text.data[0];
    size_t len = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead > 0xf4 || len == 0 || len > text.len)
        return 0;
    uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    for (size_t i = 1; i < len; i++) {
        if (text.data[i] < (i == 1 ? low : 0x80) || text.data[i] > (i == 1 ? high : 0xbf))
            return 0;
    }
    return len;
}

/* How one character (len 0: a byte that is none) stands in JSON; gives the length of that. */
static size_t escape(const uint8_t *at, size_t len, char out[ESCAPED_MAX])
{
    static const char hex[] = "0123456789abcdef";
    static const char plain[] = "\"\\\n\r\t", letters[] = "\"\\nrt";
    const char *found = len == 1 && *at != '\0' ? strchr(plain, *at) : NULL;
    if (len == 0 || (len == 1 && *at == '\0')) {
        memcpy(out, "\xef\xbf\xbd", 3);
        return 3;
    }
    if (found) {
        out[0] = '\\';
        out[1] = letters[found - plain];
        return 2;
    }
    if (*at >= 0x20 && *at != 0x7f) {
        memcpy(out, at, len);
        return len;
    }
    memcpy(out, "\\u00", 4);
    out[4] = hex[*at >> 4];
    out[5] = hex[*at & 15];
    return ESCAPED_MAX;
}

size_t pr_json_write_string(pr_json_writer_t *self, pr_bytes_t text, size_t most)
{
    size_t at = 0, written = 0;
    pr_json_write_raw(self, "\"");
    while (at < text.len) {
        char out[ESCAPED_MAX];
        size_t len = character(pr_bytes(text.data + at, text.len - at));
        size_t needs = escape(text.data + at, len, out);
        if (written + needs > most)
            break;
        put(self, out, needs);
        written += needs;
        at += len > 0 ? len : 1;
    }
    pr_json_write_raw(self, "\"");
    return at;
}

bool pr_json_writes_exactly(pr_bytes_t bytes)
{
    for (size_t at = 0, len; at < bytes.len; at += len) {
        len = character(pr_bytes(bytes.data + at, bytes.len - at));
        if (len == 0 || bytes.data[at] == '\0')
            return false;
    }
    return true;
}

void pr_json_write_text(pr_json_writer_t *self, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    pr_json_write_key(self, name);
    (void)pr_json_write_string(self, pr_bytes_text(value), SIZE_MAX);
}

void pr_json_write_number(pr_json_writer_t *self, const char *name, int64_t value)
{
    pr_json_write_key(self, name);
    if (self->rc == PR_OK)
        self->rc = pr_buffer_printf(self->out, "%" PRId64, value);
}

void pr_json_write_known(pr_json_writer_t *self, const char *name, int64_t value)
{
    if (value >= 0)
        pr_json_write_number(self, name, value);
}

void pr_json_write_flag(pr_json_writer_t *self, const char *name, bool value)
{
    pr_json_write_key(self, name);
    pr_json_write_raw(self, value ? "true" : "false");
}
