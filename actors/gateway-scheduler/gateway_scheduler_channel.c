/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/gateway-scheduler/gateway_scheduler_state.h"
#include "base/alloc.h"

/* Of eight turns three are money's, three new, two old. */
static const lane_t turns[] = {LANE_MONEY, LANE_NEW,   LANE_OLD, LANE_MONEY,
                               LANE_NEW,   LANE_MONEY, LANE_NEW, LANE_OLD};

#define PAUSE_ECHO_MS 1000

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

bool channel_open(const channel_t *channel, int64_t now_ms)
{
    return channel->spec.active && !channel->stopped && now_ms >= channel->paused_until_ms;
}

uint32_t channel_committed(const channel_t *channel)
{
    return channel->outgoing[PR_CALLS_MONEY].count + channel->outgoing[PR_CALLS_QUERY].count;
}

static uint32_t taken_places(const channel_t *channel)
{
    return channel->committing + channel_committed(channel) + channel->busy + channel->lent;
}

uint32_t channel_room(const pr_calls_t *self, const channel_t *channel, int64_t now_ms)
{
    if (!channel_open(channel, now_ms))
        return 0;
    uint32_t ahead = channel->committing + channel_committed(channel);
    uint32_t taken = taken_places(channel) + channel->wished;
    uint32_t places = channel->spec.concurrency > taken ? channel->spec.concurrency - taken : 0;
    uint32_t tokens = pr_bucket_within(&channel->bucket, now_ms, self->config.ahead_ms);
    tokens = tokens > ahead ? tokens - ahead : 0;
    return places < tokens ? places : tokens;
}

static uint8_t class_of(lane_t lane)
{
    return lane == LANE_MONEY ? PR_CALLS_MONEY : PR_CALLS_QUERY;
}

static call_t *head(const channel_t *channel, lane_t lane, const uint64_t room[PR_CALLS_CLASSES])
{
    return room[class_of(lane)] > 0 ? channel->lanes[lane].first : NULL;
}

call_t *channel_pick(channel_t *channel, const uint64_t room[PR_CALLS_CLASSES])
{
    call_t *call = head(channel, turns[channel->turn % PR_COUNT(turns)], room);
    for (lane_t lane = LANE_MONEY; !call && lane < LANES; lane++)
        call = head(channel, lane, room);
    if (call)
        channel->turn++;
    return call;
}

/* A pause empties the bucket: what the gateway has just refused is not owed. False: it is paused for
 * longer already. */
static bool rest(channel_t *channel, int64_t until_ms)
{
    if (until_ms <= channel->paused_until_ms)
        return false;
    channel->paused_until_ms = until_ms;
    pr_bucket_init(&channel->bucket, channel->spec.rate_per_s, channel->spec.burst, until_ms);
    return true;
}

static void pause_channel(pr_calls_t *self, channel_t *channel, int64_t delay_ms, int64_t now_ms)
{
    if (!rest(channel, now_ms + delay_ms))
        return;
    pr_calls_action_t *action = calls_emit(self, PR_CALLS_PAUSED);
    action->channel_no = channel->spec.no;
    action->delay_ms = delay_ms;
}

static int64_t backoff_ms(const pr_calls_config_t *config, uint32_t throttles)
{
    int64_t delay_ms = config->pause_first_ms;
    for (uint32_t i = 1; i < throttles && delay_ms < config->pause_most_ms; i++)
        delay_ms *= 2;
    return delay_ms < config->pause_most_ms ? delay_ms : config->pause_most_ms;
}

void channel_heard(pr_calls_t *self, channel_t *channel, const pr_calls_outcome_t *said,
                   int64_t now_ms)
{
    if (said->action == PR_ACTION_STOP_CHANNEL && !channel->stopped) {
        channel->stopped = true;
        channel_clear(self, channel);
        calls_emit(self, PR_CALLS_STOPPED)->channel_no = channel->spec.no;
    }
    int64_t asked_ms = said->retry_after_ms;
    if (!said->throttled) {
        if (!said->failed && !said->returned)
            channel->throttles = 0;
        if (said->failed && asked_ms > 0) /* 503 with Retry-After */
            pause_channel(self, channel, asked_ms, now_ms);
        return;
    }
    /* answers to what was sent before the first of them came say nothing new */
    if (now_ms >= channel->paused_until_ms)
        channel->throttles++;
    pause_channel(self, channel,
                  asked_ms > 0 ? asked_ms : backoff_ms(&self->config, channel->throttles), now_ms);
}

/* ---- calls of no queue ---- */

void pr_calls_lent(pr_calls_t *self, int64_t channel_no, uint32_t held, bool wished)
{
    channel_t *channel = channel_find(self, channel_no);
    if (!channel)
        return;
    channel->lent = held;
    channel->wished = wished;
}

/* A committed call may lose its token by this, and takes the next one: calls are many, turns few. */
bool pr_calls_lend(pr_calls_t *self, int64_t channel_no, int64_t now_ms)
{
    channel_t *channel = channel_find(self, channel_no);
    if (!channel || !channel_open(channel, now_ms) ||
        taken_places(channel) >= channel->spec.concurrency ||
        !pr_bucket_take(&channel->bucket, now_ms))
        return false;
    channel->lent++;
    channel->wished = false;
    return true;
}

/* Rounded up to what has been heard already: our own pause comes back from Postgres a little later. */
void pr_calls_pause(pr_calls_t *self, int64_t channel_no, int64_t delay_ms, int64_t now_ms)
{
    channel_t *channel = channel_find(self, channel_no);
    if (channel && now_ms + delay_ms > channel->paused_until_ms + PAUSE_ECHO_MS)
        (void)rest(channel, now_ms + delay_ms);
}

void channel_clear(pr_calls_t *self, channel_t *channel)
{
    for (lane_t lane = LANE_MONEY; lane < LANES; lane++)
        while (channel->lanes[lane].first)
            call_forget(self, channel->lanes[lane].first);
    for (uint8_t c = 0; c < PR_CALLS_CLASSES; c++)
        while (channel->outgoing[c].first)
            call_hand_back(self, channel->outgoing[c].first);
    channel->more = false;
}

int64_t channel_deadline_ms(const pr_calls_t *self, const channel_t *channel, int64_t now_ms)
{
    int64_t at_ms = INT64_MAX;
    const call_t *oldest = NULL;
    for (uint8_t c = 0; c < PR_CALLS_CLASSES; c++) {
        const call_t *call = channel->outgoing[c].first;
        if (call && (!oldest || call->committed_ms < oldest->committed_ms))
            oldest = call;
    }
    uint32_t waiting = 0;
    for (lane_t lane = LANE_MONEY; lane < LANES; lane++)
        waiting += channel->lanes[lane].count;
    if (oldest)
        at_ms = oldest->committed_ms + self->config.send_within_ms;
    bool may = channel->spec.active && !channel->stopped;
    if (!may || (!oldest && waiting == 0))
        return at_ms;
    int64_t token_ms =
        larger(pr_bucket_next_ms(&channel->bucket, now_ms), channel->paused_until_ms);
    if (oldest && token_ms > now_ms && token_ms < at_ms)
        at_ms = token_ms;
    uint32_t places = taken_places(channel) + channel->wished;
    if (waiting > 0 && places < channel->spec.concurrency &&
        channel->committing + channel_committed(channel) == 0) {
        int64_t pick_ms = larger(token_ms - self->config.ahead_ms, channel->paused_until_ms);
        if (pick_ms > now_ms && pick_ms < at_ms)
            at_ms = pick_ms;
    }
    return at_ms;
}
