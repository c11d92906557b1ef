/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/schema.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "core/json_path.h"
#include "gateway/charset.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char pr_schema_none[] = "";

pr_rc_t pr_schema_bad(const pr_schema_t *self, const pr_yaml_node_t *node, const char *fmt, ...)
{
    char text[PR_ERROR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return pr_error_set(self->error, PR_BAD, "profile", "", "%s:%d: %s%s%s", self->file, node->line,
                        node->key ? node->key : "", node->key ? ": " : "", text);
}

/* ---- sections ---- */

static pr_rc_t unknown_key(const pr_schema_t *self, const pr_schema_section_t *section,
                           const pr_yaml_node_t *node)
{
    char known[256] = "";
    size_t len = 0;
    for (size_t i = 0; i < section->count && len < sizeof known; i++)
        len += (size_t)snprintf(known + len, sizeof known - len, "%s%s", i > 0 ? ", " : "",
                                section->fields[i].key);
    return pr_schema_bad(self, node, "unknown key in %s; known: %s", section->name, known);
}

static const pr_schema_field_t *field_of(const pr_schema_section_t *section, const char *key)
{
    for (size_t i = 0; i < section->count; i++)
        if (strcmp(section->fields[i].key, key) == 0)
            return &section->fields[i];
    return NULL;
}

static pr_rc_t read_field(pr_schema_t *self, const pr_schema_section_t *section,
                          const pr_schema_field_t *field, const pr_yaml_node_t *map, void *out)
{
    const pr_yaml_node_t *node = pr_yaml_find(map, field->key);
    pr_yaml_node_t missing = {.kind = PR_YAML_SCALAR, .line = map->line, .key = field->key};
    if (!node && field->fallback == pr_schema_none)
        return PR_OK;
    if (!node && !field->fallback)
        return pr_schema_bad(self, &missing, "this key of %s is missing", section->name);
    missing.text = field->fallback;
    return field->read(self, node ? node : &missing, (char *)out + field->offset);
}

pr_rc_t pr_schema_section(pr_schema_t *self, const pr_schema_section_t *section,
                          const pr_yaml_node_t *node, void *out)
{
    if (node->kind != PR_YAML_MAP)
        return pr_schema_bad(self, node, "%s is a section: keys are wanted below it",
                             section->name);
    for (const pr_yaml_node_t *at = node->first; at; at = at->next)
        if (!field_of(section, at->key))
            return unknown_key(self, section, at);
    pr_rc_t rc = PR_OK;
    for (size_t i = 0; rc == PR_OK && i < section->count; i++)
        rc = read_field(self, section, &section->fields[i], node, out);
    return rc;
}

pr_rc_t pr_schema_each(pr_schema_t *self, const pr_yaml_node_t *node, pr_yaml_kind_t kind,
                       pr_schema_read_fn *read, size_t size, void **array, size_t *count)
{
    *array = NULL;
    *count = 0;
    if (node->kind != kind)
        return pr_schema_bad(self, node,
                             kind == PR_YAML_MAP ? "keys are wanted below it" : "a list is wanted");
    *array = pr_pool_take(&self->profile->pool, pr_yaml_count(node), size);
    for (const pr_yaml_node_t *at = node->first; at; at = at->next)
        if (read(self, at, (char *)*array + size * (*count)++) != PR_OK)
            return PR_BAD;
    return PR_OK;
}

/* ---- plain values ---- */

pr_rc_t pr_read_text(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    if (node->kind != PR_YAML_SCALAR)
        return pr_schema_bad(self, node, "one text is wanted, not a list or a section");
    *(const char **)out = node->text;
    return PR_OK;
}

pr_rc_t pr_read_bool(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return pr_schema_bad(self, node, "true or false is wanted");
    *(bool *)out = text[0] == 't';
    return PR_OK;
}

static pr_rc_t read_number(pr_schema_t *self, const pr_yaml_node_t *node, double *out)
{
    const char *text = "";
    char *end;
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    size_t len = strspn(text, "0123456789.");
    *out = strtod(text, &end);
    if (len == 0 || len > 12 || text[len] || *end)
        return pr_schema_bad(self, node, "a number is wanted");
    return PR_OK;
}

pr_rc_t pr_read_real(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    return read_number(self, node, out);
}

pr_rc_t pr_read_u32(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    double value;
    if (read_number(self, node, &value) != PR_OK)
        return PR_BAD;
    if (value > 1000000 || value != (double)(uint32_t)value)
        return pr_schema_bad(self, node, "a whole number up to 1000000 is wanted");
    *(uint32_t *)out = (uint32_t)value;
    return PR_OK;
}

pr_rc_t pr_read_duration(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    if (!pr_duration_parse(text, strlen(text), out))
        return pr_schema_bad(self, node, "a duration is wanted: 500ms, 30s, 5m, 6h, 3d");
    return PR_OK;
}

pr_rc_t pr_read_list(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_list_t *list = out;
    void *items;
    if (node->kind == PR_YAML_SCALAR) {
        list->items = pr_pool_take(&self->profile->pool, 1, sizeof list->items[0]);
        list->items[0] = node->text;
        list->count = 1;
        return PR_OK;
    }
    pr_rc_t rc = pr_schema_each(self, node, PR_YAML_LIST, pr_read_text, sizeof(const char *),
                                &items, &list->count);
    list->items = items;
    return rc;
}

pr_rc_t pr_read_path(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_rc_t rc = pr_read_text(self, node, out);
    if (rc == PR_OK && !pr_json_path_is_valid(*(const char **)out))
        return pr_schema_bad(self, node, "a path is wanted: a.b[0].c");
    return rc;
}

pr_rc_t pr_read_paths(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_rc_t rc = pr_read_list(self, node, out);
    const pr_paths_t *paths = out;
    for (size_t i = 0; rc == PR_OK && i < paths->count; i++) {
        const char *text = paths->items[i];
        const char *path = strncmp(text, "$.", 2) == 0 ? text + 2 : text;
        if (text[0] != '=' && (!*path || !pr_json_path_is_valid(path)))
            rc = pr_schema_bad(self, node,
                               "a path is wanted: a.b[0].c, $.a for the whole "
                               "document, or =TEXT");
    }
    return rc;
}

pr_rc_t pr_read_charset(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    const char *found = pr_charset_find(pr_bytes_text(text));
    if (!found)
        return pr_schema_bad(self, node, "utf-8, gbk, gb2312 or gb18030 is wanted");
    if (!pr_charset_available(found))
        return pr_schema_bad(self, node, "this machine has no tables for %s", text);
    *(const char **)out = found;
    return PR_OK;
}

/* ---- templates ---- */

static bool is_declared(void *context, const char *name)
{
    const pr_profile_t *profile = context;
    for (size_t i = 0; i < profile->parameter_count; i++)
        if (strcmp(profile->parameters[i].name, name) == 0)
            return true;
    return false;
}

static pr_rc_t read_template(pr_schema_t *self, const pr_yaml_node_t *node, pr_place_t place,
                             pr_template_t *out)
{
    const char *text = "";
    pr_error_t error = {0};
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    if (pr_template_parse(text, place, &self->profile->pool, out, &error) != PR_OK)
        return pr_schema_bad(self, node, "%s", error.text);
    if (!pr_template_parameters(out, is_declared, self->profile))
        return pr_schema_bad(self, node, "it uses a parameter that parameters does not declare");
    return PR_OK;
}

pr_rc_t pr_read_request_template(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    return read_template(self, node, PR_PLACE_REQUEST, out);
}

pr_rc_t pr_read_signed_template(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    return read_template(self, node, PR_PLACE_SIGNED, out);
}

pr_rc_t pr_read_header_template(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    return read_template(self, node, PR_PLACE_HEADER, out);
}

pr_rc_t pr_read_answer_template(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    return read_template(self, node, PR_PLACE_ANSWER, out);
}

pr_rc_t pr_read_webhook_template(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    return read_template(self, node, PR_PLACE_WEBHOOK, out);
}

static pr_rc_t read_named_request(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_named_template_t *named = out;
    named->name = node->key;
    return pr_read_request_template(self, node, &named->value);
}

static pr_rc_t read_named_header(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_named_template_t *named = out;
    named->name = node->key;
    return pr_read_header_template(self, node, &named->value);
}

static pr_rc_t read_named(pr_schema_t *self, const pr_yaml_node_t *node, pr_schema_read_fn *read,
                          pr_named_templates_t *out)
{
    void *items;
    pr_rc_t rc =
        pr_schema_each(self, node, PR_YAML_MAP, read, sizeof out->items[0], &items, &out->count);
    out->items = items;
    return rc;
}

pr_rc_t pr_read_request_templates(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    return read_named(self, node, read_named_request, out);
}

pr_rc_t pr_read_header_templates(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    return read_named(self, node, read_named_header, out);
}
