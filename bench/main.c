/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider-bench MODE [OPTION...]: what `postrider bench` runs (cli/bench.c).
 */
#include "bench/bench.h"

int main(int argc, char **argv)
{
    return pr_bench_main(argc, argv);
}
