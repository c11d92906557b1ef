/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider-gateway-poller: asks gateways, one question a job. See README.md.
 */
#include "gateway_worker/gateway_call.h"
#include "gateway_worker/gateway_worker.h"

static const pr_gateway_role_t role = {
    .operations = PR_OPERATION_BIT(PR_OPERATION_QUERY) | PR_OPERATION_BIT(PR_OPERATION_FIND) |
                  PR_OPERATION_BIT(PR_OPERATION_QUERY_REFUND),
    .cls = 1,
};

static pr_rc_t start(pr_actor_t *actor, void **io, pr_error_t *error)
{
    return pr_gateway_worker_start(actor, &role, io, error);
}

static const pr_actor_spec_t spec = {
    .name = "gateway-poller",
    .summary = "Asks gateways how payments and refunds stand: one question a job.",
    .start = start,
    .drain = pr_gateway_worker_drain,
    .drained = pr_gateway_worker_drained,
    .stop = pr_gateway_worker_stop,
};

int main(int argc, char **argv)
{
    return pr_actor_main(&spec, argc, argv);
}
