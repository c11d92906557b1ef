/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_journal_t: the sandbox's own record, one JSON object a line, append only:
 *   {"at_us":..,"merchant":"m1","notify_id":"..","try":1,"version":7,"bytes":412,"sha256":"..",
 *    "signature":"ok","answer":"200","accepted":true,"ended_us":..}
 *
 * Lines are gathered through one turn of the loop and written with one write(2) BEFORE the
 * answers of that turn are sent: what a sender was told is always on record, and after the
 * write the kernel has it, so that no SIGKILL loses it (a power cut may; nothing is fsynced).
 */
#ifndef PR_SANDBOX_JOURNAL_H
#define PR_SANDBOX_JOURNAL_H

#include "base/error.h"
#include "sandbox/ledger.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    PR_SIGNATURE_UNKNOWN = 0, /* no secret was given for the merchant */
    PR_SIGNATURE_OK,
    PR_SIGNATURE_BAD,
    PR_SIGNATURE_MISSING,
} pr_signature_t;

const char *pr_signature_name(pr_signature_t signature);

/* One request as it will stand on record. */
typedef struct {
    int64_t at_us;        /* when it had arrived whole, CLOCK_REALTIME */
    const char *merchant; /* borrowed from the merchant, which lives as long as the process */
    uint32_t target;
    pr_notify_id_t id;
    uint32_t try;    /* 1 for the first receipt of this id here; 0: no id at all */
    int64_t version; /* -1 unknown */
    uint32_t bytes;  /* of the body */
    uint8_t sha256[32];
    pr_signature_t signature;
    int status;         /* answered; 0: nothing that has a status */
    const char *answer; /* static: what was done when status is 0 ("hang", "reset" ...) */
    bool accepted;
    bool early; /* came although a Retry-After had not passed */
} pr_receipt_t;

typedef struct pr_journal_t pr_journal_t;

/* path NULL: counts only. Appends to what is there; the directory must exist. */
pr_journal_t *pr_journal_open(const char *path, pr_error_t *error);
void pr_journal_destroy(pr_journal_t **self); /* flushes */
void pr_journal_add(pr_journal_t *self, const pr_receipt_t *receipt, int64_t ended_us);
void pr_journal_text(pr_journal_t *self, pr_bytes_t line); /* a whole line, its \n too */
void pr_journal_mark(pr_journal_t *self, const char *what,
                     int64_t now_us); /* {"mark":"reset",..} */
/* PR_FATAL: the disk refused; the judge must not go on unrecorded. */
PR_CHECK pr_rc_t pr_journal_flush(pr_journal_t *self, pr_error_t *error);
int64_t pr_journal_size(const pr_journal_t *self); /* bytes in the file after the last flush */
/* Whole lines from byte offset on, at most max bytes, appended to out; *next = where to go on. */
PR_CHECK pr_rc_t pr_journal_read(const pr_journal_t *self, int64_t offset, size_t max,
                                 pr_buffer_t *out, int64_t *next);

#endif
