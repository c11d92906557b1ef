/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/gateway-scheduler/gateway_scheduler_io.h"

int main(int argc, char **argv)
{
    return pr_actor_main(&pr_gateway_scheduler_spec, argc, argv);
}
