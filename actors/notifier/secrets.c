/* SPDX-License-Identifier: Apache-2.0 */
#include "secrets.h"

#include "actor/master_key.h"
#include "base/alloc.h"
#include "base/fnv.h"
#include "base/map.h"
#include "sign/seal.h"

#include <string.h>

#define ENTRIES_MAX 4096u

typedef struct {
    char *merchant_id;
    uint8_t *sealed;
    size_t sealed_len;
    pr_secret_t secret;
} entry_t;

struct pr_secrets_t {
    pr_master_key_t master;
    pr_map_t *entries;
    entry_t
        *last; /* the entry given before this one survives a wipe: two secrets sign one request */
};

static void entry_destroy(entry_t *entry)
{
    if (entry == NULL)
        return;
    pr_secret_wipe(&entry->secret);
    pr_free(entry->merchant_id);
    pr_free(entry->sealed);
    pr_free(entry);
}

/* Everything goes but the entry given last. */
static void wipe(pr_secrets_t *self)
{
    size_t cursor = 0;
    uint64_t key = 0;
    for (entry_t *entry; (entry = pr_map_next(self->entries, &cursor, &key)) != NULL;) {
        if (entry == self->last)
            continue;
        pr_map_remove(self->entries, key);
        entry_destroy(entry);
    }
}

pr_rc_t pr_secrets_new(const char *master_key_file, uint64_t seed, pr_secrets_t **out,
                       pr_error_t *error)
{
    pr_master_key_t master;
    pr_rc_t rc = pr_master_key_load(master_key_file, &master, error);
    if (rc != PR_OK)
        return rc;
    pr_secrets_t *self = PR_NEW(pr_secrets_t);
    self->master = master;
    pr_master_key_wipe(&master);
    self->entries = pr_map_new(ENTRIES_MAX, seed);
    *out = self;
    return PR_OK;
}

void pr_secrets_destroy(pr_secrets_t **self)
{
    pr_secrets_t *secrets = *self;
    *self = NULL;
    if (secrets == NULL)
        return;
    secrets->last = NULL;
    wipe(secrets);
    pr_map_destroy(&secrets->entries);
    pr_master_key_wipe(&secrets->master);
    pr_free(secrets);
}

static uint64_t key_of(const char *merchant_id, pr_bytes_t sealed)
{
    return pr_fnv_bytes(pr_fnv_text(PR_FNV_START, merchant_id), sealed.data, sealed.len);
}

static bool entry_is(const entry_t *entry, const char *merchant_id, pr_bytes_t sealed)
{
    return entry->sealed_len == sealed.len && memcmp(entry->sealed, sealed.data, sealed.len) == 0 &&
           strcmp(entry->merchant_id, merchant_id) == 0;
}

static pr_rc_t open_sealed(pr_secrets_t *self, const char *merchant_id, pr_bytes_t sealed,
                           pr_secret_t *out, pr_error_t *error)
{
    int key_id = pr_sealed_key_id(sealed);
    if (key_id < 0)
        return pr_error_set(error, PR_BAD, "seal", "", "not a sealed secret");
    self->master.id = (uint8_t)key_id; /* we have one key; a wrong one fails to open */
    pr_buffer_t plain;
    pr_buffer_init(&plain, PR_SEAL_PLAIN_MAX_BYTES);
    pr_rc_t rc = pr_unseal(&self->master, merchant_id, sealed, &plain, error);
    if (rc == PR_OK)
        rc = pr_secret_parse(pr_buffer_bytes(&plain), out, error);
    if (plain.data != NULL)
        explicit_bzero(plain.data, plain.room);
    pr_buffer_free(&plain);
    return rc;
}

pr_rc_t pr_secrets_open(pr_secrets_t *self, const char *merchant_id, pr_bytes_t sealed,
                        const pr_secret_t **out, pr_error_t *error)
{
    if (sealed.len == 0)
        return pr_error_set(error, PR_BAD, "seal", "", "the endpoint has no secret");
    uint64_t key = key_of(merchant_id, sealed);
    entry_t *entry = pr_map_get(self->entries, key);
    if (entry == NULL || !entry_is(entry, merchant_id, sealed)) {
        pr_secret_t secret;
        pr_rc_t rc = open_sealed(self, merchant_id, sealed, &secret, error);
        if (rc != PR_OK)
            return rc;
        if (pr_map_count(self->entries) >= ENTRIES_MAX)
            wipe(self);
        entry = PR_NEW(entry_t);
        entry->merchant_id = pr_strdup(merchant_id);
        entry->sealed = pr_memdup(sealed.data, sealed.len);
        entry->sealed_len = sealed.len;
        entry->secret = secret;
        pr_secret_wipe(&secret);
        void *old = NULL;
        rc = pr_map_put(self->entries, key, entry, &old);
        if (rc != PR_OK || old == self->last)
            self->last = NULL;
        entry_destroy(old);
        if (rc != PR_OK) {
            entry_destroy(entry);
            return rc;
        }
    }
    self->last = entry;
    *out = &entry->secret;
    return PR_OK;
}
