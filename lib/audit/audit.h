/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit log as a chain (docs/people.md): entry n holds SHA-256 over the hash of entry n - 1 and
 * over its own row. The database writes it (audit_hash() of sql/migrations/0023); here it is
 * computed anew, from rows of the database or lines of an export, so that a changed function there
 * cannot vouch for changed rows.
 *
 * Whoever may write past the database's guards can write a whole new chain from some entry on. That
 * is why a head that was exported earlier is compared, too.
 */
#ifndef PR_AUDIT_AUDIT_H
#define PR_AUDIT_AUDIT_H

#include "base/rc.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_AUDIT_HASH_BYTES 32

/* A row as it is hashed; texts of the database's own encoding, UTF-8. Those that may be NULL are
 * reason, merchant_id and order_no. detail: the text of the jsonb. */
typedef struct {
    int64_t n, id, at_us; /* at_us: microseconds since 1970 */
    const char *actor, *action, *subject, *reason, *detail, *login, *merchant_id, *order_no;
} pr_audit_entry_t;

/* SHA-256 (former || "postrider-audit-1" || fields), a field being "LENGTH:BYTES", or "-" for NULL.
 * PR_FATAL: libcrypto refuses. PR_BAD: longer than
 * 4 MiB. */
PR_CHECK pr_rc_t pr_audit_hash(const pr_audit_entry_t *entry,
                               const uint8_t former[PR_AUDIT_HASH_BYTES],
                               uint8_t out[PR_AUDIT_HASH_BYTES]);

/* How far a chain was followed; zeroed at its beginning. */
typedef struct {
    int64_t n;
    uint8_t hash[PR_AUDIT_HASH_BYTES];
} pr_audit_chain_t;

typedef enum {
    PR_AUDIT_GOOD = 0,
    PR_AUDIT_MISSING, /* entries between the last one and this one are not there */
    PR_AUDIT_ORDER,   /* this one's number was seen, or does not grow */
    PR_AUDIT_GONE,    /* its row is not there */
    PR_AUDIT_CHANGED, /* its row, or the entry before it, is not what was written */
} pr_audit_finding_t;

/* Follows the chain by one entry. entry NULL: there is an entry n with this hash, but no row. It
 * goes on behind what it found: one changed row is one finding. */
pr_audit_finding_t pr_audit_follow(pr_audit_chain_t *self, int64_t n, const pr_audit_entry_t *entry,
                                   const uint8_t hash[PR_AUDIT_HASH_BYTES]);
const char *pr_audit_finding_text(pr_audit_finding_t finding);

/* "N:HEX", as it is exported and given again. */
#define PR_AUDIT_HEAD_MAX 88
void pr_audit_head_print(const pr_audit_chain_t *head, char out[PR_AUDIT_HEAD_MAX]);
bool pr_audit_head_parse(const char *text, pr_audit_chain_t *out);

#endif
