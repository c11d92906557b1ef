/* SPDX-License-Identifier: Apache-2.0
 *
 * The session's cookie. Pure.
 *
 * Its value is 64 hex digits of randomness; the database has their SHA-256. It is HttpOnly and
 * SameSite=Strict; over TLS it is Secure and its name begins with __Host-, so no other host and no
 * plain connection can set or read it.
 */
#ifndef PR_CONSOLE_COOKIES_H
#define PR_CONSOLE_COOKIES_H

#include "base/buffer.h"

#include <stdbool.h>

#define PR_SESSION_TOKEN_BYTES 65   /* 64 hex digits and the NUL */
#define PR_SESSION_COOKIE_BYTES 256 /* of a Set-Cookie value */

/* The session's token out of a Cookie header (may be NULL). False: there is none, or what is there
 * has another form; of two with our name neither counts. */
bool pr_cookie_find(const char *header, bool secure, char out[PR_SESSION_TOKEN_BYTES]);
/* token "": the cookie is taken away. */
void pr_cookie_write(const char *token, bool secure, char out[PR_SESSION_COOKIE_BYTES]);

#endif
