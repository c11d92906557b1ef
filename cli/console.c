/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/console.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "sql/cli.h"

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void __attribute__((format(printf, 1, 0))) print_error(const char *fmt, va_list args)
{
    fputs("postrider: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
}

int pr_console_usage(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    print_error(fmt, args);
    va_end(args);
    return PR_EXIT_USAGE;
}

int pr_console_failed(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    print_error(fmt, args);
    va_end(args);
    return PR_EXIT_FAILED;
}

static int connect_db(pr_console_t *self, const pr_args_t *args, const char *role)
{
    const char *url = pr_args_text(args, "database-url");
    if (url == NULL) {
        url = pr_config_text(self->config, "database.url");
    }
    if (url[0] == '\0') {
        return pr_console_usage("no database: set POSTRIDER_DATABASE_URL, give --database-url, or "
                                "start one with `postrider up`");
    }
    pr_error_t error;
    if (pr_db_sync_connect(url, role, &self->db, &error) != PR_OK) {
        return pr_console_failed("%s", error.text);
    }
    return PR_EXIT_OK;
}

/* The name of whoever runs this, in out; "unknown" when the system does not know either. */
static const char *user_name(char out[PR_CONSOLE_USER_MAX])
{
    char buffer[4096];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) != 0 || found == NULL) {
        return "unknown";
    }
    snprintf(out, PR_CONSOLE_USER_MAX, "%s", found->pw_name);
    return out;
}

static int open_as(pr_console_t *self, const pr_args_t *args, const char *role)
{
    *self = (pr_console_t){.json = pr_args_given(args, "json")};
    self->operator_name = pr_args_text(args, "operator");
    if (self->operator_name == NULL) {
        self->operator_name = getenv("USER");
    }
    if (self->operator_name == NULL || self->operator_name[0] == '\0') {
        self->operator_name = user_name(self->user);
    }
    pr_error_t error;
    const pr_arg_value_t *overrides = pr_args_get(args, "set");
    if (pr_config_load(pr_args_text(args, "config"), overrides->items, &self->config, &error) !=
        PR_OK) {
        return pr_console_usage("%s", error.text);
    }
    self->params = pr_params_new();
    int code = connect_db(self, args, role);
    if (code != PR_EXIT_OK) {
        pr_console_close(self);
    }
    return code;
}

int pr_console_open(pr_console_t *self, const pr_args_t *args)
{
    return open_as(self, args, "postrider_console");
}

int pr_console_open_application(pr_console_t *self, const pr_args_t *args)
{
    return open_as(self, args, "postrider_app");
}

void pr_console_close(pr_console_t *self)
{
    if (self->db != NULL) {
        pr_db_sync_destroy(&self->db);
    }
    if (self->params != NULL) {
        pr_params_destroy(&self->params);
    }
    if (self->config != NULL) {
        pr_config_destroy(&self->config);
    }
}

static int with(const pr_args_t *args, const char *role,
                int (*fn)(pr_console_t *, const pr_args_t *))
{
    pr_console_t console;
    int code = open_as(&console, args, role);
    if (code == PR_EXIT_OK) {
        code = fn(&console, args);
        pr_console_close(&console);
    }
    return code;
}

int pr_console_with(const pr_args_t *args, int (*fn)(pr_console_t *, const pr_args_t *))
{
    return with(args, "postrider_console", fn);
}

int pr_console_with_application(const pr_args_t *args, int (*fn)(pr_console_t *, const pr_args_t *))
{
    return with(args, "postrider_app", fn);
}

int pr_console_query(pr_console_t *self, int index, pr_rows_t **rows)
{
    return pr_console_run(self, &pr_sql_cli[index], rows);
}

int pr_console_run(pr_console_t *self, const pr_statement_t *statement, pr_rows_t **rows)
{
    pr_error_t error;
    pr_rc_t rc = pr_db_sync_query(self->db, statement->sql, self->params, rows, &error);
    pr_params_clear(self->params);
    if (rc == PR_OK) {
        return PR_EXIT_OK;
    }
    bool usage = strcmp(error.code, "PR003") == 0 || strcmp(error.code, "PR008") == 0 ||
                 strncmp(error.code, "22", 2) == 0;
    (void)pr_console_failed("%s%s%s", error.text, error.code[0] != '\0' ? " -- " : "", error.code);
    return usage ? PR_EXIT_USAGE : PR_EXIT_FAILED;
}

int pr_console_door(pr_console_t *self, const pr_statement_t *statement, json_t *arguments,
                    json_t **answer)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    char *text = json_dumps(arguments, JSON_COMPACT);
    json_decref(arguments);
    *answer = NULL;
    pr_params_add_text(self->params, self->operator_name);
    pr_params_add_text(self->params, text != NULL ? text : "{}");
    free(text);
    int code = pr_console_run(self, statement, &rows);
    if (code == PR_EXIT_OK && pr_rows_count(rows) > 0 && !pr_rows_null(rows, 0, 0)) {
        *answer = json_loads(pr_rows_text(rows, 0, 0), JSON_DECODE_ANY, NULL);
    }
    return code;
}

int pr_console_id(const char *text, const char *what, int64_t *id)
{
    char *end = NULL;
    errno = 0;
    *id = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *id < 1) {
        return pr_console_usage("\"%s\" is no %s's number", text, what);
    }
    return PR_EXIT_OK;
}
