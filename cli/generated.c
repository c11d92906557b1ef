/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/generated.h"

#include "actor/options.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "cli/home.h"
#include "cli/migrate.h"
#include "cli/process.h"
#include "db/db.h"
#include "sql/cli.h"

#include <jansson.h>

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_BYTES 32 /* lib/sign/seal.h: AES-256 */
#define OUTPUT_MAX_BYTES 65536
#define SECRET_MODE 0600
#define CONSOLE_ROLE "postrider_console"
#define LOGIN "postrider" /* scripts/pg.sh makes it */

/* "breaker.recovery_rate" -> "STATE/run/env/POSTRIDER_BREAKER_RECOVERY_RATE". The caller's. */
static char *env_path(const char *state_dir, const char *key, size_t key_len)
{
    char *path = pr_asprintf("%s/run/env/POSTRIDER_%.*s", state_dir, (int)key_len, key);
    for (char *at = path + strlen(path) - key_len; *at != '\0'; at++) {
        *at = *at == '.' ? '_' : (char)toupper((unsigned char)*at);
    }
    return path;
}

static pr_rc_t put(const char *state_dir, const char *key, size_t key_len, const char *value,
                   pr_error_t *error)
{
    PR_CLEANUP_FREE char *path = env_path(state_dir, key, key_len);
    PR_CLEANUP_FREE char *line = pr_asprintf("%s\n", value);
    return pr_home_write(path, line, SECRET_MODE, error);
}

static pr_rc_t put_text(const char *state_dir, const char *key, const char *value,
                        pr_error_t *error)
{
    return put(state_dir, key, strlen(key), value, error);
}

/* ---- what the caller gave ---- */

static pr_rc_t put_config(const pr_topology_options_t *options, pr_error_t *error)
{
    if (options->config == NULL) {
        return PR_OK; /* POSTRIDER_CONFIG, if set, is inherited */
    }
    char path[PATH_MAX]; /* actors have another working directory */
    if (realpath(options->config, path) == NULL) {
        return pr_error_set(error, PR_BAD, "config", "ENOENT", "no file %s", options->config);
    }
    return put_text(options->state_dir, "config", path, error);
}

static pr_rc_t put_overrides(const pr_topology_options_t *options, pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    const char *const *override = options->overrides;
    for (; rc == PR_OK && override != NULL && *override != NULL; override++) {
        size_t key_len = strcspn(*override, "="); /* pr_config_load has seen the '=' */
        rc = put(options->state_dir, *override, key_len, *override + key_len + 1, error);
    }
    return rc;
}

/* ---- master key ---- */

static pr_rc_t make_key(const char *state_dir, pr_error_t *error)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/master.key", state_dir);
    pr_rc_t rc = PR_OK;
    if (access(path, F_OK) != 0) { /* made once: what it sealed must open for ever */
        uint8_t key[KEY_BYTES];
        char text[2 * KEY_BYTES + 2];
        pr_random_bytes(key, sizeof(key));
        pr_hex(pr_bytes(key, sizeof(key)), text);
        text[sizeof(text) - 2] = '\n';
        text[sizeof(text) - 1] = '\0';
        rc = pr_home_write(path, text, SECRET_MODE, error);
        explicit_bzero(key, sizeof(key));
        explicit_bzero(text, sizeof(text));
    }
    return rc != PR_OK ? rc : put_text(state_dir, "master_key_file", path, error);
}

/* ---- bus ---- */

/* "ipc://DIR/b1,ipc://DIR/b2". The caller's. */
static char *own_brokers(const char *dir, int count)
{
    char *list = pr_strdup("");
    for (int n = 1; n <= count; n++) {
        char *longer = pr_asprintf("%s%sipc://%s/b%d", list, n > 1 ? "," : "", dir, n);
        pr_free(list);
        list = longer;
    }
    return list;
}

static char *joined(const char *const *words, int count)
{
    char *list = pr_strdup("");
    for (int i = 0; i < count; i++) {
        char *longer = pr_asprintf("%s%s%s", list, i > 0 ? "," : "", words[i]);
        pr_free(list);
        list = longer;
    }
    return list;
}

static bool is_default(const char *key, const char *value)
{
    for (int i = 0; pr_settings[i].key != NULL; i++) {
        if (strcmp(pr_settings[i].key, key) == 0) {
            return strcmp(pr_settings[i].fallback, value) == 0;
        }
    }
    return false;
}

/* The list of brokers is written down even when it was configured: each broker process is told
 * its own address out of it (pr_generated_broker). */
static pr_rc_t put_bus(const pr_topology_options_t *options, const pr_config_t *config,
                       pr_error_t *error)
{
    const char *const *listed = NULL;
    int count = pr_config_list(config, "bus.brokers", &listed);
    if (count > 0 && !is_default("bus.brokers", listed[0])) {
        PR_CLEANUP_FREE char *text = joined(listed, count);
        return put_text(options->state_dir, "bus.brokers", text, error);
    }
    PR_CLEANUP_FREE char *dir = pr_home_socket_dir(options->state_dir);
    PR_CLEANUP_FREE char *list = own_brokers(dir, pr_topology_scale(options, "broker", 1));
    pr_rc_t rc = pr_home_make_private_dir(dir, error);
    return rc != PR_OK ? rc : put_text(options->state_dir, "bus.brokers", list, error);
}

char *pr_generated_broker(const char *state_dir, int n)
{
    PR_CLEANUP_FREE char *path = env_path(state_dir, "bus.brokers", strlen("bus.brokers"));
    PR_CLEANUP_FREE char *list = pr_home_read(path);
    char *rest = list;
    for (char *word = strsep(&rest, ","); word != NULL; word = strsep(&rest, ",")) {
        n--;
        if (n == 0) {
            return pr_strdup(word);
        }
    }
    return NULL;
}

/* ---- database ---- */

/* The last line that pg.sh VERB prints; NULL with *error. */
static char *ask_pg(const char *verb, const char *dir, pr_error_t *error)
{
    PR_CLEANUP_FREE char *script = pr_home_script("pg.sh");
    const char *const argv[] = {script, verb, dir, NULL};
    pr_buffer_t out;
    pr_buffer_init(&out, OUTPUT_MAX_BYTES);
    char *answer = NULL;
    if (pr_process_capture(argv, &out, NULL, error) == PR_OK) {
        answer = pr_strndup(pr_buffer_text(&out), strcspn(pr_buffer_text(&out), "\n"));
    }
    pr_buffer_free(&out);
    return answer;
}

static pr_rc_t tell_pg(const char *verb, const char *dir, pr_error_t *error)
{
    PR_CLEANUP_FREE char *answer = ask_pg(verb, dir, error);
    return answer != NULL ? PR_OK : PR_FATAL;
}

static pr_rc_t migrate(const char *dir, pr_error_t *error)
{
    PR_CLEANUP_FREE char *url = ask_pg("admin-url", dir, error);
    if (url == NULL) {
        return PR_FATAL;
    }
    PR_CLEANUP(pr_db_sync) pr_db_sync_t *db = NULL;
    pr_migrate_result_t result = {0};
    pr_rc_t rc = pr_db_sync_connect(url, NULL, &db, error);
    rc = rc != PR_OK ? rc : pr_migrate_apply(db, &result, error);
    return rc != PR_OK ? rc : pr_migrate_grant_login(db, LOGIN, error);
}

/* Gives the actors' URL. */
static pr_rc_t make_database(const char *state_dir, char **url, pr_error_t *error)
{
    PR_CLEANUP_FREE char *dir = pr_asprintf("%s/postgres", state_dir);
    pr_rc_t rc = tell_pg("start", dir, error);
    rc = rc != PR_OK ? rc : migrate(dir, error);
    if (rc != PR_OK) {
        return PR_FATAL;
    }
    *url = ask_pg("url", dir, error);
    return *url == NULL ? PR_FATAL : put_text(state_dir, "database.url", *url, error);
}

/* ---- doors ---- */

static void add_thresholds(const pr_config_t *config, const char *key, const char *field,
                           json_t *by_currency)
{
    const char *const *currencies = NULL;
    const int64_t *minors = NULL;
    int count = pr_config_map(config, key, &currencies, &minors);
    for (int i = 0; i < count; i++) {
        json_t *rule = json_object_get(by_currency, currencies[i]);
        if (rule == NULL) {
            rule = json_object();
            json_object_set_new(by_currency, currencies[i], rule);
        }
        json_object_set_new(rule, field, json_integer((json_int_t)minors[i]));
    }
}

/* {"CNY": {"large_minor": n, "small_minor": n}}; the caller's. */
static char *priority_json(const pr_config_t *config)
{
    json_t *by_currency = json_object();
    add_thresholds(config, "priority.large_minor", "large_minor", by_currency);
    add_thresholds(config, "priority.small_minor", "small_minor", by_currency);
    char *dumped = json_dumps(by_currency, JSON_COMPACT);
    char *text = pr_strdup(dumped);
    free(dumped); /* jansson's own malloc */
    json_decref(by_currency);
    return text;
}

/* SQL waits by itself, too (settling, first polls), and runs the application's hook. */
static pr_rc_t tell_payments(const pr_config_t *config, pr_db_sync_t *db, pr_error_t *error)
{
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    char scale[32];
    snprintf(scale, sizeof scale, "%.9g", pr_config_real(config, "time_scale"));
    pr_params_add_text(params, scale);
    pr_params_add_text(params, pr_config_text(config, "hooks.payment"));
    return pr_db_sync_query(db, pr_sql_cli[PR_SQL_CLI_CONFIGURE_PAYMENTS].sql, params, NULL, error);
}

/* What SQL must know of the configuration: the thresholds of the priority classes, the default
 * retry list, what payments need. A database that is away for the moment is no reason not to start: actors wait for it. */
static pr_rc_t tell_database(const pr_config_t *config, const char *url, pr_error_t *error)
{
    PR_CLEANUP(pr_db_sync) pr_db_sync_t *db = NULL;
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    PR_CLEANUP_FREE char *priority = priority_json(config);
    pr_rc_t rc = pr_db_sync_connect(url, CONSOLE_ROLE, &db, error);
    if (rc == PR_AGAIN) {
        fprintf(stderr, "postrider: the database is away, so section priority is not written: %s\n",
                error->text);
        return PR_OK;
    }
    if (rc != PR_OK) {
        return rc;
    }
    pr_params_add_text(params, priority);
    pr_params_add_text(params, pr_config_text(config, "retry.notification"));
    rc = pr_db_sync_query(db, pr_sql_cli[PR_SQL_CLI_CONFIGURE].sql, params, NULL, error);
    return rc == PR_OK ? tell_payments(config, db, error) : rc;
}

static pr_rc_t make_missing(const pr_topology_options_t *options, const pr_config_t *config,
                            pr_error_t *error)
{
    const char *state = options->state_dir;
    pr_rc_t rc = put_bus(options, config, error);
    if (rc == PR_OK && pr_config_text(config, "master_key_file")[0] == '\0') {
        rc = make_key(state, error);
    }
    if (rc != PR_OK) {
        return rc;
    }
    const char *configured = pr_config_text(config, "database.url");
    PR_CLEANUP_FREE char *url = configured[0] != '\0' ? pr_strdup(configured) : NULL;
    if (url == NULL) {
        rc = make_database(state, &url, error);
    }
    return rc != PR_OK ? rc : tell_database(config, url, error);
}

pr_rc_t pr_generated_make(const pr_topology_options_t *options, pr_error_t *error)
{
    PR_CLEANUP_FREE char *env = pr_asprintf("%s/run/env", options->state_dir);
    pr_home_remove(env);
    PR_CLEANUP(pr_config) pr_config_t *config = NULL;
    pr_rc_t rc = pr_config_load(options->config, options->overrides, &config, error);
    rc = rc != PR_OK ? rc : pr_home_make_dirs(env, error);
    rc = rc != PR_OK ? rc : put_config(options, error);
    rc = rc != PR_OK ? rc : put_overrides(options, error);
    return rc != PR_OK ? rc : make_missing(options, config, error);
}

pr_rc_t pr_generated_clear(const char *state_dir, bool lost, pr_error_t *error)
{
    PR_CLEANUP_FREE char *env = pr_asprintf("%s/run/env", state_dir);
    PR_CLEANUP_FREE char *cluster = pr_asprintf("%s/postgres", state_dir);
    PR_CLEANUP_FREE char *sockets = pr_home_socket_dir(state_dir);
    pr_home_remove(env);
    pr_home_remove(sockets);
    return lost || access(cluster, F_OK) == 0 ? tell_pg("stop", cluster, error) : PR_OK;
}
