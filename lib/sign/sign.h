/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures of notifications (N10): bytes in, headers out. Pure; libcrypto only. Time and ids are
 * arguments.
 *
 *   postrider   X-Notify-ID, X-Timestamp,
 *               X-Signature = hex HMAC-SHA256(body || timestamp) with the current secret,
 *               X-Signature-Next = the same with the next one while a rotation overlaps;
 *               and Standard Webhooks 1.0: webhook-id, webhook-timestamp,
 *               webhook-signature = "v1,BASE64 v1,BASE64" (current, next) of
 *               HMAC-SHA256("ID.TIMESTAMP.BODY")
 *   ed25519     X-Notify-ID, X-Timestamp, webhook-id, webhook-timestamp,
 *               webhook-signature = "v1a,BASE64 ..." by ed25519 over the same bytes
 *   form-md5    a form POST of the top-level fields of the JSON body (null and "" are left out,
 *   form-hmac   objects and arrays are their compact JSON text) and notify_id, timestamp,
 *               sign_type, sign. sign = upper-case hex of MD5, or of HMAC-SHA256 keyed with the
 *               secret, over "k=v&k=v...&key=SECRET": names sorted by byte, raw values, without
 *               sign, sign_type and empty ones. Headers X-Notify-ID, X-Timestamp;
 *               X-Sign-Next = the sign by the next secret.
 *
 * The timestamp and the signatures are new on each try, the body is not.
 */
#ifndef PR_SIGN_SIGN_H
#define PR_SIGN_SIGN_H

#include "sign/secret.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_SIGN_HEADERS_MAX 8
#define PR_SIGN_ID_MAX 64
#define PR_SIGN_FORM_FIELDS_MAX 128
#define PR_SIGN_FORM_MAX_BYTES ((size_t)256 * 1024)

typedef enum {
    PR_SCHEME_NONE = 0,
    PR_SCHEME_POSTRIDER,
    PR_SCHEME_ED25519,
    PR_SCHEME_FORM_MD5,
    PR_SCHEME_FORM_HMAC,
} pr_scheme_t;

pr_scheme_t pr_scheme_parse(const char *text); /* PR_SCHEME_NONE when unknown */
const char *pr_scheme_name(pr_scheme_t scheme);

typedef struct {
    pr_scheme_t scheme;
    const char *notify_id; /* 1..64 of [A-Za-z0-9._-] */
    int64_t timestamp_s;   /* Unix seconds, >= 0 */
    pr_bytes_t body;
    const pr_secret_t *secret;
    const pr_secret_t *next; /* NULL: no rotation under way */
} pr_sign_request_t;

typedef struct {
    const char *name; /* static */
    char value[256];
} pr_sign_header_t;

typedef struct {
    uint32_t count;
    pr_sign_header_t headers[PR_SIGN_HEADERS_MAX];
    const char *content_type; /* static */
    bool body_replaced;       /* form schemes: send `body` instead of the request's */
    pr_buffer_t body;
} pr_signed_t;

void pr_signed_init(pr_signed_t *self);
void pr_signed_free(pr_signed_t *self);

/* Fills *out (initialised; what it held is dropped). PR_BAD: bad id, secret of the wrong kind, or a
 * form scheme over a body that is no JSON object, has a key twice, more than 128 fields or grows
 * over 256 KiB; *out then holds nothing. */
PR_CHECK pr_rc_t pr_sign(const pr_sign_request_t *request, pr_signed_t *out, pr_error_t *error);

/* For receivers (the sandbox, tests): comparison in constant time over equal lengths. Texts are as
 * in the headers. The window of the timestamp is the caller's. */
bool pr_verify_signature(const pr_secret_t *secret, pr_bytes_t body, const char *timestamp,
                         const char *x_signature);
/* Any one of the listed signatures is enough; v1 for symmetric secrets, v1a for ed25519 (private or
 * public). */
bool pr_verify_standard(const pr_secret_t *secret, const char *id, const char *timestamp,
                        pr_bytes_t body, const char *webhook_signature);
/* form: the application/x-www-form-urlencoded body as it came. */
bool pr_verify_form(pr_scheme_t scheme, const pr_secret_t *secret, pr_bytes_t form);

#endif
