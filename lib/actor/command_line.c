/* SPDX-License-Identifier: Apache-2.0 */
#include "actor/actor_private.h"
#include "base/alloc.h"

#include <getopt.h>
#include <string.h>

enum { EXIT_OK = 0, EXIT_USAGE = 2, GO_ON = -1 };

static const struct option longopts[] = {
    {"config", required_argument, NULL, 'c'}, {"set", required_argument, NULL, 's'},
    {"id", required_argument, NULL, 'i'},     {"log-level", required_argument, NULL, 'l'},
    {"check-config", no_argument, NULL, 'C'}, {"dump-config", no_argument, NULL, 'D'},
    {"dump-docs", no_argument, NULL, 'M'},    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},      {NULL, 0, NULL, 0},
};

static void help(const pr_actor_spec_t *spec)
{
    printf("postrider-%s: %s\n\n"
           "  --config FILE      settings (else POSTRIDER_CONFIG)\n"
           "  --set KEY=VALUE    one setting; may stand several times\n"
           "  --id ID            instead of NAME-HOST-PID in the process' name on the bus\n"
           "  --log-level LEVEL  short for --set log.level=LEVEL\n"
           "  --check-config     check and exit: 0 good, 2 bad\n"
           "  --dump-config      print the settings in force, secrets masked, and exit\n"
           "  --dump-docs        print docs/configuration.md and exit\n"
           "  --help, --version\n\n"
           "Signals: TERM, INT finish what is in flight and stop; HUP reads the settings anew.\n"
           "Exit: 0 stopped as asked, 1 failed, 2 usage or settings, 3 cannot go on (schema, "
           "credentials).\n\nSettings: key [type] default\n",
           spec->name, spec->summary);
    pr_settings_help(stdout);
}

static int add_override(pr_arguments_t *self, const char *text)
{
    if (self->noverrides >= PR_OVERRIDES_MAX) {
        fprintf(stderr, "at most %d times --set\n", PR_OVERRIDES_MAX);
        return EXIT_USAGE;
    }
    self->overrides[self->noverrides++] = text;
    return GO_ON;
}

static int set_id(pr_arguments_t *self, const char *id)
{
    /* it becomes part of file names and log lines */
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t len = strlen(id);
    if (len == 0 || len > 48 || strspn(id, allowed) != len) {
        fprintf(stderr, "--id: 1 to 48 letters, digits, '.', '_', '-' are wanted\n");
        return EXIT_USAGE;
    }
    self->id = id;
    return GO_ON;
}

static int read_one(pr_arguments_t *self, const pr_actor_spec_t *spec, int option)
{
    switch (option) {
    case 'c':
        self->config = optarg;
        return GO_ON;
    case 's':
        return add_override(self, optarg);
    case 'i':
        return set_id(self, optarg);
    case 'l':
        pr_free(self->log_level);
        self->log_level = pr_asprintf("log.level=%s", optarg);
        return GO_ON;
    case 'C':
        self->check = true;
        return GO_ON;
    case 'D':
        self->dump = true;
        return GO_ON;
    case 'M':
        pr_settings_docs(stdout);
        return EXIT_OK;
    case 'h':
        help(spec);
        return EXIT_OK;
    case 'v':
        printf("postrider-%s %s\n", spec->name, PR_VERSION);
        return EXIT_OK;
    default:
        fprintf(stderr, "postrider-%s --help tells the options\n", spec->name);
        return EXIT_USAGE;
    }
}

int pr_arguments_read(pr_arguments_t *self, const pr_actor_spec_t *spec, int argc, char **argv)
{
    optind = 1;
    int result = GO_ON;
    int option;
    while (result == GO_ON && (option = getopt_long(argc, argv, "h", longopts, NULL)) != -1)
        result = read_one(self, spec, option);
    if (result == GO_ON && optind < argc) {
        fprintf(stderr, "postrider-%s: unexpected argument %s\n", spec->name, argv[optind]);
        result = EXIT_USAGE;
    }
    if (self->log_level != NULL)
        self->overrides[self->noverrides++] = self->log_level; /* there is room for one more */
    return result;
}
