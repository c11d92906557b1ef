/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider-charger: moves money at gateways, one call a job. See README.md.
 */
#include "gateway_worker/gateway_call.h"
#include "gateway_worker/gateway_worker.h"

static const pr_gateway_role_t role = {
    .operations = PR_OPERATION_BIT(PR_OPERATION_CHARGE) | PR_OPERATION_BIT(PR_OPERATION_CAPTURE) |
                  PR_OPERATION_BIT(PR_OPERATION_REFUND) | PR_OPERATION_BIT(PR_OPERATION_CLOSE),
    .cls = 0,
};

static pr_rc_t start(pr_actor_t *actor, void **io, pr_error_t *error)
{
    return pr_gateway_worker_start(actor, &role, io, error);
}

static const pr_actor_spec_t spec = {
    .name = "charger",
    .summary = "Moves money: makes one charge, capture, refund or close a job, never twice.",
    .start = start,
    .drain = pr_gateway_worker_drain,
    .drained = pr_gateway_worker_drained,
    .stop = pr_gateway_worker_stop,
};

int main(int argc, char **argv)
{
    return pr_actor_main(&spec, argc, argv);
}
