/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/circuit-breaker/circuit_breaker_io.h"

int main(int argc, char **argv)
{
    return pr_actor_main(&pr_watch_spec, argc, argv);
}
