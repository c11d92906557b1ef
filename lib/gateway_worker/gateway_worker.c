/* SPDX-License-Identifier: Apache-2.0
 *
 * A turn: messages and what they start (lib/worker), then answers, then what leaves for the peers.
 */
#include "gateway_worker/gateway_worker.h"

#include "actor/master_key.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "gateway_worker/gateway_call.h"
#include "outgoing/outgoing.h"
#include "worker/worker_bus.h"

#include <poll.h>

#define LINES_MAX (288u * 1024u) /* as many headers as a request has, each as long as may be */

typedef struct {
    pr_actor_t *actor;
    pr_worker_bus_t *bus;
    pr_gateway_shared_t shared;
    int http_timer;
    bool http_ready;
} io_t;

/* ---- jobs ---- */

static void *take_job(void *arg, pr_job_batch_t *batch, const Postrider__V1__Job *job)
{
    io_t *self = arg;
    return pr_gateway_call_new(&self->shared, batch, job);
}

/* What was sent is made: its token never starts a second call here, whatever came of the first. */
static void on_call_done(void *arg, pr_gateway_call_t *call, int64_t now_ms)
{
    io_t *self = arg;
    pr_worker_bus_finished(self->bus, call->slot, call->sent, now_ms);
}

static bool start_job(void *arg, void *payload, uint32_t slot, int64_t now_ms)
{
    io_t *self = arg;
    pr_gateway_call_t *call = payload;
    call->slot = slot;
    self->http_ready = true;
    return pr_gateway_call_start(call, now_ms);
}

static void return_job(void *payload)
{
    pr_gateway_call_return(payload);
}

static void repeat_job(void *payload)
{
    pr_gateway_call_repeat(payload);
}

static void tell_outcome(void *payload, char *worker_id, Postrider__V1__Outcome *out)
{
    pr_gateway_call_outcome(payload, worker_id, out);
}

static void free_job(void *payload)
{
    pr_gateway_call_t *call = payload;
    pr_gateway_call_destroy(&call);
}

/* ---- turns ---- */

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

/* P11: connect and total; a gateway may think until the total is over. */
static void start_http(io_t *self, const pr_config_t *config)
{
    self->shared.total_ms = pr_config_duration_ms(config, "http.total_timeout");
    pr_http_limits_t limits = pr_outgoing_limits(config, PR_WORKER_SLOTS_MAX);
    limits.first_byte_ms = self->shared.total_ms;
    limits.max_read_bytes = PR_GATEWAY_BODY_MAX_BYTES;
    limits.guard = pr_outgoing_may_connect;
    limits.guard_arg = &self->shared.allow;
    self->shared.http = pr_http_new(&limits);
    self->shared.keep_bytes = (size_t)pr_config_size(config, "http.keep_response");
    self->shared.keep_exchange = (size_t)pr_config_size(config, "gateway.keep_exchange");
    self->shared.allow_plain = pr_config_bool(config, "http.allow_plain");
}

static pr_rc_t open_store(io_t *self, const pr_config_t *config, pr_error_t *error)
{
    pr_master_key_t key;
    pr_rc_t rc = pr_master_key_load(pr_config_text(config, "master_key_file"), &key, error);
    if (rc != PR_OK)
        return rc;
    self->shared.channels =
        pr_channel_store_new(pr_config_text(config, "profiles_dir"), &key, pr_random_u64());
    pr_master_key_wipe(&key);
    return PR_OK;
}

static pr_rc_t join_bus(io_t *self, const pr_config_t *config, const pr_gateway_role_t *role,
                        pr_error_t *error)
{
    pr_worker_config_t step = {.slots = (uint32_t)pr_config_int(config, "gateway.slots"),
                               .slow_max = (uint32_t)pr_config_int(config, "gateway.slots"),
                               .serves = UINT32_C(1) << role->cls};
    step.shares[role->cls] = 1;
    pr_worker_spec_t spec = {
        .kind = POSTRIDER__V1__JOB_KIND__JOB_KIND_CALL,
        .desk = "calls",
        .scheduler = 'g',
        .outcomes = PR_WIRE_EVIDENCE_BATCH,
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

void pr_gateway_worker_stop(void **arg)
{
    io_t *self = PR_STEAL(*arg);
    if (self == NULL)
        return;
    pr_http_destroy(&self->shared.http); /* first: calls lend their bodies to it */
    pr_worker_bus_destroy(&self->bus);
    pr_channel_store_destroy(&self->shared.channels);
    pr_buffer_free(&self->shared.lines);
    pr_free(self);
}

pr_rc_t pr_gateway_worker_start(pr_actor_t *actor, const pr_gateway_role_t *role, void **out,
                                pr_error_t *error)
{
    const pr_config_t *config = pr_actor_config(actor);
    io_t *self = PR_NEW(io_t);
    *out = self; /* stopped by the skeleton, also when this fails */
    self->actor = actor;
    self->shared.operations = role->operations;
    self->shared.done = on_call_done;
    self->shared.arg = self;
    pr_buffer_init(&self->shared.lines, LINES_MAX);
    start_http(self, config);
    pr_rc_t rc = open_store(self, config, error);
    if (rc == PR_OK)
        rc = pr_config_networks(config, "http.allow_addresses", &self->shared.allow, error);
    if (rc == PR_OK)
        rc = join_bus(self, config, role, error);
    if (rc != PR_OK)
        return rc;
    pr_loop_t *loop = pr_actor_loop(actor);
    pr_loop_add_fd(loop, pr_http_fd(self->shared.http), POLLIN, on_http, self);
    self->http_timer = pr_loop_add_timer(loop, INT64_MAX, 0, on_timer, self);
    pr_loop_add_turn(loop, on_turn, self);
    pr_actor_ready(actor);
    return PR_OK;
}

void pr_gateway_worker_drain(void *arg, int64_t now_ms)
{
    io_t *self = arg;
    pr_worker_bus_drain(self->bus, now_ms);
}

bool pr_gateway_worker_drained(void *arg)
{
    const io_t *self = arg;
    return pr_worker_bus_drained(self->bus);
}
