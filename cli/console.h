/* SPDX-License-Identifier: Apache-2.0
 *
 * What an operator's command stands on: configuration, one connection as postrider_console, the
 * operator's name, and rows printed as a table for people or as JSON for programs.
 *
 * Errors are printed to stderr here ("postrider: ..."), with the database's hint; the functions
 * return what the command should exit with (cli/command.h): usage for a wrong argument (PR003,
 * PR008), failed for everything else.
 */
#ifndef PR_CLI_CONSOLE_H
#define PR_CLI_CONSOLE_H

#include "actor/options.h"
#include "cli/args.h"
#include "db/db.h"

#include <jansson.h>

#define PR_CONSOLE_USER_MAX 64

typedef struct {
    pr_config_t *config;
    pr_db_sync_t *db;
    pr_params_t *params;
    const char *operator_name; /* --operator, $USER, or user */
    char user[PR_CONSOLE_USER_MAX];
    bool json;
} pr_console_t;

/* Reads the configuration, connects. On failure nothing is left open. */
int pr_console_open(pr_console_t *self, const pr_args_t *args);
/* The same as postrider_app, for what an application does and people may not. */
int pr_console_open_application(pr_console_t *self, const pr_args_t *args);
void pr_console_close(pr_console_t *self); /* accepts a zeroed one */

/* Opens, calls, closes. */
PR_CHECK int pr_console_with(const pr_args_t *args, int (*fn)(pr_console_t *, const pr_args_t *));
PR_CHECK int pr_console_with_application(const pr_args_t *args,
                                         int (*fn)(pr_console_t *, const pr_args_t *));

/* Runs pr_sql_cli[index] with self->params, which it clears. rows may be NULL; gives *rows. */
PR_CHECK int pr_console_query(pr_console_t *self, int index, pr_rows_t **rows);
PR_CHECK int pr_console_run(pr_console_t *self, const pr_statement_t *statement, pr_rows_t **rows);

/* A door that the console has too (sql/queries/console): $1 the operator, $2 the arguments as a JSON
 * object, whose reference is taken; gives what it answers (NULL: nothing), the caller's. */
PR_CHECK int pr_console_door(pr_console_t *self, const pr_statement_t *statement, json_t *arguments,
                             json_t **answer);

/* A row's number, 1 and up; prints what is wrong. what: "payment". */
PR_CHECK int pr_console_id(const char *text, const char *what, int64_t *id);

/* Prints "postrider: ..." and returns the exit code. */
int pr_console_usage(const char *fmt, ...) PR_PRINTF(1, 2);
int pr_console_failed(const char *fmt, ...) PR_PRINTF(1, 2);

/* ---- rows ---- */

typedef enum {
    PR_COLUMN_NONE = 0,
    PR_COLUMN_TEXT,
    PR_COLUMN_LIST,   /* text "a,b": an array in JSON */
    PR_COLUMN_OBJECT, /* text that is JSON */
    PR_COLUMN_I16,
    PR_COLUMN_I32,
    PR_COLUMN_I64,
    PR_COLUMN_REAL,
    PR_COLUMN_BOOL,
    PR_COLUMN_TIME, /* timestamptz */
    PR_COLUMN_UUID,
} pr_column_type_t;

typedef struct {
    const char *name; /* NULL ends; also the JSON key */
    pr_column_type_t type;
    bool only_json; /* too wide for the table */
} pr_column_t;

/* One row as an object; columns in the order of the statement. The caller's reference. */
json_t *pr_console_object(const pr_rows_t *rows, int row, const pr_column_t *columns);
json_t *pr_console_array(const pr_rows_t *rows, const pr_column_t *columns);
/* The whole result: a JSON array, or an aligned table ("nothing" when it is empty). */
void pr_console_print(const pr_console_t *self, const pr_rows_t *rows, const pr_column_t *columns,
                      const char *nothing);
/* One row as JSON, or as "name: value" lines. */
void pr_console_print_one(const pr_console_t *self, const pr_rows_t *rows, int row,
                          const pr_column_t *columns);
/* Writes *object on one line to stdout and drops the reference. */
void pr_console_json(json_t *object);
/* One cell as people read it; "-" for NULL. The caller's string. */
char *pr_console_cell(const pr_rows_t *rows, int row, int column, pr_column_type_t type);

/* Makes it one printable line: control bytes (a receiver's words may be in it) become '?', and it is
 * cut at 60 characters unless it is whole. */
void pr_console_cut(char *text, bool whole);
int pr_console_width(const char *text); /* characters */

/* "2026-11-30T09:00:00.123Z" of microseconds since 1970. */
#define PR_CONSOLE_TIME_MAX 32
void pr_console_time(int64_t us, char out[PR_CONSOLE_TIME_MAX]);

#endif
