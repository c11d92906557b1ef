/* SPDX-License-Identifier: Apache-2.0
 *
 * sim --seeds FROM COUNT    runs them; a failing one ends it: exit 1
 * sim --seed N [--trace]    one, with all that happens
 * --mutant M                with fault M planted in the model (sim_pg.h); exit 0 still means that nothing was found
 * --quiet                   no progress
 */
#include "sim_pg.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *program;

/* An assertion of the product is a finding as well. */
static void on_abort(int number)
{
    (void)number;
    char text[256];
    int len =
        snprintf(text, sizeof text,
                 "seed %" PRIu64 ": an assertion failed\nreplay: %s --seed %" PRIu64 "%s --trace\n",
                 sim ? sim->seed : 0, program, sim ? sim->seed : 0, "");
    ssize_t ignored = write(STDOUT_FILENO, text, (size_t)len);
    (void)ignored;
    _exit(1);
}

static void usage(void)
{
    fprintf(stderr,
            "usage: sim --seeds FROM COUNT | --seed N [--trace]   [--mutant M] [--quiet]\n");
    exit(2);
}

int main(int argc, char **argv)
{
    uint64_t from = 1, count = 1000;
    bool trace = false, quiet = false;
    int mutant = 0;
    program = argv[0];
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seeds") == 0 && i + 2 < argc) {
            from = strtoull(argv[++i], NULL, 10);
            count = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            from = strtoull(argv[++i], NULL, 10);
            count = 1;
        } else if (strcmp(argv[i], "--mutant") == 0 && i + 1 < argc) {
            mutant = (int)strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--trace") == 0) {
            trace = true;
        } else if (strcmp(argv[i], "--quiet") == 0) {
            quiet = true;
        } else {
            usage();
        }
    }
    struct sigaction action = {.sa_handler = on_abort};
    sigaction(SIGABRT, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    uint64_t events = 0;
    for (uint64_t seed = from; seed < from + count; seed++) {
        bool held = sim_run_seed(seed, trace, mutant);
        events += sim->events;
        if (!held) {
            printf("seed %" PRIu64 ": %s\n", seed, sim->why);
            printf("replay: %s --seed %" PRIu64, program, seed);
            if (mutant != 0)
                printf(" --mutant %d", mutant);
            printf(" --trace\n");
            return 1;
        }
        if (!quiet && (seed - from) % 1000 == 999) {
            printf("# %" PRIu64 " seeds, %" PRIu64 " events\n", seed - from + 1, events);
            fflush(stdout);
        }
    }
    printf("%" PRIu64 " seeds held, %" PRIu64 " events\n", count, events);
    sim_events_free();
    sim_pg_end();
    sim_plan_free();
    return 0;
}
