/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/outbox-relay/outbox_relay_io.h"

int main(int argc, char **argv)
{
    return pr_actor_main(&pr_relay_spec, argc, argv);
}
