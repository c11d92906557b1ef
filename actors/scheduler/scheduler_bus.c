/* SPDX-License-Identifier: Apache-2.0
 *
 * The bus side: greets brokers, spends their grants, takes outcomes, sends acknowledgements. Our own ROUTER speaks the
 * broker's side of the same protocol to workers that have lost every broker (N16).
 *
 * Credit is a total: room = granted - sent - returned, all since our newest greeting. A lost message is thus repaired by the next one.
 */
#include "actors/scheduler/scheduler_io.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/fnv.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

#define BATCH_JOBS \
    32 /* in one JobBatch: enough to share the frame's cost, few enough to go to one worker */
#define TURN_MESSAGES 256 /* read from one socket in a turn */
#define HELLO_MS 1000
#define DEAF_MS 1500 /* a broker speaks each second, and passes on what workers say each 250 ms */
#define DEMAND_MS 20 /* between two demands while jobs wait */
#define DEMAND_IDLE_MS 1000
#define RETURN_MS 50 /* docs/protocol.md, section 5 */
#define UNWRITTEN_MAX \
    50000 /* a database that does not keep up (or is full) stops dispatch, not memory */

static pr_bytes_t no_route(void)
{
    return pr_bytes(NULL, 0);
}

/* ---- greeting ---- */

static void greet_link(io_t *io, link_t *link, pr_bytes_t route, bool anew)
{
    static const uint8_t none[16] = {0};
    if (memcmp(io->session, none, sizeof none) == 0)
        return;
    if (anew) {
        link->greeting++;
        link->live = false;
        memset(link->granted, 0, sizeof link->granted);
        memset(link->sent, 0, sizeof link->sent);
        memset(link->returned, 0, sizeof link->returned);
    }
    Postrider__V1__SchedulerHello hello = POSTRIDER__V1__SCHEDULER_HELLO__INIT;
    ProtobufCBinaryData replaces[REPLACED_MAX];
    hello.session = (ProtobufCBinaryData){16, io->session};
    hello.shards = (ProtobufCBinaryData){32, io->owned};
    for (int i = 0; i < io->nreplaced; i++)
        replaces[i] = (ProtobufCBinaryData){16, io->replaced[i]};
    hello.replaces = replaces;
    hello.n_replaces = (size_t)io->nreplaced;
    hello.address = io->address;
    hello.greeting = link->greeting;
    hello.again = link->live; /* goes on counting: a broker that does not know us must say so */
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_SCHEDULER_HELLO;
    envelope.scheduler_hello = &hello;
    (void)!pr_actor_send(io->actor, link->socket, route, &envelope); /* again in a second */
}

static void greet_workers_directly(io_t *io, link_t *link)
{
    for (size_t i = 0; i < pr_roster_workers(link->roster); i++) {
        const pr_roster_worker_t *worker = pr_roster_worker_at(link->roster, i);
        greet_link(io, link, pr_bytes(worker->route.bytes, worker->route.len), false);
    }
}

void bus_greet(io_t *io)
{
    bool anew = memcmp(io->greeted_session, io->session, sizeof io->session) != 0;
    memcpy(io->greeted_session, io->session, sizeof io->session);
    for (int i = 0; i < io->nlinks; i++) {
        if (io->links[i].roster)
            greet_workers_directly(io, &io->links[i]);
        else
            greet_link(io, &io->links[i], no_route(), anew || io->links[i].greeting == 0);
    }
}

/* ---- what comes in ---- */

/* A worker's place in io->heard, never 0. */
static uint64_t worker_key(const char *worker_id)
{
    return pr_fnv_text(PR_FNV_START, worker_id) | 1;
}

static void on_held(io_t *io, const char *worker_id, size_t count,
                    Postrider__V1__HeldJob *const *held)
{
    for (size_t i = 0; i < count; i++) {
        const Postrider__V1__Token *token = held[i]->token;
        if (token)
            pr_sched_held(io->sched, token->seq, token->salt, token->attempt, io->now_ms);
    }
    (void)!pr_map_put(io->heard, worker_key(worker_id), (void *)(uintptr_t)(io->now_ms + 1), NULL);
}

static outcome_t *outcome_new(const Postrider__V1__Outcome *from, link_t *link)
{
    size_t len = from->excerpt.len < 1024 ? from->excerpt.len : 1024;
    outcome_t *outcome = pr_calloc(1, sizeof *outcome + len);
    outcome->link = link;
    outcome->result = from->result;
    outcome->http_code = from->http_code <= 999 ? from->http_code : 0;
    outcome->duration_ms = from->duration_ms <= INT32_MAX ? from->duration_ms : INT32_MAX;
    outcome->started_at_us = from->started_at_us;
    (void)snprintf(outcome->worker_id, sizeof outcome->worker_id, "%s", from->worker_id);
    (void)snprintf(outcome->error, sizeof outcome->error, "%s", from->error);
    outcome->excerpt_len = len;
    if (len > 0)
        memcpy(outcome->excerpt, from->excerpt.data, len);
    return outcome;
}

static void on_outcomes(io_t *io, link_t *link, const Postrider__V1__OutcomeBatch *batch)
{
    for (size_t i = 0; i < batch->n_outcomes; i++) {
        const Postrider__V1__Outcome *from = batch->outcomes[i];
        if (!from->token || !bit_get(io->owned, (int)(from->shard & 255)))
            continue; /* not ours: its owner is asked again by the worker */
        if (io->adoption.active && bit_get(io->adoption.shards, (int)(from->shard & 255)))
            continue; /* not read yet: the worker says it again */
        bool egress = from->result == POSTRIDER__V1__OUTCOME__RESULT__RESULT_OWN_FAULT &&
                      strcmp(from->error, "proxy") == 0;
        int64_t retry_after_ms =
            from->retry_after_ms < INT64_MAX ? (int64_t)from->retry_after_ms : INT64_MAX;
        pr_sched_outcome(io->sched, from->token->seq, from->token->salt, from->token->attempt,
                         (pr_outcome_t)from->result, retry_after_ms, egress, pr_random_u64(),
                         outcome_new(from, link), io->now_ms);
    }
}

/* A broker names its workers each second and to a greeting that is new to it; its other answers name none. So "none" says nothing:
 * at worst we wait for one that is gone, as long as for one that is silent. */
static void remember_workers(link_t *link, const Postrider__V1__BrokerHello *hello)
{
    if (hello->n_workers == 0)
        return;
    for (int i = 0; i < link->nworkers; i++)
        pr_free(link->workers[i]);
    pr_free(link->workers);
    link->nworkers = (int)hello->n_workers;
    link->workers = pr_calloc(hello->n_workers, sizeof(char *));
    for (size_t i = 0; i < hello->n_workers; i++)
        link->workers[i] = pr_strdup(hello->workers[i]);
}

/* A broker that is new to us has heard no worker yet: if we hear no other, nobody's silence counts before now. */
static void became_live(io_t *io, link_t *link)
{
    bool alone = true;
    for (int i = 0; i < io->nlinks; i++) {
        const link_t *other = &io->links[i];
        if (other != link && other->live && io->now_ms - other->heard_at_ms < DEAF_MS)
            alone = false;
    }
    link->live = true;
    if (alone)
        pr_sched_deaf(io->sched, io->now_ms);
}

static void on_broker_hello(io_t *io, link_t *link, const Postrider__V1__BrokerHello *hello)
{
    remember_workers(link, hello);
    bool same = hello->instance.len == 16 && memcmp(hello->instance.data, link->instance, 16) == 0;
    if (hello->greet_anew || (!same && link->live)) {
        greet_link(io, link, no_route(), true);
        return;
    }
    if (hello->instance.len == 16)
        memcpy(link->instance, hello->instance.data, 16);
    if (hello->greeting == link->greeting && !link->live)
        became_live(io, link);
}

static void on_grant(link_t *link, const Postrider__V1__Grant *grant)
{
    if (!link->live || grant->n_total != PR_SCHED_CLASSES)
        return;
    for (int c = 0; c < PR_SCHED_CLASSES; c++)
        if (grant->total[c] > link->granted[c])
            link->granted[c] = grant->total[c];
    link->contended = grant->contended;
}

static void answer_worker(io_t *io, link_t *link, pr_bytes_t route, uint32_t greeting, bool anew)
{
    Postrider__V1__BrokerHello hello = POSTRIDER__V1__BROKER_HELLO__INIT;
    char *addresses[] = {io->address};
    hello.instance = (ProtobufCBinaryData){16, link->instance};
    hello.schedulers = addresses;
    hello.n_schedulers = 1;
    hello.greeting = greeting;
    hello.greet_anew = anew;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_BROKER_HELLO;
    envelope.broker_hello = &hello;
    (void)!pr_actor_send(io->actor, link->socket, route, &envelope);
}

static void on_worker_hello(io_t *io, link_t *link, pr_bytes_t route,
                            const Postrider__V1__WorkerHello *hello)
{
    on_held(io, hello->worker_id, hello->n_held, hello->held);
    if (!link->roster)
        return;
    pr_roster_hello_t entry = {.route = route,
                               .id = hello->worker_id,
                               .greeting = hello->greeting,
                               .draining = hello->draining};
    for (size_t i = 0; i < hello->n_kinds; i++)
        if (hello->kinds[i] < 32)
            entry.kinds |= 1u << hello->kinds[i];
    /* Workers that lost their brokers find us one after the other: the first must not prove that the others are dead. */
    if (!pr_roster_worker_by_id(link->roster, hello->worker_id))
        pr_sched_deaf(io->sched, io->now_ms);
    if (pr_roster_worker_hello(link->roster, &entry, io->now_ms, NULL) != PR_OK)
        return;
    answer_worker(io, link, route, hello->greeting, false);
    greet_link(io, link, route, false);
}

static void on_message(io_t *io, link_t *link, const pr_incoming_t *in)
{
    Postrider__V1__Envelope *envelope = NULL;
    pr_error_t error;
    if (pr_envelope_unpack(in->frame, &envelope, &error) != PR_OK) {
        pr_log_error(PR_LOG_WARN, "bus.bad_message", &error);
        return;
    }
    link->heard_at_ms = io->now_ms;
    pr_rc_t known = PR_OK;
    switch (envelope->body_case) {
    case POSTRIDER__V1__ENVELOPE__BODY_BROKER_HELLO:
        if (!link->roster)
            on_broker_hello(io, link, envelope->broker_hello);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_GRANT:
        if (!link->roster)
            on_grant(link, envelope->grant);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_OUTCOME_BATCH:
        on_outcomes(io, link, envelope->outcome_batch);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_WORKER_HELLO:
        on_worker_hello(io, link, in->route, envelope->worker_hello);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_WORKER_HELD:
        on_held(io, envelope->worker_held->worker_id, envelope->worker_held->n_held,
                envelope->worker_held->held);
        if (link->roster)
            known = pr_roster_worker_heard(link->roster, in->route, io->now_ms);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_WORKER_CREDIT:
        if (link->roster && envelope->worker_credit->n_total == PR_SCHED_CLASSES)
            known = pr_roster_worker_credit(link->roster, in->route, envelope->worker_credit->total,
                                            io->now_ms);
        break;
    default:
        break;
    }
    if (known == PR_LOST)
        answer_worker(io, link, in->route, 0, true);
    pr_envelope_destroy(&envelope);
}

static void on_link(void *arg, int64_t now_ms)
{
    link_t *link = arg;
    io_t *io = link->io;
    io->now_ms = now_ms;
    pr_incoming_t in;
    for (int i = 0; i < TURN_MESSAGES && pr_socket_receive(link->socket, &in) == PR_OK; i++)
        on_message(io, link, &in);
}

static void on_state_message(io_t *io, const Postrider__V1__Envelope *envelope)
{
    if (envelope->body_case == POSTRIDER__V1__ENVELOPE__BODY_HINT &&
        envelope->hint->n_last_seq == PR_SCHED_CLASSES) {
        new_hint(io, envelope->hint->last_seq);
    } else if (envelope->body_case == POSTRIDER__V1__ENVELOPE__BODY_BREAKER_COMMAND) {
        const Postrider__V1__BreakerCommand *command = envelope->breaker_command;
        pr_forced_t forced =
            command->verb == POSTRIDER__V1__BREAKER_COMMAND__VERB__VERB_FORCE_OPEN ? PR_FORCED_OPEN
            : command->verb == POSTRIDER__V1__BREAKER_COMMAND__VERB__VERB_FORCE_CLOSED
                ? PR_FORCED_CLOSED
                : PR_FORCED_NOT;
        bool reset = command->verb == POSTRIDER__V1__BREAKER_COMMAND__VERB__VERB_RESET;
        pr_sched_force(io->sched, command->endpoint_id, forced, reset, io->now_ms);
    }
}

static void on_state(void *arg, int64_t now_ms)
{
    state_t *state = arg;
    io_t *io = state->io;
    io->now_ms = now_ms;
    pr_incoming_t in;
    for (int i = 0; i < TURN_MESSAGES && pr_socket_receive(state->socket, &in) == PR_OK; i++) {
        Postrider__V1__Envelope *envelope = NULL;
        if (pr_envelope_unpack(in.frame, &envelope, NULL) == PR_OK)
            on_state_message(io, envelope);
        pr_envelope_destroy(&envelope);
    }
}

bool bus_deaf(const io_t *io)
{
    for (int i = 0; i < io->nlinks; i++)
        if (io->now_ms - io->links[i].heard_at_ms < DEAF_MS)
            return false;
    return true;
}

bool bus_all_heard(const io_t *io, int64_t since_ms)
{
    bool any = false;
    for (int i = 0; i < io->nlinks; i++) {
        const link_t *link = &io->links[i];
        if (link->roster || !link->live)
            continue;
        for (int k = 0; k < link->nworkers; k++) {
            int64_t heard_ms =
                (int64_t)(uintptr_t)pr_map_get(io->heard, worker_key(link->workers[k])) - 1;
            if (heard_ms <= since_ms)
                return false;
            any = true;
        }
    }
    return any;
}

/* ---- sending jobs ---- */

typedef struct {
    Postrider__V1__JobBatch batch;
    Postrider__V1__Job jobs[BATCH_JOBS];
    Postrider__V1__Job *ptrs[BATCH_JOBS];
    Postrider__V1__Token tokens[BATCH_JOBS];
    Postrider__V1__EndpointConfig endpoints[BATCH_JOBS];
    int64_t seqs[BATCH_JOBS];
} frame_t;

static void fill_endpoint(const io_t *io, Postrider__V1__EndpointConfig *to,
                          const endpoint_row_t *row)
{
    postrider__v1__endpoint_config__init(to);
    bool rotated = io->now_ms >= row->rotate_at_ms && row->secret_next_len > 0;
    to->scheme = row->scheme;
    to->secret = rotated ? (ProtobufCBinaryData){row->secret_next_len, row->secret_next}
                         : (ProtobufCBinaryData){row->secret_len, row->secret};
    if (!rotated)
        to->secret_next = (ProtobufCBinaryData){row->secret_next_len, row->secret_next};
    to->success_rule = row->success_rule;
    to->headers = row->header_ptrs;
    to->n_headers = row->nheaders;
    to->tls_ca = row->tls_ca;
    to->egress = row->egress;
    to->http2 = row->http2;
}

/* Strings of the row and the payload are lent to the message; protobuf-c only reads them. */
static void fill_job(io_t *io, frame_t *frame, size_t i, const pr_sched_job_t *job)
{
    const payload_t *payload = job->payload;
    const endpoint_row_t *row = rows_endpoint(io, job->endpoint_id);
    pr_assert(row);
    Postrider__V1__Job *to = &frame->jobs[i];
    postrider__v1__job__init(to);
    postrider__v1__token__init(&frame->tokens[i]);
    frame->tokens[i].salt = job->salt;
    frame->tokens[i].attempt = job->attempt;
    frame->tokens[i].seq = job->seq;
    to->token = &frame->tokens[i];
    to->kind = POSTRIDER__V1__JOB_KIND__JOB_KIND_NOTIFY;
    to->shard = job->shard;
    to->endpoint_id = job->endpoint_id;
    to->class_ = job->class_no;
    to->probe = job->probe;
    to->outbox_id = job->outbox_id;
    to->merchant_id = row->merchant_id;
    to->order_no = (char *)payload->order_no;
    to->notify_id = (char *)payload->notify_id;
    to->try_number = job->tried_before + job->attempt + 1;
    to->event = (char *)payload->event;
    to->url = payload->notify_url ? (char *)payload->notify_url : row->url;
    to->body = (ProtobufCBinaryData){payload->body.len, (uint8_t *)payload->body.data};
    fill_endpoint(io, &frame->endpoints[i], row);
    to->endpoint = &frame->endpoints[i];
    to->timeout_ms = (uint32_t)io->total_timeout_ms;
    frame->ptrs[i] = to;
    frame->seqs[i] = job->seq;
}

static uint64_t link_room(const link_t *link, int class_no)
{
    if (link->roster)
        return pr_roster_room(link->roster, (uint32_t)class_no);
    if (!link->live)
        return 0;
    return link->granted[class_no] - link->sent[class_no] - link->returned[class_no];
}

static bool send_frame(io_t *io, link_t *link, int class_no, frame_t *frame, size_t count)
{
    pr_bytes_t route = no_route();
    pr_route_t copy;
    if (link->roster) {
        const pr_roster_worker_t *worker = pr_roster_choose(
            link->roster, (uint32_t)class_no, 1u << POSTRIDER__V1__JOB_KIND__JOB_KIND_NOTIFY);
        if (!worker || pr_roster_worker_room(worker, (uint32_t)class_no) < count)
            return false;
        copy = worker->route;
        route = pr_bytes(copy.bytes, copy.len);
        pr_roster_sent(link->roster, worker, (uint32_t)class_no, (uint32_t)count);
    }
    postrider__v1__job_batch__init(&frame->batch);
    frame->batch.session = (ProtobufCBinaryData){16, io->session};
    frame->batch.class_ = (uint32_t)class_no;
    frame->batch.jobs = frame->ptrs;
    frame->batch.n_jobs = count;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_JOB_BATCH;
    envelope.job_batch = &frame->batch;
    if (pr_actor_send(io->actor, link->socket, route, &envelope) == PR_OK) {
        link->sent[class_no] += count;
        return true;
    }
    if (link->roster)
        pr_roster_unsent(link->roster, route, (uint32_t)class_no, (uint32_t)count);
    return false;
}

static uint64_t batch_room(const link_t *link, int class_no)
{
    uint64_t room = link_room(link, class_no);
    if (link->roster && room > 0) {
        const pr_roster_worker_t *worker = pr_roster_choose(
            link->roster, (uint32_t)class_no, 1u << POSTRIDER__V1__JOB_KIND__JOB_KIND_NOTIFY);
        room = worker ? pr_roster_worker_room(worker, (uint32_t)class_no) : 0;
    }
    return room < BATCH_JOBS ? room : BATCH_JOBS;
}

/* One batch of the class over the link; false when there is nothing to send or it cannot be sent. */
static bool dispatch_batch(io_t *io, link_t *link, int class_no)
{
    /* half of what an envelope may hold: the last job, however large, fits into the other half */
    enum { FRAME_BYTES = PR_WIRE_FRAME_MAX / 2 };
    _Static_assert(FRAME_BYTES + PR_WIRE_JOB_MAX < PR_WIRE_FRAME_MAX, "the last job fits");
    frame_t frame;
    uint64_t room = batch_room(link, class_no);
    size_t count = 0, bytes = 0;
    while (count < room && bytes < FRAME_BYTES) {
        const pr_sched_job_t *job = pr_sched_next(io->sched, (uint8_t)class_no, io->now_ms);
        if (!job)
            break;
        fill_job(io, &frame, count, job);
        bytes += postrider__v1__job__get_packed_size(&frame.jobs[count]) + 8; /* its tag, length */
        count++;
    }
    if (count == 0)
        return false;
    if (send_frame(io, link, class_no, &frame, count))
        return true;
    for (size_t i = count; i-- > 0;)
        pr_sched_undo(io->sched, frame.seqs[i], io->now_ms);
    return false;
}

void bus_dispatch(io_t *io)
{
    if (!session_may_dispatch(io) || io->unwritten > UNWRITTEN_MAX || io->draining)
        return;
    for (int class_no = 0; class_no < PR_SCHED_CLASSES; class_no++) {
        int idle = 0;
        while (idle < io->nlinks) { /* links take turns, batch by batch */
            link_t *link = &io->links[io->next_link];
            io->next_link = (io->next_link + 1) % io->nlinks;
            idle = dispatch_batch(io, link, class_no) ? 0 : idle + 1;
        }
    }
}

/* ---- demand and unused grants ---- */

static void send_demand(io_t *io, link_t *link)
{
    enum { ENOUGH = 256 };
    Postrider__V1__Demand demand = POSTRIDER__V1__DEMAND__INIT;
    uint32_t want[PR_SCHED_CLASSES];
    for (uint8_t c = 0; c < PR_SCHED_CLASSES; c++)
        want[c] = pr_sched_want(io->sched, c, ENOUGH);
    demand.session = (ProtobufCBinaryData){16, io->session};
    demand.want = want;
    demand.sent = link->sent;
    demand.returned = link->returned;
    demand.n_want = demand.n_sent = demand.n_returned = PR_SCHED_CLASSES;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_DEMAND;
    envelope.demand = &demand;
    if (pr_actor_send(io->actor, link->socket, no_route(), &envelope) != PR_OK)
        return;
    link->demand_at_ms = io->now_ms;
    memcpy(link->demanded, want, sizeof link->demanded);
}

void bus_demand(io_t *io)
{
    bool wants[PR_SCHED_CLASSES];
    for (uint8_t c = 0; c < PR_SCHED_CLASSES; c++)
        wants[c] = pr_sched_want(io->sched, c, 1) > 0;
    for (int i = 0; i < io->nlinks; i++) {
        link_t *link = &io->links[i];
        if (link->roster || !link->live)
            continue;
        bool waits = false, changed = false;
        for (int c = 0; c < PR_SCHED_CLASSES; c++) {
            uint64_t room = link_room(link, c);
            waits = waits || (wants[c] && room == 0);
            changed = changed || wants[c] != (link->demanded[c] > 0);
            if (wants[c] || room == 0 || !link->contended) {
                link->idle_since_ms[c] = io->now_ms;
            } else if (io->now_ms - link->idle_since_ms[c] >= RETURN_MS) {
                link->returned[c] += room;
                changed = true;
            }
        }
        int64_t every_ms = waits ? DEMAND_MS : DEMAND_IDLE_MS;
        if ((waits && changed) || (changed && link->contended) ||
            io->now_ms - link->demand_at_ms >= every_ms)
            send_demand(io, link);
    }
}

/* ---- acknowledgements ---- */

static void send_acks(io_t *io, acks_t *acks)
{
    enum { MOST = PR_COUNT(acks->tokens) };
    Postrider__V1__Token tokens[MOST], *ptrs[MOST];
    for (int i = 0; i < acks->count; i++) {
        postrider__v1__token__init(&tokens[i]);
        tokens[i].salt = acks->tokens[i].salt;
        tokens[i].attempt = acks->tokens[i].attempt;
        tokens[i].seq = acks->tokens[i].seq;
        ptrs[i] = &tokens[i];
    }
    Postrider__V1__OutcomeAck ack = POSTRIDER__V1__OUTCOME_ACK__INIT;
    ack.worker_id = acks->worker_id;
    ack.tokens = ptrs;
    ack.n_tokens = (size_t)acks->count;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_OUTCOME_ACK;
    envelope.outcome_ack = &ack;
    pr_bytes_t route = no_route();
    if (acks->link->roster) {
        const pr_roster_worker_t *worker =
            pr_roster_worker_by_id(acks->link->roster, acks->worker_id);
        if (worker)
            route = pr_bytes(worker->route.bytes, worker->route.len);
    }
    if (!acks->link->roster || route.len > 0)
        (void)!pr_actor_send(io->actor, acks->link->socket, route,
                             &envelope); /* lost: the worker says it again */
    acks->count = 0;
}

void bus_ack(io_t *io, const outcome_t *outcome, const token_t *token)
{
    acks_t *acks = NULL;
    for (int i = 0; i < io->nacks && !acks; i++)
        if (io->acks[i].link == outcome->link &&
            strcmp(io->acks[i].worker_id, outcome->worker_id) == 0)
            acks = &io->acks[i];
    if (!acks) {
        if (io->nacks == (int)PR_COUNT(io->acks))
            bus_flush_acks(io);
        acks = &io->acks[io->nacks++];
        acks->link = outcome->link;
        acks->count = 0;
        memcpy(acks->worker_id, outcome->worker_id, sizeof acks->worker_id);
    }
    acks->tokens[acks->count++] = *token;
    if (acks->count == (int)PR_COUNT(acks->tokens))
        send_acks(io, acks);
}

void bus_flush_acks(io_t *io)
{
    for (int i = 0; i < io->nacks; i++)
        if (io->acks[i].count > 0)
            send_acks(io, &io->acks[i]);
    io->nacks = 0;
}

/* ---- time ---- */

void bus_timer(void *arg, int64_t now_ms)
{
    io_t *io = arg;
    io->now_ms = now_ms;
    bus_greet(io);
    for (int i = 0; i < io->nlinks; i++) {
        link_t *link = &io->links[i];
        pr_roster_gone_t gone;
        if (!link->roster)
            continue;
        while (pr_roster_expire(link->roster, now_ms, &gone))
            pr_log_warn("worker.silent", "worker=%s", gone.id);
        for (size_t k = 0; k < pr_roster_workers(link->roster); k++) {
            const pr_roster_worker_t *worker = pr_roster_worker_at(link->roster, k);
            answer_worker(io, link, pr_bytes(worker->route.bytes, worker->route.len),
                          worker->greeting, false);
        }
    }
}

/* ---- start and stop ---- */

static link_t *link_new(io_t *io, pr_socket_type_t type)
{
    link_t *link = &io->links[io->nlinks++];
    link->io = io;
    link->socket = pr_socket_new(pr_actor_bus(io->actor), type, NULL);
    pr_loop_add_socket(io->loop, link->socket, on_link, link);
    return link;
}

static pr_rc_t connect_broker(io_t *io, const char *base, pr_error_t *error)
{
    PR_CLEANUP_FREE char *work = pr_bus_address(base, "work");
    PR_CLEANUP_FREE char *facts = pr_bus_address(base, "state");
    link_t *link = link_new(io, PR_SOCKET_DEALER);
    pr_rc_t rc = pr_socket_connect(link->socket, work, error);
    if (rc != PR_OK)
        return rc;
    state_t *state = &io->states[io->nstates++];
    state->io = io;
    state->socket = pr_socket_new(pr_actor_bus(io->actor), PR_SOCKET_SUB, NULL);
    pr_socket_subscribe(state->socket, "hint");
    pr_socket_subscribe(state->socket, "breaker_command");
    pr_loop_add_socket(io->loop, state->socket, on_state, state);
    return pr_socket_connect(state->socket, facts, error);
}

/* Where workers reach us when every broker is away: as configured, else beside the first broker's ipc sockets. */
static char *own_address(const io_t *io, const char *const *brokers, int count)
{
    const char *configured = pr_config_text(pr_actor_config(io->actor), "bus.scheduler");
    if (*configured)
        return pr_strdup(configured);
    const char *slash =
        count > 0 && strncmp(brokers[0], "ipc://", 6) == 0 ? strrchr(brokers[0], '/') : NULL;
    if (!slash)
        return pr_strdup(""); /* over tcp only a configured address makes sense */
    /* of our id: in containers two schedulers may have one process id */
    uint32_t name = pr_fnv_fold(pr_fnv_text(PR_FNV_START, pr_actor_id(io->actor)));
    return pr_asprintf("%.*s/s%08x", (int)(slash - brokers[0]), brokers[0], name);
}

pr_rc_t bus_start(io_t *io, pr_error_t *error)
{
    const char *const *brokers;
    int count = pr_config_list(pr_actor_config(io->actor), "bus.brokers", &brokers);
    if (count >= LINKS_MAX)
        return pr_error_set(error, PR_BAD, "config", "", "bus.brokers: at most %d brokers",
                            LINKS_MAX - 1);
    for (int i = 0; i < count; i++) {
        pr_rc_t rc = connect_broker(io, brokers[i], error);
        if (rc != PR_OK)
            return rc;
    }
    io->address = own_address(io, brokers, count);
    if (*io->address == '\0')
        return PR_OK;
    link_t *own = link_new(io, PR_SOCKET_ROUTER);
    own->roster = pr_roster_new(PR_ROSTER_SILENCE_MS);
    pr_random_bytes(own->instance, sizeof own->instance);
    return pr_socket_bind(own->socket, io->address, error);
}

void bus_stop(io_t *io)
{
    for (int i = 0; i < io->nlinks; i++) {
        link_t *link = &io->links[i];
        pr_loop_remove_socket(io->loop, link->socket);
        pr_socket_destroy(&link->socket);
        pr_roster_destroy(&link->roster);
        for (int k = 0; k < link->nworkers; k++)
            pr_free(link->workers[k]);
        pr_free(link->workers);
    }
    for (int i = 0; i < io->nstates; i++) {
        pr_loop_remove_socket(io->loop, io->states[i].socket);
        pr_socket_destroy(&io->states[i].socket);
    }
    pr_free(io->address);
}
