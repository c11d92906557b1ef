/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/reconciler/reconciler.h"

#include "base/assert.h"

#include <string.h>

void pr_recon_set_policy(pr_recon_t *self, const pr_recon_policy_t *policy)
{
    for (int i = 0; i < PR_RECON_CHORES; i++) {
        pr_assert(policy->period_ms[i] >= 1);
    }
    self->policy = *policy;
}

void pr_recon_init(pr_recon_t *self, const pr_recon_policy_t *policy)
{
    memset(self, 0, sizeof *self); /* every chore is due at once: what was missed is made up for */
    pr_recon_set_policy(self, policy);
}

/* ---- events ---- */

static void chore_done(pr_recon_t *self, const pr_recon_event_t *event, int64_t now_ms)
{
    int64_t wait_ms = !event->good  ? PR_RECON_RETRY_MS
                      : event->more ? 0
                                    : self->policy.period_ms[event->chore];
    self->chores[event->chore].under_way = false;
    self->chores[event->chore].next_at_ms = now_ms + wait_ms;
}

static void import_done(pr_recon_t *self, const pr_recon_event_t *event, int64_t now_ms)
{
    self->importing = false;
    if (event->good) {
        self->chores[PR_RECON_MATCH].next_at_ms = now_ms;
    }
}

static void take(pr_recon_t *self, const pr_recon_event_t *event, int64_t now_ms)
{
    switch (event->kind) {
    case PR_RECON_EVENT_NONE:
    case PR_RECON_TICK:
        break;
    case PR_RECON_CONNECTED:
        self->connected = true;
        break;
    case PR_RECON_DISCONNECTED:
        self->connected = false; /* chores under way report their failure themselves */
        break;
    case PR_RECON_CHORE_DONE:
        chore_done(self, event, now_ms);
        break;
    case PR_RECON_TAKEN:
        self->waiting += event->count;
        break;
    case PR_RECON_IMPORT_DONE:
        import_done(self, event, now_ms);
        break;
    case PR_RECON_DRAIN:
        self->draining = true;
        break;
    }
}

/* ---- actions ---- */

/* Days are taken only when none waits: their lease would run out behind a long import. */
static bool may_begin(const pr_recon_t *self, int chore)
{
    return !self->chores[chore].under_way &&
           (chore != PR_RECON_DUE || (self->waiting == 0 && !self->importing));
}

int pr_recon_step(pr_recon_t *self, const pr_recon_event_t *event, int64_t now_ms,
                  pr_recon_action_t actions[PR_RECON_ACTIONS_MAX])
{
    int count = 0;
    take(self, event, now_ms);
    if (!self->connected || self->draining) {
        return 0;
    }
    if (self->waiting > 0 && !self->importing) {
        self->waiting--;
        self->importing = true;
        actions[count++] = (pr_recon_action_t){.kind = PR_RECON_ACTION_IMPORT};
    }
    for (int i = 0; i < PR_RECON_CHORES; i++) {
        if (may_begin(self, i) && self->chores[i].next_at_ms <= now_ms) {
            self->chores[i].under_way = true;
            actions[count++] =
                (pr_recon_action_t){.kind = PR_RECON_ACTION_CHORE, .chore = (pr_recon_chore_t)i};
        }
    }
    return count;
}

int64_t pr_recon_deadline_ms(const pr_recon_t *self)
{
    int64_t at_ms = INT64_MAX;
    if (!self->connected || self->draining) {
        return at_ms;
    }
    for (int i = 0; i < PR_RECON_CHORES; i++) {
        if (may_begin(self, i) && self->chores[i].next_at_ms < at_ms) {
            at_ms = self->chores[i].next_at_ms;
        }
    }
    return at_ms;
}

/* What is under way in the database ends by itself; an import is given up and leaves nothing. */
bool pr_recon_drained(const pr_recon_t *self)
{
    for (int i = 0; i < PR_RECON_CHORES; i++) {
        if (self->chores[i].under_way) {
            return false;
        }
    }
    return true;
}
