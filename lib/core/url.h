/* SPDX-License-Identifier: Apache-2.0
 *
 * A strict reader of notification URLs (RFC 3986, http and https only). Stricter than browsers on
 * purpose: what two parsers may read differently is refused, so that what was checked is what is
 * connected to.
 *
 * Refused: more than 512 bytes, user info, spaces, control and non-ASCII bytes (write names in
 * punycode, paths percent-encoded), `"<>\` and backquote, bad percent escapes, hosts that end in a
 * number but are no dotted quad ("127.1", "0x7f000001"), zone ids, a trailing dot, an empty or
 * leading-zero port. A fragment is read and dropped: it is never sent.
 */
#ifndef PR_CORE_URL_H
#define PR_CORE_URL_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define PR_URL_MAX_BYTES 512

typedef struct {
    bool https;
    bool host_is_ipv4;
    bool host_is_ipv6;                 /* host then has no brackets, in the form of RFC 5952 */
    uint16_t port;                     /* 80 or 443 when not given */
    char host[256];                    /* lower case */
    char target[PR_URL_MAX_BYTES + 2]; /* path and query, begins with '/' */
    char origin[280]; /* scheme://host:port, the port always given; IPv6 in brackets */
} pr_url_t;

/* text: NUL-terminated. PR_BAD: error->text says why (without the URL); *out is then undefined. */
PR_CHECK pr_rc_t pr_url_parse(const char *text, pr_url_t *out, pr_error_t *error);

#endif
