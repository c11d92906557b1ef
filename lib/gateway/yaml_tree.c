/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/yaml_tree.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <yaml.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *file;
    yaml_parser_t parser;
    yaml_event_t event; /* the present one */
    pr_pool_t *pool;
    size_t nodes;
    int depth;
    pr_error_t *error;
} reader_t;

static int line_of(const reader_t *self)
{
    size_t line = self->event.start_mark.line;
    return line < 1000000 ? (int)line + 1 : 1000000;
}

static pr_rc_t bad(reader_t *self, const char *fmt, ...) PR_PRINTF(2, 3);
static pr_rc_t bad(reader_t *self, const char *fmt, ...)
{
    char text[PR_ERROR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return pr_error_set(self->error, PR_BAD, "profile", "", "%s:%d: %s", self->file, line_of(self),
                        text);
}

static pr_rc_t decorated(reader_t *self, const void *anchor, const void *tag)
{
    return anchor || tag ? bad(self, "anchors (&name) and tags (!name) are not allowed here")
                         : PR_OK;
}

static pr_rc_t next(reader_t *self)
{
    yaml_event_delete(&self->event);
    if (yaml_parser_parse(&self->parser, &self->event) == 0) {
        self->event.start_mark = self->parser.problem_mark;
        return bad(self, "no valid YAML: %s",
                   self->parser.problem ? self->parser.problem : "unreadable");
    }
    switch (self->event.type) {
    case YAML_ALIAS_EVENT:
        return bad(self, "aliases (*name) are not allowed here");
    case YAML_SCALAR_EVENT:
        return decorated(self, self->event.data.scalar.anchor, self->event.data.scalar.tag);
    case YAML_SEQUENCE_START_EVENT:
        return decorated(self, self->event.data.sequence_start.anchor,
                         self->event.data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return decorated(self, self->event.data.mapping_start.anchor,
                         self->event.data.mapping_start.tag);
    default:
        return PR_OK;
    }
}

static pr_yaml_node_t *new_node(reader_t *self, pr_yaml_kind_t kind)
{
    pr_yaml_node_t *node = pr_pool_take(self->pool, 1, sizeof *node);
    node->kind = kind;
    node->line = line_of(self);
    return node;
}

/* The present event's text into the pool. An unquoted empty value, ~ or null is a value that
 * somebody forgot. */
static pr_rc_t take_scalar(reader_t *self, const char **out)
{
    const char *text = (const char *)self->event.data.scalar.value;
    size_t len = self->event.data.scalar.length;
    bool plain = self->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (memchr(text, '\0', len))
        return bad(self, "a NUL byte is not allowed here");
    if (plain && (len == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0))
        return bad(self, "a value is missing; write \"\" for an empty text");
    *out = pr_pool_text(self->pool, text, len);
    return PR_OK;
}

static pr_rc_t read_node(reader_t *self, pr_yaml_node_t **out);

static pr_rc_t read_key(reader_t *self, const pr_yaml_node_t *map, const char **key)
{
    if (self->event.type != YAML_SCALAR_EVENT)
        return bad(self, "a key must be a word");
    if (take_scalar(self, key) != PR_OK)
        return PR_BAD;
    return pr_yaml_find(map, *key) ? bad(self, "%.64s stands here twice", *key) : PR_OK;
}

static pr_rc_t read_children(reader_t *self, pr_yaml_node_t *parent, yaml_event_type_t end)
{
    pr_yaml_node_t **tail = &parent->first;
    if (++self->depth > PR_YAML_DEPTH_MAX)
        return bad(self, "this nests deeper than %d levels", PR_YAML_DEPTH_MAX);
    while (next(self) == PR_OK) {
        const char *key = NULL;
        if (self->event.type == end) {
            self->depth--;
            return PR_OK;
        }
        if (parent->kind == PR_YAML_MAP &&
            (read_key(self, parent, &key) != PR_OK || next(self) != PR_OK))
            return PR_BAD;
        if (read_node(self, tail) != PR_OK)
            return PR_BAD;
        (*tail)->key = key;
        tail = &(*tail)->next;
    }
    return PR_BAD;
}

/* The present event begins a node. */
static pr_rc_t read_node(reader_t *self, pr_yaml_node_t **out)
{
    if (++self->nodes > PR_YAML_NODES_MAX)
        return bad(self, "more than %d values", PR_YAML_NODES_MAX);
    switch (self->event.type) {
    case YAML_SCALAR_EVENT:
        *out = new_node(self, PR_YAML_SCALAR);
        return take_scalar(self, &(*out)->text);
    case YAML_SEQUENCE_START_EVENT:
        *out = new_node(self, PR_YAML_LIST);
        return read_children(self, *out, YAML_SEQUENCE_END_EVENT);
    case YAML_MAPPING_START_EVENT:
        *out = new_node(self, PR_YAML_MAP);
        return read_children(self, *out, YAML_MAPPING_END_EVENT);
    default:
        return bad(self, "a value is wanted here");
    }
}

/* The next event, which must be of this type. */
static pr_rc_t expect(reader_t *self, yaml_event_type_t type, const char *otherwise)
{
    if (next(self) != PR_OK)
        return PR_BAD;
    return self->event.type == type ? PR_OK : bad(self, "%s", otherwise);
}

static pr_rc_t read_document(reader_t *self, pr_yaml_node_t **out)
{
    if (expect(self, YAML_STREAM_START_EVENT, "no text") != PR_OK ||
        expect(self, YAML_DOCUMENT_START_EVENT, "the file is empty") != PR_OK ||
        next(self) != PR_OK || read_node(self, out) != PR_OK ||
        expect(self, YAML_DOCUMENT_END_EVENT, "the document does not end here") != PR_OK)
        return PR_BAD;
    return expect(self, YAML_STREAM_END_EVENT, "a second document is not allowed here");
}

pr_rc_t pr_yaml_parse(const char *file, pr_bytes_t text, pr_pool_t *pool, pr_yaml_node_t **out,
                      pr_error_t *error)
{
    if (text.len > PR_YAML_FILE_MAX)
        return pr_error_set(error, PR_BAD, "profile", "", "%s:1: larger than 256 KiB", file);
    reader_t self = {.file = file, .pool = pool, .error = error};
    int initialized = yaml_parser_initialize(&self.parser);
    pr_assert(initialized == 1); /* it only allocates */
    const unsigned char *input = text.len > 0 ? text.data : (const unsigned char *)"";
    yaml_parser_set_input_string(&self.parser, input, text.len);
    pr_rc_t rc = read_document(&self, out);
    yaml_event_delete(&self.event);
    yaml_parser_delete(&self.parser);
    return rc;
}

const pr_yaml_node_t *pr_yaml_find(const pr_yaml_node_t *map, const char *key)
{
    for (const pr_yaml_node_t *at = map->kind == PR_YAML_MAP ? map->first : NULL; at; at = at->next)
        if (at->key && strcmp(at->key, key) == 0)
            return at;
    return NULL;
}

size_t pr_yaml_count(const pr_yaml_node_t *self)
{
    size_t count = 0;
    for (const pr_yaml_node_t *at = self->first; at; at = at->next)
        count++;
    return count;
}
