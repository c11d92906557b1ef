/* SPDX-License-Identifier: Apache-2.0
 *
 * Bearer keys. The database knows their hashes; a key that counted is believed for a second, so a
 * revoked one ends within two. Unknown keys are asked for each time, as often as their address may
 * be wrong.
 */
#include "actors/ingress/ingress_private.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "httpd/signed.h"
#include "sign/digest.h"
#include "sql/ingress.h"

#include <string.h>

#define KEYS_MAX 1024
#define BELIEVED_MS 1000
#define TOKEN_MIN 24
#define TOKEN_MAX 128

static bool token_ok(const char *token)
{
    size_t len = strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return token[len] == '\0' && len >= TOKEN_MIN && len <= TOKEN_MAX &&
           (strncmp(token, "pr_live_", 8) == 0 || strncmp(token, "pr_test_", 8) == 0);
}

bool ingress_key_hash(ingress_t *self, pr_httpd_request_t *request,
                      uint8_t hash[INGRESS_HASH_BYTES])
{
    static const char scheme[] = "Bearer ";
    const char *said = pr_httpd_header(request, "Authorization");
    const char *token =
        said && strncasecmp(said, scheme, sizeof scheme - 1) == 0 ? said + sizeof scheme - 1 : "";
    int64_t wait_ms =
        pr_limiter_wait_ms(self->wrongs, pr_httpd_client(request), "key", ingress_now_ms(self));
    if (wait_ms > 0) {
        pr_httpd_reply_problem(request, 429, "too_many_failures",
                               "Too many requests from here had no valid key.", wait_ms / 1000 + 1);
        return false;
    }
    if (token_ok(token) && pr_sha256(pr_bytes_text(token), hash))
        return true;
    (void)pr_limiter_take(self->wrongs, pr_httpd_client(request), "key", ingress_now_ms(self));
    pr_httpd_reply_problem(request, 401, said ? "invalid_key" : "key_missing",
                           "Send Authorization: Bearer and a valid key.", 0);
    return false;
}

static uint64_t map_key(const uint8_t hash[INGRESS_HASH_BYTES])
{
    uint64_t key;
    memcpy(&key, hash, sizeof key);
    return key;
}

static void forget_all(ingress_t *self)
{
    size_t cursor = 0;
    for (ingress_key_t *one; (one = pr_map_next(self->keys, &cursor, NULL)) != NULL;) {
        explicit_bzero(one->signing, sizeof one->signing);
        pr_free(one);
    }
    pr_map_clear(self->keys);
}

void ingress_keys_close(ingress_t *self)
{
    if (self->keys)
        forget_all(self);
    pr_map_destroy(&self->keys);
    pr_master_key_wipe(&self->master);
}

static void believe(ingress_t *self, const ingress_key_t *key)
{
    void *old = NULL;
    if (pr_map_count(self->keys) == KEYS_MAX)
        forget_all(self);
    if (pr_map_put(self->keys, map_key(key->hash), pr_memdup(key, sizeof *key), &old) == PR_OK)
        pr_free(old);
}

static void refuse(ingress_call_t *call)
{
    ingress_t *self = call->ingress;
    (void)pr_limiter_take(self->wrongs, pr_httpd_client(call->http), "key", ingress_now_ms(self));
    ingress_reply_problem(call, 401, "invalid_key", "The key is unknown, revoked or expired.", 0);
}

/* ---- signed requests ---- */

/* Sealed under the hash of its own key: no other key's signing key opens here. */
static bool open_signing(const ingress_t *self, pr_bytes_t sealed, ingress_key_t *key)
{
    char name[4 + 32 + 1] = "key/";
    pr_buffer_t plain;
    pr_master_key_t master = self->master;
    int id = pr_sealed_key_id(sealed);
    if (id < 0)
        return false;
    master.id = (uint8_t)id; /* we have one; a wrong one fails to open */
    pr_hex(pr_bytes(key->hash, 16), name + 4);
    pr_buffer_init(&plain, INGRESS_SIGNING_MAX);
    bool opened = pr_unseal(&master, name, sealed, &plain, NULL) == PR_OK && plain.len > 0;
    if (opened) {
        memcpy(key->signing, plain.data, plain.len);
        key->signing_len = plain.len;
    }
    if (plain.data)
        explicit_bzero(plain.data, plain.room);
    pr_buffer_free(&plain);
    pr_master_key_wipe(&master);
    return opened;
}

static void refuse_signature(ingress_call_t *call, const char *why)
{
    ingress_t *self = call->ingress;
    (void)pr_limiter_take(self->wrongs, pr_httpd_client(call->http), "key", ingress_now_ms(self));
    ingress_reply_problem(call, 401, why, "Requests with this key are signed, each anew.", 0);
}

/* fresh */
static void on_nonce(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    ingress_call_t *call = arg;
    if (rc != PR_OK)
        ingress_reply_error(call, rc, error);
    else if (!pr_rows_bool(rows, 0, 0))
        refuse_signature(call, "nonce_used");
    else
        ingress_api_keyed(call);
}

static void go_on(ingress_call_t *call)
{
    ingress_t *self = call->ingress;
    pr_signed_request_t request = {
        .method = pr_httpd_method(call->http),
        .target = pr_httpd_target(call->http),
        .timestamp = pr_httpd_header(call->http, "X-Postrider-Timestamp"),
        .nonce = pr_httpd_header(call->http, "X-Postrider-Nonce"),
        .signature = pr_httpd_header(call->http, "X-Postrider-Signature"),
        .body = pr_httpd_body(call->http)};
    if (call->key.signing_len == 0) {
        ingress_api_keyed(call);
        return;
    }
    const char *flaw = pr_signed_request_check(
        &request, pr_bytes(call->key.signing, call->key.signing_len), pr_clock_wall_s());
    if (flaw) {
        refuse_signature(call, flaw);
        return;
    }
    pr_params_t *params = pr_pool_params(self->pool);
    pr_params_add_i64(params, call->key.key_id);
    pr_params_add_text(params, request.nonce);
    if (pr_pool_query(self->pool, PR_SQL_INGRESS_NONCE_TAKE, on_nonce, call) != PR_OK)
        ingress_reply_error(call, PR_AGAIN, NULL);
}

/* ---- asking ---- */

/* key_id, kind, merchant_id, livemode, signing: what a key may do the doors know themselves */
static void on_checked(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    ingress_call_t *call = arg;
    ingress_t *self = call->ingress;
    if (rc != PR_OK) {
        ingress_reply_error(call, rc, error);
        return;
    }
    if (pr_rows_count(rows) == 0) {
        refuse(call);
        return;
    }
    call->key.key_id = pr_rows_i64(rows, 0, 0);
    call->key.read_at_ms = ingress_now_ms(self);
    if (!pr_rows_null(rows, 0, 4) && !open_signing(self, pr_rows_bytes(rows, 0, 4), &call->key)) {
        pr_log_limited(PR_LOG_ERROR, "key.unusable", "", "key=%lld", (long long)call->key.key_id);
        ingress_reply_problem(call, 500, "internal", "", 0);
        return;
    }
    believe(self, &call->key);
    go_on(call);
}

void ingress_key_check(ingress_call_t *call, const uint8_t hash[INGRESS_HASH_BYTES])
{
    ingress_t *self = call->ingress;
    const ingress_key_t *known = pr_map_get(self->keys, map_key(hash));
    memcpy(call->key.hash, hash, INGRESS_HASH_BYTES);
    if (known && known->read_at_ms + BELIEVED_MS > ingress_now_ms(self) &&
        pr_same_bytes(pr_bytes(known->hash, INGRESS_HASH_BYTES),
                      pr_bytes(hash, INGRESS_HASH_BYTES))) {
        call->key = *known;
        go_on(call);
        return;
    }
    pr_params_t *params = pr_pool_params(self->pool);
    pr_params_add_bytes(params, pr_bytes(hash, INGRESS_HASH_BYTES));
    if (pr_pool_query(self->pool, PR_SQL_INGRESS_KEY_CHECK, on_checked, call) != PR_OK)
        ingress_reply_error(call, PR_AGAIN, NULL);
}
