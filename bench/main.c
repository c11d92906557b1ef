/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider-bench MODE [OPTION...]: what `postrider bench` runs (cli/bench.c).
 */
#include "base/log.h"
#include "bench/bench.h"

int main(int argc, char **argv)
{
    pr_log_init("bench", PR_LOG_WARN); /* stderr is for progress */
    return pr_bench_main(argc, argv);
}
