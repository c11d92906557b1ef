/* SPDX-License-Identifier: Apache-2.0
 *
 * The web application, in the program: every file of actors/console/web, embedded when it is built
 * (cmake/embed_files.py). A path is looked up as it came, so there is no file system to wander in.
 */
#ifndef PR_CONSOLE_ASSETS_H
#define PR_CONSOLE_ASSETS_H

#include "base/buffer.h"

typedef struct {
    const char *path; /* "/js/table.js"; "/" is index.html */
    const char *type;
    const char *etag; /* quoted: the first 32 digits of its SHA-256 */
    const uint8_t *data;
    size_t len;
} pr_asset_t;

extern const pr_asset_t pr_assets[]; /* ends with path NULL */

/* NULL: there is none. */
const pr_asset_t *pr_asset_find(pr_bytes_t path);
/* Whether an If-None-Match header (NULL: none) names it. */
bool pr_asset_known(const pr_asset_t *asset, const char *if_none_match);

#endif
