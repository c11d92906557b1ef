/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration file: a walk over libyaml's events with a stack of section names. YAML is far
 * larger than what a configuration needs; what we don't need is refused: anchors, aliases, tags,
 * several documents, null, keys that are not plain words.
 */
#include "actor/actor_private.h"
#include "base/alloc.h"

#include <yaml.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    pr_config_t *config;
    const char *file;
    yaml_parser_t parser;
    yaml_event_t event; /* the present one */
    int depth;
    pr_error_t *error;
} reader_t;

static int line_of(const yaml_mark_t *mark)
{
    return mark->line < 1000000 ? (int)mark->line + 1 : 1000000;
}

static pr_rc_t bad(reader_t *self, const char *fmt, ...) PR_PRINTF(2, 3);
static pr_rc_t bad(reader_t *self, const char *fmt, ...)
{
    char text[PR_ERROR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return pr_error_set(self->error, PR_BAD, "config", "", "%s:%d: %s", self->file,
                        line_of(&self->event.start_mark), text);
}

static pr_rc_t next(reader_t *self)
{
    yaml_event_delete(&self->event);
    if (yaml_parser_parse(&self->parser, &self->event) == 0) {
        self->event.start_mark = self->parser.problem_mark;
        return bad(self, "no valid YAML: %s",
                   self->parser.problem != NULL ? self->parser.problem : "unreadable");
    }
    switch (self->event.type) {
    case YAML_ALIAS_EVENT:
        return bad(self, "aliases (*name) are not allowed here");
    case YAML_SCALAR_EVENT:
        if (self->event.data.scalar.anchor != NULL || self->event.data.scalar.tag != NULL)
            return bad(self, "anchors (&name) and tags (!name) are not allowed here");
        if (memchr(self->event.data.scalar.value, '\0', self->event.data.scalar.length) != NULL)
            return bad(self, "a NUL byte is not allowed here");
        return PR_OK;
    case YAML_SEQUENCE_START_EVENT:
        if (self->event.data.sequence_start.anchor != NULL ||
            self->event.data.sequence_start.tag != NULL)
            return bad(self, "anchors (&name) and tags (!name) are not allowed here");
        return PR_OK;
    case YAML_MAPPING_START_EVENT:
        if (self->event.data.mapping_start.anchor != NULL ||
            self->event.data.mapping_start.tag != NULL)
            return bad(self, "anchors (&name) and tags (!name) are not allowed here");
        return PR_OK;
    default:
        return PR_OK;
    }
}

static const char *scalar(const reader_t *self)
{
    return (const char *)self->event.data.scalar.value;
}

/* An unquoted empty value, ~ or null: somebody forgot the value, or means "none". Neither is
 * guessed. */
static bool is_null(const reader_t *self)
{
    const char *text = scalar(self);
    return self->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static pr_rc_t with_place(reader_t *self, const pr_error_t *inner)
{
    return bad(self, "%s", inner->text);
}

static void set_source(reader_t *self, pr_value_t *value)
{
    pr_free(value->source);
    value->source = pr_asprintf("%s:%d", self->file, line_of(&self->event.start_mark));
    value->in_file = true;
}

static pr_rc_t read_list(reader_t *self, int index, pr_value_t *value)
{
    pr_error_t inner;
    pr_rc_t rc =
        pr_value_parse(index, "", value, &inner); /* the file's list replaces the default */
    set_source(self, value);
    while (rc == PR_OK && (rc = next(self)) == PR_OK &&
           self->event.type != YAML_SEQUENCE_END_EVENT) {
        if (self->event.type != YAML_SCALAR_EVENT || is_null(self))
            return bad(self, "%s: a list of texts is wanted", pr_settings[index].key);
        if (pr_value_append(index, scalar(self), value, &inner) != PR_OK)
            return with_place(self, &inner);
    }
    return rc;
}

static pr_rc_t read_map(reader_t *self, int index, pr_value_t *value)
{
    pr_error_t inner;
    pr_rc_t rc = PR_OK;
    set_source(self, value);
    while (rc == PR_OK && (rc = next(self)) == PR_OK &&
           self->event.type != YAML_MAPPING_END_EVENT) {
        if (self->event.type != YAML_SCALAR_EVENT)
            return bad(self, "%s: NAME: NUMBER is wanted", pr_settings[index].key);
        PR_CLEANUP_FREE char *name = pr_strdup(scalar(self));
        for (int i = 0; i < value->count; i++) {
            if (strcmp(value->items[i], name) == 0)
                return bad(self, "%s.%s stands here twice", pr_settings[index].key, name);
        }
        rc = next(self);
        if (rc != PR_OK)
            return rc;
        if (self->event.type != YAML_SCALAR_EVENT)
            return bad(self, "%s: NAME: NUMBER is wanted", pr_settings[index].key);
        if (pr_value_put(index, name, scalar(self), value, &inner) != PR_OK)
            return with_place(self, &inner);
    }
    return rc;
}

/* The present event is the value of setting `index`. */
static pr_rc_t read_value(reader_t *self, int index)
{
    pr_value_t *value = &self->config->values[index];
    const char *key = pr_settings[index].key;
    if (value->in_file)
        return bad(self, "%s stands here a second time; the first is %s", key, value->source);
    switch (pr_settings[index].type) {
    case PR_OPTION_LIST:
        if (self->event.type != YAML_SEQUENCE_START_EVENT)
            return bad(self, "%s: a list is wanted: [a, b]", key);
        return read_list(self, index, value);
    case PR_OPTION_MAP_INT:
        if (self->event.type != YAML_MAPPING_START_EVENT)
            return bad(self, "%s: NAME: NUMBER pairs are wanted", key);
        return read_map(self, index, value);
    default:
        break;
    }
    if (self->event.type != YAML_SCALAR_EVENT)
        return bad(self, "%s: one value is wanted, not a list or a section", key);
    if (is_null(self))
        return bad(self, "%s: the value is missing; write \"\" for an empty text", key);
    pr_error_t inner;
    if (pr_value_parse(index, scalar(self), value, &inner) != PR_OK)
        return with_place(self, &inner);
    set_source(self, value);
    return PR_OK;
}

static pr_rc_t read_section(reader_t *self, const char *prefix);

/* The present event is a key inside section `prefix`. */
static pr_rc_t read_entry(reader_t *self, const char *prefix)
{
    if (self->event.type != YAML_SCALAR_EVENT)
        return bad(self, "a key must be a word");
    if (self->event.data.scalar.length > 64)
        return bad(self, "unknown key \"%.20s...\"", scalar(self));
    PR_CLEANUP_FREE char *key =
        prefix[0] == '\0' ? pr_strdup(scalar(self)) : pr_asprintf("%s.%s", prefix, scalar(self));
    int index = pr_setting_find(key);
    if (index < 0 && !pr_setting_is_section(key))
        return bad(self, "unknown key %s; --help lists all", key);
    pr_rc_t rc = next(self);
    if (rc != PR_OK)
        return rc;
    if (index >= 0)
        return read_value(self, index);
    if (self->event.type != YAML_MAPPING_START_EVENT)
        return bad(self, "%s is a section: indented keys are wanted below it", key);
    return read_section(self, key);
}

static pr_rc_t read_section(reader_t *self, const char *prefix)
{
    if (++self->depth > PR_CONFIG_DEPTH_MAX)
        return bad(self, "sections nest too deep");
    pr_rc_t rc = PR_OK;
    while (rc == PR_OK && (rc = next(self)) == PR_OK && self->event.type != YAML_MAPPING_END_EVENT)
        rc = read_entry(self, prefix);
    self->depth--;
    return rc;
}

static pr_rc_t read_document(reader_t *self)
{
    pr_rc_t rc = next(self); /* stream start */
    if (rc == PR_OK)
        rc = next(self);
    if (rc != PR_OK || self->event.type == YAML_STREAM_END_EVENT) /* nothing but comments */
        return rc;
    rc = next(self); /* behind document start */
    if (rc == PR_OK && self->event.type == YAML_MAPPING_START_EVENT)
        rc = read_section(self, "");
    else if (rc == PR_OK && !(self->event.type == YAML_SCALAR_EVENT && is_null(self)))
        return bad(self, "sections and keys are wanted: database: {url: ...}");
    if (rc == PR_OK)
        rc = next(self); /* document end */
    if (rc == PR_OK)
        rc = next(self);
    if (rc == PR_OK && self->event.type != YAML_STREAM_END_EVENT)
        return bad(self, "a second document is not allowed here");
    return rc;
}

pr_rc_t pr_config_read_yaml(pr_config_t *config, const char *file, pr_bytes_t text,
                            pr_error_t *error)
{
    if (text.len > PR_CONFIG_FILE_MAX)
        return pr_error_set(error, PR_BAD, "config", "", "%s: larger than 256 KiB", file);
    reader_t self = {.config = config, .file = file, .error = error};
    if (yaml_parser_initialize(&self.parser) == 0)
        abort(); /* out of memory */
    const unsigned char *input = text.len > 0 ? text.data : (const unsigned char *)"";
    yaml_parser_set_input_string(&self.parser, input, text.len); /* asserts on NULL */
    pr_rc_t rc = read_document(&self);
    yaml_event_delete(&self.event);
    yaml_parser_delete(&self.parser);
    return rc;
}
