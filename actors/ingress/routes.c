/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/ingress/routes.h"

#include "base/alloc.h"

#include <string.h>

#define WRITE_STATUSES 401, 403, 409, 415, 422, 429, 500

const pr_endpoint_t pr_endpoints[] = {
    {{"GET", "/healthz"}, PR_ENDPOINT_HEALTH, "", {200}},
    {{"GET", "/readyz"}, PR_ENDPOINT_READY, "", {200}},
    {{"GET", "/v1/webhooks/{channel}"}, PR_ENDPOINT_WEBHOOK, "", {0}},
    {{"POST", "/v1/webhooks/{channel}"}, PR_ENDPOINT_WEBHOOK, "", {0}},
    {{"POST", "/v1/payments"}, PR_ENDPOINT_WRITE, "payment.submit", {201, 202, WRITE_STATUSES}},
    {{"GET", "/v1/payments/{payment_id}"}, PR_ENDPOINT_READ, "payment", {200, 401, 404, 429, 500}},
    {{"POST", "/v1/payments/{payment_id}/refunds"},
     PR_ENDPOINT_WRITE,
     "payment.refund",
     {202, 404, WRITE_STATUSES}},
    {{"POST", "/v1/payments/{payment_id}/cancel"},
     PR_ENDPOINT_WRITE,
     "payment.cancel",
     {202, 404, WRITE_STATUSES}},
    {{"POST", "/v1/notifications"}, PR_ENDPOINT_WRITE, "notification", {202, WRITE_STATUSES}},
    {{"POST", "/v1/notifications/{notify_id}/resend"},
     PR_ENDPOINT_WRITE,
     "notification.resend",
     {202, 404, WRITE_STATUSES}},
    {{"POST", "/v1/fulfilments"}, PR_ENDPOINT_WRITE, "fulfilment", {202, 404, WRITE_STATUSES}},
    {{"GET", "/v1/merchants/{merchant_id}/orders/{order_no}"},
     PR_ENDPOINT_READ,
     "order",
     {200, 401, 404, 429, 500}},
};
const size_t pr_endpoints_count = PR_COUNT(pr_endpoints);

bool pr_endpoint_says(const pr_endpoint_t *endpoint, uint32_t status)
{
    static const uint16_t any[] = {400, 408, 413, 414, 431, 503, 505};
    for (size_t i = 0; i < PR_COUNT(any); i++)
        if (any[i] == status)
            return true;
    for (size_t i = 0; i < PR_ENDPOINT_STATUSES_MAX && endpoint->statuses[i] != 0; i++)
        if (endpoint->statuses[i] == status)
            return true;
    return endpoint->kind == PR_ENDPOINT_WEBHOOK;
}

static const struct {
    const char *sqlstate; /* or its class */
    pr_door_error_t error;
} door_errors[] = {
    {"PR001", {422, "unknown_merchant", true}}, {"PR002", {422, "idempotency_key_reused", true}},
    {"PR003", {400, "invalid_argument", true}}, {"PR004", {422, "unknown_channel", true}},
    {"PR005", {409, "order_taken", true}},      {"PR006", {409, "move_not_allowed", true}},
    {"PR007", {422, "amount_exceeds", true}},   {"PR008", {413, "too_large", true}},
    {"PR009", {403, "not_yours", true}},        {"02000", {404, "not_found", false}},
    {"P0002", {404, "not_found", false}},       {"55P03", {409, "in_progress", false}},
    {"22", {400, "invalid_argument", false}},   {"23", {422, "invalid_argument", false}},
    {"08", {503, "unavailable", false}},        {"40", {503, "unavailable", false}},
    {"53", {503, "unavailable", false}},        {"55", {503, "unavailable", false}},
    {"57", {503, "unavailable", false}},        {"58", {503, "unavailable", false}},
};

pr_door_error_t pr_door_error(const char *sqlstate)
{
    if (sqlstate[0] == '\0')
        return (pr_door_error_t){503, "unavailable", false};
    for (size_t i = 0; i < PR_COUNT(door_errors); i++)
        if (strncmp(sqlstate, door_errors[i].sqlstate, strlen(door_errors[i].sqlstate)) == 0)
            return door_errors[i].error;
    return (pr_door_error_t){500, "internal", false};
}
