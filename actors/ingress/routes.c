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
