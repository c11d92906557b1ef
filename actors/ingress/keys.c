/* SPDX-License-Identifier: Apache-2.0
 *
 * Bearer keys. The database knows their hashes; a key that counted is believed for a second, so a
 * revoked one ends within two. Unknown keys are asked for each time, as often as their address may
 * be wrong.
 */
#include "actors/ingress/ingress_private.h"
#include "base/alloc.h"
#include "base/log.h"
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
    for (ingress_key_t *one; (one = pr_map_next(self->keys, &cursor, NULL)) != NULL;)
        pr_free(one);
    pr_map_clear(self->keys);
}

void ingress_keys_close(ingress_t *self)
{
    if (self->keys)
        forget_all(self);
    pr_map_destroy(&self->keys);
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

/* key_id and what the key may do, which the doors know themselves */
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
    believe(self, &call->key);
    ingress_api_keyed(call);
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
        ingress_api_keyed(call);
        return;
    }
    pr_params_clear(self->params);
    pr_params_add_bytes(self->params, pr_bytes(hash, INGRESS_HASH_BYTES));
    if (ingress_query(self, PR_SQL_INGRESS_KEY_CHECK, on_checked, call) != PR_OK)
        ingress_reply_error(call, PR_AGAIN, NULL);
}
