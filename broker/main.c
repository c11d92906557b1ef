/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/broker_io.h"

int main(int argc, char **argv)
{
    return pr_actor_main(&pr_broker_spec, argc, argv);
}
