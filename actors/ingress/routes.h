/* SPDX-License-Identifier: Apache-2.0
 *
 * What there is behind the door: one table, which docs/openapi.yaml describes and a test compares
 * with it. Pure.
 */
#ifndef PR_INGRESS_ROUTES_H
#define PR_INGRESS_ROUTES_H

#include "httpd/route.h"

#include <stdint.h>

#define PR_ENDPOINT_STATUSES_MAX 16

typedef enum {
    PR_ENDPOINT_HEALTH = 1,
    PR_ENDPOINT_READY,
    PR_ENDPOINT_WEBHOOK,
    PR_ENDPOINT_WRITE, /* one call of http_write, with operation */
    PR_ENDPOINT_READ,  /* one call of http_read, with operation as `what` */
} pr_endpoint_kind_t;

typedef struct {
    pr_route_t route;
    pr_endpoint_kind_t kind;
    const char *operation;
    uint16_t statuses[PR_ENDPOINT_STATUSES_MAX]; /* that it may answer with; ends with 0. Empty: the
                                                    profile's (webhooks) */
} pr_endpoint_t;

extern const pr_endpoint_t pr_endpoints[];
extern const size_t pr_endpoints_count;

/* Whether the endpoint's row has the status; every one has those of any request: 400, 408, 413,
 * 414, 431, 503, 505. */
bool pr_endpoint_says(const pr_endpoint_t *endpoint, uint32_t status);

#endif
