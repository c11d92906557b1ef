/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/scheduler/scheduler_io.h"

int main(int argc, char **argv)
{
    return pr_actor_main(&pr_scheduler_spec, argc, argv);
}
