/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/dead-letter/dead_letter.h"

#include "base/assert.h"

#include <stddef.h>
#include <string.h>

static const int64_t post_delay_ms[] = {1000, 5000, 30000, 120000};
#define POST_TRIES_MAX ((int)(sizeof post_delay_ms / sizeof post_delay_ms[0]) + 1)

typedef struct {
    pr_dead_action_t *actions;
    int count;
} out_t;

static bool room(const out_t *out)
{
    return out->count < PR_DEAD_ACTIONS_MAX;
}

static void add(out_t *out, pr_dead_action_t action)
{
    pr_assert(room(out));
    out->actions[out->count++] = action;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void pr_dead_set_policy(pr_dead_t *self, const pr_dead_policy_t *policy)
{
    for (int i = 0; i < PR_CHORES; i++) {
        pr_assert(policy->period_ms[i] >= 1);
    }
    self->policy = *policy;
}

void pr_dead_init(pr_dead_t *self, const pr_dead_policy_t *policy)
{
    memset(self, 0, sizeof *self);
    pr_alert_inbox_init(&self->inbox);
    pr_dead_set_policy(self, policy);
}

int pr_dead_post_new(pr_dead_t *self, int64_t now_ms)
{
    for (int i = 0; i < PR_DEAD_POSTS_MAX; i++) {
        if (!self->posts[i].used) {
            self->posts[i] = (pr_dead_post_t){.used = true, .next_at_ms = now_ms};
            return i;
        }
    }
    return -1;
}

static void chore_done(pr_dead_t *self, const pr_dead_event_t *event, int64_t now_ms)
{
    pr_assert((int)event->chore >= 0 && event->chore < PR_CHORES);
    pr_chore_state_t *chore = &self->chores[event->chore];
    chore->under_way = false;
    if (!event->good) {
        chore->next_at_ms = now_ms + PR_DEAD_RETRY_MS;
        return;
    }
    int64_t rest_ms = (now_ms - chore->began_at_ms) * (PR_DEAD_SHARE - 1);
    int64_t period_ms = event->more ? 0 : self->policy.period_ms[event->chore];
    chore->next_at_ms = now_ms + (rest_ms > period_ms ? rest_ms : period_ms);
}

static void raised(pr_dead_t *self, const pr_dead_event_t *event, int64_t now_ms)
{
    self->raises_under_way--;
    pr_assert(self->raises_under_way >= 0);
    pr_alert_inbox_done(&self->inbox, event->slot, event->good);
    if (!event->good) {
        self->raise_at_ms = now_ms + PR_DEAD_RETRY_MS;
    }
}

static void posted(pr_dead_t *self, const pr_dead_event_t *event, int64_t now_ms, out_t *out)
{
    pr_assert(event->slot >= 0 && event->slot < PR_DEAD_POSTS_MAX);
    pr_dead_post_t *post = &self->posts[event->slot];
    pr_assert(post->used && post->under_way);
    post->under_way = false;
    self->posts_under_way--;
    if (event->good || post->tries >= POST_TRIES_MAX) {
        post->used = false;
        add(out,
            (pr_dead_action_t){.kind = event->good ? PR_DEAD_ACTION_SENT : PR_DEAD_ACTION_GIVE_UP,
                               .slot = event->slot,
                               .tries = post->tries});
    } else {
        post->next_at_ms = now_ms + post_delay_ms[post->tries - 1];
    }
}

static void connected(pr_dead_t *self, bool is, int64_t now_ms)
{
    self->connected = is;
    for (int i = 0; i < PR_CHORES; i++) {
        self->chores[i].under_way = false;
        if (is) {
            self->chores[i].next_at_ms = now_ms; /* after an outage the truth is news */
        }
    }
    self->raise_at_ms = now_ms;
}

static void ask_chores(pr_dead_t *self, int64_t now_ms, out_t *out)
{
    for (int i = 0; i < PR_CHORES && room(out); i++) {
        pr_chore_state_t *chore = &self->chores[i];
        if (!chore->under_way && chore->next_at_ms <= now_ms) {
            chore->under_way = true;
            chore->began_at_ms = now_ms;
            add(out, (pr_dead_action_t){.kind = PR_DEAD_ACTION_CHORE, .chore = (pr_chore_t)i});
        }
    }
}

static void ask_raises(pr_dead_t *self, int64_t now_ms, out_t *out)
{
    while (room(out) && now_ms >= self->raise_at_ms &&
           self->raises_under_way < PR_DEAD_RAISES_AT_ONCE) {
        int slot = pr_alert_inbox_take(&self->inbox);
        if (slot < 0) {
            return;
        }
        self->raises_under_way++;
        add(out, (pr_dead_action_t){.kind = PR_DEAD_ACTION_RAISE, .slot = slot});
    }
}

static void ask_posts(pr_dead_t *self, int64_t now_ms, out_t *out)
{
    for (int i = 0; i < PR_DEAD_POSTS_MAX; i++) {
        pr_dead_post_t *post = &self->posts[i];
        if (!room(out) || self->posts_under_way >= PR_DEAD_POSTS_AT_ONCE) {
            return;
        }
        if (post->used && !post->under_way && post->next_at_ms <= now_ms) {
            post->under_way = true;
            post->tries++;
            self->posts_under_way++;
            add(out,
                (pr_dead_action_t){.kind = PR_DEAD_ACTION_SEND, .slot = i, .tries = post->tries});
        }
    }
}

int pr_dead_step(pr_dead_t *self, const pr_dead_event_t *event, int64_t now_ms,
                 pr_dead_action_t actions[PR_DEAD_ACTIONS_MAX])
{
    out_t out = {.actions = actions};
    switch (event->kind) {
    case PR_DEAD_EVENT_NONE:
    case PR_DEAD_POST:
    case PR_DEAD_TICK:
        break;
    case PR_DEAD_CONNECTED:
        connected(self, true, now_ms);
        break;
    case PR_DEAD_DISCONNECTED:
        connected(self, false, now_ms);
        break;
    case PR_DEAD_LETTER:
        self->chores[PR_CHORE_SCAN].next_at_ms =
            earlier(self->chores[PR_CHORE_SCAN].next_at_ms, now_ms + PR_DEAD_HINT_MS);
        break;
    case PR_DEAD_CHORE_DONE:
        chore_done(self, event, now_ms);
        break;
    case PR_DEAD_RAISED:
        raised(self, event, now_ms);
        break;
    case PR_DEAD_POSTED:
        posted(self, event, now_ms, &out);
        break;
    case PR_DEAD_DRAIN:
        self->draining = true;
        break;
    }
    if (self->draining) {
        return out.count;
    }
    if (self->connected) {
        ask_raises(self, now_ms, &out);
        ask_chores(self, now_ms, &out);
    }
    ask_posts(self, now_ms, &out);
    return out.count;
}

static bool raises_wait(const pr_dead_t *self)
{
    return self->inbox.count > self->raises_under_way &&
           self->raises_under_way < PR_DEAD_RAISES_AT_ONCE;
}

int64_t pr_dead_deadline_ms(const pr_dead_t *self)
{
    int64_t deadline_ms = INT64_MAX;
    if (self->draining) {
        return deadline_ms;
    }
    for (int i = 0; i < PR_CHORES && self->connected; i++) {
        if (!self->chores[i].under_way) {
            deadline_ms = earlier(deadline_ms, self->chores[i].next_at_ms);
        }
    }
    if (self->connected && raises_wait(self)) {
        deadline_ms = earlier(deadline_ms, self->raise_at_ms);
    }
    for (int i = 0; i < PR_DEAD_POSTS_MAX; i++) {
        const pr_dead_post_t *post = &self->posts[i];
        if (post->used && !post->under_way && self->posts_under_way < PR_DEAD_POSTS_AT_ONCE) {
            deadline_ms = earlier(deadline_ms, post->next_at_ms);
        }
    }
    return deadline_ms;
}

bool pr_dead_drained(const pr_dead_t *self)
{
    for (int i = 0; i < PR_CHORES; i++) {
        if (self->chores[i].under_way) {
            return false;
        }
    }
    return self->draining && self->raises_under_way == 0 && self->posts_under_way == 0;
}
