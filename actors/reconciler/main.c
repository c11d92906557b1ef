/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/reconciler/reconciler_io.h"

int main(int argc, char **argv)
{
    return pr_actor_main(&pr_reconciler_spec, argc, argv);
}
