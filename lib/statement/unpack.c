/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes gzip or zip off. gzip streams; a zip has its table at its end and is laid down first, in
 * a file that has no name. What comes out is counted against its limit and against what went in,
 * as it comes, whatever the archive says about itself.
 */
#include "base/alloc.h"
#include "statement/statement_private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>
#include <zlib.h>

#define CHUNK_BYTES ((size_t)64 * 1024)
#define MAGIC_BYTES 4
#define RATIO_FROM_BYTES ((uint64_t)16 << 20) /* little files may be packed as well as they like */
#define GZIP_WINDOW (15 + 16)                 /* zlib: a gzip header, the largest window */

typedef enum { PACKED_UNKNOWN = 0, PACKED_NOT, PACKED_GZIP, PACKED_ZIP } packed_t;

struct pr_unpack_t {
    packed_t packed;
    uint8_t magic[MAGIC_BYTES]; /* the first bytes of all */
    size_t magic_len;
    uint8_t inner[MAGIC_BYTES]; /* the first bytes of the file inside */
    size_t inner_len;
    z_stream gzip;
    bool gzip_open, gzip_ended;
    uint32_t members;
    int file;
    uint8_t chunk[CHUNK_BYTES];
};

pr_unpack_t *pr_unpack_new(void)
{
    pr_unpack_t *self = PR_NEW(pr_unpack_t);
    self->file = -1;
    return self;
}

void pr_unpack_destroy(pr_unpack_t **self_ptr)
{
    pr_unpack_t *self = *self_ptr;
    if (!self)
        return;
    if (self->gzip_open)
        inflateEnd(&self->gzip);
    if (self->file >= 0)
        close(self->file);
    pr_free(self);
    *self_ptr = NULL;
}

static packed_t packed_of(const uint8_t *magic, size_t len)
{
    if (len >= 2 && magic[0] == 0x1f && magic[1] == 0x8b)
        return PACKED_GZIP;
    if (len == MAGIC_BYTES && (memcmp(magic, "PK\3\4", 4) == 0 || memcmp(magic, "PK\5\6", 4) == 0))
        return PACKED_ZIP;
    return PACKED_NOT;
}

/* ---- what comes out ---- */

static pr_rc_t open_inner(pr_statement_reader_t *self, const char *name)
{
    self->unpack->inner_len = 0;
    return pr_plain_open(self, name);
}

static pr_rc_t push_inner(pr_statement_reader_t *self, pr_bytes_t bytes)
{
    pr_unpack_t *unpack = self->unpack;
    const pr_statement_totals_t *totals = &self->totals;
    for (size_t i = 0; unpack->inner_len < MAGIC_BYTES && i < bytes.len; i++)
        unpack->inner[unpack->inner_len++] = bytes.data[i];
    if (packed_of(unpack->inner, unpack->inner_len) != PACKED_NOT)
        return pr_refuse(self, "nested", "an archive inside of an archive");
    uint64_t plain = totals->plain_bytes + bytes.len;
    if (plain > RATIO_FROM_BYTES && plain / self->limits.ratio_max > totals->bytes)
        return pr_refuse(self, "ratio", "unpacks to more than %" PRIu32 " times its size",
                         self->limits.ratio_max);
    return pr_plain_push(self, bytes);
}

/* ---- gzip ---- */

static pr_rc_t gzip_start(pr_statement_reader_t *self)
{
    pr_unpack_t *unpack = self->unpack;
    if (++unpack->members > self->limits.entries_max)
        return pr_refuse(self, "entries", "more than %" PRIu32 " members",
                         self->limits.entries_max);
    int done =
        unpack->gzip_open ? inflateReset(&unpack->gzip) : inflateInit2(&unpack->gzip, GZIP_WINDOW);
    unpack->gzip_open = true;
    unpack->gzip_ended = false;
    return done == Z_OK ? PR_OK : pr_refuse(self, "gzip", "zlib does not start");
}

static pr_rc_t gzip_push(pr_statement_reader_t *self, pr_bytes_t bytes)
{
    pr_unpack_t *unpack = self->unpack;
    z_stream *gzip = &unpack->gzip;
    pr_rc_t rc = PR_OK;
    gzip->next_in = (Bytef *)(uintptr_t)bytes.data; /* zlib does not write there */
    gzip->avail_in = (uInt)bytes.len;
    do {
        if (unpack->gzip_ended && gzip->avail_in > 0)
            rc = gzip_start(self); /* one member after the other is one text */
        if (rc != PR_OK || unpack->gzip_ended)
            break;
        gzip->next_out = unpack->chunk;
        gzip->avail_out = (uInt)CHUNK_BYTES;
        int done = inflate(gzip, Z_NO_FLUSH);
        if (done != Z_OK && done != Z_STREAM_END && done != Z_BUF_ERROR)
            return pr_refuse(self, "gzip", "damaged");
        unpack->gzip_ended = done == Z_STREAM_END;
        if (gzip->avail_out < CHUNK_BYTES)
            rc = push_inner(self, pr_bytes(unpack->chunk, CHUNK_BYTES - gzip->avail_out));
    } while (rc == PR_OK && (gzip->avail_in > 0 || gzip->avail_out == 0));
    return rc;
}

/* ---- zip ---- */

static pr_rc_t zip_lay_down(pr_statement_reader_t *self)
{
    char name[512];
    self->unpack->file = open(self->limits.temp_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (self->unpack->file >= 0)
        return PR_OK;
    /* a file system that has no nameless files */
    (void)snprintf(name, sizeof name, "%s/postrider-statement-XXXXXX", self->limits.temp_dir);
    self->unpack->file = mkostemp(name, O_CLOEXEC);
    if (self->unpack->file < 0)
        return pr_refuse(self, "io", "no temporary file in %s", self->limits.temp_dir);
    (void)unlink(name);
    return PR_OK;
}

static pr_rc_t zip_keep(pr_statement_reader_t *self, pr_bytes_t bytes)
{
    for (size_t at = 0; at < bytes.len;) {
        ssize_t done = write(self->unpack->file, bytes.data + at, bytes.len - at);
        if (done <= 0)
            return pr_refuse(self, "io", "%s: the disk does not take it", self->limits.temp_dir);
        at += (size_t)done;
    }
    return PR_OK;
}

static pr_rc_t zip_read_entry(pr_statement_reader_t *self, zip_file_t *file)
{
    zip_int64_t got;
    pr_rc_t rc = PR_OK;
    while (rc == PR_OK && (got = zip_fread(file, self->unpack->chunk, CHUNK_BYTES)) != 0) {
        if (got < 0) /* its checksum is looked at, too */
            return pr_refuse(self, "zip", "damaged: %s", zip_file_strerror(file));
        rc = push_inner(self, pr_bytes(self->unpack->chunk, (size_t)got));
    }
    return rc;
}

/* Names are for people; what is no UTF-8 in them (Alipay's are GBK) shows as U+FFFD. */
static pr_rc_t zip_entry(pr_statement_reader_t *self, zip_t *archive, zip_uint64_t index,
                         bool *seen)
{
    const char *raw = zip_get_name(archive, index, ZIP_FL_ENC_RAW);
    size_t len = raw ? strlen(raw) : 0;
    if (len > 0 && raw[len - 1] == '/')
        return PR_OK; /* a folder */
    pr_buffer_t name;
    pr_buffer_init(&name, sizeof self->entry - 1);
    pr_text_clean(pr_bytes(raw, len), &name);
    zip_file_t *file = zip_fopen_index(archive, index, 0);
    pr_rc_t rc = file ? open_inner(self, pr_buffer_text(&name))
                      : pr_refuse(self, "zip", "%s: cannot be opened (encrypted, damaged)",
                                  pr_buffer_text(&name));
    pr_buffer_free(&name);
    *seen = true;
    if (rc == PR_OK)
        rc = zip_read_entry(self, file);
    if (file)
        zip_fclose(file);
    return rc == PR_OK ? pr_plain_close(self) : rc;
}

static pr_rc_t zip_finish(pr_statement_reader_t *self)
{
    int why = 0;
    bool seen = false;
    zip_t *archive = zip_fdopen(self->unpack->file, 0, &why);
    if (!archive)
        return pr_refuse(self, "zip", "damaged or cut off (libzip error %d)", why);
    self->unpack->file = -1; /* libzip's */
    zip_int64_t count = zip_get_num_entries(archive, 0);
    pr_rc_t rc = PR_OK;
    if (count > (zip_int64_t)self->limits.entries_max)
        rc = pr_refuse(self, "entries", "%" PRId64 " files", (int64_t)count);
    for (zip_int64_t i = 0; rc == PR_OK && i < count; i++)
        rc = zip_entry(self, archive, (zip_uint64_t)i, &seen);
    if (rc == PR_OK && !seen)
        rc = pr_refuse(self, "zip", "no file in it");
    zip_discard(archive);
    return rc;
}

/* ---- all of it ---- */

static pr_rc_t start(pr_statement_reader_t *self)
{
    pr_unpack_t *unpack = self->unpack;
    unpack->packed = packed_of(unpack->magic, unpack->magic_len);
    if (unpack->packed == PACKED_ZIP)
        return zip_lay_down(self);
    pr_rc_t rc = pr_plain_open(self, "");
    return rc == PR_OK && unpack->packed == PACKED_GZIP ? gzip_start(self) : rc;
}

static pr_rc_t pass_on(pr_statement_reader_t *self, pr_bytes_t bytes)
{
    if (bytes.len == 0)
        return PR_OK;
    switch (self->unpack->packed) {
    case PACKED_GZIP:
        return gzip_push(self, bytes);
    case PACKED_ZIP:
        return zip_keep(self, bytes);
    default:
        return pr_plain_push(self, bytes);
    }
}

static pr_rc_t start_with_magic(pr_statement_reader_t *self)
{
    pr_rc_t rc = start(self);
    return rc == PR_OK ? pass_on(self, pr_bytes(self->unpack->magic, self->unpack->magic_len)) : rc;
}

pr_rc_t pr_unpack_push(pr_statement_reader_t *self, pr_bytes_t bytes)
{
    pr_unpack_t *unpack = self->unpack;
    pr_rc_t rc = PR_OK;
    if (unpack->packed == PACKED_UNKNOWN) {
        size_t taken = 0;
        while (unpack->magic_len < MAGIC_BYTES && taken < bytes.len)
            unpack->magic[unpack->magic_len++] = bytes.data[taken++];
        if (unpack->magic_len < MAGIC_BYTES)
            return PR_OK;
        rc = start_with_magic(self);
        bytes = taken < bytes.len ? pr_bytes(bytes.data + taken, bytes.len - taken)
                                  : (pr_bytes_t){NULL, 0};
    }
    while (rc == PR_OK && bytes.len > 0) {
        size_t piece = bytes.len < CHUNK_BYTES ? bytes.len : CHUNK_BYTES;
        rc = pass_on(self, pr_bytes(bytes.data, piece));
        bytes = pr_bytes(bytes.data + piece, bytes.len - piece);
    }
    return rc;
}

pr_rc_t pr_unpack_finish(pr_statement_reader_t *self)
{
    pr_unpack_t *unpack = self->unpack;
    pr_rc_t rc = unpack->packed == PACKED_UNKNOWN ? start_with_magic(self) : PR_OK;
    if (rc != PR_OK)
        return rc;
    if (unpack->packed == PACKED_ZIP)
        return zip_finish(self);
    if (unpack->packed == PACKED_GZIP && !unpack->gzip_ended)
        return pr_refuse(self, "truncated", "the gzip stops in the middle");
    return pr_plain_close(self);
}
