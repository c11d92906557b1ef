/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/check_form.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 256

typedef struct {
    const char *name, *value; /* decoded, terminated, in the same buffer */
} form_field_t;

typedef struct {
    form_field_t fields[FIELDS_MAX];
    size_t count;
    const char *sign, *sign_type, *timestamp;
} form_t;

/* Decodes [at, end) to out and terminates it; returns what follows the NUL. NULs inside are not
 * expected from a sender of JSON texts; one would end the value early and spoil the signature. */
static char *decode(const char *at, const char *end, char *out)
{
    while (at < end) {
        uint8_t byte = 0;
        if (*at == '%' && end - at > 2 && pr_unhex(at + 1, 2, &byte)) {
            *out++ = (char)byte;
            at += 3;
        } else {
            *out++ = *at == '+' ? ' ' : *at;
            at++;
        }
    }
    *out++ = '\0';
    return out;
}

static void keep(form_t *form, const char *name, const char *value)
{
    if (strcmp(name, "sign") == 0) {
        form->sign = value;
    } else if (strcmp(name, "sign_type") == 0) {
        form->sign_type = value;
    } else if (*value && form->count < FIELDS_MAX) {
        form->fields[form->count++] = (form_field_t){name, value};
    }
    if (strcmp(name, "timestamp") == 0) {
        form->timestamp = value;
    }
}

/* text has room for two NULs a pair more than the body. */
static void split(pr_bytes_t body, form_t *form, char *text)
{
    const char *at = (const char *)body.data, *end = at + body.len;
    while (at < end) {
        const char *next = memchr(at, '&', (size_t)(end - at));
        next = next ? next : end;
        const char *equals = memchr(at, '=', (size_t)(next - at));
        const char *name = text;
        text = decode(at, equals ? equals : next, text);
        const char *value = text;
        text = decode(equals ? equals + 1 : next, next, text);
        keep(form, name, value);
        at = next + 1;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const form_field_t *)a)->name, ((const form_field_t *)b)->name);
}

static void digest(const form_t *form, const pr_buffer_t *text, const char *secret, char *hex)
{
    uint8_t bytes[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    bool md5 = !form->sign_type || strcmp(form->sign_type, "MD5") == 0;
    bool good = md5 ? EVP_Digest(text->data, text->len, bytes, &len, EVP_md5(), NULL) == 1
                    : HMAC(EVP_sha256(), secret, (int)strlen(secret), text->data, text->len, bytes,
                           &len) != NULL;
    pr_assert(good);
    pr_hex(pr_bytes(bytes, len), hex);
    for (; *hex; hex++) {
        *hex = (char)(*hex >= 'a' ? *hex - 'a' + 'A' : *hex);
    }
}

static pr_signature_t judge(form_t *form, size_t body_len, const char *secret)
{
    char hex[2 * EVP_MAX_MD_SIZE + 1];
    pr_buffer_t text;
    pr_buffer_init(&text, body_len + strlen(secret) + 16);
    qsort(form->fields, form->count, sizeof(form->fields[0]), by_name);
    pr_rc_t rc = PR_OK;
    for (size_t i = 0; i < form->count && rc == PR_OK; i++) {
        rc = pr_buffer_printf(&text, "%s=%s&", form->fields[i].name, form->fields[i].value);
    }
    rc = rc == PR_OK ? pr_buffer_printf(&text, "key=%s", secret) : rc;
    if (rc == PR_OK) {
        digest(form, &text, secret, hex);
    }
    pr_buffer_free(&text);
    bool same = rc == PR_OK && strlen(form->sign) == strlen(hex) &&
                CRYPTO_memcmp(form->sign, hex, strlen(hex)) == 0;
    return same ? PR_SIGNATURE_OK : PR_SIGNATURE_BAD;
}

static int64_t number_of(const char *text)
{
    char *end = NULL;
    long long value = text && *text ? strtoll(text, &end, 10) : -1;
    return end && *end == '\0' ? value : -1;
}

pr_signature_t pr_check_form(pr_bytes_t body, const char *secret, int64_t *timestamp)
{
    *timestamp = -1;
    if (body.len == 0) {
        return PR_SIGNATURE_MISSING;
    }
    PR_CLEANUP_FREE char *text = pr_calloc(body.len + 1, 2); /* two NULs for one '&' at worst */
    PR_CLEANUP_FREE form_t *form = PR_NEW(form_t);
    split(body, form, text);
    *timestamp = number_of(form->timestamp);
    return form->sign ? judge(form, body.len, secret) : PR_SIGNATURE_MISSING;
}
