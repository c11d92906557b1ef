/* SPDX-License-Identifier: Apache-2.0
 *
 * Channels, read again each second: a changed row acts within two. A channel whose row cannot be
 * used answers "later", so the gateway's repeats are there when it has been put right.
 */
#include "actor/master_key.h"
#include "actors/ingress/ingress_private.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "channel/channel_json.h"
#include "sql/ingress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANNELS_MAX 4096

const ingress_channel_t *ingress_channel_find(const ingress_t *self, const char *id)
{
    for (const ingress_channel_t *one = self->channels; one; one = one->next)
        if (strcmp(one->id, id) == 0)
            return one;
    return NULL;
}

/* ---- one row ---- */

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
    pr_opened_channel_t *opened = NULL;
    pr_error_t error = {0};
    const pr_channel_row_t channel_row = {.id = id,
                                          .version = (uint64_t)pr_rows_i64(rows, row, 1),
                                          .profile = pr_rows_text(rows, row, 3)};
    pr_rc_t rc = pr_channel_store_get_json(self->store, &channel_row, pr_rows_text(rows, row, 5),
                                           pr_rows_text(rows, row, 6), &opened, &error);
    if (rc != PR_OK)
        pr_log_limited(PR_LOG_ERROR, "channel.unusable", id, "channel=%s text=%s", id, error.text);
    ingress_channel_t *channel = find_or_add(self, id);
    pr_opened_channel_release(&channel->opened);
    channel->opened = opened;
    channel->version = pr_rows_i64(rows, row, 1);
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
