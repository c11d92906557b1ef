/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/environment.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static bool is_configuration(const char *entry)
{
    static const char *const kept[] = {"POSTRIDER_HOME=", "POSTRIDER_STATE="};
    for (size_t i = 0; i < PR_COUNT(kept); i++)
        if (strncmp(entry, kept[i], strlen(kept[i])) == 0)
            return false;
    return strncmp(entry, "POSTRIDER_", strlen("POSTRIDER_")) == 0;
}

void pr_environment_forget(void)
{
    for (char **at = environ; *at != NULL;) {
        if (!is_configuration(*at)) {
            at++;
            continue;
        }
        PR_CLEANUP_FREE char *name = pr_strndup(*at, strcspn(*at, "="));
        (void)unsetenv(name);
        at = environ; /* it has moved */
    }
}
