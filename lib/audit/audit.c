/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/audit.h"

#include "base/buffer.h"
#include "sign/digest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX_BYTES ((size_t)4 << 20) /* a row's detail has no limit of its own */

static pr_rc_t add_text(pr_buffer_t *buffer, const char *text)
{
    return text != NULL ? pr_buffer_printf(buffer, "%zu:%s", strlen(text), text)
                        : pr_buffer_append_text(buffer, "-");
}

static pr_rc_t add_number(pr_buffer_t *buffer, int64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRId64, number);
    return add_text(buffer, text);
}

static pr_rc_t add_fields(pr_buffer_t *buffer, const pr_audit_entry_t *entry,
                          const uint8_t former[PR_AUDIT_HASH_BYTES])
{
    const int64_t numbers[] = {entry->n, entry->id, entry->at_us};
    const char *const texts[] = {entry->actor,  entry->action, entry->subject,     entry->reason,
                                 entry->detail, entry->login,  entry->merchant_id, entry->order_no};
    pr_rc_t rc = pr_buffer_append(buffer, former, PR_AUDIT_HASH_BYTES);
    if (rc == PR_OK) {
        rc = pr_buffer_append_text(buffer, "postrider-audit-1");
    }
    for (size_t i = 0; rc == PR_OK && i < sizeof numbers / sizeof *numbers; i++) {
        rc = add_number(buffer, numbers[i]);
    }
    for (size_t i = 0; rc == PR_OK && i < sizeof texts / sizeof *texts; i++) {
        rc = add_text(buffer, texts[i]);
    }
    return rc;
}

pr_rc_t pr_audit_hash(const pr_audit_entry_t *entry, const uint8_t former[PR_AUDIT_HASH_BYTES],
                      uint8_t out[PR_AUDIT_HASH_BYTES])
{
    pr_buffer_t buffer;
    pr_buffer_init(&buffer, FIELDS_MAX_BYTES);
    pr_rc_t rc = add_fields(&buffer, entry, former);
    if (rc == PR_OK && !pr_sha256(pr_buffer_bytes(&buffer), out)) {
        rc = PR_FATAL;
    }
    pr_buffer_free(&buffer);
    return rc;
}

static pr_audit_finding_t judge(const pr_audit_chain_t *self, int64_t n,
                                const pr_audit_entry_t *entry,
                                const uint8_t hash[PR_AUDIT_HASH_BYTES])
{
    uint8_t computed[PR_AUDIT_HASH_BYTES];
    if (n <= self->n) {
        return PR_AUDIT_ORDER;
    }
    if (n > self->n + 1) {
        return PR_AUDIT_MISSING;
    }
    if (entry == NULL) {
        return PR_AUDIT_GONE;
    }
    bool same = pr_audit_hash(entry, self->hash, computed) == PR_OK &&
                memcmp(computed, hash, sizeof computed) == 0;
    return same ? PR_AUDIT_GOOD : PR_AUDIT_CHANGED;
}

pr_audit_finding_t pr_audit_follow(pr_audit_chain_t *self, int64_t n, const pr_audit_entry_t *entry,
                                   const uint8_t hash[PR_AUDIT_HASH_BYTES])
{
    pr_audit_finding_t finding = judge(self, n, entry, hash);
    if (finding != PR_AUDIT_ORDER) {
        self->n = n;
        memcpy(self->hash, hash, sizeof self->hash);
    }
    return finding;
}

const char *pr_audit_finding_text(pr_audit_finding_t finding)
{
    switch (finding) {
    case PR_AUDIT_GOOD:
        return "good";
    case PR_AUDIT_MISSING:
        return "entries before it are missing";
    case PR_AUDIT_ORDER:
        return "its number does not follow";
    case PR_AUDIT_GONE:
        return "its row is gone";
    case PR_AUDIT_CHANGED:
        return "its row is not what was written";
    }
    return "?";
}

void pr_audit_head_print(const pr_audit_chain_t *head, char out[PR_AUDIT_HEAD_MAX])
{
    char hex[2 * PR_AUDIT_HASH_BYTES + 1];
    pr_hex(pr_bytes(head->hash, sizeof head->hash), hex);
    (void)snprintf(out, PR_AUDIT_HEAD_MAX, "%" PRId64 ":%s", head->n, hex);
}

bool pr_audit_head_parse(const char *text, pr_audit_chain_t *out)
{
    char *end = NULL;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (errno != 0 || end == text || n < 0 || *end != ':') {
        return false;
    }
    out->n = n;
    const char *hex = end + 1;
    return strlen(hex) == 2 * PR_AUDIT_HASH_BYTES && pr_unhex(hex, strlen(hex), out->hash);
}
