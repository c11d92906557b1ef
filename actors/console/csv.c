/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/console/csv.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 15 /* of a number that a spreadsheet keeps */

/* ---- cells ---- */

static bool is_formula(const char *text)
{
    static const char *const wide[] = {"\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d",
                                       "\xef\xbc\xa0"};
    if (text[0] != '\0' && strchr("=+-@\t\r\n", text[0]))
        return true;
    for (size_t i = 0; i < PR_COUNT(wide); i++)
        if (strncmp(text, wide[i], 3) == 0)
            return true;
    return false;
}

/* Digits that would lose some of themselves: too many, a zero in front, an exponent ("1e5"). */
static bool is_misread_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    char next = text[digits];
    if (digits == 0 || (next != '\0' && next != 'e' && next != 'E'))
        return false;
    return digits > DIGITS_MAX || (text[0] == '0' && digits > 1) || next != '\0';
}

pr_rc_t pr_csv_write_text(pr_buffer_t *out, const char *text)
{
    /* white space in front does not keep a spreadsheet from seeing a formula */
    const char *first = text + strspn(text, " \xc2\xa0");
    bool guarded = is_formula(text) || is_formula(first) || is_misread_number(first);
    pr_rc_t rc = pr_buffer_append_text(out, guarded ? "\"'" : "\"");
    for (const char *at = text; rc == PR_OK && *at != '\0';) {
        size_t len = strcspn(at, "\"");
        rc = pr_buffer_append(out, at, len);
        at += len;
        if (rc == PR_OK && *at == '"') {
            rc = pr_buffer_append(out, "\"\"", 2);
            at++;
        }
    }
    return rc != PR_OK ? rc : pr_buffer_append(out, "\"", 1);
}

static pr_rc_t write_json(pr_buffer_t *out, json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    pr_rc_t rc = pr_csv_write_text(out, text ? text : "");
    free(text); /* jansson's */
    return rc;
}

static pr_rc_t write_cell(pr_buffer_t *out, json_t *value)
{
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_NULL:
        return PR_OK;
    case JSON_STRING:
        return pr_csv_write_text(out, json_string_value(value));
    case JSON_INTEGER:
        return json_integer_value(value) > 999999999999999 ||
                       json_integer_value(value) < -999999999999999
                   ? write_json(out, value)
                   : pr_buffer_printf(out, "%lld", (long long)json_integer_value(value));
    case JSON_REAL:
        return pr_buffer_printf(out, "%.15g", json_real_value(value));
    case JSON_TRUE:
        return pr_buffer_append_text(out, "true");
    case JSON_FALSE:
        return pr_buffer_append_text(out, "false");
    default:
        return write_json(out, value);
    }
}

/* ---- rows ---- */

void pr_csv_columns_free(pr_csv_columns_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        pr_free(self->names[i]);
    self->count = 0;
}

static pr_rc_t write_header(json_t *item, pr_csv_columns_t *columns, pr_buffer_t *out)
{
    pr_rc_t rc = pr_buffer_append_text(out, "\xef\xbb\xbf");
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(item, name, value)
    {
        if (rc != PR_OK || columns->count == PR_COUNT(columns->names))
            break;
        rc = columns->count > 0 ? pr_buffer_append(out, ",", 1) : PR_OK;
        rc = rc != PR_OK ? rc : pr_csv_write_text(out, name);
        columns->names[columns->count++] = pr_strdup(name);
    }
    return rc != PR_OK ? rc : pr_buffer_append_text(out, "\r\n");
}

pr_rc_t pr_csv_write(json_t *items, pr_csv_columns_t *columns, pr_buffer_t *out)
{
    size_t i = 0;
    json_t *item = NULL;
    pr_rc_t rc = PR_OK;
    json_array_foreach(items, i, item)
    {
        if (rc == PR_OK && columns->count == 0)
            rc = write_header(item, columns, out);
        for (size_t c = 0; rc == PR_OK && c < columns->count; c++) {
            rc = c > 0 ? pr_buffer_append(out, ",", 1) : PR_OK;
            rc = rc != PR_OK ? rc : write_cell(out, json_object_get(item, columns->names[c]));
        }
        rc = rc != PR_OK ? rc : pr_buffer_append_text(out, "\r\n");
    }
    return rc;
}
