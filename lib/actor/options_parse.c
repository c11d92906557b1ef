/* SPDX-License-Identifier: Apache-2.0
 *
 * One text -> one value, by the type of its setting. Strict: the whole text, a unit where there
 * is one, in range.
 */
#include "actor/actor_private.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/duration.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 60 /* characters of a wrong value that a message quotes */

static pr_rc_t wrong(int index, const char *text, const char *allowed, pr_error_t *error)
{
    const pr_option_t *option = &pr_settings[index];
    if (option->secret)
        return pr_error_set(error, PR_BAD, "config", "", "%s: not allowed; %s", option->key,
                            allowed);
    return pr_error_set(error, PR_BAD, "config", "", "%s: \"%.*s\" is not allowed; %s", option->key,
                        SHOWN, text, allowed);
}

static bool in_range(int index, double value)
{
    const pr_option_t *option = &pr_settings[index];
    bool unbounded = option->min == 0 && option->max == 0;
    return unbounded || (value >= option->min && value <= option->max);
}

void pr_setting_bound_text(int index, double bound, char *out, size_t size)
{
    static const struct {
        int64_t bytes;
        const char *unit;
    } sizes[] = {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}};

    switch (pr_settings[index].type) {
    case PR_OPTION_DURATION: {
        char text[PR_DURATION_TEXT_MAX];
        pr_duration_format((int64_t)bound, text);
        snprintf(out, size, "%s", text);
        return;
    }
    case PR_OPTION_SIZE:
        for (size_t i = 0; i < PR_COUNT(sizes); i++) {
            int64_t bytes = (int64_t)bound;
            if (bytes >= sizes[i].bytes && bytes % sizes[i].bytes == 0) {
                snprintf(out, size, "%" PRId64 "%s", bytes / sizes[i].bytes, sizes[i].unit);
                return;
            }
        }
        snprintf(out, size, "0");
        return;
    default:
        snprintf(out, size, "%.16g", bound);
    }
}

static pr_rc_t out_of_range(int index, const char *text, pr_error_t *error)
{
    char min[32], max[32], allowed[96];
    pr_setting_bound_text(index, pr_settings[index].min, min, sizeof min);
    pr_setting_bound_text(index, pr_settings[index].max, max, sizeof max);
    snprintf(allowed, sizeof allowed, "from %s to %s", min, max);
    return wrong(index, text, allowed, error);
}

/* ---- numbers ---- */

static bool parse_integer(const char *text, int64_t *out)
{
    char *rest;
    errno = 0;
    long long value = strtoll(text, &rest, 10);
    bool starts_well = text[0] == '-' || (text[0] >= '0' && text[0] <= '9');
    if (!starts_well || *rest != '\0' || rest == text || errno != 0)
        return false;
    *out = value;
    return true;
}

static bool parse_real(const char *text, double *out)
{
    if (text[0] == '\0' || strspn(text, "0123456789.eE+-") != strlen(text))
        return false; /* strtod takes "nan", "inf", hexadecimal and leading space */
    char *rest;
    errno = 0;
    *out = strtod(text, &rest);
    return *rest == '\0' && errno == 0 && isfinite(*out);
}

static bool parse_size(const char *text, int64_t *out)
{
    static const struct {
        const char *unit;
        int shift;
    } units[] = {{"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};

    if (strcmp(text, "0") == 0) {
        *out = 0;
        return true;
    }
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 9)
        return false;
    int64_t number = strtoll(text, NULL, 10);
    for (size_t i = 0; i < PR_COUNT(units); i++) {
        if (strcmp(text + digits, units[i].unit) == 0) {
            *out = number << units[i].shift;
            return true;
        }
    }
    return false;
}

static pr_rc_t parse_number(int index, const char *text, pr_value_t *value, pr_error_t *error)
{
    switch (pr_settings[index].type) {
    case PR_OPTION_INT:
        if (!parse_integer(text, &value->integer))
            return wrong(index, text, "a whole number", error);
        break;
    case PR_OPTION_DURATION:
        if (!pr_duration_parse(text, strlen(text), &value->integer))
            return wrong(index, text, "a whole number with a unit: ms, s, m, h or d, as in 250ms",
                         error);
        break;
    case PR_OPTION_SIZE:
        if (!parse_size(text, &value->integer))
            return wrong(index, text, "a whole number with a unit: B, KiB, MiB or GiB, as in 64KiB",
                         error);
        break;
    default:
        if (!parse_real(text, &value->real))
            return wrong(index, text, "a number", error);
        return in_range(index, value->real) ? PR_OK : out_of_range(index, text, error);
    }
    return in_range(index, (double)value->integer) ? PR_OK : out_of_range(index, text, error);
}

/* ---- lists and maps ---- */

static void set_text(pr_value_t *value, const char *added)
{
    char *joined = value->text == NULL || value->text[0] == '\0'
                       ? pr_strdup(added)
                       : pr_asprintf("%s,%s", value->text, added);
    pr_free(value->text);
    value->text = joined;
}

pr_rc_t pr_value_append(int index, const char *item, pr_value_t *value, pr_error_t *error)
{
    if (item[0] == '\0' || strchr(item, ',') != NULL)
        return wrong(index, item, "no empty items, no commas inside one", error);
    if (value->count >= PR_CONFIG_ITEMS_MAX)
        return wrong(index, item, "at most 256 items", error);
    value->items = pr_realloc(value->items, (size_t)value->count + 1, sizeof *value->items);
    value->items[value->count++] = pr_strdup(item);
    set_text(value, item);
    return PR_OK;
}

pr_rc_t pr_value_put(int index, const char *name, const char *text, pr_value_t *value,
                     pr_error_t *error)
{
    pr_value_t number = {0};
    if (!parse_integer(text, &number.integer))
        return wrong(index, text, "a whole number", error);
    if (!in_range(index, (double)number.integer))
        return out_of_range(index, text, error);
    if (name[0] == '\0' || strpbrk(name, ",=.") != NULL)
        return wrong(index, name, "a name before the number", error);

    int at = 0;
    while (at < value->count && strcmp(value->items[at], name) != 0)
        at++;
    if (at == value->count) {
        if (value->count >= PR_CONFIG_ITEMS_MAX)
            return wrong(index, name, "at most 256 items", error);
        size_t room = (size_t)value->count + 1;
        value->items = pr_realloc(value->items, room, sizeof *value->items);
        value->numbers = pr_realloc(value->numbers, room, sizeof *value->numbers);
        value->items[value->count++] = pr_strdup(name);
    }
    value->numbers[at] = number.integer;

    pr_free(value->text);
    value->text = NULL;
    for (int i = 0; i < value->count; i++) {
        PR_CLEANUP_FREE char *entry =
            pr_asprintf("%s=%" PRId64, value->items[i], value->numbers[i]);
        set_text(value, entry);
    }
    return PR_OK;
}

/* "a,b" for a list, "CNY=1,USD=2" for a map: how the environment and --set write them. */
static pr_rc_t parse_items(int index, const char *text, pr_value_t *value, pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    const char *at = text;
    while (rc == PR_OK && *at != '\0') {
        size_t len = strcspn(at, ",");
        PR_CLEANUP_FREE char *item = pr_strndup(at, len);
        char *equals = strchr(item, '=');
        if (pr_settings[index].type == PR_OPTION_LIST) {
            rc = pr_value_append(index, item, value, error);
        } else if (equals == NULL) {
            rc = wrong(index, item, "NAME=NUMBER,NAME=NUMBER", error);
        } else {
            *equals = '\0';
            rc = pr_value_put(index, item, equals + 1, value, error);
        }
        at += len;
        if (*at == ',' && *++at == '\0' && rc == PR_OK)
            rc = wrong(index, text, "no comma at the end", error);
    }
    return rc;
}

static pr_rc_t parse(int index, const char *text, pr_value_t *value, pr_error_t *error)
{
    switch (pr_settings[index].type) {
    case PR_OPTION_LIST:
    case PR_OPTION_MAP_INT:
        value->text = pr_strdup("");
        return parse_items(index, text, value, error);
    case PR_OPTION_BOOL:
        value->integer = strcmp(text, "true") == 0;
        value->text = pr_strdup(text);
        return value->integer != 0 || strcmp(text, "false") == 0
                   ? PR_OK
                   : wrong(index, text, "true or false", error);
    case PR_OPTION_TEXT:
        value->text = pr_strdup(text);
        return PR_OK;
    default:
        value->text = pr_strdup(text);
        return parse_number(index, text, value, error);
    }
}

pr_rc_t pr_value_parse(int index, const char *text, pr_value_t *value, pr_error_t *error)
{
    pr_value_t fresh = {0};
    pr_rc_t rc = parse(index, text, &fresh, error);
    if (rc != PR_OK) {
        pr_value_clear(&fresh);
        return rc;
    }
    pr_value_clear(value);
    *value = fresh;
    return PR_OK;
}
