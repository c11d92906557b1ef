/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/outbox-relay/outbox_relay.h"

#include "base/assert.h"

void pr_relay_set_policy(pr_relay_t *self, const pr_relay_policy_t *policy)
{
    pr_assert(policy->busy_ms >= 1 && policy->busy_ms <= policy->idle_ms);
    pr_assert(policy->idle_ms <= policy->scan_ms);
    self->policy = *policy;
}

void pr_relay_init(pr_relay_t *self, const pr_relay_policy_t *policy)
{
    *self = (pr_relay_t){0};
    pr_relay_set_policy(self, policy);
}

/* After n failures in a row: idle, twice idle ... never over scan. */
static int64_t failure_delay_ms(const pr_relay_policy_t *policy, int failures)
{
    int64_t delay_ms = policy->idle_ms;
    for (int i = 1; i < failures && delay_ms < policy->scan_ms; i++) {
        delay_ms *= 2;
    }
    return delay_ms < policy->scan_ms ? delay_ms : policy->scan_ms;
}

static void reconnected(pr_relay_t *self, int64_t now_ms)
{
    self->connected = true;
    self->checked = false;
    self->checking = false;
    self->check_at_ms = now_ms;
    for (int i = 0; i < PR_RELAY_CLASSES; i++) {
        pr_relay_class_t *one = &self->classes[i];
        one->under_way = false; /* unknown outcome: the cursor in the database knows */
        one->failures = 0;
        one->next_at_ms = now_ms;
        if (one->traffic_until_ms < now_ms) {
            one->traffic_until_ms = now_ms; /* what came meanwhile may go on to come */
        }
    }
}

static void disconnected(pr_relay_t *self)
{
    self->connected = false;
    self->checked = false;
    self->checking = false;
    for (int i = 0; i < PR_RELAY_CLASSES; i++) {
        self->classes[i].under_way = false;
    }
}

/* At multiples of the period: classes whose traffic ended at different times are looked at together, which costs no more than
 * one of them. */
static int64_t next_look_ms(int64_t now_ms, int64_t period_ms)
{
    return (now_ms / period_ms + 1) * period_ms;
}

/* Returns true when there is news for the schedulers. */
static bool moved(pr_relay_t *self, const pr_relay_event_t *event, int64_t now_ms)
{
    pr_assert(event->class_no >= 0 && event->class_no < PR_RELAY_CLASSES);
    pr_relay_class_t *one = &self->classes[event->class_no];
    one->under_way = false;
    one->failures = 0;
    one->flood = event->full;
    if (event->last_seq > one->last_seq) {
        one->last_seq = event->last_seq;
    }
    if (event->moved > 0 || event->full) {
        one->traffic_until_ms = now_ms + PR_RELAY_TRAFFIC_HOLD_MS;
    }
    if (event->full) {
        one->next_at_ms = now_ms;
    } else if (now_ms < one->traffic_until_ms) {
        one->next_at_ms = now_ms + self->policy.busy_ms;
    } else if (now_ms < one->traffic_until_ms + PR_RELAY_QUIET_MS) {
        one->next_at_ms = next_look_ms(now_ms, self->policy.idle_ms);
    } else {
        int64_t quiet_ms = 2 * self->policy.idle_ms;
        one->next_at_ms =
            next_look_ms(now_ms, quiet_ms < self->policy.scan_ms ? quiet_ms : self->policy.scan_ms);
    }
    return event->moved > 0;
}

static void failed(pr_relay_t *self, int class_no, int64_t now_ms)
{
    pr_assert(class_no >= 0 && class_no < PR_RELAY_CLASSES);
    pr_relay_class_t *one = &self->classes[class_no];
    one->under_way = false;
    one->failures++;
    one->next_at_ms = now_ms + failure_delay_ms(&self->policy, one->failures);
}

static bool any_due(const pr_relay_t *self, int64_t now_ms)
{
    for (int i = 0; i < PR_RELAY_CLASSES; i++) {
        if (!self->classes[i].under_way && self->classes[i].next_at_ms <= now_ms) {
            return true;
        }
    }
    return false;
}

static bool beside_higher(const pr_relay_t *self, int class_no, int64_t now_ms)
{
    for (int i = 0; i < class_no; i++) {
        if (now_ms < self->classes[i].traffic_until_ms && !self->classes[i].flood) {
            return true;
        }
    }
    return false;
}

/* What is to be asked of the database now; P0 first. */
static int ask(pr_relay_t *self, int64_t now_ms, pr_relay_action_t *actions)
{
    if (!self->connected || self->draining) {
        return 0;
    }
    if (!self->checked) {
        if (self->checking || now_ms < self->check_at_ms) {
            return 0;
        }
        self->checking = true;
        actions[0] = (pr_relay_action_t){.kind = PR_RELAY_CHECK};
        return 1;
    }
    if (!any_due(self, now_ms)) {
        return 0;
    }
    int count = 0;
    for (int i = 0; i < PR_RELAY_CLASSES; i++) {
        pr_relay_class_t *one = &self->classes[i];
        if (!one->under_way && one->next_at_ms <= now_ms + self->policy.busy_ms) {
            one->under_way = true;
            actions[count++] = (pr_relay_action_t){.kind = PR_RELAY_MOVE,
                                                   .class_no = i,
                                                   .beside_higher = beside_higher(self, i, now_ms)};
        }
    }
    return count;
}

static int hint(const pr_relay_t *self, pr_relay_action_t *action)
{
    *action = (pr_relay_action_t){.kind = PR_RELAY_HINT};
    for (int i = 0; i < PR_RELAY_CLASSES; i++) {
        action->last_seq[i] = self->classes[i].last_seq;
    }
    return 1;
}

int pr_relay_step(pr_relay_t *self, const pr_relay_event_t *event, int64_t now_ms,
                  pr_relay_action_t actions[PR_RELAY_ACTIONS_MAX])
{
    int count = 0;
    switch (event->kind) {
    case PR_RELAY_EVENT_NONE:
    case PR_RELAY_TICK:
        break;
    case PR_RELAY_CONNECTED:
        reconnected(self, now_ms);
        break;
    case PR_RELAY_DISCONNECTED:
        disconnected(self);
        break;
    case PR_RELAY_CLUSTER_GOOD:
        self->checking = false;
        self->checked = true;
        break;
    case PR_RELAY_CLUSTER_FOREIGN:
        self->checking = false;
        self->draining = true; /* nothing more is moved, whatever the caller does */
        actions[0] = (pr_relay_action_t){.kind = PR_RELAY_STOP};
        return 1;
    case PR_RELAY_CLUSTER_UNKNOWN:
        self->checking = false;
        self->check_at_ms = now_ms + self->policy.scan_ms;
        break;
    case PR_RELAY_MOVED:
        if (moved(self, event, now_ms)) {
            count += hint(self, &actions[count]);
        }
        break;
    case PR_RELAY_REFUSED:
        failed(self, event->class_no, now_ms);
        self->checked = false;
        self->check_at_ms = now_ms;
        break;
    case PR_RELAY_FAILED:
        failed(self, event->class_no, now_ms);
        break;
    case PR_RELAY_DRAIN:
        self->draining = true;
        break;
    }
    return count + ask(self, now_ms, actions + count);
}

int64_t pr_relay_deadline_ms(const pr_relay_t *self)
{
    if (!self->connected || self->draining || self->checking) {
        return INT64_MAX;
    }
    if (!self->checked) {
        return self->check_at_ms;
    }
    int64_t deadline_ms = INT64_MAX;
    for (int i = 0; i < PR_RELAY_CLASSES; i++) {
        const pr_relay_class_t *one = &self->classes[i];
        if (!one->under_way && one->next_at_ms < deadline_ms) {
            deadline_ms = one->next_at_ms;
        }
    }
    return deadline_ms;
}

bool pr_relay_drained(const pr_relay_t *self)
{
    for (int i = 0; i < PR_RELAY_CLASSES; i++) {
        if (self->classes[i].under_way) {
            return false;
        }
    }
    return self->draining;
}
