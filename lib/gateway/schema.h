/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections of a profile as tables: key, how it is read, where it goes, default. A section is read
 * by its table; an unknown key, a missing one and a value of another type are errors with file and
 * line, and tests/unit/lib/gateway/test_profile.c finds every key of every table in
 * docs/profiles.md.
 */
#ifndef PR_GATEWAY_SCHEMA_H
#define PR_GATEWAY_SCHEMA_H

#include "gateway/profile.h"
#include "gateway/yaml_tree.h"

typedef struct {
    const char *file;
    pr_profile_t *profile;
    pr_error_t *error;
} pr_schema_t;

/* Reads node into *out. */
typedef pr_rc_t pr_schema_read_fn(pr_schema_t *self, const pr_yaml_node_t *node, void *out);

typedef struct {
    const char *key;
    pr_schema_read_fn *read;
    size_t offset;
    const char *fallback; /* text read when the key is missing; NULL: it must be there */
} pr_schema_field_t;

typedef struct {
    const char *name; /* "webhook.verify" */
    const pr_schema_field_t *fields;
    size_t count;
} pr_schema_section_t;

/* A key that may be missing and then leaves zeroes. */
extern const char pr_schema_none[];

PR_CHECK pr_rc_t pr_schema_bad(const pr_schema_t *self, const pr_yaml_node_t *node, const char *fmt,
                               ...) PR_PRINTF(3, 4);
/* node must be a map with keys of the section. */
PR_CHECK pr_rc_t pr_schema_section(pr_schema_t *self, const pr_schema_section_t *section,
                                   const pr_yaml_node_t *node, void *out);
/* Reads each child of a map (or, list: of a list) by `read` into a fresh array of elements of
 * `size` bytes in the pool. NULL *array when there is none. */
PR_CHECK pr_rc_t pr_schema_each(pr_schema_t *self, const pr_yaml_node_t *node, pr_yaml_kind_t kind,
                                pr_schema_read_fn *read, size_t size, void **array, size_t *count);

/* Readers of plain values; out in parentheses. */
pr_schema_read_fn pr_read_text;     /* (const char *) */
pr_schema_read_fn pr_read_bool;     /* (bool) */
pr_schema_read_fn pr_read_u32;      /* (uint32_t) */
pr_schema_read_fn pr_read_real;     /* (double), 0 or more */
pr_schema_read_fn pr_read_duration; /* (int64_t ms) */
pr_schema_read_fn pr_read_list;     /* (pr_list_t): one text or a list of them */
pr_schema_read_fn pr_read_path;     /* (const char *): a JSON path, or "" */
pr_schema_read_fn pr_read_paths;    /* (pr_paths_t) */
pr_schema_read_fn pr_read_charset;  /* (const char *) */
/* Templates by place (pr_template_t), and maps of them (pr_named_templates_t). */
pr_schema_read_fn pr_read_request_template, pr_read_signed_template, pr_read_header_template,
    pr_read_answer_template, pr_read_webhook_template;
pr_schema_read_fn pr_read_request_templates, pr_read_header_templates;

/* The whole document, and all sections for documents and tests. */
PR_CHECK pr_rc_t pr_schema_document(pr_schema_t *self, const pr_yaml_node_t *root);
extern const pr_schema_section_t *const pr_schema_sections[]; /* ends with NULL */

#endif
