/* SPDX-License-Identifier: Apache-2.0
 *
 * See notifier_io.h. A turn: messages -> step -> actions; then responses -> step -> actions;
 * then credit; then what was gathered for each peer leaves in as few messages as may be.
 */
#include "notifier_io.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/address.h"
#include "notifier_io_private.h"

#include <poll.h>
#include <string.h>

#define TICK_MS 50
#define LOOK_MS 1000
#define RECEIVE_BUDGET 32 /* messages of one peer a turn */
#define LINES_MAX (80u * 1024u)

static void perform(io_t *self, int64_t now_ms);

/* ---- peers ---- */

static void on_readable(void *arg, int64_t now_ms);

static pr_rc_t connect_peer(io_t *self, uint32_t number, const char *address, pr_error_t *error)
{
    peer_io_t *peer = &self->peers[number];
    peer->socket = pr_socket_new(pr_actor_bus(self->actor), PR_SOCKET_DEALER, NULL);
    pr_rc_t rc = pr_socket_connect(peer->socket, address, error);
    if (rc != PR_OK) {
        pr_socket_destroy(&peer->socket);
        return rc;
    }
    pr_loop_add_socket(pr_actor_loop(self->actor), peer->socket, on_readable, peer);
    return PR_OK;
}

static void disconnect_peer(io_t *self, uint32_t number)
{
    peer_io_t *peer = &self->peers[number];
    peer->outcome_count = 0; /* still owed: the step sends them by another road */
    if (peer->socket == NULL)
        return;
    pr_loop_remove_socket(pr_actor_loop(self->actor), peer->socket);
    pr_socket_destroy(&peer->socket);
}

static void connect_direct(io_t *self, uint32_t number, const char *address)
{
    pr_error_t error;
    pr_log_limited(PR_LOG_WARN, "direct.connect", address, "address=%s", address);
    if (connect_peer(self, number, address, &error) != PR_OK)
        pr_log_error(PR_LOG_WARN, "direct.refused", &error);
}

/* ---- receiving ---- */

static void on_job_batch(peer_io_t *peer, Postrider__V1__Envelope **envelope, int64_t now_ms)
{
    io_t *self = peer->io;
    const Postrider__V1__JobBatch *jobs = (*envelope)->job_batch;
    if (jobs->class_ >= PR_CLASSES || jobs->session.len != 16)
        return;
    pr_notifier_batch_t event = {
        .session = jobs->session.data, .cls = jobs->class_, .jobs = (uint32_t)jobs->n_jobs};
    pr_notifier_batch(self->step, peer->number, &event);
    pr_job_batch_t *batch = PR_NEW(pr_job_batch_t);
    batch->envelope = PR_STEAL(*envelope);
    batch->users = 1; /* ours, until the end of this function */
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        const Postrider__V1__Job *job = jobs->jobs[i];
        if (job->token == NULL)
            continue;
        pr_token_t token = {job->token->salt, job->token->attempt, job->token->seq};
        pr_call_t *call = pr_call_new(&self->shared, batch, job);
        pr_notifier_took_t took =
            pr_notifier_job(self->step, peer->number, &event, token, job->shard, call, now_ms);
        if (took != PR_NOTIFIER_TAKEN)
            pr_call_destroy(&call);
        if (took == PR_NOTIFIER_FULL)
            pr_log_limited(PR_LOG_ERROR, "job.no_slot", "peer", "peer=%u", peer->number);
        perform(self, now_ms);
    }
    pr_job_batch_release(&batch);
}

static void on_ack(io_t *self, const Postrider__V1__OutcomeAck *ack, int64_t now_ms)
{
    for (size_t i = 0; i < ack->n_tokens; i++) {
        const Postrider__V1__Token *token = ack->tokens[i];
        pr_notifier_acked(self->step, (pr_token_t){token->salt, token->attempt, token->seq});
    }
    perform(self, now_ms);
}

static void on_scheduler_hello(peer_io_t *peer, const Postrider__V1__SchedulerHello *hello,
                               int64_t now_ms)
{
    if (hello->session.len != 16 || hello->shards.len != 32)
        return;
    const uint8_t *replaces[64];
    size_t count = 0;
    for (size_t i = 0; i < hello->n_replaces && count < PR_COUNT(replaces); i++) {
        if (hello->replaces[i].len == 16)
            replaces[count++] = hello->replaces[i].data;
    }
    pr_notifier_scheduler_hello_t event = {.session = hello->session.data,
                                           .shards = hello->shards.data,
                                           .replaces = replaces,
                                           .replaces_count = count,
                                           .address = hello->address};
    pr_notifier_scheduler_hello(peer->io->step, peer->number, &event, now_ms);
}

static void on_broker_hello(peer_io_t *peer, const Postrider__V1__BrokerHello *hello,
                            int64_t now_ms)
{
    if (hello->instance.len != 16)
        return;
    pr_notifier_broker_hello_t event = {.instance = hello->instance.data,
                                        .greeting = hello->greeting,
                                        .greet_anew = hello->greet_anew};
    pr_notifier_broker_hello(peer->io->step, peer->number, &event, now_ms);
}

static void on_message(peer_io_t *peer, pr_bytes_t frame, int64_t now_ms)
{
    Postrider__V1__Envelope *envelope = NULL;
    pr_error_t error;
    if (pr_envelope_unpack(frame, &envelope, &error) != PR_OK) {
        pr_log_error(PR_LOG_WARN, "message.refused", &error);
        return;
    }
    pr_notifier_heard(peer->io->step, peer->number, now_ms);
    switch (envelope->body_case) {
    case POSTRIDER__V1__ENVELOPE__BODY_JOB_BATCH:
        on_job_batch(peer, &envelope, now_ms);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_OUTCOME_ACK:
        on_ack(peer->io, envelope->outcome_ack, now_ms);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_SCHEDULER_HELLO:
        on_scheduler_hello(peer, envelope->scheduler_hello, now_ms);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_BROKER_HELLO:
        on_broker_hello(peer, envelope->broker_hello, now_ms);
        break;
    default: /* not for workers */
        break;
    }
    perform(peer->io, now_ms);
    pr_envelope_destroy(&envelope);
}

static void on_readable(void *arg, int64_t now_ms)
{
    peer_io_t *peer = arg;
    pr_incoming_t incoming;
    for (int i = 0; i < RECEIVE_BUDGET && peer->socket != NULL; i++) {
        if (pr_socket_receive(peer->socket, &incoming) != PR_OK)
            return;
        on_message(peer, incoming.frame, now_ms);
    }
}

/* ---- actions ---- */

static void on_call_done(void *arg, pr_call_t *call, int64_t now_ms)
{
    io_t *self = arg;
    pr_actor_count(self->actor, 1);
    pr_notifier_finished(self->step, call->slot, call->result == PR_OUTCOME_DELIVERED, now_ms);
    perform(self, now_ms);
}

static void start_call(io_t *self, const pr_notifier_action_t *action, int64_t now_ms)
{
    pr_call_t *call = action->payload;
    call->slot = action->slot;
    if (!pr_call_start(call, on_call_done, self, now_ms))
        pr_notifier_finished(self->step, call->slot, false, now_ms);
    self->http_ready = true;
}

/* An outcome may be acknowledged (by a late ack to its first copy) while it waits here to leave. */
static void forget_call(io_t *self, pr_call_t *call)
{
    for (uint32_t i = 0; i < PR_NOTIFIER_PEERS_MAX; i++) {
        peer_io_t *peer = &self->peers[i];
        for (size_t k = 0; k < peer->outcome_count; k++) {
            if (peer->outcomes[k] == call)
                peer->outcomes[k--] = peer->outcomes[--peer->outcome_count];
        }
    }
    pr_call_destroy(&call);
}

static void perform(io_t *self, int64_t now_ms)
{
    for (pr_notifier_action_t action; pr_notifier_action(self->step, &action);) {
        peer_io_t *peer = &self->peers[action.peer];
        switch (action.kind) {
        case PR_NOTIFIER_START:
            start_call(self, &action, now_ms);
            break;
        case PR_NOTIFIER_RETURN:
            pr_call_return(action.payload);
            break;
        case PR_NOTIFIER_REPEAT:
            pr_call_repeat(action.payload);
            break;
        case PR_NOTIFIER_SEND:
            notifier_gather_outcome(peer, &action);
            break;
        case PR_NOTIFIER_FREE:
            forget_call(self, action.payload);
            break;
        case PR_NOTIFIER_GREET:
            notifier_send_hello(peer, action.greeting);
            break;
        case PR_NOTIFIER_CREDIT:
            notifier_send_credit(peer, action.total);
            break;
        case PR_NOTIFIER_HELD:
            notifier_send_held(peer);
            break;
        case PR_NOTIFIER_CONNECT:
            connect_direct(self, action.peer, action.address);
            break;
        case PR_NOTIFIER_DISCONNECT:
            pr_log_info("direct.left", "peer=%u", action.peer);
            disconnect_peer(self, action.peer);
            break;
        case PR_NOTIFIER_NONE:
            break;
        }
    }
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
    if (now_ms >= self->tick_at_ms) {
        self->tick_at_ms = now_ms + TICK_MS;
        pr_notifier_tick(self->step, now_ms);
    }
    if (now_ms >= self->look_at_ms && pr_notifier_brokers_away(self->step, now_ms)) {
        self->look_at_ms = now_ms + LOOK_MS;
        notifier_look_for_schedulers(self, now_ms);
    }
    pr_notifier_offer(self->step);
    perform(self, now_ms);
    for (uint32_t i = 0; i < PR_NOTIFIER_PEERS_MAX; i++)
        notifier_flush_outcomes(&self->peers[i]);
    int64_t due_ms = pr_http_due_at_ms(self->shared.http);
    pr_loop_timer_at(pr_actor_loop(self->actor), self->http_timer, due_ms);
}

static void on_timer(void *arg, int64_t now_ms)
{
    (void)arg, (void)now_ms; /* the turn does it all */
}

/* ---- life ---- */

static bool may_connect(void *arg, const struct sockaddr *address, socklen_t len)
{
    pr_ip_t ip;
    uint16_t port = 0;
    if (!pr_ip_from_sockaddr(address, len, &ip, &port))
        return false;
    const char *why = pr_address_refused(arg, &ip, port);
    if (why != NULL)
        pr_log_limited(PR_LOG_WARN, "address.refused", why, "why=%s port=%u", why, port);
    return why == NULL;
}

static pr_rc_t read_allow_list(io_t *self, const pr_config_t *config, pr_error_t *error)
{
    const char *const *items = NULL;
    int count = pr_config_list(config, "http.allow_addresses", &items);
    for (int i = 0; i < count; i++) {
        pr_rc_t rc = pr_allow_add(&self->shared.allow, items[i], strlen(items[i]), error);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

static void start_http(io_t *self, const pr_config_t *config)
{
    pr_http_limits_t limits = {
        .pool_per_host = (int)pr_config_int(config, "http.pool_per_host"),
        .pool_total = (int)pr_config_int(config, "http.pool_total"),
        .idle_ms = pr_config_duration_ms(config, "http.idle_timeout"),
        .tcp_keepalive_s = pr_config_duration_ms(config, "http.keepalive") / 1000,
        .connect_ms = pr_config_duration_ms(config, "http.connect_timeout"),
        .tls_ms = pr_config_duration_ms(config, "http.tls_timeout"),
        .first_byte_ms = pr_config_duration_ms(config, "http.first_byte_timeout"),
        .total_ms = pr_config_duration_ms(config, "http.total_timeout"),
        .max_read_bytes = (size_t)pr_config_size(config, "http.max_response"),
        .max_in_flight = PR_NOTIFIER_SLOTS_MAX,
        .user_agent = "Postrider/" PR_VERSION,
        .guard = may_connect,
        .guard_arg = &self->shared.allow,
    };
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

static pr_rc_t connect_brokers(io_t *self, const pr_config_t *config, pr_error_t *error)
{
    const char *const *bases = NULL;
    int count = pr_config_list(config, "bus.brokers", &bases);
    if (count < 1 || count > PR_NOTIFIER_BROKERS_MAX)
        return pr_error_set(error, PR_BAD, "config", "", "bus.brokers: 1 to %d are wanted",
                            PR_NOTIFIER_BROKERS_MAX);
    uint32_t slots = (uint32_t)pr_config_int(config, "worker.slots");
    pr_notifier_config_t step = {
        .brokers = (uint32_t)count,
        .slots = slots < PR_LANES_KEEP_MAX / 4 ? slots : PR_LANES_KEEP_MAX / 4,
        .shares = {(uint32_t)pr_config_int(config, "lanes.p0.share"),
                   (uint32_t)pr_config_int(config, "lanes.p1.share"),
                   (uint32_t)pr_config_int(config, "lanes.p2.share")},
        .slow_max = 1000,
    };
    self->step = pr_notifier_new(&step, pr_random_u64(), pr_clock_mono_ms());
    for (int i = 0; i < count; i++) {
        PR_CLEANUP_FREE char *address = pr_bus_address(bases[i], "work");
        pr_rc_t rc = connect_peer(self, (uint32_t)i, address, error);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

static void free_call(void *payload)
{
    pr_call_t *call = payload;
    pr_call_destroy(&call);
}

static void stop(void **arg)
{
    io_t *self = PR_STEAL(*arg);
    if (self == NULL)
        return;
    pr_http_destroy(&self->shared.http); /* first: calls lend their bodies to it */
    pr_notifier_destroy(&self->step, free_call);
    for (uint32_t i = 0; i < PR_NOTIFIER_PEERS_MAX; i++)
        disconnect_peer(self, i);
    pr_secrets_destroy(&self->shared.secrets);
    pr_signed_free(&self->shared.signature);
    pr_buffer_free(&self->shared.lines);
    pr_free(self->held);
    pr_free(self->held_jobs);
    pr_free(self->held_pointers);
    pr_free(self->held_tokens);
    pr_free(self);
}

static io_t *new_io(pr_actor_t *actor)
{
    io_t *self = PR_NEW(io_t);
    self->actor = actor;
    for (uint32_t i = 0; i < PR_NOTIFIER_PEERS_MAX; i++)
        self->peers[i] = (peer_io_t){.io = self, .number = i};
    self->held = pr_calloc(PR_LANES_KEEP_MAX, sizeof(*self->held));
    self->held_jobs = pr_calloc(PR_LANES_KEEP_MAX, sizeof(*self->held_jobs));
    self->held_pointers = pr_calloc(PR_LANES_KEEP_MAX, sizeof(*self->held_pointers));
    self->held_tokens = pr_calloc(PR_LANES_KEEP_MAX, sizeof(*self->held_tokens));
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
        rc = read_allow_list(self, config, error);
    if (rc == PR_OK)
        rc = connect_brokers(self, config, error);
    if (rc != PR_OK) {
        void *io = self;
        stop(&io);
        return rc;
    }
    pr_loop_t *loop = pr_actor_loop(actor);
    int64_t now_ms = pr_clock_mono_ms();
    pr_loop_add_fd(loop, pr_http_fd(self->shared.http), POLLIN, on_http, self);
    self->http_timer = pr_loop_add_timer(loop, INT64_MAX, 0, on_timer, self);
    pr_loop_add_timer(loop, now_ms, TICK_MS, on_timer, self);
    pr_loop_add_turn(loop, on_turn, self);
    *out = self;
    perform(self, now_ms);
    pr_actor_ready(actor);
    return PR_OK;
}

static void drain(void *arg, int64_t now_ms)
{
    io_t *self = arg;
    pr_notifier_drain(self->step, now_ms);
    perform(self, now_ms);
}

static bool drained(void *arg)
{
    const io_t *self = arg;
    return pr_notifier_drained(self->step);
}

const pr_actor_spec_t pr_notifier_spec = {
    .name = "notifier",
    .summary = "Tells merchants: one signed POST a job, one outcome back.",
    .start = start,
    .drain = drain,
    .drained = drained,
    .stop = stop,
};
