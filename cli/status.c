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
#include <unistd.h>

static const char help[] = "usage: postrider status [--json]\n\n"
                           "Actors with pid, uptime, state and deaths; queue figures. Exit code 1\n"
                           "when something that should run does not, or the database cannot be\n"
                           "asked: then the actors are listed all the same.\n";

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

static void print_json(bool running, json_t *actors, json_t *queue)
{
    json_t *error = json_object_get(queue, "error");
    json_t *all = json_pack("{s:b, s:b, s:O, s:O}", "running", running, "database", error == NULL,
                            "actors", actors, "queue", queue);
    if (error != NULL) {
        json_object_set(all, "error", error);
    }
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

/* The actors wait for it and go on by themselves: nothing is to be restarted but it. */
static void complain_of_database(const char *state_dir, const char *error)
{
    PR_CLEANUP_FREE char *cluster = pr_asprintf("%s/postgres", state_dir);
    fprintf(stderr, "postrider: the database cannot be asked: %s\n", error);
    if (access(cluster, F_OK) == 0) {
        fprintf(stderr,
                "If it is the private one: its log is %s/postgres.log; `postrider down` and\n"
                "`postrider up` start it again.\n",
                cluster);
    }
}

static void complain_of_lost(const char *state_dir)
{
    int lost = pr_topology_lost(state_dir);
    if (lost > 0) {
        fflush(stdout);
        fprintf(stderr,
                "postrider: but %s was removed while it was up: %d processes still run;\n"
                "`postrider down` ends them.\n",
                state_dir, lost);
    }
}

static int status(const char *state_dir, bool as_json)
{
    bool running = pr_topology_running(state_dir);
    json_t *actors = running ? look_at_all(state_dir) : json_array();
    json_t *queue = pr_queue_look();
    const char *error = json_string_value(json_object_get(queue, "error"));
    if (as_json) {
        print_json(running, actors, queue);
    } else if (running) {
        print_actors(actors);
        pr_queue_print(queue);
    } else {
        puts("not running");
        complain_of_lost(state_dir);
    }
    if (running && error != NULL) {
        fflush(stdout);
        complain_of_database(state_dir, error);
    }
    bool well = running && all_ready(actors) && error == NULL;
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
    pr_error_t error;
    if (pr_home_check_owner(state, &error) != PR_OK) {
        fprintf(stderr, "postrider: %s\n", error.text);
        return PR_EXIT_FAILED;
    }
    return status(state, as_json);
}
