/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands of `postrider`. One row a command; each command's function lives in its
 * own file and parses its own arguments (argv[0] is the command's name).
 */
#ifndef PR_CLI_COMMAND_H
#define PR_CLI_COMMAND_H

/* Exit codes of every command. */
enum {
    PR_EXIT_OK = 0,
    PR_EXIT_FAILED = 1,
    PR_EXIT_USAGE = 2,
};

typedef int pr_command_fn(int argc, char **argv);

typedef struct {
    const char *name;    /* "up" */
    const char *summary; /* one line of --help */
    pr_command_fn *fn;   /* returns one of the exit codes above */
} pr_command_t;

extern const pr_command_t pr_commands[]; /* ends with name NULL; cli/commands.c */

/* The row named so, or NULL. */
const pr_command_t *pr_command_find(const char *name);
/* The name nearest to what was typed (a hint on a typing error), or NULL when none is near. */
const char *pr_command_nearest(const char *typed);

#endif
