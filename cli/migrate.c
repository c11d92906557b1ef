/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/migrate.h"

#include "actor/options.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "cli/command.h"
#include "sql/migrate.h"

#include <jansson.h>

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A migration that waits for a lock makes everybody behind it wait too: it gives up and comes
 * again. */
#define LOCK_TRIES 10
#define LOCK_PAUSE_S 1

static const char *sql(int index)
{
    return pr_sql_migrate[index].sql;
}

/* ---- what is there ---- */

typedef struct {
    bool has_schema;
    bool has_table;
} found_t;

static pr_rc_t look(pr_db_sync_t *db, found_t *found, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_rc_t rc = pr_db_sync_query(db, sql(PR_SQL_MIGRATE_LOOK), NULL, &rows, error);
    if (rc != PR_OK)
        return rc;
    *found = (found_t){pr_rows_bool(rows, 0, 0), pr_rows_bool(rows, 0, 1)};
    if (found->has_schema && !found->has_table)
        return pr_error_set(error, PR_BAD, "migrate", "",
                            "the database has a schema postrider that migrate did not make "
                            "(no table postrider.schema_version): rename or drop it");
    return PR_OK;
}

static const pr_migration_t *find_migration(int number)
{
    for (const pr_migration_t *m = pr_migrations; m->name != NULL; m++) {
        if (m->number == number)
            return m;
    }
    return NULL;
}

static pr_rc_t check_applied(const pr_rows_t *rows, int row, pr_error_t *error)
{
    const char *name = pr_rows_text(rows, row, 1);
    const pr_migration_t *known = find_migration(pr_rows_i32(rows, row, 0));
    if (known == NULL)
        return pr_error_set(error, PR_BAD, "migrate", "",
                            "the schema is newer than this build (%s): it has migration %s; "
                            "install the build that made it, or a later one",
                            PR_VERSION, name);
    if (strcmp(known->sha256, pr_rows_text(rows, row, 2)) != 0)
        return pr_error_set(error, PR_BAD, "migrate", "",
                            "migration %s was applied with another content than %s of this build: "
                            "a released migration never changes; use the build that applied it",
                            name, known->name);
    return PR_OK;
}

static bool is_applied(const pr_rows_t *applied, int number)
{
    for (int i = 0; applied != NULL && i < pr_rows_count(applied); i++) {
        if (pr_rows_i32(applied, i, 0) == number)
            return true;
    }
    return false;
}

/* Gives *applied; NULL on an empty database. */
static pr_rc_t list_applied(pr_db_sync_t *db, pr_rows_t **applied, pr_error_t *error)
{
    found_t found;
    pr_rc_t rc = look(db, &found, error);
    if (rc == PR_OK && found.has_table)
        rc = pr_db_sync_query(db, sql(PR_SQL_MIGRATE_LIST_APPLIED), NULL, applied, error);
    for (int i = 0; rc == PR_OK && *applied != NULL && i < pr_rows_count(*applied); i++)
        rc = check_applied(*applied, i, error);
    return rc;
}

/* ---- applying ---- */

static pr_rc_t record(pr_db_sync_t *db, const pr_migration_t *migration, pr_error_t *error)
{
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    pr_params_add_i32(params, migration->number);
    pr_params_add_text(params, migration->name);
    pr_params_add_text(params, migration->sha256);
    return pr_db_sync_query(db, sql(PR_SQL_MIGRATE_RECORD_MIGRATION), params, NULL, error);
}

static pr_rc_t apply_once(pr_db_sync_t *db, const pr_migration_t *migration, pr_error_t *error)
{
    pr_rc_t rc = pr_db_sync_query(db, "BEGIN", NULL, NULL, error);
    if (rc == PR_OK)
        rc = pr_db_sync_query(db, "SET LOCAL lock_timeout = '2s'", NULL, NULL, error);
    if (rc == PR_OK)
        rc = pr_db_sync_script(db, migration->sql, error);
    if (rc == PR_OK)
        rc = pr_db_sync_script(db, sql(PR_SQL_MIGRATE_CREATE_VERSION_TABLE), error);
    if (rc == PR_OK)
        rc = record(db, migration, error);
    if (rc == PR_OK)
        return pr_db_sync_query(db, "COMMIT", NULL, NULL, error);
    pr_rc_t undone = pr_db_sync_query(db, "ROLLBACK", NULL, NULL, NULL);
    return undone == PR_OK ? rc : PR_FATAL; /* a lost connection: the next try would say no more */
}

static pr_rc_t apply(pr_db_sync_t *db, const pr_migration_t *migration, pr_error_t *error)
{
    pr_error_t inner = {0};
    for (int tries = 1;; tries++) {
        pr_rc_t rc = apply_once(db, migration, &inner);
        if (rc == PR_OK)
            return rc;
        bool locked = strcmp(inner.code, "55P03") == 0;
        if (!locked || tries == LOCK_TRIES)
            return pr_error_set(error, rc, "migrate", inner.code, "%s: %s", migration->name,
                                inner.text);
        sleep(LOCK_PAUSE_S);
    }
}

pr_rc_t pr_migrate_apply(pr_db_sync_t *db, pr_migrate_result_t *result, pr_error_t *error)
{
    *result = (pr_migrate_result_t){0};
    pr_rc_t rc = pr_db_sync_query(db, sql(PR_SQL_MIGRATE_TAKE_LOCK), NULL, NULL, error);
    PR_CLEANUP(pr_rows) pr_rows_t *applied = NULL;
    if (rc == PR_OK)
        rc = list_applied(db, &applied, error);
    if (rc == PR_OK && applied != NULL)
        result->before = pr_rows_count(applied);
    for (const pr_migration_t *m = pr_migrations; rc == PR_OK && m->name != NULL; m++) {
        if (is_applied(applied, m->number))
            continue;
        rc = apply(db, m, error);
        pr_assert(result->applied < PR_MIGRATIONS_MAX);
        if (rc == PR_OK)
            result->names[result->applied++] = m->name;
    }
    return rc;
}

/* ---- the other jobs ---- */

pr_rc_t pr_migrate_grant_login(pr_db_sync_t *db, const char *login, pr_error_t *error)
{
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(params, login);
    pr_rc_t rc = pr_db_sync_query(db, sql(PR_SQL_MIGRATE_GRANT_LOGIN), params, &rows, error);
    if (rc == PR_OK)
        rc = pr_db_sync_script(db, pr_rows_text(rows, 0, 0), error);
    return rc;
}

static pr_rc_t rebase(pr_db_sync_t *db, int64_t *handed_over, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_rc_t rc = pr_db_sync_query(db, sql(PR_SQL_MIGRATE_REBASE), NULL, &rows, error);
    if (rc == PR_OK)
        *handed_over = pr_rows_i64(rows, 0, 0);
    return rc;
}

/* ---- the command ---- */

typedef struct {
    const char *url;
    const char *config;
    const char *login;
    bool rebase, json;
} arguments_t;

static void help(void)
{
    fputs(
        "usage: postrider migrate [--database-url URL] [--config FILE] [--login USER] [--rebase]\n"
        "                         [--json]\n\n"
        "Creates or upgrades schema and roles; safe to repeat; refuses a newer schema.\n\n"
        "  --database-url URL  as a user who may create roles; else database.url of the\n"
        "                      configuration (--config FILE, POSTRIDER_DATABASE_URL)\n"
        "  --login USER        the login that actors connect as: made when missing, and granted\n"
        "                      every actor's role\n"
        "  --rebase            after a restored dump: hands over every row without job or end\n",
        stdout);
}

/* -1: go on; else the exit code. */
static int read_arguments(int argc, char **argv, arguments_t *out)
{
    static const struct option longopts[] = {
        {"database-url", required_argument, NULL, 'u'},
        {"config", required_argument, NULL, 'c'},
        {"login", required_argument, NULL, 'l'},
        {"rebase", no_argument, NULL, 'r'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    optind = 1;
    int option;
    while ((option = getopt_long(argc, argv, "h", longopts, NULL)) != -1) {
        switch (option) {
        case 'u':
            out->url = optarg;
            break;
        case 'c':
            out->config = optarg;
            break;
        case 'l':
            out->login = optarg;
            break;
        case 'r':
            out->rebase = true;
            break;
        case 'j':
            out->json = true;
            break;
        case 'h':
            help();
            return PR_EXIT_OK;
        default:
            return PR_EXIT_USAGE;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "postrider migrate: unexpected argument %s\n", argv[optind]);
        return PR_EXIT_USAGE;
    }
    return -1;
}

typedef struct {
    pr_migrate_result_t migrated;
    int64_t handed_over; /* -1: no rebase */
} report_t;

static void print_json(const arguments_t *arguments, const report_t *report)
{
    json_t *names = json_array();
    for (int i = 0; i < report->migrated.applied; i++)
        json_array_append_new(names, json_string(report->migrated.names[i]));
    json_t *out = json_pack("{s:i, s:i, s:o}", "migrations", pr_migrations_count, "before",
                            report->migrated.before, "applied", names);
    if (report->handed_over >= 0)
        json_object_set_new(out, "handed_over", json_integer(report->handed_over));
    if (arguments->login != NULL)
        json_object_set_new(out, "login", json_string(arguments->login));
    json_dumpf(out, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(out);
}

static void print_text(const arguments_t *arguments, const report_t *report)
{
    for (int i = 0; i < report->migrated.applied; i++)
        printf("applied %s\n", report->migrated.names[i]);
    printf("%d migrations: %d new, %d were there\n", pr_migrations_count, report->migrated.applied,
           report->migrated.before);
    if (arguments->login != NULL)
        printf("login %s has every actor's role\n", arguments->login);
    if (report->handed_over >= 0)
        printf("rebased: %" PRId64 " outbox rows will be handed over\n", report->handed_over);
}

static pr_rc_t work(const arguments_t *arguments, const char *url, report_t *report,
                    pr_error_t *error)
{
    PR_CLEANUP(pr_db_sync) pr_db_sync_t *db = NULL;
    pr_rc_t rc = pr_db_sync_connect(url, NULL, &db, error);
    if (rc == PR_OK)
        rc = pr_migrate_apply(db, &report->migrated, error);
    if (rc == PR_OK && arguments->login != NULL)
        rc = pr_migrate_grant_login(db, arguments->login, error);
    if (rc == PR_OK && arguments->rebase)
        rc = rebase(db, &report->handed_over, error);
    return rc;
}

int pr_migrate_main(int argc, char **argv)
{
    arguments_t arguments = {0};
    int code = read_arguments(argc, argv, &arguments);
    if (code >= 0)
        return code;
    pr_error_t error;
    PR_CLEANUP(pr_config) pr_config_t *config = NULL;
    if (pr_config_load(arguments.config, NULL, &config, &error) != PR_OK) {
        fprintf(stderr, "postrider migrate: %s\n", error.text);
        return PR_EXIT_USAGE;
    }
    const char *url =
        arguments.url != NULL ? arguments.url : pr_config_text(config, "database.url");
    if (url[0] == '\0') {
        fputs("postrider migrate: no database: give --database-url or POSTRIDER_DATABASE_URL\n",
              stderr);
        return PR_EXIT_USAGE;
    }
    report_t report = {.handed_over = -1};
    pr_rc_t rc = work(&arguments, url, &report, &error);
    if (rc != PR_OK) {
        fprintf(stderr, "postrider migrate: %s%s%s\n", error.code, error.code[0] ? ": " : "",
                error.text);
        return PR_EXIT_FAILED;
    }
    if (arguments.json)
        print_json(&arguments, &report);
    else
        print_text(&arguments, &report);
    return PR_EXIT_OK;
}
