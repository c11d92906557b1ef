/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/args.h"

#include "base/assert.h"
#include "base/duration.h"
#include "cli/command.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pr_arg_t common[] = {
    {"json", PR_ARG_FLAG, NULL, "print JSON on stdout", 0, 0},
    {"config", PR_ARG_TEXT, "FILE", "configuration (else POSTRIDER_CONFIG)", 0, 0},
    {"set", PR_ARG_REPEATED, "KEY=VALUE", "overrides one key of the configuration", 0, 0},
    {"database-url", PR_ARG_TEXT, "URL", "else database.url of the configuration", 0, 0},
    {"operator", PR_ARG_TEXT, "NAME", "who does this, for the audit; else $USER", 0, 0},
    {"help", PR_ARG_FLAG, NULL, "show this", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t no_options[] = {{NULL, PR_ARG_NONE, NULL, NULL, 0, 0}};

static const pr_arg_t *options_of(const pr_arg_spec_t *spec)
{
    return spec->options != NULL ? spec->options : no_options;
}

static int length(const pr_arg_t *table)
{
    int count = 0;
    while (table[count].name != NULL) {
        count++;
    }
    return count;
}

/* The option's index in values[], own ones first; -1 = unknown. *option is its row. */
static int find(const pr_arg_spec_t *spec, const char *name, size_t len, const pr_arg_t **option)
{
    const pr_arg_t *tables[] = {options_of(spec), common};
    int base = 0;
    for (int t = 0; t < 2; t++) {
        for (int i = 0; tables[t][i].name != NULL; i++) {
            if (strlen(tables[t][i].name) == len && memcmp(tables[t][i].name, name, len) == 0) {
                *option = tables[t] + i;
                return base + i;
            }
        }
        base += length(tables[t]);
    }
    return -1;
}

/* ---- values ---- */

static pr_rc_t bad(const pr_arg_t *option, const char *text, const char *allowed, pr_error_t *error)
{
    return pr_error_set(error, PR_BAD, "usage", "", "--%s: \"%s\" is not %s", option->name, text,
                        allowed);
}

static pr_rc_t check_range(const pr_arg_t *option, double value, const char *text,
                           pr_error_t *error)
{
    if ((option->min == 0 && option->max == 0) || (value >= option->min && value <= option->max)) {
        return PR_OK;
    }
    char allowed[96];
    if (option->type == PR_ARG_DURATION) {
        char low[PR_DURATION_TEXT_MAX], high[PR_DURATION_TEXT_MAX];
        pr_duration_format((int64_t)option->min, low);
        pr_duration_format((int64_t)option->max, high);
        snprintf(allowed, sizeof allowed, "between %s and %s", low, high);
    } else {
        snprintf(allowed, sizeof allowed, "between %g and %g", option->min, option->max);
    }
    return bad(option, text, allowed, error);
}

static pr_rc_t take_number(const pr_arg_t *option, const char *text, pr_arg_value_t *value,
                           pr_error_t *error)
{
    char *end = NULL;
    errno = 0;
    if (option->type == PR_ARG_INT) {
        value->integer = strtoll(text, &end, 10);
        value->real = (double)value->integer;
    } else {
        value->real = strtod(text, &end);
    }
    if (errno != 0 || end == text || *end != '\0' || !isfinite(value->real)) {
        return bad(option, text, option->type == PR_ARG_INT ? "a whole number" : "a number", error);
    }
    return check_range(option, value->real, text, error);
}

static bool is_choice(const char *choices, const char *text)
{
    size_t len = strlen(text);
    for (const char *at = choices;;) {
        size_t here = strcspn(at, "|");
        if (here == len && memcmp(at, text, len) == 0) {
            return true;
        }
        if (at[here] == '\0') {
            return false;
        }
        at += here + 1;
    }
}

static pr_rc_t take_value(const pr_arg_t *option, const char *text, pr_arg_value_t *value,
                          pr_error_t *error)
{
    if (value->given && option->type != PR_ARG_REPEATED) {
        return pr_error_set(error, PR_BAD, "usage", "", "--%s is given twice", option->name);
    }
    value->given = true;
    value->text = text;
    switch (option->type) {
    case PR_ARG_NONE:
    case PR_ARG_FLAG:
    case PR_ARG_TEXT:
        return PR_OK;
    case PR_ARG_INT:
    case PR_ARG_REAL:
        return take_number(option, text, value, error);
    case PR_ARG_DURATION:
        if (!pr_duration_parse(text, strlen(text), &value->integer)) {
            return bad(option, text, "a duration such as 500ms, 30s, 5m, 24h or 7d", error);
        }
        return check_range(option, (double)value->integer, text, error);
    case PR_ARG_CHOICE:
        return is_choice(option->form, text) ? PR_OK : bad(option, text, option->form, error);
    case PR_ARG_REPEATED:
        if (value->count == PR_ARGS_ITEMS_MAX - 1) { /* the last stays NULL: an end mark */
            return pr_error_set(error, PR_BAD, "usage", "", "--%s is given more than %d times",
                                option->name, PR_ARGS_ITEMS_MAX - 1);
        }
        value->items[value->count++] = text;
        return PR_OK;
    }
    return PR_OK;
}

/* ---- the command line ---- */

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && !(word[1] >= '0' && word[1] <= '9');
}

/* One option at argv[*at]; moves *at to its last word. */
static pr_rc_t take_option(pr_args_t *self, int argc, char **argv, int *at, pr_error_t *error)
{
    const char *word = argv[*at];
    if (strcmp(word, "-h") == 0) {
        word = "--help";
    }
    const char *name = word + 2;
    size_t len = strcspn(name, "=");
    const pr_arg_t *option = NULL;
    int index = word[1] == '-' ? find(self->spec, name, len, &option) : -1;
    if (index < 0) {
        return pr_error_set(error, PR_BAD, "usage", "", "no option %s; --help lists all", word);
    }
    if (option->type == PR_ARG_FLAG) {
        if (name[len] == '=') {
            return pr_error_set(error, PR_BAD, "usage", "", "--%s takes no value", option->name);
        }
        self->values[index].given = true;
        return PR_OK;
    }
    if (name[len] == '=') {
        return take_value(option, name + len + 1, &self->values[index], error);
    }
    if (*at + 1 >= argc) {
        return pr_error_set(error, PR_BAD, "usage", "", "--%s needs a value: %s", option->name,
                            option->form);
    }
    (*at)++;
    return take_value(option, argv[*at], &self->values[index], error);
}

static pr_rc_t take_positional(pr_args_t *self, const char *word, pr_error_t *error)
{
    if (self->positional_count >= self->spec->positional_max) {
        return pr_error_set(error, PR_BAD, "usage", "", "unexpected argument \"%s\"", word);
    }
    self->positional[self->positional_count++] = word;
    return PR_OK;
}

pr_rc_t pr_args_parse(pr_args_t *self, const pr_arg_spec_t *spec, int argc, char **argv,
                      pr_error_t *error)
{
    pr_assert(length(options_of(spec)) + length(common) <= PR_ARGS_OPTIONS_MAX);
    pr_assert(spec->positional_max <= PR_ARGS_POSITIONAL_MAX);
    memset(self, 0, sizeof *self);
    self->spec = spec;
    bool ended = false;
    pr_rc_t rc = PR_OK;
    for (int i = 1; i < argc && rc == PR_OK && !self->help; i++) {
        if (!ended && strcmp(argv[i], "--") == 0) {
            ended = true;
        } else if (!ended && is_option(argv[i])) {
            rc = take_option(self, argc, argv, &i, error);
        } else {
            rc = take_positional(self, argv[i], error);
        }
        self->help = pr_args_given(self, "help");
    }
    if (rc == PR_OK && !self->help && self->positional_count < spec->positional_min) {
        rc = pr_error_set(error, PR_BAD, "usage", "", "something is missing");
    }
    return rc;
}

const pr_arg_value_t *pr_args_get(const pr_args_t *self, const char *name)
{
    const pr_arg_t *option = NULL;
    int index = find(self->spec, name, strlen(name), &option);
    pr_assert(index >= 0);
    return &self->values[index];
}

bool pr_args_given(const pr_args_t *self, const char *name)
{
    return pr_args_get(self, name)->given;
}

const char *pr_args_text(const pr_args_t *self, const char *name)
{
    return pr_args_get(self, name)->text;
}

/* ---- help ---- */

static void print_options(const pr_arg_t *table)
{
    for (const pr_arg_t *option = table; option->name != NULL; option++) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", option->name, option->form != NULL ? " " : "",
                 option->form != NULL ? option->form : "");
        if (strlen(left) > 24) {
            printf("  %s\n  %-24s  %s\n", left, "", option->help);
        } else {
            printf("  %-24s  %s\n", left, option->help);
        }
    }
}

void pr_args_print_help(const pr_arg_spec_t *spec)
{
    printf("usage: postrider %s\n\n%s\n\n", spec->usage, spec->about);
    print_options(options_of(spec));
    print_options(common);
}

/* ---- subcommands ---- */

int pr_args_single(const pr_subcommand_t *command, int argc, char **argv)
{
    pr_args_t args;
    pr_error_t error;
    if (pr_args_parse(&args, command->spec, argc, argv, &error) != PR_OK) {
        fprintf(stderr, "postrider: %s\nusage: postrider %s\n", error.text, command->spec->usage);
        return PR_EXIT_USAGE;
    }
    if (args.help) {
        pr_args_print_help(command->spec);
        return PR_EXIT_OK;
    }
    return command->fn(&args);
}

static void print_group(FILE *out, const char *group, const pr_subcommand_t *table)
{
    fprintf(out, "usage: postrider %s SUBCOMMAND [--help]\n\n", group);
    for (const pr_subcommand_t *one = table; one->name != NULL; one++) {
        fprintf(out, "  postrider %s\n", one->spec->usage);
    }
}

int pr_args_group(const char *group, const pr_subcommand_t *table, int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_group(argc < 2 ? stderr : stdout, group, table);
        return argc < 2 ? PR_EXIT_USAGE : PR_EXIT_OK;
    }
    for (const pr_subcommand_t *one = table; one->name != NULL; one++) {
        if (strcmp(one->name, argv[1]) == 0) {
            return pr_args_single(one, argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "postrider %s: no subcommand \"%s\"\n", group, argv[1]);
    print_group(stderr, group, table);
    return PR_EXIT_USAGE;
}
