/* SPDX-License-Identifier: Apache-2.0 */
#include "actor/actor_private.h"
#include "base/alloc.h"
#include "base/assert.h"

#include <string.h>

static int settings_count(void)
{
    int count = 0;
    while (pr_settings[count].key != NULL)
        count++;
    return count;
}

int pr_setting_find(const char *key)
{
    for (int i = 0; pr_settings[i].key != NULL; i++) {
        if (strcmp(pr_settings[i].key, key) == 0)
            return i;
    }
    return -1;
}

bool pr_setting_is_section(const char *key)
{
    size_t len = strlen(key);
    for (int i = 0; pr_settings[i].key != NULL; i++) {
        if (strncmp(pr_settings[i].key, key, len) == 0 && pr_settings[i].key[len] == '.')
            return true;
    }
    return false;
}

int pr_setting_find_map(const char *key, const char **name)
{
    for (int i = 0; pr_settings[i].key != NULL; i++) {
        size_t len = strlen(pr_settings[i].key);
        if (pr_settings[i].type == PR_OPTION_MAP_INT &&
            strncmp(pr_settings[i].key, key, len) == 0 && key[len] == '.' && key[len + 1] != '\0') {
            *name = key + len + 1;
            return i;
        }
    }
    return -1;
}

/* ---- life ---- */

void pr_value_clear(pr_value_t *value)
{
    for (int i = 0; i < value->count; i++)
        pr_free(value->items[i]);
    pr_free(value->items);
    pr_free(value->numbers);
    pr_free(value->text);
    pr_free(value->source);
    *value = (pr_value_t){0};
}

pr_config_t *pr_config_new(void)
{
    int count = settings_count();
    pr_config_t *self = PR_NEW(pr_config_t);
    self->values = pr_calloc((size_t)count, sizeof *self->values);
    for (int i = 0; i < count; i++) {
        pr_rc_t rc = pr_value_parse(i, pr_settings[i].fallback, &self->values[i], NULL);
        pr_assert(rc == PR_OK); /* the table's own defaults are valid */
    }
    return self;
}

void pr_config_destroy(pr_config_t **self)
{
    if (*self == NULL)
        return;
    for (int i = 0; pr_settings[i].key != NULL; i++)
        pr_value_clear(&(*self)->values[i]);
    pr_free((*self)->values);
    pr_free(*self);
    *self = NULL;
}

void pr_config_swap_reloadable(pr_config_t *self, pr_config_t *other)
{
    for (int i = 0; pr_settings[i].key != NULL; i++) {
        if (!pr_settings[i].reloadable)
            continue;
        pr_value_t mine = self->values[i];
        self->values[i] = other->values[i];
        other->values[i] = mine;
    }
}

int pr_config_next_fixed_difference(const pr_config_t *a, const pr_config_t *b, int from)
{
    for (int i = from; pr_settings[i].key != NULL; i++) {
        if (!pr_settings[i].reloadable && strcmp(a->values[i].text, b->values[i].text) != 0)
            return i;
    }
    return -1;
}

/* ---- getters ---- */

static const pr_value_t *get(const pr_config_t *self, const char *key, pr_option_type_t type)
{
    int index = pr_setting_find(key);
    pr_assert(index >= 0);
    pr_assert(pr_settings[index].type == type);
    return &self->values[index];
}

const char *pr_config_text(const pr_config_t *self, const char *key)
{
    return get(self, key, PR_OPTION_TEXT)->text;
}

int64_t pr_config_int(const pr_config_t *self, const char *key)
{
    return get(self, key, PR_OPTION_INT)->integer;
}

double pr_config_real(const pr_config_t *self, const char *key)
{
    return get(self, key, PR_OPTION_REAL)->real;
}

bool pr_config_bool(const pr_config_t *self, const char *key)
{
    return get(self, key, PR_OPTION_BOOL)->integer != 0;
}

int64_t pr_config_duration_ms(const pr_config_t *self, const char *key)
{
    return get(self, key, PR_OPTION_DURATION)->integer;
}

int64_t pr_config_scaled_ms(const pr_config_t *self, const char *key)
{
    int64_t ms = pr_config_duration_ms(self, key);
    int64_t scaled = (int64_t)((double)ms * pr_config_real(self, "time_scale"));
    return ms > 0 && scaled < 1 ? 1 : scaled;
}

int64_t pr_config_size(const pr_config_t *self, const char *key)
{
    return get(self, key, PR_OPTION_SIZE)->integer;
}

int pr_config_list(const pr_config_t *self, const char *key, const char *const **out)
{
    const pr_value_t *value = get(self, key, PR_OPTION_LIST);
    *out = (const char *const *)value->items;
    return value->count;
}

pr_rc_t pr_config_networks(const pr_config_t *self, const char *key, pr_allow_list_t *out,
                           pr_error_t *error)
{
    const char *const *items;
    int count = pr_config_list(self, key, &items);
    for (int i = 0; i < count; i++)
        if (pr_allow_add(out, items[i], strlen(items[i]), error) != PR_OK)
            return PR_BAD;
    return PR_OK;
}

int pr_config_map(const pr_config_t *self, const char *key, const char *const **names,
                  const int64_t **values)
{
    const pr_value_t *value = get(self, key, PR_OPTION_MAP_INT);
    *names = (const char *const *)value->items;
    *values = value->numbers;
    return value->count;
}
