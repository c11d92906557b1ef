/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/compensator/compensator.h"

#include "base/assert.h"

void pr_compensator_init(pr_compensator_t *self, const pr_compensator_policy_t *policy)
{
    *self = (pr_compensator_t){.policy = *policy};
}

static int free_slots(const pr_compensator_t *self)
{
    return self->policy.slots - self->running;
}

static bool may_claim(const pr_compensator_t *self)
{
    return self->phase == PR_COMP_WORKING && !self->claiming && !self->draining &&
           free_slots(self) > 0;
}

static bool may_sweep(const pr_compensator_t *self)
{
    return self->phase == PR_COMP_WORKING && !self->sweeping && !self->draining;
}

static void take(pr_compensator_t *self, const pr_comp_event_t *event, int64_t now_ms)
{
    switch (event->kind) {
    case PR_COMP_TICK:
        break;
    case PR_COMP_CONNECTED:
    case PR_COMP_ENDED:
        self->phase = PR_COMP_OPENING;
        self->open_at_ms = now_ms;
        break;
    case PR_COMP_DISCONNECTED:
        self->phase = PR_COMP_AWAY;
        self->claiming = self->sweeping = false;
        break;
    case PR_COMP_OPENED:
        if (event->good)
            self->phase = PR_COMP_WORKING;
        self->open_at_ms = now_ms + self->policy.scan_ms;
        self->claim_at_ms = self->sweep_at_ms = now_ms;
        break;
    case PR_COMP_CLAIMED:
        self->claiming = false;
        self->running += event->count;
        pr_assert(self->running <= self->policy.slots);
        self->full = event->good && event->count >= event->asked;
        self->claim_at_ms = self->full ? now_ms : now_ms + self->policy.scan_ms;
        break;
    case PR_COMP_SWEPT:
        self->sweeping = false;
        self->sweep_at_ms = now_ms + self->policy.sweep_ms;
        break;
    case PR_COMP_RUN_ENDED:
        pr_assert(self->running > 0);
        self->running--;
        break;
    case PR_COMP_DRAIN:
        self->draining = true;
        break;
    }
}

int pr_compensator_step(pr_compensator_t *self, const pr_comp_event_t *event, int64_t now_ms,
                        pr_comp_action_t actions[PR_COMP_ACTIONS_MAX])
{
    int count = 0;
    take(self, event, now_ms);
    if (self->phase == PR_COMP_OPENING && now_ms >= self->open_at_ms) {
        self->open_at_ms = INT64_MAX;
        actions[count++] = (pr_comp_action_t){.kind = PR_COMP_ACT_OPEN};
        return count;
    }
    /* the sweep first: what it sends back may be claimed at once */
    if (may_sweep(self) && now_ms >= self->sweep_at_ms) {
        self->sweeping = true;
        actions[count++] = (pr_comp_action_t){.kind = PR_COMP_ACT_SWEEP};
    }
    if (may_claim(self) && now_ms >= self->claim_at_ms) {
        self->claiming = true;
        actions[count++] = (pr_comp_action_t){.kind = PR_COMP_ACT_CLAIM, .most = free_slots(self)};
    }
    return count;
}

int64_t pr_compensator_deadline_ms(const pr_compensator_t *self)
{
    int64_t at_ms = self->phase == PR_COMP_OPENING ? self->open_at_ms : INT64_MAX;
    if (may_sweep(self))
        at_ms = self->sweep_at_ms;
    if (may_claim(self) && self->claim_at_ms < at_ms)
        at_ms = self->claim_at_ms;
    return at_ms;
}

bool pr_compensator_drained(const pr_compensator_t *self)
{
    return self->draining && self->running == 0 && !self->claiming;
}
