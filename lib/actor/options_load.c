/* SPDX-License-Identifier: Apache-2.0
 *
 * Where values come from, the later the stronger: default, file, environment, flag.
 */
#include "actor/actor_private.h"
#include "base/alloc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* ---- file ---- */

static pr_rc_t read_all(const char *path, pr_buffer_t *out, pr_error_t *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd;
    pr_rc_t rc = PR_OK;
    while (got >= 0 && rc == PR_OK) {
        char chunk[4096];
        got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            got = 0;
        else if (got <= 0)
            break;
        rc = pr_buffer_append(out, chunk, (size_t)got);
    }
    int saved = errno;
    if (fd >= 0)
        close(fd);
    if (rc != PR_OK)
        return pr_error_set(error, PR_BAD, "config", "", "%s: larger than 256 KiB", path);
    if (fd >= 0 && got == 0)
        return PR_OK;
    const char *name = strerrorname_np(saved);
    return pr_error_set(error, PR_BAD, "config", name != NULL ? name : "", "%s: %s", path,
                        strerrordesc_np(saved));
}

static pr_rc_t read_file(pr_config_t *self, const char *path, pr_error_t *error)
{
    pr_buffer_t text;
    pr_buffer_init(&text, PR_CONFIG_FILE_MAX);
    pr_rc_t rc = read_all(path, &text, error);
    if (rc == PR_OK)
        rc = pr_config_read_yaml(self, path, pr_buffer_bytes(&text), error);
    pr_buffer_free(&text);
    return rc;
}

/* ---- environment and flags ---- */

static pr_rc_t set(pr_config_t *self, const char *source, int index, const char *name,
                   const char *text, pr_error_t *error)
{
    pr_value_t *value = &self->values[index];
    pr_error_t inner;
    pr_rc_t rc = name != NULL ? pr_value_put(index, name, text, value, &inner)
                              : pr_value_parse(index, text, value, &inner);
    if (rc != PR_OK)
        return pr_error_set(error, rc, "config", "", "%s: %s", source, inner.text);
    pr_free(value->source);
    value->source = pr_strdup(source);
    return PR_OK;
}

/* "POSTRIDER_BREAKER_RECOVERY_RATE" for "breaker.recovery_rate". */
static bool is_named_by(const char *key, const char *variable, size_t len)
{
    if (strlen(key) != len)
        return false;
    for (size_t i = 0; i < len; i++) {
        char expected = key[i] == '.' ? '_' : (char)toupper((unsigned char)key[i]);
        if (variable[i] != expected)
            return false;
    }
    return true;
}

static const char prefix[] = "POSTRIDER_";

/* Variables that name no setting are not ours to judge (POSTRIDER_CONFIG, a script's own). An
 * empty one is as good as not set: compose files pass such on. */
static pr_rc_t read_environment(pr_config_t *self, pr_error_t *error)
{
    for (char **at = environ; at != NULL && *at != NULL; at++) {
        const char *equals = strchr(*at, '=');
        if (equals == NULL || equals[1] == '\0' || strncmp(*at, prefix, strlen(prefix)) != 0)
            continue;
        const char *variable = *at + strlen(prefix);
        size_t len = (size_t)(equals - variable);
        for (int i = 0; pr_settings[i].key != NULL; i++) {
            if (!is_named_by(pr_settings[i].key, variable, len))
                continue;
            PR_CLEANUP_FREE char *source =
                pr_asprintf("environment %s%.*s", prefix, (int)len, variable);
            pr_rc_t rc = set(self, source, i, NULL, equals + 1, error);
            if (rc != PR_OK)
                return rc;
        }
    }
    return PR_OK;
}

static pr_rc_t read_override(pr_config_t *self, const char *text, pr_error_t *error)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL)
        return pr_error_set(error, PR_BAD, "config", "", "--set %s: KEY=VALUE is wanted", text);
    PR_CLEANUP_FREE char *key = pr_strndup(text, (size_t)(equals - text));
    const char *name = NULL;
    int index = pr_setting_find(key);
    if (index < 0)
        index = pr_setting_find_map(key, &name);
    if (index < 0)
        return pr_error_set(error, PR_BAD, "config", "",
                            "--set: unknown key %.64s; --help lists all", key);
    return set(self, "--set", index, name, equals + 1, error);
}

static pr_rc_t read_overrides(pr_config_t *self, const char *const *overrides, pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    for (; rc == PR_OK && overrides != NULL && *overrides != NULL; overrides++)
        rc = read_override(self, *overrides, error);
    return rc;
}

/* ---- doors ---- */

pr_rc_t pr_config_load(const char *path, const char *const *overrides, pr_config_t **out,
                       pr_error_t *error)
{
    *out = NULL;
    PR_CLEANUP(pr_config) pr_config_t *self = pr_config_new();
    if (path == NULL)
        path = getenv("POSTRIDER_CONFIG");
    pr_rc_t rc = PR_OK;
    if (path != NULL && path[0] != '\0')
        rc = read_file(self, path, error);
    if (rc == PR_OK)
        rc = read_environment(self, error);
    if (rc == PR_OK)
        rc = read_overrides(self, overrides, error);
    if (rc == PR_OK)
        rc = pr_config_check(self, error);
    if (rc == PR_OK)
        *out = PR_STEAL(self);
    return rc;
}

pr_rc_t pr_config_load_text(const char *name, pr_bytes_t text, const char *const *overrides,
                            pr_config_t **out, pr_error_t *error)
{
    *out = NULL;
    PR_CLEANUP(pr_config) pr_config_t *self = pr_config_new();
    pr_rc_t rc = pr_config_read_yaml(self, name, text, error);
    if (rc == PR_OK)
        rc = read_overrides(self, overrides, error);
    if (rc == PR_OK)
        rc = pr_config_check(self, error);
    if (rc == PR_OK)
        *out = PR_STEAL(self);
    return rc;
}
