/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/door.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/merchant_secret.h"
#include "password/password.h"
#include "sql/cli.h"
#include "sql/console.h"

#include <openssl/crypto.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* ---- answers ---- */

/* "-" for null. */
static char *cell_of(const json_t *value, bool whole)
{
    char *text = NULL;
    if (value == NULL || json_is_null(value)) {
        text = pr_strdup("-");
    } else if (json_is_string(value)) {
        text = pr_strdup(json_string_value(value));
    } else if (json_is_boolean(value)) {
        text = pr_strdup(json_is_true(value) ? "yes" : "no");
    } else {
        char *dumped = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        text = pr_strdup(dumped != NULL ? dumped : "?");
        free(dumped);
    }
    pr_console_cut(text, whole);
    return text;
}

static void print_table(const json_t *items, const char *const *fields)
{
    int widths[PR_ARGS_OPTIONS_MAX] = {0};
    int last = 0;
    while (fields[last + 1] != NULL) {
        last++;
    }
    for (int pass = 0; pass < 2; pass++) { /* how wide they are, then the rows */
        for (size_t row = 0; row <= json_array_size(items); row++) {
            const json_t *item = row > 0 ? json_array_get(items, row - 1) : NULL;
            for (int i = 0; i <= last; i++) {
                PR_CLEANUP_FREE char *text =
                    row == 0 ? pr_strdup(fields[i])
                             : cell_of(json_object_get(item, fields[i]), i == last);
                int width = pr_console_width(text);
                if (pass == 0) {
                    widths[i] = width > widths[i] ? width : widths[i];
                    continue;
                }
                printf("%s%*s", text, i == last ? 0 : widths[i] + 2 - width, "");
            }
            if (pass == 1) {
                putchar('\n');
            }
        }
    }
}

void pr_door_print(const pr_console_t *console, const json_t *answer, const char *const *fields,
                   const char *nothing)
{
    const json_t *items = json_is_array(answer) ? answer : json_object_get(answer, "items");
    if (console->json) {
        json_dumpf(answer, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
        putchar('\n');
    } else if (items != NULL && json_array_size(items) == 0) {
        puts(nothing);
    } else if (items != NULL) {
        print_table(items, fields);
        if (json_is_string(json_object_get(answer, "next"))) {
            printf("there are more: --after '%s'\n",
                   json_string_value(json_object_get(answer, "next")));
        }
    } else {
        for (; *fields != NULL; fields++) {
            PR_CLEANUP_FREE char *text = cell_of(json_object_get(answer, *fields), true);
            printf("%s: %s\n", *fields, text);
        }
    }
}

int pr_door_call(pr_console_t *console, const pr_statement_t *statement, json_t *arguments,
                 const char *const *fields, const char *nothing)
{
    json_t *answer = NULL;
    int code = pr_console_door(console, statement, arguments, &answer);
    if (code == PR_EXIT_OK) {
        pr_door_print(console, answer, fields, nothing);
    }
    json_decref(answer);
    return code;
}

json_t *pr_door_arguments(const pr_args_t *args, const char *const *names)
{
    json_t *object = json_object();
    for (; *names != NULL; names++) {
        const pr_arg_value_t *value = pr_args_get(args, *names);
        PR_CLEANUP_FREE char *key = pr_strdup(*names);
        for (char *at = key; *at != '\0'; at++) {
            *at = *at == '-' ? '_' : *at;
        }
        if (value->given && value->text != NULL) {
            json_object_set_new(object, key, json_string(value->text));
        } else if (value->given) {
            json_object_set_new(object, key, json_integer(value->integer));
        }
    }
    return object;
}

static void print_asked(const pr_console_t *console, const json_t *approval)
{
    if (console->json) {
        json_dumpf(approval, stdout, JSON_COMPACT);
        putchar('\n');
        return;
    }
    int64_t id = json_integer_value(json_object_get(approval, "id"));
    printf("request %" PRId64 ": another person looks at it (postrider approval show %" PRId64
           ") and approves or rejects it\n",
           id, id);
}

int pr_door_ask_approval(pr_console_t *console, const char *action, const char *object,
                         json_t *content, const char *reason)
{
    json_t *answer = NULL;
    json_t *arguments = json_pack("{s:s, s:s, s:o, s:s*}", "action", action, "object", object,
                                  "content", content, "reason", reason);
    int code =
        pr_console_door(console, &pr_sql_console[PR_SQL_CONSOLE_APPROVAL_ASK], arguments, &answer);
    if (code == PR_EXIT_OK) {
        print_asked(console, answer);
    }
    json_decref(answer);
    return code;
}

/* ---- who it is ---- */

/* A line from the terminal that does not show. */
static bool ask_terminal(const char *what, char out[PR_DOOR_PASSWORD_MAX])
{
    FILE *terminal = fopen("/dev/tty", "r+e");
    if (terminal == NULL) {
        return false;
    }
    struct termios shown, hidden;
    bool can_hide = tcgetattr(fileno(terminal), &shown) == 0;
    if (can_hide) {
        hidden = shown;
        hidden.c_lflag &= ~(tcflag_t)ECHO;
        (void)tcsetattr(fileno(terminal), TCSAFLUSH, &hidden);
    }
    fprintf(terminal, "%s: ", what);
    fflush(terminal);
    bool read = fgets(out, PR_DOOR_PASSWORD_MAX, terminal) != NULL;
    if (can_hide) {
        (void)tcsetattr(fileno(terminal), TCSAFLUSH, &shown);
    }
    fputc('\n', terminal);
    fclose(terminal);
    if (read) {
        out[strcspn(out, "\r\n")] = '\0';
    }
    return read;
}

int pr_door_password(const pr_args_t *args, const char *what, char out[PR_DOOR_PASSWORD_MAX])
{
    const char *path = pr_args_text(args, "password-file");
    if (path == NULL) {
        return ask_terminal(what, out)
                   ? PR_EXIT_OK
                   : pr_console_usage("--password-file is needed where there is no terminal");
    }
    char text[PR_CLI_SECRET_FILE_MAX];
    size_t len = 0;
    int code = PR_EXIT_OK;
    if (!pr_cli_secret_read(path, text, &len) || len >= PR_DOOR_PASSWORD_MAX) {
        code = pr_console_usage("the password cannot be read from %s, or is too long", path);
    } else {
        memcpy(out, text, len + 1);
    }
    OPENSSL_cleanse(text, sizeof text);
    return code;
}

int pr_door_prove(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    char password[PR_DOOR_PASSWORD_MAX];
    PR_CLEANUP_FREE char *what = pr_asprintf("password of %s", console->operator_name);
    int code = pr_door_password(args, what, password);
    if (code != PR_EXIT_OK) {
        return code;
    }
    pr_params_add_text(console->params, console->operator_name);
    code = pr_console_query(console, PR_SQL_CLI_OPERATOR_SECRET, &rows);
    const char *hash = NULL;
    if (code == PR_EXIT_OK && pr_rows_count(rows) > 0 && !pr_rows_null(rows, 0, 0)) {
        hash = pr_rows_text(rows, 0, 0);
    }
    if (code == PR_EXIT_OK && !pr_password_verify(hash, password)) {
        code = pr_console_failed("that is not the password of an operator %s -- PR010",
                                 console->operator_name);
    }
    OPENSSL_cleanse(password, sizeof password);
    return code;
}
