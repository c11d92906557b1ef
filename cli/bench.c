/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/home.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int pr_bench_command(int argc, char **argv)
{
    (void)argc; /* argv ends with NULL */
    PR_CLEANUP_FREE char *program = pr_home_program("postrider-bench");
    (void)execv(program, argv);
    (void)fprintf(stderr, "postrider bench: cannot start %s: %s\n", program,
                  strerrordesc_np(errno));
    return PR_EXIT_FAILED;
}
