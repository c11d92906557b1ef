/* SPDX-License-Identifier: Apache-2.0
 *
 * Would an http:// URL be called? Never, but for http.allow_plain and the allow-list. The actors
 * decide, by their configuration; this is the one that the command sees.
 */
#ifndef PR_CLI_PLAIN_HTTP_H
#define PR_CLI_PLAIN_HTTP_H

#include "cli/console.h"

/* False for https://, and for what is no URL: the database has a word for that. */
bool pr_plain_http_refused(const pr_console_t *console, const char *url);

#endif
