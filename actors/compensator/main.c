/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/compensator/compensator_io.h"

int main(int argc, char **argv)
{
    return pr_actor_main(&pr_compensator_spec, argc, argv);
}
