/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/stage.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "bench/peer.h"
#include "cli/environment.h"
#include "cli/home.h"
#include "cli/process.h"
#include "cli/service.h"
#include "cli/topology.h"
#include "sign/seal.h"
#include "sql/bench.h"
#include "sql/cli.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define START_MS 15000
#define SERVICE_MS 30000
#define SETTINGS_MAX 40
#define WHO "bench"
#define FIRST_DATABASE "postrider"
#define PHASES 8 /* of stopping: more than there are (cli/topology.c) */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

bool pr_bench_interrupted(void)
{
    return interrupted != 0;
}

void pr_bench_watch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

pr_rc_t pr_bench_wait_ms(int ms, pr_error_t *error)
{
    poll(NULL, 0, ms);
    return interrupted ? pr_error_set(error, PR_AGAIN, WHO, "", "interrupted") : PR_OK;
}

/* ---- starting ---- */

static pr_rc_t ask_pg(const pr_stage_t *self, const char *verb, const char *setting, char **answer,
                      pr_error_t *error)
{
    PR_CLEANUP_FREE char *script = pr_home_script("pg.sh");
    PR_CLEANUP_FREE char *dir = pr_asprintf("%s/postgres", self->state_dir);
    const char *const argv[] = {script, verb, dir, setting, NULL};
    pr_buffer_t out;
    pr_buffer_init(&out, 65536);
    pr_rc_t rc = pr_process_capture(argv, &out, NULL, error);
    if (rc == PR_OK && answer)
        *answer = pr_strndup(pr_buffer_text(&out), strcspn(pr_buffer_text(&out), "\n"));
    pr_buffer_free(&out);
    return rc;
}

/* ",h1-0,h1-1,.." without the first comma; the caller's. */
static char *hanging_names(const pr_stage_options_t *options)
{
    pr_buffer_t names;
    pr_buffer_init(&names, 1 << 20);
    pr_rc_t rc = PR_OK;
    for (int round = 0; round < options->rounds; round++)
        for (int i = 0; rc == PR_OK && i < options->hanging; i++)
            rc = pr_buffer_printf(&names, "%sh%d-%d", names.len ? "," : "", round + 1, i);
    char *text = pr_strdup(pr_buffer_text(&names));
    pr_buffer_free(&names);
    return text;
}

static pr_rc_t start_topology(pr_stage_t *self, const char *port_file, pr_error_t *error)
{
    const pr_stage_options_t *options = &self->options;
    PR_CLEANUP_FREE char *program = pr_home_program("postrider-receiver");
    PR_CLEANUP_FREE char *hang = hanging_names(options);
    PR_CLEANUP_FREE char *expect = pr_asprintf("%lld", (long long)options->expected + 1000);
    const char *const argv[] = {program,
                                "--listen",
                                "127.0.0.1:0",
                                "--port-file",
                                port_file,
                                "--dump",
                                self->receiver_dump,
                                "--expect",
                                expect,
                                "--hang",
                                hang,
                                NULL};
    pr_extra_service_t receiver = {"receiver", argv, false};
    const char *settings[SETTINGS_MAX + 3] = {"http.allow_plain=true",
                                              "http.allow_addresses=127.0.0.0/8,::1/128"};
    for (int i = 0; i < SETTINGS_MAX && options->settings && options->settings[i]; i++)
        settings[i + 2] = options->settings[i];
    pr_topology_options_t topology = {
        .state_dir = self->state_dir, .overrides = settings, .extra = &receiver, .nextra = 1};
    pr_rc_t rc = ask_pg(self, "start", "shared_preload_libraries=pg_stat_statements", NULL, error);
    return rc == PR_OK ? pr_topology_up(&topology, error) : rc;
}

static pr_rc_t await_receiver(pr_stage_t *self, const char *port_file, pr_error_t *error)
{
    int64_t until_ms = pr_clock_mono_ms() + START_MS;
    while (!(self->receiver_address = pr_home_read(port_file)) || !*self->receiver_address) {
        pr_free(self->receiver_address);
        self->receiver_address = NULL;
        if (pr_clock_mono_ms() > until_ms)
            return pr_error_set(error, PR_FATAL, WHO, "",
                                "the receiver does not say where it listens: see %s/log",
                                self->state_dir);
        pr_rc_t rc = pr_bench_wait_ms(20, error);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

/* ---- merchants ---- */

static pr_rc_t read_master_key(const pr_stage_t *self, pr_master_key_t *key, pr_error_t *error)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/master.key", self->state_dir);
    PR_CLEANUP_FREE char *text = pr_home_read(path);
    if (!text)
        return pr_error_set(error, PR_FATAL, WHO, "", "%s cannot be read", path);
    return pr_master_key_parse(pr_bytes_text(text), 0, key, error);
}

static pr_rc_t add_merchant(pr_stage_t *self, const pr_master_key_t *key, const char *id,
                            const char *tier, int64_t *endpoint, pr_error_t *error)
{
    uint8_t nonce[PR_SEAL_NONCE_BYTES], random[24];
    char secret[2 * sizeof random + 1];
    pr_random_bytes(nonce, sizeof nonce);
    pr_random_bytes(random, sizeof random);
    pr_hex(pr_bytes(random, sizeof random), secret);
    pr_buffer_t sealed;
    pr_buffer_init(&sealed, PR_SEAL_PLAIN_MAX_BYTES + PR_SEAL_OVERHEAD_BYTES);
    pr_rc_t rc = pr_seal(key, id, pr_bytes_text(secret), nonce, &sealed, error);
    if (rc == PR_OK) {
        PR_CLEANUP_FREE char *url =
            pr_asprintf("http://%s.localhost%s/m/%s", id, strrchr(self->receiver_address, ':'), id);
        PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
        PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
        pr_params_add_text(params, WHO);
        pr_params_add_text(params, id);
        pr_params_add_text(params, tier);
        pr_params_add_text(params, NULL);
        pr_params_add_text(params, url);
        pr_params_add_bytes(params, pr_buffer_bytes(&sealed));
        pr_params_add_text(params, "{}");
        pr_params_add_text(params, "default");
        rc = pr_db_sync_query(self->admin, pr_sql_cli[PR_SQL_CLI_MERCHANT_ADD].sql, params, &rows,
                              error);
        if (rc == PR_OK && endpoint)
            *endpoint = pr_rows_i64(rows, 0, 0);
    }
    pr_buffer_free(&sealed);
    return rc;
}

static const char *tier_of(int merchant)
{
    return merchant % 10 == 0 ? "vip" : merchant % 10 >= 7 ? "small" : "normal";
}

static pr_rc_t add_merchants(pr_stage_t *self, pr_error_t *error)
{
    const pr_stage_options_t *options = &self->options;
    pr_master_key_t key;
    pr_rc_t rc = read_master_key(self, &key, error);
    for (int i = 0; i < options->merchants && rc == PR_OK; i++) {
        PR_CLEANUP_FREE char *id = pr_asprintf("m%d", i);
        rc = add_merchant(self, &key, id, tier_of(i), NULL, error);
    }
    self->hanging_endpoints = pr_calloc((size_t)options->rounds * (size_t)options->hanging,
                                        sizeof *self->hanging_endpoints);
    for (int i = 0; i < options->rounds * options->hanging && rc == PR_OK; i++) {
        int round = i / options->hanging, merchant = i % options->hanging;
        PR_CLEANUP_FREE char *id = pr_asprintf("h%d-%d", round + 1, merchant);
        rc = add_merchant(self, &key, id, tier_of(merchant), &self->hanging_endpoints[i], error);
    }
    pr_master_key_wipe(&key);
    return rc;
}

pr_rc_t pr_stage_release(pr_stage_t *self, int round, pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    for (int i = 0; i < self->options.hanging && rc == PR_OK; i++) {
        PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
        pr_params_add_text(params, WHO);
        pr_params_add_i64(params, self->hanging_endpoints[round * self->options.hanging + i]);
        pr_params_add_text(params, "its round is over");
        rc = pr_db_sync_query(self->admin, pr_sql_cli[PR_SQL_CLI_ENDPOINT_DISABLE].sql, params,
                              NULL, error);
    }
    return rc;
}

/* ---- the whole ---- */

static void disconnect(pr_stage_t *self)
{
    pr_db_sync_destroy(&self->app);
    pr_db_sync_destroy(&self->admin);
    pr_free(self->app_url);
    pr_free(self->admin_url);
    self->app_url = self->admin_url = NULL;
}

static pr_rc_t connect_admin(pr_stage_t *self, const char *database, pr_error_t *error)
{
    disconnect(self);
    pr_rc_t rc = ask_pg(self, "url", database, &self->app_url, error);
    rc = rc != PR_OK ? rc : ask_pg(self, "admin-url", database, &self->admin_url, error);
    rc = rc != PR_OK ? rc : pr_db_sync_connect(self->admin_url, NULL, &self->admin, error);
    /* as the actors have it: what a look costs must not hang on statistics */
    return rc != PR_OK
               ? rc
               : pr_db_sync_query(self->admin, "SET enable_seqscan = off", NULL, NULL, error);
}

static pr_rc_t connect_both(pr_stage_t *self, const char *database, pr_error_t *error)
{
    pr_rc_t rc = connect_admin(self, database, error);
    return rc != PR_OK ? rc : pr_db_sync_connect(self->app_url, "postrider_app", &self->app, error);
}

/* The application's tables come before its connection: it may plan with them. */
static pr_rc_t connect_first(pr_stage_t *self, pr_error_t *error)
{
    pr_rc_t rc = connect_admin(self, FIRST_DATABASE, error);
    rc = rc != PR_OK
             ? rc
             : pr_db_sync_script(self->admin, pr_sql_bench[PR_SQL_BENCH_PREPARE].sql, error);
    return rc != PR_OK ? rc : connect_both(self, FIRST_DATABASE, error);
}

static pr_rc_t bring_up(pr_stage_t *self, pr_error_t *error)
{
    PR_CLEANUP_FREE char *port_file = pr_asprintf("%s/receiver.address", self->state_dir);
    PR_CLEANUP_FREE char *script = pr_home_script("pg.sh");
    PR_CLEANUP_FREE char *postgres = pr_asprintf("%s/postgres", self->state_dir);
    const char *const destroy[] = {script, "destroy", postgres, NULL};
    (void)pr_process_quiet(destroy, NULL); /* of an earlier bench */
    pr_home_remove(self->state_dir);
    pr_rc_t rc = pr_home_make_dirs(self->state_dir, error);
    rc = rc != PR_OK ? rc : start_topology(self, port_file, error);
    if (rc != PR_OK)
        return rc;
    self->up = true;
    rc = await_receiver(self, port_file, error);
    rc = rc != PR_OK ? rc : connect_first(self, error);
    return rc != PR_OK ? rc : add_merchants(self, error);
}

pr_rc_t pr_stage_up(pr_stage_t *self, const pr_stage_options_t *options, pr_error_t *error)
{
    pr_environment_forget(); /* this build with its defaults is measured */
    PR_CLEANUP_FREE char *home = pr_home_state_dir();
    *self = (pr_stage_t){.options = *options, .control = -1};
    self->state_dir = pr_asprintf("%s/bench", home);
    self->receiver_dump = pr_asprintf("%s/receipts", self->state_dir);
    if (pr_topology_running(self->state_dir))
        return pr_error_set(error, PR_AGAIN, WHO, "",
                            "one is running already: POSTRIDER_STATE=%s postrider down stops it",
                            self->state_dir);
    (void)fprintf(stderr, "starting Postgres, the actors and the receiver under %s\n",
                  self->state_dir);
    pr_rc_t rc = bring_up(self, error);
    if (rc != PR_OK) { /* pg.sh may have started before the topology failed */
        self->up = true;
        self->options.keep = false;
    }
    return rc;
}

void pr_stage_down(pr_stage_t *self)
{
    pr_error_t error;
    pr_peer_leave(self);
    disconnect(self);
    if (self->control >= 0)
        (void)close(self->control);
    if (self->up && self->options.keep && !interrupted)
        (void)fprintf(stderr,
                      "left running under %s: POSTRIDER_STATE=%s postrider status, ... down\n",
                      self->state_dir, self->state_dir);
    else if (self->up && pr_topology_down(self->state_dir, &error) != PR_OK)
        (void)fprintf(stderr, "postrider bench: %s\n", error.text);
    pr_free(self->state_dir);
    pr_free(self->receiver_dump);
    pr_free(self->receiver_address);
    pr_free(self->hanging_endpoints);
    *self = (pr_stage_t){.control = -1};
}

/* ---- services ---- */

static pr_rc_t move(pr_stage_t *self, const char *service, const char *flag, const char *wanted,
                    pr_error_t *error)
{
    pr_service_names_t one = {.count = 1};
    (void)snprintf(one.name[0], sizeof one.name[0], "%s", service);
    pr_service_control(self->state_dir, service, flag);
    if (!pr_service_await(self->state_dir, &one, wanted, SERVICE_MS))
        return pr_error_set(error, PR_FATAL, WHO, "", "%s does not %s: see %s/log/%s.log", service,
                            *flag == '-' && flag[1] == 'd' ? "stop" : "start", self->state_dir,
                            service);
    return PR_OK;
}

pr_rc_t pr_stage_stop(pr_stage_t *self, const char *service, pr_error_t *error)
{
    return move(self, service, "-d", "-D", error);
}

pr_rc_t pr_stage_start(pr_stage_t *self, const char *service, pr_error_t *error)
{
    return move(self, service, "-u", "-U", error);
}

pid_t pr_stage_pid(pr_stage_t *self, const char *service)
{
    pr_service_state_t state;
    return pr_service_look(self->state_dir, service, &state) == PR_OK ? state.pid : 0;
}

pr_rc_t pr_stage_hold(pr_stage_t *self, pr_error_t *error)
{
    return self->peer ? pr_peer_work(self, false, error)
                      : pr_stage_stop(self, "outbox-relay", error);
}

pr_rc_t pr_stage_let_go(pr_stage_t *self, pr_error_t *error)
{
    return self->peer ? pr_peer_work(self, true, error)
                      : pr_stage_start(self, "outbox-relay", error);
}

/* Against the flow of work, as `postrider down` does. */
pr_rc_t pr_stage_stop_actors(pr_stage_t *self, pr_error_t *error)
{
    static pr_service_names_t names, phase;
    pr_topology_services(self->state_dir, &names);
    for (int no = 0; no < PHASES; no++) {
        phase.count = 0;
        for (int i = 0; i < names.count; i++)
            if (strcmp(names.name[i], "receiver") != 0 &&
                pr_service_phase(self->state_dir, names.name[i]) == no)
                memcpy(phase.name[phase.count++], names.name[i], sizeof names.name[i]);
        for (int i = 0; i < phase.count; i++)
            pr_service_control(self->state_dir, phase.name[i], "-d");
        if (phase.count > 0 && !pr_service_await(self->state_dir, &phase, "-D", SERVICE_MS))
            return pr_error_set(error, PR_FATAL, WHO, "", "%s does not stop: see %s/log",
                                phase.name[0], self->state_dir);
    }
    return PR_OK;
}

pr_rc_t pr_stage_start_actors(pr_stage_t *self, pr_error_t *error)
{
    static pr_service_names_t names;
    pr_topology_services(self->state_dir, &names);
    for (int i = 0; i < names.count; i++)
        pr_service_control(self->state_dir, names.name[i], "-u");
    pr_rc_t rc = PR_OK;
    for (int i = 0; i < names.count && rc == PR_OK; i++)
        if (strcmp(names.name[i], "receiver") != 0)
            rc = move(self, names.name[i], "-u", "-U", error);
    return rc;
}

/* ---- databases ---- */

/* From another database: the first one must have no connection while it is copied. */
static pr_rc_t from_outside(pr_stage_t *self, const char *statement, pr_error_t *error)
{
    pr_rc_t rc = connect_both(self, "postgres", error);
    rc = rc != PR_OK ? rc : pr_db_sync_query(self->admin, statement, NULL, NULL, error);
    return rc != PR_OK ? rc : connect_both(self, FIRST_DATABASE, error);
}

pr_rc_t pr_stage_create_database(pr_stage_t *self, const char *name, const char *owner,
                                 pr_error_t *error)
{
    PR_CLEANUP_FREE char *create = pr_asprintf("CREATE DATABASE %s OWNER %s", name, owner);
    return from_outside(self, create, error); /* the names are ours */
}

pr_rc_t pr_stage_copy_database(pr_stage_t *self, const char *name, pr_error_t *error)
{
    PR_CLEANUP_FREE char *copy = pr_asprintf("CREATE DATABASE %s TEMPLATE " FIRST_DATABASE, name);
    return from_outside(self, copy, error);
}

pr_rc_t pr_stage_use_database(pr_stage_t *self, const char *name, pr_error_t *error)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/run/env/POSTRIDER_DATABASE_URL", self->state_dir);
    pr_rc_t rc = connect_both(self, name, error);
    return rc != PR_OK ? rc : pr_home_write(path, self->app_url, 0600, error);
}

pr_rc_t pr_stage_drop_database(pr_stage_t *self, const char *name, pr_error_t *error)
{
    PR_CLEANUP_FREE char *drop = pr_asprintf("DROP DATABASE %s WITH (FORCE)", name);
    pr_rc_t rc = connect_both(self, FIRST_DATABASE, error);
    return rc != PR_OK ? rc : pr_db_sync_query(self->admin, drop, NULL, NULL, error);
}
