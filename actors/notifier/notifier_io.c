/* SPDX-License-Identifier: Apache-2.0
 *
 * See notifier_io.h. A turn: messages and what they start (lib/worker), then responses, then what
 * leaves for the peers.
 */
#include "notifier_io.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "call.h"
#include "outgoing/outgoing.h"
#include "worker/worker_bus.h"

#include <poll.h>

#define LINES_MAX (80u * 1024u)

typedef struct {
    pr_actor_t *actor;
    pr_worker_bus_t *bus;
    pr_call_shared_t shared;
    int http_timer;
    bool http_ready;
} io_t;

/* ---- jobs ---- */

static void *take_job(void *arg, pr_job_batch_t *batch, const Postrider__V1__Job *job)
{
    io_t *self = arg;
    return pr_call_new(&self->shared, batch, job);
}

static void on_call_done(void *arg, pr_call_t *call, int64_t now_ms)
{
    io_t *self = arg;
    bool delivered = call->result == PR_OUTCOME_DELIVERED;
    pr_worker_bus_finished(self->bus, call->slot, delivered, now_ms);
}

static bool start_job(void *arg, void *payload, uint32_t slot, int64_t now_ms)
{
    io_t *self = arg;
    pr_call_t *call = payload;
    call->slot = slot;
    self->http_ready = true;
    return pr_call_start(call, on_call_done, self, now_ms);
}

static void return_job(void *payload)
{
    pr_call_return(payload);
}

static void repeat_job(void *payload)
{
    pr_call_repeat(payload);
}

static void tell_outcome(void *payload, char *worker_id, Postrider__V1__Outcome *out)
{
    pr_call_outcome(payload, worker_id, out);
}

static void free_job(void *payload)
{
    pr_call_t *call = payload;
    pr_call_destroy(&call);
}

static void on_http(void *arg, int64_t now_ms)
{
    (void)now_ms;
    ((io_t *)arg)->http_ready = true;
}

static void on_turn(void *arg, int64_t now_ms)
{
    io_t *self = arg;
    if (self->http_ready || pr_http_due_at_ms(self->shared.http) <= now_ms) {
        self->http_ready = false;
        pr_http_run(self->shared.http, now_ms);
    }
    pr_worker_bus_turn(self->bus, now_ms);
    int64_t due_ms = pr_http_due_at_ms(self->shared.http);
    pr_loop_timer_at(pr_actor_loop(self->actor), self->http_timer, due_ms);
}

static void on_timer(void *arg, int64_t now_ms)
{
    (void)arg, (void)now_ms; /* the turn does it all */
}

/* ---- life ---- */

static void start_http(io_t *self, const pr_config_t *config)
{
    pr_http_limits_t limits = pr_outgoing_limits(config, PR_WORKER_SLOTS_MAX);
    limits.guard = pr_outgoing_may_connect;
    limits.guard_arg = &self->shared.allow;
    self->shared.http = pr_http_new(&limits);
    self->shared.keep_bytes = (size_t)pr_config_size(config, "http.keep_response");
    self->shared.allow_plain = pr_config_bool(config, "http.allow_plain");
}

static void read_egress(io_t *self, const pr_config_t *config)
{
    static const char *const keys[] = {"lanes.p0.egress", "lanes.p1.egress", "lanes.p2.egress"};
    for (size_t i = 0; i < PR_COUNT(keys); i++)
        self->shared.lane_egress[i] = pr_config_text(config, keys[i]);
}

static pr_rc_t join_bus(io_t *self, const pr_config_t *config, pr_error_t *error)
{
    uint32_t slots = (uint32_t)pr_config_int(config, "worker.slots");
    pr_worker_config_t step = {
        .slots = slots < PR_LANES_KEEP_MAX / 4 ? slots : PR_LANES_KEEP_MAX / 4,
        .shares = {(uint32_t)pr_config_int(config, "lanes.p0.share"),
                   (uint32_t)pr_config_int(config, "lanes.p1.share"),
                   (uint32_t)pr_config_int(config, "lanes.p2.share")},
        .slow_max = 1000,
    };
    pr_worker_spec_t spec = {
        .kind = POSTRIDER__V1__JOB_KIND__JOB_KIND_NOTIFY,
        .desk = "work",
        .scheduler = 's',
        .outcomes = PR_WORKER_OUTCOMES_MAX,
        .arg = self,
        .take = take_job,
        .start = start_job,
        .give_back = return_job,
        .repeat = repeat_job,
        .outcome = tell_outcome,
        .free = free_job,
    };
    return pr_worker_bus_new(self->actor, &spec, &step, &self->bus, error);
}

static void stop(void **arg)
{
    io_t *self = PR_STEAL(*arg);
    if (self == NULL)
        return;
    pr_http_destroy(&self->shared.http); /* first: calls lend their bodies to it */
    pr_worker_bus_destroy(&self->bus);
    pr_secrets_destroy(&self->shared.secrets);
    pr_signed_free(&self->shared.signature);
    pr_buffer_free(&self->shared.lines);
    pr_free(self);
}

static io_t *new_io(pr_actor_t *actor)
{
    io_t *self = PR_NEW(io_t);
    self->actor = actor;
    pr_signed_init(&self->shared.signature);
    pr_buffer_init(&self->shared.lines, LINES_MAX);
    return self;
}

static pr_rc_t start(pr_actor_t *actor, void **out, pr_error_t *error)
{
    const pr_config_t *config = pr_actor_config(actor);
    io_t *self = new_io(actor);
    start_http(self, config);
    read_egress(self, config);
    pr_rc_t rc = pr_secrets_new(pr_config_text(config, "master_key_file"), pr_random_u64(),
                                &self->shared.secrets, error);
    if (rc == PR_OK)
        rc = pr_config_networks(config, "http.allow_addresses", &self->shared.allow, error);
    if (rc == PR_OK)
        rc = join_bus(self, config, error);
    if (rc != PR_OK) {
        void *io = self;
        stop(&io);
        return rc;
    }
    pr_loop_t *loop = pr_actor_loop(actor);
    pr_loop_add_fd(loop, pr_http_fd(self->shared.http), POLLIN, on_http, self);
    self->http_timer = pr_loop_add_timer(loop, INT64_MAX, 0, on_timer, self);
    pr_loop_add_turn(loop, on_turn, self);
    *out = self;
    pr_actor_ready(actor);
    return PR_OK;
}

static void drain(void *arg, int64_t now_ms)
{
    io_t *self = arg;
    pr_worker_bus_drain(self->bus, now_ms);
}

static bool drained(void *arg)
{
    const io_t *self = arg;
    return pr_worker_bus_drained(self->bus);
}

const pr_actor_spec_t pr_notifier_spec = {
    .name = "notifier",
    .summary = "Tells merchants: one signed POST a job, one outcome back.",
    .start = start,
    .drain = drain,
    .drained = drained,
    .stop = stop,
};
