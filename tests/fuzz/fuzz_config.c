/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a configuration file: refused with a place and a reason, or taken; and what was
 * taken prints as a file that is taken again and means the same (secrets aside, which a dump
 * masks).
 */
#include "actor/actor_private.h"
#include "base/alloc.h"
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_dump(const pr_config_t *config)
{
    char *dump = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&dump, &len);
    pr_config_dump(config, out);
    fclose(out);

    static const char *const masked[] = {"database.url=", "alerts.webhook=", NULL};
    pr_config_t *again = NULL;
    pr_error_t error;
    /* "***" is no URL: alerts.webhook is emptied before the check; other texts must pass as they
     * are */
    pr_rc_t rc = pr_config_load_text("dump", pr_bytes(dump, len), masked, &again, &error);
    pr_assert(rc == PR_OK);
    for (int i = 0; pr_settings[i].key != NULL; i++) {
        bool same = strcmp(config->values[i].text, again->values[i].text) == 0;
        pr_assert(same || pr_settings[i].secret);
    }
    pr_config_destroy(&again);
    free(dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pr_config_t *config = NULL;
    pr_error_t error = {0};
    if (pr_config_load_text("f", pr_bytes(data, size), NULL, &config, &error) == PR_OK)
        check_dump(config);
    else
        pr_assert(config == NULL && error.text[0] != '\0');
    pr_config_destroy(&config);
    return 0;
}
