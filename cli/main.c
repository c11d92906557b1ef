/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider COMMAND [ARGUMENT...]: finds the command in the table (cli/commands.c) and calls it.
 */
#include "cli/command.h"
#include "cli/home.h"

#include <stdio.h>
#include <string.h>

static void print_help(FILE *out)
{
    fputs("usage: postrider COMMAND [ARGUMENT...]\n\n"
          "Tells merchants how their payments ended: at least once, signed, on record.\n\n",
          out);
    for (const pr_command_t *command = pr_commands; command->name != NULL; command++) {
        fprintf(out, "  %-10s %s\n", command->name, command->summary);
    }
    fputs("\nIn a checkout also: ./postrider test [slow] [PATTERN]\n"
          "Each takes --help, most take --json. Exit codes: 0 ok, 1 failed, 2 usage.\n",
          out);
}

static int unknown(const char *typed)
{
    const char *nearest = pr_command_nearest(typed);
    fprintf(stderr, "postrider: no command \"%s\"", typed);
    if (nearest != NULL) {
        fprintf(stderr, "; did you mean \"%s\"?", nearest);
    }
    fputs(nearest != NULL ? " " : "; ", stderr);
    fputs("`postrider --help` lists all\n", stderr);
    return PR_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return PR_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return PR_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("postrider " PR_VERSION);
        return PR_EXIT_OK;
    }
    const pr_command_t *command = pr_command_find(argv[1]);
    if (command == NULL) {
        return unknown(argv[1]);
    }
    pr_home_adopt(argc, argv);
    return command->fn(argc - 1, argv + 1);
}
