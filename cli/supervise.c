/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/supervise.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/home.h"
#include "cli/topology.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SCALES_MAX 16
#define OVERRIDES_MAX 64
#define COUNT_MAX 32       /* processes of one actor */
#define WATCH_MS 500       /* how soon `up` notices that the supervisor is gone */
#define NS_PER_MS 1000000L /* unit */

static const char up_help[] =
    "usage: postrider up [--config FILE] [--detach] [--scale ACTOR=N]... [--set KEY=VALUE]...\n\n"
    "Starts the topology and waits until every actor is ready. Stays, and stops it on ^C, unless\n"
    "--detach. What the configuration leaves open is made under the state directory: a private\n"
    "Postgres (migrated), bus addresses, a master key.\n";

typedef struct {
    const char *config;
    bool detach;
    pr_scale_t scale[SCALES_MAX + 1];
    int nscale;
    const char *overrides[OVERRIDES_MAX + 1];
    int noverrides;
} up_args_t;

static int usage(const char *help, const char *complaint, const char *what)
{
    fprintf(stderr, "postrider: %s%s\n%s", complaint, what, help);
    return PR_EXIT_USAGE;
}

static int report(pr_rc_t rc, const pr_error_t *error)
{
    if (rc == PR_OK) {
        return PR_EXIT_OK;
    }
    fprintf(stderr, "postrider: %s\n", error->text);
    return rc == PR_BAD ? PR_EXIT_USAGE : PR_EXIT_FAILED;
}

/* "notifier=2"; takes text apart, which must outlive args. NULL, or what is wrong with it (and
 * text is whole again: the complaint shows it). */
static const char *parse_scale(up_args_t *args, char *text)
{
    static const char wants[] = "--scale wants ACTOR=N, N from 1 to 32, not ";
    char *equals = strchr(text, '=');
    if (equals == NULL || args->nscale == SCALES_MAX) {
        return wants;
    }
    *equals = '\0';
    char *end = NULL;
    long count = strtol(equals + 1, &end, 10);
    bool number = end != equals + 1 && *end == '\0';
    const char *wrong = NULL;
    if (!number || count < 0 || count > COUNT_MAX || !pr_topology_knows(text)) {
        wrong = wants;
    } else if (count == 0) {
        wrong = "a topology needs one of each actor at least, so not --scale ";
    } else if (count > 1 && strcmp(text, "circuit-breaker") == 0) {
        wrong = "the circuit-breaker gathers what it must know alone, so not --scale ";
    }
    if (wrong != NULL) {
        *equals = '=';
        return wrong;
    }
    args->scale[args->nscale] = (pr_scale_t){text, (int)count};
    args->nscale++;
    return NULL;
}

/* -1: go on; else the exit code. */
static int parse_up(up_args_t *args, int argc, char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'}, {"detach", no_argument, NULL, 'd'},
        {"scale", required_argument, NULL, 's'},  {"set", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    const char *complaint = NULL;
    int letter = 0;
    while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (letter) {
        case 'c':
            args->config = optarg;
            break;
        case 'd':
            args->detach = true;
            break;
        case 's':
            complaint = parse_scale(args, optarg);
            if (complaint != NULL) {
                return usage(up_help, complaint, optarg);
            }
            break;
        case 'o':
            if (args->noverrides == OVERRIDES_MAX) {
                return usage(up_help, "too many --set, at ", optarg);
            }
            args->overrides[args->noverrides++] = optarg;
            break;
        case 'h':
            fputs(up_help, stdout);
            return PR_EXIT_OK;
        default:
            fputs(up_help, stderr);
            return PR_EXIT_USAGE;
        }
    }
    return optind == argc ? -1 : usage(up_help, "no such argument: ", argv[optind]);
}

/* Until a signal asks to stop (true), or the supervisor has gone by itself (false). */
static bool stay(const char *state_dir, const sigset_t *stops)
{
    struct timespec pause = {.tv_nsec = WATCH_MS * NS_PER_MS};
    for (;;) {
        if (sigtimedwait(stops, NULL, &pause) > 0) {
            return true;
        }
        if (!pr_topology_running(state_dir)) {
            return false;
        }
    }
}

int pr_up_main(int argc, char **argv)
{
    up_args_t args = {0};
    int code = parse_up(&args, argc, argv);
    if (code >= 0) {
        return code;
    }
    /* Blocked before anything starts: ^C in the middle of starting stops what has started. */
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGHUP);
    sigprocmask(SIG_BLOCK, &stops, NULL);

    PR_CLEANUP_FREE char *state = pr_home_state_dir();
    pr_topology_options_t options = {.state_dir = state,
                                     .config = args.config,
                                     .overrides = args.overrides,
                                     .scale = args.scale};
    pr_error_t error = {0};
    code = report(pr_topology_up(&options, &error), &error);
    if (code != PR_EXIT_OK) {
        return code;
    }
    fprintf(stderr, "postrider: up; logs in %s/log; %s\n", state,
            args.detach ? "`postrider down` stops it" : "^C stops it");
    if (args.detach) {
        return code;
    }
    bool asked = stay(state, &stops);
    if (!asked) {
        fputs("postrider: the supervisor is gone; `postrider down` or a crash\n", stderr);
    }
    code = report(pr_topology_down(state, &error), &error);
    return asked ? code : PR_EXIT_FAILED;
}

/* For commands with at most one word: -1 go on, else the exit code. */
static int parse_plain(int argc, char **argv, const char *help, int words)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int letter = getopt_long(argc, argv, "", options, NULL);
    if (letter == 'h') {
        fputs(help, stdout);
        return PR_EXIT_OK;
    }
    if (letter != -1 || argc - optind != words) {
        fputs(help, stderr);
        return PR_EXIT_USAGE;
    }
    return -1;
}

int pr_down_main(int argc, char **argv)
{
    int code = parse_plain(argc, argv,
                           "usage: postrider down\n\n"
                           "Stops the topology: each actor finishes what is in flight.\n",
                           0);
    if (code >= 0) {
        return code;
    }
    PR_CLEANUP_FREE char *state = pr_home_state_dir();
    pr_error_t error = {0};
    bool ran = pr_topology_running(state);
    int lost = pr_topology_lost(state);
    if (lost > 0) {
        fprintf(stderr, "postrider: %s was removed while it was up; ending the %d processes left\n",
                state, lost);
    }
    code = report(pr_topology_down(state, &error), &error);
    if (code == PR_EXIT_OK) {
        fprintf(stderr, "postrider: %s\n", ran || lost > 0 ? "down" : "it was not up");
    }
    return code;
}

int pr_restart_main(int argc, char **argv)
{
    int code = parse_plain(argc, argv,
                           "usage: postrider restart ACTOR\n\n"
                           "Stops one actor gracefully and starts it again (a fresh build, say)\n"
                           "while the rest runs.\n",
                           1);
    if (code >= 0) {
        return code;
    }
    PR_CLEANUP_FREE char *state = pr_home_state_dir();
    pr_error_t error = {0};
    return report(pr_topology_restart(state, argv[optind], &error), &error);
}
