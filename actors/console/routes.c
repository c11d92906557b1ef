/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/console/routes.h"

#include "base/alloc.h"
#include "sql/console.h"

#include <string.h>

#define NOBODY PR_CONSOLE_NOBODY
#define VIEWER PR_CONSOLE_VIEWER
#define OPERATOR PR_CONSOLE_OPERATOR
#define APPROVER PR_CONSOLE_APPROVER
#define ADMIN PR_CONSOLE_ADMIN
#define OWN(METHOD, PATH, KIND, ROLE) \
    { \
        {METHOD, PATH}, PR_CONSOLE_##KIND, ROLE, -1, PR_MAKE_NOTHING \
    }
#define READ(PATH, DOOR) \
    { \
        {"GET", PATH}, PR_CONSOLE_READ, VIEWER, PR_SQL_CONSOLE_##DOOR, PR_MAKE_NOTHING \
    }
#define LIST(PATH, DOOR) \
    { \
        {"GET", PATH}, PR_CONSOLE_LIST, VIEWER, PR_SQL_CONSOLE_##DOOR, PR_MAKE_NOTHING \
    }
#define ACT(PATH, ROLE, DOOR) \
    { \
        {"POST", PATH}, PR_CONSOLE_ACT, ROLE, PR_SQL_CONSOLE_##DOOR, PR_MAKE_NOTHING \
    }
#define MAKE(PATH, ROLE, DOOR, WHAT) \
    { \
        {"POST", PATH}, PR_CONSOLE_ACT, ROLE, PR_SQL_CONSOLE_##DOOR, PR_MAKE_##WHAT \
    }

/* clang-format off */
const pr_console_route_t pr_console_routes[] = {
    OWN("GET", "/healthz", HEALTH, NOBODY),
    OWN("GET", "/readyz", READY, NOBODY),
    OWN("GET", "/metrics", METRICS, NOBODY), /* those networks that the settings name, else a viewer */
    OWN("POST", "/api/login", LOGIN, NOBODY),
    OWN("POST", "/api/logout", LOGOUT, VIEWER),
    OWN("GET", "/api/session", SESSION, VIEWER),
    OWN("GET", "/api/live", LIVE, VIEWER),

    READ("/api/overview", OVERVIEW),

    MAKE("/api/operators", ADMIN, OPERATOR_ADD, PASSWORD),
    ACT("/api/operators/{name}", ADMIN, OPERATOR_SET),
    ACT("/api/operators/{name}/disable", ADMIN, OPERATOR_DISABLE),
    ACT("/api/operators/{name}/enable", ADMIN, OPERATOR_ENABLE),
    MAKE("/api/operators/{name}/password", VIEWER, OPERATOR_PASSWORD, PASSWORD), /* one's own; another's is an admin's */
    MAKE("/api/tokens", VIEWER, TOKEN_CREATE, TOKEN), /* likewise */
    ACT("/api/tokens/{token_id}/revoke", VIEWER, TOKEN_REVOKE),
};
/* clang-format on */
const size_t pr_console_routes_count = PR_COUNT(pr_console_routes);

pr_console_role_t pr_console_role(const char *name)
{
    static const char *const names[] = {"", "viewer", "operator", "approver", "admin"};
    for (size_t i = 1; i < PR_COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return (pr_console_role_t)i;
    return PR_CONSOLE_NOBODY;
}
