/* SPDX-License-Identifier: Apache-2.0 */
#include "actor/master_key.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KEY_FILE_MAX 256u

pr_rc_t pr_master_key_load(const char *path, pr_master_key_t *out, pr_error_t *error)
{
    if (path[0] == '\0')
        return pr_error_set(error, PR_BAD, "config", "",
                            "master_key_file is not set: sealed secrets are opened with it");
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return pr_error_set(error, PR_BAD, "config", "", "master_key_file %s cannot be read: %s",
                            path, strerrordesc_np(errno));
    uint8_t bytes[KEY_FILE_MAX];
    size_t len = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    pr_rc_t rc = pr_master_key_parse(pr_bytes(bytes, len), 0, out, error);
    explicit_bzero(bytes, sizeof(bytes));
    return rc;
}
