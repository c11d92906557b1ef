/* SPDX-License-Identifier: Apache-2.0 */
#include "channel/channel_store.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fnv.h"
#include "base/map.h"

#include <string.h>

#define CHANNELS_MAX 4096u
#define PARAMETERS_MAX 64u

struct pr_channel_store_t {
    pr_profile_dir_t *profiles;
    pr_master_key_t key;
    pr_map_t *channels;
};

void pr_opened_channel_release(pr_opened_channel_t **self)
{
    pr_opened_channel_t *opened = PR_STEAL(*self);
    if (opened == NULL || --opened->users > 0)
        return;
    pr_channel_destroy(&opened->channel);
    explicit_bzero(opened->token, sizeof(opened->token));
    pr_free(opened);
}

pr_channel_store_t *pr_channel_store_new(const char *profiles_dir, const pr_master_key_t *key,
                                         uint64_t seed)
{
    pr_channel_store_t *self = PR_NEW(pr_channel_store_t);
    self->profiles = pr_profile_dir_new(profiles_dir);
    self->key = *key;
    self->channels = pr_map_new(CHANNELS_MAX, seed);
    return self;
}

/* Nothing is remembered any more; what is in use lives on. */
static void forget_all(pr_channel_store_t *self)
{
    size_t cursor = 0;
    uint64_t key = 0;
    for (pr_opened_channel_t *it; (it = pr_map_next(self->channels, &cursor, &key)) != NULL;) {
        pr_map_remove(self->channels, key);
        pr_opened_channel_release(&it);
    }
}

void pr_channel_store_destroy(pr_channel_store_t **self)
{
    pr_channel_store_t *store = PR_STEAL(*self);
    if (store == NULL)
        return;
    forget_all(store);
    pr_map_destroy(&store->channels);
    pr_profile_dir_destroy(&store->profiles);
    pr_master_key_wipe(&store->key);
    pr_free(store);
}

static pr_rc_t open_parameter(pr_channel_store_t *self, const char *id,
                              const pr_sealed_parameter_t *sealed, pr_buffer_t *plain,
                              pr_error_t *error)
{
    PR_CLEANUP_FREE char *name = pr_asprintf(PR_CHANNEL_SEAL_PREFIX "%s", id);
    int key_id = pr_sealed_key_id(sealed->sealed);
    if (key_id < 0)
        return pr_error_set(error, PR_BAD, "seal", "", "parameter %.64s is not sealed",
                            sealed->name);
    self->key.id = (uint8_t)key_id; /* we have one key; a wrong one fails to open */
    return pr_unseal(&self->key, name, sealed->sealed, plain, error);
}

static void wipe_all(pr_buffer_t *plain, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (plain[i].data != NULL)
            explicit_bzero(plain[i].data, plain[i].room);
        pr_buffer_free(&plain[i]);
    }
}

static pr_rc_t make_channel(pr_channel_store_t *self, const pr_channel_row_t *row,
                            const pr_profile_t *profile, pr_channel_t **out, pr_error_t *error)
{
    pr_buffer_t plain[PARAMETERS_MAX];
    pr_parameter_t parameters[PARAMETERS_MAX];
    pr_rc_t rc = PR_OK;
    size_t count = 0;
    if (row->parameter_count > PARAMETERS_MAX)
        return pr_error_set(error, PR_BAD, "channel", "", "more than %u parameters",
                            PARAMETERS_MAX);
    while (rc == PR_OK && count < row->parameter_count) {
        pr_buffer_init(&plain[count], PR_SEAL_PLAIN_MAX_BYTES);
        rc = open_parameter(self, row->id, &row->parameters[count], &plain[count], error);
        parameters[count] =
            (pr_parameter_t){row->parameters[count].name, pr_buffer_bytes(&plain[count])};
        count++;
    }
    if (rc == PR_OK)
        rc = pr_channel_new(profile, parameters, count, row->overrides, out, error);
    wipe_all(plain, count);
    return rc;
}

/* NULL: *error says why. */
static pr_opened_channel_t *open_channel(pr_channel_store_t *self, const pr_channel_row_t *row,
                                         pr_error_t *error)
{
    const pr_profile_t *profile = NULL;
    pr_channel_t *channel = NULL;
    if (strlen(row->id) > PR_CHANNEL_ID_MAX || row->id[0] == '\0') {
        (void)pr_error_set(error, PR_BAD, "channel", "", "an id has 1 to %d bytes",
                           PR_CHANNEL_ID_MAX);
        return NULL;
    }
    if (pr_profile_dir_get(self->profiles, row->profile, &profile, error) != PR_OK ||
        make_channel(self, row, profile, &channel, error) != PR_OK)
        return NULL;
    pr_opened_channel_t *opened = PR_NEW(pr_opened_channel_t);
    opened->channel = channel;
    opened->profile = profile;
    opened->version = row->version;
    opened->users = 1;
    memcpy(opened->id, row->id, strlen(row->id) + 1);
    return opened;
}

pr_rc_t pr_channel_store_get(pr_channel_store_t *self, const pr_channel_row_t *row,
                             pr_opened_channel_t **out, pr_error_t *error)
{
    uint64_t key = pr_fnv_text(PR_FNV_START, row->id);
    pr_opened_channel_t *it = pr_map_get(self->channels, key);
    if (it == NULL || it->version != row->version || strcmp(it->id, row->id) != 0) {
        if (it == NULL && pr_map_count(self->channels) >= CHANNELS_MAX)
            forget_all(self);
        it = open_channel(self, row, error);
        if (it == NULL)
            return PR_BAD;
        void *old = NULL;
        pr_assert(pr_map_put(self->channels, key, it, &old) == PR_OK);
        pr_opened_channel_t *former = old;
        pr_opened_channel_release(&former);
    }
    it->users++;
    *out = it;
    return PR_OK;
}
