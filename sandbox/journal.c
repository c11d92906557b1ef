/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/journal.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A line is under 700 bytes (merchant names are bounded); one turn handles fewer than this. */
#define PENDING_MAX_BYTES (64U << 20)
#define WRITE_AT_BYTES (1U << 20)

struct pr_journal_t {
    int fd; /* -1: no file */
    int64_t size;
    pr_buffer_t pending;
    int failed; /* errno of a write that failed outside flush */
};

const char *pr_signature_name(pr_signature_t signature)
{
    static const char *const names[] = {"unknown", "ok", "bad", "missing"};
    return names[signature];
}

pr_journal_t *pr_journal_open(const char *path, pr_error_t *error)
{
    int fd = -1;
    if (path) {
        fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (fd < 0) {
            pr_error_set(error, PR_FATAL, "sandbox", strerrorname_np(errno),
                         "cannot open the journal %s", path);
            return NULL;
        }
    }
    pr_journal_t *self = PR_NEW(pr_journal_t);
    self->fd = fd;
    self->size = fd >= 0 ? (int64_t)lseek(fd, 0, SEEK_END) : 0;
    pr_buffer_init(&self->pending, PENDING_MAX_BYTES);
    return self;
}

static bool write_pending(pr_journal_t *self)
{
    size_t done = 0;
    while (self->fd >= 0 && done < self->pending.len) {
        ssize_t wrote = write(self->fd, self->pending.data + done, self->pending.len - done);
        if (wrote < 0 && errno != EINTR) {
            self->failed = errno;
            return false;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    self->size += (int64_t)done;
    pr_buffer_clear(&self->pending);
    return true;
}

void pr_journal_destroy(pr_journal_t **self)
{
    if (*self) {
        (void)write_pending(*self);
        if ((*self)->fd >= 0) {
            close((*self)->fd);
        }
        pr_buffer_free(&(*self)->pending);
        pr_free(*self);
        *self = NULL;
    }
}

void pr_journal_add(pr_journal_t *self, const pr_receipt_t *receipt, int64_t ended_us)
{
    char id[37], sha256[65], answer[16];
    pr_notify_id_text(&receipt->id, id);
    pr_hex(pr_bytes(receipt->sha256, sizeof(receipt->sha256)), sha256);
    snprintf(answer, sizeof(answer), "%d", receipt->status);
    pr_rc_t rc = pr_buffer_printf(
        &self->pending,
        "{\"at_us\":%" PRId64 ",\"merchant\":\"%s\",\"notify_id\":\"%s\",\"try\":%u"
        ",\"version\":%" PRId64 ",\"bytes\":%u,\"sha256\":\"%s\",\"signature\":\"%s\""
        ",\"answer\":\"%s\",\"accepted\":%s,\"early\":%s,\"ended_us\":%" PRId64 "}\n",
        receipt->at_us, receipt->merchant, receipt->try ? id : "", receipt->try, receipt->version,
        receipt->bytes, sha256, pr_signature_name(receipt->signature),
        receipt->status ? answer : receipt->answer, receipt->accepted ? "true" : "false",
        receipt->early ? "true" : "false", ended_us);
    pr_assert(rc == PR_OK);
    if (self->pending.len >= WRITE_AT_BYTES) {
        (void)write_pending(self); /* remembered in failed, told by the next flush */
    }
}

void pr_journal_text(pr_journal_t *self, pr_bytes_t line)
{
    pr_rc_t rc = pr_buffer_append(&self->pending, line.data, line.len);
    pr_assert(rc == PR_OK);
    if (self->pending.len >= WRITE_AT_BYTES) {
        (void)write_pending(self); /* as above */
    }
}

void pr_journal_mark(pr_journal_t *self, const char *what, int64_t now_us)
{
    pr_rc_t rc =
        pr_buffer_printf(&self->pending, "{\"mark\":\"%s\",\"at_us\":%" PRId64 "}\n", what, now_us);
    pr_assert(rc == PR_OK);
}

pr_rc_t pr_journal_flush(pr_journal_t *self, pr_error_t *error)
{
    if (self->failed || (self->pending.len > 0 && !write_pending(self))) {
        return pr_error_set(error, PR_FATAL, "sandbox", strerrorname_np(self->failed),
                            "cannot write the journal");
    }
    return PR_OK;
}

int64_t pr_journal_size(const pr_journal_t *self)
{
    return self->size;
}

pr_rc_t pr_journal_read(const pr_journal_t *self, int64_t offset, size_t max, pr_buffer_t *out,
                        int64_t *next)
{
    *next = offset;
    if (self->fd < 0 || offset < 0 || offset >= self->size) {
        return PR_OK;
    }
    PR_CLEANUP_FREE uint8_t *bytes = pr_calloc(max, 1);
    ssize_t got = pread(self->fd, bytes, max, (off_t)offset);
    if (got <= 0) {
        return got == 0 ? PR_OK : PR_FATAL;
    }
    const uint8_t *end = memrchr(bytes, '\n', (size_t)got);
    if (!end) {
        return PR_OK; /* max is smaller than a line: the caller sees that *next stands still */
    }
    size_t len = (size_t)(end - bytes) + 1;
    *next = offset + (int64_t)len;
    return pr_buffer_append(out, bytes, len);
}
