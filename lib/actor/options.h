/* SPDX-License-Identifier: Apache-2.0
 *
 * Options: one table for all settings (lib/actor/settings.c), one source for the YAML file, the
 * environment, flags, --help, --dump-config and docs/configuration.md (generated). Precedence:
 * default, file, environment, flag. YAML key "retry.notification" = environment
 * POSTRIDER_RETRY_NOTIFICATION = flag --set retry.notification=VALUE. Unknown keys, bad types and
 * bad units are errors with file and line.
 *
 * Types: durations are "250ms", "5s", "10m", "72h", "0" and read back in milliseconds; sizes
 * "64KiB" in bytes; money maps (priority.large_minor.CNY) are read by prefix. Lists of text: YAML
 * sequences, or comma-separated in environment and flags. time_scale (default 1, range
 * 0.0001..1): every schedule (retry, breaker, max_age, poll) is multiplied by it.
 */
#ifndef PR_ACTOR_OPTIONS_H
#define PR_ACTOR_OPTIONS_H

#include "base/buffer.h"
#include "base/error.h"
#include "core/address.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    PR_OPTION_NONE = 0,
    PR_OPTION_TEXT,
    PR_OPTION_INT,
    PR_OPTION_REAL,
    PR_OPTION_BOOL,
    PR_OPTION_DURATION, /* ms */
    PR_OPTION_SIZE,     /* bytes */
    PR_OPTION_LIST,     /* of text */
    PR_OPTION_MAP_INT,  /* "prefix.KEY: integer" */
} pr_option_type_t;

typedef struct {
    const char *key; /* "http.connect_timeout" */
    pr_option_type_t type;
    const char *fallback; /* default, as text; "" = empty */
    double min, max;      /* for numbers, in the base unit; both 0 = unbounded */
    bool reloadable;      /* SIGHUP takes it */
    bool secret;          /* masked in --dump-config */
    const char *help;     /* one sentence */
} pr_option_t;

typedef struct pr_config_t pr_config_t;

extern const pr_option_t pr_settings[]; /* ends with key NULL */

/* path NULL: POSTRIDER_CONFIG, else built-in defaults and environment only. overrides:
 * "key=value" strings, NULL-ended, may be NULL. PR_BAD: error->text is "FILE:LINE: KEY: what is
 * wrong; what is allowed". Cross checks (lease longer than timeout) included. */
PR_CHECK pr_rc_t pr_config_load(const char *path, const char *const *overrides, pr_config_t **out,
                                pr_error_t *error);
/* The same from text in memory, without the environment; name stands for FILE in messages. */
PR_CHECK pr_rc_t pr_config_load_text(const char *name, pr_bytes_t text,
                                     const char *const *overrides, pr_config_t **out,
                                     pr_error_t *error);
void pr_config_destroy(pr_config_t **self);

/* Getters assert that key is in the table with that type. const char * belong to the config. */
const char *pr_config_text(const pr_config_t *self, const char *key);
int64_t pr_config_int(const pr_config_t *self, const char *key);
double pr_config_real(const pr_config_t *self, const char *key);
bool pr_config_bool(const pr_config_t *self, const char *key);
int64_t pr_config_duration_ms(const pr_config_t *self,
                              const char *key); /* as written: not scaled */
/* A schedule's duration multiplied by time_scale, at least 1 when it was > 0. */
int64_t pr_config_scaled_ms(const pr_config_t *self, const char *key);
int64_t pr_config_size(const pr_config_t *self, const char *key);
int pr_config_list(const pr_config_t *self, const char *key, const char *const **out); /* count */
/* A list of addresses and networks, added to *out. PR_BAD: one is none. */
PR_CHECK pr_rc_t pr_config_networks(const pr_config_t *self, const char *key, pr_allow_list_t *out,
                                    pr_error_t *error);
/* Entries of a map: returns count; names[i], values[i] belong to the config. */
int pr_config_map(const pr_config_t *self, const char *key, const char *const **names,
                  const int64_t **values);

#endif
