/* SPDX-License-Identifier: Apache-2.0
 *
 * The optional signature of a request (contracts, HTTP): whoever overhears a bearer key still cannot
 * ask for anything new. Pure.
 *
 *   text      METHOD \n path?query \n timestamp \n nonce \n hex(sha256(body))
 *   headers   X-Postrider-Timestamp: Unix seconds, 300 s either way
 *             X-Postrider-Nonce: 16 to 64 of [A-Za-z0-9_-], once within that time (the caller's
 *             part)
 *             X-Postrider-Signature: hex HMAC-SHA256 of the text with the signing key
 */
#ifndef PR_HTTPD_SIGNED_H
#define PR_HTTPD_SIGNED_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_SIGNED_WINDOW_S 300
#define PR_SIGNED_HEX_BYTES 65

typedef struct {
    const char *method, *target;
    const char *timestamp, *nonce, *signature; /* NULL: the header is not there */
    pr_bytes_t body;
} pr_signed_request_t;

/* NULL: good. Else why not, static: "signature_missing", "signature_malformed", "signature_stale",
 * "signature_wrong". */
const char *pr_signed_request_check(const pr_signed_request_t *request, pr_bytes_t key,
                                    int64_t now_s);
/* What the header must say; false: libcrypto refused. */
bool pr_signed_request_make(const pr_signed_request_t *request, pr_bytes_t key,
                            char out[PR_SIGNED_HEX_BYTES]);

#endif
