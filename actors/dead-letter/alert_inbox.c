/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/dead-letter/alert_inbox.h"

#include "base/assert.h"

#include <stddef.h>
#include <string.h>

static const char *const severity_names[] = {"", "info", "warn", "page"};

pr_alert_severity_t pr_alert_severity_parse(const char *text)
{
    for (int i = PR_ALERT_INFO; i <= PR_ALERT_PAGE; i++) {
        if (strcmp(text, severity_names[i]) == 0) {
            return (pr_alert_severity_t)i;
        }
    }
    return PR_ALERT_SEVERITY_NONE;
}

const char *pr_alert_severity_name(pr_alert_severity_t severity)
{
    pr_assert(severity >= PR_ALERT_SEVERITY_NONE && severity <= PR_ALERT_PAGE);
    return severity_names[severity];
}

void pr_alert_inbox_init(pr_alert_inbox_t *self)
{
    memset(self, 0, sizeof *self);
}

/* Copies at most max bytes, never half a UTF-8 character. */
static void copy_cut(char *out, const char *text, size_t max)
{
    size_t len = strnlen(text, max + 1);
    if (len > max) {
        len = max;
        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80) {
            len--;
        }
    }
    memcpy(out, text, len);
    out[len] = '\0';
}

static bool fits(const char *text, size_t max)
{
    size_t len = strnlen(text, max + 1);
    return len > 0 && len <= max;
}

static pr_alert_entry_t *find(pr_alert_inbox_t *self, const char *kind, const char *subject)
{
    for (int i = 0; i < PR_ALERT_INBOX_MAX; i++) {
        pr_alert_entry_t *one = &self->entries[i];
        if (one->used && !one->under_way && strcmp(one->kind, kind) == 0 &&
            strcmp(one->subject, subject) == 0) {
            return one;
        }
    }
    return NULL;
}

static pr_alert_entry_t *find_free(pr_alert_inbox_t *self)
{
    for (int i = 0; i < PR_ALERT_INBOX_MAX; i++) {
        if (!self->entries[i].used) {
            return &self->entries[i];
        }
    }
    return NULL;
}

pr_rc_t pr_alert_inbox_add(pr_alert_inbox_t *self, const char *kind, const char *subject,
                           const char *severity, const char *message)
{
    pr_alert_severity_t grave = pr_alert_severity_parse(severity);
    if (!fits(kind, PR_ALERT_KIND_MAX) || !fits(subject, PR_ALERT_SUBJECT_MAX) ||
        grave == PR_ALERT_SEVERITY_NONE) {
        return PR_BAD;
    }
    pr_alert_entry_t *one = find(self, kind, subject);
    if (one == NULL) {
        one = find_free(self);
        if (one == NULL) {
            self->dropped++;
            return PR_AGAIN;
        }
        *one = (pr_alert_entry_t){.used = true, .number = self->arrived++};
        copy_cut(one->kind, kind, PR_ALERT_KIND_MAX);
        copy_cut(one->subject, subject, PR_ALERT_SUBJECT_MAX);
        self->count++;
    }
    if (grave > one->severity) {
        one->severity = grave;
    }
    copy_cut(one->message, message, PR_ALERT_MESSAGE_MAX);
    one->count += one->count < UINT32_MAX ? 1 : 0;
    return PR_OK;
}

int pr_alert_inbox_take(pr_alert_inbox_t *self)
{
    int oldest = -1;
    for (int i = 0; i < PR_ALERT_INBOX_MAX && self->count > 0; i++) {
        const pr_alert_entry_t *one = &self->entries[i];
        if (one->used && !one->under_way &&
            (oldest < 0 || one->number < self->entries[oldest].number)) {
            oldest = i;
        }
    }
    if (oldest >= 0) {
        self->entries[oldest].under_way = true;
    }
    return oldest;
}

void pr_alert_inbox_done(pr_alert_inbox_t *self, int slot, bool written)
{
    pr_assert(slot >= 0 && slot < PR_ALERT_INBOX_MAX);
    pr_alert_entry_t *one = &self->entries[slot];
    pr_assert(one->used && one->under_way);
    one->under_way = false;
    if (written) {
        one->used = false;
        self->count--;
    }
}
