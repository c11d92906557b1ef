/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_ledger_t: what arrived, in memory: one entry per (notification, target), open addressing over
 * 64-byte entries, at most 3/4 in use, doubling up to a stated maximum. It never forgets (but on
 * pr_ledger_clear), because a judge that forgets cannot count what was lost or repeated.
 *
 * An id is 16 bytes: a UUID as it is, any other text as the first half of its SHA-256.
 * Entries move when the ledger grows: a pointer is good until the next pr_ledger_touch.
 */
#ifndef PR_SANDBOX_LEDGER_H
#define PR_SANDBOX_LEDGER_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t bytes[16];
} pr_notify_id_t;

typedef struct {
    pr_notify_id_t id;
    uint32_t target;               /* number of the merchant, from 1; 0 marks a free slot */
    uint32_t receipts;             /* requests that arrived whole */
    uint32_t accepted;             /* of them answered with success */
    uint32_t changed;              /* receipts whose body differed from the first */
    int64_t first_us, accepted_us; /* CLOCK_REALTIME; accepted_us 0: never */
    uint64_t body;                 /* first 8 bytes of the first body's SHA-256 */
    int64_t version;               /* the body's version; -1 unknown */
} pr_ledger_entry_t;

typedef struct pr_ledger_t pr_ledger_t;

/* expected: entries that fit before the first growth (growing copies all: a pause of some 20 ms a
 * million). max: entries ever, 64 to 128 bytes each. */
pr_ledger_t *pr_ledger_new(size_t expected, size_t max);
void pr_ledger_destroy(pr_ledger_t **self);
void pr_ledger_clear(pr_ledger_t *self);

/* The entry of (id, target), made with receipts 0 when new; NULL when it is new and the ledger full. */
pr_ledger_entry_t *pr_ledger_touch(pr_ledger_t *self, const pr_notify_id_t *id, uint32_t target);
pr_ledger_entry_t *pr_ledger_find(const pr_ledger_t *self, const pr_notify_id_t *id,
                                  uint32_t target);
size_t pr_ledger_count(const pr_ledger_t *self);
/* The next entry in slot order; *cursor starts at 0; NULL at the end. */
const pr_ledger_entry_t *pr_ledger_next(const pr_ledger_t *self, size_t *cursor);

/* Text to id; a UUID in its usual 36-character form, else hashed. */
pr_notify_id_t pr_notify_id_from(pr_bytes_t text);
bool pr_notify_id_parse_uuid(pr_bytes_t text, pr_notify_id_t *out);
void pr_notify_id_text(const pr_notify_id_t *id, char out[37]); /* as a UUID */
/* 64 well-mixed bits of the id and a number: for tables and for tempers that throw dice. */
uint64_t pr_notify_id_mix(const pr_notify_id_t *id, uint64_t salt);

#endif
