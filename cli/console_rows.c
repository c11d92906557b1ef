/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows for people and for programs.
 */
#include "base/alloc.h"
#include "cli/console.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A table's cell is cut at this, but for the last column: nothing is moved by that. JSON never is. */
#define CELL_MAX 60

void pr_console_time(int64_t us, char out[PR_CONSOLE_TIME_MAX])
{
    time_t seconds = (time_t)(us / 1000000);
    int64_t rest_us = us % 1000000;
    if (rest_us < 0) {
        rest_us += 1000000;
        seconds--;
    }
    struct tm parts = {0};
    gmtime_r(&seconds, &parts);
    char date[24];
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(out, PR_CONSOLE_TIME_MAX, "%.19s.%03dZ", date, (int)(rest_us / 1000));
}

static char *uuid_text(const pr_rows_t *rows, int row, int column)
{
    uint8_t uuid[16] = {0};
    char hex[33];
    pr_rows_uuid(rows, row, column, uuid);
    pr_hex(pr_bytes(uuid, sizeof uuid), hex);
    return pr_asprintf("%.8s-%.4s-%.4s-%.4s-%s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

char *pr_console_cell(const pr_rows_t *rows, int row, int column, pr_column_type_t type)
{
    if (pr_rows_null(rows, row, column)) {
        return pr_strdup("-");
    }
    char time_text[PR_CONSOLE_TIME_MAX];
    switch (type) {
    case PR_COLUMN_NONE:
    case PR_COLUMN_TEXT:
    case PR_COLUMN_LIST:
    case PR_COLUMN_OBJECT:
        return pr_strdup(pr_rows_text(rows, row, column));
    case PR_COLUMN_I16:
        return pr_asprintf("%d", pr_rows_i16(rows, row, column));
    case PR_COLUMN_I32:
        return pr_asprintf("%" PRId32, pr_rows_i32(rows, row, column));
    case PR_COLUMN_I64:
        return pr_asprintf("%" PRId64, pr_rows_i64(rows, row, column));
    case PR_COLUMN_REAL:
        return pr_asprintf("%g", pr_rows_f64(rows, row, column));
    case PR_COLUMN_BOOL:
        return pr_strdup(pr_rows_bool(rows, row, column) ? "yes" : "no");
    case PR_COLUMN_TIME:
        pr_console_time(pr_rows_time_us(rows, row, column), time_text);
        return pr_strdup(time_text);
    case PR_COLUMN_UUID:
        return uuid_text(rows, row, column);
    }
    return pr_strdup("");
}

static json_t *list_of(const char *text)
{
    json_t *list = json_array();
    while (text[0] != '\0') {
        size_t len = strcspn(text, ",");
        json_array_append_new(list, json_stringn(text, len));
        text += len + (text[len] == ',' ? 1 : 0);
    }
    return list;
}

/* Text that is not UTF-8 cannot be JSON: the database gives UTF-8, so this is for the eye of a
 * debugger. */
static json_t *text_of(const char *text)
{
    json_t *value = json_string(text);
    return value != NULL ? value : json_string("(not UTF-8)");
}

static json_t *value_of(const pr_rows_t *rows, int row, int column, pr_column_type_t type)
{
    if (pr_rows_null(rows, row, column)) {
        return json_null();
    }
    switch (type) {
    case PR_COLUMN_I16:
        return json_integer(pr_rows_i16(rows, row, column));
    case PR_COLUMN_I32:
        return json_integer(pr_rows_i32(rows, row, column));
    case PR_COLUMN_I64:
        return json_integer(pr_rows_i64(rows, row, column));
    case PR_COLUMN_REAL:
        return json_real(pr_rows_f64(rows, row, column));
    case PR_COLUMN_BOOL:
        return json_boolean(pr_rows_bool(rows, row, column));
    case PR_COLUMN_LIST:
        return list_of(pr_rows_text(rows, row, column));
    case PR_COLUMN_OBJECT: {
        json_t *object = json_loads(pr_rows_text(rows, row, column), JSON_DECODE_ANY, NULL);
        return object != NULL ? object : text_of(pr_rows_text(rows, row, column));
    }
    case PR_COLUMN_NONE:
    case PR_COLUMN_TEXT:
    case PR_COLUMN_TIME:
    case PR_COLUMN_UUID:
        break;
    }
    PR_CLEANUP_FREE char *text = pr_console_cell(rows, row, column, type);
    return text_of(text);
}

json_t *pr_console_object(const pr_rows_t *rows, int row, const pr_column_t *columns)
{
    json_t *object = json_object();
    for (int i = 0; columns[i].name != NULL; i++) {
        json_object_set_new(object, columns[i].name, value_of(rows, row, i, columns[i].type));
    }
    return object;
}

json_t *pr_console_array(const pr_rows_t *rows, const pr_column_t *columns)
{
    json_t *array = json_array();
    for (int row = 0; row < pr_rows_count(rows); row++) {
        json_array_append_new(array, pr_console_object(rows, row, columns));
    }
    return array;
}

void pr_console_json(json_t *object)
{
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

/* ---- the table ---- */

void pr_console_cut(char *text, bool whole)
{
    size_t shown = 0;
    for (char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) {
            *at = '?';
        }
        bool begins = ((unsigned char)*at & 0xc0) != 0x80;
        if (begins && shown++ == CELL_MAX && !whole) {
            *at = '\0';
            break;
        }
    }
}

static char *cell_of(const pr_rows_t *rows, int row, int column, pr_column_type_t type, bool whole)
{
    char *text = pr_console_cell(rows, row, column, type);
    pr_console_cut(text, whole);
    return text;
}

int pr_console_width(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

static void print_padded(const char *text, int width, bool last)
{
    fputs(text, stdout);
    for (int i = pr_console_width(text); !last && i < width + 2; i++) {
        putchar(' ');
    }
}

static int last_shown(const pr_column_t *columns)
{
    int last = 0;
    for (int i = 0; columns[i].name != NULL; i++) {
        last = columns[i].only_json ? last : i;
    }
    return last;
}

static void print_table(const pr_rows_t *rows, const pr_column_t *columns)
{
    int last = last_shown(columns), count = pr_rows_count(rows);
    PR_CLEANUP_FREE int *widths = pr_calloc((size_t)last + 1, sizeof *widths);
    for (int i = 0; i <= last; i++) {
        widths[i] = pr_console_width(columns[i].name);
        for (int row = 0; row < count && !columns[i].only_json; row++) {
            PR_CLEANUP_FREE char *text = cell_of(rows, row, i, columns[i].type, i == last);
            int width = pr_console_width(text);
            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    for (int row = -1; row < count; row++) {
        for (int i = 0; i <= last; i++) {
            if (columns[i].only_json) {
                continue;
            }
            PR_CLEANUP_FREE char *text = row < 0
                                             ? pr_strdup(columns[i].name)
                                             : cell_of(rows, row, i, columns[i].type, i == last);
            print_padded(text, widths[i], i == last);
        }
        putchar('\n');
    }
}

void pr_console_print(const pr_console_t *self, const pr_rows_t *rows, const pr_column_t *columns,
                      const char *nothing)
{
    if (self->json) {
        pr_console_json(pr_console_array(rows, columns));
    } else if (pr_rows_count(rows) == 0) {
        puts(nothing);
    } else {
        print_table(rows, columns);
    }
}

void pr_console_print_one(const pr_console_t *self, const pr_rows_t *rows, int row,
                          const pr_column_t *columns)
{
    if (self->json) {
        pr_console_json(pr_console_object(rows, row, columns));
        return;
    }
    for (int i = 0; columns[i].name != NULL; i++) {
        PR_CLEANUP_FREE char *text = cell_of(rows, row, i, columns[i].type, true);
        printf("%s: %s\n", columns[i].name, text);
    }
}
