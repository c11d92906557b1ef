/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/console/console_io.h"

int main(int argc, char **argv)
{
    return pr_actor_main(&pr_console_spec, argc, argv);
}
