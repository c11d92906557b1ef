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
#define WHOLE(PATH, DOOR) \
    { \
        {"GET", PATH}, PR_CONSOLE_WHOLE, VIEWER, PR_SQL_CONSOLE_##DOOR, PR_MAKE_NOTHING \
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
    READ("/api/search", SEARCH),
    WHOLE("/api/permissions", PERMISSIONS),
    READ("/api/exceptions/summary", EXCEPTIONS_SUMMARY),
    LIST("/api/exceptions", EXCEPTIONS_LIST),
    ACT("/api/exceptions/resolve", OPERATOR, EXCEPTIONS_RESOLVE),
    LIST("/api/alerts", ALERTS_LIST),

    READ("/api/merchants/{merchant_id}/orders/{order_no}", ORDER_SHOW),
    LIST("/api/notifications", NOTIFICATIONS_LIST),
    READ("/api/notifications/{notify_id}", NOTIFICATION_SHOW),
    ACT("/api/notifications/{notify_id}/resend", OPERATOR, NOTIFICATION_RESEND),
    ACT("/api/notifications/{notify_id}/cancel", OPERATOR, NOTIFICATION_CANCEL),
    LIST("/api/dead-letters", DEAD_LETTERS_LIST),
    LIST("/api/payments", PAYMENTS_LIST),
    READ("/api/payments/{payment_id}", PAYMENT_SHOW),
    ACT("/api/payments/{payment_id}/poll", OPERATOR, PAYMENT_POLL),
    LIST("/api/webhooks", WEBHOOKS_LIST),
    READ("/api/webhooks/{webhook_id}", WEBHOOK_SHOW),
    ACT("/api/webhooks/{webhook_id}/redrive", OPERATOR, WEBHOOK_REDRIVE),
    LIST("/api/tasks", TASKS_LIST),
    READ("/api/tasks/{task_no}", TASK_SHOW),

    LIST("/api/merchants", MERCHANTS_LIST),
    READ("/api/merchants/{merchant_id}", MERCHANT_SHOW),
    MAKE("/api/merchants", ADMIN, MERCHANT_ADD, SECRET),
    ACT("/api/merchants/{merchant_id}", ADMIN, MERCHANT_SET),
    ACT("/api/merchants/{merchant_id}/test", OPERATOR, MERCHANT_TEST),
    LIST("/api/endpoints", ENDPOINTS_LIST),
    MAKE("/api/endpoints", ADMIN, ENDPOINT_ADD, SECRET),
    ACT("/api/endpoints/{endpoint_id}", ADMIN, ENDPOINT_SET),
    ACT("/api/endpoints/{endpoint_id}/enable", OPERATOR, ENDPOINT_ENABLE),
    ACT("/api/endpoints/{endpoint_id}/disable", OPERATOR, ENDPOINT_DISABLE),
    ACT("/api/endpoints/{endpoint_id}/breaker", OPERATOR, BREAKER_FORCE),
    MAKE("/api/endpoints/{endpoint_id}/rotate-secret", ADMIN, ENDPOINT_ROTATE_SECRET, SECRET),
    MAKE("/api/keys", ADMIN, KEY_CREATE, KEY),
    ACT("/api/keys/{key_id}/revoke", ADMIN, KEY_REVOKE),

    WHOLE("/api/channels", CHANNELS_LIST),
    READ("/api/channels/{channel}", CHANNEL_SHOW),
    MAKE("/api/channels/{channel}", ADMIN, CHANNEL_SET, SEALED),
    ACT("/api/channels/{channel}/pause", OPERATOR, CHANNEL_PAUSE),
    ACT("/api/channels/{channel}/maintain", OPERATOR, CHANNEL_MAINTAIN),
    ACT("/api/channels/{channel}/resume", OPERATOR, CHANNEL_RESUME),

    LIST("/api/recon/files", RECON_FILES_LIST),
    LIST("/api/recon/differences", RECON_DIFFERENCES_LIST),
    LIST("/api/recon/quarantine", RECON_QUARANTINE_LIST),
    LIST("/api/recon/runs", RECON_RUNS_LIST),
    ACT("/api/recon/runs", OPERATOR, RECON_ASK),
    ACT("/api/recon/files/{file_id}/release", OPERATOR, RECON_RELEASE),
    ACT("/api/recon/files/{file_id}/close", OPERATOR, RECON_CLOSE),

    LIST("/api/approvals", APPROVALS_LIST),
    READ("/api/approvals/{id}", APPROVAL_SHOW),
    ACT("/api/approvals", OPERATOR, APPROVAL_ASK),
    ACT("/api/approvals/{id}/decide", APPROVER, APPROVAL_DECIDE),
    ACT("/api/approvals/{id}/withdraw", OPERATOR, APPROVAL_WITHDRAW),
    LIST("/api/audit", AUDIT_LIST),
    READ("/api/audit/head", AUDIT_HEAD),

    WHOLE("/api/operators", OPERATORS_LIST),
    MAKE("/api/operators", ADMIN, OPERATOR_ADD, PASSWORD),
    ACT("/api/operators/{name}", ADMIN, OPERATOR_SET),
    ACT("/api/operators/{name}/disable", ADMIN, OPERATOR_DISABLE),
    ACT("/api/operators/{name}/enable", ADMIN, OPERATOR_ENABLE),
    MAKE("/api/operators/{name}/password", VIEWER, OPERATOR_PASSWORD, PASSWORD), /* one's own; another's is an admin's */
    WHOLE("/api/tokens", TOKENS_LIST),
    MAKE("/api/tokens", VIEWER, TOKEN_CREATE, TOKEN), /* likewise */
    ACT("/api/tokens/{token_id}/revoke", VIEWER, TOKEN_REVOKE),
    ACT("/api/sla", ADMIN, SLA_SET),
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
