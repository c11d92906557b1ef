/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens in a seed. First the shape: how many of each actor, with which settings. Then a busy time: applications commit, roll
 * back and leave transactions open, people cancel and redrive, merchants change their moods, and things break. Then quiet: nothing
 * breaks any more, all merchants are well, and everything must end. A last wave of notifications must go through too: what
 * leaked in the busy time (credit, windows, probes) stops it.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BUSY_US (8 * SIM_SECOND)
#define END_US \
    (150 * \
     SIM_SECOND) /* after the busy time: the first retries, breakers and takeovers are over long before */
#define LAST_WAVE_US (60 * SIM_SECOND)
#define BROKERS_MAX 2

/* ---- settings: a few sets, parsed once ---- */

static const char *const settings[] = {
    /* 0: as delivered, but short schedules */
    "retry: {notification: 'list:500ms,1s,2s,3s'}\nmax_age: 1h\nbreaker: {open: 2s, recovery: 1s}\nworker: {slots: 12}\n"
    "scheduler: {poll: 200ms}\nrelay: {poll_idle: 100ms, poll_busy: 10ms}\n",
    /* 1: tight: few slots, small memory, small batches */
    "retry: {notification: 'list:300ms,1s,8s'}\nmax_age: 1h\nbreaker: {open: 3s, recovery: 2s, recovery_rate: 20}\n"
    "worker: {slots: 3}\nscheduler: {poll: 100ms, keep_jobs: 16, horizon_jobs: 100, page: 3, batch: 2, horizon: 2s}\n"
    "relay: {poll_idle: 150ms, poll_busy: 20ms, batch: 2}\n",
    /* 2: deliveries grow old */
    "retry: {notification: 'list:1s,2s,4s,4s,4s'}\nmax_age: 6s\nbreaker: {open: 2s, recovery: 1s}\nworker: {slots: 6}\n"
    "scheduler: {poll: 300ms, page: 7, flush: 50ms, session_timeout: 3s}\nrelay: {poll_idle: 100ms, poll_busy: 10ms, batch: 5}\n",
    /* 3: impatient: short sessions, many batches under way */
    "retry: {notification: 'list:200ms,200ms,200ms'}\nmax_age: 1h\nbreaker: {open: 1s, recovery: 500ms}\nworker: {slots: 8}\n"
    "scheduler: {poll: 100ms, batches: 4, batch: 3, session_timeout: 2s, heartbeat: 200ms}\n"
    "relay: {poll_idle: 50ms, poll_busy: 5ms, batch: 1}\n",
};
static const int64_t breaker_open_us[] = {2 * SIM_SECOND, 3 * SIM_SECOND, 2 * SIM_SECOND,
                                          SIM_SECOND};
static const int64_t max_age_us[] = {3600 * SIM_SECOND, 3600 * SIM_SECOND, 6 * SIM_SECOND,
                                     3600 * SIM_SECOND};

static const char common[] =
    "database: {url: 'host=model'}\nmaster_key_file: /none\n"
    "http: {total_timeout: 4s, first_byte_timeout: 2s, connect_timeout: 1s, tls_timeout: 1s}\n"
    "lease: 10s\nbus:\n  brokers: [%s]\n%s";

/* [settings][brokers - 1][0: most actors, n: broker n] */
static pr_config_t *configs[PR_COUNT(settings)][BROKERS_MAX][BROKERS_MAX + 1];

static const pr_config_t *config_of(int set, int brokers, int broker)
{
    pr_config_t **place = &configs[set][brokers - 1][broker];
    if (*place)
        return *place;
    static const char *const lists[BROKERS_MAX][BROKERS_MAX + 1] = {
        {"'ipc:///sim/b1'", "'ipc:///sim/b1'", NULL},
        {"'ipc:///sim/b1', 'ipc:///sim/b2'", "'ipc:///sim/b1'", "'ipc:///sim/b2'"},
    };
    PR_CLEANUP_FREE char *text = pr_asprintf(common, lists[brokers - 1][broker], settings[set]);
    pr_error_t error;
    if (pr_config_load_text("sim", pr_bytes_text(text), NULL, place, &error) != PR_OK) {
        fprintf(stderr, "tests/sim: %s\n", error.text);
        pr_assert(false);
    }
    return *place;
}

void sim_plan_free(void)
{
    for (size_t i = 0; i < PR_COUNT(settings); i++)
        for (int k = 0; k < BROKERS_MAX; k++)
            for (int n = 0; n <= BROKERS_MAX; n++)
                pr_config_destroy(&configs[i][k][n]);
}

/* ---- applications ---- */

static void app_commit(void *arg, uint64_t transaction)
{
    (void)arg;
    bool commit = !sim_chance(12);
    sim_trace("app: %s transaction %" PRIu64, commit ? "commits" : "rolls back", transaction);
    sim_app_end((int)transaction, commit);
}

static void app_write(uint64_t transaction)
{
    int rows = (int)sim_between(1, 3), order = (int)sim_between(1, 6);
    for (int i = 0; i < rows; i++) {
        int merchant = (int)sim_between(0, sim->endpoints - 1); /* some have no endpoint (yet) */
        int class_no = (int)sim_between(0, SIM_CLASSES - 1);
        int64_t id = sim_app_enqueue((int)transaction, merchant, order, class_no);
        sim_trace("app: transaction %" PRIu64 " writes outbox %" PRId64
                  ", merchant %d, order %d, class %d",
                  transaction, id, merchant, order, class_no);
    }
}

static void app_more(void *arg, uint64_t transaction)
{
    (void)arg;
    app_write(transaction);
}

static void app_begin(void *arg, uint64_t unused)
{
    (void)arg;
    (void)unused;
    int transaction = sim_app_begin();
    if (transaction < 0)
        return;
    app_write((uint64_t)transaction);
    int64_t open_us =
        sim_chance(20) ? sim_between(100 * SIM_MS, 3 * SIM_SECOND) : sim_between(500, 5 * SIM_MS);
    if (sim_chance(20))
        sim_at(sim->now_us + open_us / 2, app_more, NULL, (uint64_t)transaction);
    sim_at(sim->now_us + open_us, app_commit, NULL, (uint64_t)transaction);
}

static void app_cancel(void *arg, uint64_t outbox_id)
{
    (void)arg;
    sim_app_cancel((int64_t)outbox_id);
}

static void redrive(void *arg, uint64_t at_a_rate)
{
    (void)arg;
    sim_op_redrive(at_a_rate != 0);
}

static void change_mood(void *arg, uint64_t endpoint)
{
    (void)arg;
    static const sim_mood_t all[] = {SIM_GOOD,      SIM_GOOD,  SIM_FLAKY, SIM_FLAKY,
                                     SIM_REFUSES,   SIM_HANGS, SIM_DIES,  SIM_GARBAGE,
                                     SIM_THROTTLES, SIM_GONE,  SIM_GONE,  SIM_ABSENT};
    sim_merchant((int)endpoint, sim->quiet ? SIM_GOOD : all[sim_between(0, PR_COUNT(all) - 1)]);
}

static int64_t busy_time(void)
{
    return sim_between(100 * SIM_MS, BUSY_US);
}

static void add_endpoint(void *arg, uint64_t unused)
{
    (void)arg;
    (void)unused;
    sim_op_add_endpoint();
}

static void plan_traffic(void)
{
    for (int i = 3; i < sim->endpoints; i++)
        sim_at(busy_time(), add_endpoint, NULL, 0);
    int transactions = (int)sim_between(5, 30);
    for (int i = 0; i < transactions; i++)
        sim_at(busy_time(), app_begin, NULL, 0);
    for (int i = sim_chance(30) ? (int)sim_between(1, 4) : 0; i > 0; i--)
        sim_at(busy_time(), app_cancel, NULL, (uint64_t)sim_between(1, 20));
    for (int i = (int)sim_between(0, 2); i > 0; i--)
        sim_at(busy_time() + BUSY_US / 2, redrive, NULL, (uint64_t)sim_chance(40));
    int changes = sim_chance(25) ? 0 : (int)sim_between(1, 6);
    for (int i = 0; i < changes; i++)
        sim_at(sim_between(0, BUSY_US), change_mood, NULL,
               (uint64_t)sim_between(1, sim->endpoints));
}

/* ---- faults ---- */

static sim_slot_t *some_slot(void)
{
    return &sim->slots[sim_between(0, sim->nslots - 1)];
}

static int64_t down_us(void)
{
    return sim_chance(70) ? sim_between(20 * SIM_MS, 400 * SIM_MS)
                          : sim_between(SIM_SECOND, 7 * SIM_SECOND);
}

/* All of them, or one. */
static void kill_brokers(bool all)
{
    int64_t until_us = sim->now_us + (sim_chance(40) ? sim_between(20 * SIM_MS, 900 * SIM_MS)
                                                     : sim_between(SIM_SECOND, 7 * SIM_SECOND));
    int one = (int)sim_between(1, BROKERS_MAX);
    for (int i = 0; i < sim->nslots; i++)
        if (sim->slots[i].kind == SIM_BROKER && (all || sim->slots[i].number == one))
            sim_slot_kill(&sim->slots[i], until_us);
}

static void break_links(void)
{
    const sim_slot_t *slot = some_slot();
    if (!slot->actor)
        return;
    int64_t until_us = sim->now_us + (sim_chance(60) ? sim_between(20 * SIM_MS, 800 * SIM_MS)
                                                     : sim_between(SIM_SECOND, 6 * SIM_SECOND));
    sim_trace("** links of %s break for %" PRId64 " ms", slot->name,
              (until_us - sim->now_us) / SIM_MS);
    sim_check_fault(until_us);
    sim_bus_break(slot->actor, sim_chance(50) ? 100 : 50, until_us);
}

static void break_database_link(void)
{
    const sim_slot_t *slot = some_slot();
    if (!slot->actor)
        return;
    bool half_open = sim_chance(40);
    sim_trace("** %s loses its connection to Postgres%s", slot->name,
              half_open ? ", half open" : "");
    sim_check_fault(sim->now_us);
    sim_db_break(slot->actor, half_open);
}

static void step_a_clock(void)
{
    if (sim_chance(50)) {
        sim_pg_step_clock(sim_between(SIM_MS, 3 * SIM_SECOND));
    } else {
        sim_slot_t *slot = some_slot();
        slot->wall_offset_us += sim_between(-3600, 3600) * SIM_SECOND;
        sim_trace("** the wall clock of %s steps", slot->name);
    }
}

static void fault(void *arg, uint64_t unused)
{
    (void)arg;
    (void)unused;
    if (sim->quiet)
        return;
    if (sim->brokers_only) {
        kill_brokers(sim_chance(50));
        return;
    }
    sim_slot_t *slot = some_slot();
    switch (sim_between(1, 22)) {
    case 1 ... 4:
        sim_slot_kill(slot, sim->now_us + down_us());
        break;
    case 5 ... 8:
        sim_slot_kill_before(slot, (uint32_t)sim_between(1, 30), down_us());
        break;
    case 9 ... 10:
        sim_slot_pause(slot, sim->now_us + (sim_chance(50)
                                                ? sim_between(100 * SIM_MS, 3 * SIM_SECOND)
                                                : sim_between(3 * SIM_SECOND, 10 * SIM_SECOND)));
        break;
    case 11:
        sim_slot_drain(slot, down_us());
        break;
    case 12 ... 13:
        sim_pg_crash(sim_between(50 * SIM_MS, 2 * SIM_SECOND), false, 0);
        break;
    case 14:
        sim_pg_crash(sim_between(200 * SIM_MS, 3 * SIM_SECOND), true, sim_between(0, 400 * SIM_MS));
        break;
    case 15:
        sim_pg_stall(sim->now_us + sim_between(200 * SIM_MS, 16 * SIM_SECOND));
        break;
    case 16:
        sim_pg_fail_statements((int)sim_between(5, 60),
                               sim->now_us + sim_between(100 * SIM_MS, 2 * SIM_SECOND));
        break;
    case 17:
        kill_brokers(true);
        break;
    case 18:
        break_links();
        break;
    case 19:
        break_database_link();
        break;
    case 20:
        step_a_clock();
        break;
    default:
        sim_pg_fail_statements((int)sim_between(20, 80),
                               sim->now_us + sim_between(100 * SIM_MS, SIM_SECOND));
        break;
    }
}

/* ---- the quiet end ---- */

static void heal(void)
{
    sim->quiet = true;
    sim_trace("** quiet: nothing breaks from here on");
    for (int e = 1; e <= sim->endpoints; e++)
        sim_merchant(e, SIM_GOOD);
    for (int i = 0; i < sim->nslots; i++)
        sim_slot_kill_before(&sim->slots[i], 0, 100 * SIM_MS);
}

static void enable(void *arg, uint64_t unused)
{
    (void)arg;
    (void)unused;
    if (sim_pg_up())
        sim_op_enable_all();
    sim_at(sim->now_us + 2 * SIM_SECOND, enable, NULL, 0);
}

/* Everything that was begun must end. */
static void settle(int64_t within_us)
{
    sim_run(sim->now_us + within_us, sim_check_finished);
    if (!sim->failed && !sim_check_finished())
        sim_check_unfinished();
}

static void last_wave(void)
{
    sim_trace("** the last wave");
    int transaction = sim_app_begin();
    for (int class_no = 0; class_no < SIM_CLASSES; class_no++)
        for (int i = 0; i < 8; i++)
            (void)sim_app_enqueue(transaction, i % sim->endpoints, 10 + i, class_no);
    sim_app_end(transaction, true);
    settle(LAST_WAVE_US);
}

/* ---- a seed ---- */

static void add_slots(sim_kind_t kind, int count, int set, int brokers)
{
    static const char *const names[SIM_KINDS] = {"broker",   "relay",   "scheduler",
                                                 "notifier", "breaker", "dead-letter"};
    for (int n = 1; n <= count; n++) {
        pr_assert(sim->nslots < SIM_ACTORS_MAX);
        sim_slot_t *slot = &sim->slots[sim->nslots++];
        slot->kind = kind;
        slot->number = n;
        snprintf(slot->name, sizeof slot->name, "%s-%d", names[kind], n);
        slot->start_at_us = sim_between(0, sim_chance(20) ? 3 * SIM_SECOND : 50 * SIM_MS);
        slot->mono_offset_us = sim_between(1, 1000000) * SIM_SECOND;
        slot->config = config_of(set, brokers, kind == SIM_BROKER ? n : 0);
    }
}

static void shape(void)
{
    int set = (int)sim_between(0, PR_COUNT(settings) - 1);
    sim->strict = sim_chance(15);
    sim->brokers_only = !sim->strict && sim_chance(15);
    sim->unkillable = sim_chance(25);
    sim->poison = !sim->strict && sim_chance(10);
    sim->endpoints = (int)sim_between(1, SIM_ENDPOINTS_MAX);
    sim->breaker_open_us = breaker_open_us[set];
    sim->max_age_us = max_age_us[set];
    int brokers = (int)sim_between(1, BROKERS_MAX);
    add_slots(SIM_BROKER, brokers, set, brokers);
    add_slots(SIM_RELAY, (int)sim_between(1, 2), set, brokers);
    add_slots(SIM_SCHEDULER, sim->strict ? 1 : (int)sim_between(1, 2), set, brokers);
    add_slots(SIM_NOTIFIER, (int)sim_between(1, 2), set, brokers);
    add_slots(SIM_BREAKER, 1, set, brokers);
    add_slots(SIM_DEAD_LETTER, 1, set, brokers);
}

static void run_plan(void)
{
    shape();
    sim_pg_begin();
    sim_db_begin();
    sim_bus_begin();
    sim_http_begin();
    sim_check_begin();
    plan_traffic();
    enable(NULL, 0);
    int faults = sim->strict ? 0 : (int)sim_between(1, 8);
    for (int i = 0; i < faults; i++)
        sim_at(busy_time(), fault, NULL, 0);
    sim_run(BUSY_US + BUSY_US / 2, NULL);
    if (!sim->failed) {
        heal();
        settle(END_US);
    }
    if (!sim->failed)
        last_wave();
}

bool sim_run_seed(uint64_t seed, bool trace, int mutant)
{
    static sim_world_t world;
    world = (sim_world_t){.seed = seed, .trace = trace, .mutant = mutant};
    sim = &world;
    sim_world_seed(seed);
    run_plan();
    world.trace = false;
    for (int i = 0; i < world.nslots; i++)
        sim_slot_kill(&world.slots[i], SIM_NEVER);
    sim_events_clear();
    sim_http_end();
    sim_db_end();
    sim_bus_end();
    return !world.failed;
}
