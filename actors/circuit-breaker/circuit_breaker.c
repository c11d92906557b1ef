/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/circuit-breaker/circuit_breaker.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A move may overtake another on its way over two brokers: one that is older than the last by less
 * than this is such a latecomer. Older still is another machine's clock, and is believed. */
#define LATECOMER_US (10 * 1000 * 1000)

struct pr_watch_t {
    pr_watch_policy_t policy;
    pr_map_t *endpoints; /* id -> pr_watch_endpoint_t *, owned */
    bool connected;
    bool loading;
    int64_t load_at_ms;
    int64_t ask_at_ms; /* wishes wait for this; INT64_MAX = none waits */
    uint64_t unwatched;
};

typedef struct {
    pr_watch_action_t *actions;
    int count;
} out_t;

static pr_watch_action_t *add(out_t *out, pr_watch_action_kind_t kind)
{
    pr_assert(out->count < PR_WATCH_ACTIONS_MAX);
    pr_watch_action_t *action = &out->actions[out->count++];
    memset(action, 0, sizeof *action);
    action->kind = kind;
    return action;
}

void pr_watch_set_policy(pr_watch_t *self, const pr_watch_policy_t *policy)
{
    pr_assert(policy->failing_limit >= 1 && policy->mark_limit >= 1);
    pr_assert(policy->off_after_ms >= 0 && policy->reload_ms >= 1);
    self->policy = *policy;
}

pr_watch_t *pr_watch_new(const pr_watch_policy_t *policy, uint64_t seed)
{
    pr_watch_t *self = PR_NEW(pr_watch_t);
    self->endpoints = pr_map_new(PR_WATCH_ENDPOINTS_MAX, seed);
    self->ask_at_ms = INT64_MAX;
    pr_watch_set_policy(self, policy);
    return self;
}

void pr_watch_destroy(pr_watch_t **self)
{
    if (*self == NULL) {
        return;
    }
    size_t cursor = 0;
    pr_watch_endpoint_t *one;
    while ((one = pr_map_next((*self)->endpoints, &cursor, NULL)) != NULL) {
        pr_free(one);
    }
    pr_map_destroy(&(*self)->endpoints);
    pr_free(*self);
    *self = NULL;
}

static pr_watch_endpoint_t *find(const pr_watch_t *self, int64_t endpoint_id)
{
    return pr_map_get(self->endpoints, (uint64_t)endpoint_id);
}

/* NULL when the table is full. */
static pr_watch_endpoint_t *find_or_add(pr_watch_t *self, int64_t endpoint_id,
                                        const char *merchant_id)
{
    pr_watch_endpoint_t *one = find(self, endpoint_id);
    if (one == NULL) {
        one = PR_NEW(pr_watch_endpoint_t);
        one->endpoint_id = endpoint_id;
        one->state = PR_BREAKER_CLOSED;
        one->from = PR_BREAKER_CLOSED;
        if (pr_map_put(self->endpoints, (uint64_t)endpoint_id, one, NULL) != PR_OK) {
            pr_free(one);
            self->unwatched++;
            return NULL;
        }
    }
    if (merchant_id != NULL && merchant_id[0] != '\0') {
        snprintf(one->merchant_id, sizeof one->merchant_id, "%s", merchant_id);
    }
    return one;
}

static bool is_forced(const pr_watch_endpoint_t *one)
{
    return one->state == PR_BREAKER_FORCED_OPEN || one->state == PR_BREAKER_FORCED_CLOSED;
}

/* A healthy endpoint needs no entry. */
static void forget_if_well(pr_watch_t *self, const pr_watch_endpoint_t *one)
{
    if (one->state == PR_BREAKER_CLOSED && one->failures == 0 && !one->failing &&
        one->wishes == 0 && one->asked == 0) {
        pr_free(pr_map_remove(self->endpoints, (uint64_t)one->endpoint_id));
    }
}

static void wish(pr_watch_t *self, pr_watch_endpoint_t *one, pr_watch_wish_t what, int64_t now_ms)
{
    if ((one->asked & (unsigned)what) != 0) {
        return; /* under way already */
    }
    one->wishes |= (unsigned)what;
    int64_t at_ms = now_ms + PR_WATCH_GATHER_MS;
    at_ms = one->ask_at_ms > at_ms ? one->ask_at_ms : at_ms;
    if (at_ms < self->ask_at_ms) {
        self->ask_at_ms = at_ms;
    }
}

static void alert(const pr_watch_endpoint_t *one, const char *kind, const char *text, out_t *out)
{
    pr_watch_action_t *action = add(out, PR_WATCH_ACTION_ALERT);
    action->endpoint_id = one->endpoint_id;
    action->alert = kind;
    snprintf(action->subject, sizeof action->subject, "%" PRId64, one->endpoint_id);
    snprintf(action->text, sizeof action->text, "%s", text);
}

static void begin_episode(pr_watch_t *self, pr_watch_endpoint_t *one, int64_t now_ms)
{
    if (!one->failing) {
        one->failing = true;
        one->failing_at_ms = now_ms;
        wish(self, one, PR_WATCH_WISH_MARK, now_ms);
    }
}

/* A success, or a breaker that closed by itself. */
static void end_episode(pr_watch_t *self, pr_watch_endpoint_t *one, int64_t now_ms)
{
    bool on_record = one->failing || one->opened;
    one->failures = 0;
    one->moved_failures = 0;
    one->failing = false;
    one->opened = false;
    one->told = false;
    one->wishes &= ~(unsigned)(PR_WATCH_WISH_MARK | PR_WATCH_WISH_OFF_FAILING | PR_WATCH_WISH_OPEN);
    if (on_record) {
        wish(self, one, PR_WATCH_WISH_CLEAR, now_ms);
    }
}

static void count_failure(pr_watch_t *self, pr_watch_endpoint_t *one, int64_t now_ms, out_t *out)
{
    if (one->failures < UINT32_MAX) {
        one->failures++;
    }
    if (one->failures >= self->policy.mark_limit) {
        begin_episode(self, one, now_ms);
    }
    if (one->failures > self->policy.failing_limit && !one->told) {
        char text[PR_WATCH_TEXT_MAX];
        snprintf(text, sizeof text,
                 "merchant %s does not take notifications: %" PRIu32
                 " failures in a row at endpoint %" PRId64
                 "; `postrider endpoint list --merchant %s` shows where",
                 one->merchant_id, one->failures, one->endpoint_id, one->merchant_id);
        alert(one, "merchant_failing", text, out);
        one->told = true;
    }
    if (one->failing && self->policy.off_after_ms > 0 &&
        now_ms - one->failing_at_ms >= self->policy.off_after_ms) {
        wish(self, one, PR_WATCH_WISH_OFF_FAILING, now_ms);
    }
}

static void attempted(pr_watch_t *self, const pr_watch_event_t *event, int64_t now_ms, out_t *out)
{
    pr_watch_endpoint_t *one = NULL;
    switch (event->attempt) {
    case PR_WATCH_ATTEMPT_NONE:
        return;
    case PR_WATCH_ATTEMPT_GOOD:
        one = find(self, event->endpoint_id);
        if (one == NULL) {
            return; /* the usual case: well, and stays so */
        }
        if (!is_forced(one)) {
            one->from = one->state;
            one->state = PR_BREAKER_CLOSED; /* its owner says so too, unless that was lost */
        }
        end_episode(self, one, now_ms);
        forget_if_well(self, one);
        return;
    case PR_WATCH_ATTEMPT_BAD:
    case PR_WATCH_ATTEMPT_GONE:
        one = find_or_add(self, event->endpoint_id, event->merchant_id);
        if (one == NULL) {
            return;
        }
        count_failure(self, one, now_ms, out);
        if (event->attempt == PR_WATCH_ATTEMPT_GONE) {
            wish(self, one, PR_WATCH_WISH_OFF_GONE, now_ms);
        }
        return;
    }
}

/* The same 410 as an attempt's, told apart: whichever of the two facts arrives is enough. */
static void gone(pr_watch_t *self, const pr_watch_event_t *event, int64_t now_ms)
{
    pr_watch_endpoint_t *one = find_or_add(self, event->endpoint_id, event->merchant_id);
    if (one != NULL) {
        wish(self, one, PR_WATCH_WISH_OFF_GONE, now_ms);
    }
}

static void moved(pr_watch_t *self, const pr_watch_event_t *event, int64_t now_ms, out_t *out)
{
    pr_watch_endpoint_t *one = event->to == PR_BREAKER_CLOSED
                                   ? find(self, event->endpoint_id)
                                   : find_or_add(self, event->endpoint_id, event->merchant_id);
    if (one == NULL) {
        return;
    }
    if (event->at_us < one->moved_at_us && one->moved_at_us - event->at_us < LATECOMER_US) {
        return;
    }
    one->moved_at_us = event->at_us;
    one->moved_failures = event->to == PR_BREAKER_CLOSED ? 0 : event->failures;
    one->held_jobs = event->held_jobs;
    one->open_ms = event->open_ms;
    one->from = event->from;
    one->state = event->to;
    if (event->to == PR_BREAKER_CLOSED) {
        end_episode(self, one, now_ms);
        forget_if_well(self, one);
    } else if (event->to == PR_BREAKER_OPEN) {
        begin_episode(self, one, now_ms);
        one->opened = true;
        wish(self, one, PR_WATCH_WISH_OPEN, now_ms);
        if (event->from == PR_BREAKER_CLOSED) {
            char text[PR_WATCH_TEXT_MAX];
            snprintf(text, sizeof text,
                     "breaker of endpoint %" PRId64 " of merchant %s opened after %" PRIu32
                     " failures in a row; its jobs are held, one probe decides",
                     one->endpoint_id, one->merchant_id, event->failures);
            alert(one, "breaker_open", text, out);
        }
    }
}

static void reply(int ticket, const char *text, out_t *out)
{
    pr_watch_action_t *action = add(out, PR_WATCH_ACTION_REPLY);
    action->ticket = ticket;
    snprintf(action->text, sizeof action->text, "%s", text);
}

static void command(const pr_watch_t *self, const pr_watch_event_t *event, out_t *out)
{
    bool known = event->verb == PR_WATCH_RESET || event->verb == PR_WATCH_FORCE_OPEN ||
                 event->verb == PR_WATCH_FORCE_CLOSED;
    if (!known) {
        reply(event->ticket, "unknown command: reset, force-open and force-close are known", out);
        return;
    }
    if (!self->connected) {
        reply(event->ticket, "the database is away, nothing was changed: try again", out);
        return;
    }
    pr_watch_action_t *action = add(out, PR_WATCH_ACTION_SAVE_FORCE);
    action->endpoint_id = event->endpoint_id;
    action->verb = event->verb;
    action->ticket = event->ticket;
}

static pr_breaker_state_t state_of(pr_watch_verb_t verb)
{
    return verb == PR_WATCH_FORCE_OPEN     ? PR_BREAKER_FORCED_OPEN
           : verb == PR_WATCH_FORCE_CLOSED ? PR_BREAKER_FORCED_CLOSED
                                           : PR_BREAKER_CLOSED;
}

static void set_forced(pr_watch_endpoint_t *one, pr_breaker_state_t state)
{
    if (one->state != state) {
        one->from = one->state;
        one->state = state;
    }
}

static void force_saved(pr_watch_t *self, const pr_watch_event_t *event, out_t *out)
{
    if (!event->good) {
        reply(event->ticket,
              "it could not be saved, or it is not known whether it was: look at "
              "`postrider breaker list`, try again",
              out);
        return;
    }
    if (!event->found) {
        reply(event->ticket, "no such endpoint: `postrider endpoint list` has the ids", out);
        return;
    }
    pr_watch_endpoint_t *one = event->verb == PR_WATCH_RESET
                                   ? find(self, event->endpoint_id)
                                   : find_or_add(self, event->endpoint_id, event->merchant_id);
    if (one != NULL) {
        set_forced(one, state_of(event->verb));
        if (event->verb == PR_WATCH_RESET) {
            one->failures = 0;
            one->moved_failures = 0;
        }
        forget_if_well(self, one);
    }
    pr_watch_action_t *action = add(out, PR_WATCH_ACTION_BROADCAST);
    action->endpoint_id = event->endpoint_id;
    action->verb = event->verb;
    action->ticket = event->ticket;
    reply(event->ticket, "", out);
}

/* A wish of an episode that has ended meanwhile. */
static bool is_over(const pr_watch_endpoint_t *one, pr_watch_wish_t what)
{
    switch (what) {
    case PR_WATCH_WISH_MARK:
    case PR_WATCH_WISH_OFF_FAILING:
        return !one->failing;
    case PR_WATCH_WISH_OPEN:
        return !one->opened;
    default:
        return false;
    }
}

static void saved(pr_watch_t *self, const pr_watch_event_t *event, int64_t now_ms)
{
    pr_watch_endpoint_t *one = find(self, event->endpoint_id);
    if (one == NULL) {
        return;
    }
    one->asked &= ~(unsigned)event->wish;
    if (!event->good) {
        one->ask_at_ms = now_ms + PR_WATCH_RETRY_MS;
        if (!is_over(one, event->wish)) {
            wish(self, one, event->wish, now_ms);
        }
    } else if (event->wish == PR_WATCH_WISH_OFF_FAILING && !event->found) {
        one->failing = false; /* refused: the database knows better; ask it since when, if at all */
        self->load_at_ms = now_ms;
    } else if (event->wish == PR_WATCH_WISH_CLEAR && one->failing) {
        wish(self, one, PR_WATCH_WISH_MARK, now_ms); /* a new episode began meanwhile */
        if (one->opened) {
            wish(self, one, PR_WATCH_WISH_OPEN, now_ms);
        }
    }
    forget_if_well(self, one);
}

static void load_begin(pr_watch_t *self)
{
    size_t cursor = 0;
    pr_watch_endpoint_t *one;
    while ((one = pr_map_next(self->endpoints, &cursor, NULL)) != NULL) {
        one->loaded = false;
    }
}

static void load_row(pr_watch_t *self, const pr_watch_event_t *event, int64_t now_ms)
{
    pr_watch_endpoint_t *one = find_or_add(self, event->endpoint_id, event->merchant_id);
    if (one == NULL) {
        return;
    }
    if (event->to != PR_BREAKER_NONE) {
        one->loaded = true;
        set_forced(one, event->to);
    }
    if (event->failing && !one->failing && (one->wishes & PR_WATCH_WISH_CLEAR) == 0 &&
        (one->asked & PR_WATCH_WISH_CLEAR) == 0) {
        one->failing = true; /* an earlier life of ours wrote the mark */
        one->failing_at_ms = now_ms - event->since_ms;
    }
    forget_if_well(self, one);
}

static void load_end(pr_watch_t *self, bool good, int64_t now_ms)
{
    self->loading = false;
    self->load_at_ms = now_ms + (good ? self->policy.reload_ms : PR_WATCH_RETRY_MS);
    if (!good) {
        return;
    }
    size_t cursor = 0;
    pr_watch_endpoint_t *one;
    while ((one = pr_map_next(self->endpoints, &cursor, NULL)) != NULL) {
        if (is_forced(one) && !one->loaded) {
            set_forced(one, PR_BREAKER_CLOSED); /* lifted elsewhere */
            forget_if_well(self, one);
        }
    }
}

static void ask_one(pr_watch_endpoint_t *one, out_t *out)
{
    /* CLEAR before MARK: an episode that ended and one that began meanwhile, in their order. */
    static const pr_watch_wish_t order[] = {PR_WATCH_WISH_CLEAR, PR_WATCH_WISH_MARK,
                                            PR_WATCH_WISH_OPEN, PR_WATCH_WISH_OFF_GONE,
                                            PR_WATCH_WISH_OFF_FAILING};
    for (size_t i = 0; i < PR_COUNT(order) && out->count < PR_WATCH_ACTIONS_MAX; i++) {
        if ((one->wishes & (unsigned)order[i]) != 0) {
            one->wishes &= ~(unsigned)order[i];
            one->asked |= (unsigned)order[i];
            pr_watch_action_t *action = add(out, PR_WATCH_ACTION_SAVE);
            action->endpoint_id = one->endpoint_id;
            action->wish = order[i];
            action->open_ms = one->open_ms;
        }
    }
}

static void ask_wishes(pr_watch_t *self, int64_t now_ms, out_t *out)
{
    int64_t next_ms = INT64_MAX;
    size_t cursor = 0;
    pr_watch_endpoint_t *one;
    while ((one = pr_map_next(self->endpoints, &cursor, NULL)) != NULL) {
        if (one->wishes != 0 && one->ask_at_ms <= now_ms) {
            ask_one(one, out);
        }
        if (one->wishes != 0) { /* not yet, or no room for more actions in this step */
            int64_t at_ms = one->ask_at_ms > now_ms ? one->ask_at_ms : now_ms;
            next_ms = at_ms < next_ms ? at_ms : next_ms;
        }
    }
    self->ask_at_ms = next_ms;
}

static void ask(pr_watch_t *self, int64_t now_ms, out_t *out)
{
    if (!self->connected) {
        return;
    }
    if (!self->loading && now_ms >= self->load_at_ms && out->count < PR_WATCH_ACTIONS_MAX) {
        self->loading = true;
        add(out, PR_WATCH_ACTION_LOAD);
    }
    if (now_ms >= self->ask_at_ms) {
        ask_wishes(self, now_ms, out);
    }
}

int pr_watch_step(pr_watch_t *self, const pr_watch_event_t *event, int64_t now_ms,
                  pr_watch_action_t actions[PR_WATCH_ACTIONS_MAX])
{
    out_t out = {.actions = actions};
    switch (event->kind) {
    case PR_WATCH_EVENT_NONE:
    case PR_WATCH_TICK:
        break;
    case PR_WATCH_CONNECTED:
        self->connected = true;
        self->loading = false;
        self->load_at_ms = now_ms;
        break;
    case PR_WATCH_DISCONNECTED:
        self->connected = false;
        self->loading = false;
        break;
    case PR_WATCH_MOVED:
        moved(self, event, now_ms, &out);
        break;
    case PR_WATCH_ATTEMPTED:
        attempted(self, event, now_ms, &out);
        break;
    case PR_WATCH_GONE:
        gone(self, event, now_ms);
        break;
    case PR_WATCH_COMMAND:
        command(self, event, &out);
        break;
    case PR_WATCH_SAVED:
        saved(self, event, now_ms);
        break;
    case PR_WATCH_FORCE_SAVED:
        force_saved(self, event, &out);
        break;
    case PR_WATCH_LOAD_BEGIN:
        load_begin(self);
        break;
    case PR_WATCH_LOAD_ROW:
        load_row(self, event, now_ms);
        break;
    case PR_WATCH_LOAD_END:
        load_end(self, event->good, now_ms);
        break;
    }
    ask(self, now_ms, &out);
    return out.count;
}

int64_t pr_watch_deadline_ms(const pr_watch_t *self)
{
    if (!self->connected) {
        return INT64_MAX;
    }
    if (!self->loading && self->load_at_ms < self->ask_at_ms) {
        return self->load_at_ms;
    }
    return self->ask_at_ms;
}

const pr_watch_endpoint_t *pr_watch_next(const pr_watch_t *self, size_t *cursor)
{
    const pr_watch_endpoint_t *one;
    while ((one = pr_map_next(self->endpoints, cursor, NULL)) != NULL) {
        if (one->state != PR_BREAKER_CLOSED) {
            return one;
        }
    }
    return NULL;
}

const pr_watch_endpoint_t *pr_watch_find(const pr_watch_t *self, int64_t endpoint_id)
{
    return find(self, endpoint_id);
}

size_t pr_watch_count(const pr_watch_t *self)
{
    return pr_map_count(self->endpoints);
}

uint64_t pr_watch_unwatched(const pr_watch_t *self)
{
    return self->unwatched;
}
