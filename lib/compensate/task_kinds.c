/* SPDX-License-Identifier: Apache-2.0 */
#include "compensate/task_kinds.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/regular_file.h"
#include "core/url.h"
#include "gateway/yaml_tree.h"

#include <jansson.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX_BYTES ((size_t)64 * 1024) /* a key, a CA */
#define PARAMETERS_MAX 24
#define NAME_MAX_BYTES 64

typedef struct {
    const char *file;
    pr_profile_dir_t *dir;
    double time_scale;
    pr_error_t *error;
} reader_t;

/* ---- life ---- */

static void handler_destroy(pr_task_handler_t **self)
{
    pr_task_handler_t *handler = PR_STEAL(*self);
    if (handler == NULL)
        return;
    pr_channel_destroy(&handler->channel);
    pr_free(handler->base_url);
    pr_free(handler->ca_pem);
    pr_free(handler);
}

static void kind_free(pr_task_kind_t *kind)
{
    handler_destroy(&kind->handler);
    handler_destroy(&kind->second);
    for (int i = 0; i < kind->person_count; i++)
        pr_free(kind->person[i]);
    pr_free(kind->name);
}

void pr_task_kinds_destroy(pr_task_kinds_t **self)
{
    pr_task_kinds_t *kinds = PR_STEAL(*self);
    if (kinds == NULL)
        return;
    for (int i = 0; i < kinds->count; i++) {
        kind_free(kinds->kinds[i]);
        pr_free(kinds->kinds[i]);
    }
    kind_free(&kinds->other);
    pr_free(kinds);
}

/* ---- small things ---- */

static pr_rc_t bad(const reader_t *self, const pr_yaml_node_t *node, const char *fmt, ...)
    PR_PRINTF(3, 4);
static pr_rc_t bad(const reader_t *self, const pr_yaml_node_t *node, const char *fmt, ...)
{
    char text[PR_ERROR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return pr_error_set(self->error, PR_BAD, "tasks", "", "%s:%d: %s%s%s", self->file, node->line,
                        node->key != NULL ? node->key : "", node->key != NULL ? ": " : "", text);
}

static bool is_text(const pr_yaml_node_t *node)
{
    return node->kind == PR_YAML_SCALAR && node->text[0] != '\0';
}

static pr_rc_t read_count(const reader_t *self, const pr_yaml_node_t *node, int *out)
{
    char *end = NULL;
    long value = is_text(node) ? strtol(node->text, &end, 10) : 0;
    if (end == NULL || *end != '\0' || value < 1 || value > 1000)
        return bad(self, node, "a number of 1 to 1000 is wanted");
    *out = (int)value;
    return PR_OK;
}

/* A whole small file without the white space at its end; wiped and freed by who asked. */
static pr_rc_t read_file(const reader_t *self, const pr_yaml_node_t *node, char **out)
{
    if (!is_text(node))
        return bad(self, node, "the path of a file is wanted");
    FILE *file = pr_open_regular_file(node->text, true);
    if (file == NULL)
        return bad(self, node, "%s: %s", node->text, strerrordesc_np(errno));
    char *text = pr_calloc(FILE_MAX_BYTES + 1, 1);
    size_t len = fread(text, 1, FILE_MAX_BYTES, file);
    bool whole = ferror(file) == 0 && feof(file) != 0;
    fclose(file);
    while (len > 0 && strchr(" \r\n\t", text[len - 1]) != NULL)
        text[--len] = '\0';
    if (whole && strlen(text) == len && len > 0) {
        *out = text;
        return PR_OK;
    }
    explicit_bzero(text, FILE_MAX_BYTES);
    pr_free(text);
    return bad(self, node, "%s: empty, not a text, or over 64 KiB", node->text);
}

/* ---- a handler ---- */

typedef struct {
    pr_parameter_t items[PARAMETERS_MAX];
    char *files[PARAMETERS_MAX]; /* owned, wiped */
    size_t count;
} parameters_t;

static void wipe(parameters_t *parameters)
{
    for (size_t i = 0; i < parameters->count; i++) {
        if (parameters->files[i] != NULL)
            explicit_bzero(parameters->files[i], strlen(parameters->files[i]));
        pr_free(parameters->files[i]);
    }
}

static pr_rc_t read_parameters(const reader_t *self, const pr_yaml_node_t *node,
                               parameters_t *parameters)
{
    if (node->kind != PR_YAML_MAP)
        return bad(self, node, "parameters by name are wanted");
    for (const pr_yaml_node_t *at = node->first; at != NULL; at = at->next) {
        const pr_yaml_node_t *path = pr_yaml_find(at, "file");
        if (parameters->count == PARAMETERS_MAX)
            return bad(self, at, "more than %d parameters", PARAMETERS_MAX);
        if (!is_text(at) && (path == NULL || pr_yaml_count(at) != 1))
            return bad(self, at, "a text or {file: PATH} is wanted");
        char **text = &parameters->files[parameters->count];
        if (path != NULL && read_file(self, path, text) != PR_OK)
            return PR_BAD;
        parameters->items[parameters->count++] =
            (pr_parameter_t){at->key, pr_bytes_text(path != NULL ? *text : at->text)};
    }
    return PR_OK;
}

static pr_rc_t open_channel(const reader_t *self, const pr_yaml_node_t *node,
                            pr_task_handler_t *out)
{
    pr_error_t inner = {0};
    parameters_t parameters = {.count = 0};
    const pr_yaml_node_t *given = pr_yaml_find(node, "parameters");
    pr_rc_t rc = given != NULL ? read_parameters(self, given, &parameters) : PR_OK;
    if (rc == PR_OK && pr_channel_new(out->profile, parameters.items, parameters.count, NULL,
                                      &out->channel, &inner) != PR_OK)
        rc = bad(self, node, "%s", inner.text);
    wipe(&parameters);
    return rc;
}

static pr_rc_t read_profile(const reader_t *self, const pr_yaml_node_t *node,
                            pr_task_handler_t *out)
{
    pr_error_t inner = {0};
    const pr_yaml_node_t *name = pr_yaml_find(node, "profile");
    if (name == NULL || !is_text(name))
        return bad(self, node, "profile: the name of a profile is wanted");
    if (pr_profile_dir_get(self->dir, name->text, &out->profile, &inner) != PR_OK)
        return bad(self, name, "%s", inner.text);
    uint64_t operations = pr_profile_facts(out->profile)->operations;
    out->asks = (operations & UINT64_C(1) << PR_OPERATION_ASK) != 0;
    if ((operations & UINT64_C(1) << PR_OPERATION_ACT) == 0)
        return bad(self, name, "profile %s has no operation act", name->text);
    return PR_OK;
}

static pr_rc_t read_address(const reader_t *self, const pr_yaml_node_t *node,
                            pr_task_handler_t *out)
{
    pr_url_t url;
    pr_error_t inner = {0};
    const pr_yaml_node_t *base = pr_yaml_find(node, "base_url"),
                         *ca = pr_yaml_find(node, "ca_file");
    if (base == NULL || !is_text(base) || pr_url_parse(base->text, &url, &inner) != PR_OK ||
        strcmp(url.target, "/") != 0)
        return bad(self, base != NULL ? base : node,
                   "base_url: http(s)://HOST[:PORT] is wanted; the path is the profile's");
    out->base_url = pr_strdup(base->text);
    return ca != NULL ? read_file(self, ca, &out->ca_pem) : PR_OK;
}

static pr_rc_t read_handler(const reader_t *self, const pr_yaml_node_t *node, bool second,
                            pr_task_handler_t **out)
{
    static const char *const keys[] = {"profile", "base_url", "ca_file", "parameters", "after"};
    if (node->kind != PR_YAML_MAP)
        return bad(self, node, "profile, base_url and parameters are wanted below it");
    for (const pr_yaml_node_t *at = node->first; at != NULL; at = at->next) {
        bool known = false;
        for (size_t i = 0; i < PR_COUNT(keys) - (second ? 0 : 1); i++)
            known = known || strcmp(keys[i], at->key) == 0;
        if (!known)
            return bad(self, at, "unknown key; %s are keys of a handler",
                       second ? "after, profile, base_url, ca_file, parameters (or after and own)"
                              : "profile, base_url, ca_file and parameters");
    }
    pr_task_handler_t *handler = PR_NEW(pr_task_handler_t);
    pr_rc_t rc = read_profile(self, node, handler);
    if (rc == PR_OK)
        rc = read_address(self, node, handler);
    if (rc == PR_OK)
        rc = open_channel(self, node, handler);
    if (rc == PR_OK)
        *out = PR_STEAL(handler);
    handler_destroy(&handler);
    return rc;
}

static pr_rc_t read_second(const reader_t *self, const pr_yaml_node_t *node, pr_task_kind_t *kind)
{
    const pr_yaml_node_t *after = pr_yaml_find(node, "after"), *own = pr_yaml_find(node, "own");
    if (after == NULL)
        return bad(self, node, "after: the number of failed tries is wanted");
    if (read_count(self, after, &kind->second_after) != PR_OK)
        return PR_BAD;
    if (own == NULL)
        return read_handler(self, node, true, &kind->second);
    if (!is_text(own) || strcmp(own->text, "true") != 0 || pr_yaml_count(node) != 2 ||
        kind->handler == NULL)
        return bad(self, own, "own: true stands alone beside after, behind a handler");
    return PR_OK;
}

/* ---- a kind ---- */

static pr_rc_t read_retry(const reader_t *self, const pr_yaml_node_t *node, pr_task_kind_t *kind)
{
    pr_error_t inner = {0};
    if (!is_text(node) || pr_retry_parse(node->text, &kind->retry, &inner) != PR_OK)
        return bad(self, node, "%s", is_text(node) ? inner.text : "list:1m,3m,10m is wanted");
    pr_retry_scale(&kind->retry, self->time_scale);
    return PR_OK;
}

static pr_rc_t read_person(const reader_t *self, const pr_yaml_node_t *node, pr_task_kind_t *kind)
{
    if (node->kind != PR_YAML_LIST)
        return bad(self, node, "a list of codes is wanted");
    for (const pr_yaml_node_t *at = node->first; at != NULL; at = at->next) {
        if (!is_text(at) || kind->person_count == PR_TASK_PERSON_MAX)
            return bad(self, at, "at most %d codes are wanted", PR_TASK_PERSON_MAX);
        kind->person[kind->person_count++] = pr_strdup(at->text);
    }
    return PR_OK;
}

static bool is_name(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len <= NAME_MAX_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

static pr_rc_t read_key(const reader_t *self, const pr_yaml_node_t *at, pr_task_kind_t *kind)
{
    if (strcmp(at->key, "retry") == 0)
        return read_retry(self, at, kind);
    if (strcmp(at->key, "person") == 0)
        return read_person(self, at, kind);
    if (strcmp(at->key, "handler") == 0)
        return read_handler(self, at, false, &kind->handler);
    if (strcmp(at->key, "second") == 0)
        return PR_OK; /* after the handler, wherever it stands */
    if (strcmp(at->key, "limit") != 0)
        return bad(self, at, "retry, limit, person, handler and second are keys of a kind");
    kind->has_limit = true;
    return read_count(self, at, &kind->limit);
}

static pr_rc_t read_kind(const reader_t *self, const pr_yaml_node_t *node, pr_task_kind_t *kind)
{
    if (!is_name(node->key) || node->kind != PR_YAML_MAP)
        return bad(self, node, "a kind (a-z, 0-9, _) with its keys below is wanted");
    for (const pr_yaml_node_t *at = node->first; at != NULL; at = at->next) {
        if (read_key(self, at, kind) != PR_OK)
            return PR_BAD;
    }
    const pr_yaml_node_t *second = pr_yaml_find(node, "second");
    return second != NULL ? read_second(self, second, kind) : PR_OK;
}

static void kind_init(pr_task_kind_t *kind, const char *name, double time_scale)
{
    kind->name = pr_strdup(name);
    kind->limit = PR_TASK_LIMIT;
    pr_assert(pr_retry_parse(PR_TASK_RETRY_TEXT, &kind->retry, NULL) == PR_OK);
    pr_retry_scale(&kind->retry, time_scale);
}

static pr_rc_t read_kinds(const reader_t *self, const pr_yaml_node_t *root, pr_task_kinds_t *kinds)
{
    if (root->kind != PR_YAML_MAP)
        return bad(self, root, "kinds of tasks by name are wanted");
    for (const pr_yaml_node_t *at = root->first; at != NULL; at = at->next) {
        if (kinds->count == PR_TASK_KINDS_MAX)
            return bad(self, at, "more than %d kinds", PR_TASK_KINDS_MAX);
        pr_task_kind_t *kind = PR_NEW(pr_task_kind_t);
        kinds->kinds[kinds->count++] = kind;
        kind_init(kind, at->key, self->time_scale);
        if (read_kind(self, at, kind) != PR_OK)
            return PR_BAD;
    }
    return PR_OK;
}

/* ---- the whole ---- */

pr_rc_t pr_task_kinds_parse(const char *file, pr_bytes_t text, pr_profile_dir_t *dir,
                            double time_scale, pr_task_kinds_t **out, pr_error_t *error)
{
    reader_t self = {.file = file, .dir = dir, .time_scale = time_scale, .error = error};
    pr_pool_t pool = {0};
    pr_yaml_node_t *root = NULL;
    PR_CLEANUP(pr_task_kinds) pr_task_kinds_t *kinds = PR_NEW(pr_task_kinds_t);
    kind_init(&kinds->other, "", time_scale);
    pr_rc_t rc = text.len > 0 ? pr_yaml_parse(file, text, &pool, &root, error) : PR_OK;
    if (rc == PR_OK && root != NULL)
        rc = read_kinds(&self, root, kinds);
    pr_pool_free(&pool);
    if (rc == PR_OK)
        *out = PR_STEAL(kinds);
    return rc;
}

pr_rc_t pr_task_kinds_load(const char *path, pr_profile_dir_t *dir, double time_scale,
                           pr_task_kinds_t **out, pr_error_t *error)
{
    if (path[0] == '\0')
        return pr_task_kinds_parse("tasks.file", pr_bytes(NULL, 0), dir, time_scale, out, error);
    FILE *file = pr_open_regular_file(path, true);
    if (file == NULL)
        return pr_error_set(error, PR_BAD, "tasks", "", "tasks.file: %s: %s", path,
                            strerrordesc_np(errno));
    PR_CLEANUP_FREE char *text = pr_calloc(PR_YAML_FILE_MAX + 1, 1);
    size_t len = fread(text, 1, PR_YAML_FILE_MAX, file);
    bool whole = ferror(file) == 0 && feof(file) != 0;
    fclose(file);
    if (!whole)
        return pr_error_set(error, PR_BAD, "tasks", "", "%s: cannot be read, or over 256 KiB",
                            path);
    return pr_task_kinds_parse(path, pr_bytes(text, len), dir, time_scale, out, error);
}

const pr_task_kind_t *pr_task_kinds_find(const pr_task_kinds_t *self, const char *name)
{
    for (int i = 0; i < self->count; i++) {
        if (strcmp(self->kinds[i]->name, name) == 0)
            return self->kinds[i];
    }
    return &self->other;
}

char *pr_task_kinds_json(const pr_task_kinds_t *self)
{
    json_t *all = json_object();
    for (int i = 0; i < self->count; i++) {
        const pr_task_kind_t *kind = self->kinds[i];
        json_t *one = json_object();
        if (kind->handler != NULL)
            json_object_set_new(one, "handler", json_string("http"));
        if (kind->has_limit)
            json_object_set_new(one, "limit", json_integer(kind->limit));
        json_object_set_new(all, kind->name, one);
    }
    size_t len = json_dumpb(all, NULL, 0, JSON_COMPACT);
    char *text = pr_calloc(len + 1, 1);
    json_dumpb(all, text, len, JSON_COMPACT);
    json_decref(all);
    return text;
}
