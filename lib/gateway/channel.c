/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile with one account's parameters. Keys are parsed here, once.
 */
#include "base/alloc.h"
#include "gateway/profile.h"
#include "sign/base64.h"

#include <openssl/crypto.h>

#include <string.h>

#define TEXT_MAX_BYTES 512
#define KEY_MIN_BYTES 16
#define KEY_MAX_BYTES 1024
#define AES_KEY_BYTES 32

static bool is_printable(pr_bytes_t text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] < 0x20 || text.data[i] == 0x7f)
            return false;
    return true;
}

static pr_rc_t bad(pr_error_t *error, const pr_parameter_spec_t *spec, const char *wanted)
{
    return pr_error_set(error, PR_BAD, "gateway", "", "parameter %s: %s", spec->name, wanted);
}

static pr_rc_t take_bytes(pr_parameter_value_t *out, pr_bytes_t bytes)
{
    pr_buffer_init(&out->key, KEY_MAX_BYTES);
    return pr_buffer_append(&out->key, bytes.data, bytes.len);
}

static pr_rc_t decode_key(const pr_parameter_spec_t *spec, pr_bytes_t text,
                          pr_parameter_value_t *out, pr_error_t *error)
{
    uint8_t bytes[KEY_MAX_BYTES];
    size_t len = text.len / 2;
    bool ok = spec->kind == PR_KIND_HEX_KEY ? text.len <= 2 * sizeof bytes &&
                                                  pr_unhex((const char *)text.data, text.len, bytes)
                                            : pr_base64_decode(text, bytes, sizeof bytes, &len);
    ok = ok && len >= KEY_MIN_BYTES && take_bytes(out, pr_bytes(bytes, len)) == PR_OK;
    OPENSSL_cleanse(bytes, sizeof bytes);
    if (ok)
        return PR_OK;
    return bad(error, spec,
               spec->kind == PR_KIND_HEX_KEY ? "16 to 1024 bytes in hex are wanted"
                                             : "16 to 1024 bytes in base64 are wanted");
}

static pr_rc_t parse_rsa(const pr_parameter_spec_t *spec, pr_bytes_t text,
                         pr_parameter_value_t *out, pr_error_t *error)
{
    pr_error_t why = {0};
    if (pr_rsa_key_parse(text, &out->rsa, &why) != PR_OK)
        return bad(error, spec, why.text);
    if (spec->kind == PR_KIND_RSA_PRIVATE && !pr_rsa_key_is_private(out->rsa))
        return bad(error, spec, "a private key is wanted");
    return PR_OK;
}

static pr_rc_t parse_value(const pr_parameter_spec_t *spec, pr_bytes_t text,
                           pr_parameter_value_t *out, pr_error_t *error)
{
    pr_buffer_init(&out->text, PR_RSA_PEM_MAX_BYTES);
    if (text.len == 0 || pr_buffer_append(&out->text, text.data, text.len) != PR_OK ||
        memchr(text.data, '\0', text.len))
        return bad(error, spec, "1 to 32768 bytes without NUL are wanted");
    switch (spec->kind) {
    case PR_KIND_TEXT:
        return text.len <= TEXT_MAX_BYTES && is_printable(text)
                   ? PR_OK
                   : bad(error, spec, "at most 512 bytes without control characters are wanted");
    case PR_KIND_SECRET:
        return text.len <= KEY_MAX_BYTES && is_printable(text) && take_bytes(out, text) == PR_OK
                   ? PR_OK
                   : bad(error, spec, "at most 1024 bytes without control characters are wanted");
    case PR_KIND_AES_KEY:
        return text.len == AES_KEY_BYTES && take_bytes(out, text) == PR_OK
                   ? PR_OK
                   : bad(error, spec, "exactly 32 bytes are wanted");
    case PR_KIND_HEX_KEY:
    case PR_KIND_BASE64_KEY:
        return decode_key(spec, text, out, error);
    case PR_KIND_RSA_PRIVATE:
    case PR_KIND_RSA_PUBLIC:
        return parse_rsa(spec, text, out, error);
    }
    return PR_BAD;
}

static pr_rc_t add_parameter(pr_channel_t *self, const pr_parameter_t *parameter, pr_error_t *error)
{
    const pr_profile_t *profile = self->profile;
    for (size_t i = 0; i < profile->parameter_count; i++) {
        if (strcmp(profile->parameters[i].name, parameter->name) != 0)
            continue;
        pr_parameter_values_t *values = &self->parameters[i];
        if (values->count == PR_VALUES_PER_PARAMETER)
            return bad(error, &profile->parameters[i], "four values at most");
        return parse_value(&profile->parameters[i], parameter->value,
                           &values->values[values->count++], error);
    }
    return pr_error_set(error, PR_BAD, "gateway", "", "profile %s has no parameter %.40s",
                        profile->facts.name, parameter->name);
}

static pr_rc_t check_complete(const pr_channel_t *self, pr_error_t *error)
{
    for (size_t i = 0; i < self->profile->parameter_count; i++)
        if (!self->profile->parameters[i].optional && self->parameters[i].count == 0)
            return bad(error, &self->profile->parameters[i], "it is missing");
    return PR_OK;
}

/* The channel's own first: look-ups take the first. */
static pr_rc_t join_overrides(pr_channel_t *self, const pr_money_overrides_t *own,
                              pr_error_t *error)
{
    const pr_money_overrides_t *theirs = &self->profile->exponents;
    size_t count = own ? own->count : 0;
    if (count + theirs->count > PR_MONEY_OVERRIDES_MAX)
        return pr_error_set(error, PR_BAD, "gateway", "", "more than %d exponents",
                            PR_MONEY_OVERRIDES_MAX);
    if (own)
        self->overrides = *own;
    for (size_t i = 0; i < theirs->count; i++)
        self->overrides.entries[count + i] = theirs->entries[i];
    self->overrides.count = count + theirs->count;
    return PR_OK;
}

pr_rc_t pr_channel_new(const pr_profile_t *profile, const pr_parameter_t *parameters, size_t count,
                       const pr_money_overrides_t *overrides, pr_channel_t **out, pr_error_t *error)
{
    pr_channel_t *self = PR_NEW(pr_channel_t);
    self->profile = profile;
    self->parameters = pr_calloc(profile->parameter_count, sizeof self->parameters[0]);
    pr_rc_t rc = join_overrides(self, overrides, error);
    for (size_t i = 0; rc == PR_OK && i < count; i++)
        rc = add_parameter(self, &parameters[i], error);
    if (rc == PR_OK)
        rc = check_complete(self, error);
    if (rc != PR_OK)
        pr_channel_destroy(&self);
    *out = self;
    return rc;
}

static void wipe(pr_buffer_t *buffer)
{
    if (buffer->data)
        OPENSSL_cleanse(buffer->data, buffer->len);
    pr_buffer_free(buffer);
}

void pr_channel_destroy(pr_channel_t **self)
{
    for (size_t i = 0; *self && i < (*self)->profile->parameter_count; i++) {
        pr_parameter_values_t *values = &(*self)->parameters[i];
        for (size_t k = 0; k < values->count; k++) {
            wipe(&values->values[k].text);
            wipe(&values->values[k].key);
            pr_rsa_key_destroy(&values->values[k].rsa);
        }
    }
    if (*self)
        pr_free((*self)->parameters);
    pr_free(*self);
    *self = NULL;
}

const pr_parameter_values_t *pr_channel_values(const pr_channel_t *self, const char *name)
{
    for (size_t i = 0; i < self->profile->parameter_count; i++)
        if (strcmp(self->profile->parameters[i].name, name) == 0)
            return self->parameters[i].count > 0 ? &self->parameters[i] : NULL;
    return NULL;
}

const char *pr_channel_text(const pr_channel_t *self, const char *name)
{
    const pr_parameter_values_t *values = pr_channel_values(self, name);
    return values ? pr_buffer_text(&values->values[0].text) : NULL;
}

const char *pr_channel_account(const pr_channel_t *self)
{
    const char *account = pr_channel_text(self, self->profile->account);
    return account ? account : "";
}
