/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/console/makers.h"

#include "base/alloc.h"
#include "password/password.h"
#include "sign/digest.h"
#include "sign/secret.h"

#include <stdio.h>
#include <string.h>

#define CHANNEL_SEAL_PREFIX \
    "channel/" /* lib/channel: what a channel's parameters are sealed under */

static pr_rc_t flaw(pr_made_t *made, const char *text)
{
    snprintf(made->flaw_text, sizeof made->flaw_text, "%s", text);
    made->flaw = made->flaw_text;
    return PR_BAD;
}

static const char *text_of(json_t *arguments, const char *name)
{
    const char *text = json_string_value(json_object_get(arguments, name));
    return text ? text : "";
}

/* ---- passwords ---- */

static pr_rc_t make_password(json_t *arguments, pr_made_t *made)
{
    char hash[PR_PASSWORD_HASH_BYTES];
    const char *password = text_of(arguments, "password");
    const char *why = pr_password_flaw(password, text_of(arguments, "name"));
    if (why) {
        snprintf(made->flaw_text, sizeof made->flaw_text, "The password is refused: %s.", why);
        made->flaw = made->flaw_text;
        return PR_BAD;
    }
    pr_rc_t rc = pr_password_hash(password, hash);
    if (rc != PR_OK)
        return rc;
    json_object_del(arguments, "password");
    json_object_set_new(arguments, "password_hash", json_string(hash));
    return PR_OK;
}

/* ---- tokens and keys ---- */

static pr_rc_t make_token(const char *prefix, json_t *arguments, const uint8_t random[32],
                          pr_made_t *made)
{
    uint8_t hash[PR_SHA256_BYTES];
    char digits[65], hash_text[65];
    pr_hex(pr_bytes(random, 32), digits);
    snprintf(made->shown, sizeof made->shown, "%s%s", prefix, digits);
    made->shown_as = "token";
    explicit_bzero(digits, sizeof digits);
    if (!pr_sha256(pr_bytes_text(made->shown), hash))
        return PR_AGAIN;
    pr_hex(pr_bytes(hash, sizeof hash), hash_text);
    json_object_set_new(arguments, "hash", json_string(hash_text));
    return PR_OK;
}

static pr_rc_t make_key(json_t *arguments, const uint8_t random[32], pr_made_t *made)
{
    bool live = json_is_true(json_object_get(arguments, "livemode"));
    return make_token(live ? "pr_live_" : "pr_test_", arguments, random, made);
}

/* ---- sealing ---- */

static pr_rc_t seal_hex(const pr_master_key_t *master, const char *name, pr_bytes_t plain,
                        const uint8_t *nonce, char *out, size_t size)
{
    pr_buffer_t sealed;
    pr_error_t error;
    pr_buffer_init(&sealed, PR_SEAL_PLAIN_MAX_BYTES + PR_SEAL_OVERHEAD_BYTES);
    pr_rc_t rc = pr_seal(master, name, plain, nonce, &sealed, &error);
    if (rc == PR_OK && sealed.len * 2 + 1 <= size)
        pr_hex(pr_buffer_bytes(&sealed), out);
    else
        rc = PR_BAD;
    pr_buffer_free(&sealed);
    return rc;
}

/* What the caller gave, or a fresh one of the endpoint's scheme. */
static pr_rc_t take_secret(json_t *arguments, const uint8_t random[32], pr_secret_t *secret,
                           pr_made_t *made)
{
    pr_error_t error;
    const char *given = text_of(arguments, "secret");
    bool ed25519 = strcmp(text_of(arguments, "scheme"), "ed25519") == 0;
    if (given[0] != '\0')
        return pr_secret_parse(pr_bytes_text(given), secret, &error) == PR_OK
                   ? PR_OK
                   : flaw(made, "The secret is malformed.");
    if (ed25519)
        pr_secret_make_ed25519(random, secret);
    else
        pr_secret_make_symmetric(random, secret);
    made->shown_as = "secret";
    if (secret->kind == PR_SECRET_ED25519_PRIVATE)
        pr_secret_public_text(secret, made->shown);
    else
        snprintf(made->shown, sizeof made->shown, "%s", secret->text);
    return PR_OK;
}

static pr_rc_t make_secret(json_t *arguments, const pr_master_key_t *master,
                           const uint8_t random[32], pr_made_t *made)
{
    pr_secret_t secret = {0};
    uint8_t derived[PR_SHA256_BYTES];
    char sealed[2 * (PR_SECRET_TEXT_MAX + PR_SEAL_OVERHEAD_BYTES) + 1];
    const char *merchant = text_of(arguments, "merchant_id");
    if (!master)
        return flaw(made, "The server has no master key: it cannot keep a secret.");
    if (merchant[0] == '\0')
        return flaw(made, "merchant_id is missing: a secret is sealed for its merchant.");
    if (!pr_sha256(pr_bytes(random, 32), derived))
        return PR_AGAIN;
    pr_rc_t rc = take_secret(arguments, random, &secret, made);
    if (rc == PR_OK && seal_hex(master, merchant, pr_bytes_text(secret.text), derived, sealed,
                                sizeof sealed) != PR_OK)
        rc = flaw(made, "The secret cannot be sealed.");
    pr_secret_wipe(&secret);
    if (rc == PR_OK) {
        json_object_del(arguments, "scheme");
        json_object_set_new(arguments, "secret", json_string(sealed));
    }
    return rc;
}

/* One nonce each: the first twelve bytes of SHA-256 of the randomness and the place. */
static bool nonce_of(const uint8_t random[32], size_t place, uint8_t out[PR_SHA256_BYTES])
{
    uint8_t input[33];
    memcpy(input, random, 32);
    input[32] = (uint8_t)place;
    return pr_sha256(pr_bytes(input, sizeof input), out);
}

static pr_rc_t seal_parameter(json_t *one, const char *name, const pr_master_key_t *master,
                              const uint8_t *nonce, pr_made_t *made)
{
    char sealed[2 * (PR_SEAL_PLAIN_MAX_BYTES + PR_SEAL_OVERHEAD_BYTES) + 1];
    const char *value = text_of(one, "value");
    if (!json_is_object(one) || value[0] == '\0')
        return flaw(made, "A parameter is {\"name\", \"value\"}.");
    if (seal_hex(master, name, pr_bytes_text(value), nonce, sealed, sizeof sealed) != PR_OK)
        return flaw(made, "A parameter is longer than 4096 bytes.");
    json_object_del(one, "value");
    json_object_set_new(one, "sealed", json_string(sealed));
    return PR_OK;
}

static pr_rc_t seal_parameters(json_t *arguments, const pr_master_key_t *master,
                               const uint8_t random[32], pr_made_t *made)
{
    json_t *parameters = json_object_get(arguments, "parameters"), *one = NULL;
    size_t i = 0;
    pr_rc_t rc = PR_OK;
    uint8_t nonce[PR_SHA256_BYTES];
    if (json_array_size(parameters) == 0)
        return PR_OK;
    if (!master)
        return flaw(made, "The server has no master key: it cannot keep a credential.");
    PR_CLEANUP_FREE char *name =
        pr_asprintf(CHANNEL_SEAL_PREFIX "%s", text_of(arguments, "channel"));
    json_array_foreach(parameters, i, one)
    {
        if (rc == PR_OK && !nonce_of(random, i, nonce))
            rc = PR_AGAIN;
        if (rc == PR_OK)
            rc = seal_parameter(one, name, master, nonce, made);
    }
    return rc;
}

pr_rc_t pr_make(pr_console_make_t what, json_t *arguments, const pr_master_key_t *master,
                const uint8_t random[32], pr_made_t *made)
{
    *made = (pr_made_t){0};
    switch (what) {
    case PR_MAKE_NOTHING:
        return PR_OK;
    case PR_MAKE_PASSWORD:
        return make_password(arguments, made);
    case PR_MAKE_TOKEN:
        return make_token("pr_op_", arguments, random, made);
    case PR_MAKE_KEY:
        return make_key(arguments, random, made);
    case PR_MAKE_SECRET:
        return make_secret(arguments, master, random, made);
    case PR_MAKE_SEALED:
        return seal_parameters(arguments, master, random, made);
    }
    return PR_BAD;
}
