/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/queue.h"

#include "actor/options.h"
#include "base/alloc.h"
#include "db/db.h"
#include "sql/cli.h"

#include <stdio.h>
#include <string.h>

#define ROLE "postrider_console"
#define ALERTS_MAX 1000 /* counted up to this */

static json_t *number(const pr_rows_t *rows, int row, int column)
{
    return json_integer((json_int_t)pr_rows_i64(rows, row, column));
}

static pr_rc_t query(pr_db_sync_t *db, int statement, pr_rows_t **rows, pr_error_t *error)
{
    PR_CLEANUP(pr_params) pr_params_t *none = pr_params_new();
    return pr_db_sync_query(db, pr_sql_cli[statement].sql, none, rows, error);
}

static pr_rc_t add_classes(pr_db_sync_t *db, json_t *queue, pr_error_t *error)
{
    static const char *const columns[] = {NULL,       "unmoved", "oldest_unmoved_ms", "jobs",
                                          "retrying", "overdue", "oldest_due_ms"};
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_rc_t rc = query(db, PR_SQL_CLI_STATUS_QUEUES, &rows, error);
    if (rc != PR_OK) {
        return rc;
    }
    json_t *classes = json_array();
    for (int row = 0; row < pr_rows_count(rows); row++) {
        json_t *one = json_pack("{s:i}", "class", (int)pr_rows_i16(rows, row, 0));
        for (int column = 1; column < (int)PR_COUNT(columns); column++) {
            json_object_set_new(one, columns[column], number(rows, row, column));
        }
        json_array_append_new(classes, one);
    }
    json_object_set_new(queue, "classes", classes);
    return PR_OK;
}

static pr_rc_t add_dead(pr_db_sync_t *db, json_t *queue, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_rc_t rc = query(db, PR_SQL_CLI_DEAD_COUNT, &rows, error);
    int64_t open = 0;
    for (int row = 0; rc == PR_OK && row < pr_rows_count(rows); row++) {
        if (strcmp(pr_rows_text(rows, row, 0), "open") == 0) {
            open += pr_rows_i64(rows, row, 2);
        }
    }
    json_object_set_new(queue, "dead_open", json_integer((json_int_t)open));
    return rc;
}

static pr_rc_t add_sessions(pr_db_sync_t *db, json_t *queue, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_rc_t rc = query(db, PR_SQL_CLI_STATUS_SESSIONS, &rows, error);
    json_t *sessions = json_array();
    for (int row = 0; rc == PR_OK && row < pr_rows_count(rows); row++) {
        json_array_append_new(sessions,
                              json_pack("{s:s, s:i}", "address", pr_rows_text(rows, row, 1),
                                        "shards", (int)pr_rows_i32(rows, row, 4)));
    }
    json_object_set_new(queue, "sessions", sessions);
    return rc;
}

static pr_rc_t add_alerts(pr_db_sync_t *db, json_t *queue, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    pr_params_add_bool(params, false);
    pr_params_add_i32(params, ALERTS_MAX);
    pr_rc_t rc = pr_db_sync_query(db, pr_sql_cli[PR_SQL_CLI_ALERT_LIST].sql, params, &rows, error);
    json_object_set_new(queue, "alerts_open", json_integer(rc == PR_OK ? pr_rows_count(rows) : 0));
    return rc;
}

static pr_rc_t look(json_t *queue, pr_error_t *error)
{
    PR_CLEANUP(pr_config) pr_config_t *config = NULL;
    PR_CLEANUP(pr_db_sync) pr_db_sync_t *db = NULL;
    pr_rc_t rc = pr_config_load(NULL, NULL, &config, error);
    if (rc != PR_OK) {
        return rc;
    }
    const char *url = pr_config_text(config, "database.url");
    if (url[0] == '\0') {
        return pr_error_set(error, PR_BAD, "config", "", "no database.url");
    }
    rc = pr_db_sync_connect(url, ROLE, &db, error);
    rc = rc != PR_OK ? rc : add_classes(db, queue, error);
    rc = rc != PR_OK ? rc : add_dead(db, queue, error);
    rc = rc != PR_OK ? rc : add_alerts(db, queue, error);
    return rc != PR_OK ? rc : add_sessions(db, queue, error);
}

json_t *pr_queue_look(void)
{
    pr_error_t error = {0};
    json_t *queue = json_object();
    if (look(queue, &error) != PR_OK) {
        json_object_clear(queue);
        json_object_set_new(queue, "error", json_string(error.text));
    }
    return queue;
}

static long long figure(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

void pr_queue_print(const json_t *queue)
{
    const char *error = json_string_value(json_object_get(queue, "error"));
    if (error != NULL) {
        printf("\nqueue: unknown: %s\n", error);
        return;
    }
    size_t i = 0;
    json_t *one = NULL;
    printf("\n%-5s %9s %13s %9s %9s %9s %13s\n", "class", "unmoved", "oldest_ms", "jobs",
           "retrying", "overdue", "oldest_ms");
    json_array_foreach(json_object_get(queue, "classes"), i, one)
    {
        printf("P%-4lld %9lld %13lld %9lld %9lld %9lld %13lld\n", figure(one, "class"),
               figure(one, "unmoved"), figure(one, "oldest_unmoved_ms"), figure(one, "jobs"),
               figure(one, "retrying"), figure(one, "overdue"), figure(one, "oldest_due_ms"));
    }
    printf("\ndead letters open: %lld, alerts open: %lld\n", figure(queue, "dead_open"),
           figure(queue, "alerts_open"));
    json_array_foreach(json_object_get(queue, "sessions"), i, one)
    {
        printf("scheduler session at %s: %lld shards\n",
               json_string_value(json_object_get(one, "address")), figure(one, "shards"));
    }
}
