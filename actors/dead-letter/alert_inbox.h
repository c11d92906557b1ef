/* SPDX-License-Identifier: Apache-2.0
 *
 * Alerts that came as facts and are not written down yet: grouped by (kind, subject), bounded,
 * oldest first.
 *
 * A fact comes once; while the database is away it waits here. The same trouble reported again
 * joins the entry that waits (its message is the newest, its severity the gravest). When the inbox
 * is full a new trouble is dropped and counted: the row's own source of truth, if it has one, will
 * tell again. Plain data, no heap, no clock; embedded by its owner.
 */
#ifndef PR_ALERT_INBOX_H
#define PR_ALERT_INBOX_H

#include "base/rc.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_ALERT_INBOX_MAX 256
#define PR_ALERT_KIND_MAX 64 /* bytes, each without the NUL */
#define PR_ALERT_SUBJECT_MAX 128
#define PR_ALERT_MESSAGE_MAX 500 /* as in bus.proto */

typedef enum {
    PR_ALERT_SEVERITY_NONE = 0,
    PR_ALERT_INFO,
    PR_ALERT_WARN,
    PR_ALERT_PAGE,
} pr_alert_severity_t;

typedef struct {
    char kind[PR_ALERT_KIND_MAX + 1];
    char subject[PR_ALERT_SUBJECT_MAX + 1];
    pr_alert_severity_t severity;
    char message[PR_ALERT_MESSAGE_MAX + 1];
    uint32_t count; /* facts joined here */
    bool under_way; /* being written: what comes meanwhile starts a new entry */
    bool used;
    uint64_t number; /* order of arrival */
} pr_alert_entry_t;

typedef struct {
    pr_alert_entry_t entries[PR_ALERT_INBOX_MAX];
    int count;
    uint64_t arrived;
    uint64_t dropped;
} pr_alert_inbox_t;

void pr_alert_inbox_init(pr_alert_inbox_t *self);
/* PR_OK; PR_BAD: kind or subject empty or too long, or an unknown severity; PR_AGAIN: full,
 * dropped.
 * A long message is cut at a character's edge. */
PR_CHECK pr_rc_t pr_alert_inbox_add(pr_alert_inbox_t *self, const char *kind, const char *subject,
                                    const char *severity, const char *message);
/* The slot (0..) of the oldest entry that is not under way, now marked so; -1 = none. */
int pr_alert_inbox_take(pr_alert_inbox_t *self);
/* The entry of a slot under way was written (forget it) or not (it may be taken again). */
void pr_alert_inbox_done(pr_alert_inbox_t *self, int slot, bool written);

pr_alert_severity_t pr_alert_severity_parse(const char *text); /* NONE when unknown */
const char *pr_alert_severity_name(pr_alert_severity_t severity);

#endif
