/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes to lines, lines to UTF-8. A line is looked for before it is decoded: no character of the
 * charsets that we read (UTF-8, GBK, GB18030) has the byte of a line feed inside.
 */
#include "base/alloc.h"
#include "statement/statement_private.h"

#include <errno.h>
#include <iconv.h>
#include <string.h>

static const uint8_t bom[] = {0xef, 0xbb, 0xbf};

struct pr_lines_t {
    bool is_utf8;
    iconv_t table; /* when it is not */
    size_t line_max;
    pr_buffer_t partial; /* the beginning of a line */
    bool skipping;       /* it is too long: partial holds what is shown of it */
    bool fresh;          /* nothing of this file was seen */
    pr_buffer_t decoded;
};

pr_lines_t *pr_lines_new(const char *charset, uint32_t line_max)
{
    pr_lines_t *self = PR_NEW(pr_lines_t);
    self->is_utf8 = strcmp(charset, "UTF-8") == 0;
    self->line_max = line_max;
    if (!self->is_utf8) {
        self->table = iconv_open("UTF-8", charset);
        if (self->table == (iconv_t)-1) { // NOLINT(performance-no-int-to-ptr): iconv's own
            pr_free(self);
            return NULL;
        }
    }
    pr_buffer_init(&self->partial, line_max);
    pr_buffer_init(&self->decoded, (size_t)line_max * PR_DECODED_PER_BYTE);
    return self;
}

void pr_lines_destroy(pr_lines_t **self_ptr)
{
    pr_lines_t *self = *self_ptr;
    if (!self)
        return;
    if (!self->is_utf8)
        iconv_close(self->table);
    pr_buffer_free(&self->partial);
    pr_buffer_free(&self->decoded);
    pr_free(self);
    *self_ptr = NULL;
}

void pr_lines_open(pr_lines_t *self)
{
    pr_buffer_clear(&self->partial);
    self->skipping = false;
    self->fresh = true;
}

/* ---- one line ---- */

static bool is_ascii(pr_bytes_t text)
{
    uint8_t all = 0;
    for (size_t i = 0; i < text.len; i++)
        all |= text.data[i];
    return all < 0x80;
}

/* Decodes into self->decoded; what is in no character becomes U+FFFD. False: there was some. */
static bool decode(pr_lines_t *self, pr_bytes_t line)
{
    bool good = true;
    char *from = (char *)(uintptr_t)line.data; /* iconv does not write there */
    size_t left = line.len;
    pr_buffer_clear(&self->decoded);
    (void)iconv(self->table, NULL, NULL, NULL, NULL);
    while (left > 0) {
        char chunk[1024];
        char *to = chunk;
        size_t room = sizeof chunk;
        int why = iconv(self->table, &from, &left, &to, &room) == (size_t)-1 ? errno : 0;
        if (pr_buffer_append(&self->decoded, chunk, sizeof chunk - room) != PR_OK)
            return false;
        if (why == 0 || why == E2BIG)
            continue;
        if (pr_buffer_append_text(&self->decoded, "\xef\xbf\xbd") != PR_OK)
            return false;
        good = false;
        from++;
        left--;
    }
    return good;
}

static pr_rc_t bad_line(pr_statement_reader_t *self, pr_bytes_t line, const char *reason)
{
    self->raw = line;
    if (!self->table->headed) /* a table that begins like this is none */
        return pr_refuse(self, "header", "line %llu: %s", (unsigned long long)self->line, reason);
    return pr_emit_bad(self, reason, "");
}

static pr_rc_t one_line(pr_statement_reader_t *self, pr_bytes_t line)
{
    pr_lines_t *lines = self->lines;
    self->line++;
    if (lines->fresh && line.len >= sizeof bom && memcmp(line.data, bom, sizeof bom) == 0)
        line = pr_bytes(line.data + sizeof bom, line.len - sizeof bom);
    lines->fresh = false;
    if (line.len > 0 && line.data[line.len - 1] == '\r')
        line.len--;
    if (line.len > 0 && memchr(line.data, '\0', line.len))
        return bad_line(self, line, "nul");
    bool good = true;
    if (lines->is_utf8) {
        good = is_ascii(line) || pr_text_is_utf8(line);
    } else if (!is_ascii(line)) {
        good = decode(lines, line);
        line = pr_buffer_bytes(&lines->decoded);
    }
    return good ? pr_table_line(self, line) : bad_line(self, line, "charset");
}

/* ---- bytes ---- */

/* A line that is longer than allowed: what is shown of it is kept, the rest is not. */
static pr_rc_t end_long_line(pr_statement_reader_t *self)
{
    self->line++;
    self->lines->fresh = self->lines->skipping = false;
    pr_rc_t rc = bad_line(self, pr_buffer_bytes(&self->lines->partial), "too_long");
    pr_buffer_clear(&self->lines->partial);
    return rc;
}

/* False: more than a line may have; what fits is kept. */
static bool keep(pr_lines_t *self, pr_bytes_t bytes)
{
    size_t room = self->line_max - self->partial.len;
    size_t len = bytes.len < room ? bytes.len : room;
    pr_rc_t rc = pr_buffer_append(&self->partial, bytes.data, len);
    return rc == PR_OK && len == bytes.len;
}

pr_rc_t pr_lines_push(pr_statement_reader_t *self, pr_bytes_t bytes)
{
    pr_lines_t *lines = self->lines;
    const uint8_t *at = bytes.data, *end = at + bytes.len;
    pr_rc_t rc = PR_OK;
    while (rc == PR_OK && at < end) {
        const uint8_t *feed = memchr(at, '\n', (size_t)(end - at));
        pr_bytes_t piece = pr_bytes(at, (size_t)((feed ? feed : end) - at));
        at = feed ? feed + 1 : end;
        if (feed && lines->partial.len == 0 && !lines->skipping && piece.len <= lines->line_max) {
            rc = one_line(self, piece); /* whole in what came: not copied */
            continue;
        }
        if (!lines->skipping && !keep(lines, piece))
            lines->skipping = true;
        if (!feed)
            continue;
        rc = lines->skipping ? end_long_line(self)
                             : one_line(self, pr_buffer_bytes(&lines->partial));
        pr_buffer_clear(&lines->partial);
    }
    return rc;
}

pr_rc_t pr_lines_close(pr_statement_reader_t *self)
{
    pr_lines_t *lines = self->lines;
    if (lines->skipping)
        return end_long_line(self);
    if (lines->partial.len == 0)
        return PR_OK;
    pr_rc_t rc = one_line(self, pr_buffer_bytes(&lines->partial));
    pr_buffer_clear(&lines->partial);
    return rc;
}
