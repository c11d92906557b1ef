/* SPDX-License-Identifier: Apache-2.0
 *
 * An endpoint's own headers: which may go out beside ours. Pure.
 *
 * Refused when an endpoint is set, and dropped when one got into the database otherwise, whatever
 * their case, and with '_' for '-', which receivers behind CGI or WSGI cannot tell apart (RFC 3875,
 * 4.1.18): what frames the message or belongs to the connection (Host,
 * Content-*, Transfer-Encoding, Connection, TE, Trailer, Upgrade, Expect, Keep-Alive, Proxy-*,
 * HTTP2-Settings, Accept-Encoding), what we say ourselves (User-Agent, X-Notify-*, X-Timestamp,
 * X-Sign*, webhook-*), names that are no token (RFC 9110 section 5.6.2), values with control
 * bytes other than a tab, and what is too long. SQL refuses the same: postrider.header_ok.
 */
#ifndef PR_CORE_HEADERS_H
#define PR_CORE_HEADERS_H

#include <stdbool.h>

#define PR_HEADER_NAME_MAX_BYTES 64u
#define PR_HEADER_VALUE_MAX_BYTES 512u

/* True: `name: value` may be sent as it stands. */
bool pr_header_allowed(const char *name, const char *value);

#endif
