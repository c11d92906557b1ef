/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/console/assets.h"

#include <string.h>

const pr_asset_t *pr_asset_find(pr_bytes_t path)
{
    for (const pr_asset_t *one = pr_assets; one->path; one++)
        if (pr_bytes_equal(path, pr_bytes_text(one->path)))
            return one;
    return NULL;
}

/* A list of quoted tags, or "*". W/ before one does not matter (RFC 9110, 13.1.2); a tag is hex, so
 * no part of another one is it. */
bool pr_asset_known(const pr_asset_t *asset, const char *if_none_match)
{
    return if_none_match &&
           (strcmp(if_none_match, "*") == 0 || strstr(if_none_match, asset->etag) != NULL);
}
