/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tap_line.h"

#include "cli/tap_filter.h"

#include <inttypes.h>
#include <string.h>

#define US_PER_S 1000000
#define INDENT "             " /* as wide as the time */

/* UTC; the day is left out, people who tap look at now. */
static pr_rc_t time_of_day(const json_t *envelope, pr_buffer_t *out)
{
    int64_t us = json_integer_value(json_object_get(envelope, "sent_at_us"));
    int64_t s = us / US_PER_S % 86400;
    return pr_buffer_printf(out, "%02d:%02d:%02d.%03d ", (int)(s / 3600), (int)(s / 60 % 60),
                            (int)(s % 60), (int)(us / 1000 % 1000));
}

/* JOB_KIND_NOTIFY is NOTIFY, RESULT_DELIVERED is DELIVERED, BREAKER_STATE_OPEN is OPEN. */
static const char *short_enum(const char *text)
{
    static const char *const prefixes[] = {"JOB_KIND_", "RESULT_", "BREAKER_STATE_", "VERB_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0) {
            return text + strlen(prefixes[i]);
        }
    }
    return text;
}

/* Control bytes would let a peer's text move the cursor of whoever looks. */
static pr_rc_t text(const char *value, pr_buffer_t *out)
{
    for (const char *at = short_enum(value); *at; at++) {
        char byte = (unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at;
        if (pr_buffer_append(out, &byte, 1) != PR_OK) {
            return PR_BAD;
        }
    }
    return PR_OK;
}

static json_int_t number_in(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static pr_rc_t object(const json_t *value, pr_buffer_t *out)
{
    if (json_object_get(value, "seq") || json_object_get(value, "salt")) {
        return pr_buffer_printf(out, "%" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT,
                                number_in(value, "seq"), number_in(value, "attempt"));
    }
    if (json_object_get(value, "bytes")) {
        return pr_buffer_printf(out, "(%" JSON_INTEGER_FORMAT " bytes)", number_in(value, "bytes"));
    }
    return pr_buffer_append_text(out, "{..}");
}

static pr_rc_t scalar(const json_t *value, pr_buffer_t *out);

static pr_rc_t array(const json_t *value, pr_buffer_t *out)
{
    size_t count = json_array_size(value);
    if (count > 8 || json_is_object(json_array_get(value, 0))) {
        return pr_buffer_printf(out, "[%zu]", count);
    }
    pr_rc_t rc = PR_OK;
    for (size_t i = 0; rc == PR_OK && i < count; i++) {
        rc = i > 0 ? pr_buffer_append_text(out, ",") : PR_OK;
        rc = rc == PR_OK ? scalar(json_array_get(value, i), out) : rc;
    }
    return rc;
}

static pr_rc_t scalar(const json_t *value, pr_buffer_t *out)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        return text(json_string_value(value), out);
    case JSON_INTEGER:
        return pr_buffer_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    case JSON_TRUE:
        return pr_buffer_append_text(out, "yes");
    case JSON_OBJECT:
        return object(value, out);
    case JSON_ARRAY:
        return array(value, out);
    default:
        return pr_buffer_append_text(out, "-");
    }
}

/* " name=value" for every field but the one named skip. */
static pr_rc_t fields(const json_t *body, const char *skip, pr_buffer_t *out)
{
    const char *name;
    json_t *value;
    /* jansson's iterator takes a non-const object and only reads. */
    json_object_foreach((json_t *)(uintptr_t)body, name, value)
    {
        if (skip && strcmp(name, skip) == 0) {
            continue;
        }
        if (pr_buffer_printf(out, " %s=", name) != PR_OK || scalar(value, out) != PR_OK) {
            return PR_BAD;
        }
    }
    return pr_buffer_append_text(out, "\n");
}

static pr_rc_t items_lines(const json_t *list, const char *items, pr_buffer_t *out)
{
    pr_rc_t rc = PR_OK;
    for (size_t i = 0; rc == PR_OK && i < json_array_size(list); i++) {
        rc = pr_buffer_printf(out, INDENT "  %s", items);
        rc = rc == PR_OK ? fields(json_array_get(list, i), NULL, out) : rc;
    }
    return rc;
}

pr_rc_t pr_tap_line(const json_t *envelope, pr_buffer_t *out)
{
    const char *kind = json_string_value(json_object_get(envelope, "kind"));
    const char *sender = json_string_value(json_object_get(envelope, "sender"));
    const json_t *body = json_object_get(envelope, kind);
    const char *items = pr_tap_items(kind);
    if (time_of_day(envelope, out) != PR_OK || pr_buffer_printf(out, "%-16s ", kind) != PR_OK ||
        text(sender ? sender : "-", out) != PR_OK) {
        return PR_BAD;
    }
    pr_rc_t rc = fields(body, items, out);
    if (rc == PR_OK && items) {
        rc = items_lines(json_object_get(body, items), items, out);
    }
    return rc;
}
