/* SPDX-License-Identifier: Apache-2.0 */
#include "core/allowance.h"

#include "base/assert.h"

uint32_t pr_allowance_greet(pr_allowance_t *self)
{
    uint32_t greeting = self->greeting + 1;
    *self = (pr_allowance_t){.greeting = greeting ? greeting : 1};
    return self->greeting;
}

bool pr_allowance_answered(pr_allowance_t *self, uint32_t greeting)
{
    if (self->live || self->greeting == 0 || greeting != self->greeting) {
        return false;
    }
    self->live = true;
    return true;
}

void pr_allowance_lost(pr_allowance_t *self)
{
    *self = (pr_allowance_t){.greeting = self->greeting};
}

static uint64_t room_of(const pr_allowance_t *self, uint32_t cls)
{
    return self->granted[cls] - self->sent[cls] - self->returned[cls];
}

void pr_allowance_granted(pr_allowance_t *self, const uint64_t total[PR_CLASSES], bool contended,
                          int64_t now_ms)
{
    if (!self->live) {
        return;
    }
    self->contended = contended;
    for (uint32_t cls = 0; cls < PR_CLASSES; cls++) {
        if (total[cls] <= self->granted[cls]) { /* said again, or overtaken */
            continue;
        }
        if (room_of(self, cls) == 0) {
            self->idle_at_ms[cls] = now_ms;
        }
        self->granted[cls] = total[cls];
    }
}

uint64_t pr_allowance_room(const pr_allowance_t *self, uint32_t cls)
{
    pr_assert(cls < PR_CLASSES);
    return self->live ? room_of(self, cls) : 0;
}

void pr_allowance_send(pr_allowance_t *self, uint32_t cls, uint32_t jobs, int64_t now_ms)
{
    pr_assert(jobs <= pr_allowance_room(self, cls));
    self->sent[cls] += jobs;
    self->idle_at_ms[cls] = now_ms;
}

bool pr_allowance_give_back(pr_allowance_t *self, int64_t now_ms)
{
    bool any = false;
    for (uint32_t cls = 0; self->contended && cls < PR_CLASSES; cls++) {
        uint64_t room = pr_allowance_room(self, cls);
        if (room > 0 && now_ms - self->idle_at_ms[cls] >= PR_ALLOWANCE_RETURN_MS) {
            self->returned[cls] += room;
            any = true;
        }
    }
    return any;
}

int64_t pr_allowance_due_ms(const pr_allowance_t *self)
{
    int64_t due = INT64_MAX;
    for (uint32_t cls = 0; self->contended && cls < PR_CLASSES; cls++) {
        int64_t at = self->idle_at_ms[cls] + PR_ALLOWANCE_RETURN_MS;
        if (pr_allowance_room(self, cls) > 0 && at < due) {
            due = at;
        }
    }
    return due;
}
