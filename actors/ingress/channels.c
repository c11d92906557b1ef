/* SPDX-License-Identifier: Apache-2.0
 *
 * Channels, read again each second: a changed row acts within two. A channel whose row cannot be
 * used answers "later", so the gateway's repeats are there when it has been put right.
 */
#include "actor/master_key.h"
#include "actors/ingress/ingress_private.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/json_scan.h"
#include "base/log.h"
#include "sql/ingress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMETERS_MAX 128
#define SEALED_MAX_BYTES ((size_t)1024 * 1024) /* of all parameters of a channel */
#define CHANNELS_MAX 4096

const ingress_channel_t *ingress_channel_find(const ingress_t *self, const char *id)
{
    for (const ingress_channel_t *one = self->channels; one; one = one->next)
        if (strcmp(one->id, id) == 0)
            return one;
    return NULL;
}

/* ---- one row ---- */

typedef struct {
    char names[PARAMETERS_MAX][64];
    pr_sealed_parameter_t items[PARAMETERS_MAX];
    size_t count;
    uint8_t *bytes; /* that items borrow from */
    size_t used;
} parameters_t;

static bool member(pr_json_t object, const char *name, pr_json_type_t type, pr_json_t *out)
{
    return pr_json_find(object, name, strlen(name), out) == PR_OK && out->type == type;
}

/* A string without escapes, as names and hex digits are: its inside. */
static pr_bytes_t inside(pr_json_t string)
{
    return pr_bytes(string.text.data + 1, string.text.len - 2);
}

static bool take_parameter(pr_json_t object, parameters_t *out)
{
    pr_json_t name, sealed;
    if (out->count == PARAMETERS_MAX || !member(object, "name", PR_JSON_STRING, &name) ||
        !member(object, "sealed", PR_JSON_STRING, &sealed))
        return false;
    pr_bytes_t text = inside(name), hex = inside(sealed);
    if (text.len >= sizeof out->names[0] || out->used + hex.len / 2 > SEALED_MAX_BYTES ||
        !pr_unhex((const char *)hex.data, hex.len, out->bytes + out->used))
        return false;
    memcpy(out->names[out->count], text.data, text.len);
    out->names[out->count][text.len] = '\0';
    out->items[out->count] = (pr_sealed_parameter_t){out->names[out->count],
                                                     pr_bytes(out->bytes + out->used, hex.len / 2)};
    out->used += hex.len / 2;
    out->count++;
    return true;
}

static bool read_parameters(const char *text, parameters_t *out)
{
    pr_json_t root, element;
    size_t cursor = 0;
    if (pr_json_check(pr_bytes_text(text), &root) != PR_OK || root.type != PR_JSON_ARRAY)
        return false;
    while (pr_json_next_element(root, &cursor, &element))
        if (!take_parameter(element, out))
            return false;
    return true;
}

static bool read_exponents(const char *text, pr_money_overrides_t *out)
{
    pr_json_t root, key, value;
    size_t cursor = 0;
    out->count = 0;
    if (pr_json_check(pr_bytes_text(text), &root) != PR_OK || root.type != PR_JSON_OBJECT)
        return false;
    while (pr_json_next_member(root, &cursor, &key, &value)) {
        pr_bytes_t currency = inside(key);
        if (out->count == PR_MONEY_OVERRIDES_MAX || currency.len != 3 ||
            value.type != PR_JSON_NUMBER || value.text.len != 1 || value.text.data[0] > '4')
            return false;
        memcpy(out->entries[out->count].currency, currency.data, 3);
        out->entries[out->count].currency[3] = '\0';
        out->entries[out->count].exponent = (uint8_t)(value.text.data[0] - '0');
        out->count++;
    }
    return true;
}

static ingress_channel_t *find_or_add(ingress_t *self, const char *id)
{
    ingress_channel_t *one = (ingress_channel_t *)(uintptr_t)ingress_channel_find(self, id);
    if (one)
        return one;
    one = PR_NEW(ingress_channel_t);
    snprintf(one->id, sizeof one->id, "%s", id);
    one->next = self->channels;
    self->channels = one;
    return one;
}

/* channel, version, state, profile, base_url, parameters, exponents, livemode */
static void take_row(ingress_t *self, const pr_rows_t *rows, int row)
{
    const char *id = pr_rows_text(rows, row, 0);
    parameters_t *parameters = PR_NEW(parameters_t);
    pr_money_overrides_t overrides;
    pr_opened_channel_t *opened = NULL;
    pr_error_t error = {0};
    parameters->bytes = pr_calloc(SEALED_MAX_BYTES, 1);
    pr_rc_t rc = PR_BAD;
    if (strlen(id) > PR_CHANNEL_ID_MAX ||
        !read_parameters(pr_rows_text(rows, row, 5), parameters) ||
        !read_exponents(pr_rows_text(rows, row, 6), &overrides))
        rc = pr_error_set(&error, PR_BAD, "ingress", "", "the channel's row is malformed");
    else
        rc =
            pr_channel_store_get(self->store,
                                 &(pr_channel_row_t){.id = id,
                                                     .version = (uint64_t)pr_rows_i64(rows, row, 1),
                                                     .profile = pr_rows_text(rows, row, 3),
                                                     .parameters = parameters->items,
                                                     .parameter_count = parameters->count,
                                                     .overrides = &overrides},
                                 &opened, &error);
    if (rc != PR_OK)
        pr_log_limited(PR_LOG_ERROR, "channel.unusable", id, "channel=%s text=%s", id, error.text);
    ingress_channel_t *channel = find_or_add(self, id);
    pr_opened_channel_release(&channel->opened);
    channel->opened = opened;
    channel->version = pr_rows_i64(rows, row, 1);
    pr_free(parameters->bytes);
    pr_free(parameters);
}

/* ---- asking ---- */

static void on_rows(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    ingress_t *self = arg;
    self->channels_asked = false;
    if (rc != PR_OK) {
        if (!self->stopping)
            pr_log_error(PR_LOG_WARN, "channels.not_read", error);
        return;
    }
    for (int row = 0; row < pr_rows_count(rows); row++)
        take_row(self, rows, row);
    if (!self->channels_loaded) {
        self->channels_loaded = true;
        pr_actor_ready(self->actor);
    }
}

void ingress_channels_ask(void *arg, int64_t now_ms)
{
    (void)now_ms;
    ingress_t *self = arg;
    const char *known[CHANNELS_MAX];
    int64_t versions[CHANNELS_MAX];
    int count = 0;
    if (self->channels_asked)
        return;
    for (const ingress_channel_t *one = self->channels; one && count < CHANNELS_MAX;
         one = one->next) {
        known[count] = one->id;
        versions[count++] = one->version;
    }
    pr_params_t *params = pr_pool_params(self->pool);
    pr_params_add_text_array(params, known, count);
    pr_params_add_i64_array(params, versions, NULL, count);
    self->channels_asked =
        pr_pool_query(self->pool, PR_SQL_INGRESS_LOAD_CHANNELS, on_rows, self) == PR_OK;
}

/* ---- life ---- */

pr_rc_t ingress_channels_open(ingress_t *self, const pr_config_t *config, pr_error_t *error)
{
    pr_rc_t rc =
        pr_master_key_load(pr_config_text(config, "master_key_file"), &self->master, error);
    if (rc != PR_OK)
        return rc;
    self->store = pr_channel_store_new(pr_config_text(config, "profiles_dir"), &self->master,
                                       pr_random_u64());
    return PR_OK;
}

void ingress_channels_close(ingress_t *self)
{
    while (self->channels) {
        ingress_channel_t *one = self->channels;
        self->channels = one->next;
        pr_opened_channel_release(&one->opened);
        pr_free(one);
    }
    pr_channel_store_destroy(&self->store);
}
