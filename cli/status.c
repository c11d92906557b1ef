/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider status: what runs here (from s6) and how the queue stands (from the database).
 */
#include "base/alloc.h"
#include "cli/command.h"
#include "cli/home.h"
#include "cli/queue.h"
#include "cli/service.h"
#include "cli/supervise.h"
#include "cli/topology.h"

#include <jansson.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "usage: postrider status [--json]\n\n"
                           "Actors with pid, uptime, state and deaths; queue figures. Exit code 1\n"
                           "when something that should run does not.\n";

/* "ready", "starting" (up, has not said that it is ready), "down", "stopped" (asked to be). */
static const char *state_name(const pr_service_state_t *state, bool notifies)
{
    if (state->up) {
        return state->ready || !notifies ? "ready" : "starting";
    }
    return state->wanted ? "down" : "stopped";
}

static json_t *look_at(const char *state_dir, const char *name)
{
    pr_service_state_t state;
    bool notifies = pr_service_notifies(state_dir, name);
    bool known = pr_service_look(state_dir, name, &state) == PR_OK;
    return json_pack("{s:s, s:s, s:i, s:I, s:I}", "name", name, "state",
                     known ? state_name(&state, notifies) : "unsupervised", "pid", (int)state.pid,
                     "uptime_s", (json_int_t)(state.up ? state.seconds : 0), "deaths",
                     (json_int_t)state.deaths);
}

static json_t *look_at_all(const char *state_dir)
{
    pr_service_names_t names;
    json_t *actors = json_array();
    pr_topology_services(state_dir, &names);
    for (int i = 0; i < names.count; i++) {
        json_array_append_new(actors, look_at(state_dir, names.name[i]));
    }
    return actors;
}

static bool all_ready(json_t *actors)
{
    size_t i = 0;
    json_t *actor = NULL;
    json_array_foreach(actors, i, actor)
    {
        if (strcmp(json_string_value(json_object_get(actor, "state")), "ready") != 0) {
            return false;
        }
    }
    return json_array_size(actors) > 0;
}

static void print_actors(json_t *actors)
{
    size_t i = 0;
    json_t *actor = NULL;
    printf("%-18s %-13s %8s %10s %7s\n", "actor", "state", "pid", "uptime_s", "deaths");
    json_array_foreach(actors, i, actor)
    {
        printf("%-18s %-13s %8lld %10lld %7lld\n",
               json_string_value(json_object_get(actor, "name")),
               json_string_value(json_object_get(actor, "state")),
               (long long)json_integer_value(json_object_get(actor, "pid")),
               (long long)json_integer_value(json_object_get(actor, "uptime_s")),
               (long long)json_integer_value(json_object_get(actor, "deaths")));
    }
}

static int status(const char *state_dir, bool as_json)
{
    bool running = pr_topology_running(state_dir);
    json_t *actors = running ? look_at_all(state_dir) : json_array();
    json_t *queue = pr_queue_look();
    if (as_json) {
        json_t *all =
            json_pack("{s:b, s:O, s:O}", "running", running, "actors", actors, "queue", queue);
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(all);
    } else if (running) {
        print_actors(actors);
        pr_queue_print(queue);
    } else {
        puts("not running");
    }
    bool well = running && all_ready(actors);
    json_decref(queue);
    json_decref(actors);
    return well ? PR_EXIT_OK : PR_EXIT_FAILED;
}

int pr_status_main(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bool as_json = false;
    int letter = 0;
    while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (letter == 'h') {
            fputs(help, stdout);
            return PR_EXIT_OK;
        }
        if (letter != 'j') {
            fputs(help, stderr);
            return PR_EXIT_USAGE;
        }
        as_json = true;
    }
    if (optind != argc) {
        fputs(help, stderr);
        return PR_EXIT_USAGE;
    }
    PR_CLEANUP_FREE char *state = pr_home_state_dir();
    return status(state, as_json);
}
