/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes: lib/actor's actor and loop, the clocks, randomness and the log, all on virtual time.
 *
 * A turn has the order of lib/actor/loop.c: clock, timers, inputs, turn handlers. A process that is killed in the middle of a
 * turn is marked dead: from there on sim_effect() says no, so that its code runs on into nothing; with the end of the turn it
 * is taken down. That is a crash between two effects without a second stack.
 */
#include "actors/circuit-breaker/circuit_breaker_io.h"
#include "actors/dead-letter/dead_letter_io.h"
#include "actors/notifier/notifier_io.h"
#include "actors/outbox-relay/outbox_relay_io.h"
#include "actors/scheduler/scheduler_io.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/broker_io.h"
#include "sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define INPUTS_MAX 64
#define TIMERS_MAX 64
#define TURNS_MAX 16
#define WALL_BASE_US INT64_C(1796000000000000)
#define LATE_US 2000 /* a process that could run runs at most so much later */

typedef struct {
    pr_socket_t *socket;
    pr_db_t *db;
    int fd; /* -1: none; else the http object of the process */
    bool used;
    pr_loop_fn *fn;
    void *arg;
} input_t;

typedef struct {
    int64_t at_ms, period_ms;
    pr_loop_fn *fn;
    void *arg;
} loop_timer_t;

struct pr_loop_t {
    input_t inputs[INPUTS_MAX];
    int ninputs;
    loop_timer_t timers[TIMERS_MAX];
    int ntimers;
    struct {
        pr_loop_fn *fn;
        void *arg;
    } turns[TURNS_MAX];
    int nturns;
    int64_t now_ms;
    bool again;
};

typedef enum { STARTING = 0, READY, DRAINING, STOPPED } life_t;

struct pr_actor_t {
    sim_slot_t *slot;
    const pr_actor_spec_t *spec;
    char id[65];
    pr_loop_t loop;
    pr_bus_t *bus;
    pr_facts_t *facts;
    pr_buffer_t frame;
    void *io;
    life_t life;
    bool dead;
    uint32_t effects_left; /* 0: not to be killed by count */
    int64_t down_us;       /* how long it is to stay away after its end */
    int64_t wake_us, paused_until_us, paused_since_us, drain_until_us;
};

static const pr_actor_spec_t *const specs[SIM_KINDS] = {
    [SIM_BROKER] = &pr_broker_spec,       [SIM_RELAY] = &pr_relay_spec,
    [SIM_SCHEDULER] = &pr_scheduler_spec, [SIM_NOTIFIER] = &pr_notifier_spec,
    [SIM_BREAKER] = &pr_watch_spec,       [SIM_DEAD_LETTER] = &pr_dead_spec,
};

/* ---- clocks and chance ---- */

static int64_t mono_us(const pr_actor_t *actor)
{
    return sim->now_us + (actor ? actor->slot->mono_offset_us : 0);
}

int64_t pr_clock_mono_us(void)
{
    return mono_us(sim->current);
}

int64_t pr_clock_mono_ms(void)
{
    return pr_clock_mono_us() / 1000;
}

int64_t pr_clock_wall_us(void)
{
    return WALL_BASE_US + sim->now_us + (sim->current ? sim->current->slot->wall_offset_us : 0);
}

int64_t pr_clock_wall_s(void)
{
    return pr_clock_wall_us() / SIM_SECOND;
}

void pr_random_bytes(void *out, size_t len)
{
    uint8_t *at = out;
    for (size_t i = 0; i < len; i += 8) {
        uint64_t bits = sim_random();
        memcpy(at + i, &bits, len - i < 8 ? len - i : 8);
    }
}

uint64_t pr_random_u64(void)
{
    return sim_random();
}

/* ---- the log is the trace ---- */

__attribute__((format(printf, 2, 0))) static void log_line(const char *event, const char *fmt,
                                                           va_list args)
{
    char text[600];
    vsnprintf(text, sizeof text, fmt, args);
    sim_trace("  %s %s", event, text);
}

void pr_log_init(const char *actor, pr_log_level_t level)
{
    (void)actor;
    (void)level;
}

pr_log_level_t pr_log_level_parse(const char *text)
{
    (void)text;
    return PR_LOG_INFO;
}

void pr_log(pr_log_level_t level, const char *event, const char *fmt, ...)
{
    if (!sim->trace || level >= PR_LOG_DEBUG)
        return;
    va_list args;
    va_start(args, fmt);
    log_line(event, fmt, args);
    va_end(args);
}

void pr_log_limited(pr_log_level_t level, const char *event, const char *key, const char *fmt, ...)
{
    (void)key;
    if (!sim->trace || level >= PR_LOG_DEBUG)
        return;
    va_list args;
    va_start(args, fmt);
    log_line(event, fmt, args);
    va_end(args);
}

void pr_log_error(pr_log_level_t level, const char *event, const pr_error_t *error)
{
    (void)level;
    if (sim->trace)
        sim_trace("  %s %s %s", event, error->code, error->text);
}

/* ---- the loop ---- */

static void add_input(pr_loop_t *self, input_t input)
{
    int i = 0;
    while (i < self->ninputs && self->inputs[i].used)
        i++;
    pr_assert(i < INPUTS_MAX);
    self->inputs[i] = input;
    self->inputs[i].used = true;
    if (i == self->ninputs)
        self->ninputs++;
}

static void remove_input(pr_loop_t *self, const pr_socket_t *socket, const pr_db_t *db, int fd)
{
    for (int i = 0; i < self->ninputs; i++) {
        input_t *input = &self->inputs[i];
        if (input->used && input->socket == socket && input->db == db && input->fd == fd)
            *input = (input_t){.fd = -1};
    }
}

void pr_loop_add_socket(pr_loop_t *self, pr_socket_t *socket, pr_loop_fn *fn, void *arg)
{
    add_input(self, (input_t){.socket = socket, .fd = -1, .fn = fn, .arg = arg});
}

void pr_loop_remove_socket(pr_loop_t *self, pr_socket_t *socket)
{
    remove_input(self, socket, NULL, -1);
}

void pr_loop_add_fd(pr_loop_t *self, int fd, short events, pr_loop_fn *fn, void *arg)
{
    (void)events;
    add_input(self, (input_t){.fd = fd, .fn = fn, .arg = arg});
}

void pr_loop_remove_fd(pr_loop_t *self, int fd)
{
    remove_input(self, NULL, NULL, fd);
}

void pr_loop_add_db(pr_loop_t *self, pr_db_t *db)
{
    add_input(self, (input_t){.db = db, .fd = -1});
}

void pr_loop_remove_db(pr_loop_t *self, pr_db_t *db)
{
    remove_input(self, NULL, db, -1);
}

int pr_loop_add_timer(pr_loop_t *self, int64_t first_at_ms, int64_t period_ms, pr_loop_fn *fn,
                      void *arg)
{
    pr_assert(self->ntimers < TIMERS_MAX && period_ms >= 0);
    self->timers[self->ntimers] = (loop_timer_t){first_at_ms, period_ms, fn, arg};
    return ++self->ntimers;
}

void pr_loop_timer_at(pr_loop_t *self, int id, int64_t at_ms)
{
    pr_assert(id > 0 && id <= self->ntimers);
    self->timers[id - 1].at_ms = at_ms;
}

void pr_loop_add_turn(pr_loop_t *self, pr_loop_fn *fn, void *arg)
{
    pr_assert(self->nturns < TURNS_MAX);
    self->turns[self->nturns].fn = fn;
    self->turns[self->nturns++].arg = arg;
}

void pr_loop_again(pr_loop_t *self)
{
    self->again = true;
}

int64_t pr_loop_now_ms(const pr_loop_t *self)
{
    return self->now_ms;
}

/* ---- what an actor asks of its skeleton ---- */

pr_loop_t *pr_actor_loop(pr_actor_t *self)
{
    return &self->loop;
}

pr_bus_t *pr_actor_bus(pr_actor_t *self)
{
    return self->bus;
}

const pr_config_t *pr_actor_config(const pr_actor_t *self)
{
    return self->slot->config;
}

const char *pr_actor_id(const pr_actor_t *self)
{
    return self->id;
}

bool pr_actor_draining(const pr_actor_t *self)
{
    return self->life == DRAINING;
}

void pr_actor_count(pr_actor_t *self, uint64_t handled)
{
    (void)self;
    (void)handled;
}

void pr_actor_ready(pr_actor_t *self)
{
    if (self->life == STARTING)
        self->life = READY;
}

void pr_actor_fail(pr_actor_t *self, pr_rc_t rc, const pr_error_t *error)
{
    (void)rc;
    sim_fail("%s ends itself: %s %s", self->slot->name, error ? error->code : "",
             error ? error->text : "");
    self->life = STOPPED;
}

static pr_bytes_t pack(pr_actor_t *self, Postrider__V1__Envelope *envelope)
{
    const uint64_t random[2] = {1, sim->events};
    pr_envelope_pack(envelope, self->id, pr_clock_wall_us(), random, &self->frame);
    return pr_buffer_bytes(&self->frame);
}

pr_rc_t pr_actor_send(pr_actor_t *self, pr_socket_t *socket, pr_bytes_t route_or_topic,
                      Postrider__V1__Envelope *envelope)
{
    pr_rc_t rc = pr_socket_send(socket, route_or_topic, pack(self, envelope));
    if (rc == PR_OK && !self->dead)
        sim_check_sent(self, envelope);
    return rc;
}

void pr_actor_send_fact(pr_actor_t *self, Postrider__V1__Envelope *envelope)
{
    if (self->facts == NULL)
        self->facts = pr_facts_new(self->bus, self->slot->config);
    pr_facts_send(self->facts, pack(self, envelope));
}

/* ---- life and death ---- */

sim_slot_t *sim_slot_of(const pr_actor_t *actor)
{
    return actor->slot;
}

bool sim_alive(const pr_actor_t *actor)
{
    return actor && !actor->dead;
}

bool sim_paused(const pr_actor_t *actor)
{
    return actor->paused_until_us > sim->now_us;
}

/* docs/protocol.md, section 7: a killed broker, relay, circuit-breaker or dead-letter repeats nothing; nor does a scheduler while
 * all workers answer. But a broker that dies soon after its start has drawn workers from the schedulers' own sockets already. */
static void kill_fault(const sim_slot_t *slot)
{
    bool young = slot->kind == SIM_BROKER && sim->now_us - slot->started_us < 3 * SIM_SECOND;
    if (slot->kind == SIM_NOTIFIER || young)
        sim_check_fault(sim->now_us);
    if (slot->kind == SIM_SCHEDULER)
        sim_check_takeover();
}

bool sim_effect(void)
{
    pr_actor_t *actor = sim->current;
    if (!actor)
        return true;
    if (actor->dead)
        return false;
    if (actor->effects_left > 0 && --actor->effects_left == 0) {
        sim_trace("** killed here");
        kill_fault(actor->slot);
        actor->dead = true;
        return false;
    }
    return true;
}

void sim_wake(pr_actor_t *actor, int64_t at_us)
{
    if (at_us < actor->wake_us)
        actor->wake_us = at_us;
}

int64_t sim_slot_wake_us(const sim_slot_t *slot)
{
    const pr_actor_t *actor = slot->actor;
    if (!actor)
        return slot->start_at_us;
    return actor->wake_us > actor->paused_until_us ? actor->wake_us : actor->paused_until_us;
}

void sim_slot_start(sim_slot_t *slot)
{
    pr_actor_t *actor = PR_NEW(pr_actor_t);
    slot->actor = actor;
    slot->start_at_us = SIM_NEVER;
    slot->lives++;
    slot->started_us = sim->now_us;
    actor->slot = slot;
    actor->spec = specs[slot->kind];
    actor->down_us = 100 * SIM_MS;
    actor->drain_until_us = SIM_NEVER;
    snprintf(actor->id, sizeof actor->id, "%s-%d", slot->name, slot->lives);
    pr_buffer_init(&actor->frame, PR_WIRE_FRAME_MAX);
    sim->current = actor;
    actor->loop.now_ms = pr_clock_mono_ms();
    actor->bus = pr_bus_new();
    sim_trace("** starts, life %d", slot->lives);
    pr_error_t error = {0};
    if (actor->spec->start(actor, &actor->io, &error) != PR_OK)
        sim_fail("%s does not start: %s", slot->name, error.text);
    actor->wake_us = sim->now_us;
    sim->current = NULL;
}

/* What the kernel and the supervisor do after the last instruction of a process. */
static void bury(sim_slot_t *slot, int64_t start_at_us)
{
    pr_actor_t *actor = slot->actor;
    actor->dead = true;
    pr_actor_t *outer = sim->current;
    sim_db_gone(actor);
    sim_http_gone(actor);
    sim_bus_gone(actor);
    sim->current = actor;
    actor->spec->stop(&actor->io);
    pr_facts_destroy(&actor->facts);
    pr_bus_destroy(&actor->bus);
    pr_buffer_free(&actor->frame);
    sim->current = outer;
    pr_free(actor);
    slot->actor = NULL;
    slot->start_at_us = start_at_us;
}

void sim_slot_kill(sim_slot_t *slot, int64_t start_at_us)
{
    if (slot->actor) {
        sim_trace("** %s is killed", slot->name);
        kill_fault(slot);
        bury(slot, start_at_us);
    } else {
        slot->start_at_us = start_at_us;
    }
}

void sim_slot_kill_before(sim_slot_t *slot, uint32_t effects, int64_t down_us)
{
    if (!slot->actor)
        return;
    slot->actor->effects_left = effects;
    slot->actor->down_us = down_us;
}

static void paused_peers_leave(void *arg, uint64_t life)
{
    const sim_slot_t *slot = arg;
    if (slot->actor && (uint64_t)slot->lives == life && sim_paused(slot->actor))
        sim_bus_paused(slot->actor);
}

void sim_slot_pause(sim_slot_t *slot, int64_t until_us)
{
    if (!slot->actor)
        return;
    sim_trace("** %s stands still for %" PRId64 " ms", slot->name,
              (until_us - sim->now_us) / SIM_MS);
    if (slot->kind != SIM_RELAY && slot->kind != SIM_BREAKER && slot->kind != SIM_DEAD_LETTER)
        sim_check_fault(until_us);
    slot->actor->paused_until_us = until_us;
    sim_at(sim->now_us + 3 * SIM_SECOND, paused_peers_leave, slot, (uint64_t)slot->lives);
}

void sim_slot_drain(sim_slot_t *slot, int64_t down_us)
{
    pr_actor_t *actor = slot->actor;
    if (!actor || sim_paused(actor) || actor->dead)
        return;
    sim_trace("** %s gets SIGTERM", slot->name);
    actor->down_us = down_us;
    actor->wake_us = sim->now_us;
    if (actor->spec->drain == NULL || actor->life == DRAINING) {
        if (actor->life == DRAINING) /* at once: what is under way is given up as by a kill */
            kill_fault(slot);
        actor->life = STOPPED;
        return;
    }
    actor->life = DRAINING;
    actor->drain_until_us = sim->now_us + 15 * SIM_SECOND;
    sim->current = actor;
    actor->loop.now_ms = pr_clock_mono_ms();
    actor->spec->drain(actor->io, actor->loop.now_ms);
    sim->current = NULL;
}

/* ---- a turn ---- */

static void run_timers(pr_actor_t *actor)
{
    pr_loop_t *loop = &actor->loop;
    for (int i = 0; i < loop->ntimers && !actor->dead; i++) {
        loop_timer_t *timer = &loop->timers[i];
        if (timer->at_ms > loop->now_ms)
            continue;
        timer->at_ms = timer->period_ms > 0 ? loop->now_ms + timer->period_ms : INT64_MAX;
        timer->fn(timer->arg, loop->now_ms);
    }
}

static void run_inputs(pr_actor_t *actor)
{
    pr_loop_t *loop = &actor->loop;
    for (int i = 0; i < loop->ninputs && !actor->dead; i++) {
        input_t *input = &loop->inputs[i];
        if (!input->used)
            continue;
        pr_error_t error;
        if (input->db) {
            if (pr_db_io(input->db, loop->now_ms, &error) != PR_OK)
                pr_actor_fail(actor, PR_FATAL, &error);
        } else if (input->socket ? sim_socket_ready_us(input->socket) <= sim->now_us
                                 : sim_http_wake_us(actor) <= sim->now_us) {
            if (input->fn)
                input->fn(input->arg, loop->now_ms);
        }
    }
}

static int64_t next_wake(const pr_actor_t *actor)
{
    const pr_loop_t *loop = &actor->loop;
    int64_t at_us = loop->again ? sim->now_us : SIM_NEVER;
    for (int i = 0; i < loop->ntimers; i++) {
        if (loop->timers[i].at_ms == INT64_MAX)
            continue;
        int64_t timer_us = loop->timers[i].at_ms * 1000 - actor->slot->mono_offset_us;
        at_us = timer_us < at_us ? timer_us : at_us;
    }
    for (int i = 0; i < loop->ninputs; i++) {
        const input_t *input = &loop->inputs[i];
        if (!input->used)
            continue;
        int64_t input_us = input->db       ? sim_db_wake_us(input->db)
                           : input->socket ? sim_socket_ready_us(input->socket)
                                           : sim_http_wake_us(actor);
        at_us = input_us < at_us ? input_us : at_us;
    }
    if (actor->drain_until_us < at_us)
        at_us = actor->drain_until_us;
    return at_us > sim->now_us ? at_us : sim->now_us + 1;
}

/* False: the process has ended. */
static bool goes_on(pr_actor_t *actor)
{
    if (actor->life == DRAINING) {
        bool drained = actor->spec->drained == NULL || actor->spec->drained(actor->io);
        bool late = !drained && sim->now_us >= actor->drain_until_us;
        if (late)
            kill_fault(actor->slot);
        if (drained || late)
            actor->life = STOPPED;
    }
    return actor->life != STOPPED && !actor->dead;
}

void sim_slot_turn(sim_slot_t *slot)
{
    pr_actor_t *actor = slot->actor;
    pr_loop_t *loop = &actor->loop;
    sim->current = actor;
    loop->now_ms = pr_clock_mono_ms();
    loop->again = false;
    run_timers(actor);
    run_inputs(actor);
    for (int i = 0; i < loop->nturns && !actor->dead; i++)
        loop->turns[i].fn(loop->turns[i].arg, loop->now_ms);
    bool on = goes_on(actor);
    sim->current = NULL;
    if (!on) {
        sim_trace("** %s ends", slot->name);
        bury(slot, sim->now_us + actor->down_us);
        return;
    }
    int64_t at_us = next_wake(actor);
    actor->wake_us = at_us == SIM_NEVER ? at_us : at_us + sim_between(0, LATE_US);
}
