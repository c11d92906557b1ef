/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands of people share: the answers of doors (JSON) for people's eyes, and who proves
 * to be whom.
 */
#ifndef PR_CLI_DOOR_H
#define PR_CLI_DOOR_H

#include "cli/console.h"

#define PR_DOOR_PASSWORD_OPTION \
    { \
        "password-file", PR_ARG_TEXT, "FILE", \
            "the operator's password, - for stdin; else asked " \
            "for at the terminal", \
            0, 0 \
    }

/* Calls the door and prints what it answers: with --json as it is, else its "items" (or itself, if
 * it is an array) as a table with these fields, else the fields one a line. Takes arguments. */
PR_CHECK int pr_door_call(pr_console_t *console, const pr_statement_t *statement, json_t *arguments,
                          const char *const *fields, const char *nothing);
/* The same of an answer that is here. */
void pr_door_print(const pr_console_t *console, const json_t *answer, const char *const *fields,
                   const char *nothing);

/* {name: value} of the text options that were given; names end with NULL. */
json_t *pr_door_arguments(const pr_args_t *args, const char *const *names);

#define PR_DOOR_PASSWORD_MAX 260
/* A password from --password-file or the terminal. what: "password of bob". */
PR_CHECK int pr_door_password(const pr_args_t *args, const char *what,
                              char out[PR_DOOR_PASSWORD_MAX]);
/* Whoever runs this knows the operator's password. Prints what is wrong. */
PR_CHECK int pr_door_prove(pr_console_t *console, const pr_args_t *args);

/* What takes two people (docs/people.md): asks for it and prints the request, which waits for another
 * person. content is taken. reason: NULL = none. */
PR_CHECK int pr_door_ask_approval(pr_console_t *console, const char *action, const char *object,
                                  json_t *content, const char *reason);

#endif
