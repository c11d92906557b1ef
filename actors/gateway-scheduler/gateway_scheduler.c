/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/gateway-scheduler/gateway_scheduler.h"

#include "actors/gateway-scheduler/gateway_scheduler_state.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/fnv.h"

#define CHANNELS_MAX 65536
#define CALLS_MAX ((size_t)1 << 22)

/* ---- actions and lists ---- */

pr_calls_action_t *calls_emit(pr_calls_t *self, pr_calls_action_kind_t kind)
{
    if (self->actions_first > 0 && self->actions_first == self->actions_count)
        self->actions_first = self->actions_count = 0;
    if (self->actions_count == self->actions_room) {
        self->actions_room = self->actions_room ? self->actions_room * 2 : 64;
        self->actions = pr_realloc(self->actions, self->actions_room, sizeof *self->actions);
    }
    pr_calls_action_t *action = &self->actions[self->actions_count++];
    *action = (pr_calls_action_t){.kind = kind};
    return action;
}

bool pr_calls_action(pr_calls_t *self, pr_calls_action_t *out)
{
    if (self->actions_first == self->actions_count)
        return false;
    *out = self->actions[self->actions_first++];
    return true;
}

static void emit_free(pr_calls_t *self, void *what)
{
    if (what)
        calls_emit(self, PR_CALLS_FREE)->outcome = what;
}

void call_list_add(call_list_t *list, call_t *call, bool front)
{
    call->prev = front ? NULL : list->last;
    call->next = front ? list->first : NULL;
    *(call->prev ? &call->prev->next : &list->first) = call;
    *(call->next ? &call->next->prev : &list->last) = call;
    list->count++;
}

void call_list_remove(call_list_t *list, call_t *call)
{
    *(call->prev ? &call->prev->next : &list->first) = call->next;
    *(call->next ? &call->next->prev : &list->last) = call->prev;
    call->prev = call->next = NULL;
    list->count--;
}

/* ---- a call's state: one function leaves it, one enters it ---- */

static void leave(pr_calls_t *self, call_t *call)
{
    channel_t *channel = call->channel;
    switch (call->state) {
    case CALL_WAITING:
        call_list_remove(&channel->lanes[call->lane], call);
        self->stats.waiting--;
        break;
    case CALL_COMMITTING:
        channel->committing--;
        self->picked[call->class_no]--;
        self->stats.committing--;
        break;
    case CALL_COMMITTED:
        call_list_remove(&channel->outgoing[call->class_no], call);
        self->picked[call->class_no]--;
        self->stats.committed--;
        break;
    case CALL_UNDER_WAY:
        channel->busy--;
        self->stats.under_way--;
        break;
    case CALL_APPLYING:
        channel->applying--;
        break;
    case CALL_NONE:
        break;
    }
    call->state = CALL_NONE;
}

static void enter(pr_calls_t *self, call_t *call, call_state_t state, bool front)
{
    channel_t *channel = call->channel;
    leave(self, call);
    call->state = state;
    switch (state) {
    case CALL_WAITING:
        call_list_add(&channel->lanes[call->lane], call, front);
        self->stats.waiting++;
        break;
    case CALL_COMMITTING:
        channel->committing++;
        self->picked[call->class_no]++;
        self->stats.committing++;
        break;
    case CALL_COMMITTED:
        call_list_add(&channel->outgoing[call->class_no], call, front);
        self->picked[call->class_no]++;
        self->stats.committed++;
        break;
    case CALL_UNDER_WAY:
        channel->busy++;
        self->stats.under_way++;
        break;
    case CALL_APPLYING:
        channel->applying++;
        break;
    case CALL_NONE:
        break;
    }
}

void call_forget(pr_calls_t *self, call_t *call)
{
    leave(self, call);
    (void)pr_map_remove(self->calls, (uint64_t)call->id);
    emit_free(self, call->payload);
    pr_free(call);
}

static call_t *call_new(pr_calls_t *self, channel_t *channel, int64_t id, uint8_t class_no)
{
    call_t *call = PR_NEW(call_t);
    call->id = id;
    call->channel = channel;
    call->class_no = class_no;
    if (pr_map_put(self->calls, (uint64_t)id, call, NULL) == PR_OK)
        return call;
    pr_free(call);
    return NULL;
}

static call_t *find(const pr_calls_t *self, int64_t id)
{
    return pr_map_get(self->calls, (uint64_t)id);
}

static bool is_token_of(const call_t *call, const pr_calls_token_t *token)
{
    return call->facts.token.salt == token->salt && call->facts.token.attempt == token->attempt;
}

/* ---- life ---- */

pr_calls_t *pr_calls_new(const pr_calls_config_t *config, uint64_t seed)
{
    pr_calls_t *self = PR_NEW(pr_calls_t);
    self->config = *config;
    self->seed = seed;
    self->channels = pr_map_new(CHANNELS_MAX, seed);
    self->calls = pr_map_new(CALLS_MAX, seed);
    self->applying = pr_map_new(CALLS_MAX, seed);
    self->leases = pr_timerq_new(CALLS_MAX);
    return self;
}

void pr_calls_drop_all(pr_calls_t *self)
{
    size_t cursor = 0;
    call_t *call;
    while ((call = pr_map_next(self->calls, &cursor, NULL)))
        call_forget(self, call);
    cursor = 0;
    channel_t *channel;
    while ((channel = pr_map_next(self->channels, &cursor, NULL)))
        pr_free(channel);
    pr_map_clear(self->channels);
    pr_map_clear(self->applying);
    pr_timerq_clear(self->leases);
    self->ring = NULL;
    self->stats = (pr_calls_stats_t){0};
    /* results that nobody took yet belong to the new owner: the worker tells it */
    for (uint32_t i = self->actions_first; i < self->actions_count; i++)
        if (self->actions[i].kind != PR_CALLS_FREE) {
            void *outcome = self->actions[i].outcome;
            self->actions[i] = (pr_calls_action_t){.kind = outcome ? PR_CALLS_FREE : PR_CALLS_NONE,
                                                   .outcome = outcome};
        }
}

void pr_calls_destroy(pr_calls_t **self_ptr, void (*free_fn)(void *))
{
    pr_calls_t *self = *self_ptr;
    if (!self)
        return;
    pr_calls_drop_all(self);
    pr_calls_action_t action;
    while (pr_calls_action(self, &action))
        if (action.outcome)
            free_fn(action.outcome);
    pr_map_destroy(&self->channels);
    pr_map_destroy(&self->calls);
    pr_map_destroy(&self->applying);
    pr_timerq_destroy(&self->leases);
    pr_free(self->actions);
    pr_free(self);
    *self_ptr = NULL;
}

/* ---- channels ---- */

channel_t *channel_find(const pr_calls_t *self, int64_t no)
{
    return pr_map_get(self->channels, (uint64_t)no);
}

static void join_ring(pr_calls_t *self, channel_t *channel)
{
    channel->next = self->ring ? self->ring->next : channel;
    if (self->ring)
        self->ring->next = channel;
    else
        self->ring = channel;
}

void pr_calls_set_channel(pr_calls_t *self, const pr_calls_channel_t *spec, int64_t now_ms)
{
    channel_t *channel = channel_find(self, spec->no);
    if (!channel) {
        channel = PR_NEW(channel_t);
        channel->spec = *spec;
        if (pr_map_put(self->channels, (uint64_t)spec->no, channel, NULL) != PR_OK) {
            pr_free(channel);
            return;
        }
        channel->paused_until_ms = now_ms + (spec->paused_ms > 0 ? spec->paused_ms : 0);
        pr_bucket_init(&channel->bucket, spec->rate_per_s, spec->burst, channel->paused_until_ms);
        join_ring(self, channel);
        self->stats.channels++;
        return;
    }
    if (spec->version > channel->spec.version)
        channel->stopped = false;
    if (spec->rate_per_s != channel->spec.rate_per_s || spec->burst != channel->spec.burst)
        pr_bucket_change(&channel->bucket, spec->rate_per_s, spec->burst, now_ms);
    channel->spec = *spec;
    if (!spec->active)
        channel_clear(self, channel);
}

static void leave_ring(pr_calls_t *self, channel_t *channel)
{
    channel_t *before = channel;
    while (before->next != channel)
        before = before->next;
    before->next = channel->next;
    if (self->ring == channel)
        self->ring = before == channel ? NULL : before;
}

void pr_calls_drop_channel(pr_calls_t *self, int64_t channel_no)
{
    channel_t *channel = channel_find(self, channel_no);
    if (!channel)
        return;
    size_t cursor = 0;
    call_t *call;
    while ((call = pr_map_next(self->calls, &cursor, NULL)))
        if (call->channel == channel)
            call_forget(self, call);
    leave_ring(self, channel);
    (void)pr_map_remove(self->channels, (uint64_t)channel_no);
    self->stats.channels--;
    pr_free(channel);
}

uint32_t pr_calls_shard_busy(const pr_calls_t *self, uint8_t shard)
{
    uint32_t busy = 0;
    const channel_t *channel = self->ring;
    for (uint32_t i = 0; i < self->stats.channels; i++, channel = channel->next)
        if (channel->spec.shard == shard)
            busy += channel->committing + channel_committed(channel) + channel->busy +
                    channel->applying;
    return busy;
}

void pr_calls_more(pr_calls_t *self, int64_t channel_no)
{
    channel_t *channel = channel_find(self, channel_no);
    if (channel)
        channel->more = true;
}

void pr_calls_looking(pr_calls_t *self)
{
    channel_t *channel = self->ring;
    for (uint32_t i = 0; i < self->stats.channels; i++, channel = channel->next)
        channel->more = false;
}

bool pr_calls_hungry(const pr_calls_t *self)
{
    const channel_t *channel = self->ring;
    for (uint32_t i = 0; i < self->stats.channels; i++, channel = channel->next) {
        if (!channel->more || !channel->spec.active || channel->stopped)
            continue;
        for (lane_t lane = LANE_MONEY; lane < LANES; lane++)
            if (channel->lanes[lane].count > self->config.keep / 2)
                goto next; /* enough of it for now */
        return true;
    next:;
    }
    return false;
}

/* ---- rows in ---- */

static lane_t lane_of(const pr_calls_row_t *row)
{
    if (row->class_no == PR_CALLS_MONEY)
        return LANE_MONEY;
    return row->backlog ? LANE_OLD : LANE_NEW;
}

pr_calls_added_t pr_calls_add(pr_calls_t *self, const pr_calls_row_t *row)
{
    channel_t *channel = channel_find(self, row->channel_no);
    if (!channel || !channel->spec.active || channel->stopped || row->class_no >= PR_CALLS_CLASSES)
        return PR_CALLS_NOT_OURS;
    if (find(self, row->id))
        return PR_CALLS_KNOWN; /* a row may be older than what we did since it was read */
    lane_t lane = lane_of(row);
    call_t *call = channel->lanes[lane].count < self->config.keep
                       ? call_new(self, channel, row->id, row->class_no)
                       : NULL;
    if (!call) {
        channel->more = true;
        return PR_CALLS_NO_ROOM;
    }
    call->lane = lane;
    enter(self, call, CALL_WAITING, false);
    return PR_CALLS_KEPT;
}

static void take_lease(pr_calls_t *self, call_t *call, int64_t now_ms)
{
    call->lease_at_ms = now_ms + (call->facts.lease_ms > 0 ? call->facts.lease_ms : 0);
    (void)!pr_timerq_add(self->leases, call->lease_at_ms, (uint64_t)call->id);
}

void pr_calls_adopt(pr_calls_t *self, int64_t channel_no, uint8_t class_no,
                    const pr_calls_facts_t *facts, int64_t now_ms)
{
    channel_t *channel = channel_find(self, channel_no);
    if (!channel || class_no >= PR_CALLS_CLASSES || facts->lease_ms <= 0 ||
        find(self, facts->token.id))
        return;
    call_t *call = call_new(self, channel, facts->token.id, class_no);
    if (!call)
        return;
    call->facts = *facts;
    call->committed_ms = now_ms;
    enter(self, call, CALL_UNDER_WAY, false);
    take_lease(self, call, now_ms);
}

/* ---- going out ---- */

int pr_calls_pick(pr_calls_t *self, const uint64_t credit[PR_CALLS_CLASSES], int64_t *ids, int max,
                  int64_t now_ms)
{
    uint64_t room[PR_CALLS_CLASSES];
    for (int c = 0; c < PR_CALLS_CLASSES; c++)
        room[c] = credit[c] > self->picked[c] ? credit[c] - self->picked[c] : 0;
    int count = 0;
    uint32_t idle = 0;
    while (count < max && idle < self->stats.channels) {
        channel_t *channel = self->ring;
        self->ring = channel->next;
        call_t *call = channel_room(self, channel, now_ms) > 0 ? channel_pick(channel, room) : NULL;
        if (!call) {
            idle++;
            continue;
        }
        idle = 0;
        enter(self, call, CALL_COMMITTING, false);
        room[call->class_no]--;
        ids[count++] = call->id;
    }
    return count;
}

bool pr_calls_committed(pr_calls_t *self, const pr_calls_facts_t *facts, void *payload,
                        int64_t now_ms)
{
    call_t *call = find(self, facts->token.id);
    if (!call || call->state != CALL_COMMITTING)
        return false;
    call->facts = *facts;
    call->payload = payload;
    call->committed_ms = now_ms;
    enter(self, call, CALL_COMMITTED, false);
    take_lease(self, call, now_ms);
    if (!call->channel->spec.active || call->channel->stopped)
        call_hand_back(self, call);
    return true;
}

void pr_calls_refused(pr_calls_t *self, int64_t id)
{
    call_t *call = find(self, id);
    if (call && call->state == CALL_COMMITTING)
        call_forget(self, call);
}

static call_t *outgoing(channel_t *channel, uint8_t class_no, int64_t now_ms)
{
    return channel_open(channel, now_ms) ? channel->outgoing[class_no].first : NULL;
}

bool pr_calls_send(pr_calls_t *self, uint8_t class_no, pr_calls_sent_t *out, int64_t now_ms)
{
    pr_assert(class_no < PR_CALLS_CLASSES);
    for (uint32_t i = 0; i < self->stats.channels; i++) {
        channel_t *channel = self->ring;
        self->ring = channel->next;
        call_t *call = outgoing(channel, class_no, now_ms);
        if (!call || !pr_bucket_take(&channel->bucket, now_ms))
            continue;
        enter(self, call, CALL_UNDER_WAY, false);
        *out = (pr_calls_sent_t){.token = call->facts.token,
                                 .channel_no = channel->spec.no,
                                 .class_no = class_no,
                                 .shard = channel->spec.shard,
                                 .lease_at_ms = call->lease_at_ms,
                                 .payload = call->payload};
        call->payload = NULL;
        return true;
    }
    return false;
}

void pr_calls_unsent(pr_calls_t *self, const pr_calls_sent_t *sent)
{
    call_t *call = find(self, sent->token.id);
    if (!call || call->state != CALL_UNDER_WAY || !is_token_of(call, &sent->token)) {
        emit_free(self, sent->payload);
        return;
    }
    call->payload = sent->payload;
    pr_bucket_give_back(&call->channel->bucket);
    enter(self, call, CALL_COMMITTED, true);
}

/* ---- coming back ---- */

static uint64_t token_key(const pr_calls_token_t *token)
{
    uint64_t key = pr_fnv_bytes(PR_FNV_START, &token->id, sizeof token->id);
    key = pr_fnv_bytes(key, &token->salt, sizeof token->salt);
    return pr_fnv_bytes(key, &token->attempt, sizeof token->attempt);
}

static bool begin_applying(pr_calls_t *self, const pr_calls_token_t *token)
{
    uint64_t key = token_key(token);
    if (pr_map_get(self->applying, key) || pr_map_put(self->applying, key, self, NULL) != PR_OK)
        return false;
    self->stats.applying++;
    return true;
}

static void end_applying(pr_calls_t *self, const pr_calls_token_t *token)
{
    if (pr_map_remove(self->applying, token_key(token)))
        self->stats.applying--;
}

static pr_calls_action_t *emit_result(pr_calls_t *self, const channel_t *channel,
                                      const pr_calls_token_t *token, void *outcome)
{
    pr_calls_action_t *action = calls_emit(self, PR_CALLS_RESULT);
    action->channel_no = channel ? channel->spec.no : 0;
    action->token = *token;
    action->outcome = outcome;
    return action;
}

void call_hand_back(pr_calls_t *self, call_t *call)
{
    pr_calls_token_t token = call->facts.token;
    const channel_t *channel = call->channel;
    emit_free(self, PR_STEAL(call->payload));
    enter(self, call, CALL_APPLYING, false);
    if (!begin_applying(self, &token))
        return;
    pr_calls_action_t *action = emit_result(self, channel, &token, NULL);
    action->subject = call->facts.subject;
    action->returned = true;
    action->reason = "returned";
}

static void set_plan(pr_calls_action_t *action, const pr_calls_plan_t *plan,
                     const pr_calls_outcome_t *said)
{
    action->delay_ms = plan->delay_ms;
    action->reason = plan->reason;
    action->sooner = plan->sooner;
    action->at_expiry = plan->at_expiry;
    action->returned = said->returned;
}

/* A token that we do not know (any more): its outcome goes to the door all the same (P5). */
static void stray(pr_calls_t *self, const pr_calls_token_t *token, const pr_calls_outcome_t *said,
                  uint64_t random, void *outcome, int64_t now_ms)
{
    channel_t *channel = channel_find(self, said->channel_no);
    pr_calls_plan_t plan = {.delay_ms = -1, .reason = "late"};
    if (channel) { /* nothing is known of it but how often it was tried */
        pr_calls_facts_t facts = {
            .token = *token, .subject = said->subject, .payment = {.expires_ms = INT64_MAX / 4}};
        plan = pr_calls_plan(&channel->spec, &facts, said, random);
    }
    pr_calls_action_t *action = emit_result(self, channel, token, outcome);
    set_plan(action, &plan, said);
    action->subject = said->subject;
    action->stray = true;
    if (channel)
        channel_heard(self, channel, said, now_ms);
}

void pr_calls_outcome(pr_calls_t *self, const pr_calls_token_t *token,
                      const pr_calls_outcome_t *as_said, uint64_t random, void *outcome,
                      int64_t now_ms)
{
    if (!begin_applying(self, token)) {
        emit_free(self, outcome);
        return;
    }
    pr_calls_outcome_t capped = *as_said, *said = &capped;
    if (capped.retry_after_ms > self->config.pause_cap_ms)
        capped.retry_after_ms = self->config.pause_cap_ms;
    call_t *call = find(self, token->id);
    if (!call || call->state != CALL_UNDER_WAY || !is_token_of(call, token)) {
        stray(self, token, said, random, outcome, now_ms);
        return;
    }
    channel_t *channel = call->channel;
    int64_t since_ms = now_ms - call->committed_ms;
    pr_calls_facts_t facts = call->facts;
    facts.payment.age_ms += since_ms;
    pr_calls_plan_t plan = pr_calls_plan(&channel->spec, &facts, said, random);
    enter(self, call, CALL_APPLYING, false);
    pr_calls_action_t *action = emit_result(self, channel, token, outcome);
    action->subject = facts.subject;
    set_plan(action, &plan, said);
    channel_heard(self, channel, said, now_ms);
}

void pr_calls_applied(pr_calls_t *self, const pr_calls_token_t *token)
{
    call_t *call = find(self, token->id);
    end_applying(self, token);
    if (call && call->state == CALL_APPLYING && is_token_of(call, token))
        call_forget(self, call);
}

void pr_calls_not_applied(pr_calls_t *self, const pr_calls_token_t *token)
{
    call_t *call = find(self, token->id);
    end_applying(self, token);
    if (call && call->state == CALL_APPLYING && is_token_of(call, token))
        enter(self, call, CALL_UNDER_WAY, false); /* its lease is still in the queue */
}

/* ---- time ---- */

static void end_leases(pr_calls_t *self, int64_t now_ms)
{
    pr_timer_t timer;
    while (pr_timerq_pop(self->leases, now_ms, &timer)) {
        call_t *call = find(self, (int64_t)timer.id);
        if (!call || call->lease_at_ms > now_ms || call->lease_at_ms == 0)
            continue;
        if (call->state == CALL_UNDER_WAY) {
            pr_calls_action_t *action = calls_emit(self, PR_CALLS_LOST);
            action->channel_no = call->channel->spec.no;
            action->token = call->facts.token;
        } else if (call->state != CALL_COMMITTED && call->state != CALL_APPLYING) {
            continue;
        }
        if (call->state == CALL_APPLYING)
            end_applying(self, &call->facts.token);
        call_forget(self, call);
    }
}

void pr_calls_tick(pr_calls_t *self, int64_t now_ms)
{
    end_leases(self, now_ms);
    channel_t *channel = self->ring;
    for (uint32_t i = 0; i < self->stats.channels; i++, channel = channel->next)
        for (uint8_t c = 0; c < PR_CALLS_CLASSES; c++)
            for (call_t *call = channel->outgoing[c].first;
                 call && now_ms - call->committed_ms >= self->config.send_within_ms;
                 call = channel->outgoing[c].first)
                call_hand_back(self, call);
}

int64_t pr_calls_deadline_ms(const pr_calls_t *self, int64_t now_ms)
{
    int64_t at_ms = pr_timerq_next_ms(self->leases);
    const channel_t *channel = self->ring;
    for (uint32_t i = 0; i < self->stats.channels; i++, channel = channel->next) {
        int64_t channel_ms = channel_deadline_ms(self, channel, now_ms);
        if (channel_ms < at_ms)
            at_ms = channel_ms;
    }
    return at_ms;
}

void pr_calls_want(const pr_calls_t *self, uint32_t want[PR_CALLS_CLASSES], int64_t now_ms)
{
    want[PR_CALLS_MONEY] = want[PR_CALLS_QUERY] = 0;
    const channel_t *channel = self->ring;
    for (uint32_t i = 0; i < self->stats.channels; i++, channel = channel->next) {
        uint32_t room = channel_room(self, channel, now_ms);
        uint32_t money = channel->lanes[LANE_MONEY].count;
        uint32_t queries = channel->lanes[LANE_NEW].count + channel->lanes[LANE_OLD].count;
        want[PR_CALLS_MONEY] += money < room ? money : room;
        want[PR_CALLS_QUERY] += queries < room ? queries : room;
    }
    for (int c = 0; c < PR_CALLS_CLASSES; c++)
        want[c] += self->picked[c];
}

void pr_calls_stats(const pr_calls_t *self, pr_calls_stats_t *out)
{
    *out = self->stats;
}
