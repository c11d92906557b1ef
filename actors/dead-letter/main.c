/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/dead-letter/dead_letter_io.h"

int main(int argc, char **argv)
{
    return pr_actor_main(&pr_dead_spec, argc, argv);
}
