/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/merchants.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fnv.h"
#include "base/map.h"

#include <jansson.h>

#include <string.h>

struct pr_merchants_t {
    pr_map_t *by_name; /* hash of the name -> merchant; a clash of hashes takes the next key */
    pr_merchant_t **all;
    size_t count, max;
    char *usual; /* the temper of merchants not named */
};

static void merchant_destroy(pr_merchant_t **self)
{
    if (*self) {
        for (size_t i = 0; i < PR_MERCHANT_SECRETS; i++) {
            pr_free((*self)->secrets[i]);
        }
        pr_free((*self)->name);
        pr_free((*self)->spec);
        pr_free(*self);
        *self = NULL;
    }
}

pr_merchants_t *pr_merchants_new(size_t max, uint64_t seed)
{
    pr_merchants_t *self = PR_NEW(pr_merchants_t);
    self->by_name = pr_map_new(max, seed);
    self->all = pr_calloc(max, sizeof(pr_merchant_t *)); /* NOLINT(bugprone-sizeof-expression) */
    self->max = max;
    self->usual = pr_strdup("prompt");
    return self;
}

void pr_merchants_destroy(pr_merchants_t **self)
{
    if (*self) {
        for (size_t i = 0; i < (*self)->count; i++) {
            merchant_destroy(&(*self)->all[i]);
        }
        pr_map_destroy(&(*self)->by_name);
        pr_free((*self)->all);
        pr_free((*self)->usual);
        pr_free(*self);
        *self = NULL;
    }
}

static bool is_name(const char *name, size_t len)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "._:/-";
    if (len == 0 || len > PR_MERCHANT_NAME_MAX) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (!name[i] || !strchr(allowed, name[i])) {
            return false;
        }
    }
    return true;
}

static bool is_named(const pr_merchant_t *merchant, const char *name, size_t len)
{
    return strlen(merchant->name) == len && memcmp(merchant->name, name, len) == 0;
}

pr_merchant_t *pr_merchants_find(const pr_merchants_t *self, const char *name, size_t len)
{
    for (uint64_t key = pr_fnv_bytes(PR_FNV_START, name, len);; key++) {
        pr_merchant_t *merchant = pr_map_get(self->by_name, key);
        if (!merchant || is_named(merchant, name, len)) {
            return merchant;
        }
    }
}

/* What a new target starts with: its parent's temper and secrets, else the usual temper. */
static void inherit(const pr_merchants_t *self, pr_merchant_t *merchant)
{
    const char *slash = strchr(merchant->name, '/');
    const pr_merchant_t *parent =
        slash ? pr_merchants_find(self, merchant->name, (size_t)(slash - merchant->name)) : NULL;
    const char *spec = parent ? parent->spec : self->usual;
    pr_rc_t rc = pr_merchant_set_temper(merchant, spec, strlen(spec), NULL);
    pr_assert(rc == PR_OK); /* it was parsed before */
    for (size_t i = 0; parent && i < PR_MERCHANT_SECRETS; i++) {
        merchant->secrets[i] = parent->secrets[i] ? pr_strdup(parent->secrets[i]) : NULL;
    }
}

pr_merchant_t *pr_merchants_get(pr_merchants_t *self, const char *name, size_t len)
{
    pr_merchant_t *merchant = pr_merchants_find(self, name, len);
    if (merchant || self->count == self->max || !is_name(name, len)) {
        return merchant;
    }
    merchant = PR_NEW(pr_merchant_t);
    merchant->name = pr_strndup(name, len);
    inherit(self, merchant);
    uint64_t key = pr_fnv_bytes(PR_FNV_START, name, len);
    while (pr_map_get(self->by_name, key)) {
        key++;
    }
    void *old = NULL;
    pr_rc_t rc = pr_map_put(self->by_name, key, merchant, &old);
    pr_assert(rc == PR_OK);
    self->all[self->count++] = merchant;
    merchant->number = (uint32_t)self->count;
    return merchant;
}

pr_merchant_t *pr_merchants_at(const pr_merchants_t *self, uint32_t number)
{
    return number >= 1 && number <= self->count ? self->all[number - 1] : NULL;
}

size_t pr_merchants_count(const pr_merchants_t *self)
{
    return self->count;
}

static void forget_temper(pr_merchant_t *self)
{
    self->since_ms = 0;
    self->closed_at_ms = 0;
    self->served = 0;
}

void pr_merchants_forget(pr_merchants_t *self)
{
    for (size_t i = 0; i < self->count; i++) {
        pr_merchant_t *merchant = self->all[i];
        merchant->counts = (pr_counts_t){0};
        merchant->max_in_flight = merchant->in_flight;
        forget_temper(merchant);
    }
}

pr_counts_t pr_merchants_total(const pr_merchants_t *self)
{
    pr_counts_t total = {0};
    for (size_t i = 0; i < self->count; i++) {
        const pr_counts_t *counts = &self->all[i]->counts;
        total.requests += counts->requests;
        total.accepted += counts->accepted;
        total.distinct += counts->distinct;
        total.repeated += counts->repeated;
        total.early += counts->early;
        total.changed += counts->changed;
        total.unnamed += counts->unnamed;
        total.abandoned += counts->abandoned;
        for (size_t k = 0; k < PR_COUNT(total.signature); k++) {
            total.signature[k] += counts->signature[k];
        }
    }
    return total;
}

pr_rc_t pr_merchant_set_temper(pr_merchant_t *self, const char *spec, size_t len, pr_error_t *error)
{
    pr_rc_t rc = pr_temper_parse(spec, len, &self->temper, error);
    if (rc == PR_OK) {
        pr_free(self->spec);
        self->spec = pr_strndup(spec, len);
        forget_temper(self);
    }
    return rc;
}

pr_rc_t pr_merchant_set_secrets(pr_merchant_t *self, const char *const *secrets, size_t count,
                                pr_error_t *error)
{
    if (count > PR_MERCHANT_SECRETS) {
        return pr_error_set(error, PR_BAD, "sandbox", "", "at most %d secrets for a merchant",
                            PR_MERCHANT_SECRETS);
    }
    for (size_t i = 0; i < PR_MERCHANT_SECRETS; i++) {
        pr_free(self->secrets[i]);
        self->secrets[i] = i < count ? pr_strdup(secrets[i]) : NULL;
    }
    return PR_OK;
}

static pr_rc_t set_usual(pr_merchants_t *self, const char *spec, size_t len, pr_error_t *error)
{
    pr_temper_t parsed;
    pr_rc_t rc = pr_temper_parse(spec, len, &parsed, error);
    if (rc == PR_OK) {
        pr_free(self->usual);
        self->usual = pr_strndup(spec, len);
    }
    return rc;
}

static pr_rc_t set_one(pr_merchants_t *self, const char *name, size_t name_len, const char *spec,
                       size_t spec_len, pr_error_t *error)
{
    if (name_len == 1 && *name == '*') {
        return set_usual(self, spec, spec_len, error);
    }
    pr_merchant_t *merchant = pr_merchants_get(self, name, name_len);
    if (!merchant) {
        return pr_error_set(error, PR_BAD, "sandbox", "", "'%.*s' is not a merchant's name",
                            (int)name_len, name);
    }
    return pr_merchant_set_temper(merchant, spec, spec_len, error);
}

pr_rc_t pr_merchants_load_spec(pr_merchants_t *self, const char *text, pr_error_t *error)
{
    while (*text) {
        size_t len = strcspn(text, ",");
        const char *equals = memchr(text, '=', len);
        if (!equals) {
            return pr_error_set(error, PR_BAD, "sandbox", "", "'%.*s': write it as NAME=TEMPER",
                                (int)len, text);
        }
        size_t name_len = (size_t)(equals - text);
        pr_rc_t rc = set_one(self, text, name_len, equals + 1, len - name_len - 1, error);
        if (rc != PR_OK) {
            return rc;
        }
        text += len + (text[len] == ',');
    }
    return PR_OK;
}

static pr_rc_t load_secrets(pr_merchants_t *self, const char *name, json_t *list, pr_error_t *error)
{
    const char *texts[PR_MERCHANT_SECRETS + 1] = {0};
    size_t count = 0;
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        if (count <= PR_MERCHANT_SECRETS && json_is_string(item)) {
            texts[count++] = json_string_value(item);
        }
    }
    pr_merchant_t *merchant = pr_merchants_get(self, name, strlen(name));
    return merchant ? pr_merchant_set_secrets(merchant, texts, count, error) : PR_BAD;
}

static pr_rc_t load_one(pr_merchants_t *self, const char *name, json_t *value, pr_error_t *error)
{
    json_t *temper = json_is_object(value) ? json_object_get(value, "temper") : value;
    if (!json_is_string(temper)) {
        return pr_error_set(error, PR_BAD, "sandbox", "", "merchant '%s' has no temper", name);
    }
    pr_rc_t rc = set_one(self, name, strlen(name), json_string_value(temper),
                         json_string_length(temper), error);
    json_t *secrets = json_is_object(value) ? json_object_get(value, "secrets") : NULL;
    return rc == PR_OK && secrets ? load_secrets(self, name, secrets, error) : rc;
}

pr_rc_t pr_merchants_load_file(pr_merchants_t *self, const char *path, pr_error_t *error)
{
    json_error_t why;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(root)) {
        json_decref(root);
        return pr_error_set(error, PR_BAD, "sandbox", "", "%s:%d: %s", path, root ? 1 : why.line,
                            root ? "not an object" : why.text);
    }
    pr_rc_t rc = PR_OK;
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value)
    {
        rc = load_one(self, name, value, error);
        if (rc != PR_OK) {
            break;
        }
    }
    json_decref(root);
    return rc;
}
