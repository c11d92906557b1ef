/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of lib/actor share.
 *
 *   actor.c     pr_actor_main: the life of a process      command_line.c   its arguments
 *   loop.c      the loop                             facts.c          PUSH sockets to the brokers
 *   watchdog.c  aborts a loop that hangs             fact_inbox.c     PULL sockets from them
 *   settings.c       the table            options.c        values and getters
 *   options_parse.c  text -> value        options_yaml.c   the file -> values
 *   options_load.c   file, environment, flags, in this order
 *   options_check.c  forms of texts, and what spans keys
 *   options_print.c  --dump-config, --help, docs/configuration.md
 */
#ifndef PR_ACTOR_PRIVATE_H
#define PR_ACTOR_PRIVATE_H

#include "actor/actor.h"
#include "base/buffer.h"

#include <stdio.h>

/* ---- loop ---- */
pr_loop_t *pr_loop_new(void);
void pr_loop_destroy(pr_loop_t **self);
/* One turn; sleeps at most max_sleep_ms. PR_FATAL: a database connection cannot go on. */
PR_CHECK pr_rc_t pr_loop_turn(pr_loop_t *self, int64_t max_sleep_ms, pr_error_t *error);

/* ---- watchdog: one per process ---- */
void pr_watchdog_start(int64_t limit_ms);
void pr_watchdog_kick(void);
void pr_watchdog_stop(void);

/* ---- facts ---- */
#define PR_BROKERS_MAX 16 /* more are not connected to */
typedef struct pr_facts_t pr_facts_t;
pr_facts_t *pr_facts_new(pr_bus_t *bus, const pr_config_t *config);
void pr_facts_destroy(pr_facts_t **self);
void pr_facts_send(pr_facts_t *self, pr_bytes_t frame);

/* ---- options ---- */
typedef struct {
    char *text; /* as written; the default's copy when nothing was */
    union {
        int64_t integer; /* int, duration (ms), size (bytes), bool (0, 1) */
        double real;
    };
    char **items;     /* list: texts; map: names */
    int64_t *numbers; /* map: values */
    int count;
    bool in_file; /* this file has given it: a second time is an error */
    char *source; /* "file:line", "environment POSTRIDER_X", "--set"; NULL = default */
} pr_value_t;

struct pr_config_t {
    pr_value_t *values; /* as pr_settings */
};

#define PR_CONFIG_FILE_MAX (256u << 10)
#define PR_CONFIG_DEPTH_MAX 4
#define PR_CONFIG_ITEMS_MAX 256

int pr_setting_find(const char *key);        /* index in pr_settings, -1 */
bool pr_setting_is_section(const char *key); /* some key starts with "KEY." */
/* "priority.large_minor.CNY": the map's index and *name = "CNY"; -1 when no map has this prefix. */
int pr_setting_find_map(const char *key, const char **name);

/* min or max of a setting as its own type writes it: "250ms", "64KiB", "20". */
void pr_setting_bound_text(int index, double bound, char *out, size_t size);

void pr_value_clear(pr_value_t *value);
/* All fail with PR_BAD and *error "KEY: what is wrong; what is allowed" (no source). */
pr_rc_t pr_value_parse(int index, const char *text, pr_value_t *value, pr_error_t *error);
pr_rc_t pr_value_append(int index, const char *item, pr_value_t *value, pr_error_t *error);
pr_rc_t pr_value_put(int index, const char *name, const char *text, pr_value_t *value,
                     pr_error_t *error);

pr_config_t *pr_config_new(void); /* all defaults */
pr_rc_t pr_config_read_yaml(pr_config_t *self, const char *file, pr_bytes_t text,
                            pr_error_t *error);
pr_rc_t pr_config_check(const pr_config_t *self, pr_error_t *error);
/* Takes every reloadable value of `other` in exchange for ours; calling it twice undoes it. */
void pr_config_swap_reloadable(pr_config_t *self, pr_config_t *other);
/* The first non-reloadable key at or after index `from` whose text differs; -1 = none. */
int pr_config_next_fixed_difference(const pr_config_t *a, const pr_config_t *b, int from);

void pr_config_dump(const pr_config_t *self, FILE *out);
void pr_settings_help(FILE *out);
void pr_settings_docs(FILE *out);

/* ---- command line ---- */
#define PR_OVERRIDES_MAX 64
typedef struct {
    const char *config;
    const char *id;
    const char *overrides[PR_OVERRIDES_MAX + 2];
    int noverrides;
    char *log_level; /* "log.level=..." made of --log-level */
    bool check, dump;
} pr_arguments_t;
/* -1: go on; else the exit code (help, version, docs: 0; usage: 2). */
int pr_arguments_read(pr_arguments_t *self, const pr_actor_spec_t *spec, int argc, char **argv);

#endif
