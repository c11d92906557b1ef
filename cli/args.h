/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of the operators' commands: one table per command says which options there are; the
 * parser, the checks and --help are made of it. `--name VALUE` and `--name=VALUE`; `--` ends the
 * options; "-7" is no option but a number. The options of every command (PR_ARGS_COMMON) are added
 * by the parser:
 *   --json --help --config FILE --set KEY=VALUE --database-url URL --operator NAME
 *
 * Nothing is printed here but --help. Strings are borrowed from argv.
 */
#ifndef PR_CLI_ARGS_H
#define PR_CLI_ARGS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_ARGS_OPTIONS_MAX 40
#define PR_ARGS_ITEMS_MAX 33 /* of an option that may be repeated: 32 and an end mark */
#define PR_ARGS_POSITIONAL_MAX 8

typedef enum {
    PR_ARG_NONE = 0,
    PR_ARG_FLAG,
    PR_ARG_TEXT,
    PR_ARG_INT,
    PR_ARG_REAL,
    PR_ARG_DURATION, /* "24h": milliseconds */
    PR_ARG_CHOICE,   /* one of `form`: "vip|normal|small" */
    PR_ARG_REPEATED, /* text, as often as wanted */
} pr_arg_type_t;

typedef struct {
    const char *name; /* without the dashes; NULL ends a table */
    pr_arg_type_t type;
    const char *form; /* what --help shows as its value; the choices of a CHOICE */
    const char *help; /* one sentence */
    double min, max;  /* of numbers and durations (ms); both 0 = unbounded */
} pr_arg_t;

/* Rows that many tables have. */
/* clang-format off */
#define PR_ARG_OF_MERCHANT {"merchant", PR_ARG_TEXT, "ID", "only this merchant's", 0, 0}
#define PR_ARG_OF_CHANNEL {"channel", PR_ARG_TEXT, "ID", "only this channel's", 0, 0}
#define PR_ARG_LIMIT(most) {"limit", PR_ARG_INT, "N", "at most so many (default 100)", 1, (most)}
#define PR_ARG_PAGE \
    {"limit", PR_ARG_INT, "N", "at most so many (default 50)", 1, 200}, \
    {"after", PR_ARG_TEXT, "CURSOR", "go on there", 0, 0}
#define PR_ARG_REASON {"reason", PR_ARG_TEXT, "TEXT", "why, for the audit", 0, 0}
#define PR_ARG_REASON_NEEDED {"reason", PR_ARG_TEXT, "TEXT", "why, for the audit (needed)", 0, 0}
/* clang-format on */

typedef struct {
    const char *usage;       /* "merchant add ID --url URL [OPTION...]" */
    const char *about;       /* one or two sentences */
    const pr_arg_t *options; /* may be NULL */
    int positional_min, positional_max;
} pr_arg_spec_t;

typedef struct {
    bool given;
    const char *text;
    int64_t integer; /* INT, DURATION (ms) */
    double real;     /* REAL */
    const char *items[PR_ARGS_ITEMS_MAX];
    int count; /* of items */
} pr_arg_value_t;

typedef struct {
    const pr_arg_spec_t *spec;
    pr_arg_value_t values[PR_ARGS_OPTIONS_MAX]; /* own options, then the common ones */
    const char *positional[PR_ARGS_POSITIONAL_MAX];
    int positional_count;
    bool help; /* --help was given: nothing else was checked */
} pr_args_t;

/* argv[0] is the command's own name. PR_BAD: *error says what is wrong and what is allowed. */
PR_CHECK pr_rc_t pr_args_parse(pr_args_t *self, const pr_arg_spec_t *spec, int argc, char **argv,
                               pr_error_t *error);
void pr_args_print_help(const pr_arg_spec_t *spec);

/* The value of an option of the table, or of a common one; asserts that there is such an option. */
const pr_arg_value_t *pr_args_get(const pr_args_t *self, const char *name);
bool pr_args_given(const pr_args_t *self, const char *name);
const char *pr_args_text(const pr_args_t *self, const char *name); /* NULL when not given */

/* ---- subcommands ---- */

typedef struct {
    const char *name;
    const pr_arg_spec_t *spec;
    int (*fn)(const pr_args_t *args); /* returns an exit code */
} pr_subcommand_t;

/* `postrider GROUP SUBCOMMAND ...`: parses and calls; --help of the group lists them. table ends
 * with name NULL. Returns an exit code (cli/command.h). */
int pr_args_group(const char *group, const pr_subcommand_t *table, int argc, char **argv);
/* The same for a command without subcommands. */
int pr_args_single(const pr_subcommand_t *command, int argc, char **argv);

#endif
