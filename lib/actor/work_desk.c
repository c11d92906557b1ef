/* SPDX-License-Identifier: Apache-2.0 */
#include "actor/work_desk.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "core/allowance.h"

#include <stdio.h>
#include <string.h>

#define LINKS_MAX 16
#define TURN_MESSAGES 256 /* read from one socket in a turn */
#define HELLO_MS 1000
#define DEAF_MS 1500   /* a broker speaks each second */
#define DEMAND_MS 20   /* between two demands while jobs wait for room */
#define REMIND_MS 1000 /* between two that say the same */
#define SESSION_BYTES 16
#define SHARDS_BYTES 32

typedef struct {
    pr_work_desk_t *desk;
    pr_socket_t *socket;
    pr_allowance_t allowance;
    uint8_t instance[16];
    int64_t heard_at_ms, demand_at_ms;
    uint32_t demanded[PR_CLASSES];
} link_t;

/* Acknowledgements for one worker, until the flush. */
typedef struct {
    int link;
    char worker_id[65];
    size_t count;
    Postrider__V1__Token tokens[256];
} acks_t;

struct pr_work_desk_t {
    pr_work_desk_options_t options;
    pr_loop_t *loop;
    int timer;
    link_t links[LINKS_MAX];
    int nlinks, next_link; /* whose turn it is */
    bool greeted;
    uint8_t session[SESSION_BYTES];
    uint8_t shards[SHARDS_BYTES];
    acks_t acks[32];
    int nacks;
};

static pr_bytes_t no_route(void)
{
    return pr_bytes(NULL, 0);
}

static bool in_session(const pr_work_desk_t *self)
{
    static const uint8_t none[SESSION_BYTES] = {0};
    return memcmp(self->session, none, sizeof none) != 0;
}

/* ---- greeting ---- */

static void greet(link_t *link, bool anew)
{
    pr_work_desk_t *self = link->desk;
    if (!in_session(self))
        return;
    if (anew || !link->allowance.live)
        (void)pr_allowance_greet(&link->allowance);
    Postrider__V1__SchedulerHello hello = POSTRIDER__V1__SCHEDULER_HELLO__INIT;
    hello.session = (ProtobufCBinaryData){SESSION_BYTES, self->session};
    hello.shards = (ProtobufCBinaryData){SHARDS_BYTES, self->shards};
    hello.greeting = link->allowance.greeting;
    hello.again = link->allowance.live; /* goes on counting: who does not know us must say so */
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_SCHEDULER_HELLO;
    envelope.scheduler_hello = &hello;
    (void)!pr_actor_send(self->options.actor, link->socket, no_route(),
                         &envelope); /* again in a second */
}

static void greet_all(pr_work_desk_t *self, bool anew)
{
    for (int i = 0; i < self->nlinks; i++)
        greet(&self->links[i], anew);
}

static void on_second(void *arg, int64_t now_ms)
{
    (void)now_ms;
    greet_all(arg, false);
}

void pr_work_desk_session(pr_work_desk_t *self, const uint8_t *session, const uint8_t *shards)
{
    static const uint8_t none[SHARDS_BYTES] = {0};
    uint8_t before[SESSION_BYTES];
    memcpy(before, self->session, sizeof before);
    memcpy(self->session, session ? session : none, SESSION_BYTES);
    memcpy(self->shards, shards && session ? shards : none, SHARDS_BYTES);
    bool another = memcmp(before, self->session, sizeof before) != 0;
    for (int i = 0; another && i < self->nlinks; i++)
        pr_allowance_lost(&self->links[i].allowance);
    greet_all(self, another);
}

/* ---- what comes in ---- */

static void on_broker_hello(link_t *link, const Postrider__V1__BrokerHello *hello)
{
    bool named = hello->instance.len == sizeof link->instance;
    bool same = named && memcmp(hello->instance.data, link->instance, sizeof link->instance) == 0;
    if (hello->greet_anew || (!same && link->allowance.live)) {
        greet(link, true);
        return;
    }
    if (named)
        memcpy(link->instance, hello->instance.data, sizeof link->instance);
    (void)pr_allowance_answered(&link->allowance, hello->greeting);
}

static void on_message(link_t *link, const Postrider__V1__Envelope *envelope)
{
    const pr_work_desk_options_t *to = &link->desk->options;
    switch (envelope->body_case) {
    case POSTRIDER__V1__ENVELOPE__BODY_BROKER_HELLO:
        on_broker_hello(link, envelope->broker_hello);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_GRANT:
        if (envelope->grant->n_total == PR_CLASSES)
            pr_allowance_granted(&link->allowance, envelope->grant->total,
                                 envelope->grant->contended, link->heard_at_ms);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_OUTCOME_BATCH:
        for (size_t i = 0; i < envelope->outcome_batch->n_outcomes; i++)
            to->on_outcome(to->arg, (int)(link - link->desk->links),
                           envelope->outcome_batch->outcomes[i]);
        break;
    default: /* what workers hold, too: a lease, not a silence, says when a call is given up */
        break;
    }
}

static void on_link(void *arg, int64_t now_ms)
{
    link_t *link = arg;
    pr_incoming_t in;
    for (int i = 0; i < TURN_MESSAGES && pr_socket_receive(link->socket, &in) == PR_OK; i++) {
        Postrider__V1__Envelope *envelope = NULL;
        pr_error_t error;
        link->heard_at_ms = now_ms;
        if (pr_envelope_unpack(in.frame, &envelope, &error) == PR_OK)
            on_message(link, envelope);
        else
            pr_log_error(PR_LOG_WARN, "bus.bad_message", &error);
        pr_envelope_destroy(&envelope);
    }
}

bool pr_work_desk_deaf(const pr_work_desk_t *self)
{
    for (int i = 0; i < self->nlinks; i++)
        if (pr_loop_now_ms(self->loop) - self->links[i].heard_at_ms < DEAF_MS)
            return false;
    return true;
}

/* ---- jobs ---- */

uint64_t pr_work_desk_room(const pr_work_desk_t *self, uint32_t cls)
{
    uint64_t room = 0;
    for (int i = 0; i < self->nlinks; i++)
        room += pr_allowance_room(&self->links[i].allowance, cls);
    return room;
}

size_t pr_work_desk_send(pr_work_desk_t *self, uint32_t cls, Postrider__V1__Job **jobs,
                         size_t count)
{
    for (int i = 0; i < self->nlinks; i++) { /* brokers take turns */
        link_t *link = &self->links[self->next_link];
        self->next_link = (self->next_link + 1) % self->nlinks;
        uint64_t room = pr_allowance_room(&link->allowance, cls);
        size_t most = room < PR_WORK_JOBS ? (size_t)room : PR_WORK_JOBS;
        most = count < most ? count : most;
        if (most == 0)
            continue;
        Postrider__V1__JobBatch batch = POSTRIDER__V1__JOB_BATCH__INIT;
        batch.session = (ProtobufCBinaryData){SESSION_BYTES, self->session};
        batch.class_ = cls;
        batch.jobs = jobs;
        batch.n_jobs = most;
        Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
        envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_JOB_BATCH;
        envelope.job_batch = &batch;
        if (pr_actor_send(self->options.actor, link->socket, no_route(), &envelope) == PR_OK) {
            pr_allowance_send(&link->allowance, cls, (uint32_t)most, pr_loop_now_ms(self->loop));
            return most;
        }
    }
    return 0;
}

/* ---- demand ---- */

static void say_demand(link_t *link, const uint32_t want[PR_CLASSES], int64_t now_ms)
{
    Postrider__V1__Demand demand = POSTRIDER__V1__DEMAND__INIT;
    uint32_t wants[PR_CLASSES];
    memcpy(wants, want, sizeof wants);
    demand.session = (ProtobufCBinaryData){SESSION_BYTES, link->desk->session};
    demand.want = wants;
    demand.sent = link->allowance.sent;
    demand.returned = link->allowance.returned;
    demand.n_want = demand.n_sent = demand.n_returned = PR_CLASSES;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_DEMAND;
    envelope.demand = &demand;
    if (pr_actor_send(link->desk->options.actor, link->socket, no_route(), &envelope) != PR_OK)
        return;
    link->demand_at_ms = now_ms;
    memcpy(link->demanded, want, sizeof link->demanded);
}

static void demand(link_t *link, const uint32_t want[PR_CLASSES], int64_t now_ms)
{
    if (!link->allowance.live)
        return;
    bool waits = false, changed = false;
    for (uint32_t c = 0; c < PR_CLASSES; c++) {
        waits = waits || (want[c] > 0 && pr_allowance_room(&link->allowance, c) == 0);
        changed = changed || (want[c] > 0) != (link->demanded[c] > 0);
    }
    bool given = pr_allowance_give_back(&link->allowance, now_ms);
    int64_t passed_ms = now_ms - link->demand_at_ms;
    if (given || (changed && (waits || link->allowance.contended)) ||
        passed_ms >= (waits ? DEMAND_MS : REMIND_MS))
        say_demand(link, want, now_ms);
}

void pr_work_desk_demand(pr_work_desk_t *self, const uint32_t want[PR_CLASSES])
{
    for (int i = 0; i < self->nlinks; i++)
        demand(&self->links[i], want, pr_loop_now_ms(self->loop));
}

int64_t pr_work_desk_deadline_ms(const pr_work_desk_t *self)
{
    int64_t at_ms = INT64_MAX;
    for (int i = 0; i < self->nlinks; i++) {
        int64_t due_ms = pr_allowance_due_ms(&self->links[i].allowance);
        if (due_ms < at_ms)
            at_ms = due_ms;
    }
    return at_ms;
}

/* ---- acknowledgements ---- */

static void send_acks(pr_work_desk_t *self, acks_t *acks)
{
    Postrider__V1__Token *tokens[PR_COUNT(acks->tokens)];
    for (size_t i = 0; i < acks->count; i++)
        tokens[i] = &acks->tokens[i];
    Postrider__V1__OutcomeAck ack = POSTRIDER__V1__OUTCOME_ACK__INIT;
    ack.worker_id = acks->worker_id;
    ack.tokens = tokens;
    ack.n_tokens = acks->count;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_OUTCOME_ACK;
    envelope.outcome_ack = &ack;
    (void)!pr_actor_send(self->options.actor, self->links[acks->link].socket, no_route(),
                         &envelope); /* lost: the worker says it again */
    acks->count = 0;
}

void pr_work_desk_ack(pr_work_desk_t *self, int link, const char *worker_id,
                      const Postrider__V1__Token *token)
{
    pr_assert(link >= 0 && link < self->nlinks);
    acks_t *acks = NULL;
    for (int i = 0; i < self->nacks && !acks; i++)
        if (self->acks[i].link == link && strcmp(self->acks[i].worker_id, worker_id) == 0)
            acks = &self->acks[i];
    if (!acks) {
        if (self->nacks == (int)PR_COUNT(self->acks))
            pr_work_desk_flush_acks(self);
        acks = &self->acks[self->nacks++];
        acks->link = link;
        acks->count = 0;
        (void)snprintf(acks->worker_id, sizeof acks->worker_id, "%s", worker_id);
    }
    Postrider__V1__Token *to = &acks->tokens[acks->count++];
    postrider__v1__token__init(to);
    to->salt = token->salt;
    to->attempt = token->attempt;
    to->seq = token->seq;
    if (acks->count == PR_COUNT(acks->tokens))
        send_acks(self, acks);
}

void pr_work_desk_flush_acks(pr_work_desk_t *self)
{
    for (int i = 0; i < self->nacks; i++)
        if (self->acks[i].count > 0)
            send_acks(self, &self->acks[i]);
    self->nacks = 0;
}

/* ---- start and stop ---- */

static pr_rc_t connect_all(pr_work_desk_t *self, pr_error_t *error)
{
    const char *const *brokers;
    int count = pr_config_list(pr_actor_config(self->options.actor), "bus.brokers", &brokers);
    if (count > LINKS_MAX)
        return pr_error_set(error, PR_BAD, "config", "", "bus.brokers: at most %d brokers",
                            LINKS_MAX);
    for (int i = 0; i < count; i++) {
        PR_CLEANUP_FREE char *address = pr_bus_address(brokers[i], self->options.socket);
        link_t *link = &self->links[self->nlinks++];
        link->desk = self;
        link->heard_at_ms = INT64_MIN / 2;
        link->socket = pr_socket_new(pr_actor_bus(self->options.actor), PR_SOCKET_DEALER, NULL);
        pr_loop_add_socket(self->loop, link->socket, on_link, link);
        pr_rc_t rc = pr_socket_connect(link->socket, address, error);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

pr_rc_t pr_work_desk_new(const pr_work_desk_options_t *options, pr_work_desk_t **out,
                         pr_error_t *error)
{
    pr_work_desk_t *self = PR_NEW(pr_work_desk_t);
    self->options = *options;
    self->loop = pr_actor_loop(options->actor);
    pr_rc_t rc = connect_all(self, error);
    if (rc != PR_OK) {
        pr_work_desk_destroy(&self);
        return rc;
    }
    self->timer = pr_loop_add_timer(self->loop, pr_loop_now_ms(self->loop) + HELLO_MS, HELLO_MS,
                                    on_second, self);
    *out = self;
    return PR_OK;
}

void pr_work_desk_destroy(pr_work_desk_t **self_ptr)
{
    pr_work_desk_t *self = *self_ptr;
    if (!self)
        return;
    if (self->timer)
        pr_loop_timer_at(self->loop, self->timer, INT64_MAX);
    for (int i = 0; i < self->nlinks; i++) {
        pr_loop_remove_socket(self->loop, self->links[i].socket);
        pr_socket_destroy(&self->links[i].socket);
    }
    pr_free(self);
    *self_ptr = NULL;
}
