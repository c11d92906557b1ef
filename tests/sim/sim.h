/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator: every actor's real code, step and io, in one process, on one virtual clock, driven from one seed.
 *
 * What is replaced, at link time, are the edges alone: lib/db/db.h, lib/bus/bus.h, lib/actor/{actor,loop}.h, lib/http/http.h,
 * clock, randomness and log of lib/base, the notifier's secrets. Behind them stand
 *   sim_pg.c     a model of Postgres: tables, snapshots, the statements of sql/queries by name, crashes, fail-over
 *   sim_db.c     connections to it: pipelines, answers that are lost, half-open ones
 *   sim_bus.c    a model of ZeroMQ: pipes, high-water marks, reconnects
 *   sim_http.c   merchants, friendly and hostile
 *   sim_actor.c  processes: loop, timers, crash before any effect, pauses, clocks
 *   sim_plan.c   what happens in a seed: applications, faults, the quiet end
 *   sim_check.c  what must hold after each event
 *
 * One world at a time, one thread: `sim` is the world.
 */
#ifndef PR_SIM_H
#define PR_SIM_H

#include "actor/actor.h"
#include "actor/actor_private.h"
#include "http/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_MS INT64_C(1000)
#define SIM_SECOND INT64_C(1000000)
#define SIM_NEVER INT64_MAX

#define SIM_ACTORS_MAX 12
#define SIM_ENDPOINTS_MAX 6
#define SIM_CLASSES 3

typedef enum {
    SIM_BROKER = 0,
    SIM_RELAY,
    SIM_SCHEDULER,
    SIM_NOTIFIER,
    SIM_BREAKER,
    SIM_DEAD_LETTER,
    SIM_KINDS,
} sim_kind_t;

/* One place for a process; its lives follow each other in it. */
typedef struct sim_slot_t {
    sim_kind_t kind;
    int number;        /* 1, 2 of its kind */
    char name[24];     /* "scheduler-1" */
    int lives;         /* so far */
    pr_actor_t *actor; /* NULL: not running */
    int64_t started_us;
    int64_t start_at_us; /* while not running; SIM_NEVER: stays down until somebody says so */
    int64_t mono_offset_us, wall_offset_us;
    const pr_config_t *config;
} sim_slot_t;

/* One heap for all that happens by itself. */
typedef void sim_event_fn(void *arg, uint64_t number);

/* A request that is on its way to a merchant or was there. */
typedef struct sim_world_t {
    uint64_t seed;
    uint64_t random[4];
    int64_t now_us;
    uint64_t events;
    bool trace;
    int mutant;          /* of the model, see sim_mutant(); 0 = none */
    pr_actor_t *current; /* whose code runs now */
    sim_slot_t slots[SIM_ACTORS_MAX];
    int nslots;
    int64_t breaker_open_us, max_age_us;
    bool brokers_only; /* nothing but brokers is killed: nothing may be repeated */
    bool
        unkillable; /* actors log in as superusers: pg_terminate_backend() is refused, only the fence is left */
    bool poison;   /* some answers carry bytes that Postgres refuses */
    bool quiet;    /* no more faults */
    bool failed;   /* an invariant is broken */
    char why[400]; /* which */
    bool strict; /* nothing goes wrong in this seed but merchants: the finer rules are judged too */
    int64_t quiet_at_us;
    int endpoints;
} sim_world_t;

extern sim_world_t *sim;

/* ---- chance (sim.c) ---- */
uint64_t sim_random(void);
int64_t sim_between(int64_t low, int64_t high); /* both ends included */
bool sim_chance(int percent);

/* ---- events (sim.c) ---- */
void sim_at(int64_t at_us, sim_event_fn *fn, void *arg, uint64_t number);
void sim_world_seed(uint64_t seed);
void sim_events_clear(void);
void sim_events_free(void);
/* Until the time is past until_us, something failed, or done() says so (it may be NULL). */
void sim_run(int64_t until_us, bool (*done)(void));
void sim_trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void sim_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- processes (sim_actor.c) ---- */
void sim_slot_start(sim_slot_t *slot);
/* The process is gone at this instant, its code does nothing more. In the middle of a turn: nothing it does from here on
 * has an effect, and it ends with the turn. */
void sim_slot_kill(sim_slot_t *slot, int64_t start_at_us);
/* Killed just before its n-th effect (statement, message, request) from now on. */
void sim_slot_kill_before(sim_slot_t *slot, uint32_t effects, int64_t down_us);
void sim_slot_pause(sim_slot_t *slot, int64_t until_us);
void sim_slot_drain(sim_slot_t *slot,
                    int64_t down_us); /* SIGTERM; a new life begins down_us after its end */
void sim_slot_turn(sim_slot_t *slot);
int64_t sim_slot_wake_us(const sim_slot_t *slot);
void sim_wake(pr_actor_t *actor, int64_t at_us);
bool sim_alive(const pr_actor_t *actor);
bool sim_paused(const pr_actor_t *actor);
bool sim_effect(void); /* false: the current actor is dead, nothing happens */
sim_slot_t *sim_slot_of(const pr_actor_t *actor);
const char *sim_bus_scheduler_address(int index); /* NULL: there are no more */

/* ---- ZeroMQ (sim_bus.c) ---- */
void sim_bus_begin(void);
void sim_bus_end(void);
int64_t sim_bus_wake_us(void);
void sim_bus_run(void); /* connections that are due */
int64_t sim_socket_ready_us(
    const pr_socket_t *socket); /* when something can be received; SIM_NEVER */
/* Breaks some or all connections of the actor; it may not connect before until_us. */
void sim_bus_break(pr_actor_t *actor, int percent, int64_t until_us);
void sim_bus_gone(pr_actor_t *actor);   /* its process died */
void sim_bus_paused(pr_actor_t *actor); /* it stood still for 3 s: peers left */

/* ---- connections to Postgres (sim_db.c) ---- */
int64_t sim_db_wake_us(const pr_db_t *db);
void sim_db_break(pr_actor_t *actor, bool half_open);
void sim_db_gone(pr_actor_t *actor); /* the client's process died */
void sim_db_begin(void);
void sim_db_end(void);
void sim_db_server_down(void); /* all backends are gone */
void sim_db_terminate(int pid);
bool sim_db_backend_alive(int pid);

/* For statements of the model. */
int64_t sim_param_i64(const pr_params_t *params, int index);
const int64_t *sim_param_i64s(const pr_params_t *params, int index, int *count);
const char *sim_param_text(const pr_params_t *params, int index);
const char *sim_param_text_at(const pr_params_t *params, int index, int at);
const uint8_t *sim_param_uuid(const pr_params_t *params, int index);
bool sim_param_null_at(const pr_params_t *params, int index, int at);

pr_rows_t *sim_rows_new(int columns);
void sim_rows_add(pr_rows_t *rows);
void sim_row_null(pr_rows_t *rows, int column);
void sim_row_i16(pr_rows_t *rows, int column, int64_t value);
void sim_row_i32(pr_rows_t *rows, int column, int64_t value);
void sim_row_i64(pr_rows_t *rows, int column, int64_t value);
void sim_row_bool(pr_rows_t *rows, int column, bool value);
void sim_row_text(pr_rows_t *rows, int column, const char *value);
void sim_row_bytes(pr_rows_t *rows, int column, const void *value, size_t len);
void sim_row_uuid(pr_rows_t *rows, int column, const uint8_t value[16]);
void sim_row_i64s(pr_rows_t *rows, int column, const int64_t *values, int count);

/* ---- Postgres (sim_pg.c) ---- */
typedef struct {
    int pid;
    bool async; /* synchronous_commit = off */
} sim_backend_t;
/* One statement in its own transaction. PR_OK and *rows, or an error. */
typedef pr_rc_t sim_statement_fn(sim_backend_t *backend, const pr_params_t *params,
                                 pr_rows_t **rows, pr_error_t *error);
sim_statement_fn *sim_pg_statement(const char *name);
void sim_pg_begin(void);
void sim_pg_end(void);
bool sim_pg_up(void);
int64_t sim_pg_stalled_until_us(void);
void sim_pg_stall(int64_t until_us);
void sim_pg_crash(int64_t down_us, bool fail_over, int64_t lag_us);
void sim_pg_fail_statements(int percent, int64_t until_us);
void sim_pg_step_clock(int64_t us); /* forward only */
void sim_pg_backend_gone(int pid);
bool sim_pg_statement_fails(pr_error_t *error); /* as planned by sim_pg_fail_statements */
int sim_pg_mark(void);                          /* commits so far */

/* Applications and people, at this instant. */
int sim_app_begin(void); /* a transaction; -1: no more */
int64_t sim_app_enqueue(int transaction, int endpoint, int order,
                        int class_no); /* outbox id; 0: no room */
void sim_app_end(int transaction, bool commit);
void sim_app_cancel(int64_t outbox_id);
void sim_op_redrive(bool at_a_rate);
void sim_op_enable_all(void);
void sim_op_add_endpoint(void); /* the next of the world's, should one be missing */

/* ---- merchants (sim_http.c) ---- */
typedef enum {
    SIM_GOOD = 0,
    SIM_FLAKY,     /* one of the others, each time anew */
    SIM_REFUSES,   /* 500 */
    SIM_HANGS,     /* reads, says nothing */
    SIM_DIES,      /* takes it, its answer is lost */
    SIM_GARBAGE,   /* 200 with something else */
    SIM_THROTTLES, /* 429, Retry-After */
    SIM_GONE,      /* 410 */
    SIM_ABSENT,    /* connection refused */
} sim_mood_t;
void sim_http_begin(void);
void sim_http_end(void);
void sim_merchant(int endpoint, sim_mood_t mood);
int64_t sim_http_wake_us(const pr_actor_t *actor);
void sim_http_gone(pr_actor_t *actor);
int sim_http_running(const pr_actor_t *actor);

/* ---- judgement (sim_check.c) ---- */
typedef struct {
    uint64_t salt;
    uint32_t attempt; /* tries finished before it */
    int64_t seq;
} sim_token_t;
void sim_check_begin(void);
void sim_check_commit(void); /* after each commit */
/* A result that was just applied: outcome 0: no try was made; age of the delivery. */
void sim_check_result(const sim_token_t *token, bool again, int outcome, int64_t age_us);
void sim_check_sent(pr_actor_t *actor, const Postrider__V1__Envelope *envelope);
void sim_check_arrival(const sim_token_t *token, int64_t outbox_id, uint64_t notify,
                       int64_t endpoint);
/* Something is broken until then: what is under way in that time may be repeated once for it. */
void sim_check_fault(int64_t until_us);
/* A scheduler was killed: a try that failed may be made again, if its outcome comes before the new owner has read its job. */
void sim_check_takeover(void);
void sim_check_pg_crash(bool fail_over);
/* The owner on that backend looks for first tries of these shards behind that number. */
void sim_check_looked(int pid, const int64_t *shards, int count, int class_no, int64_t behind);
bool sim_check_finished(void);   /* nothing waits any more */
void sim_check_unfinished(void); /* says what does */

/* ---- a seed (sim_plan.c) ---- */
bool sim_run_seed(uint64_t seed, bool trace, int mutant); /* true: all held */
void sim_plan_free(void);

#endif
