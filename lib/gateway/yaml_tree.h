/* SPDX-License-Identifier: Apache-2.0
 *
 * A small YAML document as a tree with line numbers. As in the configuration (lib/actor), what is
 * not needed is refused: anchors, aliases, tags, several documents, null, keys that are no text, a
 * key twice. Scalars stay text; who reads them knows their type.
 */
#ifndef PR_GATEWAY_YAML_TREE_H
#define PR_GATEWAY_YAML_TREE_H

#include "base/buffer.h"
#include "base/error.h"
#include "gateway/pool.h"

#define PR_YAML_FILE_MAX ((size_t)256 * 1024)
#define PR_YAML_DEPTH_MAX 12
#define PR_YAML_NODES_MAX 8192

typedef enum { PR_YAML_SCALAR = 1, PR_YAML_LIST, PR_YAML_MAP } pr_yaml_kind_t;

typedef struct pr_yaml_node_t {
    pr_yaml_kind_t kind;
    int line;
    const char *text;                    /* SCALAR */
    const char *key;                     /* when in a MAP */
    struct pr_yaml_node_t *first, *next; /* children; the next sibling */
} pr_yaml_node_t;

/* The tree lives in pool. PR_BAD: error->text is "FILE:LINE: ...". */
PR_CHECK pr_rc_t pr_yaml_parse(const char *file, pr_bytes_t text, pr_pool_t *pool,
                               pr_yaml_node_t **out, pr_error_t *error);
/* NULL: not a MAP, or not there. */
const pr_yaml_node_t *pr_yaml_find(const pr_yaml_node_t *map, const char *key);
size_t pr_yaml_count(const pr_yaml_node_t *self); /* children */

#endif
