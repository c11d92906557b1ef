/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/topology.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "cli/generated.h"
#include "cli/holders.h"
#include "cli/home.h"
#include "cli/process.h"
#include "cli/service.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUPERVISOR_MS 10000 /* for s6 itself to come up or go */
#define KILL_MS 5000        /* for a process to vanish after SIGKILL */
#define POLL_MS 20
#define READY_SLICE_MS 1000
#define HOPELESS_DEATHS 3
#define LOG_TAIL_BYTES 400

typedef struct {
    const char *name;
    const char *program;
    int phase; /* of stopping: against the flow of work */
} actor_row_t;

static const actor_row_t actors[] = {
    {"ingress", "postrider-ingress", 0},
    {"console", "postrider-console", 0},
    {"outbox-relay", "postrider-outbox-relay", 0},
    {"reconciler", "postrider-reconciler", 0},
    {"notifier", "postrider-notifier", 0},
    {"gateway-poller", "postrider-gateway-poller", 0},
    {"charger", "postrider-charger", 0},
    {"compensator", "postrider-compensator", 0},
    {"scheduler", "postrider-scheduler", 1},
    {"gateway-scheduler", "postrider-gateway-scheduler", 1},
    {"circuit-breaker", "postrider-circuit-breaker", 2},
    {"dead-letter", "postrider-dead-letter", 2},
    {"broker", "postrider-broker", 3},
};
#define EXTRA_PHASE 4
#define PHASES 5

static void sleep_ms(int ms)
{
    poll(NULL, 0, ms);
}

bool pr_topology_knows(const char *actor)
{
    for (size_t i = 0; i < PR_COUNT(actors); i++) {
        if (strcmp(actors[i].name, actor) == 0) {
            return true;
        }
    }
    return false;
}

bool pr_topology_running(const char *state_dir)
{
    PR_CLEANUP_FREE char *lock = pr_asprintf("%s/run/lock", state_dir);
    return pr_home_locked(lock);
}

int pr_topology_lost(const char *state_dir)
{
    PR_CLEANUP_FREE char *lock = pr_asprintf("%s/run/lock", state_dir);
    return pr_holders_signal_lost(lock, 0);
}

/* ---- the services there are ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

void pr_topology_services(const char *state_dir, pr_service_names_t *names)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/run/service", state_dir);
    names->count = 0;
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        size_t len = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || len >= PR_SERVICE_NAME_BYTES ||
            names->count == PR_SERVICES_MAX) {
            continue;
        }
        memcpy(names->name[names->count], entry->d_name, len + 1);
        names->count++;
    }
    closedir(dir);
    qsort(names->name, (size_t)names->count, PR_SERVICE_NAME_BYTES, by_name);
}

static void add_name(pr_service_names_t *names, const char *name)
{
    memcpy(names->name[names->count], name, PR_SERVICE_NAME_BYTES);
    names->count++;
}

/* Those of all for which keep() says so. */
static void choose(const pr_service_names_t *all, pr_service_names_t *chosen,
                   bool (*keep)(const char *name, const void *arg), const void *arg)
{
    chosen->count = 0;
    for (int i = 0; i < all->count; i++) {
        if (keep(all->name[i], arg)) {
            add_name(chosen, all->name[i]);
        }
    }
}

/* ---- writing them ---- */

int pr_topology_scale(const pr_topology_options_t *options, const char *actor, int fallback)
{
    int count = fallback;
    const pr_scale_t *scale = options->scale;
    for (; scale != NULL && scale->actor != NULL; scale++) {
        if (strcmp(scale->actor, actor) == 0) {
            count = scale->count;
        }
    }
    return count;
}

static pr_rc_t write_one(const char *state_dir, const actor_row_t *actor, int n,
                         const char *own_address, pr_error_t *error)
{
    PR_CLEANUP_FREE char *name =
        n == 1 ? pr_strdup(actor->name) : pr_asprintf("%s-%d", actor->name, n);
    PR_CLEANUP_FREE char *program = pr_home_program(actor->program);
    PR_CLEANUP_FREE char *setting = NULL;
    const char *argv[4] = {program, NULL};
    if (own_address != NULL) {
        setting = pr_asprintf("bus.brokers=%s", own_address);
        argv[1] = "--set";
        argv[2] = setting;
    }
    pr_service_t service = {state_dir, name, argv, actor->phase, true};
    return pr_service_write(&service, error);
}

/* One service for each of the actor's processes; one broker for each address in the list, each
 * told which is its own. *total grows by their number. */
static pr_rc_t write_actor(const pr_topology_options_t *options, const actor_row_t *actor,
                           int *total, pr_error_t *error)
{
    bool is_broker = strcmp(actor->name, "broker") == 0;
    int count = pr_topology_scale(options, actor->name, is_broker ? PR_SERVICES_MAX : 1);
    pr_rc_t rc = PR_OK;
    for (int n = 1; rc == PR_OK && n <= count; n++) {
        PR_CLEANUP_FREE char *own = is_broker ? pr_generated_broker(options->state_dir, n) : NULL;
        if (is_broker && own == NULL) {
            break;
        }
        if (*total == PR_SERVICES_MAX) {
            return pr_error_set(error, PR_BAD, "topology", "", "more than %d processes",
                                PR_SERVICES_MAX);
        }
        rc = write_one(options->state_dir, actor, n, own, error);
        *total += 1;
    }
    return rc;
}

static pr_rc_t write_services(const pr_topology_options_t *options, pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    int total = options->nextra;
    for (size_t i = 0; rc == PR_OK && i < PR_COUNT(actors); i++) {
        rc = write_actor(options, &actors[i], &total, error);
    }
    for (int i = 0; rc == PR_OK && i < options->nextra; i++) {
        const pr_extra_service_t *extra = &options->extra[i];
        pr_service_t service = {options->state_dir, extra->name, extra->argv, EXTRA_PHASE,
                                extra->notifies};
        rc = pr_service_write(&service, error);
    }
    return rc;
}

/* ---- up ---- */

static pr_rc_t start_supervisor(const char *state_dir, int lock, pr_error_t *error)
{
    PR_CLEANUP_FREE char *log = pr_asprintf("%s/log/supervisor.log", state_dir);
    PR_CLEANUP_FREE char *services = pr_asprintf("%s/run/service", state_dir);
    const char *const argv[] = {"s6-svscan", "--", services, NULL};
    pr_spawn_t spawn = {.argv = argv, .output = log, .keep_fd = lock, .new_session = true};
    pid_t pid = 0;
    pr_rc_t rc = pr_process_spawn(&spawn, &pid, error);
    if (rc != PR_OK) {
        return rc;
    }
    pr_service_names_t names;
    pr_topology_services(state_dir, &names);
    int64_t deadline = pr_clock_mono_ms() + SUPERVISOR_MS;
    for (int i = 0; i < names.count; i++) {
        pr_service_state_t state;
        while (pr_service_look(state_dir, names.name[i], &state) != PR_OK) {
            if (pr_clock_mono_ms() > deadline) {
                return pr_error_set(error, PR_FATAL, "topology", "",
                                    "s6-svscan does not supervise %s; see %s", names.name[i], log);
            }
            sleep_ms(POLL_MS);
        }
    }
    return PR_OK;
}

/* The line of a log that tells most: its last error of the last start, else its last line. */
static const char *last_word(char *text)
{
    const char *last = "", *failed = NULL;
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        last = line;
        if (strstr(line, " event=actor.start ") != NULL) {
            failed = NULL;
        } else if (strstr(line, " level=error ") != NULL) {
            failed = line;
        }
    }
    return failed != NULL ? failed : last;
}

/* Says which service is not ready, with its last error. */
static pr_rc_t not_ready(const char *state_dir, const pr_service_names_t *names, pr_error_t *error)
{
    for (int i = 0; i < names->count; i++) {
        pr_service_state_t state;
        if (pr_service_look(state_dir, names->name[i], &state) == PR_OK && state.ready) {
            continue;
        }
        PR_CLEANUP_FREE char *path = pr_asprintf("%s/log/%s.log", state_dir, names->name[i]);
        PR_CLEANUP_FREE char *text = pr_home_read_end(path);
        const char *tail = text != NULL ? last_word(text) : "";
        return pr_error_set(error, PR_FATAL, "topology", "",
                            "%s is not ready (%s after %lld s); its last word: %.*s",
                            names->name[i], state.up ? "running" : "down", (long long)state.seconds,
                            LOG_TAIL_BYTES, tail);
    }
    return pr_error_set(error, PR_FATAL, "topology", "", "not ready in time");
}

static bool speaks(const char *name, const void *state_dir)
{
    return pr_service_notifies(state_dir, name);
}

/* One that has died several times before it was ever ready will not be. */
static bool hopeless(const char *state_dir, const pr_service_names_t *names)
{
    for (int i = 0; i < names->count; i++) {
        pr_service_state_t state;
        if (pr_service_look(state_dir, names->name[i], &state) == PR_OK && !state.ready &&
            state.deaths >= HOPELESS_DEATHS) {
            return true;
        }
    }
    return false;
}

static pr_rc_t await_ready(const char *state_dir, pr_error_t *error)
{
    pr_service_names_t all;
    pr_service_names_t names;
    pr_topology_services(state_dir, &all);
    choose(&all, &names, speaks, state_dir);
    int64_t deadline = pr_clock_mono_ms() + PR_TOPOLOGY_READY_MS;
    while (pr_clock_mono_ms() < deadline && !hopeless(state_dir, &names)) {
        if (pr_service_await(state_dir, &names, "-U", READY_SLICE_MS)) {
            return PR_OK;
        }
    }
    return not_ready(state_dir, &names, error);
}

static pr_rc_t prepare(const pr_topology_options_t *options, pr_error_t *error)
{
    PR_CLEANUP_FREE char *services = pr_asprintf("%s/run/service", options->state_dir);
    pr_home_remove(services);
    pr_rc_t rc = pr_home_make_dirs(services, error);
    if (rc == PR_OK) {
        rc = pr_generated_make(options, error);
    }
    return rc != PR_OK ? rc : write_services(options, error);
}

pr_rc_t pr_topology_up(const pr_topology_options_t *options, pr_error_t *error)
{
    PR_CLEANUP_FREE char *run = pr_asprintf("%s/run", options->state_dir);
    PR_CLEANUP_FREE char *logs = pr_asprintf("%s/log", options->state_dir);
    PR_CLEANUP_FREE char *lock_path = pr_asprintf("%s/lock", run);
    int lost = pr_topology_lost(options->state_dir);
    if (lost > 0) {
        return pr_error_set(error, PR_AGAIN, "topology", "",
                            "%s was removed while it was up: %d processes still run; `postrider "
                            "down` ends them",
                            options->state_dir, lost);
    }
    pr_rc_t rc = pr_home_make_dirs(run, error);
    if (rc == PR_OK) {
        rc = pr_home_make_dirs(logs, error);
    }
    if (rc != PR_OK) {
        return rc;
    }
    rc = pr_home_check_owner(options->state_dir, error);
    if (rc != PR_OK) {
        return rc;
    }
    int lock = pr_home_lock(lock_path);
    if (lock < 0) {
        return pr_error_set(error, PR_AGAIN, "topology", "", "it is up already (%s): see status",
                            options->state_dir);
    }
    rc = prepare(options, error);
    if (rc == PR_OK) {
        rc = start_supervisor(options->state_dir, lock, error);
    }
    close(lock); /* the supervisor and its children hold it now */
    if (rc == PR_OK) {
        rc = await_ready(options->state_dir, error);
    }
    if (rc != PR_OK) {
        pr_rc_t ignored = pr_topology_down(options->state_dir, NULL);
        (void)ignored; /* the first failure is the one to tell */
    }
    return rc;
}

/* ---- down ---- */

static bool supervised(const char *name, const void *state_dir)
{
    pr_service_state_t state;
    return pr_service_look(state_dir, name, &state) == PR_OK;
}

/* Stops these; those that do not within their time are killed. Those whose own supervisor is gone
 * hear nothing: end_orphans() sees to them. */
static pr_rc_t stop(const char *state_dir, const pr_service_names_t *all, pr_error_t *error)
{
    pr_service_names_t chosen;
    const pr_service_names_t *names = &chosen;
    choose(all, &chosen, supervised, state_dir);
    for (int i = 0; i < names->count; i++) {
        pr_service_control(state_dir, names->name[i], "-d");
    }
    if (pr_service_await(state_dir, names, "-D", PR_TOPOLOGY_STOP_MS)) {
        return PR_OK;
    }
    pr_rc_t rc = PR_OK;
    for (int i = 0; i < names->count; i++) {
        pr_service_state_t state;
        if (pr_service_look(state_dir, names->name[i], &state) == PR_OK && state.up) {
            pr_service_control(state_dir, names->name[i], "-k");
            rc =
                pr_error_set(error, PR_AGAIN, "topology", "", "%s did not stop within %d s: killed",
                             names->name[i], PR_TOPOLOGY_STOP_MS / 1000);
        }
    }
    pr_service_await(state_dir, names, "-D", KILL_MS);
    return rc;
}

typedef struct {
    const char *state_dir;
    int phase;
} phase_key_t;

static bool in_phase(const char *name, const void *arg)
{
    const phase_key_t *key = arg;
    int phase = pr_service_phase(key->state_dir, name);
    return phase == key->phase || (phase >= PHASES && key->phase == PHASES - 1);
}

/* Until the lock is free: nobody of the topology is left. */
static bool await_free(const char *state_dir, int64_t ms)
{
    int64_t deadline = pr_clock_mono_ms() + ms;
    while (pr_topology_running(state_dir)) {
        if (pr_clock_mono_ms() > deadline) {
            return false;
        }
        sleep_ms(POLL_MS);
    }
    return true;
}

/* Processes whose supervisor was killed: they still hold the lock that all inherit. */
static bool end_orphans(const char *state_dir)
{
    static const int signals[] = {SIGTERM, SIGKILL};
    PR_CLEANUP_FREE char *lock = pr_asprintf("%s/run/lock", state_dir);
    bool free_now = false;
    for (size_t i = 0; i < PR_COUNT(signals) && !free_now; i++) {
        pr_holders_signal(lock, signals[i]);
        free_now = await_free(state_dir, KILL_MS);
    }
    return free_now;
}

/* Those of a topology whose state directory was removed: nothing is left to talk to them by, and
 * what s6 would start again is gone. */
static pr_rc_t end_lost(const char *state_dir, pr_error_t *error)
{
    PR_CLEANUP_FREE char *lock = pr_asprintf("%s/run/lock", state_dir);
    int64_t start = pr_clock_mono_ms();
    pr_holders_signal_lost(lock, SIGTERM);
    for (;;) {
        int64_t passed = pr_clock_mono_ms() - start;
        int left = pr_holders_signal_lost(lock, passed > PR_TOPOLOGY_STOP_MS ? SIGKILL : 0);
        if (left == 0) {
            return PR_OK;
        }
        if (passed > PR_TOPOLOGY_STOP_MS + KILL_MS) {
            return pr_error_set(error, PR_FATAL, "topology", "",
                                "%d processes that hold the removed %s do not end", left, lock);
        }
        sleep_ms(POLL_MS);
    }
}

static pr_rc_t stop_supervisor(const char *state_dir, const pr_service_names_t *names,
                               pr_error_t *error)
{
    pr_service_names_t left;
    choose(names, &left, supervised, state_dir);
    PR_CLEANUP_FREE char *services = pr_asprintf("%s/run/service", state_dir);
    const char *const argv[] = {"s6-svscanctl", "-t", "--", services, NULL};
    if (pr_process_quiet(argv, NULL) != 0) {
        /* s6-svscan was killed; its children were not */
        for (int i = 0; i < names->count; i++) {
            PR_CLEANUP_FREE char *log = pr_asprintf("%s/log", names->name[i]);
            pr_service_control(state_dir, names->name[i], "-xd");
            pr_service_control(state_dir, log, "-xd");
        }
    }
    /* those that are supervised end by themselves; when nobody is, there is nobody to wait for */
    if ((left.count > 0 && await_free(state_dir, SUPERVISOR_MS)) || end_orphans(state_dir)) {
        return PR_OK;
    }
    return pr_error_set(error, PR_FATAL, "topology", "",
                        "processes that hold %s/run/lock do not end", state_dir);
}

pr_rc_t pr_topology_down(const char *state_dir, pr_error_t *error)
{
    pr_rc_t rc = pr_home_check_owner(state_dir, error);
    if (rc != PR_OK) {
        return rc;
    }
    if (pr_topology_running(state_dir)) {
        pr_service_names_t all;
        pr_topology_services(state_dir, &all);
        for (int phase = 0; phase < PHASES; phase++) {
            pr_service_names_t names;
            phase_key_t key = {state_dir, phase};
            choose(&all, &names, in_phase, &key);
            pr_rc_t stopped = stop(state_dir, &names, error);
            rc = rc != PR_OK ? rc : stopped;
        }
        pr_rc_t ended = stop_supervisor(state_dir, &all, error);
        rc = ended != PR_OK ? ended : rc;
    }
    bool lost = pr_topology_lost(state_dir) > 0;
    if (lost) {
        pr_rc_t ended = end_lost(state_dir, error);
        rc = rc != PR_OK ? rc : ended;
    }
    pr_rc_t cleared = pr_generated_clear(state_dir, lost, error);
    return rc != PR_OK ? rc : cleared;
}

/* ---- restart ---- */

/* "notifier" and "notifier-2" are services of actor "notifier"; "dead-letter" is none of "dead". */
static bool is_of(const char *name, const void *actor)
{
    size_t len = strlen(actor);
    if (strncmp(name, actor, len) != 0) {
        return false;
    }
    const char *rest = name + len;
    return *rest == '\0' ||
           (*rest == '-' && rest[1] != '\0' && rest[1 + strspn(rest + 1, "0123456789")] == '\0');
}

pr_rc_t pr_topology_restart(const char *state_dir, const char *actor, pr_error_t *error)
{
    pr_service_names_t all;
    pr_service_names_t names;
    pr_rc_t rc = pr_home_check_owner(state_dir, error);
    if (rc != PR_OK) {
        return rc;
    }
    pr_topology_services(state_dir, &all);
    choose(&all, &names, is_of, actor);
    if (names.count == 0 || !pr_topology_running(state_dir)) {
        return pr_error_set(error, PR_BAD, "topology", "", "no service %s is up here", actor);
    }
    for (int i = 0; i < names.count; i++) { /* one after the other: the rest works on */
        pr_service_names_t one = {.count = 0};
        add_name(&one, names.name[i]);
        pr_rc_t stopped = stop(state_dir, &one, error);
        rc = rc != PR_OK ? rc : stopped;
        pr_service_control(state_dir, one.name[0], "-u");
        const char *wanted = speaks(one.name[0], state_dir) ? "-U" : "-u";
        if (!pr_service_await(state_dir, &one, wanted, PR_TOPOLOGY_READY_MS)) {
            return not_ready(state_dir, &one, error);
        }
    }
    return rc;
}
