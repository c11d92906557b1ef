/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json_path.h"

#include "base/assert.h"

#include <string.h>

#define NAME_MAX 64
#define INDEX_DIGITS_MAX 4

typedef enum { STEP_MEMBER, STEP_INDEX, STEP_WHERE } step_kind_t;

typedef struct {
    step_kind_t kind;
    const char *name; /* member, or where: the name */
    size_t name_len;
    const char *value; /* where */
    size_t value_len;
    size_t index;
} step_t;

static size_t span_of_name(const char *text)
{
    return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
}

/* What stands between [ and ]; *at is behind the opening one. */
static bool read_bracket(const char **at, step_t *out)
{
    size_t digits = strspn(*at, "0123456789");
    if (digits >= 1 && (*at)[digits] == ']') {
        if (digits > INDEX_DIGITS_MAX)
            return false;
        out->kind = STEP_INDEX;
        out->index = 0;
        for (size_t i = 0; i < digits; i++)
            out->index = out->index * 10 + (size_t)((*at)[i] - '0');
        *at += digits + 1;
        return true;
    }
    out->kind = STEP_WHERE;
    out->name = *at;
    out->name_len = span_of_name(*at);
    if (out->name_len == 0 || out->name_len > NAME_MAX || (*at)[out->name_len] != '=')
        return false;
    out->value = *at + out->name_len + 1;
    out->value_len = span_of_name(out->value);
    if (out->value_len == 0 || out->value_len > NAME_MAX || out->value[out->value_len] != ']')
        return false;
    *at = out->value + out->value_len + 1;
    return true;
}

/* The next step; *first: no dot is wanted before a name. False: malformed. */
static bool next_step(const char **at, bool first, step_t *out)
{
    *out = (step_t){.kind = STEP_MEMBER};
    if (**at == '[') {
        (*at)++;
        return read_bracket(at, out);
    }
    if (!first && *(*at)++ != '.')
        return false;
    out->name = *at;
    out->name_len = span_of_name(*at);
    *at += out->name_len;
    return out->name_len >= 1 && out->name_len <= NAME_MAX;
}

bool pr_json_path_is_valid(const char *path)
{
    size_t steps = 0;
    step_t step;
    if (strnlen(path, PR_JSON_PATH_TEXT_MAX) == PR_JSON_PATH_TEXT_MAX)
        return false;
    for (const char *at = path; *at; steps++)
        if (steps == PR_JSON_PATH_STEPS_MAX || !next_step(&at, at == path, &step))
            return false;
    return true;
}

static pr_rc_t element_at(pr_json_t array, size_t index, pr_json_t *out)
{
    size_t cursor = 0;
    pr_json_t value;
    while (pr_json_next_element(array, &cursor, &value)) {
        if (index-- == 0) {
            *out = value;
            return PR_OK;
        }
    }
    return PR_LOST;
}

static pr_rc_t element_where(pr_json_t array, const step_t *step, pr_json_t *out)
{
    size_t cursor = 0;
    pr_json_t value, member;
    while (pr_json_next_element(array, &cursor, &value)) {
        pr_rc_t rc = pr_json_find(value, step->name, step->name_len, &member);
        if (rc == PR_BAD)
            return rc;
        if (rc == PR_OK && pr_json_is_text(member, step->value, step->value_len)) {
            *out = value;
            return PR_OK;
        }
    }
    return PR_LOST;
}

static pr_rc_t follow(const step_t *step, pr_json_t from, pr_json_t *out)
{
    if (step->kind == STEP_MEMBER)
        return pr_json_find(from, step->name, step->name_len, out);
    if (from.type != PR_JSON_ARRAY)
        return PR_LOST;
    return step->kind == STEP_INDEX ? element_at(from, step->index, out)
                                    : element_where(from, step, out);
}

pr_rc_t pr_json_path_get(pr_json_t root, const char *path, pr_json_t *out)
{
    pr_json_t value = root;
    for (const char *at = path; *at;) {
        step_t step;
        bool ok = next_step(&at, at == path, &step);
        pr_assert(ok); /* pr_json_path_is_valid has seen it */
        pr_rc_t rc = follow(&step, value, &value);
        if (rc != PR_OK)
            return rc;
    }
    *out = value;
    return PR_OK;
}
