/* SPDX-License-Identifier: Apache-2.0 */
#include "sign/sign.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "sign/base64.h"
#include "sign/digest.h"
#include "sign/form.h"

#include <openssl/crypto.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TIMESTAMP_TEXT_MAX 24
#define FORM_SIGN_MAX (2 * PR_SHA256_BYTES + 1)
#define STANDARD_TOKEN_MAX 96 /* "v1a," and 88 of base64 */

static const struct {
    const char *name;
    pr_scheme_t scheme;
} schemes[] = {
    {"postrider", PR_SCHEME_POSTRIDER},
    {"ed25519", PR_SCHEME_ED25519},
    {"form-md5", PR_SCHEME_FORM_MD5},
    {"form-hmac", PR_SCHEME_FORM_HMAC},
};

pr_scheme_t pr_scheme_parse(const char *text)
{
    for (size_t i = 0; i < PR_COUNT(schemes); i++)
        if (strcmp(text, schemes[i].name) == 0)
            return schemes[i].scheme;
    return PR_SCHEME_NONE;
}

const char *pr_scheme_name(pr_scheme_t scheme)
{
    for (size_t i = 0; i < PR_COUNT(schemes); i++)
        if (schemes[i].scheme == scheme)
            return schemes[i].name;
    return "?";
}

static pr_rc_t bad(pr_error_t *error, const char *why)
{
    return pr_error_set(error, PR_BAD, "sign", "", "%s", why);
}

static pr_rc_t refused_by_crypto(pr_error_t *error)
{
    return bad(error, "libcrypto refuses the algorithm");
}

void pr_signed_init(pr_signed_t *self)
{
    *self = (pr_signed_t){0};
    pr_buffer_init(&self->body, PR_SIGN_FORM_MAX_BYTES);
}

void pr_signed_free(pr_signed_t *self)
{
    pr_buffer_free(&self->body);
    self->count = 0;
    self->body_replaced = false;
}

static char *add_header(pr_signed_t *out, const char *name)
{
    pr_assert(out->count < PR_SIGN_HEADERS_MAX);
    pr_sign_header_t *header = &out->headers[out->count++];
    header->name = name;
    header->value[0] = '\0';
    return header->value;
}

static void add_text_header(pr_signed_t *out, const char *name, const char *text)
{
    snprintf(add_header(out, name), sizeof out->headers[0].value, "%s", text);
}

/* ---- what each signature is over ---- */

static bool x_signature(const pr_secret_t *secret, pr_bytes_t body, const char *timestamp,
                        char out[2 * PR_SHA256_BYTES + 1])
{
    uint8_t mac[PR_SHA256_BYTES];
    const pr_bytes_t parts[] = {body, pr_bytes_text(timestamp)};
    if (!pr_hmac_sha256(pr_bytes(secret->key, secret->key_len), parts, PR_COUNT(parts), mac))
        return false;
    pr_hex(pr_bytes(mac, sizeof mac), out);
    return true;
}

/* The v1 token of ID.TIMESTAMP.BODY. */
static bool standard_v1(const pr_secret_t *secret, const char *id, const char *timestamp,
                        pr_bytes_t body, char out[STANDARD_TOKEN_MAX])
{
    uint8_t mac[PR_SHA256_BYTES];
    const pr_bytes_t dot = pr_bytes_text(".");
    const pr_bytes_t parts[] = {pr_bytes_text(id), dot, pr_bytes_text(timestamp), dot, body};
    if (!pr_hmac_sha256(pr_bytes(secret->key, secret->key_len), parts, PR_COUNT(parts), mac))
        return false;
    memcpy(out, "v1,", 3);
    pr_base64_encode(pr_bytes(mac, sizeof mac), out + 3);
    return true;
}

/* Ed25519 wants its message in one piece. */
static void join_standard(pr_buffer_t *out, const char *id, const char *timestamp, pr_bytes_t body)
{
    pr_buffer_init(out, body.len + 2 * PR_SECRET_TEXT_MAX);
    pr_rc_t rc = pr_buffer_printf(out, "%.64s.%.24s.", id, timestamp);
    if (rc == PR_OK)
        rc = pr_buffer_append(out, body.data, body.len);
    pr_assert(rc == PR_OK);
}

static bool standard_v1a(const pr_secret_t *secret, const char *id, const char *timestamp,
                         pr_bytes_t body, char out[STANDARD_TOKEN_MAX])
{
    uint8_t signature[PR_ED25519_SIGNATURE_BYTES];
    pr_buffer_t message;
    join_standard(&message, id, timestamp, body);
    bool ok = pr_ed25519_sign(secret->key, pr_buffer_bytes(&message), signature);
    pr_buffer_free(&message);
    memcpy(out, "v1a,", 4);
    if (ok)
        pr_base64_encode(pr_bytes(signature, sizeof signature), out + 4);
    return ok;
}

/* Upper-case hex over the sorted parameters. */
static pr_rc_t form_sign(pr_scheme_t scheme, const pr_secret_t *secret, const pr_form_t *form,
                         char out[FORM_SIGN_MAX])
{
    uint8_t digest[PR_SHA256_BYTES];
    size_t len = scheme == PR_SCHEME_FORM_MD5 ? PR_MD5_BYTES : PR_SHA256_BYTES;
    pr_buffer_t text;
    pr_buffer_init(&text, PR_SIGN_FORM_MAX_BYTES + PR_SECRET_TEXT_MAX);
    pr_rc_t rc = pr_form_to_sign(form, secret->text, &text);
    if (rc == PR_OK) {
        pr_bytes_t bytes = pr_buffer_bytes(&text);
        bool ok = scheme == PR_SCHEME_FORM_MD5
                      ? pr_md5(bytes, digest)
                      : pr_hmac_sha256(pr_bytes_text(secret->text), &bytes, 1, digest);
        rc = ok ? PR_OK : PR_BAD;
    }
    if (text.data)
        OPENSSL_cleanse(text.data, text.len); /* it ends with the secret */
    pr_buffer_free(&text);
    if (rc != PR_OK)
        return rc;
    pr_hex(pr_bytes(digest, len), out);
    for (char *c = out; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return PR_OK;
}

/* ---- signing ---- */

typedef bool standard_fn(const pr_secret_t *secret, const char *id, const char *timestamp,
                         pr_bytes_t body, char out[STANDARD_TOKEN_MAX]);

static pr_rc_t add_standard(const pr_sign_request_t *request, const char *timestamp,
                            standard_fn *token, pr_signed_t *out, pr_error_t *error)
{
    char current[STANDARD_TOKEN_MAX], next[STANDARD_TOKEN_MAX] = "";
    if (!token(request->secret, request->notify_id, timestamp, request->body, current) ||
        (request->next &&
         !token(request->next, request->notify_id, timestamp, request->body, next)))
        return refused_by_crypto(error);
    add_text_header(out, "webhook-id", request->notify_id);
    add_text_header(out, "webhook-timestamp", timestamp);
    snprintf(add_header(out, "webhook-signature"), sizeof out->headers[0].value, "%s%s%s", current,
             next[0] ? " " : "", next);
    return PR_OK;
}

static pr_rc_t sign_postrider(const pr_sign_request_t *request, const char *timestamp,
                              pr_signed_t *out, pr_error_t *error)
{
    char hex[2 * PR_SHA256_BYTES + 1];
    if (!x_signature(request->secret, request->body, timestamp, hex))
        return refused_by_crypto(error);
    add_text_header(out, "X-Signature", hex);
    if (request->next) {
        if (!x_signature(request->next, request->body, timestamp, hex))
            return refused_by_crypto(error);
        add_text_header(out, "X-Signature-Next", hex);
    }
    return add_standard(request, timestamp, standard_v1, out, error);
}

static pr_rc_t fill_form(const pr_sign_request_t *request, const char *timestamp, pr_form_t *form,
                         pr_error_t *error)
{
    bool md5 = request->scheme == PR_SCHEME_FORM_MD5;
    pr_rc_t rc = pr_form_read_json(form, request->body, PR_SIGN_FORM_FIELDS_MAX, error);
    if (rc != PR_OK)
        return rc;
    if (pr_form_set(form, "notify_id", request->notify_id) != PR_OK ||
        pr_form_set(form, "timestamp", timestamp) != PR_OK ||
        pr_form_set(form, "sign_type", md5 ? "MD5" : "HMAC-SHA256") != PR_OK ||
        pr_form_set(form, "sign", "") != PR_OK)
        return bad(error, "the body is too large for a form");
    return PR_OK;
}

static pr_rc_t sign_form(const pr_sign_request_t *request, const char *timestamp, pr_signed_t *out,
                         pr_error_t *error)
{
    char current[FORM_SIGN_MAX], next[FORM_SIGN_MAX];
    pr_form_t form;
    pr_form_init(&form, PR_SIGN_FORM_MAX_BYTES);
    pr_rc_t rc = fill_form(request, timestamp, &form, error);
    if (rc == PR_OK &&
        (form_sign(request->scheme, request->secret, &form, current) != PR_OK ||
         (request->next && form_sign(request->scheme, request->next, &form, next) != PR_OK)))
        rc = refused_by_crypto(error);
    if (rc == PR_OK && (pr_form_set(&form, "sign", current) != PR_OK ||
                        pr_form_urlencode(&form, &out->body) != PR_OK))
        rc = bad(error, "the body is too large for a form");
    if (rc == PR_OK) {
        out->body_replaced = true;
        out->content_type = "application/x-www-form-urlencoded";
        if (request->next)
            add_text_header(out, "X-Sign-Next", next);
    }
    pr_form_free(&form);
    return rc;
}

static bool is_id(const char *text)
{
    size_t len = strnlen(text, PR_SIGN_ID_MAX + 1);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("._-", text[i]))
            return false;
    return len >= 1 && len <= PR_SIGN_ID_MAX;
}

static pr_rc_t check(const pr_sign_request_t *request, pr_error_t *error)
{
    pr_secret_kind_t wanted =
        request->scheme == PR_SCHEME_ED25519 ? PR_SECRET_ED25519_PRIVATE : PR_SECRET_SYMMETRIC;
    if (!is_id(request->notify_id))
        return bad(error, "the notify id wants 1 to 64 letters, digits and ._-");
    if (request->timestamp_s < 0)
        return bad(error, "the timestamp is negative");
    if (request->secret->kind != wanted || (request->next && request->next->kind != wanted))
        return bad(error, wanted == PR_SECRET_SYMMETRIC
                              ? "this scheme wants a whsec_ or text secret"
                              : "ed25519 wants a whsk_ secret");
    return PR_OK;
}

static pr_rc_t sign_by_scheme(const pr_sign_request_t *request, const char *timestamp,
                              pr_signed_t *out, pr_error_t *error)
{
    switch (request->scheme) {
    case PR_SCHEME_POSTRIDER:
        return sign_postrider(request, timestamp, out, error);
    case PR_SCHEME_ED25519:
        return add_standard(request, timestamp, standard_v1a, out, error);
    case PR_SCHEME_FORM_MD5:
    case PR_SCHEME_FORM_HMAC:
        return sign_form(request, timestamp, out, error);
    case PR_SCHEME_NONE:
        break;
    }
    return bad(error, "unknown signature scheme");
}

pr_rc_t pr_sign(const pr_sign_request_t *request, pr_signed_t *out, pr_error_t *error)
{
    char timestamp[TIMESTAMP_TEXT_MAX];
    out->count = 0;
    out->body_replaced = false;
    out->content_type = "application/json";
    pr_buffer_clear(&out->body);
    pr_rc_t rc = check(request, error);
    if (rc != PR_OK)
        return rc;
    snprintf(timestamp, sizeof timestamp, "%" PRId64, request->timestamp_s);
    add_text_header(out, "X-Notify-ID", request->notify_id);
    add_text_header(out, "X-Timestamp", timestamp);
    rc = sign_by_scheme(request, timestamp, out, error);
    if (rc != PR_OK) {
        out->count = 0;
        pr_buffer_clear(&out->body);
    }
    return rc;
}

/* ---- verifying ---- */

static bool same_text(pr_bytes_t a, const char *b)
{
    return pr_same_bytes(a, pr_bytes_text(b));
}

bool pr_verify_signature(const pr_secret_t *secret, pr_bytes_t body, const char *timestamp,
                         const char *x_signature_text)
{
    char expected[2 * PR_SHA256_BYTES + 1];
    return secret->kind == PR_SECRET_SYMMETRIC && x_signature(secret, body, timestamp, expected) &&
           same_text(pr_bytes_text(x_signature_text), expected);
}

/* token: "v1a,BASE64". */
static bool verify_v1a(const pr_secret_t *secret, pr_bytes_t token, pr_bytes_t message)
{
    uint8_t signature[PR_ED25519_SIGNATURE_BYTES];
    size_t len = 0;
    const uint8_t *key = secret->kind == PR_SECRET_ED25519_PRIVATE ? secret->key + 32 : secret->key;
    return token.len > 4 && memcmp(token.data, "v1a,", 4) == 0 &&
           pr_base64_decode(pr_bytes(token.data + 4, token.len - 4), signature, sizeof signature,
                            &len) &&
           len == sizeof signature && pr_ed25519_verify(key, message, signature);
}

/* The next space-delimited token; false at the end. */
static bool next_token(const char **rest, pr_bytes_t *token)
{
    *rest += strspn(*rest, " ");
    size_t len = strcspn(*rest, " ");
    *token = pr_bytes(*rest, len);
    *rest += len;
    return len > 0;
}

bool pr_verify_standard(const pr_secret_t *secret, const char *id, const char *timestamp,
                        pr_bytes_t body, const char *webhook_signature)
{
    char expected[STANDARD_TOKEN_MAX] = "";
    pr_bytes_t token;
    pr_buffer_t message;
    bool found = false;
    if (secret->kind == PR_SECRET_NONE || !is_id(id) ||
        strnlen(timestamp, TIMESTAMP_TEXT_MAX) == TIMESTAMP_TEXT_MAX)
        return false;
    if (secret->kind == PR_SECRET_SYMMETRIC) {
        if (!standard_v1(secret, id, timestamp, body, expected))
            return false;
        while (next_token(&webhook_signature, &token))
            found |= same_text(token, expected);
        return found;
    }
    join_standard(&message, id, timestamp, body);
    while (next_token(&webhook_signature, &token))
        found |= verify_v1a(secret, token, pr_buffer_bytes(&message));
    pr_buffer_free(&message);
    return found;
}

bool pr_verify_form(pr_scheme_t scheme, const pr_secret_t *secret, pr_bytes_t body)
{
    char expected[FORM_SIGN_MAX];
    pr_form_t form;
    if ((scheme != PR_SCHEME_FORM_MD5 && scheme != PR_SCHEME_FORM_HMAC) ||
        secret->kind != PR_SECRET_SYMMETRIC)
        return false;
    pr_form_init(&form, PR_SIGN_FORM_MAX_BYTES);
    bool ok = pr_form_read_urlencoded(&form, body) == PR_OK &&
              form_sign(scheme, secret, &form, expected) == PR_OK &&
              same_text(pr_form_get(&form, "sign"), expected);
    pr_form_free(&form);
    return ok;
}
