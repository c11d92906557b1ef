/* SPDX-License-Identifier: Apache-2.0
 *
 * lib/http/http.h without libcurl, and the merchants behind it. Also what else the notifier finds outside: secrets, and the folder
 * of the schedulers' sockets.
 */
#include "actors/notifier/call.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "sim.h"
#include "worker/worker_bus_private.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BYTE_US (2 * SIM_SECOND) /* as sim_plan.c configures it */

typedef struct call_t {
    struct call_t *next;
    pr_http_t *http; /* NULL: the notifier is gone */
    pr_http_done_fn *done;
    void *arg;
    sim_token_t token;
    int64_t endpoint, outbox_id;
    uint64_t notify;
    int64_t started_us, done_us; /* SIM_NEVER: no answer yet */
    bool arrived, lost;
    pr_http_error_t error;
    int code;
    const char *body;
    size_t body_len;
    const char *retry_after;
} call_t;

struct pr_http_t {
    pr_actor_t *actor;
    int in_flight_max;
};

static call_t *calls;
static sim_mood_t moods[SIM_ENDPOINTS_MAX + 1];

void sim_http_begin(void)
{
    memset(moods, 0, sizeof moods);
}

static void forget(call_t *call)
{
    for (call_t **at = &calls; *at; at = &(*at)->next) {
        if (*at == call) {
            *at = call->next;
            break;
        }
    }
    pr_free(call);
}

void sim_http_end(void)
{
    while (calls)
        forget(calls);
}

void sim_merchant(int endpoint, sim_mood_t mood)
{
    static const char *const names[] = {"takes all", "is flaky",          "refuses",
                                        "hangs",     "takes it and dies", "answers nonsense",
                                        "throttles", "is gone",           "is absent"};
    pr_assert(endpoint >= 1 && endpoint <= SIM_ENDPOINTS_MAX);
    if (moods[endpoint] != mood)
        sim_trace("** merchant %d %s", endpoint, names[mood]);
    moods[endpoint] = mood;
}

static sim_mood_t mood_now(int64_t endpoint)
{
    static const sim_mood_t all[] = {SIM_GOOD,  SIM_GOOD, SIM_GOOD,    SIM_REFUSES,   SIM_REFUSES,
                                     SIM_HANGS, SIM_DIES, SIM_GARBAGE, SIM_THROTTLES, SIM_ABSENT};
    sim_mood_t mood = moods[endpoint];
    return mood == SIM_FLAKY ? all[sim_between(0, PR_COUNT(all) - 1)] : mood;
}

static void answer(call_t *call, pr_http_error_t error, int code, const char *body, size_t len,
                   int64_t after_us)
{
    call->error = error;
    call->code = code;
    call->body = body;
    call->body_len = len;
    call->done_us = sim->now_us + after_us;
    if (call->http)
        sim_wake(call->http->actor, call->done_us + sim_between(0, 300));
}

/* The request is at the merchant's door. */
static void arrive(void *arg, uint64_t unused)
{
    static const char ok[] = "SUCCESS", no[] = "no", nonsense[] = "<html>\xc3\x28</html>",
                      poison[] = "\0bad";
    call_t *call = arg;
    (void)unused;
    call->arrived = true;
    if (call->lost) {
        forget(call);
        return;
    }
    sim_mood_t mood = mood_now(call->endpoint);
    int64_t quick_us =
        sim_chance(5) ? sim_between(300 * SIM_MS, 1800 * SIM_MS) : sim_between(SIM_MS, 15 * SIM_MS);
    if (mood != SIM_ABSENT) {
        sim_trace("merchant %d: outbox %d, salt %04x, try %u%s", (int)call->endpoint,
                  (int)call->outbox_id, (unsigned)(call->token.salt & 0xffff),
                  call->token.attempt + 1, mood == SIM_GOOD ? "" : ", trouble");
        sim_check_arrival(&call->token, call->outbox_id, call->notify, call->endpoint);
    }
    switch (mood) {
    case SIM_GOOD:
    case SIM_FLAKY:
        answer(call, PR_HTTP_OK, 200, ok, sizeof ok - 1, quick_us);
        break;
    case SIM_REFUSES:
        answer(call, PR_HTTP_OK, 500, no, sizeof no - 1, quick_us);
        break;
    case SIM_HANGS:
        answer(call, PR_HTTP_FIRST_BYTE_TIMEOUT, 0, "", 0, FIRST_BYTE_US);
        break;
    case SIM_DIES:
        answer(call, PR_HTTP_RECEIVE, 0, "", 0, quick_us);
        break;
    case SIM_GARBAGE:
        if (sim->poison && sim_chance(50))
            answer(call, PR_HTTP_OK, 200, poison, sizeof poison - 1, quick_us);
        else
            answer(call, PR_HTTP_OK, 200, nonsense, sizeof nonsense - 1, quick_us);
        break;
    case SIM_THROTTLES:
        answer(call, PR_HTTP_OK, 429, no, sizeof no - 1, quick_us);
        call->retry_after = "2";
        break;
    case SIM_GONE:
        answer(call, PR_HTTP_OK, 410, no, sizeof no - 1, quick_us);
        break;
    case SIM_ABSENT:
        answer(call, PR_HTTP_CONNECT, 0, "", 0, quick_us);
        break;
    }
    if (!call->http)
        forget(call);
}

/* ---- lib/http ---- */

pr_http_t *pr_http_new(const pr_http_limits_t *limits)
{
    pr_http_t *self = PR_NEW(pr_http_t);
    self->actor = sim->current;
    self->in_flight_max = limits && limits->max_in_flight > 0 ? limits->max_in_flight : 4096;
    return self;
}

/* The caller's process ends, or it breaks its requests off: what is on the way may arrive all the same. */
static void leave(const pr_http_t *self)
{
    for (call_t *call = calls, *next; call; call = next) {
        next = call->next;
        if (call->http != self)
            continue;
        call->http = NULL;
        if (call->arrived)
            forget(call);
        else
            call->lost = call->lost || sim_chance(50);
    }
}

void sim_http_gone(pr_actor_t *actor)
{
    for (call_t *call = calls, *next; call; call = next) {
        next = call->next;
        if (call->http && call->http->actor == actor) {
            call->http = NULL;
            if (call->arrived)
                forget(call);
            else
                call->lost = call->lost || sim_chance(50);
        }
    }
}

void pr_http_destroy(pr_http_t **self)
{
    if (*self)
        leave(*self);
    pr_free(*self);
    *self = NULL;
}

pr_rc_t pr_http_start(pr_http_t *self, const pr_http_request_t *request, int64_t now_ms,
                      pr_error_t *error)
{
    (void)now_ms;
    (void)error;
    int in_flight = 0;
    for (const call_t *call = calls; call; call = call->next)
        in_flight += call->http == self;
    if (in_flight >= self->in_flight_max)
        return PR_AGAIN;
    const pr_call_t *theirs = request->arg;
    char text[96], *end;
    pr_assert(request->body.len < sizeof text && request->body.len > 2 &&
              request->body.data[0] == 'N');
    memcpy(text, request->body.data, request->body.len);
    text[request->body.len] = '\0';
    call_t *call = PR_NEW(call_t);
    call->http = self;
    call->done = request->done;
    call->arg = request->arg;
    call->token = (sim_token_t){theirs->token.salt, theirs->token.attempt, theirs->token.seq};
    call->outbox_id = strtoll(text + 1, &end, 10);
    call->endpoint = strtoll(end + 1, &end, 10);
    call->notify = strtoull(end + 1, &end, 16);
    call->started_us = sim->now_us;
    call->done_us = SIM_NEVER;
    call->retry_after = "";
    call->next = calls;
    calls = call;
    call->lost = !sim_effect(); /* its sender is dead: it never leaves */
    sim_at(sim->now_us + sim_between(100, 2 * SIM_MS), arrive, call, 0);
    return PR_OK;
}

int64_t sim_http_wake_us(const pr_actor_t *actor)
{
    int64_t at_us = SIM_NEVER;
    for (const call_t *call = calls; call; call = call->next)
        if (call->http && call->http->actor == actor && call->done_us < at_us)
            at_us = call->done_us;
    return at_us;
}

void pr_http_run(pr_http_t *self, int64_t now_ms)
{
    for (bool found = true; found && sim_alive(self->actor);) {
        found = false;
        call_t *first = NULL;
        for (call_t *call = calls; call; call = call->next)
            if (call->http == self && call->done_us <= sim->now_us &&
                (!first || call->done_us < first->done_us))
                first = call;
        if (!first)
            return;
        found = true;
        pr_http_response_t response = {
            .code = first->code,
            .error = first->error,
            .duration_ms = (uint32_t)((sim->now_us - first->started_us) / 1000),
            .body = pr_bytes(first->body, first->body_len),
            .retry_after = first->retry_after,
            .http_version = 11,
            .sends = 1,
        };
        pr_http_done_fn *done = first->done;
        void *arg = first->arg;
        forget(first);
        done(arg, &response, now_ms);
    }
}

int pr_http_fd(const pr_http_t *self)
{
    (void)self;
    return 3;
}

int64_t pr_http_due_at_ms(const pr_http_t *self)
{
    (void)self;
    return INT64_MAX; /* the loop asks sim_http_wake_us */
}

pr_http_stats_t pr_http_stats(const pr_http_t *self)
{
    (void)self;
    return (pr_http_stats_t){0};
}

/* ---- the notifier's other edges ---- */

struct pr_secrets_t {
    pr_secret_t secret;
};

pr_rc_t pr_secrets_new(const char *master_key_file, uint64_t seed, pr_secrets_t **out,
                       pr_error_t *error)
{
    static const uint8_t random[32] = {1};
    (void)master_key_file;
    (void)seed;
    (void)error;
    *out = PR_NEW(pr_secrets_t);
    pr_secret_make_symmetric(random, &(*out)->secret);
    return PR_OK;
}

void pr_secrets_destroy(pr_secrets_t **self)
{
    pr_free(*self);
    *self = NULL;
}

pr_rc_t pr_secrets_open(pr_secrets_t *self, const char *merchant_id, pr_bytes_t sealed,
                        const pr_secret_t **out, pr_error_t *error)
{
    (void)merchant_id;
    (void)sealed;
    (void)error;
    *out = &self->secret;
    return PR_OK;
}

void worker_look_for_schedulers(pr_worker_bus_t *self, int64_t now_ms)
{
    const char *address;
    for (int i = 0; (address = sim_bus_scheduler_address(i)); i++)
        pr_worker_found(self->step, address, now_ms);
}
