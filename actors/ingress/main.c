/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/ingress/ingress_io.h"

int main(int argc, char **argv)
{
    return pr_actor_main(&pr_ingress_spec, argc, argv);
}
