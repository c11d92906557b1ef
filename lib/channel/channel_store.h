/* SPDX-License-Identifier: Apache-2.0
 *
 * Channels as their rows have them (profile by name, parameters sealed, version) made into
 * pr_channel_t, once for each version. For processes that talk with gateways: gateway-poller,
 * charger, ingress.
 *
 * A parameter is sealed with the master key under PR_CHANNEL_SEAL_NAME of its channel, so that it
 * opens for this channel only. Opened values are wiped with the channel.
 */
#ifndef PR_CHANNEL_CHANNEL_STORE_H
#define PR_CHANNEL_CHANNEL_STORE_H

#include "channel/profile_dir.h"
#include "sign/seal.h"

#define PR_CHANNEL_SEAL_PREFIX "channel/" /* and the channel's id: pr_seal's merchant_id */
#define PR_CHANNEL_ID_MAX 56

typedef struct {
    const char *name;
    pr_bytes_t sealed;
} pr_sealed_parameter_t;

typedef struct {
    const char *id;
    uint64_t version; /* grows with every change of what follows */
    const char *profile;
    const pr_sealed_parameter_t *parameters;
    size_t parameter_count;
    const pr_money_overrides_t *overrides; /* may be NULL */
} pr_channel_row_t;

/* An opened channel, counted: who took it gives it back. */
typedef struct {
    pr_channel_t *channel;
    const pr_profile_t *profile;
    uint64_t version;
    char token[4096]; /* the gateway's access token, where it wants one; "" = none */
    int64_t token_until_ms;
    bool fetching; /* a call is on its way for one */
    int users;
    char id[PR_CHANNEL_ID_MAX + 1];
} pr_opened_channel_t;

void pr_opened_channel_release(pr_opened_channel_t **self);

typedef struct pr_channel_store_t pr_channel_store_t;

/* key is copied. */
pr_channel_store_t *pr_channel_store_new(const char *profiles_dir, const pr_master_key_t *key,
                                         uint64_t seed);
/* Channels that are still in use live on until they are released; profiles do not: release first. */
void pr_channel_store_destroy(pr_channel_store_t **self);

/* *out is the caller's to release. PR_BAD: no such profile, a parameter that does not open, or one
 * that the profile does not take; error->text never holds a value. */
PR_CHECK pr_rc_t pr_channel_store_get(pr_channel_store_t *self, const pr_channel_row_t *row,
                                      pr_opened_channel_t **out, pr_error_t *error);

#endif
