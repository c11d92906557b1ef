/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/signature.h"

#include "base/alloc.h"
#include "core/url.h"
#include "gateway/evidence.h"
#include "sign/base64.h"
#include "sign/digest.h"

#include <openssl/crypto.h>

#include <ctype.h>
#include <string.h>

#define TEXT_MAX_BYTES PR_TEMPLATE_OUT_MAX_BYTES
#define CANDIDATES_MAX_BYTES 8192
#define URL_MAX_BYTES 512

const char *pr_signature_reason(pr_signature_t result)
{
    static const char *const reasons[] = {
        "",           "signature_missing", "stale", "unknown_key", "key_host_not_pinned",
        "key_wanted", "bad_signature"};
    return (size_t)result < PR_COUNT(reasons) ? reasons[result] : "?";
}

/* The template as a C string in out (cleared first); false: a value is missing. */
static bool write_text(const pr_template_t *template, const pr_template_context_t *context,
                       pr_buffer_t *out)
{
    pr_buffer_clear(out);
    return pr_template_write(template, context, out, NULL) == PR_OK &&
           (out->len == 0 || !memchr(out->data, '\0', out->len));
}

static void free_secret(pr_buffer_t *buffer)
{
    if (buffer->data)
        OPENSSL_cleanse(buffer->data, buffer->len); /* md5 schemes put the key into the text */
    pr_buffer_free(buffer);
}

/* ---- making ---- */

static bool digest(pr_algorithm_t algorithm, const pr_parameter_value_t *key, pr_bytes_t text,
                   uint8_t out[PR_RSA_SIGNATURE_MAX_BYTES], size_t *len)
{
    switch (algorithm) {
    case PR_ALGORITHM_HMAC_SHA256:
        *len = PR_SHA256_BYTES;
        return key && pr_hmac_sha256(pr_buffer_bytes(&key->key), &text, 1, out);
    case PR_ALGORITHM_HMAC_SHA512:
        *len = PR_SHA512_BYTES;
        return key && pr_hmac_sha512(pr_buffer_bytes(&key->key), &text, 1, out);
    case PR_ALGORITHM_RSA_SHA256:
        return key && key->rsa && pr_rsa_sha256_sign(key->rsa, text, out, len);
    case PR_ALGORITHM_MD5:
        *len = PR_MD5_BYTES;
        return pr_md5(text, out);
    case PR_ALGORITHM_NONE:
        break;
    }
    return false;
}

static void encode(pr_bytes_t bytes, pr_encoding_t encoding, char *out)
{
    if (encoding == PR_ENCODING_BASE64) {
        pr_base64_encode(bytes, out);
        return;
    }
    pr_hex(bytes, out);
    for (char *c = out; encoding == PR_ENCODING_UPPER_HEX && *c; c++)
        *c = (char)toupper((unsigned char)*c);
}

pr_rc_t pr_signature_make(const pr_channel_t *channel, pr_algorithm_t algorithm, const char *key,
                          const pr_template_t *template, pr_encoding_t encoding,
                          const pr_template_context_t *context, pr_buffer_t *out, pr_error_t *error)
{
    uint8_t bytes[PR_RSA_SIGNATURE_MAX_BYTES];
    char encoded[2 * PR_RSA_SIGNATURE_MAX_BYTES + 1];
    size_t len = 0;
    pr_buffer_t text;
    const pr_parameter_values_t *values = pr_channel_values(channel, key);
    pr_buffer_init(&text, TEXT_MAX_BYTES);
    pr_rc_t rc = pr_template_write(template, context, &text, error);
    if (rc == PR_OK &&
        !digest(algorithm, values ? &values->values[0] : NULL, pr_buffer_bytes(&text), bytes, &len))
        rc = pr_error_set(error, PR_BAD, "gateway", "", "parameter %s cannot sign", key);
    free_secret(&text);
    if (rc != PR_OK)
        return PR_BAD;
    encode(pr_bytes(bytes, len), encoding, encoded);
    return pr_buffer_append_text(out, encoded);
}

/* ---- checking ---- */

static pr_signature_t check_timestamp(const pr_verifying_t *verify,
                                      const pr_template_context_t *context, pr_buffer_t *scratch)
{
    int64_t at_us;
    const pr_profile_t *profile = context->channel->profile;
    if (!verify->timestamp.wanted)
        return PR_SIGNATURE_GOOD;
    if (!write_text(&verify->timestamp.value, context, scratch) ||
        !pr_moment_parse(pr_buffer_bytes(scratch), verify->timestamp.format, profile->time.zone_min,
                         &at_us))
        return PR_SIGNATURE_MISSING;
    int64_t apart_us = at_us > context->now_us ? at_us - context->now_us : context->now_us - at_us;
    return apart_us / 1000 < verify->timestamp.tolerance_ms ? PR_SIGNATURE_GOOD
                                                            : PR_SIGNATURE_STALE;
}

/* Which of the key's values the message names; -1: all may be tried. */
static pr_signature_t choose_key(const pr_verifying_t *verify, const pr_template_context_t *context,
                                 pr_buffer_t *scratch, int *index)
{
    *index = -1;
    if (!verify->key_id.wanted)
        return PR_SIGNATURE_GOOD;
    if (!write_text(&verify->key_id.value, context, scratch))
        return PR_SIGNATURE_MISSING;
    const pr_parameter_values_t *ids =
        pr_channel_values(context->channel, verify->key_id.parameter);
    for (size_t i = 0; ids && i < ids->count; i++) {
        if (strcmp(pr_buffer_text(&ids->values[i].text), pr_buffer_text(scratch)) == 0) {
            *index = (int)i;
            return PR_SIGNATURE_GOOD;
        }
    }
    return PR_SIGNATURE_UNKNOWN_KEY;
}

/* The key's URL must be https on a host that the profile pins. */
static pr_signature_t check_key_url(const pr_verifying_t *verify,
                                    const pr_template_context_t *context, pr_buffer_t *scratch,
                                    char *key_url)
{
    pr_url_t url;
    if (!write_text(&verify->key_url.value, context, scratch) || scratch->len >= URL_MAX_BYTES)
        return PR_SIGNATURE_MISSING;
    if (pr_url_parse(pr_buffer_text(scratch), &url, NULL) != PR_OK || !url.https || url.port != 443)
        return PR_SIGNATURE_BAD_HOST;
    for (size_t i = 0; i < verify->key_url.hosts.count; i++) {
        if (strcmp(url.host, verify->key_url.hosts.items[i]) == 0) {
            memcpy(key_url, pr_buffer_text(scratch), scratch->len + 1);
            return PR_SIGNATURE_GOOD;
        }
    }
    return PR_SIGNATURE_BAD_HOST;
}

static bool decode(pr_bytes_t candidate, pr_encoding_t encoding, uint8_t *out, size_t *len)
{
    if (encoding == PR_ENCODING_BASE64)
        return pr_base64_decode(candidate, out, PR_RSA_SIGNATURE_MAX_BYTES, len);
    *len = candidate.len / 2;
    return candidate.len <= 2 * PR_RSA_SIGNATURE_MAX_BYTES &&
           pr_unhex((const char *)candidate.data, candidate.len, out);
}

static bool agrees(pr_algorithm_t algorithm, const pr_parameter_value_t *key, pr_bytes_t text,
                   pr_bytes_t signature)
{
    uint8_t bytes[PR_RSA_SIGNATURE_MAX_BYTES];
    size_t len = 0;
    if (algorithm == PR_ALGORITHM_RSA_SHA256)
        return key->rsa && pr_rsa_sha256_verify(key->rsa, text, signature);
    return digest(algorithm, key, text, bytes, &len) &&
           pr_same_bytes(pr_bytes(bytes, len), signature);
}

/* Each candidate under each key that comes into question. */
static bool any_agrees(const pr_verifying_t *verify, const pr_parameter_values_t *keys, int index,
                       pr_bytes_t text, const char *candidates)
{
    static const pr_parameter_values_t no_key = {.count = 1};
    if (verify->algorithm == PR_ALGORITHM_MD5)
        keys = &no_key;
    for (const char *at = candidates; keys && *at; at += strspn(at, " ")) {
        uint8_t bytes[PR_RSA_SIGNATURE_MAX_BYTES];
        size_t len = strcspn(at, " "), bytes_len = 0;
        bool ok = decode(pr_bytes(at, len), verify->encoding, bytes, &bytes_len);
        at += len;
        for (size_t i = 0; ok && i < keys->count; i++)
            if ((index < 0 || (size_t)index == i) &&
                agrees(verify->algorithm, &keys->values[i], text, pr_bytes(bytes, bytes_len)))
                return true;
    }
    return false;
}

static pr_signature_t check_bytes(const pr_verifying_t *verify,
                                  const pr_template_context_t *context,
                                  const pr_parameter_values_t *keys, int index,
                                  pr_buffer_t *scratch)
{
    pr_buffer_t text;
    pr_buffer_init(&text, TEXT_MAX_BYTES);
    pr_signature_t result = PR_SIGNATURE_MISSING;
    if (write_text(&verify->signature, context, scratch) && scratch->len > 0 &&
        scratch->len <= CANDIDATES_MAX_BYTES &&
        pr_template_write(&verify->text, context, &text, NULL) == PR_OK)
        result = any_agrees(verify, keys, index, pr_buffer_bytes(&text), pr_buffer_text(scratch))
                     ? PR_SIGNATURE_GOOD
                     : PR_SIGNATURE_WRONG;
    free_secret(&text);
    return result;
}

static pr_signature_t check_with_certificate(const pr_verifying_t *verify,
                                             const pr_template_context_t *context,
                                             pr_bytes_t certificate, pr_buffer_t *scratch)
{
    pr_parameter_values_t one = {.count = 1};
    if (pr_rsa_key_parse(certificate, &one.values[0].rsa, NULL) != PR_OK)
        return PR_SIGNATURE_UNKNOWN_KEY;
    pr_signature_t result = check_bytes(verify, context, &one, -1, scratch);
    pr_rsa_key_destroy(&one.values[0].rsa);
    return result;
}

static pr_signature_t check(const pr_verifying_t *verify, const pr_template_context_t *context,
                            pr_bytes_t certificate, char *key_url, pr_buffer_t *scratch)
{
    int index = -1;
    const pr_parameter_values_t *keys = pr_channel_values(context->channel, verify->key);
    if (!pr_conditions_hold(&verify->require, context, 0))
        return PR_SIGNATURE_MISSING;
    pr_signature_t result = check_timestamp(verify, context, scratch);
    if (result == PR_SIGNATURE_GOOD)
        result = choose_key(verify, context, scratch, &index);
    if (result == PR_SIGNATURE_GOOD && verify->key_url.wanted)
        result = check_key_url(verify, context, scratch, key_url);
    if (result != PR_SIGNATURE_GOOD)
        return result;
    if (!verify->key_url.wanted || keys) /* a key that the channel has needs no fetching */
        return check_bytes(verify, context, keys, index, scratch);
    return certificate.len > 0 ? check_with_certificate(verify, context, certificate, scratch)
                               : PR_SIGNATURE_WANTS_KEY;
}

pr_signature_t pr_signature_check(const pr_verifying_t *verify,
                                  const pr_template_context_t *context, pr_bytes_t certificate,
                                  char *key_url)
{
    pr_buffer_t scratch;
    pr_buffer_init(&scratch, PR_GATEWAY_BODY_MAX_BYTES);
    pr_signature_t result = check(verify, context, certificate, key_url, &scratch);
    pr_buffer_free(&scratch);
    return result;
}
